#include "kit_interpreter.h"

#include "due.h"

#include <stdlib.h>
#include <string.h>

/* A session's structure may take this much; options that ask for more are not what is fuzzed. */
#define SESSION_BYTES           ((uint64_t)32 << 20)

/* The invariants and the guards are looked at every so many operations, and more seldom the more
 * memory there is to look at: operations find more faults than looking does. */
#define INSPECT_EVERY           32u
#define INSPECT_BYTES_OPERATION 128u

/* --- numbers worth trying -------------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct values {
    uint64_t *at;
    size_t count;
    uint64_t largest;
};

static void add_value(struct values *values, uint64_t value)
{
    for (uint64_t near = value > 0 ? value - 1 : 0; near <= value + 1; near++) {
        if (near <= values->largest && values->count < KIT_BOUNDARIES_MAX) {
            values->at[values->count++] = near;
        }
    }
}

/* base, its small multiples and its powers. */
static void add_base(struct values *values, uint64_t base)
{
    for (uint64_t k = 1; k <= 3; k++) {
        add_value(values, k * base);
    }
    uint64_t power = base;
    for (unsigned k = 0; k < 4 && power <= values->largest / base; k++) {
        power *= base;
        add_value(values, power);
    }
}

size_t kit_boundaries(const struct tl_algo *algo, const int64_t *options, uint64_t largest,
                      uint64_t at[KIT_BOUNDARIES_MAX])
{
    static const uint64_t bases[] = {2, 3, 10, 20, 60, 64, 100, 256, 512, 1000, 1024, 4096, 65536};
    struct values values = {.at = at, .largest = largest};
    size_t option_count = tl_option_count(algo);
    /* The structure's own numbers first: they must find room. */
    for (size_t i = 0; i < option_count; i++) {
        uint64_t own = options[i] > 1 ? (uint64_t)options[i] : 1;
        if (own > largest || own > UINT32_MAX) {
            continue;
        }
        if (own > 1) {
            add_base(&values, own);
        }
        for (size_t j = i + 1; j < option_count; j++) {
            uint64_t other = options[j] > 1 ? (uint64_t)options[j] : 1;
            if (other > 1 && other <= UINT32_MAX && own > 1) {
                add_value(&values, own * other);
                add_value(&values, 2 * own * other);
                add_value(&values, own * other * other);
                add_value(&values, own * own * other);
            }
        }
    }
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        if (bases[i] <= largest) {
            add_base(&values, bases[i]);
        }
    }
    for (unsigned k = 1; k < 63; k++) {
        add_value(&values, UINT64_C(1) << k);
    }
    qsort(at, values.count, sizeof at[0], compare_values);
    size_t kept = 0;
    for (size_t i = 0; i < values.count; i++) {
        if (kept == 0 || at[i] != at[kept - 1]) {
            at[kept++] = at[i];
        }
    }
    return kept;
}

size_t kit_option_candidates(const struct tl_option *option, int64_t values[KIT_CANDIDATES_MAX])
{
    static const int64_t numbers[] = {1,  2,  3,  4,  5,   7,   8,   10,   12,   16,  20,
                                      31, 32, 60, 64, 100, 128, 256, 1000, 1024, 4096};
    size_t count = 0;
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (count < KIT_CANDIDATES_MAX / 4) {
            values[count++] = c->value;
        }
    }
    if (option->min > option->max) {
        return count;
    }
    values[count++] = option->min;
    if (option->min < option->max) {
        values[count++] = option->min + 1;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (option->min < numbers[i] && numbers[i] <= option->max) {
            values[count++] = numbers[i];
        }
    }
    return count;
}

/* --- a session under way --------------------------------------------------------------------- */

/* What a firing does. */
struct arm {
    bool stops;
    bool always;
    uint32_t other;
    int64_t ticks;
};

struct arms {
    size_t count;
    struct arm of[KIT_ARMS_MAX];
};

