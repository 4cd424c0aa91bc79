/*
 * Case: work grows with the number of timers no faster than the descriptor states: the counted work,
 * and the instructions of some calls of each hook, of which the median counts.
 */
#include "clock.h"
#include "kit_cases.h"
#include "kit_script.h"
#include "kit_steps.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the stated cost ------------------------------------------------------------------------- */

/* Limits: the work w of an operation with few timers may become factor * w + more, in instructions
 * + instructions, with many. The second and third factor allow for levels, or bits of a delay, of
 * which more timers fill more, and for log n. The constants allow for full slots and the like. */
enum growth { GROWTH_NONE, GROWTH_PARAMETER, GROWTH_LOGARITHM, GROWTH_ROOT, GROWTH_ANY };

static double most_after_growth(enum growth growth, double work, bool instructions)
{
    static const struct {
        double factor, more, instructions;
    } limits[] = {[GROWTH_NONE] = {1.4, 2, 60},
                  [GROWTH_PARAMETER] = {2.5, 8, 640},
                  [GROWTH_LOGARITHM] = {2.5, 40, 1000},
                  [GROWTH_ROOT] = {12, 40, 1000},
                  [GROWTH_ANY] = {HUGE_VAL, 0, 0}};
    return work * limits[growth].factor +
           (instructions ? limits[growth].instructions : limits[growth].more);
}

/* Whether `word` is a whole word at `text`. */
static bool is_word(const char *begin, const char *text, const char *word)
{
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]) &&
           (text == begin || !isalnum((unsigned char)text[-1]));
}

/* Return the growth of one O(...) in the number of timers; levels, slots and bits do not grow with
 * it. */
static enum growth growth_of_term(const char *term, const char *end)
{
    enum growth growth = end - term == 1 && *term == '1' ? GROWTH_NONE : GROWTH_PARAMETER;
    enum growth around = GROWTH_ANY; /* applied to the next n */
    for (const char *at = term; at < end; at++) {
        if (is_word(term, at, "log") || is_word(term, at, "lg") || is_word(term, at, "ln")) {
            around = GROWTH_LOGARITHM;
        } else if (is_word(term, at, "sqrt")) {
            around = GROWTH_ROOT;
        } else if (is_word(term, at, "n") || is_word(term, at, "N") || is_word(term, at, "t")) {
            /* A product grows faster than its factors: it is not checked. */
            growth = growth <= GROWTH_PARAMETER ? around : GROWTH_ANY;
            around = GROWTH_ANY;
        }
    }
    return growth;
}

/* Return the fastest growth in the words; GROWTH_ANY for words without O(...). */
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

/* --- measurement ----------------------------------------------------------------------------- */

enum operation { START, RESTART, STOP, TICK, EXPIRE, OPERATIONS };

static const char *const operation_words[] = {"start", "restart", "stop", "tick", "expire"};

/* Instructions are counted in up to SAMPLES calls, up to STEPS_MOST in each, and up to STEPS_ALL at
 * one size: counting one costs as much as thousands. */
enum { SAMPLES = 5, STEPS_MOST = 3000, STEPS_ALL = 12000 };

/* An operation's work at one size. */
struct bill {
    double work; /* counted work, in total */
    uint64_t times;
    double steps[SAMPLES]; /* instructions of single calls, or of an expiry in them */
    unsigned samples;
};

/* Static, since a watcher has no context. */
static struct {
    struct bill *bill; /* instructions are added to it; NULL: to none */
    enum kit_hook hook;
    uint64_t calls; /* of that hook */
    uint64_t every; /* one of this number of calls has its instructions counted */
    uint64_t left;  /* instructions that may be counted at this size */
    uint64_t began_ns;
    uint64_t ns; /* processor time of counting them */
    bool per_expiry;
} meter;

static void begin_call(struct kit_call *call)
{
    if (meter.bill != NULL && call->hook == meter.hook && ++meter.calls % meter.every == 0 &&
        meter.bill->samples < SAMPLES && meter.left >= STEPS_MOST) {
        call->most = STEPS_MOST;
        meter.began_ns = clock_processor_ns();
    }
}

static void end_call(const struct kit_call *call)
{
    if (call->steps > 0 && (call->fires > 0) == meter.per_expiry) {
        double each = (double)(call->fires > 0 ? call->fires : 1);
        meter.bill->steps[meter.bill->samples++] = (double)call->steps / each;
    }
    meter.left -= call->steps;
    meter.ns += call->most > 0 ? clock_processor_ns() - meter.began_ns : 0;
}

