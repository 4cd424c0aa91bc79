/* What reports are made of: figures as people read them, strings that grow, tables in CSV. */
#include "csv_table.h"
#include "figures.h"
#include "pool.h"
#include "test.h"
#include "text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void figures_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},         {0.004, "0.00"},        {1, "1.00"},       {9.994, "9.99"},
        {9.996, "10.0"},  {99.94, "99.9"},        {99.96, "100"},    {999.4, "999"},
        {999.6, "1,000"}, {1234567, "1,234,567"}, {-12.34, "-12.3"}, {-1234, "-1,234"},
        {NAN, "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(figure_text(cases[i].value, FIGURE), cases[i].text);
    }
    assert_string_equal(grouped_text(-0.2, FIGURE), "0");
    assert_string_equal(grouped_text(123, FIGURE), "123");
    assert_string_equal(grouped_text(1e40, FIGURE), "1e+40");
    assert_string_equal(grouped_text(INFINITY, FIGURE), "inf");
}

static void figures_have_the_unit_that_suits(void **state)
{
    (void)state;
    assert_string_equal(duration_text(12.34, FIGURE), "12.3 ns");
    assert_string_equal(duration_text(1500, FIGURE), "1.50 µs");
    assert_string_equal(duration_text(2e6, FIGURE), "2.00 ms");
    assert_string_equal(duration_text(3e12, FIGURE), "3,000 s");
    assert_string_equal(duration_text(NAN, FIGURE), "-");
    assert_string_equal(size_text(999, FIGURE), "999 B");
    assert_string_equal(size_text(1000, FIGURE), "1.00 kB");
    assert_string_equal(rate_text(25e6, FIGURE), "25.0 million");
    assert_string_equal(ticks_text(1, FIGURE), "1 tick");
    assert_string_equal(ticks_text(1234, FIGURE), "1,234 ticks");
}

static void figures_are_plain_on_terminals(void **state)
{
    (void)state;
    assert_string_equal(decimal_text(12.345, 1, FIGURE), "12.3");
    assert_string_equal(decimal_text(NAN, 1, FIGURE), "-");
    assert_string_equal(number_text(12, FIGURE), "12");
    assert_string_equal(number_text(12.345, FIGURE), "12.35");
    assert_string_equal(number_text(1234567.25, FIGURE), "1.2346e+06");
    assert_string_equal(number_text(INFINITY, FIGURE), "-");
    assert_string_equal(plain_duration_text(9999, FIGURE), "9999 ns");
    assert_string_equal(plain_duration_text(12345, FIGURE), "12.3 us");
    assert_string_equal(plain_duration_text(12.345e6, FIGURE), "12.3 ms");
}

static void texts_grow(void **state)
{
    (void)state;
    struct pool pool = {0};
    struct text text = {.pool = &pool};
    for (size_t i = 0; i < 3; i++) {
        text_add(&text, "%s%zu", i > 0 ? ", " : "", i);
    }
    assert_string_equal(text_end(&text), "0, 1, 2");
    assert_string_equal(text_end(&text), "");
    for (int i = 0; i < 1000; i++) {
        text_add(&text, "%04d", i);
    }
    const char *long_text = text_end(&text);
    assert_int_equal(strlen(long_text), 4000);
    assert_string_equal(long_text + 3996, "0999");
    assert_string_equal(pool_format(&pool, "%d-%s", 7, "x"), "7-x");
    pool_free(&pool);
}

/* Reads a table of this content. */
static json_t *read_table(const char *content, struct error *error)
{
    char path[] = "/tmp/report_parts-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, content, strlen(content)), strlen(content));
    (void)close(file);
    json_t *rows = csv_table_read(path, error);
    (void)unlink(path);
    return rows;
}

static const char *cell(const json_t *rows, size_t row, const char *column)
{
    return json_string_value(json_object_get(json_array_get(rows, row), column));
}

static void tables_are_read_by_names(void **state)
{
    (void)state;
    struct error error;
    json_t *rows = read_table("a,b\r\n1,\"x, \"\"y\"\"\"\r\n\r\n,\n", &error);
    assert_non_null(rows);
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(cell(rows, 0, "a"), "1");
    assert_string_equal(cell(rows, 0, "b"), "x, \"y\"");
    assert_string_equal(cell(rows, 1, "a"), "");
    assert_string_equal(cell(rows, 1, "b"), "");
    json_decref(rows);
    rows = read_table("", &error);
    assert_non_null(rows);
    assert_int_equal(json_array_size(rows), 0);
    json_decref(rows);
}

static void damaged_tables_are_refused_with_their_line(void **state)
{
    (void)state;
    struct error error;
    assert_null(read_table("a,b\n1,2\n1\n", &error));
    assert_non_null(strstr(error.text, ", line 3: not as many fields"));
    assert_null(read_table("a,b\n1,2\n1,\"2\n", &error));
    assert_non_null(strstr(error.text, ", line 3: a quoted field does not end"));
    char wide[2 * 1001 + 1] = "";
    for (size_t i = 0; i < 1001; i++) {
        strcat(wide, i < 1000 ? "a," : "a");
    }
    assert_null(read_table(wide, &error));
    assert_non_null(strstr(error.text, ", line 1: more than 1000 columns"));
    assert_null(csv_table_read("/nowhere/at.csv", &error));
    assert_non_null(strstr(error.text, "/nowhere/at.csv"));
}

/* The output of a function for a table with a wide number and a name that Markdown would change. */
static void expect_table(void (*write)(const struct text_table *, FILE *), const char *expected)
{
    struct text_table table = {.columns = 3, .right = {false, true, false}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    text_table_add(&table, "name");
    text_table_add(&table, "n");
    text_table_add(&table, "why");
    text_table_add(&table, "a_b");
    text_table_add(&table, "%d", 1234);
    text_table_add(&table, "so");
    write(&table, stream);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, expected);
    free(text);
    text_table_free(&table);
}

static void tables_are_aligned_or_markdown(void **state)
{
    (void)state;
    expect_table(text_table_write, "name     n  why\n"
                                   "a_b   1234  so\n");
    expect_table(text_table_write_markdown, "| name | n | why |\n"
                                            "|---|--:|---|\n"
                                            "| a\\_b | 1234 | so |\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_have_three_digits),
        cmocka_unit_test(figures_have_the_unit_that_suits),
        cmocka_unit_test(figures_are_plain_on_terminals),
        cmocka_unit_test(texts_grow),
        cmocka_unit_test(tables_are_read_by_names),
        cmocka_unit_test(damaged_tables_are_refused_with_their_line),
        cmocka_unit_test(tables_are_aligned_or_markdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
