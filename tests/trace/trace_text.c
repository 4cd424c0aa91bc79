/* trace_text.c: the text form both ways, and the summary of a trace. */
#include "test.h"

#include "trace.h"
#include "trace_info.h"
#include "trace_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/timerlab-text-XXXXXX";
static char trace_file[64];
static char text_file[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(trace_file, sizeof trace_file, "%s/a.trace", folder);
    (void)snprintf(text_file, sizeof text_file, "%s/a.csv", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(trace_file);
    (void)unlink(text_file);
    return rmdir(folder);
}

static void write_text(const char *text)
{
    FILE *file = fopen(text_file, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void import_text(const struct trace_text_options *options)
{
    const struct trace_text_options none = {0};
    struct error error = {""};
    if (!trace_text_read(text_file, trace_file, options != NULL ? options : &none, &error)) {
        fail_msg("%s", error.text);
    }
}

/* The trace at `trace_file` as text; `limit` as in `head`, or UINT64_MAX for all. */
static char *dump(uint64_t limit)
{
    struct error error;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    struct trace_reader *reader = trace_reader_open(trace_file, &error);
    assert_non_null(reader);
    assert_true(limit == UINT64_MAX ? trace_text_write(reader, stream, &error)
                                    : trace_text_write_head(reader, limit, stream, &error));
    trace_reader_close(reader);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static const char small[] = "tick,id,op,delay\n"
                            "0,17,start,30000\n"
                            "12,17,stop,\n"
                            "12,4,start,0\n"
                            "4611686018427387904,4294967294,start,4611686018427387904\n"
                            "# tick_ns: 250\n"
                            "# ids: 4294967295\n"
                            "# warmup_end_tick: 12\n"
                            "# end_tick: 4611686018427387905\n"
                            "# origin: {\"source\":\"a \\\"test\\\"\"}\n";

static void test_small_round_trip(void **state)
{
    (void)state;
    write_text(small);
    import_text(NULL);
    char *text = dump(UINT64_MAX);
    assert_string_equal(text, small);
    free(text);
    text = dump(2);
    assert_string_equal(text, "tick,id,op,delay\n0,17,start,30000\n12,17,stop,\n");
    free(text);
    text = dump(0);
    assert_string_equal(text, "tick,id,op,delay\n");
    free(text);
}

/* With its causes; external ones are empty. */
static void test_causes_round_trip(void **state)
{
    (void)state;
    static const char periodic[] = "tick,id,op,delay,cause\n"
                                   "0,3,start,5,\n"
                                   "0,4,start,9,\n"
                                   "5,3,start,5,3\n"
                                   "5,4,stop,,3\n"
                                   "10,3,start,5,3r\n"
                                   "15,3,start,5,3a\n"
                                   "16,4294967294,start,0,\n"
                                   "17,0,start,1,4294967294\n"
                                   "# tick_ns: 1000000\n"
                                   "# ids: 4294967295\n"
                                   "# warmup_end_tick: 0\n"
                                   "# end_tick: 20\n"
                                   "# origin: {\"source\":\"a test\"}\n";
    write_text(periodic);
    import_text(NULL);
    char *text = dump(UINT64_MAX);
    assert_string_equal(text, periodic);
    free(text);
    struct error error;
    struct trace_reader *reader = trace_reader_open(trace_file, &error);
    assert_non_null(reader);
    assert_true(trace_reader_header(reader)->causes_known);
    assert_int_equal(trace_reader_header(reader)->reactions, 5);
    trace_reader_close(reader);
    /* A text with an empty column of causes declares that there are none. */
    write_text("tick,id,op,delay,cause\n0,3,start,5,\n1,3,stop,\n");
    import_text(NULL);
    text = dump(2);
    assert_string_equal(text, "tick,id,op,delay,cause\n0,3,start,5,\n1,3,stop,,\n");
    free(text);
}

/* With slack, with and without causes; the longest possible rows. A column without any slack is
 * omitted. */
static void test_slack_round_trip(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "tick,id,op,delay,slack\n0,3,start,10,5\n0,4,start,12,\n3,3,stop,,\n",
        "tick,id,op,delay,cause,slack\n"
        "0,4294967294,start,4611686018427387903,,4294967295\n"
        "4611686018427387903,4294967294,start,4611686018427387904,4294967294a,4294967295\n"
        "4611686018427387904,4294967294,stop,,4294967294,\n"
        "# ids: 4294967295\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_text(texts[i]);
        import_text(NULL);
        char *text = dump(3);
        assert_memory_equal(text, texts[i], strlen(text));
        free(text);
    }
    write_text("tick,id,op,delay,slack\n0,3,start,10,0\n0,4,start,12\n3,3,stop\n");
    import_text(NULL);
    char *text = dump(3);
    assert_string_equal(text, "tick,id,op,delay\n0,3,start,10\n0,4,start,12\n3,3,stop,\n");
    free(text);
}

static void test_defaults(void **state)
{
    (void)state;
    struct error error;
    /* Line ends of either kind, comments, empty lines, a stop without its last comma. */
    write_text("# made by hand\r\ntick,id,op,delay\r\n\r\n5,3,start,9\r\n# note: 7\n6,3,stop");
    import_text(NULL);
    struct trace_reader *reader = trace_reader_open(trace_file, &error);
    assert_non_null(reader);
    const struct trace_header *header = trace_reader_header(reader);
    assert_int_equal(header->events, 2);
    assert_int_equal(header->tick_ns, 1000000);
    assert_int_equal(header->ids, 4);
    assert_int_equal(header->warmup_end_tick, 0);
    assert_int_equal(header->end_tick, 7);
    assert_non_null(strstr(header->origin, "\"csv\""));
    trace_reader_close(reader);

    write_text("tick,id,op,delay\n");
    import_text(NULL);
    char *text = dump(UINT64_MAX);
    assert_non_null(strstr(text, "\n# ids: 0\n"));
    free(text);
}

static void test_options_override(void **state)
{
    (void)state;
    struct error error;
    const uint64_t warmup_end_tick = 6;
    const uint64_t end_tick = 100;
    const struct trace_text_options options = {.tick_ns = 4000000,
                                               .min_ids = 50,
                                               .warmup_end_tick = &warmup_end_tick,
                                               .end_tick = &end_tick,
                                               .origin = "{\"mine\":1}"};
    write_text("tick,id,op,delay\n5,3,start,9\n# tick_ns: 7\n# ids: 9\n# warmup_end_tick: 1\n"
               "# end_tick: 6\n# origin: {}\n");
    import_text(&options);
    struct trace_reader *reader = trace_reader_open(trace_file, &error);
    assert_non_null(reader);
    const struct trace_header *header = trace_reader_header(reader);
    assert_int_equal(header->tick_ns, 4000000);
    assert_int_equal(header->ids, 50);
    assert_int_equal(header->warmup_end_tick, 6);
    assert_int_equal(header->end_tick, 100);
    assert_string_equal(header->origin, "{\"mine\":1}");
    trace_reader_close(reader);
}

static void test_sparse_ids(void **state)
{
    (void)state;
    static const char rows[] = "tick,id,op,delay,cause,slack\n"
                               "0,4294967294,start,5,,\n"
                               "1,17,start,30,,3\n"
                               "5,70000,start,7,4294967294r,4\n"
                               "5,4294967294,start,5,4294967294,\n"
                               "9,70000,stop,,,\n";
    static const char dense[] = "tick,id,op,delay,cause,slack\n"
                                "0,2,start,5,,\n"
                                "1,0,start,30,,3\n"
                                "5,1,start,7,2r,4\n"
                                "5,2,start,5,2,\n"
                                "9,1,stop,,,\n";
    struct trace_text_ids ids;
    const struct trace_text_options asked = {.ids = &ids};
    write_text(rows);
    import_text(&asked);
    char *text = dump(UINT64_MAX);
    assert_memory_equal(text, dense, strlen(dense));
    assert_non_null(strstr(text, "\n# ids: 3\n"));
    assert_non_null(strstr(text, "\"timers\":3,\"ids_before_went_to\":4294967294"));
    assert_true(ids.renumbered);
    assert_int_equal(ids.named, 3);
    assert_int_equal(ids.largest, 4294967294);
    free(text);
    /* A text that declares as many ids keeps them. */
    const struct trace_text_options counted = {.ids = &ids, .min_ids = UINT32_MAX};
    import_text(&counted);
    text = dump(UINT64_MAX);
    assert_memory_equal(text, rows, strlen(rows));
    assert_false(ids.renumbered);
    free(text);
    const struct trace_text_options fewer = {.ids = &ids, .min_ids = UINT32_MAX - 1};
    import_text(&fewer);
    assert_true(ids.renumbered);
}

/* The rule from both its sides: the largest id, and the share of ids that are used. */
static void test_sparse_rule(void **state)
{
    (void)state;
    const struct {
        uint32_t named;
        uint32_t largest;
        bool renumbered;
    } cases[] = {
        {1, 1023, false},  {1, 1024, true},  {63, 1024, true},   {64, 1024, false},
        {99, 1598, false}, {99, 1599, true}, {100, 1600, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_text_ids ids;
        const struct trace_text_options asked = {.ids = &ids};
        FILE *file = fopen(text_file, "w");
        assert_non_null(file);
        (void)fprintf(file, "tick,id,op,delay\n");
        for (uint32_t id = 0; id + 1 < cases[i].named; id++) {
            (void)fprintf(file, "0,%" PRIu32 ",start,5\n", id);
        }
        (void)fprintf(file, "0,%" PRIu32 ",start,5\n", cases[i].largest);
        assert_int_equal(fclose(file), 0);
        import_text(&asked);
        assert_int_equal(ids.named, cases[i].named);
        assert_int_equal(ids.largest, cases[i].largest);
        if (ids.renumbered != cases[i].renumbered) {
            fail_msg("%" PRIu32 " timers up to %" PRIu32, ids.named, ids.largest);
        }
    }
    /* Few ids close together are renumbered only on request. */
    struct trace_text_ids ids;
    const struct trace_text_options dense = {.ids = &ids, .dense_ids = true};
    write_text("tick,id,op,delay\n0,7,start,5\n0,3,start,5\n# ids: 90\n");
    import_text(&dense);
    char *text = dump(UINT64_MAX);
    assert_non_null(strstr(text, "\n0,1,start,5\n0,0,start,5\n"));
    assert_non_null(strstr(text, "\n# ids: 2\n"));
    free(text);
}

static void test_bad_text(void **state)
{
    (void)state;
    const struct {
        const char *text;
        const char *place;
    } bad[] = {
        {"", "line 1: no header row"},
        {"# nothing\n", "line 1: no header row"},
        {"tick;id;op;delay\n", "line 1: the first row"},
        {"0,1,start,5\n", "line 1: the first row"},
        {"tick,id,op,delay\n0,1,start\n", "line 2: "},
        {"tick,id,op,delay\n0,1,start,\n", "line 2: a start needs a delay"},
        {"tick,id,op,delay\n0,1,start,-5\n", "line 2: a start needs a delay"},
        {"tick,id,op,delay\n0,1,start,5,6\n", "line 2: something follows"},
        {"tick,id,op,delay\n0,1,start,5 \n", "line 2: something follows"},
        {"tick,id,op,delay\n0,1,stop,5\n", "line 2: a stop has no delay"},
        {"tick,id,op,delay\n0,1,stopped,\n", "line 2: the operation"},
        {"tick,id,op,delay\n0,1,fire,\n", "line 2: the operation"},
        {"tick,id,op,delay\n0,4294967295,stop,\n", "line 2: "},
        {"tick,id,op,delay\n0,4294967296,stop,\n", "line 2: no timer id"},
        {"tick,id,op,delay\n0,,stop,\n", "line 2: no timer id"},
        {"tick,id,op,delay\n 0,1,stop,\n", "line 2: no tick"},
        {"tick,id,op,delay\n99999999999999999999,1,stop,\n", "line 2: no tick"},
        {"tick,id,op,delay\n18446744073709551616,1,stop,\n", "line 2: no tick"},
        {"tick,id,op,delay\n4611686018427387905,1,stop,\n", "line 2: "},
        {"tick,id,op,delay\n0,1,start,4611686018427387905\n", "line 2: "},
        {"tick,id,op,delay\n0,1,start,5,1\n", "line 2: something follows"},
        {"tick,id,op,delay,cause\n0,1,start,5,x\n", "line 2: a cause is the id"},
        {"tick,id,op,delay,cause\n0,1,start,5,4294967296\n", "line 2: a cause is the id"},
        {"tick,id,op,delay,cause\n0,1,start,5,1x\n", "line 2: a cause's id is followed by"},
        {"tick,id,op,delay,cause\n0,1,start,5,1ra\n", "line 2: a cause's id is followed by"},
        {"tick,id,op,delay,cause\n0,1,start,5,,\n", "line 2: something follows"},
        {"tick,id,op,delay,slack,cause\n", "line 1: the first row"},
        {"tick,id,op,delay,slack\n0,1,start,5,x\n", "line 2: a slack is a number"},
        {"tick,id,op,delay,slack\n0,1,start,5,-1\n", "line 2: a slack is a number"},
        {"tick,id,op,delay,slack\n0,1,start,5,4294967296\n", "line 2: a slack is a number"},
        {"tick,id,op,delay,slack\n0,1,start,5,1,2\n", "line 2: something follows"},
        {"tick,id,op,delay,slack\n0,1,stop,,7\n", "line 2: a stop has no slack"},
        {"tick,id,op,delay,cause\n0,1,start,5,2\n", "its cause, timer 2, has not been"},
        {"tick,id,op,delay,cause\n0,1,start,0,1r\n", "a fixed rate needs a delay"},
        {"tick,id,op,delay\n\n5,1,stop,\n4,1,stop,\n", "line 4: "},
        {"tick,id,op,delay\n# tick_ns: x\n", "line 2: the value of tick_ns"},
        {"tick,id,op,delay\n# ids: 4294967296\n", "line 2: the value of ids"},
        {"tick,id,op,delay\n# tick_ns: 0\n", "tick"},
        {"tick,id,op,delay\n# origin: []\n", "origin"},
        {"tick,id,op,delay\n7,1,stop,\n# end_tick: 7\n", "end_tick 7"},
        {"tick,id,op,delay\n7,1,stop,\n# warmup_end_tick: 9\n", "window"},
    };
    (void)unlink(trace_file);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct trace_text_options options = {0};
        struct error error = {""};
        write_text(bad[i].text);
        assert_false(trace_text_read(text_file, trace_file, &options, &error));
        if (strstr(error.text, bad[i].place) == NULL) {
            fail_msg("'%s' does not name '%s'", error.text, bad[i].place);
        }
        assert_int_equal(access(trace_file, F_OK), -1);
    }
    struct error error;
    const struct trace_text_options options = {0};
    assert_false(trace_text_read("/nowhere.csv", trace_file, &options, &error));
    assert_non_null(strstr(error.text, "/nowhere.csv"));
}

/* --- larger, random -------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252;

struct operation {
    uint64_t tick;
    uint64_t delay;
    uint32_t id;
    enum trace_op op;
};

static void write_random_trace(struct operation *operations, size_t n, uint32_t ids,
                               uint64_t max_delay)
{
    struct error error;
    struct trace_writer *writer = trace_writer_open(trace_file, 1000, &error);
    assert_non_null(writer);
    uint64_t tick = 0;
    for (size_t i = 0; i < n; i++) {
        tick += test_draw(&random_state) % 4 == 0 ? test_draw(&random_state) % 8 : 0;
        operations[i] =
            (struct operation){.tick = tick,
                               .delay = test_draw(&random_state) % (max_delay + 1),
                               .id = (uint32_t)(test_draw(&random_state) % ids),
                               .op = test_draw(&random_state) % 3 == 0 ? TRACE_STOP : TRACE_START};
        assert_true(trace_writer_add(writer, tick, operations[i].id, operations[i].op,
                                     operations[i].delay, &error));
    }
    assert_true(trace_writer_commit(writer, tick / 2, 0, 0, "{\"source\":\"random\"}", &error));
}

static void test_large_round_trip(void **state)
{
    (void)state;
    enum { N = 150000 };
    struct operation *operations = calloc(N, sizeof *operations);
    assert_non_null(operations);
    write_random_trace(operations, N, 100000, UINT64_C(1) << 40);
    free(operations);
    char *first = dump(UINT64_MAX);
    write_text(first);
    import_text(NULL);
    char *second = dump(UINT64_MAX);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* --- the summary ----------------------------------------------------------------------------- */

static uint64_t blocks; /* of the trace that was collected last */

static struct trace_info collect(void)
{
    struct error error = {""};
    struct trace_info info;
    struct trace_reader *reader = trace_reader_open(trace_file, &error);
    assert_non_null(reader);
    if (!trace_info_collect(reader, &info, NULL, &error)) {
        fail_msg("%s", error.text);
    }
    blocks = trace_reader_header(reader)->blocks;
    /* Both ways of showing it take it. */
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    trace_info_print(stream, trace_file, trace_reader_header(reader), &info);
    assert_int_equal(fclose(stream), 0);
    assert_non_null(strstr(text, trace_reader_header(reader)->origin));
    free(text);
    json_t *json = trace_info_json(trace_file, trace_reader_header(reader), &info);
    assert_int_equal(json_integer_value(json_object_get(json, "fired")), info.fired);
    assert_true(json_is_object(json_object_get(json, "origin")));
    json_decref(json);
    trace_reader_close(reader);
    return info;
}

static void test_info_by_hand(void **state)
{
    (void)state;
    write_text("tick,id,op,delay\n"
               "0,0,start,10\n"  /* restarted at 5 */
               "0,1,start,3\n"   /* fires at 3 */
               "2,2,start,0\n"   /* fires at 3: three pending until then */
               "5,0,start,7\n"   /* fires at 12, before the stop of that tick */
               "5,1,stop,\n"     /* of nothing */
               "6,1,start,100\n" /* stopped */
               "7,1,stop,\n"
               "12,0,stop,\n"      /* of nothing */
               "12,3,start,8\n"    /* fires at 20, the end */
               "13,4,start,1000\n" /* is left */
               "# warmup_end_tick: 5\n# end_tick: 20\n");
    import_text(NULL);
    struct trace_info info = collect();
    assert_int_equal(blocks, 1);
    assert_int_equal(info.window_events, 7);
    assert_int_equal(info.restarts, 1);
    assert_int_equal(info.stops_idle, 2);
    assert_int_equal(info.fired, 4);
    assert_int_equal(info.pending_at_end, 1);
    assert_int_equal(info.pending_max, 3);
    assert_int_equal(info.pending_max_tick, 2);
    assert_int_equal(info.busy_ticks, 7);
    assert_int_equal(info.busiest_tick, 0);
    assert_int_equal(info.busiest_tick_events, 2);
    assert_int_equal(info.distinct_delays, 7);
    assert_int_equal(info.timer_starts_max, 2); /* of timer 0, and of 1 later */
    assert_int_equal(info.timer_starts_id, 0);
    assert_true(isnan(info.dispersion_100ms));
    assert_int_equal(info.delay_min, 0);
    assert_int_equal(info.delay_p50, 8); /* 0 3 7 8 10 100 1000 */
    assert_int_equal(info.delay_p90, 1000);
    assert_int_equal(info.delay_max, 1000);
}

/* Twelve seconds of a warm-up and twenty of the window, with three starts in every second but ten
 * in one: mean 67 / 20, squares 19 * 0.35^2 + 6.65^2, of which a nineteenth. */
static void test_info_dispersion(void **state)
{
    (void)state;
    struct error error;
    struct trace_writer *writer = trace_writer_open(trace_file, 100000000, &error);
    assert_non_null(writer);
    for (uint32_t second = 0; second < 32; second++) {
        uint32_t starts = second == 3 ? 500 : second == 20 ? 10 : 3;
        for (uint32_t i = 0; i < starts; i++) {
            assert_true(trace_writer_add(writer, 10 * second, i, TRACE_START, 5, &error));
        }
    }
    assert_true(trace_writer_commit(writer, 120, 320, 0, "{}", &error));
    struct trace_info info = collect();
    assert_true(fabs(info.dispersion_1s - 46.55 / 19 / (67.0 / 20)) < 1e-9);
    /* By tenths 180 are empty, 19 have three, and one ten: mean 67 / 200. */
    assert_true(fabs(info.dispersion_100ms - (271 - 67 * 67 / 200.0) / 199 / (67.0 / 200)) < 1e-9);
    assert_int_equal(info.timer_starts_max, 32);
}

static void test_info_of_nothing(void **state)
{
    (void)state;
    write_text("tick,id,op,delay\n");
    import_text(NULL);
    struct trace_info info = collect();
    assert_int_equal(info.fired, 0);
    assert_int_equal(info.delay_p50, 0);
    assert_int_equal(info.pending_max, 0);
}

/* Against a timekeeper that looks at every timer at every tick. */
static void test_info_random(void **state)
{
    (void)state;
    enum { N = 4000, IDS = 60 };
    static struct operation operations[N];
    for (unsigned round = 0; round < 10; round++) {
        const uint64_t max_delays[] = {0, 5, 60, 500, 5000};
        write_random_trace(operations, N, IDS, max_delays[round % 5]);
        struct trace_info want = {0};
        uint64_t due[IDS] = {0};
        uint64_t pending = 0;
        size_t next = 0;
        uint64_t end = operations[N - 1].tick + 1;
        for (uint64_t tick = 0; tick <= end; tick++) {
            for (unsigned id = 0; id < IDS; id++) {
                if (due[id] != 0 && due[id] <= tick) {
                    due[id] = 0;
                    pending--;
                    want.fired++;
                }
            }
            for (; next < N && operations[next].tick == tick; next++) {
                uint64_t *timer = &due[operations[next].id];
                if (operations[next].op == TRACE_STOP) {
                    want.stops_idle += *timer == 0;
                    pending -= *timer != 0;
                    *timer = 0;
                } else {
                    want.restarts += *timer != 0;
                    pending += *timer == 0;
                    *timer = tick + (operations[next].delay > 0 ? operations[next].delay : 1);
                    want.pending_max = pending > want.pending_max ? pending : want.pending_max;
                }
            }
        }
        struct trace_info info = collect();
        assert_int_equal(info.fired, want.fired);
        assert_int_equal(info.restarts, want.restarts);
        assert_int_equal(info.stops_idle, want.stops_idle);
        assert_int_equal(info.pending_at_end, pending);
        assert_int_equal(info.pending_max, want.pending_max);
    }
}

static void test_info_many_delays(void **state)
{
    (void)state;
    /* More different delays than are counted one by one: 0, 10, 20, ... */
    const uint64_t n = TRACE_INFO_DISTINCT_MAX + 1000;
    struct error error;
    struct trace_writer *writer = trace_writer_open(trace_file, 1000, &error);
    assert_non_null(writer);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(trace_writer_add(writer, i, 0, TRACE_START, i * 10, &error));
    }
    assert_true(trace_writer_commit(writer, 0, 0, 0, "{}", &error));
    struct trace_info info = collect();
    assert_true(info.distinct_bounded);
    assert_int_equal(info.distinct_delays, TRACE_INFO_DISTINCT_MAX);
    const struct {
        uint64_t got;
        uint64_t exact;
    } percentiles[] = {{info.delay_p50, n / 2 * 10},
                       {info.delay_p90, n * 9 / 10 * 10},
                       {info.delay_p99, n * 99 / 100 * 10},
                       {info.delay_max, (n - 1) * 10}};
    for (unsigned i = 0; i < 4; i++) {
        assert_in_range(percentiles[i].got, percentiles[i].exact - 10,
                        percentiles[i].exact + percentiles[i].exact / 60);
    }
    assert_int_equal(info.delay_max, (n - 1) * 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_round_trip), cmocka_unit_test(test_causes_round_trip),
        cmocka_unit_test(test_slack_round_trip), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_options_override), cmocka_unit_test(test_sparse_ids),
        cmocka_unit_test(test_sparse_rule),      cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_large_round_trip), cmocka_unit_test(test_info_by_hand),
        cmocka_unit_test(test_info_dispersion),  cmocka_unit_test(test_info_of_nothing),
        cmocka_unit_test(test_info_random),      cmocka_unit_test(test_info_many_delays),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
