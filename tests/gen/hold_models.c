/* hold_models.c: the event sets of hold's models markov and up-down, compared with their laws. The
 * trace is read start by start; an exact timekeeper counts the expiries. */
#include "gen_expect.h"

#include "gen.h"
#include "trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

struct start {
    uint64_t tick;
    uint64_t delay;
    uint32_t id;
    struct trace_cause cause;
};

struct timeline {
    struct trace_header header;
    json_t *origin;
    struct start *starts; /* by tick; those of the warm-up section are the first `warm` */
    size_t count;
    size_t warm;
};

/* Generate hold with these settings, and read it: it must contain only starts. */
static void observe(struct timeline *timeline, uint32_t events, double seconds,
                    const char *const *settings)
{
    struct error error = {""};
    struct gen_part part = {.workload = gen_find("hold", &error), .connections = events};
    assert_non_null(part.workload);
    gen_parameters_default(part.workload, part.parameters);
    for (; *settings != NULL; settings++) {
        if (!gen_parameter_set(part.workload, part.parameters, *settings, NULL, &error)) {
            fail_msg("%s", error.text);
        }
    }
    const struct gen_request request = {
        .parts = &part, .part_count = 1, .seconds = seconds, .seed = 5};
    struct gen_summary summary;
    if (!gen_trace(&request, path, &summary, &error)) {
        fail_msg("%s", error.text);
    }
    struct trace_reader *reader = trace_reader_open(path, &error);
    assert_non_null(reader);
    *timeline = (struct timeline){.header = *trace_reader_header(reader)};
    timeline->origin = json_loads(timeline->header.origin, 0, NULL);
    timeline->starts = calloc(timeline->header.events + 1, sizeof *timeline->starts);
    assert_true(timeline->origin != NULL && timeline->starts != NULL);
    struct trace_block block;
    int got;
    while ((got = trace_reader_next(reader, &block, &error)) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++) {
                static const struct trace_cause outside = {.basis = TRACE_EXTERNAL};
                assert_int_equal(block.records[i].op, TRACE_START);
                timeline->warm += group->tick < timeline->header.warmup_end_tick;
                timeline->starts[timeline->count++] =
                    (struct start){.tick = group->tick,
                                   .delay = block.records[i].deadline - group->tick,
                                   .id = block.records[i].id,
                                   .cause = block.causes != NULL ? block.causes[i] : outside};
            }
        }
    }
    assert_int_equal(got, 0);
    trace_reader_close(reader);
}

static void forget(struct timeline *timeline)
{
    free(timeline->starts);
    json_decref(timeline->origin);
}

/* The ticks at which timers fire up to the trace's end, sorted: nothing is stopped or moved. */
static uint64_t *sorted_firings(const struct timeline *timeline, size_t *count)
{
    uint64_t *firings = malloc((timeline->count + 1) * sizeof *firings);
    assert_non_null(firings);
    *count = 0;
    for (size_t i = 0; i < timeline->count; i++) {
        uint64_t due = timeline->starts[i].tick + timeline->starts[i].delay;
        if (due < timeline->header.end_tick) {
            firings[(*count)++] = due;
        }
    }
    qsort(firings, *count, sizeof *firings, compare_ticks);
    return firings;
}

/* --- markov ---------------------------------------------------------------------------------- */

/* The number of expiries that are followed by `n` starts; MANY: or more. */
enum { MANY = 4 };

static void count_runs(const struct timeline *timeline, double *runs, size_t *fired)
{
    free(sorted_firings(timeline, fired));
    for (unsigned k = 0; k <= MANY; k++) {
        runs[k] = 0;
    }
    size_t followed = 0;
    for (size_t i = timeline->warm; i < timeline->count;) {
        const struct start *first = &timeline->starts[i];
        size_t run = 0;
        while (i < timeline->count && timeline->starts[i].tick == first->tick &&
               timeline->starts[i].cause.id == first->cause.id) {
            assert_int_equal(timeline->starts[i].cause.basis, TRACE_FIXED_DELAY);
            i++;
            run++;
        }
        /* The expired timer always comes last. */
        assert_int_equal(timeline->starts[i - 1].id, first->cause.id);
        runs[run < MANY ? run : MANY]++;
        followed++;
    }
    runs[0] = (double)(*fired - followed);
}

/* No start finds its timer pending, and only the expired timer is one used before. */
static void expect_timers_of_its_own(const struct timeline *timeline)
{
    uint64_t *due = calloc(timeline->header.ids, sizeof *due);
    assert_non_null(due);
    for (size_t i = 0; i < timeline->count; i++) {
        const struct start *start = &timeline->starts[i];
        assert_true(due[start->id] <= start->tick);
        assert_true(due[start->id] == 0 || start->id == start->cause.id);
        due[start->id] = start->tick + start->delay;
    }
    free(due);
}

/* An expiry is followed by no start with probability 1 - a, and by each further start with the same
 * probability: the runs of a chain that continues with 1 - a. */