struct session {
    struct kit_subject subject;
    struct arms *arms; /* by the timer whose firing sets them off */
    uint32_t arm_count;
    uint64_t inspected; /* the witness's count of operations at the last inspection */
};

static uint64_t deadline_at(const struct kit_subject *subject, int64_t ticks)
{
    uint64_t clock = subject->clock;
    if (ticks == INT64_MAX) {
        return TL_DEADLINE_MAX;
    }
    if (ticks < 0) {
        uint64_t back = (uint64_t)0 - (uint64_t)ticks;
        uint64_t past = back < clock ? clock - back : 0;
        return past < TL_DEADLINE_MAX ? past : TL_DEADLINE_MAX;
    }
    return due_deadline(clock, (uint64_t)ticks);
}

static void session_fired(struct kit_subject *subject, uint32_t id)
{
    const struct session *session = subject->on_fire_ctx;
    struct arms *arms = &session->arms[id];
    size_t kept = 0;
    for (size_t i = 0; i < arms->count; i++) {
        struct arm arm = arms->of[i];
        uint32_t other = arm.other % subject->capacity;
        if (arm.stops) {
            (void)subject_stop(subject, other);
        } else {
            (void)subject_start(subject, other, deadline_at(subject, arm.ticks));
        }
        if (arm.always) {
            arms->of[kept++] = arm;
        }
    }
    arms->count = kept;
}

static void add_arm(struct arms *arms, struct arm arm)
{
    if (arms->count == KIT_ARMS_MAX) {
        arms->count--;
        memmove(arms->of, arms->of + 1, arms->count * sizeof arm);
    }
    arms->of[arms->count++] = arm;
}

/* What was always to be done is done once more. */
static void let_end(const struct session *session)
{
    for (uint32_t id = 0; id < session->arm_count; id++) {
        for (size_t i = 0; i < session->arms[id].count; i++) {
            session->arms[id].of[i].always = false;
        }
    }
}

static bool grow_arms(struct session *session)
{
    uint32_t capacity = session->subject.capacity;
    if (capacity > session->arm_count) {
        struct arms *arms = realloc(session->arms, capacity * sizeof *arms);
        if (arms == NULL) {
            return false;
        }
        memset(arms + session->arm_count, 0, (capacity - session->arm_count) * sizeof *arms);
        session->arms = arms;
        session->arm_count = capacity;
    }
    return true;
}

/* Makes the structure; false if it refused, and then nothing is left. */
static bool session_begin(struct session *session, const struct kit_target *target,
                          const struct kit_session *start, struct kit_witness *witness)
{
    *session = (struct session){.arms = NULL};
    if (witness->session.options != start->options) {
        witness->session = *start;
    }
    witness->op_count = 0;
    subject_init(&session->subject, target->algo, witness->session.options, SESSION_BYTES, witness);
    session->subject.on_fire = session_fired;
    session->subject.on_fire_ctx = session;
    if (subject_create(&session->subject, start->capacity, start->now, start->max_delay_ticks) !=
        KIT_OPENED) {
        subject_discard(&session->subject);
        return false;
    }
    session->inspected = witness->operations;
    if (!grow_arms(session)) {
        kit_fail(witness, FAULT_HARNESS, "no memory for a session of %u timers",
                 (unsigned)start->capacity);
    }
    return true;
}

static void session_end(struct session *session)
{
    subject_inspect(&session->subject);
    let_end(session);
    subject_drain(&session->subject);
    subject_inspect(&session->subject);
    subject_destroy(&session->subject);
    free(session->arms);
}

/* The tick that an advance by `ticks` goes to. The clock stays where deadlines can lie ahead. */
static uint64_t tick_at(const struct kit_subject *subject, int64_t ticks)
{
    uint64_t now = due_add(subject->clock, ticks > 0 ? (uint64_t)ticks : 0);
    uint64_t end = subject->clock > TL_DEADLINE_MAX ? subject->clock : TL_DEADLINE_MAX;
    return now < end ? now : end;
}

