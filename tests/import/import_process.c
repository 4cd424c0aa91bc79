/* Importing a program's own timer calls: reactions, their causes and places; the owner of an id;
 * recordings in either form; and any order of lines. */
#include "import_run.h"
#include "timer_record.h"

#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct import_run import_bytes(const void *bytes, size_t count, const char *const *settings)
{
    return import_run("process", temporary_file("recording", bytes, count), settings);
}

static struct import_run import_good(const char *text, const char *const *settings)
{
    struct import_run run = import_bytes(text, strlen(text), settings);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    assert_true(run.header.causes_known);
    import_run_check_causes(&run);
    return run;
}

/* Return the run, for its counts. */
static struct import_run assert_operations(const char *text, const char *expected)
{
    struct import_run run = import_good(text, NULL);
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, expected);
    free(operations);
    return run;
}

static void callbacks_react(void **state)
{
    (void)state;
    struct import_run run =
        assert_operations("1000000 7 add 0xa timeout_us=5000 events=0x0\n"
                          "3500000 7 add 0xb timeout_us=50000 events=0x0\n"
                          "8200000 7 fire 0xa what=0x1 events=0x0\n" /* due at 6 ms */
                          "8300000 7 del 0xb\n"
                          "8400000 7 add 0xc timeout_us=20000 events=0x0\n"
                          "8500000 8 del 0xc\n" /* another process's */
                          "9000000 7 fire 0xd what=0x2 events=0x2\n"
                          "9100000 7 del 0xc\n"
                          "9200000 7 add 0xa timeout_us=1000 events=0x0\n",
                          "0,0,start,5\n"
                          "2,1,start,51\n"
                          "5,1,stop by 0\n"
                          "5,2,start,20 by 0\n"
                          "8,2,stop\n"
                          "8,0,start,2\n");
    assert_int_equal(import_run_number(&run, "counts.reactions"), 2);
    assert_int_equal(run.header.reactions, 2);
    assert_int_equal(import_run_number(&run, "counts.stop_not_armed"), 1);
    assert_non_null(strstr(run.report, "reactions 2: operations of a process between the line"));
    import_run_free(&run);
}

static void persistent_events_keep_their_rate(void **state)
{
    (void)state;
    struct import_run run =
        assert_operations("1000000 7 add 0xa timeout_us=2500 events=0x10\n"
                          "4000000 7 fire 0xa what=0x1 events=0x10\n"
                          "6100000 7 fire 0xa what=0x1 events=0x10\n"
                          "20000000 7 fire 0xa what=0x1 events=0x10\n" /* missed the next, too */
                          "20100000 7 del 0xa\n",
                          "0,0,start,3\n"
                          "3,0,start,2 by 0r\n"
                          "5,0,start,3 by 0r\n"
                          "8,0,start,14 by 0a\n"
                          "8,0,stop by 0\n");
    assert_int_equal(import_run_number(&run, "counts.persist_rearm"), 3);
    import_run_free(&run);
    /* Called when the next is due already, but not over. */
    run = assert_operations("1000000 7 add 0xa timeout_us=2000 events=0x10\n"
                            "5000000 7 fire 0xa what=0x1 events=0x10\n",
                            "0,0,start,2\n2,0,start,2 by 0r\n");
    import_run_free(&run);
    /* By its descriptor: from now on, and from outside. A timeout of nothing does not repeat. */
    run = assert_operations("1000000 7 add 0xa timeout_us=5000 events=0x12\n"
                            "3000000 7 fire 0xa what=0x2 events=0x12\n"
                            "4000000 7 add 0xb timeout_us=0 events=0x10\n"
                            "4000000 7 fire 0xb what=0x1 events=0x10\n",
                            "0,0,start,5\n2,0,start,5\n3,1,start,0\n");
    assert_int_equal(import_run_number(&run, "counts.persist_rearm"), 1);
    import_run_free(&run);
}

/* A library with a slow clock fires before the recorded deadline. */
static void firings_that_come_early(void **state)
{
    (void)state;
    struct import_run run = assert_operations("1000000 7 add 0xa timeout_us=10000 events=0x0\n"
                                              "9000000 7 fire 0xa what=0x1 events=0x0\n"
                                              "9100000 7 add 0xb timeout_us=5000 events=0x0\n"
                                              "9500000 7 fire 0xd what=0x2 events=0x2\n"
                                              "9600000 7 del 0xb\n"
                                              "9700000 7 add 0xa timeout_us=4000 events=0x0\n"
                                              "9800000 7 add 0xe timeout_us=4000 events=0x0\n",
                                              "0,0,start,10\n"
                                              "8,2,start,5\n" /* has nothing to do with it */
                                              "10,1,start,5 by 0\n"
                                              "10,1,stop\n"
                                              "10,0,start,3\n");
    import_run_free(&run);
}

