#include "oracle.h"

#include "due.h"
#include "memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_EVENT          UINT64_MAX
#define EVENT_BITS        61
#define SHARED_EVENT_BITS 30 /* if the bits above hold the order */

static const struct {
    const char *word;
    enum column column;
} kinds[] = {
#define FAULT_ROW(code, word, column, sentence) {word, column},
    FAULT_MAP(FAULT_ROW)
#undef FAULT_ROW
};

const char *fault_word(enum fault_kind kind)
{
    /* The kind may come from a child process that wrote garbage. */
    return kinds[(size_t)kind < FAULT_KINDS ? kind : FAULT_HARNESS].word;
}

enum column fault_column(enum fault_kind kind)
{
    return kinds[kind].column;
}

enum timer_state { NEVER_STARTED, PENDING, FIRED, STOPPED };

/* A replay of 10 million timers has 10 million of these. Values that only some replays need are in
 * separate arrays. */
struct timer {
    uint64_t due;                /* in state FIRED: the tick at which it fired */
    uint64_t event : EVENT_BITS; /* its last start or stop; the bits above may hold the order */
    uint64_t state : 2;          /* enum timer_state */
    uint64_t overdue : 1;        /* its last start had a deadline not after the tick */
};

struct oracle {
    struct oracle_plan plan;
    struct verdict *verdict;
    struct timer *timers;
    uint64_t *delays;    /* by id, from the structure's clock; NULL: the declared precision is 0 */
    uint64_t *orders;    /* by id: the number of its last start among all executed operations;
                            NULL: not needed, or in the timers' event */
    unsigned event_bits; /* of a timer's event that hold the event; the others hold the order */
    uint64_t *filed_due; /* by id, if started overdue: the due tick by the structure's clock;
                            NULL: the clock is the tick, or no order is promised */
    bool draining;
    uint64_t clock;      /* tick of the last or running advance */
    uint64_t budget;     /* of that advance */
    uint64_t fired;      /* in that advance */
    uint64_t crowded_at; /* first of the uninterrupted advances before it that used up their
                            budget; TL_NEVER: none */
    bool any_in_advance; /* a timer has fired in the running advance: the last one is below */
    uint64_t last_due;
    uint64_t last_event;
    uint64_t last_order;
    uint32_t last_id;
};

struct oracle *oracle_create(const struct oracle_plan *plan, struct verdict *verdict)
{
    struct oracle *oracle = memory_new(1, sizeof *oracle);
    uint32_t capabilities = plan->algo->capabilities;
    *oracle = (struct oracle){.plan = *plan,
                              .verdict = verdict,
                              .timers = memory_table(plan->ids, sizeof *oracle->timers),
                              .event_bits = EVENT_BITS,
                              .budget = TL_NO_BUDGET,
                              .crowded_at = TL_NEVER};
    if (plan->algo->precision != NULL) {
        oracle->delays = memory_table(plan->ids, sizeof *oracle->delays);
    }
    if ((capabilities & TL_CAP_FIFO) != 0 && plan->events - 1 < UINT64_C(1) << SHARED_EVENT_BITS) {
        oracle->event_bits = SHARED_EVENT_BITS;
    } else if ((capabilities & TL_CAP_FIFO) != 0) {
        oracle->orders = memory_table(plan->ids, sizeof *oracle->orders);
    }
    if ((capabilities & (TL_CAP_ORDERED | TL_CAP_FIFO)) != 0 && !drive_is_plain(plan->drive)) {
        oracle->filed_due = memory_table(plan->ids, sizeof *oracle->filed_due);
    }
    memset(verdict, 0, sizeof *verdict);
    return oracle;
}

void oracle_destroy(struct oracle *oracle)
{
    if (oracle != NULL) {
        memory_table_free(oracle->timers, oracle->plan.ids, sizeof *oracle->timers);
        memory_table_free(oracle->delays, oracle->plan.ids, sizeof *oracle->delays);
        memory_table_free(oracle->orders, oracle->plan.ids, sizeof *oracle->orders);
        memory_table_free(oracle->filed_due, oracle->plan.ids, sizeof *oracle->filed_due);
        free(oracle);
    }
}

