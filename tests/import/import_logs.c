/* Importing access logs and tables of events: formats, times, keys, order, odd input; and the parts
 * that they are made of. */
#include "import_run.h"
#include "key_table.h"
#include "log_format.h"
#include "log_time.h"
#include "reorder.h"
#include "timer_model.h"

#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct import_run import_text(const char *format, const char *text,
                                     const char *const *settings)
{
    return import_run(format, temporary_file("recording.txt", text, strlen(text)), settings);
}

static void assert_operations(const char *format, const char *text, const char *const *settings,
                              const char *expected)
{
    struct import_run run = import_text(format, text, settings);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, expected);
    free(operations);
    import_run_free(&run);
}

static void assert_refused(const char *format, const char *text, const char *const *settings,
                           enum import_result result, const char *complaint)
{
    struct import_run run = import_text(format, text, settings);
    assert_int_equal(run.result, result);
    if (strstr(run.error.text, complaint) == NULL) {
        fail_msg("'%s' is not in '%s'", complaint, run.error.text);
    }
    import_run_free(&run);
}

/* --- parts ------------------------------------------------------------------------------------ */

static void keys_are_numbered_in_order(void **state)
{
    (void)state;
    struct key_table *table = key_table_create(sizeof(uint32_t));
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 100000; i++) {
            char key[32];
            size_t length = (size_t)snprintf(key, sizeof key, "key %" PRIu32, i * 7);
            assert_int_equal(key_table_number(table, key, length), i);
            uint32_t *value = key_table_value(table, i);
            assert_int_equal(*value, round * i);
            *value = i;
        }
    }
    assert_int_equal(key_table_number(table, "key 7 ", 6),
                     100000); /* one byte more than a known one */
    assert_int_equal(key_table_number(table, "", 0), 100001);
    assert_int_equal(key_table_number(table, "key", 0), 100001);
    /* Longer keys are cut off. */
    char *longest = calloc(1, KEY_BYTES_MAX + 1);
    assert_non_null(longest);
    assert_int_equal(key_table_number(table, longest, KEY_BYTES_MAX), 100002);
    assert_int_equal(key_table_number(table, longest, KEY_BYTES_MAX + 1), 100002);
    free(longest);
    assert_int_equal(key_table_count(table), 100003);
    key_table_destroy(table);
}

struct taken {
    uint64_t last_ns;
    uint32_t last;
    size_t count;
};

/* Events carry their number of arrival: equal times must keep that order. */
static bool take(void *ctx, uint64_t time_ns, const void *event, struct error *error)
{
    (void)error;
    struct taken *taken = ctx;
    uint32_t number;
    memcpy(&number, event, sizeof number);
    assert_true(time_ns >= taken->last_ns);
    if (taken->count > 0 && time_ns == taken->last_ns) {
        assert_true(number > taken->last);
    }
    taken->last_ns = time_ns;
    taken->last = number;
    taken->count++;
    return true;
}

static void events_are_put_in_order(void **state)
{
    (void)state;
    struct taken taken = {0};
    struct reorder *reorder = reorder_create(1000, sizeof(uint32_t), take, &taken);
    assert_non_null(reorder);
    uint64_t noise = 1;
    for (uint32_t i = 0; i < 200000; i++) {
        noise = noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t back = i % 3 == 0 ? (noise >> 33) % 1000 : 0;
        assert_true(reorder_add(reorder, 5000 + i / 4 - back, &i, NULL));
    }
    assert_int_equal(reorder_counts(reorder)->too_late, 0);
    assert_true(reorder_counts(reorder)->out_of_order > 1000);
    assert_true(reorder_take_until(reorder, UINT64_MAX, NULL));
    assert_int_equal(taken.count, 200000);
    reorder_destroy(reorder);

    taken = (struct taken){0};
    reorder = reorder_create(10, sizeof(uint32_t), take, &taken);
    static const uint64_t times[] = {100, 120, 105, 121, 105, 90, 131, 121};
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(reorder_add(reorder, times[i], &i, NULL));
    }
    /* 105 came after 100 and before 120 had to leave, again when nothing later had left; 90 came
     * after 105 had left. */
    assert_true(reorder_take_until(reorder, UINT64_MAX, NULL));
    assert_int_equal(taken.count, 8);
    assert_int_equal(reorder_counts(reorder)->out_of_order, 4);
    assert_int_equal(reorder_counts(reorder)->too_late, 1);
    assert_int_equal(reorder_counts(reorder)->max_backward_ns, 31);
    assert_int_equal(reorder_counts(reorder)->last_ns, 131);
    reorder_destroy(reorder);
}