static void some_do_not_fit_and_are_external(void **state)
{
    (void)state;
    /* An event has started b again since a was due. */
    struct import_run run = assert_operations("1000000 7 add 0xa timeout_us=2000 events=0x0\n"
                                              "2000000 7 add 0xb timeout_us=60000 events=0x0\n"
                                              "4100000 7 add 0xb timeout_us=60000 events=0x0\n"
                                              "5000000 7 fire 0xa what=0x1 events=0x0\n"
                                              "5100000 7 del 0xb\n",
                                              "0,0,start,2\n"
                                              "1,1,start,60\n"
                                              "3,1,start,61\n"
                                              "4,1,stop\n");
    assert_int_equal(import_run_number(&run, "counts.cause_crossed"), 1);
    assert_int_equal(run.header.reactions, 0);
    import_run_free(&run);
    /* As far from its due time as an expiry may be, and no further. */
    run = assert_operations("1000000 7 add 0xa timeout_us=2000 events=0x0\n"
                            "10003000000 7 fire 0xa what=0x1 events=0x0\n"
                            "10003000000 7 add 0xb timeout_us=2000 events=0x0\n",
                            "0,0,start,2\n2,1,start,2 by 0\n");
    import_run_free(&run);
    run = assert_operations("1000000 7 add 0xa timeout_us=2000 events=0x0\n"
                            "10004000000 7 fire 0xa what=0x1 events=0x0\n"
                            "10004000000 7 add 0xb timeout_us=2000 events=0x0\n",
                            "0,0,start,2\n10003,1,start,2\n");
    import_run_free(&run);
    /* a's callback is still at it when what others did since is in its place. */
    run = assert_operations("1000000 7 add 0xa timeout_us=2000 events=0x0\n"
                            "3000000 7 fire 0xa what=0x1 events=0x0\n"
                            "60000000000 8 add 0xc timeout_us=1000 events=0x0\n"
                            "90000000000 8 add 0xd timeout_us=1000 events=0x0\n"
                            "90001000000 7 add 0xb timeout_us=2000 events=0x0\n",
                            "0,0,start,2\n"
                            "59999,1,start,1\n"
                            "89999,2,start,1\n"
                            "90000,3,start,2\n");
    assert_int_equal(import_run_number(&run, "counts.cause_crossed"), 1);
    import_run_free(&run);
    /* a was started before the recording; c's callback is called long before c is due. */
    run = assert_operations("1000000 7 fire 0xa what=0x1 events=0x0\n"
                            "1000000 7 add 0xb timeout_us=2000 events=0x0\n"
                            "1000000 7 fire 0xd what=0x2 events=0x2\n"
                            "2000000 7 add 0xc timeout_us=60000000 events=0x0\n"
                            "3000000 7 fire 0xc what=0x1 events=0x0\n"
                            "4000000 7 add 0xc timeout_us=60000000 events=0x0\n",
                            "0,0,start,2\n"
                            "1,1,start,60000\n"
                            "2,1,stop\n"
                            "3,1,start,60000\n");
    assert_int_equal(import_run_number(&run, "counts.cause_unknown"), 2);
    assert_int_equal(import_run_number(&run, "counts.expiry_unknown"), 1);
    assert_int_equal(import_run_number(&run, "counts.expiry_moved_too_far"), 1);
    import_run_free(&run);
}