void oracle_fetch(const struct oracle *oracle, uint32_t id)
{
    __builtin_prefetch(&oracle->timers[id], 1);
}

static uint64_t event_of(const struct oracle *oracle, const struct timer *timer)
{
    return timer->event & ((UINT64_C(1) << oracle->event_bits) - 1);
}

/* Record an executed operation as its timer's last. */
static void note_event(struct oracle *oracle, uint32_t id, uint64_t event)
{
    uint64_t order = oracle->verdict->events;
    bool shared = oracle->event_bits < EVENT_BITS;
    if (oracle->orders != NULL) {
        oracle->orders[id] = order;
    }
    event |= shared ? order << oracle->event_bits : 0;
    oracle->timers[id].event = event & ((UINT64_C(1) << EVENT_BITS) - 1);
}

/* Return 0 where the order does not matter. */
static uint64_t order_of(const struct oracle *oracle, uint32_t id)
{
    return oracle->orders != NULL ? oracle->orders[id]
                                  : (uint64_t)oracle->timers[id].event >> oracle->event_bits;
}

static uint64_t name_of(const struct oracle *oracle, uint32_t id)
{
    return oracle->plan.names != NULL && id < oracle->plan.ids ? oracle->plan.names[id] : id;
}

/* Count a fault; keep the first few, with their detail. */
__attribute__((format(printf, 7, 8))) static void
note_fault(struct oracle *oracle, enum fault_kind kind, uint32_t id, uint64_t tick, uint64_t due,
           uint64_t event, const char *format, ...)
{
    struct verdict *verdict = oracle->verdict;
    verdict->faults[kind]++;
    if (verdict->fault_count++ >= ORACLE_FAULTS_KEPT) {
        return;
    }
    struct fault *fault = &verdict->first[verdict->fault_count - 1];
    *fault = (struct fault){
        .kind = kind, .id = name_of(oracle, id), .tick = tick, .due = due, .event = event};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fault->detail, sizeof fault->detail, format, arguments);
    va_end(arguments);
}

/* Return the first of the uninterrupted advances, up to the last one, that used up their budget;
 * TL_NEVER if the last one did not. */
static uint64_t crowded_since(const struct oracle *oracle)
{
    return oracle->fired < oracle->budget   ? TL_NEVER
           : oracle->crowded_at != TL_NEVER ? oracle->crowded_at
                                            : oracle->clock;
}

static struct tl_precision precision_of(const struct oracle *oracle, uint32_t id)
{
    return tl_algo_precision(oracle->plan.algo, oracle->plan.options,
                             oracle->delays != NULL ? oracle->delays[id] : 0);
}

/* Return the last tick at which a correct structure fires it, if the loop is not busy. */
static uint64_t last_chance(const struct oracle *oracle, const struct timer *timer,
                            struct tl_precision precision)
{
    uint64_t slack = oracle->plan.slacks != NULL ? oracle->plan.slacks[event_of(oracle, timer)] : 0;
    uint64_t late = slack > precision.late_ticks ? slack : precision.late_ticks;
    return service_chance(oracle->plan.service, oracle->plan.drive, due_last(timer->due, late));
}

/* Check a pending timer that is about to be stopped or restarted at `tick`. */
static void judge_overdue(struct oracle *oracle, const struct timer *timer, uint32_t id,
                          uint64_t tick, bool reaction)
{
    if (timer->due > tick) {
        return;
    }
    struct tl_precision precision = precision_of(oracle, id);
    uint64_t last = last_chance(oracle, timer, precision);
    if (tick >= last && last < crowded_since(oracle)) {
        note_fault(oracle, FAULT_LOST, id, tick, timer->due, event_of(oracle, timer),
                   "not fired by tick %" PRIu64
                   ", when it was stopped or restarted; it may be %" PRIu64 " late",
                   tick, precision.late_ticks);
    } else {
        oracle->verdict->averted += !reaction;
    }
}

