#include "kit_subject.h"

#include "child.h"

#include "due.h"
#include "memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void kit_fail(struct kit_witness *witness, enum fault_kind fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(witness->message, sizeof witness->message, format, arguments);
    va_end(arguments);
    witness->fault = fault;
    witness->give_up(witness);
    abort(); /* give_up does not return; the compiler cannot know */
}

void kit_note(struct kit_witness *witness, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(witness->message, sizeof witness->message, format, arguments);
    va_end(arguments);
}

uint64_t kit_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

bool subject_can(const struct kit_subject *subject, uint32_t capabilities)
{
    return (subject->algo->capabilities & capabilities) == capabilities;
}

void kit_enter(struct kit_subject *subject, enum kit_hook hook, uint64_t id, uint64_t tick)
{
    struct kit_witness *witness = subject->witness;
    witness->hooks++;
    witness->hook = hook;
    witness->hook_id = id;
    witness->hook_tick = tick;
    witness->clock = subject->clock;
    child_progress(witness->hooks);
    child_enter(kit_hook_word(hook));
}

const char *kit_hook_word(enum kit_hook hook)
{
    static const char names[][16] = {
#define KIT_HOOK_NAME(code, word) word,
        KIT_HOOK_MAP(KIT_HOOK_NAME)
#undef KIT_HOOK_NAME
    };
    return (size_t)hook < sizeof names / sizeof names[0] ? names[hook] : names[KIT_HOOK_NONE];
}

static void guard_report(void *ctx, const char *what)
{
    struct kit_subject *subject = ctx;
    kit_fail(subject->witness, FAULT_GUARD, "%s (noticed at clock %" PRIu64 ", in or after %s)",
             what, subject->clock, kit_hook_word(subject->witness->hook));
}

static const char *guard_during(void *ctx)
{
    const struct kit_subject *subject = ctx;
    return kit_hook_word(subject->witness->hook);
}

void subject_init(struct kit_subject *subject, const struct tl_algo *algo, const void *options,
                  uint64_t limit_bytes, struct kit_witness *witness)
{
    *subject = (struct kit_subject){
        .algo = algo, .witness = witness, .instance = KIT_NO_INSTANCE, .firing = KIT_NO_TIMER};
    memcpy(subject->options, options, sizeof subject->options);
    kit_guard_init(&subject->guard, guard_report, subject);
    subject->guard.during = guard_during;
    subject->guard.limit_bytes = limit_bytes;
    memcpy(witness->options, options, sizeof witness->options);
}

/* --- the model ------------------------------------------------------------------------------- */

/* Of two timers, the one that must fire first. */
static uint32_t winner_of(const struct kit_subject *subject, uint32_t a, uint32_t b)
{
    if (a == KIT_NO_TIMER || b == KIT_NO_TIMER) {
        return a == KIT_NO_TIMER ? b : a;
    }
    const struct kit_timer *x = &subject->timers[a];
    const struct kit_timer *y = &subject->timers[b];
    return (x->limit != y->limit ? x->limit < y->limit : x->serial < y->serial) ? a : b;
}

/* Play the matches above a timer that is pending now, or no longer: O(log n). */
static void play(struct kit_subject *subject, uint32_t id)
{
    uint32_t *winners = subject->winners;
    uint32_t node = subject->leaves + id;
    winners[node] = subject->timers[id].state == KIT_TIMER_PENDING ? id : KIT_NO_TIMER;
    for (node /= 2; node > 0; node /= 2) {
        uint32_t winner = winner_of(subject, winners[2 * node], winners[2 * node + 1]);
        /* Another one won here before and wins again: nothing above has changed. */
        if (winner == winners[node] && winner != id) {
            break;
        }
        winners[node] = winner;
    }
}

uint32_t subject_first(const struct kit_subject *subject)
{
    return subject->leaves > 0 ? subject->winners[1] : KIT_NO_TIMER;
}

