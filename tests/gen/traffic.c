/* traffic.c: bursty traffic, compared with gen_traffic.h: the mean is that of smooth traffic, the
 * beginning is like the end, the dispersion is that of theory or of recordings. workloads.c tests
 * herds. */
#include "test.h"

#include "gen.h"
#include "gen_traffic.h"
#include "random.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/timerlab-traffic-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void expect_close(const char *what, double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want))) {
        fail_msg("%s: %.9g is not within %g of %.9g", what, got, relative, want);
    }
}

/* --- the operations in a window -------------------------------------------------------------- */

enum { WINDOWS_MAX = 6000 };

struct seen {
    double operations;
    double starts;
    double busiest;              /* starts of one timer */
    double timers;               /* that were started */
    double fifths[5];            /* operations, by the time */
    double windows[WINDOWS_MAX]; /* starts, by the second; or by the 100 ticks */
    unsigned window_count;
};

/* The length of the windows, in ticks; 0: a second. */
static uint64_t window_ticks;

static void see(struct seen *seen, const char *name, uint32_t connections, double seconds,
                uint64_t seed, const char *const *settings)
{
    struct error error = {""};
    struct gen_part part = {.workload = gen_find(name, &error), .connections = connections};
    assert_non_null(part.workload);
    gen_parameters_default(part.workload, part.parameters);
    for (; *settings != NULL; settings++) {
        if (!gen_parameter_set(part.workload, part.parameters, *settings, NULL, &error)) {
            fail_msg("%s", error.text);
        }
    }
    const struct gen_request request = {
        .parts = &part, .part_count = 1, .seconds = seconds, .seed = seed};
    struct gen_summary summary;
    if (!gen_trace(&request, path, &summary, &error)) {
        fail_msg("%s", error.text);
    }
    struct trace_reader *reader = trace_reader_open(path, &error);
    assert_non_null(reader);
    const struct trace_header header = *trace_reader_header(reader);
    uint64_t window = header.end_tick - header.warmup_end_tick;
    uint64_t second = window_ticks > 0 ? window_ticks : UINT64_C(1000000000) / header.tick_ns;
    *seen = (struct seen){.window_count = (unsigned)(window / second)};
    assert_in_range(seen->window_count, 1, WINDOWS_MAX);
    uint32_t *starts = calloc(header.ids, sizeof *starts);
    assert_non_null(starts);
    struct trace_block block;
    int got;
    while ((got = trace_reader_next(reader, &block, &error)) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            if (group->tick < header.warmup_end_tick) {
                continue;
            }
            uint64_t at = group->tick - header.warmup_end_tick;
            seen->operations += group->count;
            seen->fifths[at * 5 / window] += group->count;
            for (uint32_t i = group->first; i < group->first + group->count; i++) {
                const struct trace_record *record = &block.records[i];
                if (record->op == TRACE_START) {
                    seen->starts++;
                    seen->timers += starts[record->id] == 0;
                    seen->busiest = fmax(seen->busiest, ++starts[record->id]);
                    if (at / second < seen->window_count) {
                        seen->windows[at / second]++;
                    }
                }
            }
        }
    }
    assert_int_equal(got, 0);
    free(starts);
    trace_reader_close(reader);
}

/* Variance by mean of the starts in the windows. */
static double dispersion(const struct seen *seen)
{
    double mean = 0;
    double square = 0;
    for (unsigned i = 0; i < seen->window_count; i++) {
        mean += seen->windows[i] / seen->window_count;
        square += seen->windows[i] * seen->windows[i] / seen->window_count;
    }
    return (square - mean * mean) / mean;
}

/* Mean of what several seeds yield, and its standard error. */
struct estimate {
    double sum;
    double squares;
    unsigned count;
};

static void add(struct estimate *estimate, double value)
{
    estimate->sum += value;
    estimate->squares += value * value;
    estimate->count++;
}

static double mean_of(const struct estimate *estimate)
{
    return estimate->sum / estimate->count;
}

static double error_of(const struct estimate *estimate)
{
    double mean = mean_of(estimate);
    double variance = estimate->squares / estimate->count - mean * mean;
    return sqrt((variance > 0 ? variance : 0) / (estimate->count - 1));
}

/* --- laws ------------------------------------------------------------------------------------ */