static void dates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t seconds; /* 0: not a date */
    } clf[] = {
        {"01/Jul/1995:00:00:01 -0400", 804571201},
        {"17/May/2015:10:05:03 +0000", 1431857103},
        {"17/May/2015:23:59:59 +0530", 1431887399},
        {"29/Feb/2000:00:00:00 +0000", 951782400},
        {"31/dec/1969:23:00:00 -0100", 0},
        {"02/Jan/1970:02:00:01 +0200", 86401},
        {"30/Jun/2015:23:59:60 +0000", 1435708800},
        {"29/Feb/1900:00:00:00 +0000", 0},
        {"29/Feb/2015:00:00:00 +0000", 0},
        {"00/May/2015:10:05:03 +0000", 0},
        {"17/Mai/2015:10:05:03 +0000", 0},
        {"17/May/2015:24:05:03 +0000", 0},
        {"17/May/2015:10:05:03 0000", 0},
        {"17/May/2015:10:05:03 +0000 ", 0},
        {"17/May/2015:10:05:03", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof clf / sizeof clf[0]; i++) {
        uint64_t time_ns = 0;
        bool good = log_time_parse_clf(clf[i].text, strlen(clf[i].text), &time_ns);
        if (good != (clf[i].seconds > 0) || time_ns / 1000000000 != clf[i].seconds) {
            fail_msg("%s: %" PRIu64, clf[i].text, time_ns);
        }
    }
    static const struct {
        const char *text;
        uint64_t time_ns;
    } iso[] = {
        {"2015-05-17T10:05:03+00:00", UINT64_C(1431857103000000000)},
        {"2015-05-17 12:05:03.25+0200", UINT64_C(1431857103250000000)},
        {"2015-05-17T10:05:03.123456789Z", UINT64_C(1431857103123456789)},
        {"2015-05-17 10:05:03,25", UINT64_C(1431857103250000000)},
        {"2015-05-17T10:05:03", UINT64_C(1431857103000000000)},
        {"2015-05-17T10:05", 0},
        {"2015-13-17T10:05:03Z", 0},
        {"2015-05-17T10:05:03ZZ", 0},
        {"2015-05-17T10:05:03+2", 0},
    };
    uint64_t number_ns;
    assert_false(log_time_parse_number("18446744073709551617", 20, 1, &number_ns)); /* 2^64 + 1 */
    assert_false(log_time_parse_number("9223372036.9", 12, 1000000000, &number_ns));
    for (size_t i = 0; i < sizeof iso / sizeof iso[0]; i++) {
        uint64_t time_ns = 0;
        assert_int_equal(log_time_parse_iso(iso[i].text, strlen(iso[i].text), &time_ns),
                         iso[i].time_ns > 0);
        assert_int_equal(time_ns, iso[i].time_ns);
    }
}

static void formats_are_taken_apart(void **state)
{
    (void)state;
    struct error error;
    struct log_format format;
    struct log_value values[LOG_FIELDS_MAX];
    assert_true(log_format_parse(
        &format,
        "%v:%p %h %l %u %t \\\"%r\\\" %>s %O \\\"%{Referer}i\\\" %400,501{User-agent}i %%%D",
        &error));
    static const char *const names[] = {
        "%v", "%p", "%h", "%l", "%u", "%t", "%r", "%s", "%O", "%{Referer}i", "%{User-agent}i",
        "%D"};
    assert_int_equal(format.count, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_string_equal(format.fields[i].name, names[i]);
    }
    static const char line[] =
        "a.org:80 ::1 - John Q. Public [01/Jul/1995:00:00:01 -0400] \"GET /\\\"x\\\" y\" 200 17 "
        "\"-\" agent/1 %250";
    char *copy = malloc(sizeof line - 1); /* to detect a read beyond it */
    assert_non_null(copy);
    memcpy(copy, line, sizeof line - 1);
    assert_true(log_format_match(&format, 12, copy, sizeof line - 1, values));
    assert_memory_equal(values[2].text, "::1", values[2].length);
    assert_memory_equal(values[4].text, "John Q. Public", values[4].length);
    assert_int_equal(values[5].length, 26);
    assert_memory_equal(values[6].text, "GET /\\\"x\\\" y", values[6].length);
    assert_int_equal(values[6].length, 12);
    assert_memory_equal(values[11].text, "250", values[11].length);
    assert_false(log_format_match(&format, 12, copy, 40, values));
    free(copy);
    log_format_release(&format);

    /* A quote after two backslashes ends the value; a line may end as its format does. */
    static const char ends[] = "a \"x\\\\\" [5]";
    assert_true(log_format_parse(&format, "%h \\\"%r\\\" [%D]", &error));
    assert_true(log_format_match(&format, 3, ends, sizeof ends - 1, values));
    assert_int_equal(values[1].length, 3);
    assert_int_equal(values[2].length, 1);
    log_format_release(&format);

    static const char *const wrong[][2] = {
        {"%h%t", "nothing stands between %h and %t"},
        {"%h %{Referer", "the brace is not closed"},
        {"%h %", "no letter of a field"},
        {"$remote_addr $", "not a variable's name"},
        {"${remote_addr", "not a variable's name"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(log_format_parse(&format, wrong[i][0], &error));
        if (strstr(error.text, wrong[i][1]) == NULL) {
            fail_msg("%s", error.text);
        }
        log_format_release(&format);
    }
}

/* --- access logs ------------------------------------------------------------------------------ */

#define SECONDS_TICKS "tick-ns", "1000000000"

static void common_and_combined(void **state)
{
    (void)state;
    static const char log[] =
        "a - - [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1\n"
        "b - Q Q [01/Jul/1995:00:00:01 -0400] \"GET / HTTP/1.0\" 200 1 \"-\" \"agent\"\r\n"
        "\n"
        "a - - [01/Jul/1995:06:00:09 +0159] \"GET [x] HTTP/1.0\" 200 1\n" /* 68 s after the first */
        "b - - [01/Jul/1995:00:01:01 -0400] \"";                          /* exactly 60 s later */
    struct import_run run =
        import_text("access-log", log, (const char *const[]){SECONDS_TICKS, NULL});
    assert_int_equal(run.result, IMPORT_DONE);
    assert_int_equal(import_run_number(&run, "counts.keys"), 2);
    assert_int_equal(import_run_number(&run, "connections"), 2);
    assert_int_equal(import_run_number(&run, "counts.sessions"), 4);
    assert_int_equal(import_run_number(&run, "counts.rearms"), 0);
    assert_int_equal(import_run_number(&run, "counts.blank_lines"), 1);
    assert_int_equal(import_run_number(&run, "counts.max_armed"), 2);
    assert_int_equal(import_run_number(&run, "counts.expired_by_last_event"), 2);
    assert_int_equal(import_run_number(&run, "counts.out_of_order"), 1);
    assert_int_equal(run.header.end_tick, 69);
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "0,0,start,60\n0,1,start,60\n60,1,start,60\n68,0,start,60\n");
    free(operations);
    import_run_free(&run);
}