/* Room in the model for that many ids. */
static void model_grow(struct kit_subject *subject, uint32_t capacity)
{
    uint32_t leaves = subject->leaves > 0 ? subject->leaves : 1;
    if (capacity <= subject->usable) {
        return;
    }
    subject->timers = memory_resize(subject->timers, capacity, sizeof *subject->timers);
    for (uint32_t id = subject->usable; id < capacity; id++) {
        subject->timers[id] = (struct kit_timer){.state = KIT_TIMER_NEW};
    }
    subject->usable = capacity;
    while (leaves < capacity) {
        leaves *= 2;
    }
    if (leaves == subject->leaves) {
        return;
    }
    subject->winners =
        memory_resize(subject->winners, 2 * (size_t)leaves, sizeof *subject->winners);
    subject->leaves = leaves;
    for (uint32_t id = 0; id < leaves; id++) {
        bool is_in = id < capacity && subject->timers[id].state == KIT_TIMER_PENDING;
        subject->winners[leaves + id] = is_in ? id : KIT_NO_TIMER;
    }
    for (uint32_t node = leaves - 1; node > 0; node--) {
        subject->winners[node] =
            winner_of(subject, subject->winners[2 * node], subject->winners[2 * node + 1]);
    }
}

/* Log an operation, inside a callback as one of that callback. */
static void note(struct kit_subject *subject, struct kit_op op)
{
    if (subject->witness->repeating) {
        return;
    }
    if (subject->firing != KIT_NO_TIMER && (op.kind == KIT_OP_START || op.kind == KIT_OP_STOP)) {
        op.kind = op.kind == KIT_OP_START ? KIT_OP_WHEN_START : KIT_OP_WHEN_STOP;
        op.other = op.id;
        op.id = subject->firing;
        op.last = op.id;
    }
    kit_log_op(&subject->witness->log, subject->instance, op);
}

uint64_t subject_model_bytes(const struct kit_subject *subject)
{
    return subject->usable * sizeof *subject->timers +
           2 * (uint64_t)subject->leaves * sizeof *subject->winners;
}

static void check_count(struct kit_subject *subject, const char *when)
{
    enum kit_hook hook = subject->witness->hook;
    subject->witness->hook = KIT_HOOK_COUNT;
    uint64_t count = subject->algo->count(subject->self);
    subject->witness->hook = hook;
    if (count != subject->pending) {
        kit_fail(subject->witness, FAULT_COUNT,
                 "%s at clock %" PRIu64 ", count is %" PRIu64 " where %" PRIu64
                 " timers are pending",
                 when, subject->clock, count, subject->pending);
    }
}

/* Fails if the hook just called allocated though the structure promises otherwise. */
static void check_allocations(struct kit_subject *subject, uint64_t allocations_before)
{
    if (subject->guard.allocations != allocations_before &&
        !subject_can(subject, TL_CAP_ALLOCATES)) {
        kit_fail(subject->witness, FAULT_ALLOCATION,
                 "%s (timer %" PRIu64 ", tick %" PRIu64 ", clock %" PRIu64
                 ") allocated, without the capability `allocates`",
                 kit_hook_word(subject->witness->hook), subject->witness->hook_id,
                 subject->witness->hook_tick, subject->clock);
    }
}

/* --- the caller's records --------------------------------------------------------------------- */

static bool has_records(const struct kit_subject *subject)
{
    return subject->layout.lodging == KIT_LODGING_RECORDS;
}

static void make_records(struct kit_subject *subject, uint32_t capacity)
{
    if (!kit_records_init(&subject->records, &subject->layout, subject->algo->embedded_bytes,
                          capacity, subject->guard.place, guard_report, subject)) {
        kit_fail(subject->witness, FAULT_HARNESS, "no memory for records of %" PRIu32 " timers",
                 capacity);
    }
    subject->guard.beside = &subject->records.guard;
    subject->passed = subject->records.given;
}

static void move_records(struct kit_subject *subject, uint32_t room)
{
    kit_records_check(&subject->records, subject->capacity);
    if (!kit_records_move(&subject->records, room)) {
        kit_fail(subject->witness, FAULT_HARNESS, "no memory for records of %" PRIu32 " timers",
                 room);
    }
    uint64_t allocations = subject->guard.allocations;
    subject->passed = subject->records.given;
    kit_enter(subject, KIT_HOOK_MOVED, room, subject->clock);
    subject->algo->moved(subject->self, &subject->passed);
    memset(&subject->passed, 0x81, sizeof subject->passed);
    check_allocations(subject, allocations);
    check_count(subject, "after the records moved");
}

void subject_move(struct kit_subject *subject)
{
    if (has_records(subject)) {
        note(subject, kit_op_of(KIT_OP_MOVE, 0));
        move_records(subject, subject->capacity);
    }
}

void subject_check_memory(struct kit_subject *subject)
{
    kit_guard_check(&subject->guard);
    if (has_records(subject)) {
        kit_records_check(&subject->records, subject->capacity);
    }
}

