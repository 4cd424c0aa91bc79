/* timerlab-bench, run as a program. Nothing here depends on a time. */
#include "registry.h"

#include "test.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BENCH TL_BINARY_DIR "/bench/timerlab-bench"

/* Runs a shell command; returns its exit status, and its standard output in *output. */
static int run(const char *command, char **output)
{
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the command needs a shell */
    assert_non_null(pipe);
    size_t used = 0;
    size_t size = 1 << 16;
    char *text = malloc(size);
    assert_non_null(text);
    size_t got = 0;
    while ((got = fread(text + used, 1, size - used - 1, pipe)) > 0) {
        used += got;
        if (size - used < 2) {
            size *= 2;
            char *longer = realloc(text, size);
            assert_non_null(longer);
            text = longer;
        }
    }
    text[used] = '\0';
    *output = text;
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

enum { SUITES_MAX = 64, NAME_BYTES = 32 };

static char suites[SUITES_MAX][NAME_BYTES];
static size_t suite_count;

/* The suites as the program lists them: a line without indentation is a name. */
static int read_suites(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(run(BENCH " --list-suites", &text), 0);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] != ' ' && strncmp(line, "limit/", 6) != 0) {
            assert_true(suite_count < SUITES_MAX && strlen(line) < NAME_BYTES);
            (void)snprintf(suites[suite_count++], NAME_BYTES, "%s", line);
        }
    }
    free(text);
    return 0;
}

/* Whether a structure has a row by default: the reference has none; rows of `next` and of durable
 * structures need the capability. */
static bool has_row(const struct tl_algo *algo, const char *suite)
{
    if ((algo->capabilities & TL_CAP_BASELINE) != 0 &&
        (algo->capabilities & TL_CAP_FIRES_NOTHING) == 0) {
        return false;
    }
    if (strncmp(suite, "durable", strlen("durable")) == 0) {
        return (algo->capabilities & TL_CAP_DURABLE) != 0;
    }
    return strcmp(suite, "next") != 0 || (algo->capabilities & TL_CAP_NEXT) != 0;
}

/* A suite that does not go by the number of connections. */
static bool is_about_time(const char *suite)
{
    return strcmp(suite, "far-jump") == 0 || strcmp(suite, "empty-ticks") == 0;
}

/* The plain row's name; of the suite with none, the first one's. */
static const char *row_name(const char *suite, const char *structure, int n)
{
    static char name[256];
    (void)snprintf(name, sizeof name, "%s/%s/n:%d%s/manual_time", suite, structure,
                   is_about_time(suite) ? 10 : n,
                   strcmp(suite, "far-jump") == 0  ? "/jump:1000000"
                   : strcmp(suite, "durable") == 0 ? "/commit:1"
                                                   : "");
    return name;
}

static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; (at = strstr(at, line)) != NULL; at += length) {
        if ((at == text || at[-1] == '\n') && at[length] == '\n') {
            return true;
        }
    }
    return false;
}