/* A fraction of a tick is never early. */
/* Very many keys of all lengths, the longest of which do not wait with the others:
 * every line keeps its place. */
static void long_keys_keep_their_order(void **state)
{
    (void)state;
    enum { LINES = 12000, KEYS = 5000 };
    char *log = calloc(LINES, 300);
    char *expected = calloc(LINES, 100);
    assert_non_null(log);
    assert_non_null(expected);
    char *at = log;
    char *operation = expected;
    for (int i = 0; i < LINES; i++) {
        int key = i % KEYS;
        at +=
            sprintf(at, "%d%0*d - - [17/May/2015:%02d:%02d:%02d +0000] \"GET / HTTP/1.1\" 200 1\n",
                    1, 4 + key * 7 % 90, key, i / 3600, i / 60 % 60, i % 60);
        operation += sprintf(operation, "%d,%d,start,30\n", i, key);
    }
    assert_operations("access-log", log, (const char *const[]){SECONDS_TICKS, "idle", "30", NULL},
                      expected);
    free(log);
    free(expected);
}

static void deadlines_are_rounded_up(void **state)
{
    (void)state;
    static const char log[] = "a 100.000000001\n"
                              "b 100.999\n"
                              "a 101.5\n"
                              "b 103\n";
    const char *const settings[] = {"log-format", "$remote_addr $msec", "idle",
                                    "1.5",        SECONDS_TICKS,        NULL};
    assert_operations("access-log", log, settings,
                      "0,0,start,2\n0,1,start,3\n1,0,start,2\n3,1,start,2\n");
}

static void times_have_their_units(void **state)
{
    (void)state;
    static const char *const logs[][2] = {
        {"%h %{sec}t", "a 5\na 7\n"},
        {"%h %{begin:msec}t", "a 5000\na 7000\n"},
        {"%h %{usec}t", "a 5000000\na 7000000\n"},
        {"%h %{end:usec}t", "a 5000000\na 7000000\n"},
        {"$remote_addr $msec", "a 5.000\na 7.000\n"},
        {"$remote_addr $time_iso8601", "a 1970-01-01T00:00:05Z\na 1970-01-01T00:00:07Z\n"},
    };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        assert_operations("access-log", logs[i][1],
                          (const char *const[]){"log-format", logs[i][0], SECONDS_TICKS, NULL},
                          "0,0,start,60\n2,0,start,60\n");
    }
    static const char *const durations[][2] = {
        {"%h %{sec}t %T", "a 5 2\n"},
        {"%h %{sec}t %{ms}T", "a 5 2000\n"},
        {"%h %{sec}t %{us}T", "a 5 2000000\n"},
        {"%h %{sec}t %D", "a 5 2000000\n"},
        {"$remote_addr $msec $request_time", "a 7 2\n"}, /* logged at its end */
    };
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        struct import_run run =
            import_text("access-log", durations[i][1],
                        (const char *const[]){"log-format", durations[i][0], "request-timeout", "3",
                                              SECONDS_TICKS, NULL});
        char *operations = import_run_operations(&run);
        assert_non_null(strstr(operations, "0,1,start,3\n"));
        assert_non_null(strstr(operations, "2,1,stop\n"));
        free(operations);
        import_run_free(&run);
    }
}

