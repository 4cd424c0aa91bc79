/* Rows that are read back are those that were written; rows of timerlab-bench are completed. */
#include "test.h"

#include "result_set.h"
#include "timerlab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cell c of row r, in a pattern that holds every kind of cell. */
static void fill(struct row *row, const struct row_kind *kind, unsigned r)
{
    for (unsigned c = 0; c < kind->count; c++) {
        char text[64];
        (void)snprintf(text, sizeof text, "text, \"%u\" of %u", c, r);
        if (kind->columns[c].digits < 0) {
            row_set_text(row, c, text);
        } else if (c % 5 == 4) {
            continue;
        } else if (kind->columns[c].digits == 0) {
            row_set_signed(row, c, (int64_t)c - 7);
        } else {
            row_set_real(row, c, c + 0.5);
        }
    }
}

static void assert_same(const struct results *a, const struct results *b,
                        const struct row_kind *kind)
{
    assert_int_equal(a->count, b->count);
    for (size_t r = 0; r < a->count; r++) {
        for (unsigned c = 0; c < kind->count; c++) {
            double left = row_value(&a->rows[r], c);
            double right = row_value(&b->rows[r], c);
            assert_true(left == right || (isnan(left) && isnan(right)));
            assert_string_equal(row_text(&a->rows[r], c), row_text(&b->rows[r], c));
        }
    }
}

static void every_kind_is_read_as_it_was_written(void **state)
{
    static const struct row_kind *const kinds[] = {&replay_kind, &bench_kind,   &fault_kind,
                                                   &work_kind,   &latency_kind, &rank_kind};
    static const char path[] = TL_BINARY_DIR "/rows.csv";
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct results written = {.kind = kinds[k]};
        struct results from_csv = {.kind = kinds[k]};
        struct results from_json = {.kind = kinds[k]};
        struct error error;
        for (unsigned r = 0; r < 3; r++) {
            fill(results_add(&written), kinds[k], r);
        }
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        results_write_csv(&written, file);
        assert_int_equal(fclose(file), 0);
        assert_true(results_read_csv(&from_csv, path, &error));
        assert_same(&written, &from_csv, kinds[k]);
        json_t *rows = results_json_rows(&written);
        assert_true(results_read_rows(&from_json, rows, "here", &error));
        assert_same(&written, &from_json, kinds[k]);
        json_decref(rows);
        results_free(&written);
        results_free(&from_csv);
        results_free(&from_json);
    }
}

static void samples_and_capabilities_are_read(void **state)
{
    (void)state;
    struct results written = {0};
    struct result_set set;
    struct error error;
    static const double ns[] = {3.25, 1.5, 2};
    struct row *row = results_add(&written);
    row_set_key(row, "a.trace", "heap", "");
    row_set_text(row, COL_STATUS, "ok");
    row_set_samples(row, COL_NS_PER_EVENT, ns, 3);
    row->capabilities = TL_CAP_NEXT | TL_CAP_UNLIMITED;
    (void)snprintf(row->trace_checksum, sizeof row->trace_checksum, "0123456789abcdef");
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    json_t *context = json_pack("{s:s}", "cpu", "slow");
    results_write_json(&written, context, stream);
    json_decref(context);
    assert_int_equal(fclose(stream), 0);
    result_set_begin(&set, "set");
    assert_true(result_set_add(&set, "here", text, bytes, &error));
    free(text);
    const struct row *read =
        result_session_find(&set.sessions[0], &replay_kind, "a.trace", "heap", "");
    assert_non_null(read);
    assert_int_equal(read->capabilities, TL_CAP_NEXT | TL_CAP_UNLIMITED);
    assert_string_equal(read->trace_checksum, "0123456789abcdef");
    assert_int_equal(read->samples[COL_NS_PER_EVENT].count, 3);
    assert_memory_equal(read->samples[COL_NS_PER_EVENT].values, ns, sizeof ns);
    assert_true(row_is_ok(read));
    result_set_free(&set);
    results_free(&written);
}

/* A benchmark's name, and its figures in one repetition. */
struct repetition {
    const char *name;
    double ns;
    double longest_ns;
};

