#include "kit_play.h"

#include <string.h>

/* Memory limit of a session; options that need more are not fuzzed. */
#define SESSION_BYTES           ((uint64_t)32 << 20)

/* Invariants and guards are checked after this number of operations, and less often with more
 * memory: operations find more faults than checks. */
#define INSPECT_EVERY           32u
#define INSPECT_BYTES_OPERATION 128u

struct bytes {
    const uint8_t *at;
    const uint8_t *end;
};

/* Timeouts as servers and kernels have them, in milliseconds or jiffies: round, few at a time, from
 * none to a year. */
static const uint64_t timeouts[16] = {
    0,   1,    4,    10,    40,    50,    52,      200,
    250, 1000, 3000, 15000, 60000, 75000, 7200000, UINT64_C(31536000000)};

/* How a session's numbers are drawn. */
struct mood {
    bool traffic; /* as recordings are: a few timeouts, many timers of each, started in bursts, with
                     pauses between */
    uint64_t usual[4]; /* the timeouts of such a session */
    unsigned scale;    /* delays and steps go up to about 2^scale */
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

/* Draw the ticks from the clock to a multiple of a boundary, or to a tick next to one. */
static uint64_t to_aligned(struct bytes *bytes, const struct mood *mood, uint64_t clock)
{
    uint64_t unit = boundary(bytes, mood);
    uint8_t how = byte(bytes);
    uint64_t ahead = unit > 0 ? unit - clock % unit + unit * (how % 3) : 0;
    uint64_t near = how >> 6;
    return near == 0 && ahead > 0 ? ahead - 1 : near == 1 ? ahead + 1 : ahead;
}

/* Draw the ticks from the clock to about the due tick of some pending timer; 1 if it is not
 * ahead. */
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

/* How ticks are drawn: the sixteen ways of a delay, and those of a step. */
enum draw {
    NOW,
    PAST,
    START,
    SOON,
    BYTE,
    EDGE,
    ALIGNED,
    TIMER,
    POWER,
    ANY,
    WORD,
    END,
    TICK,
    NEAR,
    JUMP
};

static const unsigned char delays[16] = {NOW,     PAST,    START, SOON,  SOON, BYTE, BYTE, EDGE,
                                         ALIGNED, ALIGNED, TIMER, POWER, ANY,  ANY,  WORD, END};
static const unsigned char steps[16] = {NOW,     TICK,  TICK,  TICK,  TICK, TICK, NEAR, NEAR,
                                        ALIGNED, TIMER, TIMER, POWER, BYTE, EDGE, ANY,  JUMP};

static int64_t draw_ticks(struct bytes *bytes, const struct mood *mood,
                          const struct kit_subject *subject, enum draw how)
{
    switch (how) {
    case NOW:
        return 0;
    case PAST:
        return -(int64_t)byte(bytes);
    case START:
        return byte(bytes) < 32 ? -as_ticks(subject->clock) : 1;
    case SOON:
        return 1 + byte(bytes) % 4;
    case NEAR:
        return byte(bytes) % 16;
    case BYTE:
        return byte(bytes);
    case EDGE:
        return as_ticks(boundary(bytes, mood));
    case ALIGNED:
        return as_ticks(to_aligned(bytes, mood, subject->clock));
    case TIMER:
        return as_ticks(to_timer(bytes, subject));
    case POWER:
        return as_ticks(power(bytes, mood));
    case ANY:
        return as_ticks(word(bytes, 5) & ((UINT64_C(1) << mood->scale) - 1));
    case WORD:
        return as_ticks(word(bytes, 2));
    case END:
        return byte(bytes) < 24 ? INT64_MAX : byte(bytes) % 16;
    case JUMP: /* rarely, as far as a clock ever jumps at once */
        return byte(bytes) < 8 ? as_ticks(UINT64_C(1) << (10 + byte(bytes) % 31)) : 1;
    default:
        return 1;
    }
}

static int64_t delay(struct bytes *bytes, const struct mood *mood,
                     const struct kit_subject *subject)
{
    uint8_t how = byte(bytes);
    if (mood->traffic && how < 208) {
        uint64_t usual = mood->usual[how % 4];
        return as_ticks(how < 128   ? usual
                        : how < 168 ? usual + byte(bytes) % 16
                                    : usual >> byte(bytes) % 8);
    }
    return draw_ticks(bytes, mood, subject, delays[how % 16]);
}

static int64_t step(struct bytes *bytes, const struct mood *mood, const struct kit_subject *subject)
{
    uint8_t how = byte(bytes);
    if (mood->traffic && how >= 224) {
        return as_ticks(mood->usual[how % 4] >> byte(bytes) % 4);
    }
    return draw_ticks(bytes, mood, subject, steps[how % 16]);
}

/* Draw the timer that a callback acts on: its own, one due at the same tick, or any. */
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

/* A burst: the same for many timers. */
static void widen(struct bytes *bytes, const struct kit_subject *subject, struct kit_op *op)
{
    uint8_t how = byte(bytes);
    uint32_t more = UINT32_C(1) << how % 9;
    op->every = 1 + (how >> 6) % 3;
    op->last = op->id + more * op->every;
    op->last = op->last < subject->capacity ? op->last : subject->capacity - 1;
}

static struct kit_op decide(struct bytes *bytes, const struct mood *mood,
                            const struct kit_subject *subject)
{
    static const struct {
        uint8_t below;
        enum kit_op_kind kind;
    } kinds[] = {{86, KIT_OP_START},       {112, KIT_OP_STOP},           {182, KIT_OP_ADVANCE},
                 {196, KIT_OP_NEXT},       {198, KIT_OP_RESERVE},        {201, KIT_OP_MOVE},
                 {234, KIT_OP_WHEN_START}, {UINT8_MAX, KIT_OP_WHEN_STOP}};
    uint8_t what = byte(bytes);
    size_t i = 0;
    while (what >= kinds[i].below && kinds[i].below < UINT8_MAX) {
        i++;
    }
    i += kinds[i].kind == KIT_OP_MOVE && subject->layout.lodging != KIT_LODGING_RECORDS;
    struct kit_op op = kit_op_of(kinds[i].kind, 0);
    bool reacts = op.kind == KIT_OP_WHEN_START || op.kind == KIT_OP_WHEN_STOP;
    if (op.kind == KIT_OP_ADVANCE || op.kind == KIT_OP_NEXT) {
        op.ticks = op.kind == KIT_OP_ADVANCE ? step(bytes, mood, subject) : 0;
        uint8_t how = byte(bytes);
        op.budget = how < 64 ? how % 6 : TL_NO_BUDGET;
    } else if (op.kind == KIT_OP_RESERVE) {
        op.id = subject->capacity + byte(bytes) % 32;
    } else if (kit_op_timers(&op) > 0 && subject->capacity > 0) {
        op.id = (uint32_t)word(bytes, subject->capacity > 256 ? 2 : 1) % subject->capacity;
        op.last = op.id;
        if (mood->traffic && !reacts && byte(bytes) < 48) {
            widen(bytes, subject, &op);
        }
        if (reacts) {
            op.other = acted_upon(bytes, subject, op.id);
            op.always = byte(bytes) < 64;
        }
    }
    if (op.kind == KIT_OP_START || op.kind == KIT_OP_WHEN_START) {
        op.ticks = delay(bytes, mood, subject);
    }
    return op;
}

/* A value of an option's range: its end, or of any size. */
static uint64_t between(struct bytes *bytes, const struct tl_option *option)
{
    uint64_t range = (uint64_t)(option->max - option->min);
    unsigned bits = 64u - (unsigned)__builtin_clzll(range);
    uint8_t how = byte(bytes);
    uint64_t mask = how < 32 ? range : UINT64_MAX >> (63 - how % bits);
    uint64_t more = how < 32 ? range : word(bytes, 4) & mask;
    return (uint64_t)option->min + (more < range ? more : range);
}

static void decide_session(struct bytes *bytes, const struct kit_target *target,
                           struct kit_session *start, struct mood *mood)
{
    static const unsigned scales[] = {4, 6, 8, 10, 12, 16, 24, 40};
    static const uint32_t capacities[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 200, 0, 5};
    memcpy(start->options, target->options, sizeof start->options);
    for (size_t i = 0; i < tl_option_count(target->algo); i++) {
        uint8_t how = byte(bytes);
        const struct tl_option *option = &target->algo->options[i];
        if (!target->pinned && how >= 224 && option->min < option->max) {
            tl_option_set_number(option, start->options, between(bytes, option));
        } else if (!target->pinned && how >= 96) {
            uint64_t values[KIT_CANDIDATES_MAX];
            size_t count = kit_option_candidates(option, values);
            if (count > 0) {
                tl_option_set_number(option, start->options, values[how % count]);
            }
        }
    }
    mood->scale = scales[byte(bytes) % 8];
    mood->boundary_count =
        kit_boundaries(target->algo, start->options, UINT64_C(4) << mood->scale, mood->boundaries);
    start->capacity = capacities[byte(bytes) % 16];
    mood->traffic = byte(bytes) < 96;
    if (mood->traffic) {
        static const uint32_t crowds[] = {24, 200, 1000, 3000};
        for (size_t i = 0; i < 4; i++) {
            mood->usual[i] = timeouts[byte(bytes) % 16];
        }
        start->capacity = crowds[byte(bytes) % 4];
    }
    uint8_t epoch = byte(bytes);
    start->now = epoch < 96    ? 0
                 : epoch < 128 ? byte(bytes)
                 : epoch < 192 ? boundary(bytes, mood)
                 : epoch < 224 ? (UINT64_C(1) << 32) - byte(bytes)
                 : epoch < 240 ? word(bytes, 6)
                               : TL_DEADLINE_MAX / 2 - byte(bytes);
    uint8_t announced = byte(bytes);
    start->max_delay_ticks = announced < 128 ? 0 : UINT64_C(1) << (announced % 17);
    if (target->embedded != NULL && announced % 4 == 3) {
        start->records = kit_layouts[announced / 4 % KIT_LAYOUTS];
    }
}

void kit_interpret(const struct kit_target *target, const uint8_t *data, size_t size,
                   struct kit_witness *witness)
{
    struct bytes bytes = {.at = data, .end = data + size};
    struct kit_session session = {.grants = UINT64_MAX, .place = KIT_GUARD_CANARIES};
    struct mood mood;
    decide_session(&bytes, target, &session, &mood);
    struct kit_play play = {
        .target = target, .sessions = &session, .limit_bytes = SESSION_BYTES, .witness = witness};
    struct kit_subject *subject = &play.of[0].subject;
    bool runs = kit_play_create(&play, 0);
    uint64_t inspected = witness->operations;
    while (runs && bytes.at < bytes.end) {
        struct kit_op op = decide(&bytes, &mood, subject);
        kit_play_op(&play, &op);
        uint64_t pause = INSPECT_EVERY + subject->guard.bytes / INSPECT_BYTES_OPERATION;
        if (witness->operations - inspected >= pause) {
            inspected = witness->operations;
            subject_inspect(subject);
        }
    }
    kit_play_end(&play);
}