static void markov_runs_have_the_chains_lengths(void **state)
{
    (void)state;
    static const double alternates[] = {1, 0.5, 0.2};
    for (size_t i = 0; i < sizeof alternates / sizeof alternates[0]; i++) {
        double a = alternates[i];
        char setting[32];
        (void)snprintf(setting, sizeof setting, "alternate=%g", a);
        const char *const settings[] = {"model=markov", setting, NULL};
        struct timeline timeline;
        double runs[MANY + 1];
        size_t fired;
        observe(&timeline, 10000, 10, settings);
        assert_int_equal(timeline.warm, 10000);
        assert_int_equal(count_of(timeline.origin, "forced"), 0);
        assert_int_equal(timeline.header.reactions, timeline.count - timeline.warm);
        assert_int_equal(count_of(timeline.origin, "holds"), timeline.count - timeline.warm);
        expect_timers_of_its_own(&timeline);
        count_runs(&timeline, runs, &fired);
        double n = (double)fired;
        double share = a * a;
        expect_share(runs[0], n, 1 - a);
        for (unsigned k = 1; k < MANY; k++) {
            expect_share(runs[k], n, share);
            share *= 1 - a;
        }
        expect_share(runs[MANY], n, share / a);
        double delays = 0;
        for (size_t k = timeline.warm; k < timeline.count; k++) {
            delays += (double)timeline.starts[k].delay;
        }
        /* Exponential of mean 1000, rounded up. */
        expect_close(delays / (double)(timeline.count - timeline.warm), 1000.5, 0.02);
        forget(&timeline);
    }
}

/* With few events and long runs the limits are reached: never none, and never more than two for a
 * connection. */
static void markov_keeps_within_its_bounds(void **state)
{
    (void)state;
    static const char *const settings[] = {"model=markov", "alternate=0.02", NULL};
    struct timeline timeline;
    observe(&timeline, 5, 2000, settings);
    size_t fired;
    uint64_t *firings = sorted_firings(&timeline, &fired);
    size_t gone = 0;
    size_t most = 0;
    size_t least = SIZE_MAX;
    for (size_t i = timeline.warm; i < timeline.count; i++) {
        while (gone < fired && firings[gone] <= timeline.starts[i].tick) {
            gone++;
        }
        /* After several expiries at one tick the last ones' starts are still to come. */
        if (i + 1 == timeline.count || timeline.starts[i + 1].tick > timeline.starts[i].tick) {
            size_t pending = i + 1 - gone;
            most = pending > most ? pending : most;
            least = pending < least ? pending : least;
        }
    }
    assert_int_equal(most, 10);
    assert_true(least >= 1);
    assert_true(count_of(timeline.origin, "forced") > 0);
    /* The last event was always followed by one: the set never becomes empty. */
    assert_true(timeline.count > fired);
    free(firings);
    forget(&timeline);
}

/* --- up-down --------------------------------------------------------------------------------- */

/* Rises without an expiry, falls without a start, and rises again at the next tick. */
static void up_down_rises_to_all_and_falls_to_none(void **state)
{
    (void)state;
    static const struct {
        const char *setting;
        uint64_t up_ticks;
    } rows[] = {{"up_ms=1000", 1000}, {"up_ms=0", 0}, {"up_ms=7.5", 7}};
    enum { EVENTS = 3000 };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const char *const settings[] = {"model=up-down", rows[r].setting, "increments=uniform",
                                        NULL};
        struct timeline timeline;
        observe(&timeline, EVENTS, 60, settings);
        assert_int_equal(timeline.warm, 0);
        assert_int_equal(timeline.header.reactions, 0);
        assert_int_equal(count_of(timeline.origin, "holds"), timeline.count);
        uint64_t from = timeline.header.warmup_end_tick;
        uint64_t cycles = 0;
        double below = 0;
        double increments = 0;
        bool *used = calloc(timeline.header.ids, sizeof *used);
        assert_non_null(used);
        for (size_t i = 0; i + EVENTS <= timeline.count; i += EVENTS) {
            uint64_t up_end = from + rows[r].up_ticks;
            uint64_t last = 0;
            assert_true(timeline.starts[i].tick >= from);
            for (size_t k = i; k < i + EVENTS; k++) {
                const struct start *start = &timeline.starts[k];
                assert_true(start->tick <= up_end);
                assert_false(used[start->id]); /* a late structure may still hold it */
                used[start->id] = true;
                uint64_t increment = start->tick + start->delay - up_end;
                assert_in_range(increment, 1, 2001);
                below += increment <= 500;
                increments++;
                last = start->tick + start->delay > last ? start->tick + start->delay : last;
            }
            /* Spread: about half of them in the first half. */
            if (rows[r].up_ticks == 1000) {
                double early = 0;
                for (size_t k = i; k < i + EVENTS; k++) {
                    early += timeline.starts[k].tick < from + 500;
                }
                expect_share(early, EVENTS, 0.5);
            }
            cycles += last < timeline.header.end_tick;
            from = last + 1;
        }
        expect_share(below, increments, 0.25);
        assert_true(cycles >= 19);
        assert_int_equal(count_of(timeline.origin, "cycles"), cycles);
        free(used);
        forget(&timeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markov_runs_have_the_chains_lengths),
        cmocka_unit_test(markov_keeps_within_its_bounds),
        cmocka_unit_test(up_down_rises_to_all_and_falls_to_none),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