/* The lines of a text in order, for many questions. */
struct lines {
    char *text;
    char **at;
    size_t count;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct lines lines_of(const char *text)
{
    struct lines lines = {.text = strdup(text), .at = calloc(strlen(text) + 1, sizeof(char *))};
    assert_non_null(lines.text);
    assert_non_null(lines.at);
    for (char *line = strtok(lines.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        lines.at[lines.count++] = line;
    }
    qsort(lines.at, lines.count, sizeof *lines.at, compare_lines);
    return lines;
}

static bool lines_have(const struct lines *lines, const char *line)
{
    return bsearch(&line, lines->at, lines->count, sizeof *lines->at, compare_lines) != NULL;
}

static void lines_free(struct lines *lines)
{
    free(lines->text);
    free(lines->at);
}

static void every_suite_says_what_it_measures_and_why(void **state)
{
    (void)state;
    static const char *const known[] = {
        "start",      "restart", "stop",         "expire",   "tick",        "next",  "idle-reset",
        "fill-drain", "hold",    "mixed-server", "far-jump", "empty-ticks", "burst", "exponential",
        "bimodal",    "uniform", "const",        "saw",      "ttl",         "tcp",   "herd"};
    char *text = NULL;
    assert_int_equal(run(BENCH " --list-suites", &text), 0);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_true(has_line(text, known[i]));
    }
    size_t shown = 0;
    for (const char *at = text; (at = strstr(at, "\n  shows ")) != NULL; at++) {
        shown++;
    }
    assert_true(shown > suite_count); /* those of the machine, too */
    assert_true(has_line(text, "limit/dependent-load"));
    free(text);
}

static void the_list_has_every_suite_structure_and_size(void **state)
{
    (void)state;
    static const int sizes[] = {1000, 10000, 100000, 1000000, 10000000};
    char *list = NULL;
    assert_int_equal(run(BENCH " -a 'all,durable(binary-heap)' --benchmark_list_tests", &list), 0);
    struct lines lines = lines_of(list);
    for (size_t s = 0; s < suite_count; s++) {
        for (size_t i = 0; i < tl_registry_count(); i++) {
            const struct tl_algo *algo = tl_registry_at(i)->timed;
            for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                assert_int_equal(lines_have(&lines, row_name(suites[s], algo->name, sizes[n])),
                                 has_row(algo, suites[s]));
            }
        }
    }
    static const char *const limits[] = {
        "record-16/n:1000/of:idle-reset", "dependent-load/n:10000000/bytes:64",
        "random-update/n:1000/bytes:16",  "random-update-two/n:1000/bytes:8",
        "sequential/n:1000/bytes:16",     "indirect-call/n:1",
        "clock/n:1/clock:thread",
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "limit/%s/manual_time", limits[i]);
        assert_true(lines_have(&lines, line));
    }
    lines_free(&lines);
    static const char *const listed[] = {
        "/arrival:reverse",
        "/longest:1000",
        "/durations:8",
        "/cancelled:90",
        "/delays:exp30",
        "/delays:hour",
        "/delays:saw",
        "/order:forward",
        "/order:hot",
        "/earlier:0.1",
        "/every:1000",
        "/step:10",
        "/step:100",
        "/warm:0",
        "/record:64",
        "/record:128",
        "/record:64/node:in",
        "/record:64/node:able",
        "/cold:8",
        "/callback:restart",
        "/pages:small",
        "/commit:5000",
    };
    for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
        char end[64];
        (void)snprintf(end, sizeof end, "%s/manual_time", listed[i]);
        assert_non_null(strstr(list, end));
    }
    free(list);
}

static void a_selection_keeps_its_floor_and_its_options(void **state)
{
    (void)state;
    const struct tl_algo *chosen = NULL;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if (tl_option_count(algo) > 0 && algo->options[0].min < algo->options[0].max) {
            chosen = algo;
        }
    }
    assert_non_null(chosen);
    const struct tl_option *option = &chosen->options[0];
    uint64_t value =
        (uint64_t)(option->min != option->default_value ? option->min : option->min + 1);
    TL_OPTION_VALUES(values);
    tl_option_set_number(option, values, value);
    char command[512];
    char line[256];
    (void)snprintf(command, sizeof command,
                   BENCH " -a %s:%s=%lld -n 2k,2000 --benchmark_list_tests", chosen->name,
                   option->name, (long long)value);
    char *list = NULL;
    assert_int_equal(run(command, &list), 0);
    char word[64];
    (void)tl_option_format(option, values, word, sizeof word);
    (void)snprintf(line, sizeof line, "start/%s:%s=%s/n:2000/manual_time", chosen->name,
                   option->name, word);
    assert_true(has_line(list, line));
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        (void)snprintf(line, sizeof line, "start/%s/n:2000/manual_time", algo->name);
        assert_int_equal(has_line(list, line), (algo->capabilities & TL_CAP_FIRES_NOTHING) != 0);
    }
    free(list);
}

static const json_t *find_row(const json_t *benchmarks, const char *name)
{
    size_t index = 0;
    const json_t *row = NULL;
    json_array_foreach(benchmarks, index, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0) {
            return row;
        }
    }
    return NULL;
}

