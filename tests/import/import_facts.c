/* Importing logs and captures that do not belong to the project, if they are present: every count
 * compared with the independently computed facts next to them. */
#include "import_run.h"

#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder(void)
{
    const char *given = getenv("TIMERLAB_TRACES");
    return given != NULL ? given : TL_SOURCE_DIR "/../shared/traces";
}

/* A file, how it is imported, and the name of its facts. */
static const struct {
    const char *file;
    const char *facts;
    const char *format;
    const char *settings[7];
} idle_logs[] = {
    {"weblog_elastic_sample.combined.log", NULL, "access-log", {NULL}},
    {"weblog_nasa_jul95_excerpts.clf.log", NULL, "access-log", {NULL}},
    {"weblog_nasa_19950801_0200-1000.tsv", NULL, "events", {"time", "time", "key", "host", NULL}},
    {"blockio_cloudphysics_hour1.csv",
     NULL,
     "events",
     {"time", "ts_us", "time-unit", "us", "key", "lbn", NULL}},
    {"zeek_rita_http_part1.log",
     "zeek_rita_http_part1.log.host",
     "events",
     {"key", "id.orig_h", NULL}},
    {"zeek_rita_http_part1.log", "zeek_rita_http_part1.log.uid", "events", {"key", "uid", NULL}},
    {"zeek_wrccdc_ssl_part1.log",
     "zeek_wrccdc_ssl_part1.log.host",
     "events",
     {"key", "id.orig_h", NULL}},
    {"zeek_wrccdc_ssl_part1.log", "zeek_wrccdc_ssl_part1.log.uid", "events", {"key", "uid", NULL}},
};

/* Our names of counts, and the facts'. */
struct name_pair {
    const char *ours;
    const char *theirs;
};

static const struct name_pair file_counts[] = {
    {"counts.keys", "distinct_keys"},
    {"counts.events", "events"},
    {"counts.out_of_order", "out_of_order_events"},
};

static const struct name_pair idle_counts[] = {
    {"counts.sessions", "arms"},
    {"counts.rearms", "rearms"},
    {"counts.expired_by_last_event", "expiries_by_last_event"},
    {"counts.armed_at_last_event", "remaining_at_last_event"},
    {"counts.max_armed", "max_armed"},
};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void compare(const char *what, const struct import_run *run, const struct name_pair *names,
                    size_t count, const json_t *facts)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *fact = json_object_get(facts, names[i].theirs);
        int64_t value = import_run_number(run, names[i].ours);
        assert_non_null(fact);
        if (value != json_integer_value(fact)) {
            fail_msg("%s: %s is %" PRId64 ", the facts say %" PRId64, what, names[i].ours, value,
                     (int64_t)json_integer_value(fact));
        }
    }
}

/* Import a file with additional settings. */
static struct import_run run_file(const char *file, const char *format, const char *const *own,
                                  const char *const *more)
{
    char path[512];
    const char *settings[32];
    size_t count = 0;
    while (*own != NULL) {
        settings[count++] = *own++;
    }
    while (*more != NULL) {
        settings[count++] = *more++;
    }
    settings[count] = NULL;
    (void)snprintf(path, sizeof path, "%s/%s.xz", folder(), file);
    struct import_run run = import_run(format, path, settings);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    return run;
}

/* From "T60s_g1ms" or "R200ms_g1ns" to a timeout (in the unit of the letter) and a tick. False for
 * any other name. */
static bool read_case(const char *name, char letter, char timeout[16], char tick_ns[16])
{
    unsigned number;
    char unit[4];
    char grain[4];
    if (name[0] != letter || sscanf(name + 1, "%u%2[ms]_g1%2[mns]", &number, unit, grain) != 3) {
        return false;
    }
    (void)snprintf(timeout, 16, "%u", number);
    (void)snprintf(tick_ns, 16, "%s",
                   strcmp(grain, "s") == 0    ? "1000000000"
                   : strcmp(grain, "ms") == 0 ? "1000000"
                                              : "1");
    return true;
}

/* In a replay the structures fire the timers that the model reports: all starts except those that
 * were restarted or stopped. Counted here by the reference: the order of deadlines. */
static void check_trace(const struct import_run *run, const json_t *facts)
{
    int64_t starts = json_integer_value(json_object_get(facts, "arms")) +
                     json_integer_value(json_object_get(facts, "rearms"));
    assert_int_equal(run->header.starts, starts);
    assert_int_equal(run->header.stops, 0);
}

