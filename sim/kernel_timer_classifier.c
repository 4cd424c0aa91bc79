#include "kernel_timer_classifier.h"

#include <stdlib.h>
#include <string.h>

#define REARM_NS       UINT64_C(20000)
#define LOOK_AHEAD_NS  UINT64_C(10000000)
#define LOOK_AHEAD     UINT64_C(32768) /* events; a power of two */

#define NO_EVENT       UINT64_MAX
#define FIRST_CAPACITY 1024u /* of either table; a power of two */

/* What an event turned out to be, while it is held back. */
enum meaning {
    START,
    START_OF_REARM,
    CANCEL_UNDECIDED,
    CANCEL_TRUE,
    CANCEL_OF_REARM,
    CANCEL_OF_EXPIRY,
    EXPIRE,
    EXPIRE_BARE,
};

struct held_event {
    uint64_t time_ns;
    int64_t timeout;
    uint32_t timer;
    uint32_t function;
    uint32_t cpu;
    uint32_t pid;
    enum meaning meaning;
};

enum timer_state { NEVER_SEEN, IDLE, ARMED };

struct timer {
    uint64_t pointer;
    uint64_t undecided;     /* number of the timer's cancel that is held back, or NO_EVENT */
    uint32_t function;      /* that the last event released named */
    uint32_t last_function; /* that the last event added named: saves looking it up */
    enum timer_state state;
};

struct kernel_classifier {
    kernel_operation_fn take;
    void *ctx;

    /* Events first .. next - 1 are held back, event n at held[n % LOOK_AHEAD]. */
    struct held_event *held;
    uint64_t first;
    uint64_t next;

    /* Open addressing from pointers to timers; a slot holds 1 + index, 0 is empty. */
    uint32_t *slots;
    struct timer *timers;
    uint32_t timer_count;
    uint32_t slot_count; /* a power of two, twice as many as there is room for timers */

    struct kernel_function *functions;
    size_t function_count;
    size_t function_room;
    uint32_t *function_slots;
    uint32_t function_slot_count;

    uint64_t armed;
    struct kernel_counts counts;
};

static bool short_of_memory(struct error *error)
{
    return error_set(error, "out of memory: the recording names too many different timers");
}

static uint64_t hash_pointer(uint64_t pointer)
{
    uint64_t h = pointer * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static uint64_t hash_name(const char *name, size_t length)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++) {
        h = (h ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    }
    return h ^ h >> 32;
}

/* --- functions ------------------------------------------------------------------------------- */

static bool grow_functions(struct kernel_classifier *c)
{
    size_t room = c->function_room == 0 ? FIRST_CAPACITY / 2 : c->function_room * 2;
    uint32_t slot_count = (uint32_t)(room * 2);
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    struct kernel_function *functions = realloc(c->functions, room * sizeof *functions);
    if (functions != NULL) {
        c->functions = functions;
    }
    if (slots == NULL || functions == NULL) {
        free(slots);
        return false;
    }
    for (size_t i = 0; i < c->function_count; i++) {
        const char *name = functions[i].name;
        uint64_t h = hash_name(name, strlen(name));
        while (slots[h & (slot_count - 1)] != 0) {
            h++;
        }
        slots[h & (slot_count - 1)] = (uint32_t)i + 1;
    }
    free(c->function_slots);
    c->function_slots = slots;
    c->function_slot_count = slot_count;
    c->function_room = room;
    return true;
}

static bool function_is(const struct kernel_function *function, const char *name, size_t length)
{
    return strncmp(function->name, name, length) == 0 && function->name[length] == '\0';
}

/* The index of a function, which is new if need be. */
static bool find_function(struct kernel_classifier *c, const char *name, size_t length,
                          uint32_t *index)
{
    if (c->function_count == c->function_room && !grow_functions(c)) {
        return false;
    }
    uint64_t h = hash_name(name, length);
    uint32_t *slot;
    for (; *(slot = &c->function_slots[h & (c->function_slot_count - 1)]) != 0; h++) {
        if (function_is(&c->functions[*slot - 1], name, length)) {
            *index = *slot - 1;
            return true;
        }
    }
    char *copy = strndup(name, length);
    if (copy == NULL) {
        return false;
    }
    *index = (uint32_t)c->function_count;
    c->functions[c->function_count++] = (struct kernel_function){.name = copy};
    *slot = *index + 1;
    return true;
}

/* --- timers ---------------------------------------------------------------------------------- */