static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* The streams: their limits are known, and their longest calls. */
static bool has_limits(const char *suite)
{
    static const char *const streams[] = {
        "idle-reset", "fill-drain", "burst", "hold", "mixed-server", "exponential", "bimodal",
        "uniform",    "const",      "saw",   "ttl",  "tcp",          "herd"};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        if (strcmp(suite, streams[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* All calls are watched; a late structure is not where the stream is. */
static void check_longest(const json_t *row, const char *suite)
{
    static const char late[] = "as many expiries as an exact structure has";
    const char *label = json_string_value(json_object_get(row, "label"));
    if (label != NULL && strncmp(label, late, strlen(late)) == 0) {
        return;
    }
    bool is_limit =
        strncmp(json_string_value(json_object_get(row, "name")), "limit/", strlen("limit/")) == 0;
    bool starts = strcmp(suite, "hold") != 0;
    bool stops = strcmp(suite, "mixed-server") == 0 || strcmp(suite, "tcp") == 0;
    assert_true(number(row, "longest_advance_ns") >= 0);
    assert_int_equal(json_object_get(row, "longest_start_ns") != NULL, starts);
    assert_int_equal(json_object_get(row, "longest_stop_ns") != NULL, stops);
    assert_int_equal(json_object_get(row, "longest_reserve_ns") != NULL, !is_limit);
}

static void check_figures(const json_t *row, const char *suite)
{
    assert_null(json_object_get(row, "error_occurred"));
    assert_true(number(row, "ns_per_op") >= 0);
    assert_true(number(row, "bytes_per_timer") > 0);
    assert_true(number(row, "batches") >= 1);
    if (has_limits(suite)) {
        check_longest(row, suite);
    }
    if (strcmp(suite, "fill-drain") == 0) {
        double halves = number(row, "start_ns") + number(row, "expire_ns");
        assert_true(halves > 0.99 * number(row, "ns_per_op"));
        assert_true(halves < 1.01 * number(row, "ns_per_op"));
    }
}

/* A late structure is timed until it has as many expiries as an exact one, and reports how long
 * that took; a structure that fires nothing does the same work. */
static void check_hold(const json_t *row, const struct tl_algo *algo, const json_t *context)
{
    const char *label = json_string_value(json_object_get(row, "label"));
    if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
        assert_string_equal(label, "fires nothing: called back by a list of the due timers");
        return;
    }
    char key[64];
    (void)snprintf(key, sizeof key, "promises of %s", algo->name);
    const char *promises = json_string_value(json_object_get(context, key));
    assert_non_null(promises);
    if (strncmp(promises, "not exact", 9) == 0) {
        int exact_ticks = 0;
        int ticks = 0;
        assert_non_null(label);
        assert_int_equal(sscanf(label,
                                "as many expiries as an exact structure has in %d ticks took %d",
                                &exact_ticks, &ticks),
                         2);
        assert_true(exact_ticks > 0 && ticks >= exact_ticks);
    } else {
        assert_true(label == NULL || strstr(label, "slow") != NULL);
    }
}

static void a_reduced_run_measures_every_row(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(run(BENCH
                         " -n 100 --patience=60 --benchmark_min_time=0 --benchmark_repetitions=1 "
                         "--benchmark_format=json 2>" TL_BINARY_DIR "/bench.err",
                         &text),
                     0);
    json_error_t error;
    json_t *report = json_loads(text, 0, &error);
    assert_non_null(report);
    const json_t *context = json_object_get(report, "context");
    static const char *const keys[] = {"version", "commit",     "compiler",
                                       "flags",   "build_type", "clock_overhead_ns"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_true(json_is_string(json_object_get(context, keys[i])));
    }
    assert_string_equal(json_string_value(json_object_get(context, "floor")), "null");
    const json_t *benchmarks = json_object_get(report, "benchmarks");
    for (size_t s = 0; s < suite_count; s++) {
        for (size_t i = 0; i < tl_registry_count(); i++) {
            const struct tl_algo *algo = tl_registry_at(i)->timed;
            if (!has_row(algo, suites[s])) {
                continue;
            }
            const json_t *row = find_row(benchmarks, row_name(suites[s], algo->name, 100));
            if (strcmp(suites[s], "recorded") == 0) {
                assert_null(row); /* it was not requested, and there is no recording */
                continue;
            }
            assert_non_null(row);
            const json_t *message = json_object_get(row, "error_message");
            if (!test_is_available(algo)) {
                assert_non_null(strstr(json_string_value(message), "skipped: a library"));
                continue;
            }
            if (message != NULL) {
                /* A row that a structure cannot have is omitted, with a reason. */
                assert_true(strncmp(json_string_value(message), "skipped: ", 9) == 0);
                assert_true(is_about_time(suites[s]) || (algo->capabilities & TL_CAP_EXACT) == 0);
                continue;
            }
            check_figures(row, suites[s]);
            if (strcmp(suites[s], "hold") == 0) {
                check_hold(row, algo, context);
            }
            const json_t *label = json_object_get(row, "label");
            bool slow = (algo->capabilities & TL_CAP_SLOW) != 0;
            assert_int_equal(label != NULL && strstr(json_string_value(label), "slow") != NULL,
                             slow);
        }
        for (int bytes = 8; has_limits(suites[s]) && bytes <= 64; bytes *= bytes == 8 ? 2 : 4) {
            char name[128];
            (void)snprintf(name, sizeof name, "limit/record-%d/n:100/of:%.31s/manual_time", bytes,
                           suites[s]);
            const json_t *row = find_row(benchmarks, name);
            assert_non_null(row);
            check_figures(row, suites[s]);
        }
    }
    json_decref(report);
    free(text);
}

static void what_is_too_slow_is_left_out_and_says_so(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if ((algo->capabilities & TL_CAP_SLOW) == 0) {
            continue;
        }
        char command[512];
        (void)snprintf(command, sizeof command,
                       BENCH " -a %s -n 10001 --benchmark_filter=^start/%s/ "
                             "--benchmark_min_time=0 --benchmark_format=json 2>" TL_BINARY_DIR
                             "/bench.err",
                       algo->name, algo->name);
        char *text = NULL;
        assert_int_equal(run(command, &text), 0);
        assert_non_null(strstr(text, "skipped: the structure declares itself slow"));
        assert_null(strstr(text, "ns_per_op"));
        free(text);
    }
}

/* A deadline beyond a structure's horizon is no fault of it. */
static void a_structure_that_refuses_a_start_is_left_out_and_says_so(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if ((algo->capabilities & TL_CAP_UNLIMITED) != 0) {
            continue;
        }
        const struct tl_option *option = &algo->options[0];
        if (option->min + 10 > option->max) {
            continue; /* a word, or a number of levels: none makes it reach as little as this test
                         wants */
        }
        char command[512];
        (void)snprintf(command, sizeof command,
                       BENCH " -a %s:%s=%.0f -n 1000 --benchmark_filter=^start/%s "
                             "--benchmark_min_time=0 --benchmark_format=json "
                             "2>" TL_BINARY_DIR "/bench.err",
                       algo->name, option->name, option->min + 10, algo->name);
        char *text = NULL;
        assert_int_equal(run(command, &text), 0);
        assert_non_null(strstr(text, "skipped: start: "));
        assert_non_null(strstr(text, "TL_ERR_HORIZON"));
        free(text);
    }
}

/* The reference and the structures that are not like it fire the same timers at the same ticks,
 * which the generator has reckoned without either, wherever a stream is turned. */
static void every_stream_fires_what_it_must_on_every_axis(void **state)
{
    (void)state;
    static const char *const turned[] = {
        "",
        "--earlier=0.3",
        "--order=hot --earlier=0.1",
        "--order=backward --step=7",
        "--step=100 --earlier=0.5",
        "--callback=restart --every=300",
        "--delays=hour --callback=restart --warm=100000",
        "--delays=saw --callback=restart --step=10",
        "--record=128 --node=able --delays=bimodal6",
        "--record=64 --node=in --delays=const",
        "--warm=0 --cold=1 --record=24",
        "--tick=1us --callback=restart",
        "--tick=1ns --record=128 --node=able --step=3",
        "--tick=100ms --earlier=0.2",
        "--order=zipf --delays=ttl --callback=restart",
    };
    for (size_t i = 0; i < sizeof turned / sizeof turned[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       BENCH
                       " -a ordered-list -a binary-heap -a bitmap-wheel -n 300 "
                       "--plain-rows --benchmark_min_time=0 --benchmark_repetitions=2 %s "
                       "--benchmark_filter='^[^r][^/]*/[a-z-]*/n:300/' --benchmark_format=json "
                       "2>" TL_BINARY_DIR "/bench.err",
                       turned[i]);
        char *text = NULL;
        if (run(command, &text) != 0) {
            fail_msg("%s: %s", turned[i], text);
        }
        const char *error = strstr(text, "\"error_message\"");
        if (error != NULL || strstr(text, "\"ns_per_op\"") == NULL) {
            fail_msg("%s: %.200s", turned[i], error != NULL ? error : "no figures");
        }
        free(text);
    }
}

/* The only row of that name, run in memory, where syncs cost nothing. */
static json_t *run_durable(const char *structure, const char *flags, const char *row)
{
    char command[512];
    char name[256];
    (void)snprintf(command, sizeof command,
                   "TMPDIR=/dev/shm " BENCH " -a '%s' -n 300 --plain-rows %s "
                   "--benchmark_filter='^durable' --benchmark_min_time=0 "
                   "--benchmark_repetitions=1 --benchmark_format=json 2>" TL_BINARY_DIR
                   "/bench.err",
                   structure, flags);
    char *text = NULL;
    if (run(command, &text) != 0) {
        fail_msg("%s %s: %s", structure, flags, text);
    }
    json_t *report = json_loads(text, 0, NULL);
    assert_non_null(report);
    assert_non_null(strstr(text, "/dev/shm, which is in memory: no disk is involved"));
    (void)snprintf(name, sizeof name, row, structure);
    json_t *found = json_incref((json_t *)find_row(json_object_get(report, "benchmarks"), name));
    json_decref(report);
    free(text);
    assert_non_null(found);
    assert_null(json_object_get(found, "error_occurred"));
    return found;
}

static void is_about(double figure, double expected)
{
    assert_true(figure > 0.99 * expected && figure < 1.01 * expected);
}

/* Every commit that is asked for is one wait, and everything that bounds a row is in it. */
static void what_is_durable_stands_beside_its_floor(void **state)
{
    (void)state;
    static const char front[] = "durable(binary-heap)";
    static const int commits[] = {1, 7, 900};
    for (size_t i = 0; i < sizeof commits / sizeof commits[0]; i++) {
        char flags[32];
        char row[64];
        (void)snprintf(flags, sizeof flags, "--commit=%d", commits[i]);
        (void)snprintf(row, sizeof row, "durable/%%s/n:300/commit:%d/manual_time", commits[i]);
        json_t *figures = run_durable(front, flags, row);
        assert_non_null(strstr(json_string_value(json_object_get(figures, "label")), "in memory"));
        is_about(number(figures, "x_limit"),
                 number(figures, "ns_per_op") / number(figures, "limit_ns"));
        is_about(number(figures, "x_bare"),
                 number(figures, "ns_per_op") / number(figures, "bare_ns"));
        double kinds = number(figures, "start_ns") + number(figures, "stop_ns") +
                       number(figures, "expire_ns") + number(figures, "restart_ns");
        is_about(kinds / 4, number(figures, "ns_per_op"));
        /* The log also waits for its own segments, once or twice. */
        assert_true(number(figures, "syncs_per_op") * commits[i] >= 1);
        /* A word of eight bytes, and its share of the head that up to 63 have together. */
        int framed = commits[i] < 63 ? commits[i] : 63;
        assert_true(number(figures, "bytes_written_per_op") >= 8 + 8.0 / framed);
        json_decref(figures);
    }
    json_t *unsynced = run_durable("durable(binary-heap):sync=none", "--commit=1",
                                   "durable/%s/n:300/commit:1/manual_time");
    assert_true(number(unsynced, "syncs_per_op") == 0);
    json_decref(unsynced);
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if ((algo->capabilities & TL_CAP_DURABLE) == 0 || !test_is_available(algo)) {
            continue;
        }
        json_t *figures =
            run_durable(algo->name, "--commit=40", "durable/%s/n:300/commit:40/manual_time");
        is_about(number(figures, "syncs_per_op") * 40, 1);
        assert_null(json_object_get(figures, "x_bare"));
        json_decref(figures);
    }
}

