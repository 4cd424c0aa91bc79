/*
 * Cases: work grows with the number of timers no faster than the descriptor states, and with the
 * ticks of an advance not at all: the counted work, and the instructions of some calls of each hook,
 * of which the median counts.
 */
#include "clock.h"
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

/* SPAN is an advance over very many ticks. */
enum operation { START, RESTART, STOP, TICK, EXPIRE, SPAN, OPERATIONS = SPAN };

static const char *const operation_words[] = {"a start", "a restart", "a stop", "a tick",
                                              "an expire"};

/* Instructions are counted in up to SAMPLES calls, up to STEPS_MOST in each, and up to STEPS_ALL at
 * one size: counting one costs as much as thousands. */
enum { SAMPLES = 5, STEPS_MOST = 3000, STEPS_ALL = 12000 };

enum { SIZES = 5 };

/* Numbers of timers. */
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
    struct kit_witness *witness;
    struct bill *bill; /* instructions are added to it; NULL: to none */
    enum operation operation;
    double before;  /* counted work before the operations of the bill */
    uint64_t calls; /* of the operation's hook */
    uint64_t every; /* one of this number of calls has its instructions counted */
    uint64_t most;  /* instructions that are counted in it */
    uint64_t left;  /* instructions that may still be counted */
    uint64_t began_ns;
    uint64_t ns; /* processor time of counting them */
    bool can_step;
    bool counts; /* the structure counts work */
} meter;

static void begin_call(struct kit_call *call)
{
    static const enum kit_hook hooks[] = {
        [START] = KIT_HOOK_START,  [RESTART] = KIT_HOOK_START,  [STOP] = KIT_HOOK_STOP,
        [TICK] = KIT_HOOK_ADVANCE, [EXPIRE] = KIT_HOOK_ADVANCE, [SPAN] = KIT_HOOK_ADVANCE};
    if (meter.bill != NULL && call->hook == hooks[meter.operation] &&
        ++meter.calls % meter.every == 0 && meter.bill->samples < SAMPLES &&
        meter.left >= meter.most) {
        call->most = meter.most;
        call->stride = 1000;
        meter.began_ns = clock_processor_ns();
    }
}

/* A call of which instructions are counted is slow, and does not hang. */
static void show_progress(const struct kit_call *call, const void *instruction)
{
    (void)call;
    (void)instruction;
    meter.witness->hooks++;
}

static void end_call(const struct kit_call *call)
{
    bool fires = call->fires > 0 && meter.operation != SPAN;
    if (call->steps > 0 && fires == (meter.operation == EXPIRE)) {
        double each = (double)(fires ? call->fires : 1);
        meter.bill->steps[meter.bill->samples++] = (double)call->steps / each;
    }
    meter.left -= call->steps;
    meter.ns += call->most > 0 ? clock_processor_ns() - meter.began_ns : 0;
}

/* Prepare the meter: it measures calls of the build with counters, up to `most` instructions each. */
static void begin_meter(struct kit_run *run, uint64_t most)
{
    static const struct kit_watcher watcher = {begin_call, show_progress, end_call};
    memset(&meter, 0, sizeof meter);
    meter.witness = run->witness;
    meter.most = most;
    run->algo = kit_steps_watch(run->target->counted, &watcher, &meter.can_step);
    /* The words are about the defaults: some options name other algorithms. */
    tl_options_default(run->algo, run->options);
}