/* Begin to count the instructions of that hook, in about SAMPLES of `calls` calls. */
static void begin_bill(struct bill *bill, enum kit_hook hook, uint64_t calls)
{
    meter.bill = bill;
    meter.hook = hook;
    meter.calls = 0;
    meter.every = calls / SAMPLES | 1;
    meter.per_expiry = false;
}

static int compare_steps(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Return the median, or the minimum where the words allow some costly calls. */
static double typical_steps(const struct bill *bill, const char *words)
{
    double sorted[SAMPLES];
    memcpy(sorted, bill->steps, sizeof sorted);
    qsort(sorted, bill->samples, sizeof sorted[0], compare_steps);
    return sorted[strstr(words, "amorti") != NULL ? 0 : bill->samples / 2];
}

static double work_of(const struct kit_subject *subject, bool with_slots)
{
    struct tl_counters now = {0};
    if (subject->algo->counters != NULL) {
        subject->algo->counters(subject->self, &now);
    }
    return (double)now.compares + (double)now.moves + (with_slots ? (double)now.slots : 0);
}

/* The order of the deadlines of successive starts. */
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
    begin_bill(bill, KIT_HOOK_START, subject->capacity);
    for (uint32_t id = 0; id < subject->capacity; id += step) {
        script_start(subject, id, delay_of(pattern, id, subject->capacity, random));
    }
    bill->work += work_of(subject, false) - before;
    bill->times += subject->serial - serial;
}

/* Advance tick by tick; ticks with expiries do not count. */
static void tick(struct kit_subject *subject, struct bill *bill)
{
    begin_bill(bill, KIT_HOOK_ADVANCE, TICKS);
    for (unsigned i = 0; i < TICKS; i++) {
        double before = work_of(subject, true);
        script_advance(subject, subject->clock + 1);
        if (subject->fired == 0) {
            bill->work += work_of(subject, true) - before;
            bill->times++;
        }
    }
}

/* Stop every other timer: in the order of ids, in reverse, or scattered. */
static void stop_half(struct kit_subject *subject, struct bill *bill, enum pattern pattern)
{
    double before = work_of(subject, false);
    begin_bill(bill, KIT_HOOK_STOP, subject->capacity / 2);
    for (uint32_t k = 0; k < subject->capacity; k += 2) {
        script_stop(subject, pattern == ASCENDING ? k
                             : pattern == DESCENDING
                                 ? subject->capacity - 1 - k
                                 : (uint32_t)(k * UINT64_C(2654435769) % subject->capacity));
    }
    bill->work += work_of(subject, false) - before;
    bill->times += subject->capacity / 2;
}

/* Advance from due tick to due tick. One advance with all expiries is too long to count its
 * instructions. */
static void expire_all(struct kit_subject *subject, struct bill *bill, enum pattern pattern)
{
    double before = work_of(subject, false);
    uint64_t pending = subject->pending;
    begin_bill(pattern == EQUAL ? NULL : bill, KIT_HOOK_ADVANCE, pending);
    meter.per_expiry = true;
    while (subject->pending > 0) {
        uint64_t limit = subject->timers[kit_urgency_first(&subject->urgency)].limit;
        struct bill *counted = meter.bill;
        meter.bill = NULL; /* the ticks until then belong to no expiry */
        script_advance(subject, limit - 1);
        meter.bill = counted;
        script_advance(subject, limit);
    }
    bill->work += work_of(subject, false) - before;
    bill->times += pending;
}

/* Restarts follow the pattern, too: each a little earlier than the last, for example, or all to one
 * tick. */
static void measure(struct kit_subject *subject, enum pattern pattern, struct bill *bills)
{
    uint64_t random = 1;
    start_all(subject, &bills[START], pattern, 1, &random);
    /* Work that starts defer comes with the first advance. */
    meter.bill = NULL;
    script_advance(subject, subject->clock + 1);
    tick(subject, &bills[TICK]);
    start_all(subject, &bills[RESTART], SCATTERED, 1, &random);
    start_all(subject, &bills[RESTART], pattern, 1, &random);
    stop_half(subject, &bills[STOP], pattern);
    start_all(subject, &bills[START], pattern, 1, &random);
    expire_all(subject, &bills[EXPIRE], pattern);
    meter.bill = NULL;
}