static void session_do(struct session *session, const struct kit_op *op)
{
    struct kit_subject *subject = &session->subject;
    struct kit_witness *witness = subject->witness;
    if (witness->op_count < KIT_OPS_MAX) {
        witness->ops[witness->op_count++] = *op;
    }
    uint32_t id = subject->capacity > 0 ? op->id % subject->capacity : 0;
    bool names_timer =
        op->kind != KIT_OP_ADVANCE && op->kind != KIT_OP_NEXT && op->kind != KIT_OP_RESERVE;
    if (names_timer && subject->capacity == 0) {
        return;
    }
    switch (op->kind) {
    case KIT_OP_START:
        (void)subject_start(subject, id, deadline_at(subject, op->ticks));
        break;
    case KIT_OP_STOP:
        (void)subject_stop(subject, id);
        break;
    case KIT_OP_ADVANCE:
        (void)subject_advance(subject, tick_at(subject, op->ticks), op->budget);
        break;
    case KIT_OP_NEXT:
        if (subject_can(subject, TL_CAP_NEXT)) {
            uint64_t next = subject_next(subject);
            bool ahead = next != TL_NEVER && next > subject->clock;
            uint64_t by = ahead ? next - subject->clock : 0;
            /* Noted, so that the trace can be run where next says something else. */
            if (witness->op_count > 0 && by < (uint64_t)INT64_MAX) {
                witness->ops[witness->op_count - 1].ticks = (int64_t)by;
            }
            (void)subject_advance(subject, ahead ? next : subject->clock, op->budget);
        }
        break;
    case KIT_OP_RESERVE:
        if (op->id <= KIT_CAPACITY_MAX && subject_reserve(subject, op->id) && !grow_arms(session)) {
            kit_fail(witness, FAULT_HARNESS, "no memory for a session of %u timers",
                     (unsigned)op->id);
        }
        break;
    case KIT_OP_WHEN_START:
    case KIT_OP_WHEN_STOP:
        add_arm(&session->arms[id], (struct arm){
                                        .stops = op->kind == KIT_OP_WHEN_STOP,
                                        .always = op->always,
                                        .other = op->other,
                                        .ticks = op->ticks,
                                    });
        break;
    }
    witness->operations++;
    if (session->inspected + INSPECT_EVERY + subject->guard.bytes / INSPECT_BYTES_OPERATION <=
        witness->operations) {
        session->inspected = witness->operations;
        subject_inspect(subject);
    }
}

bool kit_execute(const struct kit_target *target, const struct kit_session *start,
                 const struct kit_op *ops, size_t count, struct kit_witness *witness)
{
    struct session session;
    if (!session_begin(&session, target, start, witness)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        session_do(&session, &ops[i]);
    }
    session_end(&session);
    return true;
}

/* --- bytes ----------------------------------------------------------------------------------- */

struct bytes {
    const uint8_t *at;
    const uint8_t *end;
};

/* How a session's numbers are drawn. */
struct mood {
    unsigned scale; /* delays and steps go up to about 2^scale */
    uint64_t boundaries[KIT_BOUNDARIES_MAX];
    size_t boundary_count;
};

static uint8_t byte(struct bytes *bytes)
{
    return bytes->at < bytes->end ? *bytes->at++ : 0;
}

static uint64_t word(struct bytes *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) {
        value = value << 8 | byte(bytes);
    }
    return value;
}

static uint64_t boundary(struct bytes *bytes, const struct mood *mood)
{
    return mood->boundaries[word(bytes, 2) % mood->boundary_count];
}

/* Ticks from the clock to a tick on, just before or just behind a multiple of a boundary. */
static uint64_t to_aligned(struct bytes *bytes, const struct mood *mood, uint64_t clock)
{
    uint64_t unit = boundary(bytes, mood);
    uint8_t how = byte(bytes);
    uint64_t ahead = unit > 0 ? unit - clock % unit + unit * (how % 3) : 0;
    uint64_t near = how >> 6;
    return near == 0 && ahead > 0 ? ahead - 1 : near == 1 ? ahead + 1 : ahead;
}

