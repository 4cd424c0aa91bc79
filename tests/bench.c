/* timerlab-bench and scripts/bench-to-csv, run as programs. Nothing here depends on a time. */
#include "registry.h"

#include "test.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define BENCH TL_BINARY_DIR "/bench/timerlab-bench"

static const char *const operations[] = {"start",      "restart",     "stop", "expire",
                                         "tick_empty", "tick_loaded", "next"};

/* Runs a shell command; returns its exit status, and its standard output in *output. */
static int run(const char *command, char **output)
{
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): a shell is what is wanted */
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

/* Whether a row belongs to a structure: `next` needs the capability. */
static bool has_row(const struct tl_algo *algo, const char *operation)
{
    return strcmp(operation, "next") != 0 || (algo->capabilities & TL_CAP_NEXT) != 0;
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

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void the_list_is_operations_times_registry(void **state)
{
    (void)state;
    static const int sizes[] = {1000, 10000, 100000, 1000000};
    char *list = NULL;
    assert_int_equal(run(BENCH " --benchmark_list_tests", &list), 0);
    size_t expected = 0;
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
        for (size_t i = 0; i < tl_registry_count(); i++) {
            const struct tl_algo *algo = tl_registry_at(i)->timed;
            for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                char line[256];
                (void)snprintf(line, sizeof line, "%s/%s/%d/manual_time", operations[o], algo->name,
                               sizes[n]);
                assert_int_equal(has_line(list, line), has_row(algo, operations[o]));
                expected += has_row(algo, operations[o]);
            }
        }
    }
    assert_int_equal(count_lines(list), expected);
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
    int64_t value = option->min != option->default_value ? option->min : option->min + 1;
    char command[512];
    char line[256];
    (void)snprintf(command, sizeof command,
                   BENCH " --algo %s:%s=%lld --n=2k,2000 --benchmark_list_tests", chosen->name,
                   option->name, (long long)value);
    char *list = NULL;
    assert_int_equal(run(command, &list), 0);
    char word[64];
    (void)tl_option_format(option, value, word, sizeof word);
    (void)snprintf(line, sizeof line, "start/%s:%s=%s/2000/manual_time", chosen->name, option->name,
                   word);
    assert_true(has_line(list, line));
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        (void)snprintf(line, sizeof line, "start/%s/2000/manual_time", algo->name);
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

static void a_reduced_run_measures_every_row(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(run(BENCH " --n 1000 --benchmark_min_time=0 --benchmark_format=json "
                               "2>" TL_BINARY_DIR "/bench.err",
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
    const json_t *benchmarks = json_object_get(report, "benchmarks");
    size_t expected = 0;
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
        for (size_t i = 0; i < tl_registry_count(); i++) {
            const struct tl_algo *algo = tl_registry_at(i)->timed;
            if (!has_row(algo, operations[o])) {
                continue;
            }
            expected++;
            char name[256];
            (void)snprintf(name, sizeof name, "%s/%s/1000/manual_time", operations[o], algo->name);
            const json_t *row = find_row(benchmarks, name);
            assert_non_null(row);
            if (!test_is_available(algo)) {
                assert_non_null(strstr(json_string_value(json_object_get(row, "error_message")),
                                       "left out: a library"));
                continue;
            }
            assert_null(json_object_get(row, "error_occurred"));
            assert_true(number(row, "ns_per_op") > 0);
            assert_true(number(row, "items_per_second") > 0);
            assert_true(number(row, "bytes_per_timer") > 0);
            assert_true(number(row, "batches") == 1);
            double product = number(row, "ns_per_op") * number(row, "items_per_second");
            assert_true(product > 0.99e9 && product < 1.01e9);
            const json_t *label = json_object_get(row, "label");
            if ((algo->capabilities & TL_CAP_SLOW) != 0) {
                assert_non_null(strstr(json_string_value(label), "declares itself slow"));
                continue;
            }
            bool marked = strcmp(operations[o], "expire") == 0 &&
                          (algo->capabilities & TL_CAP_FIRES_NOTHING) != 0;
            assert_int_equal(label != NULL, marked);
        }
    }
    assert_int_equal(json_array_size(benchmarks), expected);
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
                       BENCH " --n 10001 --benchmark_filter=/%s/ --benchmark_min_time=0 "
                             "--benchmark_format=json 2>" TL_BINARY_DIR "/bench.err",
                       algo->name);
        char *text = NULL;
        assert_int_equal(run(command, &text), 0);
        assert_non_null(strstr(text, "left out: the structure declares itself slow"));
        assert_null(strstr(text, "ns_per_op"));
        free(text);
    }
}

