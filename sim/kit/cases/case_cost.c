/* Case: the work that is counted grows with the timers no faster than the descriptor says. */
#include "clock.h"
#include "kit_cases.h"
#include "kit_script.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- what a descriptor says ------------------------------------------------------------------ */

/* Of the operation's work w with few timers, with 64 times as many at most factor * w + more. The
 * factors of the second and third are for levels, or bits of a delay, of which more are filled by
 * more timers, and for log n, which itself grows by 1.75; what is added is for what few timers do
 * not meet, such as full slots. */
#define GROWTH_MAP(X)                                                                              \
    X(GROWTH_NONE, 1.4, 2)                                                                         \
    X(GROWTH_PARAMETER, 2.5, 8)                                                                    \
    X(GROWTH_LOGARITHM, 2.5, 40)                                                                   \
    X(GROWTH_ROOT, 12, 40)                                                                         \
    X(GROWTH_ANY, HUGE_VAL, 0)

enum growth {
#define GROWTH_ENUM(code, factor, more) code,
    GROWTH_MAP(GROWTH_ENUM)
#undef GROWTH_ENUM
};

static double most_after_growth(enum growth growth, double work)
{
    static const double factors[][2] = {
#define GROWTH_ROW(code, factor, more) {factor, more},
        GROWTH_MAP(GROWTH_ROW)
#undef GROWTH_ROW
    };
    return work * factors[growth][0] + factors[growth][1];
}

/* Whether a word stands at `text` by itself. */
static bool is_word(const char *begin, const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]) &&
           (text == begin || !isalnum((unsigned char)text[-1]));
}

/* The growth in timers of what stands in the brackets: levels, slots and bits are no timers. */
static enum growth growth_of_term(const char *term, const char *end)
{
    enum growth growth = end - term == 1 && *term == '1' ? GROWTH_NONE : GROWTH_PARAMETER;
    enum growth around = GROWTH_ANY; /* what is done to the next n */
    for (const char *at = term; at < end; at++) {
        if (is_word(term, at, "log") || is_word(term, at, "lg") || is_word(term, at, "ln")) {
            around = GROWTH_LOGARITHM;
        } else if (is_word(term, at, "sqrt")) {
            around = GROWTH_ROOT;
        } else if (is_word(term, at, "n") || is_word(term, at, "N") || is_word(term, at, "t")) {
            /* A product grows faster than each: nothing is asked of it. */
            growth = growth <= GROWTH_PARAMETER ? around : GROWTH_ANY;
            around = GROWTH_ANY;
        }
    }
    return growth;
}

/* The fastest growth that the words admit; GROWTH_ANY for words that have no O(...). */
static enum growth growth_of(const char *words)
{
    enum growth most = GROWTH_NONE;
    bool found = false;
    for (const char *at = strstr(words, "O("); at != NULL; at = strstr(at + 1, "O(")) {
        const char *end = strchr(at, ')');
        enum growth growth = end != NULL ? growth_of_term(at + 2, end) : GROWTH_ANY;
        most = growth > most ? growth : most;
        found = true;
    }
    return found ? most : GROWTH_ANY;
}

/* --- what is counted ------------------------------------------------------------------------- */

enum operation { START, RESTART, STOP, TICK, EXPIRE, OPERATIONS };

static const char *const operation_words[] = {"start", "restart", "stop", "tick", "expire"};

/* An operation's work at one size, all in all and how often. */
struct bill {
    double work;
    uint64_t times;
};

static double work_of(const struct kit_subject *subject, bool with_slots)
{
    struct tl_counters now = {0};
    subject->algo->counters(subject->self, &now);
    return (double)now.compares + (double)now.moves + (with_slots ? (double)now.slots : 0);
}

/* In which order the deadlines of successive starts go. */
enum pattern { ASCENDING, DESCENDING, SCATTERED, EQUAL, PATTERNS };

static const char *const pattern_words[] = {"ascending", "descending", "scattered", "equal"};

enum { NEAREST = 400, FURTHEST = 40000, TICKS = 64 };

static uint64_t delay_of(enum pattern pattern, uint32_t k, uint32_t count, uint64_t *random)
{
    uint64_t width = FURTHEST - NEAREST;
    switch (pattern) {
    case ASCENDING:
        return NEAREST + width * k / count;
    case DESCENDING:
        return NEAREST + width * (count - 1 - k) / count;
    case EQUAL:
        return FURTHEST / 2;
    default:
        return NEAREST + kit_random(random) % width;
    }
}

static void start_all(struct kit_subject *subject, struct bill *bill, enum pattern pattern,
                      uint32_t step, uint64_t *random)
{
    double before = work_of(subject, false);
    uint64_t serial = subject->serial;
    for (uint32_t id = 0; id < subject->capacity; id += step) {
        script_start(subject, id, delay_of(pattern, id, subject->capacity, random));
    }
    bill->work += work_of(subject, false) - before;
    bill->times += subject->serial - serial;
}