static bool grow_timers(struct kernel_classifier *c)
{
    uint32_t slot_count = c->slot_count == 0 ? FIRST_CAPACITY : c->slot_count * 2;
    if (slot_count == 0) {
        return false;
    }
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    struct timer *timers = realloc(c->timers, slot_count / 2 * sizeof *timers);
    if (timers != NULL) {
        c->timers = timers;
    }
    if (slots == NULL || timers == NULL) {
        free(slots);
        return false;
    }
    for (uint32_t i = 0; i < c->timer_count; i++) {
        uint64_t h = hash_pointer(timers[i].pointer);
        while (slots[h & (slot_count - 1)] != 0) {
            h++;
        }
        slots[h & (slot_count - 1)] = i + 1;
    }
    free(c->slots);
    c->slots = slots;
    c->slot_count = slot_count;
    return true;
}

static bool find_timer(struct kernel_classifier *c, uint64_t pointer, uint32_t *index)
{
    if (c->timer_count == c->slot_count / 2 && !grow_timers(c)) {
        return false;
    }
    uint64_t h = hash_pointer(pointer);
    uint32_t *slot;
    for (; *(slot = &c->slots[h & (c->slot_count - 1)]) != 0; h++) {
        if (c->timers[*slot - 1].pointer == pointer) {
            *index = *slot - 1;
            return true;
        }
    }
    *index = c->timer_count++;
    c->timers[*index] = (struct timer){.pointer = pointer, .undecided = NO_EVENT};
    *slot = *index + 1;
    return true;
}

/* --- what the events do to the timers, in the recording's order ------------------------------- */

static void arm(struct kernel_classifier *c, struct timer *timer)
{
    if (timer->state != ARMED) {
        timer->state = ARMED;
        c->armed++;
    }
    if (c->armed > c->counts.max_armed) {
        c->counts.max_armed = c->armed;
    }
}

static void disarm(struct kernel_classifier *c, struct timer *timer)
{
    if (timer->state == ARMED) {
        c->armed--;
    }
    timer->state = IDLE;
}

/* An event that only an armed timer can have: it was armed before the recording if it is new. */
static void expect_armed(struct kernel_classifier *c, struct timer *timer)
{
    if (timer->state == NEVER_SEEN) {
        c->counts.armed_before_start++;
        arm(c, timer);
    }
}

/* A timer_cancel, whatever it means. */
static void release_cancel(struct kernel_classifier *c, struct timer *timer)
{
    c->counts.cancels++;
    expect_armed(c, timer);
    if (timer->state == IDLE) {
        c->counts.cancel_on_idle++;
    }
}

static enum kernel_verdict release_start(struct kernel_classifier *c,
                                         const struct held_event *event, struct timer *timer)
{
    struct kernel_function *function = &c->functions[event->function];
    timer->function = event->function;
    if (function->start == 0 || event->timeout < function->min_timeout) {
        function->min_timeout = event->timeout;
    }
    if (function->start == 0 || event->timeout > function->max_timeout) {
        function->max_timeout = event->timeout;
    }
    c->counts.starts++;
    function->start++;
    enum kernel_verdict verdict;
    if (event->meaning == START_OF_REARM) {
        verdict = KERNEL_REARM;
        c->counts.rearm++;
        function->rearm++;
    } else if (timer->state == ARMED) {
        verdict = KERNEL_START_ON_ARMED;
        c->counts.start_on_armed++;
        function->start_on_armed++;
    } else {
        verdict = KERNEL_ARM;
        c->counts.arm++;
        function->arm++;
    }
    arm(c, timer);
    return verdict;
}

/* Counts an event whose meaning is known, and hands out the operation that it is, if any. */
static bool release(struct kernel_classifier *c, const struct held_event *event,
                    struct error *error)
{
    struct timer *timer = &c->timers[event->timer];
    enum kernel_verdict verdict;
    switch (event->meaning) {
    case START:
    case START_OF_REARM:
        verdict = release_start(c, event, timer);
        break;
    case CANCEL_OF_REARM:
        release_cancel(c, timer);
        return true;
    case CANCEL_OF_EXPIRY:
        release_cancel(c, timer);
        disarm(c, timer);
        return true;
    case CANCEL_UNDECIDED:
    case CANCEL_TRUE:
        release_cancel(c, timer);
        disarm(c, timer);
        c->counts.true_cancel++;
        c->functions[timer->function].true_cancel++;
        verdict = KERNEL_TRUE_CANCEL;
        break;
    case EXPIRE_BARE:
        expect_armed(c, timer);
        disarm(c, timer);
        c->counts.expiry_bare++;
        /* fall through */
    case EXPIRE:
    default:
        timer->function = event->function;
        c->counts.expiry++;
        c->functions[event->function].expiry++;
        verdict = KERNEL_EXPIRY;
        break;
    }
    struct kernel_operation operation = {.verdict = verdict,
                                         .timer = event->timer,
                                         .function = timer->function,
                                         .time_ns = event->time_ns,
                                         .timeout = event->timeout};
    return c->take(c->ctx, &operation, error);
}