/* Ticks from the clock to near the due tick of some pending timer; 1 if it is not ahead. */
static uint64_t to_timer(struct bytes *bytes, const struct kit_subject *subject)
{
    uint8_t which = byte(bytes);
    uint8_t how = byte(bytes) % 4;
    if (subject->capacity == 0) {
        return 1;
    }
    const struct kit_timer *timer = &subject->timers[which % subject->capacity];
    uint64_t due = how == 0 && timer->due > 0 ? timer->due - 1 : timer->due + (how == 1);
    return timer->state == KIT_TIMER_PENDING && due >= subject->clock ? due - subject->clock : 1;
}

static uint64_t power(struct bytes *bytes, const struct mood *mood)
{
    uint8_t how = byte(bytes);
    return (UINT64_C(1) << (how % (mood->scale + 1))) + (how >> 6) - 1;
}

static int64_t as_ticks(uint64_t ticks)
{
    return ticks < (uint64_t)INT64_MAX ? (int64_t)ticks : INT64_MAX - 1;
}

static int64_t delay(struct bytes *bytes, const struct mood *mood,
                     const struct kit_subject *subject)
{
    uint64_t mask = (UINT64_C(1) << mood->scale) - 1;
    switch (byte(bytes) % 16) {
    case 0:
        return 0;
    case 1:
        return -(int64_t)byte(bytes);
    case 2:
        return byte(bytes) < 32 ? -as_ticks(subject->clock) : 1;
    case 3:
    case 4:
        return 1 + byte(bytes) % 4;
    case 5:
    case 6:
        return byte(bytes);
    case 7:
        return as_ticks(boundary(bytes, mood));
    case 8:
    case 9:
        return as_ticks(to_aligned(bytes, mood, subject->clock));
    case 10:
        return as_ticks(to_timer(bytes, subject));
    case 11:
        return as_ticks(power(bytes, mood));
    case 12:
    case 13:
        return as_ticks(word(bytes, 5) & mask);
    case 14:
        return as_ticks(word(bytes, 2));
    default:
        return byte(bytes) < 24 ? INT64_MAX : byte(bytes) % 16;
    }
}

static int64_t step(struct bytes *bytes, const struct mood *mood, const struct kit_subject *subject)
{
    uint64_t mask = (UINT64_C(1) << mood->scale) - 1;
    switch (byte(bytes) % 16) {
    case 0:
        return 0;
    case 6:
    case 7:
        return byte(bytes) % 16;
    case 8:
        return as_ticks(to_aligned(bytes, mood, subject->clock));
    case 9:
    case 10:
        return as_ticks(to_timer(bytes, subject));
    case 11:
        return as_ticks(power(bytes, mood));
    case 12:
        return byte(bytes);
    case 13:
        return as_ticks(boundary(bytes, mood));
    case 14:
        return as_ticks(word(bytes, 5) & mask);
    case 15: /* rarely, as far as a clock ever jumps at once */
        return byte(bytes) < 8 ? as_ticks(UINT64_C(1) << (10 + byte(bytes) % 31)) : 1;
    default:
        return 1;
    }
}

static uint64_t budget(struct bytes *bytes)
{
    uint8_t how = byte(bytes);
    return how < 64 ? how % 6 : TL_NO_BUDGET;
}

/* Whom the callback of a timer acts upon: itself, one that is due at the same tick, or any. */
static uint32_t acted_upon(struct bytes *bytes, const struct kit_subject *subject, uint32_t id)
{
    uint8_t how = byte(bytes);
    uint32_t any = byte(bytes) % subject->capacity;
    const struct kit_timer *timer = &subject->timers[id];
    if (how < 64) {
        return id;
    }
    for (uint32_t i = 0; how < 192 && i < subject->capacity; i++) {
        uint32_t other = (any + i) % subject->capacity;
        const struct kit_timer *beside = &subject->timers[other];
        if (other != id && beside->state == KIT_TIMER_PENDING && beside->due == timer->due) {
            return other;
        }
    }
    return any;
}

