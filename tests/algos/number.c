/* The reader of numbers on command lines: accepted and refused texts, and their values. */
#include "number.h"

#include "test.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static const struct tl_number_form whole = {.to = UINT64_MAX};
static const struct tl_number_form small = {.from = 2, .to = 1000};
static const struct tl_number_form bytes = {.kind = TL_NUMBER_BYTES};
static const struct tl_number_form real = {.kind = TL_NUMBER_REAL, .least = 0, .most = DBL_MAX};
static const struct tl_number_form any_sign = {.kind = TL_NUMBER_REAL, .least = -10, .most = 10};
static const struct tl_number_form percent = {
    .kind = TL_NUMBER_PERCENT, .least = 50, .most = 99.99};
static const struct tl_number_form share = {.kind = TL_NUMBER_SHARE};
static const struct tl_number_form seconds = {
    .kind = TL_NUMBER_TIME, .unit_ns = 1e9, .least = 1e-3, .most = 1e6};
static const struct tl_number_form with_unit = {.kind = TL_NUMBER_TIME, .most = 1e18};

static void what_is_a_number_is_read(void **state)
{
    (void)state;
    static const struct {
        const struct tl_number_form *form;
        const char *text;
        uint64_t whole;
        double real;
    } rows[] = {
        {&whole, "0", 0, 0},
        {&whole, "007", 7, 0},
        {&whole, "250k", 250000, 0},
        {&whole, "2m", 2000000, 0},
        {&whole, "2M", 2000000, 0},
        {&whole, "3g", UINT64_C(3000000000), 0},
        {&whole, "3G", UINT64_C(3000000000), 0},
        {&whole, "4Ki", 4096, 0},
        {&whole, "1Mi", 1048576, 0},
        {&whole, "1Gi", 1073741824, 0},
        {&whole, "1e9", UINT64_C(1000000000), 0},
        {&whole, "1E3", 1000, 0},
        {&whole, "0e9999999999", 0, 0},
        {&whole, "18446744073709551615", UINT64_MAX, 0},
        {&small, "2", 2, 0},
        {&small, "1k", 1000, 0},
        {&bytes, "1", 1, 0},
        {&bytes, "4096", 4096, 0},
        {&bytes, "800M", UINT64_C(838860800), 0},
        {&bytes, "1.5G", UINT64_C(1610612736), 0},
        {&bytes, "64MB", UINT64_C(67108864), 0},
        {&bytes, "64MiB", UINT64_C(67108864), 0},
        {&bytes, "4KB", 4096, 0},
        {&bytes, "512B", 512, 0},
        {&bytes, "1Ki", 1024, 0},
        {&real, "0.25", 0, 0.25},
        {&real, ".5", 0, 0.5},
        {&real, "5.", 0, 5},
        {&real, "1e-3", 0, 1e-3},
        {&real, "1e+3", 0, 1e3},
        {&real, "1.5k", 0, 1500},
        {&real, "0.1000000000000000000000000001", 0, 0.1},
        {&any_sign, "-2.5", 0, -2.5},
        {&percent, "95", 0, 0.95},
        {&percent, "99.5%", 0, 0.995},
        {&share, "0.01", 0, 0.01},
        {&share, "1%", 0, 0.01},
        {&share, "1", 0, 1},
        {&seconds, "0.1", 0, 0.1},
        {&seconds, "30", 0, 30},
        {&seconds, "5ms", 0, 0.005},
        {&seconds, "2000us", 0, 0.002},
        {&seconds, "1.5s", 0, 1.5},
        {&seconds, "2min", 0, 120},
        {&seconds, "1h", 0, 3600},
        {&with_unit, "800ns", 0, 800},
        {&with_unit, "0.5us", 0, 500},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        union tl_number number = {0};
        if (!tl_number_read(rows[i].form, rows[i].text, &number)) {
            fail_msg("'%s' is refused", rows[i].text);
        }
        if (rows[i].form->kind <= TL_NUMBER_BYTES) {
            assert_int_equal(number.whole, rows[i].whole);
        } else if (number.real < rows[i].real || number.real > rows[i].real) {
            fail_msg("'%s' is read as %.17g, not %.17g", rows[i].text, number.real, rows[i].real);
        }
    }
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const struct {
        const struct tl_number_form *form;
        const char *text;
    } rows[] = {
        {&whole, ""},        {&whole, " 3"},
        {&whole, "3 "},      {&whole, "+3"},
        {&whole, "-1"},      {&whole, "-0"},
        {&whole, "0x10"},    {&whole, "1.5"},
        {&whole, "1.0"},     {&whole, "1.5k"},
        {&whole, "1e400"},   {&whole, "1e-3"},
        {&whole, "3x"},      {&whole, "k"},
        {&whole, "1K"},      {&whole, "1kk"},
        {&whole, "1ki"},     {&whole, "1,2"},
        {&whole, "1e"},      {&whole, "inf"},
        {&whole, "nan"},     {&whole, "18446744073709551616"},
        {&whole, "2e19"},    {&whole, "18446744073709552k"},
        {&small, "1"},       {&small, "1001"},
        {&small, "2k"},      {&bytes, "0"},
        {&bytes, "0.5"},     {&bytes, "1.5"},
        {&bytes, "4k"},      {&bytes, "4611686018427387904"},
        {&bytes, "1e40G"},   {&bytes, "-1K"},
        {&real, "."},        {&real, ".e3"},
        {&real, "1e400"},    {&real, "-0.5"},
        {&real, "inf"},      {&real, "nan"},
        {&real, "0x1p3"},    {&real, "1..2"},
        {&any_sign, "-11"},  {&any_sign, "--1"},
        {&any_sign, "-"},    {&percent, "49"},
        {&percent, "5 %"},   {&percent, "60%%"},
        {&share, "1.01"},    {&share, "101%"},
        {&share, "-1%"},     {&seconds, "1m"},
        {&seconds, "1k"},    {&seconds, "0"},
        {&seconds, "999us"}, {&seconds, "5 ms"},
        {&seconds, "1e7"},   {&seconds, "300h"},
        {&with_unit, "800"}, {&with_unit, "-1s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        union tl_number number = {.whole = 42};
        if (tl_number_read(rows[i].form, rows[i].text, &number)) {
            fail_msg("'%s' is taken", rows[i].text);
        }
        assert_int_equal(number.whole, 42);
    }
}

static void lists_and_ranges(void **state)
{
    (void)state;
    static const struct tl_number_form list = {.from = 1, .to = 9000, .list_max = 3};
    static const struct tl_number_form ids = {.to = 100, .list_max = 3, .dash = '-'};
    static const struct tl_number_form window = {.to = 10000, .list_max = 1, .dash = ':'};
    static const struct {
        const struct tl_number_form *form;
        const char *text;
        size_t count; /* 0: refused */
        struct tl_range ranges[3];
    } rows[] = {
        {&list, "7", 1, {{7, 7}}},
        {&list, "1,2k,3", 3, {{1, 1}, {2000, 2000}, {3, 3}}},
        {&list, "1,2,3,4", 0, {{0}}},
        {&list, "", 0, {{0}}},
        {&list, "1,", 0, {{0}}},
        {&list, ",1", 0, {{0}}},
        {&list, "1,,2", 0, {{0}}},
        {&list, "1, 2", 0, {{0}}},
        {&list, "1-2", 0, {{0}}},
        {&list, "0,1", 0, {{0}}},
        {&ids, "3,7-9", 2, {{3, 3}, {7, 9}}},
        {&ids, "0-0,100", 2, {{0, 0}, {100, 100}}},
        {&ids, "9-7", 0, {{0}}},
        {&ids, "7-", 0, {{0}}},
        {&ids, "-7", 0, {{0}}},
        {&ids, "7--9", 0, {{0}}},
        {&ids, "7-8-9", 0, {{0}}},
        {&ids, "7-101", 0, {{0}}},
        {&window, "5:6k", 1, {{5, 6000}}},
        {&window, "5", 1, {{5, 5}}},
        {&window, "5:4", 0, {{0}}},
        {&window, "5:6,7:8", 0, {{0}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tl_range ranges[3];
        size_t count = tl_ranges_read(rows[i].form, rows[i].text, ranges);
        if (count != rows[i].count) {
            fail_msg("'%s' is %zu ranges, not %zu", rows[i].text, count, rows[i].count);
        }
        assert_memory_equal(ranges, rows[i].ranges, count * sizeof ranges[0]);
    }
}

static void refusals_name_option_value_and_what_is_taken(void **state)
{
    (void)state;
    static const struct tl_number_form window = {
        .to = 99, .list_max = 1, .dash = ':', .example = "5:6"};
    static const struct tl_number_form list = {.to = 99, .list_max = 4, .example = "1,2"};
    static const struct tl_number_form ticks = {
        .kind = TL_NUMBER_TIME, .unit_ns = 1e6, .least = 1e-3, .most = 1e6};
    static const struct {
        const struct tl_number_form *form;
        const char *sentence;
    } rows[] = {
        {&small, "--it takes a whole number from 2 to 1000, not '3x'"},
        {&bytes, "--it takes bytes, as in 64MB or 4G, not '3x'"},
        {&any_sign, "--it takes a number from -10 to 10, not '3x'"},
        {&percent, "--it takes percent from 50 to 99.99, as in 5%, not '3x'"},
        {&share, "--it takes a share from 0 to 1, as in 0.01 or 1%, not '3x'"},
        {&seconds,
         "--it takes seconds from 0.001 to 1000000, or a time as in 250us or 2min, not '3x'"},
        {&ticks,
         "--it takes milliseconds from 0.001 to 1000000, or a time as in 250us or 2min, not '3x'"},
        {&window, "--it takes whole numbers from 0 to 99, as in 5:6, not '3x'"},
        {&list, "--it takes at most 4 whole numbers from 0 to 99, as in 1,2, not '3x'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char why[256];
        assert_false(tl_number_refuse(rows[i].form, "--it", "3x", why, sizeof why));
        assert_string_equal(why, rows[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_a_number_is_read),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(refusals_name_option_value_and_what_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
