/* Importing recordings that do not belong to the project, if they are present: every count compared
 * with the independently computed facts next to them. */
#include "import_run.h"
#include "line_reader.h"
#include "trace_info.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder(void)
{
    const char *given = getenv("TIMERLAB_TRACES");
    return given != NULL ? given : TL_SOURCE_DIR "/../shared/traces";
}

static void compare(const struct import_run *run, const char *ours, const json_t *fact)
{
    int64_t expected = fact != NULL ? (int64_t)json_integer_value(fact) : 0;
    int64_t value = import_run_number(run, ours);
    if ((value < 0 ? 0 : value) != expected) {
        fail_msg("%s is %lld, the facts say %lld", ours, (long long)value, (long long)expected);
    }
}

/* Our names of counts, and where the facts have them. */
static const struct {
    const char *ours;
    const char *section; /* NULL: the file's own */
    const char *theirs;
} wheel_facts[] = {
    {"counts.lines", NULL, "lines"},
    {"counts.malformed_lines", NULL, "unparsed_lines"},
    {"counts.lost_markers", NULL, "lost_markers"},
    {"counts.lost_events", NULL, "lost_events_reported"},
    {"counts.time_goes_back", NULL, "timestamp_goes_back"},
    {"counts.timer_start", "events", "timer_start"},
    {"counts.timer_cancel", "events", "timer_cancel"},
    {"counts.timer_expire_entry", "events", "timer_expire_entry"},
    {"counts.hrtimer_start", "events", "hrtimer_start"},
    {"counts.hrtimer_cancel", "events", "hrtimer_cancel"},
    {"counts.hrtimer_expire_entry", "events", "hrtimer_expire_entry"},
    {"counts.timers", "wheel", "distinct_pointers"},
    {"counts.starts", "wheel", "starts"},
    {"counts.arm", "wheel", "arm"},
    {"counts.rearm", "wheel", "rearm"},
    {"counts.start_on_armed", "wheel", "start_on_armed"},
    {"counts.cancels", "wheel", "cancels_raw"},
    {"counts.true_cancel", "wheel", "true_cancel"},
    {"counts.expiry", "wheel", "expiry"},
    {"counts.expiry_bare", "wheel", "expiry_bare"},
    {"counts.armed_before_start", "wheel", "armed_before_start"},
    {"counts.armed_at_end", "wheel", "armed_at_end"},
    {"counts.max_armed", "wheel", "max_armed"},
};

static const char *const function_counts[] = {
    "start", "arm", "rearm", "start_on_armed", "true_cancel", "expiry", "armed_at_end",
};

static void compare_functions(const struct import_run *run, const json_t *facts)
{
    const char *name;
    const json_t *row;
    assert_true(json_object_size(facts) > 0);
    json_object_foreach((json_t *)facts, name, row)
    {
        for (size_t i = 0; i < sizeof function_counts / sizeof function_counts[0]; i++) {
            char ours[128];
            (void)snprintf(ours, sizeof ours, "functions.%s.%s", name, function_counts[i]);
            compare(run, ours, json_object_get(row, function_counts[i]));
        }
    }
}

/* The number of operations that the rule finds to be caused by an expiry, and of started timers
 * that an exact structure fires. */
static const struct {
    const char *file;
    int64_t caused;
    uint64_t fired;
} causes[] = {
    {"ktimer_churn_timewait.perfscript.txt", 1038, 11253},
    {"ktimer_loss3_mixed.tracecmd.txt", 3577, 67222},
    {"ktimer_nginx_keepalive.ftrace.txt", 2210, 66197},
    {"ktimer_lossy_buffer.tracepipe.txt", 10, 32},
};

static void compare_causes(const struct import_run *run, const char *file)
{
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        if (strcmp(causes[i].file, file) == 0) {
            struct error error;
            struct trace_info info;
            struct trace_reader *reader = trace_reader_open(run->output, &error);
            assert_non_null(reader);
            assert_true(trace_info_collect(reader, &info, NULL, &error));
            trace_reader_close(reader);
            assert_int_equal(import_run_number(run, "counts.caused"), causes[i].caused);
            assert_int_equal(run->header.reactions, import_run_number(run, "counts.reactions"));
            assert_int_equal(info.misplaced, 0);
            assert_int_equal(info.fired, causes[i].fired);
            return;
        }
    }
    fail_msg("%s: what is caused in it has not been counted", file);
}