static void requests_have_timers_of_their_own(void **state)
{
    (void)state;
    /* nginx writes the line at the request's end: the second began at 3.5 s, the first at 5 s. */
    static const char log[] = "1000006.000 a 1.000\n"
                              "1000006.500 b 3.000\n"
                              "1000007.000 a 0.000\n";
    const char *const nginx[] = {"log-format",
                                 "$msec $remote_addr $request_time",
                                 "request-timeout",
                                 "2",
                                 "tick-ns",
                                 "500000000",
                                 NULL};
    assert_operations("access-log", log, nginx,
                      "0,2,start,4\n"   /* b's request at 3.5 s: will not be over in 2 s */
                      "3,3,start,4\n"   /* a's at 5 s */
                      "5,3,stop\n"      /* is over at 6 s */
                      "5,0,start,120\n" /* and a is idle then */
                      "6,1,start,120\n" /* b's idle timer */
                      "7,3,start,4\n"   /* a request that takes no time */
                      "7,3,stop\n"
                      "7,0,start,120\n"); /* a again */
    /* One that began before the clock did begins with it. */
    assert_operations("access-log", "1.000 a 3.000\n", nginx, "0,1,start,4\n2,0,start,120\n");
    /* Apache writes the time of the request's beginning. */
    static const char apache_log[] = "a [17/May/2015:10:05:03 +0000] 1500000\n";
    const char *const apache[] = {"log-format", "%h %t %D", "request-timeout", "2", "tick-ns",
                                  "500000000",  NULL};
    assert_operations("access-log", apache_log, apache, "0,1,start,4\n0,0,start,120\n3,1,stop\n");
}

static void keys_can_be_chosen(void **state)
{
    (void)state;
    static const char log[] = "a 7 1\nb 7 2\na 8 3\na - 4\n";
    struct import_run run =
        import_text("access-log", log,
                    (const char *const[]){"log-format", "$remote_addr $connection $msec", "key",
                                          "$connection", NULL});
    assert_int_equal(import_run_number(&run, "counts.keys"), 2);
    assert_int_equal(import_run_number(&run, "counts.without_key"), 1);
    import_run_free(&run);
    run = import_text("access-log", log,
                      (const char *const[]){"log-format", "$remote_addr $connection $msec", "key",
                                            "$connection,$remote_addr", NULL});
    assert_int_equal(import_run_number(&run, "counts.keys"), 3);
    assert_int_equal(import_run_number(&run, "counts.without_key"), 1);
    import_run_free(&run);
    assert_refused("access-log", log,
                   (const char *const[]){"log-format", "%h %t", "key", "%u", NULL}, IMPORT_USAGE,
                   "--key %u: the format has no such field, but %h, %t");
    assert_refused("access-log", log, (const char *const[]){"log-format", "%u %t", NULL},
                   IMPORT_USAGE, "say with --key");
    assert_refused("access-log", log, (const char *const[]){"log-format", "%h %u", NULL},
                   IMPORT_USAGE, "has no time");
}

static void odd_logs_are_refused(void **state)
{
    (void)state;
    assert_refused("access-log", "", NULL, IMPORT_FAILED, "is empty: no line to import");
    assert_refused("access-log", "\n\n", NULL, IMPORT_FAILED, "none of its 2 lines is an event");
    assert_refused("access-log", "hello\n", NULL, IMPORT_FAILED,
                   "1 of 1 lines are not understood, first line 1: not of the log's format");
    assert_refused("access-log", "a - - [yesterday] \"\n", NULL, IMPORT_FAILED,
                   "no time where the format has it");
    assert_refused("access-log", " - - [01/Jul/1995:00:00:01 -0400] \"\n", NULL, IMPORT_FAILED,
                   "no client");
    assert_refused(
        "access-log", "x", (const char *const[]){"idle", "0", NULL}, IMPORT_USAGE,
        "--idle takes seconds from 1e-09 to 1e+09, or a time as in 250us or 2min, not '0'");
    assert_refused("access-log", "x", (const char *const[]){"tick-ns", "0", NULL}, IMPORT_USAGE,
                   "--tick-ns takes a whole number from 1 to 1000000000000000000, not '0'");
    assert_refused(
        "access-log", "x", (const char *const[]){"reorder-window", "-1", NULL}, IMPORT_USAGE,
        "--reorder-window takes seconds from 0 to 1e+09, or a time as in 250us or 2min, not '-1'");

    /* Malformed lines are accepted up to a share, and shown. */
    static const char log[] = "a 1\nb 2\nc 3\n\x01 oops\nd 5\n";
    const char *const few[] = {"log-format", "$remote_addr $msec", "max-malformed", "20%", NULL};
    /* Of those that say something. */
    assert_refused("access-log", "a 1\nb 2\n\n\nx\n", few, IMPORT_FAILED,
                   "1 of 5 lines are not understood");
    struct import_run run = import_text("access-log", log, few);
    assert_int_equal(run.result, IMPORT_DONE);
    assert_int_equal(import_run_number(&run, "counts.malformed_lines"), 1);
    assert_non_null(strstr(run.report, "line 4: no time where it should be: \". oops\""));
    import_run_free(&run);
    assert_refused("access-log", log,
                   (const char *const[]){"log-format", "$remote_addr $msec", NULL}, IMPORT_FAILED,
                   "1 of 5 lines");
}

