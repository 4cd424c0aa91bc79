#include "kernel_timer_classifier.h"

#include "key_table.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define REARM_NS       UINT64_C(20000)
#define REACTION_NS    UINT64_C(50000)
#define LOOK_AHEAD_NS  UINT64_C(10000000)
#define LOOK_AHEAD_MAX UINT64_C(32768) /* events */

/* Its timers are never started by an expiry. */
#define DELAYED_WORK   "delayed_work_timer_fn"

/* The meaning of an event that is held back. */
enum meaning {
    START,
    START_OF_REARM,
    CANCEL_UNDECIDED,
    CANCEL_TRUE,
    CANCEL_OF_REARM,
    CANCEL_OF_EXPIRY,
    EXPIRE,
    EXPIRE_BARE,
    EXIT,
};

struct held_event {
    struct kernel_event event;
    uint32_t timer;
    uint32_t function;
    enum meaning meaning;
};

/* The latest expiry on a CPU. */
struct cpu_firing {
    uint64_t time_ns;
    uint64_t pointer;
    uint32_t timer;
    uint32_t pid;
    bool running; /* there is an expiry, and no exit yet */
    bool latest;  /* nor any other event */
};

enum timer_state { NEVER_SEEN, IDLE, ARMED };

struct classified_timer {
    uint64_t undecided_plus_1; /* number of the timer's cancel that is held back; 0: none */
    uint32_t function;         /* by the last released event */
    uint32_t last_function;    /* by the last added event that has one */
    enum timer_state state;
};

struct kernel_classifier {
    kernel_operation_fn take;
    void *ctx;

    /* Events first .. next - 1 are held back, event n at held[n % LOOK_AHEAD_MAX]. */
    struct held_event *held;
    uint64_t first;
    uint64_t next;

    struct key_table *pointers; /* the timers */
    struct key_table *names;    /* the functions */

    struct cpu_firing *firings; /* by CPU */

    uint64_t armed;
    struct kernel_counts counts;
};

static struct classified_timer *timer_at(const struct kernel_classifier *c, uint32_t index)
{
    return key_table_value(c->pointers, index);
}

static struct kernel_function *function_at(const struct kernel_classifier *c, size_t index)
{
    return key_table_value(c->names, (uint32_t)index);
}

/* Return the index of a function, added if it is new. */
static uint32_t find_function(struct kernel_classifier *c, const char *name, size_t length)
{
    uint32_t index = key_table_number(c->names, name, length);
    struct kernel_function *function = function_at(c, index);
    if (function->name == NULL) {
        function->name = memory_copy_part(name, length);
    }
    return index;
}

/* --- released events, in the recording's order ------------------------------------------------ */

static void arm_timer(struct kernel_classifier *c, struct classified_timer *timer)
{
    if (timer->state != ARMED) {
        timer->state = ARMED;
        c->armed++;
    }
    if (c->armed > c->counts.max_armed) {
        c->counts.max_armed = c->armed;
    }
}

static void disarm_timer(struct kernel_classifier *c, struct classified_timer *timer)
{
    if (timer->state == ARMED) {
        c->armed--;
    }
    timer->state = IDLE;
}

/* Count a new timer with an event that only armed timers have: it was armed before the
 * recording. */
static void expect_armed(struct kernel_classifier *c, struct classified_timer *timer)
{
    if (timer->state == NEVER_SEEN) {
        c->counts.armed_before_start++;
        arm_timer(c, timer);
    }
}

/* Count a timer_cancel of any meaning. */
static void release_cancel(struct kernel_classifier *c, struct classified_timer *timer)
{
    c->counts.cancels++;
    expect_armed(c, timer);
    if (timer->state == IDLE) {
        c->counts.cancel_on_idle++;
    }
}

static enum kernel_verdict release_start(struct kernel_classifier *c,
                                         const struct held_event *event,
                                         struct classified_timer *timer)
{
    struct kernel_function *function = function_at(c, event->function);
    timer->function = event->function;
    int64_t timeout = event->event.timeout;
    if (function->start == 0 || timeout < function->min_timeout) {
        function->min_timeout = timeout;
    }
    if (function->start == 0 || timeout > function->max_timeout) {
        function->max_timeout = timeout;
    }
    function->start++;
    bool armed = timer->state == ARMED;
    arm_timer(c, timer);
    return event->meaning == START_OF_REARM ? KERNEL_REARM
           : armed                          ? KERNEL_START_ON_ARMED
                                            : KERNEL_ARM;
}