/* Plug-ins that are wrong in one way each: the row says in which. */
static void a_structure_that_is_wrong_fails_its_row(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        const char *row;
        const char *complaint;
    } wrong[] = {
        {"early", "hold", "timers fired"},
        {"late", "hold", "timers fired"},
        {"never", "fill-drain", "timers fired"},
        {"twice", "hold", "timers fired"},
        {"stranger", "fill-drain", "the timers that fired are not those that were to"},
        {"early", "expire", "the ticks at which timers fired"},
        {"late", "expire", "timers fired"},
        {"never", "expire", "timers fired"},
        {"twice", "expire", "the timers that fired are not those that were to"},
        {"stranger", "expire", "the timers that fired are not those that were to"},
        {"after-stop", "stop", "timers fired after they had been stopped"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char command[512];
        (void)snprintf(
            command, sizeof command,
            BENCH
            " -a faulty-%s --plugin " TL_BINARY_DIR "/tests/faulty-%s.so "
            "-n 1000 '--benchmark_filter=^%s/faulty[^/]*/n:1000/manual' --benchmark_min_time=0 "
            "--benchmark_format=json 2>" TL_BINARY_DIR "/bench.err",
            wrong[i].fault, wrong[i].fault, wrong[i].row);
        char *text = NULL;
        int status = run(command, &text);
        if (status != 1 || strstr(text, wrong[i].complaint) == NULL) {
            fail_msg("%s: exit status %d, and\n%s", wrong[i].fault, status, text);
        }
        assert_null(strstr(text, "ns_per_op"));
        free(text);
    }
}

