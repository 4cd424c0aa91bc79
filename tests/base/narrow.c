/*
 * Output to a terminal: no line is wider, no word is cut, and omitted columns are reported. Output
 * to a file is complete.
 */
#include "test.h"

#include "terminal.h"
#include "text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void texts_break_between_words(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    text_wrap(stream, "one two three\n\n  four äöü five\nunbreakable! six\nless: 1.5 % of", 10, 0,
              2);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(
        text, "one two\n  three\n\n  four äöü\n  five\nunbreakable!\n  six\nless:\n  1.5 % of");
    free(text);
}

/* A table on a page of that width. */
static char *table_at(size_t width)
{
    static const char *const cells[] = {
        "name", "n",    "zero", "m",  "what it is",
        "a",    "1234", "0",    "12", "something that is told at length",
        "b",    "5",    "-",    "3",  "short"};
    struct text_table table = {.columns = 5, .right = {false, true, true, true, false}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        text_table_add(&table, "%s", cells[i]);
    }
    struct text_page page = text_page_begin(stream);
    assert_int_equal(page.width, 0);
    page.width = width;
    text_table_write_rows(&table, 0, 2, &page);
    text_table_write_last(&table, &page);
    text_page_end(&page);
    text_table_free(&table);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void tables_are_as_wide_as_the_page(void **state)
{
    (void)state;
    char *whole = table_at(0);
    assert_string_equal(whole, "name     n  zero   m  what it is\n"
                               "a     1234     0  12  something that is told at length\n"
                               "b        5     -   3  short\n");
    char *just = table_at(54);
    assert_string_equal(whole, just);
    char *narrow = table_at(53);
    assert_string_equal(narrow, "name     n   m  what it is\n"
                                "a     1234  12  something that is told at length\n"
                                "b        5   3  short\n"
                                "\n"
                                "columns omitted: zero (nothing in them); --wide shows\n  them\n");
    char *narrower = table_at(38);
    assert_string_equal(narrower, "name     n  what it is\n"
                                  "a     1234  something that is told at\n"
                                  "            length\n"
                                  "b        5  short\n"
                                  "\n"
                                  "columns omitted: zero (nothing in\n"
                                  "  them); m (no room); --wide shows\n  them\n");
    free(whole);
    free(just);
    free(narrow);
    free(narrower);
}

static void cells_do_nothing_to_a_terminal(void **state)
{
    (void)state;
    struct text_table table = {.columns = 1};
    text_table_add(&table, "a\x1B[31m\nb\xFF");
    assert_string_equal(table.cells[0], "a\\x1B[31m\\x0Ab\\xFF");
    text_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_break_between_words),
        cmocka_unit_test(tables_are_as_wide_as_the_page),
        cmocka_unit_test(cells_do_nothing_to_a_terminal),
    };
    return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