static int compare_steps(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Return the work of one operation; negative: not known. Of instructions, the median counts, or the
 * minimum where the words allow some costly calls. */
static double work_each(const struct bill *bill, enum measure measure, const char *words)
{
    if (measure == WORK) {
        return bill->times > 0 ? bill->work / (double)bill->times : -1;
    }
    double sorted[SAMPLES];
    memcpy(sorted, bill->steps, sizeof sorted);
    qsort(sorted, bill->samples, sizeof sorted[0], compare_steps);
    bool is_minimum = strstr(words, "amorti") != NULL;
    return bill->samples > 0 ? sorted[is_minimum ? 0 : bill->samples / 2] : -1;
}

/* Whether visited slots are work of the operation. */
static bool counts_slots(enum operation operation)
{
    return operation == TICK || operation == SPAN;
}

/* Return the work counted so far. */
static double work_of(const struct kit_subject *subject, enum operation operation)
{
    struct tl_counters now = {0};
    if (subject->algo->counters != NULL) {
        subject->algo->counters(subject->self, &now);
    }
    return (double)now.compares + (double)now.moves +
           (counts_slots(operation) ? (double)now.slots : 0);
}

/* Begin to add to the bill of an operation: counted work, and the instructions of about SAMPLES of
 * `calls` calls of its hook. */
static void begin_bill(const struct kit_subject *subject, struct bill *bill,
                       enum operation operation, uint64_t calls)
{
    meter.bill = bill;
    meter.operation = operation;
    meter.calls = 0;
    meter.every = calls / SAMPLES | 1;
    meter.before = work_of(subject, operation);
}

static void end_bill(const struct kit_subject *subject, struct bill *bill, uint64_t times)
{
    bill->work += work_of(subject, meter.operation) - meter.before;
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
    begin_bill(subject, bill, START, count);
    for (uint32_t id = 0; id < count; id++) {
        uint64_t delay = NEAREST + width * place_of(pattern, id, count) / count;
        script_start(subject, id, pattern == EQUAL ? FURTHEST / 2 : delay);
    }
    end_bill(subject, bill, subject->serial - serial);
}

/* Advance tick by tick; ticks with expiries do not count. */
static void tick(struct kit_subject *subject, struct bill *bill)
{
    uint64_t quiet = 0;
    begin_bill(subject, bill, TICK, TICKS);
    for (unsigned i = 0; i < TICKS; i++) {
        double before = work_of(subject, TICK);
        script_advance(subject, subject->clock + 1);
        quiet += subject->fired == 0;
        meter.before += subject->fired == 0 ? 0 : work_of(subject, TICK) - before;
    }
    end_bill(subject, bill, quiet);
}

/* Stop every other timer: in the order of ids, in reverse, or scattered. */
static void stop_half(struct kit_subject *subject, struct bill *bill, enum pattern pattern)
{
    begin_bill(subject, bill, STOP, subject->capacity / 2);
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
    begin_bill(subject, bill, EXPIRE, pending);
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
    const char *tick_or_expire =
        growth_of(cost->tick) > growth_of(cost->expire) ? cost->tick : cost->expire;
    return operation <= RESTART ? cost->start
           : operation == STOP  ? cost->stop
           : operation == TICK  ? cost->tick
                                : tick_or_expire;
}

/* Return the unit of a measurement of that operation. */
static const char *unit_of(enum measure measure, enum operation operation, double work)
{
    if (measure == INSTRUCTIONS) {
        return work >= (double)meter.most ? "instructions or more" : "instructions";
    }
    return counts_slots(operation) ? "compares, slots and moves" : "compares and moves";
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
                     "%s takes %.1f %s with %" PRIu32 " timers and %.1f with %" PRIu32
                     ", started with %s deadlines, against the stated cost `%s`",
                     operation_words[operation], less, unit_of(measure, operation, more),
                     sizes[first], more, sizes[last], pattern_words[pattern], words);
        }
    }
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
        struct kit_subject subject;
        uint64_t begun_ns = clock_processor_ns();
        meter.ns = 0;
        meter.left = STEPS_ALL;
        if (!script_open_announced(run, &subject, sizes[done], 0, FURTHEST)) {
            break;
        }
        measure(&subject, pattern, bills[done]);
        meter.counts = work_of(&subject, TICK) > 0;
        subject_destroy(&subject);
        if (!meter.counts && !meter.can_step) {
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
    begin_meter(run, STEPS_MOST);
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

/* --- long advances --------------------------------------------------------------------------- */

/* The base-2 logarithms of the ticks of the advances: of the first, with which the others are
 * compared, and of those. A wheel may visit each of its slots once, not once for each turn, block or
 * tick: the cost c of the first may become 4 * c and a little more in a longer one, which passes more
 * levels, and fires timers of more levels. */
enum { SHORT = 24, LONGER = 36, LONGEST = 48, SPAN_TIMERS = 8 };

/* Instructions are compared if the first advance has less than SPAN_STEPS_MOST. */
enum { SPAN_MORE = 2000, SPAN_STEPS_MORE = 1000, SPAN_STEPS_MOST = 6000 };

/* Measure an advance over 2^bits ticks. Half of the timers fire in it, and half are later. */
static struct bill measure_span(struct kit_subject *subject, unsigned bits)
{
    struct bill bill = {.work = 0};
    uint64_t span = UINT64_C(1) << bits;
    for (uint32_t id = 0; id < SPAN_TIMERS; id++) {
        script_start(subject, id, id % 2 == 0 ? span / (id + 2) : UINT64_C(1) << (bits + 2 + id));
    }
    script_advance(subject, subject->clock + 1); /* with what starts deferred */
    meter.left = meter.most;
    begin_bill(subject, &bill, SPAN, 1);
    script_advance(subject, subject->clock + span);
    end_bill(subject, &bill, 1);
    return bill;
}

void case_span(struct kit_run *run)
{
    struct kit_subject subject;
    begin_meter(run, SPAN_STEPS_MOST);
    const char *words = run->algo->cost.tick;
    if (strstr(words, "O(") == NULL || strstr(words, "tick") != NULL ||
        !script_open(run, &subject, SPAN_TIMERS, 0)) {
        return; /* a cost that grows with the ticks is for structures that say so */
    }
    struct bill usual = measure_span(&subject, SHORT);
    double steps = work_each(&usual, INSTRUCTIONS, words);
    bool counts_all = steps >= 0 && steps < SPAN_STEPS_MOST;
    meter.most = counts_all ? 4 * (uint64_t)steps + SPAN_STEPS_MORE + 1 : 0;
    for (unsigned bits = LONGER; bits <= LONGEST; bits += LONGEST - LONGER) {
        struct bill bill = measure_span(&subject, bits);
        for (enum measure measure = WORK; measure < MEASURES; measure++) {
            double less = work_each(&usual, measure, words);
            double more = work_each(&bill, measure, words);
            if (less >= 0 && more > 4 * less + (measure == WORK ? SPAN_MORE : SPAN_STEPS_MORE)) {
                kit_fail(run->witness, FAULT_COST,
                         "an advance over 2^%u ticks takes %.0f %s, and one over 2^%u ticks %.0f, "
                         "against the stated cost `%s` of a tick",
                         bits, more, unit_of(measure, SPAN, more), (unsigned)SHORT, less, words);
            }
        }
    }
    script_close(&subject);
}