/* More than half of the beginning is no reason to give up a file that may be long. */
static void a_bad_beginning_can_be_made_good(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    for (int i = 0; i < 13000; i++) {
        if (i < 3000) {
            (void)fputs("x\n", stream);
        } else {
            (void)fprintf(stream, "a %d\n", i);
        }
    }
    assert_int_equal(fclose(stream), 0);
    struct import_run run =
        import_text("access-log", text,
                    (const char *const[]){"log-format", "$remote_addr $msec", "max-malformed",
                                          "30%", SECONDS_TICKS, NULL});
    assert_int_equal(run.result, IMPORT_DONE);
    assert_int_equal(import_run_number(&run, "counts.malformed_lines"), 3000);
    import_run_free(&run);
    free(text);
}

static void lines_far_out_of_order(void **state)
{
    (void)state;
    static const char log[] = "a 1000\nb 1500\nc 1400\nf 1750\nd 1100\ne 2000\n";
    const char *const refused[] = {"log-format", "$remote_addr $msec", "reorder-window", "200",
                                   NULL};
    assert_refused("access-log", log, refused, IMPORT_FAILED, "raise --reorder-window");
    /* A share of 0 refuses no sound file. */
    const char *const none[] = {"log-format", "$remote_addr $msec", "max-malformed",
                                "0%",         SECONDS_TICKS,        NULL};
    assert_operations("access-log", "a 0\nb 1\n", none, "0,0,start,60\n1,1,start,60\n");
    const char *const borne[] = {"log-format",     "$remote_addr $msec",
                                 "reorder-window", "200",
                                 "max-malformed",  "50%",
                                 SECONDS_TICKS,    NULL};
    struct import_run run = import_text("access-log", log, borne);
    assert_int_equal(run.result, IMPORT_DONE);
    assert_int_equal(import_run_number(&run, "counts.too_late"), 1);
    assert_non_null(strstr(run.report, "--reorder-window 650 would have put them"));
    import_run_free(&run);
    const char *const enough[] = {"log-format", "$remote_addr $msec", "reorder-window",
                                  "650",        SECONDS_TICKS,        NULL};
    assert_operations("access-log", log, enough,
                      "0,0,start,60\n100,4,start,60\n400,2,start,60\n500,1,start,60\n"
                      "750,3,start,60\n1000,5,start,60\n");
}

/* --- tables ----------------------------------------------------------------------------------- */

static void tables_in_several_shapes(void **state)
{
    (void)state;
    static const char expected[] = "0,0,start,60\n1,1,start,60\n61,0,start,60\n";
    assert_operations("events", "\xef\xbb\xbfts,who,what\n1,a,x\n2,b,x\n\n62.0,a,x\n",
                      (const char *const[]){"key", "who", SECONDS_TICKS, NULL}, expected);
    assert_operations(
        "events", "who\tms\na\t1000\nb\t2000\na\t62000\n",
        (const char *const[]){"key", "who", "time", "ms", "time-unit", "ms", SECONDS_TICKS, NULL},
        expected);
    assert_operations("events", "\"t s\";\"w\"\"ho\"\n\"1\";\"a;\"\"\"\n2;b\n\"62\";\"a;\"\"\"\n",
                      (const char *const[]){"key", "w\"\"ho", "time", "t s", SECONDS_TICKS, NULL},
                      expected);
    assert_operations("events",
                      "#separator \\x09\n#unset_field\t-\n#path\tx\n#fields\tts\tuid\n"
                      "#types\ttime\tstring\n1.5\ta\n2.5\tb\n3\t-\n#close\n"
                      "#fields\tuid\tts\na\t62.5\n",
                      (const char *const[]){"key", "uid", SECONDS_TICKS, NULL},
                      "0,0,start,61\n1,1,start,61\n61,0,start,61\n");
    assert_operations(
        "events", "at,who\n2015-05-17T10:05:03Z,a\n2015-05-17 12:05:04+02:00,b\n",
        (const char *const[]){"key", "who", "time", "at", "time-unit", "iso", SECONDS_TICKS, NULL},
        "0,0,start,60\n1,1,start,60\n");
    /* Several columns: neither a,bc nor ab,c is the other. */
    assert_operations("events", "ts,x,y\n1,a,bc\n2,ab,c\n3,a,bc\n",
                      (const char *const[]){"key", "x,y", SECONDS_TICKS, NULL},
                      "0,0,start,60\n1,1,start,60\n2,0,start,60\n");
}

static void requests_of_a_table(void **state)
{
    (void)state;
    static const char table[] = "ts,rtt_ms,who\n"
                                "10,500,a\n"  /* over at 10.5 s */
                                "11,,b\n"     /* never */
                                "12,2000,c\n" /* just at its deadline: too late */
                                "15,1999,d\n";
    const char *const requests[] = {"duration", "rtt_ms",  "duration-unit", "ms", "timeout",
                                    "2",        "tick-ns", "100000000",     NULL};
    assert_operations("events", table, requests,
                      "0,0,start,20\n5,0,stop\n10,0,start,20\n20,1,start,20\n"
                      /* Neither 0 nor 1, which expired: who fires late has them still. */
                      "50,2,start,20\n69,2,stop\n");
    /* Those that are over at once stop in the order in which they began. */
    const char *const at_once[] = {"duration", "took", SECONDS_TICKS, NULL};
    assert_operations("events", "ts,took\n0,4\n1,3\n2,2\n", at_once,
                      "0,0,start,5\n1,1,start,5\n2,2,start,5\n4,0,stop\n4,1,stop\n4,2,stop\n");
    /* The origin states that no operation is a reaction. */
    struct import_run run = import_text("events", table, requests);
    assert_true(run.header.causes_known);
    assert_int_equal(run.header.reactions, 0);
    assert_non_null(strstr(run.report, "reactions 0: all operations are external"));
    assert_string_equal(json_string_value(json_object_get(run.origin, "causes")),
                        TIMER_MODEL_CAUSES);
    import_run_free(&run);
}