/* --- made and destroyed ----------------------------------------------------------------------- */

bool subject_create(struct kit_subject *subject, uint32_t capacity, uint64_t now,
                    uint64_t max_delay_ticks)
{
    model_grow(subject, capacity);
    subject->clock = now;
    subject->capacity = capacity;
    struct tl_config config = {
        .capacity = capacity,
        .now = now,
        .max_delay_ticks = max_delay_ticks,
        .options = subject->given,
        .allocator = subject->allocator != NULL ? subject->allocator : &subject->guard.allocator,
    };
    memcpy(subject->given, subject->options, sizeof subject->given);
    if (has_records(subject)) {
        make_records(subject, capacity);
        config.records = &subject->passed;
    }
    uint64_t refused = subject->guard.refused;
    struct kit_session session = {
        .capacity = capacity,
        .now = now,
        .max_delay_ticks = max_delay_ticks,
        .grants = subject->guard.grants,
        .place = subject->guard.place,
        .counted =
            subject->layout.lodging == KIT_LODGING_OWN && subject->algo != subject->witness->timed,
        .records = subject->layout,
    };
    memcpy(session.options, subject->options, sizeof session.options);
    subject->instance = kit_log_create(&subject->witness->log, &session);
    kit_enter(subject, KIT_HOOK_CREATE, capacity, now);
    subject->self = NULL;
    enum tl_status status = subject->algo->create(&config, &subject->self);
    /* Valid during the call only: a structure that kept a pointer reads this. */
    memset(subject->given, 0x81, sizeof subject->given);
    memset(&config, 0x81, sizeof config);
    memset(&subject->passed, 0x81, sizeof subject->passed);
    if (status == TL_OK) {
        if (subject->self == NULL) {
            kit_fail(subject->witness, FAULT_STATUS, "create returned TL_OK and no structure");
        }
        check_count(subject, "after create");
        return true;
    }
    subject_check_memory(subject);
    if (subject->self != NULL) {
        kit_fail(subject->witness, FAULT_STATUS, "create refused (%s) and set *self",
                 tl_status_name(status));
    }
    if (subject->guard.blocks != 0) {
        kit_fail(subject->witness, FAULT_LEAK,
                 "create refused (%s) and leaked %" PRIu64 " bytes in %" PRIu64 " blocks",
                 tl_status_name(status), subject->guard.bytes, subject->guard.blocks);
    }
    bool starved = subject->guard.refused != refused;
    if (status != TL_ERR_UNAVAILABLE && status != TL_ERR_OPTION &&
        (status != TL_ERR_NOMEM || !starved)) {
        kit_fail(subject->witness, FAULT_STATUS, "create for %" PRIu32 " timers returned %s%s",
                 capacity, tl_status_name(status),
                 starved ? ", where memory was refused" : ", where nothing was refused");
    }
    subject->witness->log.alive--;
    subject->witness->unavailable |= status == TL_ERR_UNAVAILABLE;
    subject_discard(subject);
    return false;
}

void subject_discard(struct kit_subject *subject)
{
    kit_guard_release(&subject->guard);
    kit_records_release(&subject->records);
    free(subject->timers);
    free(subject->winners);
    free(subject->traffic);
    subject->traffic = NULL;
    subject->timers = NULL;
    subject->winners = NULL;
    subject->self = NULL;
}

void subject_destroy(struct kit_subject *subject)
{
    note(subject, kit_op_of(KIT_OP_DESTROY, 0));
    kit_enter(subject, KIT_HOOK_DESTROY, 0, subject->clock);
    subject->algo->destroy(subject->self);
    subject_check_memory(subject);
    if (subject->guard.blocks != 0) {
        kit_fail(subject->witness, FAULT_LEAK,
                 "destroy, with %" PRIu64 " timers pending, leaked %" PRIu64 " bytes in %" PRIu64
                 " blocks",
                 subject->pending, subject->guard.bytes, subject->guard.blocks);
    }
    subject->witness->log.alive--;
    subject_discard(subject);
}

void subject_allow(struct kit_subject *subject, uint64_t grants, int64_t largest_bytes)
{
    struct kit_op op = kit_op_of(KIT_OP_ALLOW, 0);
    op.budget = grants;
    op.ticks = largest_bytes;
    note(subject, op);
    subject->guard.grants = grants;
    subject->guard.largest_bytes = largest_bytes > 0 ? (uint64_t)largest_bytes : UINT64_MAX;
}

