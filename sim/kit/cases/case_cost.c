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

/* The quantities that are compared. */
enum measure { WORK, INSTRUCTIONS, MEASURES };

/* Limits: the work w of an operation with few timers may become factor * w + more, in instructions
 * + instructions, with many. The second and third factor allow for levels, or bits of a delay, of
 * which more timers fill more, and for log n. The constants allow for full slots and the like. */
enum growth { GROWTH_NONE, GROWTH_PARAMETER, GROWTH_LOGARITHM, GROWTH_ROOT, GROWTH_ANY };

static double most_after_growth(enum growth growth, double work, enum measure measure)
{
    static const struct {
        double factor, more, instructions;
    } limits[] = {[GROWTH_NONE] = {1.4, 2, 60},
                  [GROWTH_PARAMETER] = {2.5, 8, 640},
                  [GROWTH_LOGARITHM] = {2.5, 40, 1000},
                  [GROWTH_ROOT] = {12, 40, 1000},
                  [GROWTH_ANY] = {HUGE_VAL, 0, 0}};
    return work * limits[growth].factor +
           (measure == WORK ? limits[growth].more : limits[growth].instructions);
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

/* Numbers of timers. */
enum { SIZES = 5 };

static const uint32_t sizes[SIZES] = {64, 256, 2048, 16384, 65536};

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
    double before; /* the bill, counted work */
    bool can_step;
    bool counts; /* the structure counts work */
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

/* Begin to add to the bill of an operation: counted work, and the instructions of about SAMPLES of
 * `calls` calls of the hook. */
static void begin_bill(const struct kit_subject *subject, struct bill *bill, enum kit_hook hook,
                       uint64_t calls)
{
    meter.bill = bill;
    meter.hook = hook;
    meter.calls = 0;
    meter.every = calls / SAMPLES | 1;
    meter.per_expiry = false;
    meter.before = work_of(subject, false);
}

static void end_bill(const struct kit_subject *subject, struct bill *bill, uint64_t times)
{
    bill->work += work_of(subject, false) - meter.before;
    bill->times += times;
    meter.bill = NULL;
}

/* The order of the deadlines of successive starts. */
enum pattern { ASCENDING, DESCENDING, SCATTERED, EQUAL, PATTERNS };

static const char *const pattern_words[] = {"ascending", "descending", "scattered", "equal"};

enum { NEAREST = 400, FURTHEST = 40000, TICKS = 64 };

/* Return the place of the `k`th of `count` timers, a power of two. */
static uint32_t place_of(enum pattern pattern, uint32_t k, uint32_t count)
{
    return pattern == ASCENDING    ? k
           : pattern == DESCENDING ? count - 1 - k
                                   : (uint32_t)(k * UINT64_C(2654435769) % count);
}

static void start_all(struct kit_subject *subject, struct bill *bill, enum pattern pattern)
{
    uint64_t serial = subject->serial;
    uint32_t count = subject->capacity;
    const uint64_t width = FURTHEST - NEAREST;
    begin_bill(subject, bill, KIT_HOOK_START, count);
    for (uint32_t id = 0; id < count; id++) {
        uint64_t delay = NEAREST + width * place_of(pattern, id, count) / count;
        script_start(subject, id, pattern == EQUAL ? FURTHEST / 2 : delay);
    }
    end_bill(subject, bill, subject->serial - serial);
}

/* Advance tick by tick; ticks with expiries do not count. */
static void tick(struct kit_subject *subject, struct bill *bill)
{
    begin_bill(subject, bill, KIT_HOOK_ADVANCE, TICKS);
    for (unsigned i = 0; i < TICKS; i++) {
        double before = work_of(subject, true);
        script_advance(subject, subject->clock + 1);
        if (subject->fired == 0) {
            bill->work += work_of(subject, true) - before;
            bill->times++;
        }
    }
    meter.bill = NULL;
}

/* Stop every other timer: in the order of ids, in reverse, or scattered. */
static void stop_half(struct kit_subject *subject, struct bill *bill, enum pattern pattern)
{
    begin_bill(subject, bill, KIT_HOOK_STOP, subject->capacity / 2);
    for (uint32_t k = 0; k < subject->capacity; k += 2) {
        script_stop(subject, place_of(pattern, k, subject->capacity));
    }
    end_bill(subject, bill, subject->capacity / 2);
}

/* Advance from due tick to due tick. One advance with all expiries is too long to count its
 * instructions. */
static void expire_all(struct kit_subject *subject, struct bill *bill, enum pattern pattern)
{
    uint64_t pending = subject->pending;
    begin_bill(subject, bill, KIT_HOOK_ADVANCE, pending);
    meter.per_expiry = true;
    while (subject->pending > 0) {
        uint64_t limit = subject->timers[subject_first(subject)].limit;
        meter.bill = NULL; /* the ticks until then belong to no expiry */
        script_advance(subject, limit - 1);
        meter.bill = pattern == EQUAL ? NULL : bill;
        script_advance(subject, limit);
    }
    end_bill(subject, bill, pending);
}

/* Restarts follow the pattern, too: each a little earlier than the last, for example, or all to one
 * tick. */
static void measure(struct kit_subject *subject, enum pattern pattern, struct bill *bills)
{
    start_all(subject, &bills[START], pattern);
    /* Work that starts defer comes with the first advance. */
    script_advance(subject, subject->clock + 1);
    tick(subject, &bills[TICK]);
    start_all(subject, &bills[RESTART], SCATTERED);
    start_all(subject, &bills[RESTART], pattern);
    stop_half(subject, &bills[STOP], pattern);
    start_all(subject, &bills[START], pattern);
    expire_all(subject, &bills[EXPIRE], pattern);
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

/* Return the work of one operation; negative: not known. */
static double work_each(const struct bill *bill, enum measure measure, const char *words)
{
    if (measure == WORK) {
        return bill->times > 0 ? bill->work / (double)bill->times : -1;
    }
    return bill->samples > 0 ? typical_steps(bill, words) : -1;
}

/* Compare the last bills with those of a smaller size. Counted work is compared with that at
 * sizes[1]; instructions with those at sizes[0], and from 256 times as many timers on at sizes[1]. */
static void compare(const struct kit_run *run, enum pattern pattern,
                    struct bill bills[SIZES][OPERATIONS], size_t last)
{
    for (unsigned i = 0; i < OPERATIONS * MEASURES && last > 0; i++) {
        enum operation operation = i / MEASURES;
        enum measure measure = i % MEASURES;
        size_t first = measure == WORK || last > 2;
        const char *words = words_of(&run->algo->cost, operation);
        double less = work_each(&bills[first][operation], measure, words);
        double more = work_each(&bills[last][operation], measure, words);
        if (less >= 0 && more > most_after_growth(growth_of(words), less, measure)) {
            kit_fail(run->witness, FAULT_COST,
                     "a%s %s takes %.1f %s with %" PRIu32 " timers and %.1f with %" PRIu32
                     ", started with %s deadlines, against the stated cost `%s`",
                     operation == EXPIRE ? "n" : "", operation_words[operation], less,
                     measure == WORK
                         ? operation == TICK ? "compares, slots and moves" : "compares and moves"
                     : more >= STEPS_MOST ? "instructions or more"
                                          : "instructions",
                     sizes[first], more, sizes[last], pattern_words[pattern], words);
        }
    }
}

/* Measure one size. False: it takes too long, or nothing can be measured. */
static bool measure_size(struct kit_run *run, enum pattern pattern, uint32_t size,
                         struct bill *bills)
{
    struct kit_subject subject;
    meter.left = STEPS_ALL;
    if (!script_open_announced(run, &subject, size, 0, FURTHEST)) {
        return false;
    }
    measure(&subject, pattern, bills);
    meter.counts = work_of(&subject, true) > 0;
    subject_destroy(&subject);
    return meter.counts || meter.can_step;
}

/* Return the largest number of timers reached in that processor time; 0: no measurement. */
static uint32_t measure_sizes(struct kit_run *run, enum pattern pattern, uint64_t share_ns)
{
    struct bill bills[SIZES][OPERATIONS] = {{{0}}};
    uint64_t took_ns = 0;
    uint64_t left_ns = share_ns;
    size_t done = 0;
    /* A compromise between fast and slow structures, for 8 times as many timers. */
    for (; done < SIZES && 24 * took_ns <= left_ns; done++) {
        uint64_t begun_ns = clock_processor_ns();
        meter.ns = 0;
        if (!measure_size(run, pattern, sizes[done], bills[done])) {
            break;
        }
        compare(run, pattern, bills, done);
        took_ns = clock_processor_ns() - begun_ns - meter.ns;
        left_ns -= took_ns < left_ns ? took_ns : left_ns;
    }
    return done > 0 ? sizes[done - 1] : 0;
}

void case_cost(struct kit_run *run)
{
    static const struct kit_watcher watcher = {.enter = begin_call, .leave = end_call};
    memset(&meter, 0, sizeof meter);
    run->algo = kit_steps_watch(run->target->counted, &watcher, &meter.can_step);
    /* The words are about the defaults: some options name other algorithms. */
    tl_options_default(run->algo, run->options);
    uint64_t share_ns = (uint64_t)(run->patience_seconds * 0.06 * 1e9);
    uint32_t least = UINT32_MAX;
    for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
        uint32_t reached = measure_sizes(run, pattern, share_ns);
        least = reached < least ? reached : least;
    }
    if (least == 0) {
        kit_note(run->witness, "it counts no work: its cost is as it says, or not");
    } else {
        kit_note(run->witness, "its cost was measured with up to %" PRIu32 " timers%s", least,
                 meter.counts ? "" : ", in instructions only: it counts no work");
    }
}