static void idle_timers_of_logs(void **state)
{
    for (size_t i = 0; i < LENGTH(idle_logs); i++) {
        const char *name = idle_logs[i].facts != NULL ? idle_logs[i].facts : idle_logs[i].file;
        const json_t *facts = json_object_get(*state, name);
        assert_non_null(facts);
        size_t cases = 0;
        const char *key;
        const json_t *of_case;
        json_object_foreach((json_t *)facts, key, of_case)
        {
            char timeout[16];
            char tick_ns[16];
            if (!read_case(key, 'T', timeout, tick_ns)) {
                continue;
            }
            cases++;
            struct import_run run =
                run_file(idle_logs[i].file, idle_logs[i].format, idle_logs[i].settings,
                         (const char *const[]){"idle", timeout, "tick-ns", tick_ns, NULL});
            char what[128];
            (void)snprintf(what, sizeof what, "%s %s", name, key);
            compare(what, &run, file_counts, LENGTH(file_counts), facts);
            compare(what, &run, idle_counts, LENGTH(idle_counts), of_case);
            assert_int_equal(
                import_run_number(&run, "max_backward_ns"),
                (int64_t)(json_real_value(json_object_get(facts, "max_backward_s")) * 1e9 + 0.5));
            assert_int_equal(import_run_number(&run, "counts.too_late"), 0);
            assert_int_equal(import_run_number(&run, "counts.malformed_lines"), 0);
            check_trace(&run, of_case);
            import_run_free(&run);
        }
        assert_int_equal(cases, 6);
    }
}

/* However late a structure fires, no start of a request finds the timer of another in it. */
static void check_ids_of_requests(const struct import_run *run)
{
    struct error error;
    struct trace_reader *reader = trace_reader_open(run->output, &error);
    assert_non_null(reader);
    bool *held = calloc(run->header.ids, sizeof *held);
    assert_non_null(held);
    struct trace_block block;
    while (trace_reader_next(reader, &block, &error) == 1) {
        for (size_t i = 0; i < block.record_count; i++) {
            const struct trace_record *record = &block.records[i];
            assert_int_equal(held[record->id], record->op == TRACE_STOP);
            held[record->id] = record->op == TRACE_START;
        }
    }
    free(held);
    trace_reader_close(reader);
}

static void request_timers_of_a_dns_log(void **state)
{
    static const struct name_pair counts[] = {
        {"counts.requests", "arms"},
        {"counts.requests_stopped", "cancels"},
        {"counts.requests_expired", "expiries"},
        {"counts.max_requests_armed", "max_armed"},
    };
    const json_t *facts = json_object_get(*state, "zeek_wrccdc_dns_part1.log");
    size_t cases = 0;
    const char *key;
    const json_t *of_case;
    json_object_foreach((json_t *)facts, key, of_case)
    {
        char timeout[16];
        char tick_ns[16];
        if (!read_case(key, 'T', timeout, tick_ns)) {
            continue;
        }
        cases++;
        struct import_run run = run_file(
            "zeek_wrccdc_dns_part1.log", "events", (const char *const[]){"duration", "rtt", NULL},
            (const char *const[]){"timeout", timeout, "tick-ns", tick_ns, NULL});
        compare(key, &run, counts, LENGTH(counts), of_case);
        assert_int_equal(import_run_number(&run, "counts.requests_unanswered"), 7649);
        assert_int_equal(import_run_number(&run, "counts.out_of_order"), 1950);
        assert_int_equal(run.header.starts, 30000);
        assert_int_equal(run.header.stops, import_run_number(&run, "counts.requests_stopped"));
        /* A timer serves one request after the other, as long as answers end them. */
        int64_t expired = import_run_number(&run, "counts.requests_expired");
        assert_in_range(run.header.ids, expired,
                        expired + import_run_number(&run, "counts.max_requests_armed"));
        check_ids_of_requests(&run);
        import_run_free(&run);
    }
    assert_int_equal(cases, 3);
}

static const char *const captures[] = {
    "lo_loss3_mixed.pcap",
    "pcap_ndpi_dnscrypt.pcap",
    "pcap_ndpi_skype.pcap",
    "pcap_ndpi_wechat.pcap",
};

static void idle_timers_of_captures(void **state)
{
    static const struct name_pair packets[] = {
        {"counts.lines", "packets"},
        {"packets.tcp", "tcp_packets"},
        {"packets.udp", "udp_packets"},
        {"packets.other", "other_packets"},
        {"packets.truncated", "truncated_packets"},
    };
    for (size_t i = 0; i < LENGTH(captures); i++) {
        const json_t *facts = json_object_get(*state, captures[i]);
        const json_t *idle = json_object_get(facts, "idle");
        const char *key;
        const json_t *of_case;
        size_t cases = 0;
        json_object_foreach((json_t *)idle, key, of_case)
        {
            char timeout[16];
            char tick_ns[16];
            if (!read_case(key, 'T', timeout, tick_ns)) {
                continue;
            }
            cases++;
            struct import_run run =
                run_file(captures[i], "pcap", (const char *const[]){NULL},
                         (const char *const[]){"idle", timeout, "tick-ns", tick_ns, NULL});
            compare(captures[i], &run, packets, LENGTH(packets), facts);
            compare(captures[i], &run, file_counts, LENGTH(file_counts), idle);
            compare(captures[i], &run, idle_counts, LENGTH(idle_counts), of_case);
            check_trace(&run, of_case);
            import_run_free(&run);
        }
        assert_int_equal(cases, 6);
    }
}