/* Releases the first event that is held back. A cancel that is undecided by now is a true one. */
static bool release_first(struct kernel_classifier *c, struct error *error)
{
    const struct held_event *event = &c->held[c->first & (LOOK_AHEAD - 1)];
    if (event->meaning == CANCEL_UNDECIDED) {
        c->timers[event->timer].undecided = NO_EVENT;
    }
    c->first++;
    return release(c, event, error);
}

/* --- events in -------------------------------------------------------------------------------- */

struct kernel_classifier *kernel_classifier_create(kernel_operation_fn take, void *ctx)
{
    struct kernel_classifier *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->take = take;
    c->ctx = ctx;
    c->held = malloc(LOOK_AHEAD * sizeof *c->held);
    uint32_t unknown;
    if (c->held == NULL || !grow_timers(c) || !find_function(c, "?", 1, &unknown)) {
        kernel_classifier_destroy(c);
        return NULL;
    }
    return c;
}

/* What a start or an expiry says about the same timer's cancel before it. */
static void decide(struct held_event *cancel, struct held_event *event, enum kernel_event_kind kind)
{
    bool same_cpu = cancel->cpu == event->cpu;
    if (kind == KERNEL_TIMER_EXPIRE && same_cpu) {
        cancel->meaning = CANCEL_OF_EXPIRY;
        event->meaning = EXPIRE;
    } else if (kind == KERNEL_TIMER_START && same_cpu && cancel->pid == event->pid &&
               event->time_ns - cancel->time_ns <= REARM_NS) {
        cancel->meaning = CANCEL_OF_REARM;
        event->meaning = START_OF_REARM;
    } else {
        cancel->meaning = CANCEL_TRUE;
    }
}

bool kernel_classifier_add(struct kernel_classifier *c, const struct kernel_event *event,
                           struct error *error)
{
    uint32_t index;
    if (!find_timer(c, event->pointer, &index)) {
        return short_of_memory(error);
    }
    struct timer *timer = &c->timers[index];
    if (event->function != NULL && !function_is(&c->functions[timer->last_function],
                                                event->function, event->function_length)) {
        if (!find_function(c, event->function, event->function_length, &timer->last_function)) {
            return short_of_memory(error);
        }
    }
    if (c->next - c->first == LOOK_AHEAD && !release_first(c, error)) {
        return false;
    }
    struct held_event *held = &c->held[c->next & (LOOK_AHEAD - 1)];
    *held = (struct held_event){.time_ns = event->time_ns,
                                .timeout = event->timeout,
                                .timer = index,
                                .function = timer->last_function,
                                .cpu = event->cpu,
                                .pid = event->pid};
    switch (event->kind) {
    case KERNEL_TIMER_START:
    case KERNEL_HRTIMER_START:
        held->meaning = START;
        break;
    case KERNEL_TIMER_CANCEL:
        held->meaning = CANCEL_UNDECIDED;
        break;
    case KERNEL_HRTIMER_CANCEL:
        held->meaning = CANCEL_TRUE;
        break;
    case KERNEL_TIMER_EXPIRE:
    case KERNEL_HRTIMER_EXPIRE:
    default:
        held->meaning = EXPIRE_BARE;
        break;
    }
    if (timer->undecided != NO_EVENT) {
        decide(&c->held[timer->undecided & (LOOK_AHEAD - 1)], held, event->kind);
    }
    timer->undecided = event->kind == KERNEL_TIMER_CANCEL ? c->next : NO_EVENT;
    c->next++;

    while (c->first < c->next) {
        const struct held_event *first = &c->held[c->first & (LOOK_AHEAD - 1)];
        if (first->meaning == CANCEL_UNDECIDED &&
            (event->time_ns < first->time_ns || event->time_ns - first->time_ns <= LOOK_AHEAD_NS)) {
            return true;
        }
        if (!release_first(c, error)) {
            return false;
        }
    }
    return true;
}

bool kernel_classifier_finish(struct kernel_classifier *c, struct error *error)
{
    while (c->first < c->next) {
        if (!release_first(c, error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < c->timer_count; i++) {
        if (c->timers[i].state == ARMED) {
            c->counts.armed_at_end++;
            c->functions[c->timers[i].function].armed_at_end++;
        }
    }
    c->counts.timers = c->timer_count;
    return true;
}

const struct kernel_counts *kernel_classifier_counts(const struct kernel_classifier *c)
{
    return &c->counts;
}

size_t kernel_classifier_functions(const struct kernel_classifier *c)
{
    return c->function_count;
}

const struct kernel_function *kernel_classifier_function(const struct kernel_classifier *c,
                                                         size_t index)
{
    return &c->functions[index];
}

void kernel_classifier_destroy(struct kernel_classifier *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->function_count; i++) {
        free((char *)c->functions[i].name);
    }
    free(c->functions);
    free(c->function_slots);
    free(c->timers);
    free(c->slots);
    free(c->held);
    free(c);
}