static void check_recording(const char *file, const json_t *facts)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s.xz", folder(), file);
    struct import_run run = import_run("ftrace", path, NULL);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    for (size_t i = 0; i < sizeof wheel_facts / sizeof wheel_facts[0]; i++) {
        const json_t *section =
            wheel_facts[i].section == NULL ? facts : json_object_get(facts, wheel_facts[i].section);
        compare(&run, wheel_facts[i].ours, json_object_get(section, wheel_facts[i].theirs));
    }
    const json_t *wheel = json_object_get(facts, "wheel");
    compare(&run, "counts.cancel_on_idle",
            json_object_get(json_object_get(wheel, "anomalies"), "cancel_on_idle"));
    compare_functions(&run, json_object_get(facts, "by_function"));
    compare_causes(&run, file);
    assert_int_equal(import_run_number(&run, "hz"), 250);
    assert_int_equal(run.header.tick_ns, 4000000);
    assert_int_equal(run.header.starts, json_integer_value(json_object_get(wheel, "starts")));
    import_run_free(&run);

    const json_t *hrtimer = json_object_get(facts, "hrtimer");
    if (json_integer_value(json_object_get(hrtimer, "starts")) > 0) {
        const char *const settings[] = {"timers", "hrtimer", NULL};
        run = import_run("ftrace", path, settings);
        assert_int_equal(run.result, IMPORT_DONE);
        compare(&run, "counts.starts", json_object_get(hrtimer, "starts"));
        compare(&run, "counts.cancels", json_object_get(hrtimer, "cancels"));
        compare(&run, "counts.expiry", json_object_get(hrtimer, "expiries"));
        compare(&run, "counts.timers", json_object_get(hrtimer, "distinct_pointers"));
        /* The kernel's own tick is periodic, unless the CPU is idle; sleepers are not. */
        int64_t periodic = import_run_number(&run, "functions.tick_nohz_handler.caused");
        assert_true(periodic * 10 >
                    import_run_number(&run, "functions.tick_nohz_handler.expiry") * 9);
        compare(&run, "functions.hrtimer_wakeup.caused", NULL);
        const char *name;
        const json_t *starts;
        json_object_foreach(json_object_get(hrtimer, "start_by_function"), name, starts)
        {
            char ours[128];
            (void)snprintf(ours, sizeof ours, "functions.%s.start", name);
            compare(&run, ours, starts);
        }
        import_run_free(&run);
    }
}

static void counts_are_those_of_the_facts(void **state)
{
    const json_t *facts = *state;
    size_t checked = 0;
    const char *file;
    const json_t *of_file;
    json_object_foreach((json_t *)facts, file, of_file)
    {
        if (strncmp(file, "ktimer_", 7) == 0) {
            check_recording(file, of_file);
            checked++;
        }
    }
    assert_true(checked > 0);
}

/* The ends of callbacks are recorded here, so that their operations are known; without them the
 * rule finds the same. */
static void the_rule_needs_no_exits(void **state)
{
    (void)state;
    char path[512];
    struct error error;
    (void)snprintf(path, sizeof path, "%s/%s.xz", folder(), causes[0].file);
    struct line_reader *reader = line_reader_open(path, &error);
    const char *without = temporary_path("without-exits.txt");
    FILE *out = fopen(without, "w");
    assert_non_null(reader);
    assert_non_null(out);
    struct line line;
    while (line_reader_next(reader, &line, &error) == 1) {
        const char *event = memmem(line.text, line.length, ":timer_", 7);
        if (event != NULL && memmem(event, 20, "_expire_exit", 12) == NULL) {
            (void)fprintf(out, "%.*s\n", (int)line.length, line.text);
        }
    }
    line_reader_close(reader);
    assert_int_equal(fclose(out), 0);
    struct import_run run = import_run("ftrace", without, NULL);
    assert_int_equal(run.result, IMPORT_DONE);
    assert_int_equal(import_run_number(&run, "counts.timer_expire_exit"), 0);
    assert_int_equal(import_run_number(&run, "counts.timer_expire_entry"), 12082);
    compare_causes(&run, causes[0].file);
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
        cmocka_unit_test_prestate(counts_are_those_of_the_facts, facts),
        cmocka_unit_test(the_rule_needs_no_exits),
    };
    int failed = facts == NULL || cmocka_run_group_tests(tests, NULL, NULL) != 0;
    json_decref(facts);
    temporary_files_remove();
    return failed;
}