#define REFUSED TL_BINARY_DIR "/refused.json"

static void what_cannot_be_followed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        const char *complaint;
    } wrong[] = {
        {"-a ordred-list", "did you mean 'ordered-list'?"},
        {"-a ordered-list:slots=3", "has no options"},
        {"--algorithm", "requires an argument"},
        {"-n 1k,,2k", "--n takes at most 32 whole numbers from 10 to "},
        {"-n 9", "--n takes at most 32 whole numbers from 10 to "},
        {"--n -1000", "--n takes at most 32 whole numbers from 10 to "},
        {"-n 1000000000000m", "--n takes at most 32 whole numbers from 10 to "},
        {"--patience never", "--patience takes seconds from 0 to 86400, or a time as in"},
        {"--patience 1 --patience 2", "--patience is given twice"},
        {"--plugin", "option '--plugin' requires an argument"},
        {"--plugin no-such.so", "no-such.so"},
        {"--plugin " TL_BINARY_DIR "/tests/faulty-late.so,null", "the name 'null' is taken"},
        {"--frobnicate", "timerlab-bench: unrecognized option '--frobnicate'"},
        {"stray", "timerlab-bench: Too many arguments"},
        {"-a \"$(printf '\\033')[31m\"", "there is no structure '\\x1B[31m'"},
        {"--benchmark_stray", "unrecognized option '--benchmark_stray'"},
        {"--benchmark_out=" REFUSED, "use --benchmark_format=json and standard output"},
        {"--benchmark_format=toml", "has a value that it does not take"},
        {"--benchmark_min_time=soon", "--benchmark_min_time takes seconds from 0"},
        {"--benchmark_repetitions=some", "--benchmark_repetitions takes a whole number from 1"},
        {"--benchmark_repetitions=0", "--benchmark_repetitions takes a whole number from 1"},
        {"--benchmark_repetitions=-1", "--benchmark_repetitions takes a whole number from 1"},
        {"--benchmark_filter=nowhere", "no row is selected"},
        {"--order=sideways",
         "--order takes random | forward | backward | hot | zipf, not 'sideways'"},
        {"--tick=1s", "--tick takes 1ms | 1ns | 1us | 100ms, not '1s'"},
        {"--earlier=2", "--earlier takes a share from 0 to 1, not '2'"},
        {"--step=0", "--step takes a whole number from 1 to 1000, not '0'"},
        {"--record=12", "--record takes a whole number from 0 to 4096, a multiple of 8, not '12'"},
        {"--node=inside", "--node takes out | in | able, not 'inside'"},
        {"--commit=0", "--commit takes a whole number from 1 to 100000, not '0'"},
        {"-a kv-wheel:path=here", "each time with files of its own"},
        {"-a 'durable(nobody)'", "there is no structure 'nobody'"},
        {"-a 'durable(binary-heap'", "write a front end's structure in parentheses"},
        {"-a 'durable(null)'", "null"},
        {"-a binary-heap,binary-heap", "binary-heap is named twice"},
        {"--step=10 --step=100", "--step is given twice"},
        {"--step=10 --benchmark_filter=^start/", "no row is selected"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char command[512];
        /* Standard error into the pipe; standard output must be empty. */
        (void)snprintf(command, sizeof command, BENCH " %s 2>&1 >" TL_BINARY_DIR "/bench.out",
                       wrong[i].arguments);
        char *text = NULL;
        assert_int_equal(run(command, &text), 2);
        assert_non_null(strstr(text, wrong[i].complaint));
        free(text);
        assert_int_equal(run("cat " TL_BINARY_DIR "/bench.out", &text), 0);
        assert_string_equal(text, "");
        free(text);
    }
    assert_int_not_equal(access(REFUSED, F_OK), 0);
}