static void widen(uint64_t *widest, uint64_t ticks)
{
    *widest = ticks > *widest ? ticks : *widest;
}

static void judge_start(struct oracle *oracle, const struct stream_operation *operation)
{
    const uint32_t id = operation->id;
    const uint64_t tick = operation->tick;
    struct timer *timer = &oracle->timers[id];
    if (timer->state == PENDING) {
        judge_overdue(oracle, timer, id, tick, operation->reaction);
        oracle->verdict->restarts++;
    } else {
        oracle->verdict->starts++;
        oracle->verdict->pending++;
    }
    timer->state = PENDING;
    timer->due = due_in_replay(tick, operation->deadline);
    timer->overdue = operation->deadline <= tick;
    note_event(oracle, id, operation->event);
    if (oracle->filed_due != NULL && timer->overdue) {
        oracle->filed_due[id] = due_tick(oracle->clock, operation->deadline);
    }
    if (oracle->delays != NULL) {
        oracle->delays[id] = due_delay(oracle->clock, operation->deadline);
        struct tl_precision precision = precision_of(oracle, id);
        widen(&oracle->verdict->declared.early_ticks, precision.early_ticks);
        widen(&oracle->verdict->declared.late_ticks, precision.late_ticks);
    }
}

static void judge_stop(struct oracle *oracle, const struct stream_operation *operation,
                       enum tl_status answer)
{
    const uint32_t id = operation->id;
    const uint64_t tick = operation->tick;
    const uint64_t event = operation->event;
    struct timer *timer = &oracle->timers[id];
    oracle->verdict->stops++;
    if (timer->state == PENDING) {
        judge_overdue(oracle, timer, id, tick, operation->reaction);
        if (answer != TL_OK) {
            note_fault(oracle, FAULT_STATUS, id, tick, timer->due, event,
                       "stop of a pending timer answered: %s", tl_status_text(answer));
        }
        oracle->verdict->pending--;
        timer->state = STOPPED;
        note_event(oracle, id, event);
    } else if (answer != TL_IDLE) {
        note_fault(oracle, FAULT_STATUS, id, tick, 0, event,
                   "stop of a timer that is not pending answered: %s", tl_status_text(answer));
    }
}

void oracle_operated(struct oracle *oracle, const struct stream_operation *operation,
                     enum tl_status answer)
{
    oracle->verdict->events++;
    if (operation->op == TRACE_START) {
        judge_start(oracle, operation);
    } else {
        judge_stop(oracle, operation, answer);
    }
}

void oracle_advancing(struct oracle *oracle, uint64_t now, uint64_t budget, bool draining)
{
    /* If the loop has slept in between, it was not short of time. */
    uint64_t soonest =
        oracle->plan.service != NULL ? service_free(oracle->plan.service) : oracle->clock + 1;
    bool at_once = now <= drive_awake(oracle->plan.drive, soonest);
    oracle->crowded_at = at_once ? crowded_since(oracle) : TL_NEVER;
    oracle->clock = now;
    oracle->budget = budget;
    oracle->fired = 0;
    oracle->any_in_advance = false;
    oracle->draining = draining;
}

static void judge_unexpected(struct oracle *oracle, const struct timer *timer, uint32_t id,
                             uint64_t now)
{
    if (timer->state == FIRED) {
        note_fault(oracle, FAULT_DUPLICATE, id, now, 0, event_of(oracle, timer),
                   "fired twice: it had fired at tick %" PRIu64, timer->due);
    } else {
        bool stopped = timer->state == STOPPED;
        note_fault(oracle, FAULT_DUPLICATE, id, now, 0,
                   stopped ? event_of(oracle, timer) : NO_EVENT,
                   stopped ? "fired after a stop" : "fired, but was never started");
    }
}