static void test_laws(void **state)
{
    (void)state;
    enum { STEPS = 200000 };
    static const double shapes[] = {0, 0.5, 1, 1.2, 1.5, 2, 3};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct gen_law law = gen_law_make(7, shapes[s], 1000);
        struct random random;
        random_seed(&random, 4);
        double sum = 0;
        double squares = 0;
        double met = 0;
        double before = 0;
        for (unsigned i = 0; i < STEPS; i++) {
            double u = (i + 0.5) / STEPS;
            double value = gen_law_value(&law, u);
            assert_true(value > before);
            before = value;
            sum += value / STEPS;
            squares += value * value / STEPS;
            met += gen_law_met(&law, u, random_unit(&random)) / STEPS;
        }
        expect_close("mean", sum, 7, 0.001);
        /* The length-biased law has this mean. */
        expect_close("met", met, squares / sum, 0.04);
        if (shapes[s] > 0) {
            expect_close("ratio", gen_law_value(&law, 1) / gen_law_value(&law, 0), 1000, 1e-6);
        }
    }
    /* Half of it beyond the limit: the mean below the median of a log-normal variable is that of
     * the variable times Phi(-sigma). */
    double below;
    double cut = gen_lognormal_cut(20, 1.5, 20, &below);
    expect_close("share", below, 0.5, 0.001);
    expect_close("cut", cut, 20 * exp(1.125) * 0.5 * erfc(1.5 / sqrt(2)) + 10, 0.001);
    cut = gen_lognormal_cut(20, 0, 21, &below);
    assert_true(cut == 20 && below == 1);
    expect_close("rounded", gen_whole_mean(1000), 1000.5, 1e-6);
    expect_close("rounded", gen_whole_mean(0.01), 1, 1e-6);
}

/* --- the mean, and the beginning -------------------------------------------------------------- */

static const char *const families[] = {"server", "idle", "rpc", "quic", "retry", "tcp"};
enum { FAMILIES = sizeof families / sizeof families[0] };

static struct estimate operations_of(const char *name, const char *const *settings, uint64_t seeds,
                                     struct estimate fifths[5])
{
    struct estimate operations = {0};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct seen seen;
        see(&seen, name, 4000, 10, seed, settings);
        add(&operations, seen.operations);
        for (unsigned i = 0; i < 5; i++) {
            add(&fifths[i], seen.fifths[i]);
        }
    }
    return operations;
}

static void expect_equal(const char *name, const char *what, const struct estimate *a,
                         const struct estimate *b, double bias)
{
    double error = hypot(error_of(a), error_of(b));
    if (!(fabs(mean_of(a) - mean_of(b)) <= 4 * error + bias * mean_of(b))) {
        fail_msg("%s, %s: %g and %g differ by more than four times their error of %g", name, what,
                 mean_of(a), mean_of(b), error);
    }
    /* The test must be able to detect a fifth. */
    assert_true(error < 0.05 * mean_of(b));
}

/* As many operations as in smooth traffic, and in the first fifth of the time as many as in the
 * last: over many seeds, for bursts with tails and without, for all traffic and half of it. Here
 * few connections for each client limit the tails, which otherwise need too many seeds. */
static void test_means(void **state)
{
    (void)state;
    static const char *const smooth[] = {"trickle=1", NULL};
    static const char *const modes[][8] = {
        {"together=1", "hot=1", NULL},
        {"trickle=0", "together=1", "hot=20", "burst=10", NULL},
        {"trickle=0.2", "together=2", "burst_shape=0", "silence_shape=0", "burst=5", "hot=1", NULL},
    };
    for (unsigned f = 0; f < FAMILIES; f++) {
        struct estimate fifths[5] = {{0}};
        struct estimate want = operations_of(families[f], smooth, 10, fifths);
        for (unsigned m = 0; m < sizeof modes / sizeof modes[0]; m++) {
            (void)memset(fifths, 0, sizeof fifths);
            struct estimate got = operations_of(families[f], modes[m], 40, fifths);
            /* The estimate of quic's connects is one. */
            expect_equal(families[f], modes[m][0], &got, &want,
                         strcmp(families[f], "quic") == 0 ? 0.01 : 0);
            struct estimate later = {0};
            later.sum = fifths[3].sum + fifths[4].sum;
            later.count = 2 * fifths[3].count;
            later.squares = fifths[3].squares + fifths[4].squares;
            expect_equal(families[f], "from first to last", &fifths[0], &later, 0);
        }
    }
}