static void help_lists_suites_and_both_kinds_of_flags(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(run(BENCH " --help", &text), 0);
    assert_non_null(strstr(text, "--algorithm"));
    assert_non_null(strstr(text, "--benchmark_filter"));
    for (size_t i = 0; i < suite_count; i++) {
        assert_non_null(strstr(text, suites[i]));
    }
    free(text);
    assert_int_equal(run(BENCH " -V", &text), 0);
    assert_int_equal(strncmp(text, "timerlab-bench ", strlen("timerlab-bench ")), 0);
    free(text);
}

#define FOLDER TL_BINARY_DIR "/bench-results"

/* Runs rows in rounds, with their results in FOLDER. Returns the table; to be freed. */
static char *run_rounds(const char *flags)
{
    char command[512];
    char *text = NULL;
    (void)snprintf(command, sizeof command,
                   "rm -rf " FOLDER "; " BENCH " -a binary-heap,simple-wheel -n 100,200 "
                   "--benchmark_min_time=0 -o " FOLDER " %s 2>" TL_BINARY_DIR "/bench.err",
                   flags);
    assert_int_equal(run(command, &text), 0);
    return text;
}

static json_t *read_results(void)
{
    json_t *report = json_load_file(FOLDER "/bench.json", 0, NULL);
    assert_non_null(report);
    return report;
}