/* Return the words for an operation. An advance with expiries includes the cost of a tick. */
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

static void complain(const struct kit_run *run, enum pattern pattern, enum operation operation,
                     const char *unit, uint32_t few, double less, uint32_t many, double more)
{
    kit_fail(run->witness, FAULT_COST,
             "a%s %s takes %.1f %s with %" PRIu32 " timers and %.1f with %" PRIu32
             ", started with %s deadlines, against the stated cost `%s`",
             operation == EXPIRE ? "n" : "", operation_words[operation], less, unit, few, more,
             many, pattern_words[pattern], words_of(&run->algo->cost, operation));
}

/* Compare the bills of sizes[at] with those of a smaller size. Counted work is compared with that at
 * sizes[1]; instructions with those at sizes[0], and from 256 times as many timers on at sizes[1]. */
static void compare(const struct kit_run *run, enum pattern pattern, const uint32_t *sizes,
                    struct bill small[2][OPERATIONS], size_t at, const struct bill *with_many)
{
    size_t from = at > 2;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        const char *words = words_of(&run->algo->cost, i);
        enum growth growth = growth_of(words);
        double less = work_each(small[1][i]);
        double more = work_each(with_many[i]);
        if (small[1][i].times > 0 && more > most_after_growth(growth, less, false)) {
            complain(run, pattern, i,
                     i == TICK ? "compares, slots and moves" : "compares and moves", sizes[1], less,
                     sizes[at], more);
        }
        if (small[from][i].samples == 0 || with_many[i].samples == 0) {
            continue;
        }
        less = typical_steps(&small[from][i], words);
        more = typical_steps(&with_many[i], words);
        if (more > most_after_growth(growth, less, true)) {
            complain(run, pattern, i, more < STEPS_MOST ? "instructions" : "instructions or more",
                     sizes[from], less, sizes[at], more);
        }
    }
}

/* Return the largest number of timers reached; 0: no measurement. *counts: whether the structure
 * counts work. */
static uint32_t measure_sizes(struct kit_run *run, enum pattern pattern, uint64_t until_ns,
                              bool can_step, bool *counts)
{
    static const uint32_t sizes[] = {64, 256, 2048, 16384, 65536};
    struct bill small[2][OPERATIONS] = {{{0}}};
    uint64_t took_ns = 0;
    uint32_t reached = 0;
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        struct kit_subject subject;
        uint64_t begun_ns = clock_processor_ns();
        meter.ns = 0;
        meter.left = STEPS_ALL;
        /* A compromise between fast and slow structures, for 8 times as many timers. */
        if (begun_ns + 24 * took_ns > until_ns ||
            !script_open_announced(run, &subject, sizes[i], 0, FURTHEST)) {
            break;
        }
        struct bill bills[OPERATIONS] = {{0}};
        measure(&subject, pattern, bills);
        *counts = work_of(&subject, true) > 0;
        subject_destroy(&subject);
        if (!*counts && !can_step) {
            break;
        }
        if (i < LENGTH(small)) {
            memcpy(small[i], bills, sizeof bills);
        }
        if (i > 0) {
            compare(run, pattern, sizes, small, i, bills);
        }
        reached = sizes[i];
        took_ns = clock_processor_ns() - begun_ns - meter.ns;
        until_ns += meter.ns;
    }
    return reached;
}

void case_cost(struct kit_run *run)
{
    static const struct kit_watcher watcher = {.enter = begin_call, .leave = end_call};
    bool can_step = false;
    bool counts = false;
    memset(&meter, 0, sizeof meter);
    run->algo = kit_steps_watch(run->target->counted, &watcher, &can_step);
    /* The words are about the defaults: some options name other algorithms. */
    tl_options_default(run->algo, run->options);
    uint64_t share_ns = (uint64_t)(run->patience_seconds * 0.06 * 1e9);
    uint32_t least = UINT32_MAX;
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        uint32_t reached =
            measure_sizes(run, pattern, clock_processor_ns() + share_ns, can_step, &counts);
        least = reached < least ? reached : least;
    }
    if (least == 0) {
        kit_note(run->witness, "it counts no work: its cost is as it says, or not");
    } else {
        kit_note(run->witness, "its cost was measured with up to %" PRIu32 " timers%s", least,
                 counts ? "" : ", in instructions only: it counts no work");
    }
}