/* The mean with long requests, with many failed ones, and with a long tick. */
static void test_means_of_other_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *settings[8];
    } cases[] = {
        {"server", {"reply_median_ms=1000", "loss=0.3", "retries=2", NULL}},
        {"server", {"pause_s=60", "think_s=30", "tick_us=50000", NULL}},
        {"idle", {"timeout_max_s=90", "timeout_min_s=5", "timeouts=0", "close=0.2", NULL}},
        {"idle", {"rate_per_s=20", "tick_us=2000", NULL}},
        {"rpc", {"cancelled=0.2", "timeout_min_s=1", "timeouts=0", NULL}},
        {"quic", {"rate_per_s=0.03", "flight=2", "loss=0.1", NULL}},
        {"retry", {"failure=0.6", "backoff_ms=300", "jitter=full", "cancelled=0.2", NULL}},
        {"tcp", {"ends=both", "requests=5", "vanish=0.2", "time_wait_s=5", "loss=0.02", NULL}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct estimate results[2];
        for (unsigned bursts = 0; bursts < 2; bursts++) {
            const char *settings[16];
            unsigned n = 0;
            for (; cases[c].settings[n] != NULL; n++) {
                settings[n] = cases[c].settings[n];
            }
            settings[n++] = bursts ? "trickle=0.3" : "trickle=1";
            settings[n++] = "together=1";
            settings[n++] = "burst=10";
            settings[n++] = "hot=10";
            settings[n] = NULL;
            struct estimate fifths[5] = {{0}};
            results[bursts] = operations_of(cases[c].name, settings, bursts ? 30 : 6, fifths);
        }
        expect_equal(cases[c].name, cases[c].settings[0], &results[1], &results[0], 0.01);
    }
}

/* --- dispersion ------------------------------------------------------------------------------ */

/* Bursts far shorter than a second, and far apart: a start is in a burst with a probability
 * proportional to its length, so that the dispersion is the mean of B squared by that of B. A
 * client's connections share the burst, and the trickle has a dispersion of 1. */
static void test_dispersion_in_theory(void **state)
{
    (void)state;
    static const struct {
        const char *trickle;
        const char *together;
        double share;
        double connections;
    } cases[] = {{"trickle=0", "together=1", 1, 1},
                 {"trickle=0.5", "together=1", 0.5, 1},
                 {"trickle=0", "together=8", 1, 8}};
    /* 1 and an exponential of mean 29, rounded up or down by chance. */
    const double burst = (30 * 30 + 29 * 29 + 1.0 / 6) / 30;
    for (unsigned c = 0; c < 3; c++) {
        const char *const settings[] = {cases[c].trickle,  cases[c].together, "burst_shape=0",
                                        "silence_shape=0", "hot=1",           "burst_gap_ms=0.01",
                                        "close=0",         "tick_us=20",      NULL};
        struct estimate got = {0};
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct seen seen;
            see(&seen, "idle", 2000, 300, seed, settings);
            add(&got, dispersion(&seen));
        }
        double want = cases[c].share * burst * cases[c].connections + (1 - cases[c].share);
        expect_close(cases[c].trickle, mean_of(&got), want, 0.15);
    }
    /* Smooth: 1. */
    static const char *const smooth[] = {"trickle=1", "close=0", NULL};
    struct seen seen;
    see(&seen, "idle", 2000, 300, 1, smooth);
    expect_close("smooth", dispersion(&seen), 1, 0.3);
}

/* Recorded kernel timers have dispersions from 69 to 654 in a second, and a busiest timer of
 * hundreds of starts; so have the defaults. tcp's are those of recordings with more in common: of
 * starts per 100 ticks, 59 to 6,616, which is more than ten times as much per second. A timer of
 * `retry` has no more starts than a call has attempts. */