/* Advances by one tick, while nothing fires. */
static void tick(struct kit_subject *subject, struct bill *bill)
{
    for (unsigned i = 0; i < TICKS; i++) {
        double before = work_of(subject, true);
        script_advance(subject, subject->clock + 1);
        if (subject->fired == 0) {
            bill->work += work_of(subject, true) - before;
            bill->times++;
        }
    }
}

/* From due tick to due tick, until nothing is pending. */
static void expire_all(struct kit_subject *subject, struct bill *bill)
{
    double before = work_of(subject, false);
    uint64_t pending = subject->pending;
    while (subject->pending > 0) {
        script_advance(subject, subject->timers[kit_urgency_first(&subject->urgency)].limit);
    }
    bill->work += work_of(subject, false) - before;
    bill->times += pending;
}

static void measure(struct kit_subject *subject, enum pattern pattern, struct bill *bills)
{
    uint64_t random = 1;
    start_all(subject, &bills[START], pattern, 1, &random);
    /* What starts leave to be done comes with the first advance. */
    script_advance(subject, subject->clock + 1);
    tick(subject, &bills[TICK]);
    start_all(subject, &bills[RESTART], SCATTERED, 1, &random);
    double before = work_of(subject, false);
    for (uint32_t id = 0; id < subject->capacity; id += 2) {
        script_stop(subject, (uint32_t)(id * UINT64_C(2654435769) % subject->capacity));
    }
    bills[STOP].work += work_of(subject, false) - before;
    bills[STOP].times += subject->capacity / 2;
    start_all(subject, &bills[START], pattern, 1, &random);
    expire_all(subject, &bills[EXPIRE]);
}

/* The words about an operation. What a tick costs, each advance costs that fires something. */
static const char *words_of(const struct tl_cost *cost, enum operation operation)
{
    switch (operation) {
    case START:
    case RESTART:
        return cost->start;
    case STOP:
        return cost->stop;
    case TICK:
        return cost->tick;
    default:
        return growth_of(cost->tick) > growth_of(cost->expire) ? cost->tick : cost->expire;
    }
}

static double work_each(struct bill bill)
{
    return bill.times > 0 ? bill.work / (double)bill.times : 0;
}

static void compare(const struct kit_run *run, enum pattern pattern, uint32_t few,
                    const struct bill *with_few, uint32_t many, const struct bill *with_many)
{
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const char *words = words_of(&run->algo->cost, i);
        double less = work_each(with_few[i]);
        double more = work_each(with_many[i]);
        if (with_few[i].times > 0 && more > most_after_growth(growth_of(words), less)) {
            kit_fail(
                run->witness, FAULT_COST,
                "a%s %s counts %.1f compares%s moves with %" PRIu32 " timers and %.1f with %" PRIu32
                ", started with %s deadlines, against the stated cost `%s`",
                i == EXPIRE ? "n" : "", operation_words[i], less,
                i == TICK ? ", slots and" : " and", few, more, many, pattern_words[pattern], words);
        }
    }
}

/* Returns the most timers that were reached; 0: the structure counts nothing, or is not made. */
static uint32_t measure_sizes(struct kit_run *run, enum pattern pattern, uint64_t until_ns)
{
    static const uint32_t sizes[] = {256, 2048, 16384};
    struct bill first[OPERATIONS] = {{0}};
    uint64_t took_ns = 0;
    uint32_t reached = 0;
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        struct kit_subject subject;
        uint64_t begun_ns = clock_processor_ns();
        /* Between what a fast structure takes for 8 times as many, and a slow one. */
        if (begun_ns + 24 * took_ns > until_ns ||
            !script_open_announced(run, &subject, sizes[i], 0, FURTHEST)) {
            break;
        }
        struct bill bills[OPERATIONS] = {{0}};
        measure(&subject, pattern, bills);
        if (work_of(&subject, true) == 0) {
            subject_destroy(&subject);
            break;
        }
        subject_destroy(&subject);
        if (i == 0) {
            memcpy(first, bills, sizeof first);
        }
        compare(run, pattern, sizes[0], first, sizes[i], bills);
        reached = sizes[i];
        took_ns = clock_processor_ns() - begun_ns;
    }
    return reached;
}

void case_cost(struct kit_run *run)
{
    run->algo = run->target->counted;
    if (run->algo->counters == NULL) {
        kit_note(run->witness, "it counts no work: its cost is as it says, or not");
        return;
    }
    /* The words are about the defaults: some options name other algorithms. */
    tl_options_default(run->algo, run->options);
    uint64_t share_ns = (uint64_t)(run->patience_seconds * 0.06 * 1e9);
    uint32_t least = UINT32_MAX;
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        uint32_t reached = measure_sizes(run, pattern, clock_processor_ns() + share_ns);
        least = reached < least ? reached : least;
    }
    if (least == 0) {
        kit_note(run->witness, "it counts no work: its cost is as it says, or not");
    } else {
        kit_note(run->witness, "its cost was measured with up to %" PRIu32 " timers", least);
    }
}