/* Return the timer that expired and causes a start or true cancel, or KERNEL_NO_TIMER. */
static uint32_t find_cause(const struct kernel_classifier *c, const struct held_event *held)
{
    const struct kernel_event *event = &held->event;
    const struct cpu_firing *firing = &c->firings[event->cpu];
    bool itself = firing->latest && firing->timer == held->timer &&
                  event->time_ns - firing->time_ns <= REACTION_NS;
    bool within = c->counts.exits > 0 && firing->running &&
                  strcmp(function_at(c, held->function)->name, DELAYED_WORK) != 0;
    bool fits = event->context != KERNEL_CONTEXT_OTHER &&
                (event->context != KERNEL_CONTEXT_HARDIRQ || event->kind >= KERNEL_HRTIMER_START);
    return (itself || within) && fits && firing->pid == event->pid ? firing->timer
                                                                   : KERNEL_NO_TIMER;
}

/* Update its CPU's latest expiry. */
static void follow_firing(struct kernel_classifier *c, const struct held_event *held)
{
    struct cpu_firing *firing = &c->firings[held->event.cpu];
    firing->latest = false;
    if (held->meaning == EXPIRE || held->meaning == EXPIRE_BARE) {
        *firing = (struct cpu_firing){.time_ns = held->event.time_ns,
                                      .pointer = held->event.pointer,
                                      .timer = held->timer,
                                      .pid = held->event.pid,
                                      .running = true,
                                      .latest = true};
    } else if (held->meaning == EXIT && firing->pointer == held->event.pointer) {
        firing->running = false;
    }
}

/* Count an event of known meaning, and hand out its operation, if it is one. */
static void release_event(struct kernel_classifier *c, const struct held_event *event)
{
    if (event->meaning == EXIT) {
        c->counts.exits++;
        follow_firing(c, event);
        return;
    }
    struct classified_timer *timer = timer_at(c, event->timer);
    enum kernel_verdict verdict;
    uint32_t cause = find_cause(c, event);
    follow_firing(c, event);
    switch (event->meaning) {
    case START:
    case START_OF_REARM:
        verdict = release_start(c, event, timer);
        break;
    case CANCEL_OF_REARM:
        release_cancel(c, timer);
        return;
    case CANCEL_OF_EXPIRY:
        release_cancel(c, timer);
        disarm_timer(c, timer);
        return;
    case CANCEL_UNDECIDED:
    case CANCEL_TRUE:
        release_cancel(c, timer);
        disarm_timer(c, timer);
        verdict = KERNEL_TRUE_CANCEL;
        break;
    case EXPIRE_BARE:
        expect_armed(c, timer);
        disarm_timer(c, timer);
        c->counts.expiry_bare++;
        /* fall through */
    case EXPIRE:
    default:
        timer->function = event->function;
        verdict = KERNEL_EXPIRY;
        cause = KERNEL_NO_TIMER;
        break;
    }
    function_at(c, timer->function)->verdicts[verdict]++;
    function_at(c, timer->function)->caused += cause != KERNEL_NO_TIMER;
    struct kernel_operation operation = {.verdict = verdict,
                                         .timer = event->timer,
                                         .function = timer->function,
                                         .cause = cause,
                                         .event = &event->event};
    c->take(c->ctx, &operation);
}

static struct held_event *held_at(const struct kernel_classifier *c, uint64_t number)
{
    return &c->held[number % LOOK_AHEAD_MAX];
}

/* Release the first event that is held back. A cancel that is undecided by now is a true one. */
static void release_first(struct kernel_classifier *c)
{
    const struct held_event *event = held_at(c, c->first);
    if (event->meaning == CANCEL_UNDECIDED) {
        timer_at(c, event->timer)->undecided_plus_1 = 0;
    }
    c->first++;
    release_event(c, event);
}

/* --- events in -------------------------------------------------------------------------------- */

struct kernel_classifier *kernel_classifier_create(kernel_operation_fn take, void *ctx)
{
    struct kernel_classifier *c = memory_new(1, sizeof *c);
    c->take = take;
    c->ctx = ctx;
    c->held = memory_new(LOOK_AHEAD_MAX, sizeof *c->held);
    c->firings = memory_new(KERNEL_CPUS_MAX, sizeof *c->firings);
    c->pointers = key_table_create(sizeof(struct classified_timer));
    c->names = key_table_create(sizeof(struct kernel_function));
    (void)find_function(c, "?", 1); /* where the recording does not say */
    return c;
}