bool subject_reserve(struct kit_subject *subject, uint32_t capacity)
{
    uint64_t refused = subject->guard.refused;
    note(subject, kit_op_of(KIT_OP_RESERVE, capacity));
    if (has_records(subject) && capacity > subject->records.room) {
        move_records(subject, capacity + capacity / 2);
    }
    kit_enter(subject, KIT_HOOK_RESERVE, capacity, subject->clock);
    enum tl_status status = subject->algo->reserve(subject->self, capacity);
    bool starved = subject->guard.refused != refused;
    if (status == TL_OK) {
        model_grow(subject, capacity);
        if (capacity > subject->capacity) {
            subject->capacity = capacity;
        }
    } else if (status != TL_ERR_NOMEM || !starved) {
        kit_fail(subject->witness, FAULT_STATUS,
                 "reserve(%" PRIu32 ") at clock %" PRIu64 " returned %s%s", capacity,
                 subject->clock, tl_status_name(status),
                 starved ? "" : ", where no memory was refused");
    }
    check_count(subject, "after reserve");
    return status == TL_OK;
}

enum tl_status subject_start(struct kit_subject *subject, uint32_t id, uint64_t deadline)
{
    struct kit_timer *timer = &subject->timers[id];
    uint64_t allocations = subject->guard.allocations;
    bool may_be_beyond = !subject_can(subject, TL_CAP_UNLIMITED) && deadline > subject->clock;
    bool may_be_full = subject_can(subject, TL_CAP_REFUSES) && subject->serial > 0;
    struct kit_op op = kit_op_of(KIT_OP_START, id);
    op.ticks = kit_ticks_to(subject->clock, deadline);
    note(subject, op);
    kit_enter(subject, KIT_HOOK_START, id, deadline);
    enum tl_status status = subject->algo->start(subject->self, id, deadline);
    check_allocations(subject, allocations);
    if (status == TL_OK) {
        uint64_t due = due_tick(subject->clock, deadline);
        subject->witness->hook = KIT_HOOK_PRECISION;
        struct tl_precision precision =
            tl_algo_precision(subject->algo, subject->options, due_delay(subject->clock, deadline));
        subject->pending += timer->state != KIT_TIMER_PENDING;
        if (subject->pending > subject->witness->coverage.pending) {
            subject->witness->coverage.pending = subject->pending;
        }
        bool is_filed = timer->state == KIT_TIMER_PENDING || timer->state == KIT_TIMER_STOPPED;
        *timer = (struct kit_timer){
            .due = due,
            .filed_under = is_filed && timer->filed_under < due ? timer->filed_under : due,
            .deadline = deadline,
            .started_at = subject->clock,
            .early = precision.early_ticks,
            .limit = due_last(due, precision.late_ticks),
            .serial = subject->serial++,
            .state = KIT_TIMER_PENDING,
            .last_action = timer->last_action,
        };
        play(subject, id);
    } else if (!(status == TL_ERR_HORIZON && may_be_beyond) &&
               !(status == TL_ERR_FULL && may_be_full)) {
        kit_fail(subject->witness, FAULT_STATUS,
                 "start of timer %" PRIu32 " with deadline %" PRIu64 " at clock %" PRIu64
                 " returned %s, expected TL_OK%s%s",
                 id, deadline, subject->clock, tl_status_name(status),
                 may_be_beyond ? " or TL_ERR_HORIZON" : "", may_be_full ? " or TL_ERR_FULL" : "");
    }
    check_count(subject, status == TL_OK ? "after a start" : "after a refused start");
    return status;
}

enum tl_status subject_stop(struct kit_subject *subject, uint32_t id)
{
    struct kit_timer *timer = &subject->timers[id];
    uint64_t allocations = subject->guard.allocations;
    note(subject, kit_op_of(KIT_OP_STOP, id));
    kit_enter(subject, KIT_HOOK_STOP, id, timer->due);
    enum tl_status status = subject->algo->stop(subject->self, id);
    check_allocations(subject, allocations);
    enum tl_status expected = timer->state == KIT_TIMER_PENDING ? TL_OK : TL_IDLE;
    if (status != expected) {
        static const char *const states[] = {"was never started", "is pending", "has fired",
                                             "was stopped before"};
        kit_fail(subject->witness, FAULT_STATUS,
                 "stop of timer %" PRIu32 ", which %s%s, at clock %" PRIu64
                 " returned %s, expected %s",
                 id, states[timer->state], subject->advancing ? " (inside a callback)" : "",
                 subject->clock, tl_status_name(status), tl_status_name(expected));
    }
    if (status == TL_OK) {
        timer->state = KIT_TIMER_STOPPED;
        play(subject, id);
        subject->pending--;
    }
    check_count(subject, "after a stop");
    return status;
}