static void judge_order(struct oracle *oracle, const struct timer *timer, uint32_t id, uint64_t now)
{
    uint64_t due = timer->overdue && oracle->filed_due != NULL ? oracle->filed_due[id]
                                                               : timer->due - timer->overdue;
    bool ordered = (oracle->plan.algo->capabilities & TL_CAP_ORDERED) != 0;
    uint64_t order = order_of(oracle, id);
    if (oracle->any_in_advance) {
        if (ordered && due < oracle->last_due) {
            note_fault(oracle, FAULT_MISORDERED, id, now, timer->due, event_of(oracle, timer),
                       "fired after timer %" PRIu64 ", which was due at %" PRIu64,
                       name_of(oracle, oracle->last_id), oracle->last_due);
        } else if (due == oracle->last_due && order < oracle->last_order) {
            note_fault(oracle, FAULT_MISORDERED, id, now, timer->due, event_of(oracle, timer),
                       "fired after timer %" PRIu64
                       ", which was due at the same tick but started later "
                       "(event %" PRIu64 ")",
                       name_of(oracle, oracle->last_id), oracle->last_event);
        }
    }
    oracle->any_in_advance = true;
    oracle->last_due = due;
    oracle->last_event = event_of(oracle, timer);
    oracle->last_order = order;
    oracle->last_id = id;
}

/* Lateness is that of the callback, which waits for the callbacks before it. */
static void file_lateness(struct oracle *oracle, uint64_t due, uint64_t now)
{
    struct verdict *verdict = oracle->verdict;
    uint64_t begins = oracle->plan.service != NULL
                          ? service_begins(oracle->plan.service, now, oracle->fired - 1)
                          : now;
    if (begins < due) {
        histogram_add(&verdict->early_ticks, due - begins);
    } else {
        histogram_add(&verdict->late_ticks, begins - due);
    }
}

void oracle_fired(struct oracle *oracle, uint32_t id, uint64_t now)
{
    struct verdict *verdict = oracle->verdict;
    if (id >= oracle->plan.ids) {
        note_fault(oracle, FAULT_DUPLICATE, id, now, 0, NO_EVENT,
                   "fired, but there are only %" PRIu32 " timers", oracle->plan.ids);
        return;
    }
    struct timer *timer = &oracle->timers[id];
    if (oracle->fired++ >= oracle->budget) {
        note_fault(oracle, FAULT_BUDGET, id, now, timer->state == PENDING ? timer->due : 0,
                   event_of(oracle, timer),
                   "fired as number %" PRIu64 " of an advance with a budget of %" PRIu64,
                   oracle->fired, oracle->budget);
    }
    if (timer->state != PENDING) {
        judge_unexpected(oracle, timer, id, now);
        return;
    }
    file_lateness(oracle, timer->due, now);
    struct tl_precision precision = precision_of(oracle, id);
    if (due_is_early(now, timer->due, precision.early_ticks)) {
        note_fault(oracle, FAULT_EARLY, id, now, timer->due, event_of(oracle, timer),
                   "fired %" PRIu64 " ticks early; at most %" PRIu64 " are declared",
                   timer->due - now, precision.early_ticks);
    } else if (now > timer->due) {
        uint64_t last = last_chance(oracle, timer, precision);
        if (now > last && last < oracle->crowded_at) {
            note_fault(oracle, FAULT_LATE, id, now, timer->due, event_of(oracle, timer),
                       "fired %" PRIu64 " ticks late; at most %" PRIu64 " are declared",
                       now - timer->due, precision.late_ticks);
        }
    }
    judge_order(oracle, timer, id, now);
    *(oracle->draining ? &verdict->drained : &verdict->fired) += 1;
    oracle->verdict->pending--;
    timer->state = FIRED;
    timer->due = now;
}

static int compare_windows(const void *a, const void *b)
{
    const struct due_window *x = a;
    const struct due_window *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Sort the windows and merge those that begin at the same tick; return the new count. */
static size_t merge_windows(struct due_window *windows, size_t count)
{
    size_t kept = 0;
    qsort(windows, count, sizeof *windows, compare_windows);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || windows[kept - 1].first != windows[i].first) {
            windows[kept++] = windows[i];
        } else if (windows[kept - 1].last < windows[i].last) {
            windows[kept - 1].last = windows[i].last;
        }
    }
    return kept;
}