static void operations_of_a_table(void **state)
{
    (void)state;
    static const char table[] = "at,conn,what,ms\n"
                                "1.000,a,start,50\n"
                                "1.010,b:1,arm,100\n"
                                "1.050,a,Fire,\n"
                                "1.050,a,start,50\n" /* by its expiry */
                                "1.060,b:1,cancel,\n"
                                "1.070,b:1,cancel,\n" /* idle */
                                "1.100,a,start,50\n"  /* due, but without an expiry */
                                "1.120,a,restart,10\n"
                                "1.135,a,expired,\n" /* late: it was due at 1.130 */
                                "1.135,a,start,7\n"
                                "1.1405,a,start,10\n" /* due at 1.1505: in tick 151 */
                                "1.151,a,stop,\n";    /* too late */
    const char *const settings[] = {"time",  "at", "key",        "conn", "op", "what",
                                    "delay", "ms", "delay-unit", "ms",   NULL};
    assert_operations("events", table, settings,
                      "0,0,start,50\n10,1,start,100\n50,0,start,50 by 0\n60,1,stop\n"
                      "100,0,start,50\n120,0,start,10\n130,0,start,12 by 0\n140,0,start,11\n");
    struct import_run run = import_text("events", table, settings);
    assert_true(run.header.causes_known);
    assert_int_equal(import_run_number(&run, "counts.reactions"), 2);
    assert_int_equal(import_run_number(&run, "counts.restarts"), 2);
    assert_int_equal(run.header.end_tick, 152);
    assert_int_equal(import_run_number(&run, "counts.stops_of_idle"), 2);
    assert_int_equal(import_run_number(&run, "counts.fired_when_due"), 1);
    assert_int_equal(import_run_number(&run, "counts.fired_late"), 1);
    assert_int_equal(import_run_number(&run, "counts.due_and_not_told"), 1);
    assert_non_null(strstr(run.report, "1 of 2 expiries are a tick or more late, up to 0.005 s"));
    import_run_check_causes(&run);
    import_run_free(&run);
    /* Ticks are whole ones of the clock. */
    assert_operations("events", "ts,k,op,delay\n1.0004,a,start,0.01\n1.0012,b,start,0.01\n",
                      (const char *const[]){"key", "k", "op", "op", NULL},
                      "0,0,start,11\n1,1,start,11\n");
    assert_refused("events", table, (const char *const[]){"op", "what", NULL}, IMPORT_USAGE,
                   "--key is needed");
    assert_refused("events", table, (const char *const[]){"key", "conn", "delay", "ms", NULL},
                   IMPORT_USAGE, "--delay, --delay-unit and --slack belong to --op");
    /* Slack in the delays' unit, cut to whole ticks; what repeats keeps its own. */
    static const char slack[] = "ts,k,op,ms,late\n1.000,a,start,50,5.9\n1.000,b,repeat,20,3\n"
                                "1.020,b,fire,,\n1.030,a,start,10,\n1.031,c,start,10,1000000000\n";
    assert_operations("events", slack,
                      (const char *const[]){"key", "k", "op", "op", "delay", "ms", "delay-unit",
                                            "ms", "slack", "late", NULL},
                      "0,0,start,50 slack 5\n0,1,start,20 slack 3\n20,1,start,20 by 1r slack 3\n"
                      "30,0,start,10\n31,2,start,10 slack 1000000000\n");
    assert_refused("events", "ts,k,op,delay,late\n1,a,start,5,x\n",
                   (const char *const[]){"key", "k", "op", "op", "slack", "late", NULL},
                   IMPORT_FAILED, "no slack in its column");
    assert_refused("events", "ts,k,op,delay\n1,a,begin,5\n",
                   (const char *const[]){"key", "k", "op", "op", NULL}, IMPORT_FAILED,
                   "no operation in its column");
    assert_refused("events", "ts,k,op,delay\n1,a,start,\n",
                   (const char *const[]){"key", "k", "op", "op", NULL}, IMPORT_FAILED,
                   "no delay in the column");
    assert_refused("events", "ts,k,op,delay\n1,a,stop,\n",
                   (const char *const[]){"key", "k", "op", "op", NULL}, IMPORT_FAILED,
                   "starts a timer");
}

/* Of a program's own timers, ticks of 1 ms: a start after the same timer's
 * expiry is its reaction. */