/* Each row has as many samples as there were rounds; the table has one line for each structure. */
static void rounds_become_rows_and_a_table(void **state)
{
    (void)state;
    char *text = run_rounds("'--benchmark_filter=^(start|hold)/' --plain-rows "
                            "--benchmark_repetitions=6");
    assert_non_null(strstr(text, "  n=200 "));
    assert_non_null(strstr(text, "start, ns per start (the loop alone takes "));
    assert_non_null(strstr(text, "hold, ns per expiry with its start (the loop alone takes "));
    assert_null(strstr(text, "  null "));
    size_t lines = 0;
    for (const char *at = text; (at = strstr(at, "  binary-heap ")) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 2);
    free(text);
    json_t *report = read_results();
    json_t *rows = json_object_get(report, "rows");
    assert_int_equal(json_array_size(rows), 12); /* with the structure that fires nothing */
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        const json_t *samples = json_object_get(json_object_get(row, "samples"), "ns_per_op");
        assert_int_equal(json_array_size(samples), 6);
        assert_true(number(row, "runs") == 6);
        assert_true(number(row, "ns_per_op") > 0);
        assert_true(number(row, "null_ns") > 0);
    }
    json_decref(report);
    char *csv = NULL;
    assert_int_equal(run("wc -l <" FOLDER "/bench.csv", &csv), 0);
    assert_int_equal(strtol(csv, NULL, 10), 13);
    free(csv);
    assert_int_equal(run(TL_BINARY_DIR "/timerlab compare " FOLDER " " FOLDER, &text), 0);
    assert_non_null(strstr(text, "hold/n:100"));
    free(text);
}