/* The CSV of what Google Benchmark reports of these, in a run of timerlab-bench. */
static char *csv_of(const struct repetition *runs, size_t count, const char *more)
{
    struct result_set set;
    struct error error;
    char *json = NULL;
    char *csv = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&json, &bytes);
    assert_non_null(stream);
    (void)fprintf(stream,
                  "{\"context\":{\"executable\":\"/bin/timerlab-bench\",\"floor\":\"idle\","
                  "\"limit of hold\":\"record-16\",\"limit of hold/record\":\"record-64\"},"
                  "\"benchmarks\":[%s",
                  more);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stream,
                      "%s{\"run_name\":\"%s/manual_time\",\"run_type\":\"iteration\",\"ns_per_op\":"
                      "%g,\"longest_advance_ns\":%g,\"real_time\":2,\"time_unit\":\"us\"}",
                      i > 0 ? "," : "", runs[i].name, runs[i].ns, runs[i].longest_ns);
    }
    (void)fputs("]}", stream);
    assert_int_equal(fclose(stream), 0);
    result_set_begin(&set, "set");
    assert_true(result_set_add(&set, "here", json, bytes, &error));
    stream = open_memstream(&csv, &bytes);
    assert_non_null(stream);
    results_write_csv(&set.sessions[0].results, stream);
    assert_int_equal(fclose(stream), 0);
    free(json);
    result_set_free(&set);
    return csv;
}

static void repetitions_become_medians(void **state)
{
    (void)state;
    static const struct repetition runs[] = {
        {"hold/idle/n:20", 2, 1},
        {"limit/record-16/n:20/of:hold", 5.5, 7},
        {"hold/a:x=1/n:20/step:10/record:64", 4, 1},
        {"limit/record-64/n:20/of:hold", 9, 1},
        {"limit/record-64/n:20/of:hold/step:10/record:64", 8, 1},
        {"hold/a:x=1/n:20", 10, 900},
        {"hold/a:x=1/n:20", 30, 800},
        {"hold/a:x=1/n:20", 11, 700},
        {"hold/a:x=1/n:20", 12, 700},
        {"hold/a:x=1/n:20", 10.5, 700}};
    char *csv = csv_of(runs, sizeof runs / sizeof runs[0],
                       "{\"run_name\":\"stop/b/n:20/manual_time\",\"run_type\":\"iteration\","
                       "\"error_occurred\":true,\"error_message\":\"skipped: too \\\"slow\\\", "
                       "so\"},{\"run_name\":\"hold/a:x=1/n:20/manual_time\",\"run_type\":"
                       "\"aggregate\",\"ns_per_op\":99},");
    const char *lines = strchr(csv, '\n') + 1;
    assert_string_equal(
        lines,
        "stop/n:20,b,,unsupported,stop,20,,,,,,,,,,,,,,,,,,,,,,0,\"too \"\"slow\"\", so\"\n"
        "hold/n:20,idle,,ok,hold,20,2.000,0.000,,2000.000,,,,,,,1,,2.000,1.000,record-16,5.500,"
        "0.364,,,,,1,\n"
        "hold/n:20/step:10/record:64,a,x=1,ok,hold/step:10/record:64,20,4.000,0.000,,2000.000,,,,,,"
        ",1,,,,record-64,8.000,0.500,,,,,1,\n"
        "hold/n:20,a,x=1,ok,hold,20,11.000,1.000,,2000.000,,,,,,,700,,2.000,5.500,record-16,5.500,"
        "2.000,,,,,5,\n");
    free(csv);
}

static void rows_without_a_structure_are_refused(void **state)
{
    (void)state;
    struct results results = {0};
    struct error error;
    json_t *rows = json_pack("[{s:s, s:s}, {s:s}]", "trace", "a", "algo", "b", "trace", "a");
    assert_false(results_read_rows(&results, rows, "here.json", &error));
    assert_string_equal(error.text,
                        "here.json: row 2 has no trace or no algo: not results of timerlab");
    json_decref(rows);
    results_free(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read_as_it_was_written),
        cmocka_unit_test(samples_and_capabilities_are_read),
        cmocka_unit_test(repetitions_become_medians),
        cmocka_unit_test(rows_without_a_structure_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