static void memory_used_again_is_another_timer(void **state)
{
    (void)state;
    struct import_run run =
        assert_operations("1000000 7 add 0xa timeout_us=2000 events=0x0\n"
                          "3000000 7 fire 0xa what=0x1 events=0x0\n"
                          "4000000 7 fire 0xd what=0x2 events=0x2\n"
                          "4000000 7 add 0xa timeout_us=2000 events=0x0\n" /* the same */
                          "6000000 7 fire 0xa what=0x1 events=0x0\n"
                          "7000000 7 fire 0xd what=0x2 events=0x2\n"
                          "7000000 7 assign 0xa events=0x0\n"
                          "7000000 7 add 0xa timeout_us=2000 events=0x0\n" /* late ones have 0 */
                          "8000000 7 del 0xa\n"
                          "9000000 7 assign 0xa events=0x0\n"
                          "9000000 7 add 0xa timeout_us=2000 events=0x0\n" /* no timer has 1 */
                          "11000000 7 fire 0xa what=0x1 events=0x0\n"
                          "11000000 7 assign 0xa events=0x0\n"
                          "11000000 7 add 0xa timeout_us=1000 events=0x0\n", /* when 1 has fired */
                          "0,0,start,2\n"
                          "3,0,start,2\n"
                          "6,1,start,2\n"
                          "7,1,stop\n"
                          "8,1,start,2\n"
                          "10,1,start,1 by 1\n");
    assert_int_equal(import_run_number(&run, "counts.timers"), 2);
    assert_int_equal(import_run_number(&run, "counts.addresses"), 1);
    import_run_free(&run);
    /* A timer that is stopped from outside in the tick in which a fires is in use until after that. */
    run = assert_operations("1000000 7 add 0xa timeout_us=2000 events=0x0\n"
                            "1000000 7 add 0xb timeout_us=60000 events=0x0\n"
                            "3200000 7 del 0xb\n"
                            "3300000 7 assign 0xb events=0x0\n"
                            "3400000 7 fire 0xa what=0x1 events=0x0\n"
                            "3500000 7 add 0xb timeout_us=5000 events=0x0\n",
                            "0,0,start,2\n"
                            "0,1,start,60\n"
                            "2,1,stop\n"
                            "2,2,start,5 by 0\n");
    import_run_free(&run);
}

/* A clock with steps of 4 ms: a start at 5 ms for 6 ms is due at 12, not at 11. */
static void deadlines_by_a_coarse_clock(void **state)
{
    (void)state;
    /* Ticks are whole ones of the recorder's clock. */
    struct import_run ticks = assert_operations("1000500 7 add 0xa timeout_us=2000 events=0x0\n"
                                                "2000400 7 add 0xb timeout_us=2000 events=0x0\n",
                                                "0,0,start,3\n1,1,start,3\n");
    import_run_free(&ticks);
    static const char text[] = "5000000 7 add 0xa timeout_us=6000 events=0x0\n"
                               "12300000 7 fire 0xa what=0x1 events=0x0\n";
    struct import_run run = import_good(text, (const char *const[]){"clock-ns", "4000000", NULL});
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "1,0,start,7\n"); /* tick 0 is at 4 ms */
    free(operations);
    assert_int_equal(import_run_number(&run, "counts.expiry_on_time"), 1);
    import_run_free(&run);
    run = import_good(text, NULL);
    assert_int_equal(import_run_number(&run, "counts.expiry_on_time"), 0);
    import_run_free(&run);
}

/* --- records ---------------------------------------------------------------------------------- */

static void put_record(struct timer_record *to, uint64_t time_ns, uint64_t timer, int op,
                       uint64_t cause, uint64_t delay_ns)
{
    *to = (struct timer_record){.time_ns = time_ns,
                                .timer = timer,
                                .delay_ns = delay_ns,
                                .cause = cause,
                                .process = 7,
                                .library = TIMER_RECORD_LIBUV,
                                .flags = op == TIMER_RECORD_FIRE ? TIMER_RECORD_TIMEOUT : 0};
    atomic_init(&to->op, (uint8_t)op);
}