static void test_dispersion_of_defaults(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    for (unsigned f = 0; f < FAMILIES; f++) {
        bool together = strcmp(families[f], "tcp") == 0;
        struct estimate dispersions = {0};
        struct estimate busiest = {0};
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct seen seen;
            window_ticks = together ? 100 : 0;
            see(&seen, families[f], 20000, 45, seed, none);
            window_ticks = 0;
            add(&dispersions, dispersion(&seen));
            add(&busiest, seen.busiest);
        }
        double got = mean_of(&dispersions);
        if (!(got >= (together ? 59 : 69) && got <= (together ? 6616 : 654))) {
            fail_msg("%s: a dispersion of %g is not a recording's", families[f], got);
        }
        if (strcmp(families[f], "retry") != 0 && mean_of(&busiest) < 100) {
            fail_msg("%s: %g starts of the busiest timer", families[f], mean_of(&busiest));
        }
    }
}

/* --- hot clients, sessions ------------------------------------------------------------------- */

static void test_hot(void **state)
{
    (void)state;
    /* Bursts of one request, so that a connection's operations are its rate: bounded Pareto of
     * shape 1 from 1 to 20 has the mean 20 ln 20 / 19 times the minimum. */
    const char *const settings[] = {
        "trickle=0", "together=1",  "burst=1",        "burst_shape=0", "silence_shape=0",
        "hot=20",    "hot_shape=1", "rate_per_s=0.5", "close=0",       NULL};
    struct seen seen;
    see(&seen, "idle", 2000, 500, 1, settings);
    double mean = seen.starts / 2000;
    double least = mean / (20 * log(20) / 19);
    expect_close("busiest", seen.busiest, 20 * least, 0.15);
    static const char *const alike[] = {"trickle=0",      "together=1",      "burst=1",
                                        "burst_shape=0",  "silence_shape=0", "hot=1",
                                        "rate_per_s=0.5", "close=0",         NULL};
    see(&seen, "idle", 2000, 500, 1, alike);
    assert_true(seen.busiest < 1.5 * seen.starts / 2000);
}

static void test_sessions(void **state)
{
    (void)state;
    struct gen_model model = {0};
    random_seed(&model.random, 8);
    static const double shapes[] = {0, 1.2, 2.4};
    double longest[3];
    for (unsigned s = 0; s < 3; s++) {
        enum { SESSIONS = 300000 };
        struct gen_sessions sessions = gen_sessions_make(0.05, shapes[s]);
        uint32_t left = gen_session_place(&model, &sessions);
        assert_true(left >= 1);
        double requests = 0;
        double length = 0;
        longest[s] = 0;
        for (unsigned ended = 0; ended < SESSIONS; requests++) {
            length++;
            if (gen_session_ends(&model, &sessions, &left)) {
                longest[s] = fmax(longest[s], length);
                length = 0;
                ended++;
            }
        }
        expect_close("session", requests / SESSIONS, 20, 0.03);
    }
    /* A thousand times the shortest, which contributes most of the mean; a geometric one has its
     * logarithm. */
    assert_true(longest[0] < 20 * 20);
    assert_true(longest[1] > 3000);
    assert_true(longest[2] > 1000);
    /* Always the last, never the last. */
    uint32_t left = 1;
    struct gen_sessions sessions = gen_sessions_make(1, 2);
    assert_true(gen_session_ends(&model, &sessions, &left));
    assert_int_equal(left, 1);
    sessions = gen_sessions_make(0, 2);
    assert_false(gen_session_ends(&model, &sessions, &left));
}

/* The busiest client cannot make all its requests: it makes fewer, and the mean is unchanged. */
static void test_too_hot(void **state)
{
    (void)state;
    const char *const settings[] = {"think_s=0.3", "hot=1e6", "hot_shape=0.5", "together=1", NULL};
    const char *const smooth[] = {"think_s=0.3", "trickle=1", NULL};
    struct seen hot;
    struct seen want;
    see(&hot, "server", 3000, 20, 1, settings);
    see(&want, "server", 3000, 20, 1, smooth);
    expect_close("too hot", hot.operations, want.operations, 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws),    cmocka_unit_test(test_dispersion_of_defaults),
        cmocka_unit_test(test_hot),     cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_too_hot),
    };
    /* Of many seeds: they are all alike to a sanitizer. */
    const struct CMUnitTest many[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_means_of_other_parameters),
        cmocka_unit_test(test_dispersion_in_theory),
    };
    char template[sizeof path];
    (void)memcpy(template, path, sizeof path);
    int failed = cmocka_run_group_tests(tests, make_path, remove_path);
    (void)memcpy(path, template, sizeof path);
    return failed + (SANITIZED ? 0 : cmocka_run_group_tests(many, make_path, remove_path));
}