/* Get the next pending timer's window that begins at `from` or later; *id begins at 0. False: there
 * is none. */
static bool next_window(const struct oracle *oracle, uint64_t from, uint32_t *id,
                        struct due_window *window)
{
    while (*id < oracle->plan.ids) {
        const struct timer *timer = &oracle->timers[*id];
        uint32_t at = (*id)++;
        if (timer->state != PENDING) {
            continue;
        }
        struct tl_precision precision = precision_of(oracle, at);
        uint64_t early = precision.early_ticks;
        window->first = timer->due - (early < timer->due ? early : timer->due);
        window->last = due_last(timer->due, precision.late_ticks);
        if (window->first >= from) {
            return true;
        }
    }
    return false;
}

/* As oracle_due_windows, without sorting, if all windows begin within `room` ticks; otherwise 0. */
static size_t place_windows(const struct oracle *oracle, uint64_t from, struct due_window *windows,
                            size_t room)
{
    struct due_window window;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (uint32_t id = 0; next_window(oracle, from, &id, &window);) {
        least = window.first < least ? window.first : least;
        most = window.first > most ? window.first : most;
    }
    if (least > most || most - least >= room) {
        return 0;
    }
    memset(windows, 0, (size_t)(most - least + 1) * sizeof *windows);
    for (uint32_t id = 0; next_window(oracle, from, &id, &window);) {
        struct due_window *place = &windows[window.first - least];
        if (window.last >= place->last) {
            *place = window;
        }
    }
    size_t kept = 0;
    for (uint64_t i = 0; i <= most - least; i++) {
        if (windows[i].last > 0) {
            windows[kept++] = windows[i];
        }
    }
    return kept;
}

size_t oracle_due_windows(const struct oracle *oracle, uint64_t from, struct due_window *windows,
                          size_t room)
{
    size_t count = place_windows(oracle, from, windows, room);
    uint64_t to = UINT64_MAX; /* later windows are not wanted */
    struct due_window window;
    if (count > 0) {
        return count;
    }
    for (uint32_t id = 0; next_window(oracle, from, &id, &window);) {
        if (count == room) {
            count = merge_windows(windows, count);
            if (count > room / 2) {
                count = room / 2;
                to = windows[count - 1].first;
            }
        }
        if (window.first <= to) {
            windows[count++] = window;
        }
    }
    return merge_windows(windows, count);
}

void oracle_finish(struct oracle *oracle, uint64_t now)
{
    struct verdict *verdict = oracle->verdict;
    for (uint32_t id = 0; id < oracle->plan.ids && oracle->verdict->pending > 0; id++) {
        struct timer *timer = &oracle->timers[id];
        if (timer->state == PENDING) {
            note_fault(oracle, FAULT_LOST, id, now, timer->due, event_of(oracle, timer),
                       "never fired, and was neither stopped nor restarted");
            timer->state = STOPPED;
            oracle->verdict->pending--;
        }
    }
    const struct histogram *early = &verdict->early_ticks;
    const struct histogram *late = &verdict->late_ticks;
    if (early->total + late->total > 0) {
        verdict->lateness_min = early->total > 0 ? -(int64_t)early->max : (int64_t)late->min;
        verdict->lateness_max = late->total > 0 ? (int64_t)late->max : -(int64_t)early->min;
    }
}

int64_t verdict_lateness_quantile(const struct verdict *verdict, double share)
{
    uint64_t early = verdict->early_ticks.total;
    uint64_t total = early + verdict->late_ticks.total;
    if (total == 0) {
        return 0;
    }
    double exact = share * (double)total;
    uint64_t rank = (uint64_t)exact;
    rank += (double)rank < exact ? 1 : 0;
    rank = rank > 0 ? rank : 1;
    /* Ranks go from the earliest to the latest, so early ones are in descending order. */
    if (rank <= early) {
        return -(int64_t)histogram_at_rank(&verdict->early_ticks, early - rank + 1);
    }
    return (int64_t)histogram_at_rank(&verdict->late_ticks, rank - early);
}