static void check_fire_order(struct kit_subject *subject, uint32_t id)
{
    const struct kit_timer *timer = &subject->timers[id];
    if (subject->fired == 0 || !subject_can(subject, TL_CAP_ORDERED)) {
        return;
    }
    if (timer->due < subject->last_due) {
        kit_fail(subject->witness, FAULT_MISORDERED,
                 "timer %" PRIu32 ", due at %" PRIu64 ", fired at tick %" PRIu64
                 " after one due at %" PRIu64 ", against the capability `ordered`",
                 id, timer->due, subject->clock, subject->last_due);
    }
    if (subject_can(subject, TL_CAP_FIFO) && timer->due == subject->last_due &&
        timer->serial < subject->last_serial) {
        kit_fail(subject->witness, FAULT_MISORDERED,
                 "timer %" PRIu32 ", due at %" PRIu64 " and started first, fired at tick %" PRIu64
                 " after one with the same due tick that was started later, against the "
                 "capability `fifo`",
                 id, timer->due, subject->clock);
    }
}

static void subject_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct kit_subject *subject = ctx;
    struct kit_witness *witness = subject->witness;
    witness->hooks++; /* an advance that fires very many does not hang */
    if (id >= subject->capacity) {
        kit_fail(witness, FAULT_DUPLICATE,
                 "timer %" PRIu32 " fired at tick %" PRIu64 ", where only %" PRIu32 " can be named",
                 id, now, subject->capacity);
    }
    struct kit_timer *timer = &subject->timers[id];
    switch (timer->state) {
    case KIT_TIMER_PENDING:
        break;
    case KIT_TIMER_NEW:
        kit_fail(witness, FAULT_DUPLICATE,
                 "timer %" PRIu32 " fired at tick %" PRIu64 ", and was never started", id, now);
    case KIT_TIMER_FIRED:
        kit_fail(witness, FAULT_DUPLICATE,
                 "timer %" PRIu32 " (due at %" PRIu64 ") fired at tick %" PRIu64
                 ", and again at %" PRIu64 " without having been started between",
                 id, timer->due, timer->fired_at, now);
    case KIT_TIMER_STOPPED:
        kit_fail(witness, FAULT_DUPLICATE,
                 "timer %" PRIu32 " (due at %" PRIu64 ") fired at tick %" PRIu64
                 " though it had been stopped",
                 id, timer->due, now);
    }
    if (now != subject->clock) {
        kit_fail(witness, FAULT_COUNT,
                 "timer %" PRIu32 " was handed out with now = %" PRIu64
                 " in an advance to %" PRIu64,
                 id, now, subject->clock);
    }
    if (timer->serial >= subject->first_serial_inside) {
        kit_fail(witness, FAULT_REENTRY,
                 "timer %" PRIu32 ", started with deadline %" PRIu64
                 " inside a callback at tick %" PRIu64 ", fired in that same advance",
                 id, timer->deadline, now);
    }
    if (due_is_early(now, timer->due, timer->early)) {
        kit_fail(witness, FAULT_EARLY,
                 "timer %" PRIu32 ", started at %" PRIu64 " with deadline %" PRIu64
                 ", expected at %" PRIu64 " (at most %" PRIu64 " early), fired at tick %" PRIu64,
                 id, timer->started_at, timer->deadline, timer->due, timer->early, now);
    }
    if (subject->fired >= subject->budget) {
        kit_fail(witness, FAULT_BUDGET,
                 "timer %" PRIu32 " fired at tick %" PRIu64 " as number %" PRIu64
                 " of an advance with a budget of %" PRIu64,
                 id, now, subject->fired + 1, subject->budget);
    }
    if (now < subject->next_bound) {
        kit_fail(witness, FAULT_NEXT,
                 "timer %" PRIu32 " (due at %" PRIu64 ") fired at tick %" PRIu64
                 ", before the tick %" PRIu64 " that next had said just before",
                 id, timer->due, now, subject->next_bound);
    }
    check_fire_order(subject, id);
    subject->last_due = timer->due;
    subject->last_serial = timer->serial;
    subject->fired++;
    subject->fired_hash = (subject->fired_hash ^ id ^ (now << 20)) * UINT64_C(0x100000001b3);
    timer->state = KIT_TIMER_FIRED;
    timer->fired_at = now;
    play(subject, id);
    subject->pending--;
    check_count(subject, "inside a callback");
    if (subject->on_fire != NULL) {
        subject->firing = id;
        subject->on_fire(subject, id);
        subject->firing = KIT_NO_TIMER;
        kit_enter(subject, KIT_HOOK_ADVANCE, id, now);
    }
}