static void a_programs_own_expiries(void **state)
{
    (void)state;
    const char *const settings[] = {"time-unit", "ms", "key", "t", "op", "op", NULL};
    /* Due at 100.3, in tick 101; fires 0.1 ms later, in tick 100; 100.3 + 100 is tick 201. */
    assert_operations("events",
                      "ts,t,op,delay\n0.3,a,start,100\n100.4,a,fire,\n"
                      "100.41,a,start,100\n200.5,a,fire,\n",
                      settings, "0,0,start,101\n101,0,start,100 by 0\n");
    struct import_run run =
        import_text("events", "ts,t,op,delay\n0.3,a,start,100\n100.4,a,fire,\n", settings);
    assert_int_equal(run.header.end_tick, 102); /* so that the expiry is within the trace */
    assert_null(strstr(run.report, "warning"));
    import_run_free(&run);
    /* The second start, and one after a stop, are none. The callback may take its time. */
    assert_operations("events",
                      "ts,t,op,delay\n0,a,start,10\n10,a,fire,\n15,a,start,10\n"
                      "16,a,start,10\n26,a,fire,\n26,a,stop,\n27,a,start,10\n",
                      settings, "0,0,start,10\n10,0,start,15 by 0\n16,0,start,10\n27,0,start,10\n");
    /* Due at 10, 20.5 (11 after 10 would be a tick late, 0.5 is not), and 32: 1.5 ms late. */
    assert_operations("events",
                      "ts,t,op,delay\n0,a,start,10\n10.5,a,fire,\n10.5,a,start,10\n"
                      "21.5,a,fire,\n21.5,a,start,10\n31.6,a,fire,\n",
                      settings, "0,0,start,10\n10,0,start,10 by 0\n20,0,start,12 by 0\n");
    /* More than 10 s after it was due: as if the program had started another. */
    assert_operations("events", "ts,t,op,delay\n0,a,start,10\n10,a,fire,\n10020,a,start,10\n",
                      settings, "0,0,start,10\n10020,0,start,10\n");
    /* A repeating timer starts itself, at a fixed rate, until it is stopped. */
    static const char repeating[] = "ts,t,op,delay\n0,a,repeat,10\n10.2,a,fire,\n20.4,a,fire,\n"
                                    "25,a,clearInterval,\n26,b,start,1\n";
    assert_operations("events", repeating, settings,
                      "0,0,start,10\n10,0,start,10 by 0r\n20,0,start,10 by 0r\n25,0,stop\n"
                      "26,1,start,1\n");
    run = import_text("events", "ts,t,op,delay\n0,a,repeat,10\n100,a,stop,\n", settings);
    assert_non_null(strstr(run.report, "1 timers that repeat never fire in the file"));
    import_run_free(&run);
    /* Delays of seconds that are taken for milliseconds, and the other way round. */
    run = import_text("events", "ts,t,op,delay\n0,a,start,1\n1000,a,fire,\n", settings);
    assert_non_null(strstr(run.report, "are --delay-unit and --time-unit right?"));
    import_run_free(&run);
    run = import_text("events", "ts,t,op,delay\n0,a,start,1000\n1,a,fire,\n", settings);
    assert_non_null(strstr(run.report, "are --delay-unit and --time-unit right?"));
    import_run_free(&run);
}

static void logs_that_may_not_be_what_they_seem(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        const char *tick_ns;
        const char *doubt; /* NULL: none */
    } cases[] = {
        {"ts,k\n1.5,a\n2,b\n3,a\n", "1000000", NULL},
        {"ts,k\n1,a\n1,b\n2,c\n", "1000000", "up to 2 events"},
        {"ts,k\n1,a\n1,b\n2,c\n", "1000000000", NULL},
        {"ts,k\n1.0001,a\n1.0002,b\n", "1000000", "happens in one tick of 1000000 ns"},
        {"ts,k\n1.0001,a\n", "1000000", NULL},
        {"ts,k\n0.5,a\n100000,b\n200000,a\n300000,b\n", "1000000", NULL},
        {"ts,k\n1.5,a\n2,a\n126230402,b\n", "1000000",
         "nothing happens for 1461.0 days, from 0.500000 s after its beginning on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_run run =
            import_text("events", cases[i].table,
                        (const char *const[]){"key", "k", "tick-ns", cases[i].tick_ns, NULL});
        assert_int_equal(run.result, IMPORT_DONE);
        /* After the first record as it was understood, and before all else. */
        const char *second = strchr(run.report, '\n') + 1;
        assert_non_null(strstr(run.report, ": first record, line 2: key 'a' at "));
        bool doubts = strncmp(second, "warning: ", 9) == 0;
        assert_int_equal(doubts, cases[i].doubt != NULL);
        assert_int_equal(json_object_get(run.origin, "warnings") != NULL, doubts);
        if (doubts && strstr(run.report, cases[i].doubt) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].doubt, run.report);
        }
        import_run_free(&run);
    }
    struct import_run run =
        import_text("events", "ts,k,op,delay\n1.5,a,start,1\n2,a,start,1\n126230402,a,start,1\n",
                    (const char *const[]){"key", "k", "op", "op", NULL});
    assert_int_equal(run.result, IMPORT_DONE);
    assert_non_null(strstr(run.report, "1461.0 days, from 0.500000 s after its beginning on"));
    assert_null(strstr(run.report, "firings are not in the tick"));
    import_run_free(&run);
}