static struct kit_op decide(struct bytes *bytes, const struct mood *mood,
                            const struct kit_subject *subject)
{
    struct kit_op op = {.budget = TL_NO_BUDGET};
    uint8_t what = byte(bytes);
    if (what < 86) {
        op.kind = KIT_OP_START;
    } else if (what < 112) {
        op.kind = KIT_OP_STOP;
    } else if (what < 182) {
        op.kind = KIT_OP_ADVANCE;
    } else if (what < 196) {
        op.kind = KIT_OP_NEXT;
    } else if (what < 198) {
        op.kind = KIT_OP_RESERVE;
    } else {
        op.kind = what < 234 ? KIT_OP_WHEN_START : KIT_OP_WHEN_STOP;
    }
    if (op.kind == KIT_OP_ADVANCE || op.kind == KIT_OP_NEXT) {
        op.ticks = op.kind == KIT_OP_ADVANCE ? step(bytes, mood, subject) : 0;
        op.budget = budget(bytes);
        return op;
    }
    if (op.kind == KIT_OP_RESERVE) {
        op.id = subject->capacity + byte(bytes) % 32;
        return op;
    }
    if (subject->capacity > 0) {
        op.id = byte(bytes) % subject->capacity;
        if (op.kind == KIT_OP_WHEN_START || op.kind == KIT_OP_WHEN_STOP) {
            op.other = acted_upon(bytes, subject, op.id);
            op.always = byte(bytes) < 64;
        }
    }
    if (op.kind == KIT_OP_START || op.kind == KIT_OP_WHEN_START) {
        op.ticks = delay(bytes, mood, subject);
    }
    return op;
}

static void decide_session(struct bytes *bytes, const struct kit_target *target,
                           struct kit_session *start, struct mood *mood)
{
    static const unsigned scales[] = {4, 6, 8, 10, 12, 16, 24, 40};
    static const uint32_t capacities[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 200, 0, 5};
    memcpy(start->options, target->options, sizeof start->options);
    for (size_t i = 0; i < tl_option_count(target->algo); i++) {
        uint8_t how = byte(bytes);
        if (!target->pinned && how >= 96) {
            int64_t values[KIT_CANDIDATES_MAX];
            size_t count = kit_option_candidates(&target->algo->options[i], values);
            start->options[i] = count > 0 ? values[how % count] : start->options[i];
        }
    }
    mood->scale = scales[byte(bytes) % 8];
    mood->boundary_count =
        kit_boundaries(target->algo, start->options, UINT64_C(4) << mood->scale, mood->boundaries);
    start->capacity = capacities[byte(bytes) % 16];
    uint8_t epoch = byte(bytes);
    start->now = epoch < 96    ? 0
                 : epoch < 128 ? byte(bytes)
                 : epoch < 192 ? boundary(bytes, mood)
                 : epoch < 224 ? (UINT64_C(1) << 32) - byte(bytes)
                 : epoch < 240 ? word(bytes, 6)
                               : TL_DEADLINE_MAX / 2 - byte(bytes);
    uint8_t announced = byte(bytes);
    start->max_delay_ticks = announced < 128 ? 0 : UINT64_C(1) << (announced % 17);
}

bool kit_interpret(const struct kit_target *target, const uint8_t *data, size_t size,
                   struct kit_witness *witness)
{
    struct bytes bytes = {.at = data, .end = data + size};
    struct kit_session start;
    struct mood mood;
    decide_session(&bytes, target, &start, &mood);
    struct session session;
    if (!session_begin(&session, target, &start, witness)) {
        return false;
    }
    while (bytes.at < bytes.end && witness->op_count < KIT_OPS_MAX) {
        struct kit_op op = decide(&bytes, &mood, &session.subject);
        session_do(&session, &op);
    }
    session_end(&session);
    return true;
}