/* The context is a late timer until it fires. Nothing is checked any more. */
static void chase_fired(void *ctx, uint32_t id, uint64_t now)
{
    uint32_t *late = ctx;
    (void)now;
    *late = *late == id ? KIT_NO_TIMER : *late;
}

/* Reports a timer that did not fire in time. The fault is on record first; then the structure is
 * driven on, which may end in anything, to say whether the timer is late or lost. */
static noreturn void fail_late(struct kit_subject *subject, uint32_t id)
{
    const struct kit_timer *timer = &subject->timers[id];
    struct kit_witness *witness = subject->witness;
    char text[sizeof witness->message];
    (void)snprintf(text, sizeof text,
                   "timer %" PRIu32 ", started at %" PRIu64 " with deadline %" PRIu64
                   ", expected at %" PRIu64 " (at most %" PRIu64
                   " late), had not fired after the advance to %" PRIu64,
                   id, timer->started_at, timer->deadline, timer->due, timer->limit - timer->due,
                   subject->clock);
    memcpy(witness->message, text, sizeof text);
    witness->fault = FAULT_LATE;
    uint64_t step = 1;
    uint64_t now = subject->clock;
    for (unsigned i = 0; i < 200 && id != KIT_NO_TIMER && now < TL_DEADLINE_MAX; i++) {
        now += step;
        step = i < 100 ? 1 : step * 2;
        (void)subject->algo->advance(subject->self, now, TL_NO_BUDGET, chase_fired, &id);
    }
    if (id == KIT_NO_TIMER) {
        kit_fail(witness, FAULT_LATE, "%s; it fired at %s%" PRIu64, text,
                 step > 1 ? "or before " : "", now);
    }
    kit_fail(witness, FAULT_LOST, "%s; it is lost: advancing to %" PRIu64 " did not bring it", text,
             now);
}

/* After an advance that its budget did not end, no timer may be overdue. A timer that a callback
 * started for now has the later serial, so it is first only if it is alone. */
static void check_nothing_overdue(struct kit_subject *subject)
{
    uint32_t first = subject_first(subject);
    if (first != KIT_NO_TIMER && subject->timers[first].limit <= subject->clock &&
        subject->timers[first].serial < subject->first_serial_inside) {
        fail_late(subject, first);
    }
}

/* After an advance that its budget ended: no timer left over is before one that fired. In an exact
 * structure, the most urgent timer is the one due first. */
static void check_left_over(struct kit_subject *subject)
{
    uint32_t first = subject_first(subject);
    if (!subject_can(subject, TL_CAP_ORDERED | TL_CAP_EXACT) || subject->fired == 0 ||
        first == KIT_NO_TIMER) {
        return;
    }
    const struct kit_timer *timer = &subject->timers[first];
    if (timer->serial < subject->first_serial_inside &&
        (timer->due < subject->last_due ||
         (subject_can(subject, TL_CAP_FIFO) && timer->due == subject->last_due &&
          timer->serial < subject->last_serial))) {
        kit_fail(subject->witness, FAULT_MISORDERED,
                 "timer %" PRIu32 ", due at %" PRIu64 ", was left over by an advance to %" PRIu64
                 " with a budget of %" PRIu64 " that fired one due at %" PRIu64 "%s",
                 first, timer->due, subject->clock, subject->budget, subject->last_due,
                 timer->due < subject->last_due ? "" : ", started later");
    }
}