/* A deadline beyond what a structure takes is an error of its rows, and of the run. */
static void a_structure_that_refuses_a_start_fails_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if ((algo->capabilities & TL_CAP_UNLIMITED) != 0) {
            continue;
        }
        const struct tl_option *option = &algo->options[0];
        char command[512];
        (void)snprintf(command, sizeof command,
                       BENCH " --algo %s:%s=%" PRId64 " --n 1000 --benchmark_filter=^start/%s "
                             "--benchmark_min_time=0 --benchmark_format=json "
                             "2>" TL_BINARY_DIR "/bench.err",
                       algo->name, option->name, option->min + 10, algo->name);
        char *text = NULL;
        assert_int_equal(run(command, &text), 1);
        assert_non_null(strstr(text, "TL_ERR_HORIZON"));
        free(text);
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
        {"early", "expire", "the ticks at which timers fired"},
        {"late", "expire", "timers fired"},
        {"never", "expire", "timers fired"},
        {"twice", "expire", "the timers that fired are not those that were started"},
        {"stranger", "expire", "the timers that fired are not those that were started"},
        {"after-stop", "stop", "timers fired after they had been stopped"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       BENCH " --algo faulty-%s --plugin " TL_BINARY_DIR "/tests/faulty-%s.so "
                             "--n 1000 --benchmark_filter=^%s/faulty --benchmark_min_time=0 "
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

static void what_cannot_be_followed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        const char *complaint;
    } wrong[] = {
        {"--algo ordred-list", "did you mean 'ordered-list'?"},
        {"--algo ordered-list:slots=3", "has no options"},
        {"--algo", "takes the name of a structure"},
        {"--n 1k,,2k", "takes numbers from"},
        {"--n 99", "takes numbers from"},
        {"--n -1000", "takes numbers from"},
        {"--n 1000000000000m", "takes numbers from"},
        {"--plugin", "timerlab-bench: "},
        {"--plugin no-such.so", "no-such.so"},
        {"--plugin " TL_BINARY_DIR "/tests/faulty-late.so,null", "the name 'null' is taken"},
        {"--frobnicate", "--frobnicate"},
        {"stray", "stray"},
        {"--benchmark_format=toml", "has a value that it does not take"},
        {"--benchmark_min_time=soon", "takes seconds"},
        {"--benchmark_repetitions=some", "--benchmark_repetitions"},
        {"--benchmark_filter=nowhere", "no row is selected"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char command[512];
        /* Standard error into the pipe; what comes on standard output must be nothing. */
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
}

static void help_lists_structures_operations_and_both_kinds_of_flags(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(run(BENCH " --help", &text), 0);
    assert_non_null(strstr(text, "--algo"));
    assert_non_null(strstr(text, "--benchmark_filter"));
    for (size_t i = 0; i < tl_registry_count(); i++) {
        assert_non_null(strstr(text, tl_registry_at(i)->timed->name));
    }
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++) {
        assert_non_null(strstr(text, operations[o]));
    }
    free(text);
}

#define CSV TL_SOURCE_DIR "/scripts/bench-to-csv "

static void repetitions_become_medians(void **state)
{
    (void)state;
    static const char path[] = TL_BINARY_DIR "/bench-to-csv.json";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    static const double ns[] = {10, 30, 11, 12, 10.5};
    (void)fputs("{\"context\":{},\"benchmarks\":[", file);
    (void)fputs("{\"run_name\":\"stop/b/20/manual_time\",\"run_type\":\"iteration\","
                "\"family_index\":1,\"error_occurred\":true,\"error_message\":\"too "
                "\\\"slow\\\", so\"},",
                file);
    for (size_t i = 0; i < sizeof ns / sizeof ns[0]; i++) {
        (void)fprintf(file,
                      "{\"run_name\":\"start/a:x=1/20/manual_time\",\"run_type\":\"iteration\","
                      "\"family_index\":0,\"ns_per_op\":%g,\"items_per_second\":%g,"
                      "\"bytes_per_timer\":24.125},",
                      ns[i], 1e9 / ns[i]);
    }
    (void)fputs("{\"run_name\":\"start/a:x=1/20/manual_time\",\"run_type\":\"aggregate\","
                "\"family_index\":0,\"ns_per_op\":99}]}\n",
                file);
    assert_int_equal(fclose(file), 0);
    char *text = NULL;
    assert_int_equal(run(CSV TL_BINARY_DIR "/bench-to-csv.json", &text), 0);
    assert_string_equal(
        text, "op,algo,n,ns_per_op,ns_per_op_mad,items_per_second,bytes_per_timer,runs,error\n"
              "start,a:x=1,20,11,1,90909100,24.125,5,\n"
              "stop,b,20,,,,,0,\"too \"\"slow\"\", so\"\n");
    free(text);
    assert_int_equal(run(CSV "2>&1", &text), 2);
    free(text);
    assert_int_equal(run("echo '{\"benchmarks\":[]}' >" TL_BINARY_DIR
                         "/bench-to-csv.json; " CSV TL_BINARY_DIR "/bench-to-csv.json 2>&1",
                         &text),
                     1);
    assert_non_null(strstr(text, "only aggregates"));
    free(text);
}

/* The house's rules for the folder: one file of C++ in all, and no structure's name. */
static void one_file_is_cpp_and_none_names_a_structure(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(run("find " TL_SOURCE_DIR
                         " \\( -name .git -o -name build -o -name results \\) "
                         "-prune -o -type f -regex '.*\\.\\(cc\\|cpp\\|cxx\\|hpp\\|hh\\)' -print",
                         &text),
                     0);
    assert_string_equal(text, TL_SOURCE_DIR "/bench/bench_shim.cc\n");
    free(text);
    for (size_t i = 0; i < tl_registry_count(); i++) {
        char command[512];
        (void)snprintf(command, sizeof command, "grep -rnw -e '%s' " TL_SOURCE_DIR "/bench",
                       tl_registry_at(i)->timed->name);
        (void)run(command, &text);
        assert_string_equal(text, "");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_operations_times_registry),
        cmocka_unit_test(a_selection_keeps_its_floor_and_its_options),
        cmocka_unit_test(a_reduced_run_measures_every_row),
        cmocka_unit_test(what_is_too_slow_is_left_out_and_says_so),
        cmocka_unit_test(a_structure_that_refuses_a_start_fails_its_row),
        cmocka_unit_test(a_structure_that_is_wrong_fails_its_row),
        cmocka_unit_test(what_cannot_be_followed_is_refused),
        cmocka_unit_test(help_lists_structures_operations_and_both_kinds_of_flags),
        cmocka_unit_test(repetitions_become_medians),
        cmocka_unit_test(one_file_is_cpp_and_none_names_a_structure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