static void retransmission_timers_of_captures(void **state)
{
    static const struct name_pair counts[] = {
        {"counts.arm", "arm"},
        {"counts.rearm", "rearm"},
        {"counts.cancel", "cancel"},
        {"counts.cancel_reset", "cancel_reset"},
        {"counts.expiry", "expiry"},
        {"counts.retransmissions", "retransmissions"},
        {"counts.data_segments", "data_segments"},
        {"counts.max_armed", "max_armed"},
        {"counts.armed_at_end", "armed_at_end"},
    };
    size_t cases = 0;
    for (size_t i = 0; i < LENGTH(captures); i++) {
        const json_t *facts = json_object_get(json_object_get(*state, captures[i]), "rto");
        const char *key;
        const json_t *of_case;
        json_object_foreach((json_t *)facts, key, of_case)
        {
            char timeout[16];
            char tick_ns[16];
            assert_true(read_case(key, 'R', timeout, tick_ns));
            if (json_integer_value(json_object_get(of_case, "data_segments")) == 0) {
                continue; /* no TCP in it, which is refused */
            }
            cases++;
            struct import_run run =
                run_file(captures[i], "pcap", (const char *const[]){"model", "rto", NULL},
                         (const char *const[]){"rto-ms", timeout, "tick-ns", tick_ns, NULL});
            compare(captures[i], &run, counts, LENGTH(counts), of_case);
            assert_int_equal(run.header.starts,
                             json_integer_value(json_object_get(of_case, "arm")) +
                                 json_integer_value(json_object_get(of_case, "rearm")));
            assert_int_equal(run.header.stops,
                             json_integer_value(json_object_get(of_case, "cancel")) +
                                 json_integer_value(json_object_get(of_case, "cancel_reset")));
            import_run_free(&run);
        }
    }
    assert_int_equal(cases, 12);
}

static void timers_of_a_process(void **state)
{
    static const struct name_pair counts[] = {
        {"counts.records", "lines"},
        {"counts.malformed_records", "malformed"},
        {"counts.pointers", "distinct_pointers"},
        {"counts.addresses", "distinct_pointers_with_timeout"},
        {"counts.without_timeout", "add_without_timeout"},
        {"counts.arm", "arm"},
        {"counts.expiry", "expiry"},
        {"counts.stop_not_armed", "del_not_armed"},
        {"counts.cancel", "cancel"},
        {"counts.expiry_unknown", "expiry_unknown"},
        {"counts.armed_at_end", "armed_at_end"},
        {"counts.max_armed", "max_armed"},
        {"counts.time_goes_back", "timestamp_goes_back"},
    };
    const json_t *facts = json_object_get(*state, "libevent_unbound.evshim.txt");
    struct import_run run = run_file("libevent_unbound.evshim.txt", "process",
                                     (const char *const[]){NULL}, (const char *const[]){NULL});
    compare("libevent_unbound", &run, counts, LENGTH(counts), facts);
    assert_int_equal(run.header.starts, json_integer_value(json_object_get(facts, "arm")));
    assert_int_equal(run.header.stops, json_integer_value(json_object_get(facts, "cancel")));
    assert_int_equal(import_run_number(&run, "counts.rearm"), 0);
    assert_int_equal(import_run_number(&run, "counts.cancel_by_io"), 0);
    assert_int_equal(import_run_number(&run, "counts.persist_rearm"), 0);
    /* Each callback of a timeout starts one timer, never its own; packets start and
     * stop the rest. */
    assert_int_equal(run.header.reactions, import_run_number(&run, "counts.expiry"));
    assert_int_equal(import_run_number(&run, "counts.cause_unknown"), 0);
    assert_int_equal(import_run_number(&run, "counts.cause_crossed"), 0);
    import_run_check_causes(&run);
    import_run_free(&run);
    /* By its own clock, of 4 ms, the program fired when an exact structure does. */
    run = run_file("libevent_unbound.evshim.txt", "process",
                   (const char *const[]){"clock-ns", "4000000", "tick-ns", "1000", NULL},
                   (const char *const[]){NULL});
    assert_in_range(import_run_number(&run, "counts.expiry_on_time"),
                    import_run_number(&run, "counts.expiry") * 995 / 1000, INT64_MAX);
    import_run_free(&run);
}

int main(void)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/facts.json", folder());
    if (access(path, R_OK) != 0) {
        (void)fprintf(stderr, "skipped: %s is not here; TIMERLAB_TRACES says where it is\n", path);
        return 77;
    }
    json_t *facts = json_load_file(path, 0, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(idle_timers_of_logs, facts),
        cmocka_unit_test_prestate(request_timers_of_a_dns_log, facts),
        cmocka_unit_test_prestate(idle_timers_of_captures, facts),
        cmocka_unit_test_prestate(retransmission_timers_of_captures, facts),
        cmocka_unit_test_prestate(timers_of_a_process, facts),
    };
    int failed = facts == NULL || cmocka_run_group_tests(tests, NULL, NULL) != 0;
    json_decref(facts);
    temporary_files_remove();
    return failed;
}