static void records_say_whose_callback_it_was(void **state)
{
    (void)state;
    static union {
        char bytes[TIMER_RECORD_HEADER_BYTES + 8 * sizeof(struct timer_record)];
        struct timer_record_header header;
    } file;
    struct timer_record records[8];
    memcpy(file.header.magic, TIMER_RECORD_MAGIC, TIMER_RECORD_MAGIC_BYTES);
    file.header.version = TIMER_RECORD_VERSION;
    file.header.record_bytes = sizeof(struct timer_record);
    file.header.claimed = 8;
    file.header.room = TIMER_RECORD_STEP;
    put_record(&records[0], 1000000, 0xa, TIMER_RECORD_START, 0, 3000000);
    put_record(&records[1], 4200000, 0xa, TIMER_RECORD_FIRE, 0, 0);
    put_record(&records[2], 4300000, 0xa, TIMER_RECORD_START, 0xa, 3000000); /* it repeats */
    put_record(&records[3], 4400000, 0xb, TIMER_RECORD_START, 0, 9000000);   /* another thread */
    put_record(&records[4], 4500000, 0xc, TIMER_RECORD_START, 0xa, 9000000);
    put_record(&records[5], 5000000, 0xc, TIMER_RECORD_STOP, 0, 0);
    put_record(&records[6], 6000000, 0xa, TIMER_RECORD_STOP, 0, 0);
    put_record(&records[7], 6000000, 0xa, TIMER_RECORD_INIT, 0, 0);
    memcpy(file.bytes + TIMER_RECORD_HEADER_BYTES, records, sizeof records);
    struct import_run run = import_bytes(file.bytes, sizeof file.bytes, NULL);
    assert_int_equal(run.result, IMPORT_DONE);
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "0,0,start,3\n"
                                    "3,0,start,3 by 0\n"
                                    "3,1,start,10\n"
                                    "3,2,start,9 by 0\n"
                                    "4,2,stop\n"
                                    "5,0,stop\n");
    free(operations);
    import_run_check_causes(&run);
    assert_non_null(strstr(run.report, "reactions 2: operations within a callback"));
    import_run_free(&run);
    file.header.version = 1;
    run = import_bytes(file.bytes, sizeof file.bytes, NULL);
    assert_int_equal(run.result, IMPORT_FAILED);
    assert_non_null(strstr(run.error.text, "its version 1 is not 2"));
    import_run_free(&run);
}

/* --- anything --------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Long lines are read like short ones. */
static void lines_of_any_length(void **state)
{
    (void)state;
    for (int length = 60; length < 600; length++) {
        char text[1400];
        (void)snprintf(text, sizeof text, "%-*s\n%-*s\n", length,
                       "1000000 7 add 0xa timeout_us=2000 events=0x0", length, "2000000 7 del 0xa");
        struct import_run run = import_good(text, NULL);
        char *operations = import_run_operations(&run);
        assert_string_equal(operations, "0,0,start,2\n1,0,stop\n");
        free(operations);
        import_run_free(&run);
    }
}

/* In any order of lines, a reaction is at the tick at which an exact structure fires its cause. */
static void lines_in_any_order(void **state)
{
    (void)state;
    uint64_t reactions = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
        char *text = NULL;
        size_t bytes;
        FILE *stream = open_memstream(&text, &bytes);
        uint64_t time_ns = 1000000000;
        (void)fprintf(stream, "%" PRIu64 " 1 add 0x1 timeout_us=1 events=0x0\n", time_ns);
        for (int i = 0; i < 2000; i++) {
            time_ns += next_random(&random) % (1u << (seed % 24 + 1));
            unsigned process = 1 + (unsigned)(next_random(&random) % 2);
            unsigned timer = 1 + (unsigned)(next_random(&random) % 6);
            unsigned events = (timer & 1) != 0 ? 0x10 : 0;
            switch (next_random(&random) % 8) {
            case 0:
                (void)fprintf(stream, "%" PRIu64 " %u del %x\n", time_ns, process, timer);
                break;
            case 1:
                (void)fprintf(stream, "%" PRIu64 " %u assign %x events=0x0\n", time_ns, process,
                              timer);
                break;
            case 2:
            case 3:
            case 4:
                (void)fprintf(stream, "%" PRIu64 " %u fire %x what=0x%x events=0x%x\n", time_ns,
                              process, timer, next_random(&random) % 8 == 0 ? 2 : 1, events);
                break;
            default:
                (void)fprintf(stream, "%" PRIu64 " %u add %x timeout_us=%" PRIu64 " events=0x%x\n",
                              time_ns, process, timer, next_random(&random) % 20000, events);
                break;
            }
        }
        (void)fclose(stream);
        print_message("seed %" PRIu64 "\n", seed);
        struct import_run run = import_good(text, NULL);
        assert_int_equal(run.header.reactions, import_run_number(&run, "counts.reactions"));
        reactions += run.header.reactions;
        import_run_free(&run);
        free(text);
    }
    assert_true(reactions > 10000); /* or this has tested nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callbacks_react),
        cmocka_unit_test(persistent_events_keep_their_rate),
        cmocka_unit_test(firings_that_come_early),
        cmocka_unit_test(some_do_not_fit_and_are_external),
        cmocka_unit_test(memory_used_again_is_another_timer),
        cmocka_unit_test(deadlines_by_a_coarse_clock),
        cmocka_unit_test(records_say_whose_callback_it_was),
        cmocka_unit_test(lines_of_any_length),
        cmocka_unit_test(lines_in_any_order),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_files_remove();
    return failed;
}