/* What Google Benchmark runs gives the same rows. */
static void google_benchmark_gives_the_same_rows(void **state)
{
    (void)state;
    char *names[2] = {NULL, NULL};
    for (int plain = 0; plain < 2; plain++) {
        char *text = run_rounds(plain != 0 ? "'--benchmark_filter=^(start|far-jump|limit)/' --plain"
                                           : "'--benchmark_filter=^(start|far-jump|limit)/'");
        assert_int_equal(strstr(text, "Benchmark ") != NULL, plain != 0);
        free(text);
        assert_int_equal(run("cut -d, -f1-6 " FOLDER "/bench.csv | sort", &names[plain]), 0);
    }
    assert_string_equal(names[0], names[1]);
    assert_non_null(strstr(names[0], "far-jump/n:10/jump:1000000,binary-heap,,ok,"));
    free(names[0]);
    free(names[1]);
}

/* A fault in a round fails the row. */
static void a_fault_in_a_round_fails_the_row(void **state)
{
    (void)state;
    static const char *const faults[] = {"early", "never"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       BENCH " -a faulty-%s --plugin " TL_BINARY_DIR "/tests/faulty-%s.so "
                             "-n 1000 '--benchmark_filter=^hold/' --benchmark_min_time=0 "
                             "--plain-rows 2>" TL_BINARY_DIR "/bench.err",
                       faults[i], faults[i]);
        char *text = NULL;
        assert_int_equal(run(command, &text), 1);
        assert_non_null(strstr(text, "FAILED: faulty-"));
        assert_non_null(strstr(text, ": hold/n:1000: "));
        free(text);
    }
}

/* Rules for the sources: one file of C++, apart from examples for users in docs/, and no
 * structure's name in bench. */
static void one_file_is_cpp_and_none_names_a_structure(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(run("find " TL_SOURCE_DIR
                         " \\( -name .git -o -name build -o -name results -o -name docs \\) "
                         "-prune -o -type f -regex '.*\\.\\(cc\\|cpp\\|cxx\\|hpp\\|hh\\)' -print",
                         &text),
                     0);
    assert_string_equal(text, TL_SOURCE_DIR "/bench/harness/bench_shim.cc\n");
    free(text);
    for (size_t i = 0; i < tl_registry_count(); i++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       "grep -rnw -e '%s' " TL_SOURCE_DIR "/bench | grep -v /dev/null",
                       tl_registry_at(i)->timed->name);
        (void)run(command, &text);
        assert_string_equal(text, "");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_suite_says_what_it_measures_and_why),
        cmocka_unit_test(the_list_has_every_suite_structure_and_size),
        cmocka_unit_test(a_selection_keeps_its_floor_and_its_options),
        cmocka_unit_test(a_reduced_run_measures_every_row),
        cmocka_unit_test(what_is_too_slow_is_left_out_and_says_so),
        cmocka_unit_test(a_structure_that_refuses_a_start_is_left_out_and_says_so),
        cmocka_unit_test(every_stream_fires_what_it_must_on_every_axis),
        cmocka_unit_test(what_is_durable_stands_beside_its_floor),
        cmocka_unit_test(a_structure_that_is_wrong_fails_its_row),
        cmocka_unit_test(what_cannot_be_followed_is_refused),
        cmocka_unit_test(help_lists_suites_and_both_kinds_of_flags),
        cmocka_unit_test(rounds_become_rows_and_a_table),
        cmocka_unit_test(google_benchmark_gives_the_same_rows),
        cmocka_unit_test(a_fault_in_a_round_fails_the_row),
        cmocka_unit_test(one_file_is_cpp_and_none_names_a_structure),
    };
    return cmocka_run_group_tests(tests, read_suites, NULL);
}