static void check_next_after(struct kit_subject *subject, uint64_t bound)
{
    if (subject->fired != 0 || subject->budget == 0 || subject->clock < bound) {
        return;
    }
    if (subject_can(subject, TL_CAP_NEXT_EXACT)) {
        kit_fail(subject->witness, FAULT_NEXT,
                 "next said %" PRIu64 ", and the advance to %" PRIu64
                 " fired nothing, against the capability `next-exact`",
                 bound, subject->clock);
    }
    uint64_t grown = subject_next(subject);
    if (grown <= bound) {
        kit_fail(subject->witness, FAULT_NEXT,
                 "next said %" PRIu64 ", the advance to %" PRIu64
                 " fired nothing, and next then said %" PRIu64 " where it must have grown",
                 bound, subject->clock, grown);
    }
}

uint64_t subject_advance(struct kit_subject *subject, uint64_t now, uint64_t budget)
{
    struct kit_op op = kit_op_of(KIT_OP_ADVANCE, 0);
    op.ticks = kit_ticks_to(subject->clock, now);
    op.budget = budget;
    note(subject, op);
    bool asks_next = subject_can(subject, TL_CAP_NEXT);
    uint64_t bound = asks_next ? subject_next(subject) : 0;
    uint64_t allocations = subject->guard.allocations;
    subject->next_bound = bound;
    subject->budget = subject_can(subject, TL_CAP_BUDGET) ? budget : TL_NO_BUDGET;
    subject->fired = 0;
    subject->first_serial_inside = subject->serial;
    subject->witness->coverage.ticks += (double)(now - subject->clock);
    subject->clock = now;
    subject->advancing = true;
    kit_enter(subject, KIT_HOOK_ADVANCE, 0, now);
    uint64_t fired =
        subject->algo->advance(subject->self, now, subject->budget, subject_fired, subject);
    subject->advancing = false;
    subject->witness->coverage.callbacks += subject->fired;
    check_allocations(subject, allocations);
    if (fired != subject->fired) {
        kit_fail(subject->witness, FAULT_COUNT,
                 "advance to %" PRIu64 " returned %" PRIu64 ", and handed out %" PRIu64 " timers",
                 now, fired, subject->fired);
    }
    check_count(subject, "after an advance");
    if (fired < subject->budget) {
        check_nothing_overdue(subject);
    } else {
        check_left_over(subject);
    }
    if (asks_next && bound != TL_NEVER) {
        check_next_after(subject, bound);
    }
    return fired;
}

uint64_t subject_next(struct kit_subject *subject)
{
    kit_enter(subject, KIT_HOOK_NEXT, 0, subject->clock);
    uint64_t next = subject->algo->next(subject->self);
    if (subject->pending == 0) {
        if (next != TL_NEVER) {
            kit_fail(subject->witness, FAULT_NEXT,
                     "nothing is pending at clock %" PRIu64 ", and next says %" PRIu64
                     ", expected TL_NEVER",
                     subject->clock, next);
        }
        return next;
    }
    uint32_t first = subject_first(subject);
    uint64_t limit = subject->timers[first].limit;
    uint64_t latest = limit > subject->clock ? limit : subject->clock;
    if (next > latest) {
        kit_fail(subject->witness, FAULT_NEXT,
                 "timer %" PRIu32 " (due at %" PRIu64 ") must fire by %" PRIu64
                 ", and at clock %" PRIu64 " next says %" PRIu64,
                 first, subject->timers[first].due, latest, subject->clock, next);
    }
    if (subject_can(subject, TL_CAP_EXACT | TL_CAP_NEXT_EXACT) && next < latest &&
        latest > subject->clock) {
        kit_fail(subject->witness, FAULT_NEXT,
                 "timer %" PRIu32 " is the first to fire, at %" PRIu64 ", and at clock %" PRIu64
                 " next says %" PRIu64 ", against the capability `next-exact`",
                 first, latest, subject->clock, next);
    }
    return next;
}

void subject_drain(struct kit_subject *subject)
{
    for (unsigned i = 0; i < 64 && subject_can(subject, TL_CAP_NEXT); i++) {
        uint64_t next = subject_next(subject);
        if (next == TL_NEVER) {
            break;
        }
        (void)subject_advance(subject, next > subject->clock ? next : subject->clock, TL_NO_BUDGET);
    }
    while (subject->pending > 0) {
        uint64_t latest = subject->clock;
        for (uint32_t id = 0; id < subject->usable; id++) {
            const struct kit_timer *timer = &subject->timers[id];
            if (timer->state == KIT_TIMER_PENDING && timer->limit > latest) {
                latest = timer->limit;
            }
        }
        (void)subject_advance(subject, latest, TL_NO_BUDGET);
    }
}