static void odd_tables_are_refused(void **state)
{
    (void)state;
    const char *const who[] = {"key", "who", NULL};
    assert_refused("events", "ts,who\n", NULL, IMPORT_USAGE, "--key is needed");
    assert_refused("events", "ts,he\n1,a\n", who, IMPORT_FAILED,
                   "has no column 'who'; its columns are ts, he");
    assert_refused("events", "ts,who\n", who, IMPORT_FAILED, "none of its 1 lines is an event");
    assert_refused("events", "ts,who\nx,a\n", who, IMPORT_FAILED, "no time where it should be");
    assert_refused("events", "ts,who\n1\n", who, IMPORT_FAILED, "too few columns");
    assert_refused("events", "ts,who\n1,\"a\n", who, IMPORT_FAILED, "a quote that is not closed");
    assert_refused("events", "#separator \\x09\n1\ta\n", who, IMPORT_FAILED,
                   "line 2: a row before the #fields");
    assert_refused("events", "ts,who\n1,a\n",
                   (const char *const[]){"key", "who", "time-unit", "h", NULL}, IMPORT_USAGE,
                   "--time-unit h: not s, ms, us, ns or iso");
    assert_refused("events", "ts,who\n99999999999999999999,a\n", who, IMPORT_FAILED,
                   "no time where it should be");
    assert_refused("events", "ts,who\n-5,a\n", who, IMPORT_FAILED, "no time where it should be");
    static char long_row[4000];
    memset(long_row, ',', sizeof long_row - 2);
    long_row[sizeof long_row - 2] = '\n';
    assert_refused("events", long_row, who, IMPORT_FAILED,
                   "has no column 'ts'; its columns are , ");
}

/* Editors write a byte order mark and carriage returns. */
static void files_of_other_systems(void **state)
{
    (void)state;
    static const char marked[] = "\xef\xbb\xbf"
                                 "192.0.2.1 - - [01/Jul/1995:00:00:01 -0400] x\r\n"
                                 "192.0.2.1 - - [01/Jul/1995:00:00:02 -0400] x\r\n";
    assert_operations("access-log", marked, NULL, "0,0,start,60000\n1000,0,start,60000\n");
    assert_operations("events", "\xef\xbb\xbf{\"ts\":1,\"k\":\"a\"}\r\n{\"ts\":2,\"k\":\"b\"}\r\n",
                      (const char *const[]){"key", "k", NULL},
                      "0,0,start,60000\n1000,1,start,60000\n");
    assert_operations("process",
                      "\xef\xbb\xbf"
                      "1000000 7 add 0xa timeout_us=5000 events=0x0\r\n",
                      NULL, "0,0,start,5\n");
    assert_refused("process",
                   "3000 7 add 0xa timeout_us=5 events=0x0\n"
                   "2000 7 add 0xb timeout_us=5 events=0x0\n"
                   "1000 7 add 0xc timeout_us=5 events=0x0\n",
                   NULL, IMPORT_FAILED, "it runs backwards; turn it round with tac");
    assert_refused("access-log", "nonsense\nmore\n", NULL, IMPORT_FAILED,
                   "is it of another format? `timerlab trace import --list` shows all");
}

static void text_says_whether_causes_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *said;
        bool known;
    } cases[] = {
        {"tick,id,op,delay,cause\n0,0,start,5,\n5,0,start,5,0r\n5,1,start,3,0\n",
         "reactions 2: as column cause says", true},
        {"tick,id,op,delay\n0,0,start,5\n5,0,start,5\n", "reactions 0: open loop: ", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct import_run run = import_text("csv", cases[i].text, NULL);
        assert_int_equal(run.result, IMPORT_DONE);
        assert_int_equal(run.header.causes_known, cases[i].known);
        assert_non_null(strstr(run.report, cases[i].said));
        import_run_check_causes(&run);
        import_run_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_numbered_in_order),
        cmocka_unit_test(events_are_put_in_order),
        cmocka_unit_test(dates),
        cmocka_unit_test(formats_are_taken_apart),
        cmocka_unit_test(common_and_combined),
        cmocka_unit_test(long_keys_keep_their_order),
        cmocka_unit_test(deadlines_are_rounded_up),
        cmocka_unit_test(times_have_their_units),
        cmocka_unit_test(requests_have_timers_of_their_own),
        cmocka_unit_test(keys_can_be_chosen),
        cmocka_unit_test(odd_logs_are_refused),
        cmocka_unit_test(a_bad_beginning_can_be_made_good),
        cmocka_unit_test(lines_far_out_of_order),
        cmocka_unit_test(tables_in_several_shapes),
        cmocka_unit_test(requests_of_a_table),
        cmocka_unit_test(operations_of_a_table),
        cmocka_unit_test(a_programs_own_expiries),
        cmocka_unit_test(logs_that_may_not_be_what_they_seem),
        cmocka_unit_test(odd_tables_are_refused),
        cmocka_unit_test(files_of_other_systems),
        cmocka_unit_test(text_says_whether_causes_are_known),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_files_remove();
    return failed;
}