/* Decide the meaning of a cancel by the next event of the same timer. */
static void decide_cancel(struct held_event *cancel, struct held_event *event)
{
    const struct kernel_event *before = &cancel->event;
    const struct kernel_event *after = &event->event;
    bool same_cpu = before->cpu == after->cpu;
    if (after->kind == KERNEL_TIMER_EXPIRE && same_cpu) {
        cancel->meaning = CANCEL_OF_EXPIRY;
        event->meaning = EXPIRE;
    } else if (after->kind == KERNEL_TIMER_START && same_cpu && before->pid == after->pid &&
               after->time_ns - before->time_ns <= REARM_NS) {
        cancel->meaning = CANCEL_OF_REARM;
        event->meaning = START_OF_REARM;
    } else {
        cancel->meaning = CANCEL_TRUE;
    }
}

/* The meaning of an event until later ones decide. */
static const enum meaning first_meanings[] = {
    [KERNEL_TIMER_START] = START,          [KERNEL_TIMER_CANCEL] = CANCEL_UNDECIDED,
    [KERNEL_TIMER_EXPIRE] = EXPIRE_BARE,   [KERNEL_TIMER_EXIT] = EXIT,
    [KERNEL_HRTIMER_START] = START,        [KERNEL_HRTIMER_CANCEL] = CANCEL_TRUE,
    [KERNEL_HRTIMER_EXPIRE] = EXPIRE_BARE,
};

/* Find or add an event's timer and function. */
static void identify(struct kernel_classifier *c, const struct kernel_event *event,
                     struct held_event *held)
{
    held->timer = key_table_number(c->pointers, &event->pointer, sizeof event->pointer);
    struct classified_timer *timer = timer_at(c, held->timer);
    if (event->function != NULL) {
        timer->last_function = find_function(c, event->function, event->function_length);
    }
    held->function = timer->last_function;
}

void kernel_classifier_add(struct kernel_classifier *c, const struct kernel_event *event)
{
    struct held_event held = {.event = *event, .meaning = first_meanings[event->kind]};
    held.event.function = NULL; /* its line does not last */
    /* An exit may be of a timer that is not in the recording. */
    if (held.meaning != EXIT) {
        identify(c, event, &held);
    }
    if (c->next - c->first == LOOK_AHEAD_MAX) {
        release_first(c);
    }
    struct held_event *kept = held_at(c, c->next);
    *kept = held;
    if (held.meaning != EXIT) {
        struct classified_timer *timer = timer_at(c, held.timer);
        if (timer->undecided_plus_1 > 0) {
            decide_cancel(held_at(c, timer->undecided_plus_1 - 1), kept);
        }
        timer->undecided_plus_1 = held.meaning == CANCEL_UNDECIDED ? c->next + 1 : 0;
    }
    c->next++;

    while (c->first < c->next) {
        const struct held_event *first = held_at(c, c->first);
        if (first->meaning == CANCEL_UNDECIDED &&
            (event->time_ns < first->event.time_ns ||
             event->time_ns - first->event.time_ns <= LOOK_AHEAD_NS)) {
            return;
        }
        release_first(c);
    }
}

void kernel_classifier_finish(struct kernel_classifier *c)
{
    while (c->first < c->next) {
        release_first(c);
    }
    for (uint32_t i = 0; i < key_table_count(c->pointers); i++) {
        function_at(c, timer_at(c, i)->function)->timers++;
        function_at(c, timer_at(c, i)->function)->armed_at_end += timer_at(c, i)->state == ARMED;
    }
    struct kernel_function *all = &c->counts.all;
    for (uint32_t i = 0; i < key_table_count(c->names); i++) {
        const struct kernel_function *function = function_at(c, i);
        for (unsigned verdict = 0; verdict < KERNEL_VERDICTS; verdict++) {
            all->verdicts[verdict] += function->verdicts[verdict];
        }
        all->start += function->start;
        all->caused += function->caused;
        all->armed_at_end += function->armed_at_end;
        all->timers += function->timers;
    }
}

const struct kernel_counts *kernel_classifier_counts(const struct kernel_classifier *c)
{
    return &c->counts;
}

size_t kernel_classifier_functions(const struct kernel_classifier *c)
{
    return key_table_count(c->names);
}

const struct kernel_function *kernel_classifier_function(const struct kernel_classifier *c,
                                                         size_t index)
{
    return function_at(c, index);
}

void kernel_classifier_destroy(struct kernel_classifier *c)
{
    if (c == NULL) {
        return;
    }
    for (uint32_t i = 0; i < key_table_count(c->names); i++) {
        free((char *)function_at(c, i)->name);
    }
    key_table_destroy(c->names);
    free(c->firings);
    key_table_destroy(c->pointers);
    free(c->held);
    free(c);
}
