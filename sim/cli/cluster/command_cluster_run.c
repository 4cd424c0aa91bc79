/* timerlab cluster run: the protocols, by real processes on a real engine, and killed. */
#include "cluster_rows.h"
#include "command.h"
#include "run.h"
#include "temporary_file.h"

#include <string.h>

enum run_clock { CLOCK_STEPS, CLOCK_REAL };

struct run_arguments {
    struct cluster_arguments common;
    const char *engine;
    struct run_plan plan;
    enum run_clock clock;
    double lease_ms;
    double pause_ms;
    double scan_s;
    double backoff_ms;
    double later_ms;
    double poll_ms;
};

/* Refuse a protocol with steps that the engine lacks. */
static void check_protocols(struct run_arguments *arguments, struct argp_state *state)
{
    struct run_plan plan = arguments->plan;
    for (size_t i = 0; i < arguments->common.count; i++) {
        char can[256] = "";
        size_t count;
        const char *name = arguments->common.protocols[i]->name;
        const struct cluster_protocol *all = cluster_protocols(&count);
        for (size_t k = 0; k < count; k++) {
            size_t used = strlen(can);
            if (run_plan_protocol(&plan, &all[k])) {
                (void)snprintf(can + used, sizeof can - used, " %s", all[k].name);
            }
        }
        if (!run_plan_protocol(&plan, arguments->common.protocols[i])) {
            argp_error(state,
                       "%s does not have the steps of %s, but of%s. `timerlab cluster check %s` "
                       "goes through it on paper",
                       plan.engine->name, name, can, name);
        }
    }
}

static void complete(void *at, struct argp_state *state)
{
    struct run_arguments *arguments = at;
    struct run_plan *plan = &arguments->plan;
    if (arguments->common.count == 0) {
        cluster_take_word(arguments, "lease", state);
    }
    plan->engine = engine_find(arguments->engine, &arguments->common.error);
    if (plan->engine == NULL || !plan->engine->is_installed(&arguments->common.error)) {
        argp_error(state, "%s", arguments->common.error.text);
        return;
    }
    check_protocols(arguments, state);
    plan->steps_are_time = arguments->clock == CLOCK_STEPS;
    plan->steps.lease_ms = (uint64_t)arguments->lease_ms;
    plan->scan_ms = (uint64_t)(arguments->scan_s * 1000);
    plan->later_ms = (uint64_t)arguments->later_ms;
    plan->backoff_ms = (uint64_t)arguments->backoff_ms;
    plan->poll_ms = (uint64_t)arguments->poll_ms;
    plan->pause_ms = arguments->pause_ms > 0 ? (uint64_t)arguments->pause_ms
                                             : plan->steps.lease_ms + plan->steps.lease_ms / 2;
}

#define OPTION_MS(shortest, longest) OPTION_TIME(1e6, shortest, longest)

#define AT(member)                   OPTION_AT(struct run_arguments, member)
static const struct option_row options[] = {
    {{"engine", 'e', "redis|postgres", 0,
      "The server that holds the table, started for the run (redis)", 0},
     .kind = OPTION_TEXT,
     AT(engine)},
    {{"timers", 'n', "N", 0,
      "Start at least N timers, and more until all faults have happened (10k)", 0},
     OPTION_WHOLE(1, 1000000000),
     AT(plan.timers)},
    {{"planners", 0, "N", 0, "Processes that start and stop timers (1)", 0},
     OPTION_WHOLE(1, 64),
     AT(plan.roles[RUN_PLANNER])},
    {{"schedulers", 0, "N", 0, "Processes that move due timers to the queue (2)", 0},
     OPTION_WHOLE(1, 64),
     AT(plan.roles[RUN_SCHEDULER])},
    {{"executors", 0, "N", 0, "Processes that call the service (3)", 0},
     OPTION_WHOLE(1, 64),
     AT(plan.roles[RUN_EXECUTOR])},
    {{"batch", 0, "N", 0, "Timers in a step (20)", 0}, OPTION_WHOLE(1, 1000), AT(plan.batch)},
    {{"waiting", 0, "N", 0, "Planners pause while N timers are waiting (10k)", 0},
     OPTION_WHOLE(1, 1000000000),
     AT(plan.waiting_max)},
    {{"clock", 0, "steps|real", 0,
      "steps: each step of a process is a millisecond, without waiting; real: the clock of this "
      "machine (steps)",
      0},
     .kind = OPTION_WORD,
     AT(clock)},
    {{"delay", 0, "MS", 0, "Longest delay of a timer (2000)", 0},
     OPTION_MS(1, 1e9),
     AT(plan.delay_ms)},
    {{"restarted", 0, "PERCENT", 0, "Timers that are moved before they fire (20)", 0},
     OPTION_PERCENT(0, 100),
     AT(plan.restarted)},
    {{"stopped", 0, "PERCENT", 0, "Timers that are stopped (20)", 0},
     OPTION_PERCENT(0, 100),
     AT(plan.stopped)},
    {{"errors", 0, "PERCENT", 0, "Calls that the service refuses (3)", 0},
     OPTION_PERCENT(0, 90),
     AT(plan.errors)},
    {{"replies-lost", 0, "PERCENT", 0, "Calls that the service executes without a reply (1)", 0},
     OPTION_PERCENT(0, 90),
     AT(plan.replies_lost)},
    {{"laters", 0, "PERCENT", 0,
      "Calls that the service answers with a later time; not with seed-fetch and seed-ack (0)", 0},
     OPTION_PERCENT(0, 90),
     AT(plan.laters)},
    {{"later", 0, "MS", 0, "How much later that time is (300)", 0},
     OPTION_MS(1, 1e9),
     AT(later_ms)},
    {{"payload", 0, "BYTES", 0, "Longest parameters of a call (65536)", 0},
     OPTION_WHOLE(0, 65536),
     AT(plan.payload_most)},
    {{"lease", 0, "MS", 0, "Length of an executor's lease (1500)", 0},
     OPTION_MS(1, 1e9),
     AT(lease_ms)},
    {{"backoff", 0, "MS", 0, "Pause before a second attempt; doubled before each further one (100)",
      0},
     OPTION_MS(1, 1e9),
     AT(backoff_ms)},
    {{"attempts", 0, "N", 0, "Attempts before a timer is given up (20)", 0},
     OPTION_WHOLE(1, 1000000),
     AT(plan.steps.attempts_max)},
    {{"poll", 0, "MS", 0, "Pause of a process that finds nothing to do (1)", 0},
     OPTION_MS(1, 1e9),
     AT(poll_ms)},
    {{"scan", 0, "SECONDS", 0,
      "Delay of the second pass of seed-fetch and seed-ack (0: no second pass)", 0},
     OPTION_REAL(0, 1e9),
     AT(scan_s)},
    {{"kills", 0, "N", 0,
      "How often to kill (-9) a planner, scheduler, executor, the service or the engine (0)", 0},
     OPTION_WHOLE(0, 1000000000),
     AT(plan.kills)},
    {{"pauses", 0, "N", 0, "How often to stop a planner, scheduler or executor for a while (0)", 0},
     OPTION_WHOLE(0, 1000000000),
     AT(plan.pauses)},
    {{"pause", 0, "MS", 0, "Length of such a stop (one and a half leases)", 0},
     OPTION_MS(1, 1e9),
     AT(pause_ms)},
    {{"every", 0, "N", 0, "Mean number of steps of a process before its fault (20)", 0},
     OPTION_WHOLE(1, 1000000000),
     AT(plan.every)},
    {{"seed", 0, "K", 0, "Seed of timers and faults (1)", 0},
     OPTION_WHOLE(0, UINT32_MAX),
     AT(plan.seed)},
    CLUSTER_OPTION_ROWS("run.csv and run.json"),
};

static const struct command_line syntax = {
    .options = options,
    .form = "[PROTOCOL...]",
    .text = "Runs a protocol for timers in a shared table on Redis or PostgreSQL. Planners, "
            "schedulers, executors and the service that they call are processes, and all of them "
            "are killed at random. Each keeps a journal, from which the result of each timer is "
            "read: lost, early, fired after a confirmed stop, called with another payload, or "
            "called more than once and why. Protocols: lease (the default), partitions, lists and "
            "owners must lose no timer and differ in how they claim; seed-fetch, seed-ack and "
            "ack-first lose timers.\vExit status: 0 done without a fault, 1 a timer was lost, "
            "early, fired after a confirmed stop or called again without a cause, 2 usage.",
    .take_word = cluster_take_word,
    .complete = complete,
};

/* --- rows ------------------------------------------------------------------------------------- */

static uint64_t sum(const uint64_t numbers[RUN_ROLES])
{
    uint64_t all = 0;
    for (int role = 0; role < RUN_ROLES; role++) {
        all += numbers[role];
    }
    return all;
}

static void add_row(struct cluster_table *row, const char *protocol, const struct run_plan *plan,
                    const struct run_result *result)
{
    char name[64];
    cluster_row_begin(row);
    cluster_row_text(row, protocol, "protocol");
    cluster_row_text(row, plan->engine->name, "engine");
    cluster_row_text(row, run_is_right(result) ? "ok" : "fault", "status");
    cluster_row_text(row, plan->steps_are_time ? "steps" : "real", "clock");
    cluster_row_count(row, plan->seed, "seed");
    cluster_row_count(row, result->started, "started");
    cluster_row_count(row, result->restarted, "restarted");
    cluster_row_count(row, result->stopped, "stopped");
    cluster_row_count(row, result->fired, "fired");
    cluster_row_count(row, result->dead, "dead");
    cluster_row_count(row, result->lost, "lost");
    cluster_row_count(row, result->early, "early");
    cluster_row_count(row, result->after_stop, "after_stop");
    cluster_row_count(row, result->garbled, "garbled");
    cluster_row_count(row, result->calls, "calls");
    cluster_row_count(row, result->errors, "errors");
    cluster_row_count(row, result->laters, "laters");
    cluster_row_count(row, result->unreached, "unreached");
    cluster_row_count(row, result->stale, "acks_refused");
    cluster_row_count(row, result->twice_done, "acked_twice");
    cluster_row_count(row, cluster_causes_sum(result->duplicates), "duplicates");
    for (int cause = 0; cause < CLUSTER_CAUSES; cause++) {
        (void)snprintf(name, sizeof name, "duplicates_%s",
                       cluster_cause_word((enum cluster_cause)cause));
        cluster_row_count(row, result->duplicates[cause], name);
    }
    for (int role = 0; role < RUN_ROLES; role++) {
        (void)snprintf(name, sizeof name, "kills_%s", run_role_names[role]);
        cluster_row_count(row, result->kills[role], name);
    }
    cluster_row_count(row, sum(result->pauses), "pauses");
    for (int path = RUN_PATHS - 1; path >= 0; path--) {
        const struct run_lateness *late = &result->lateness[path];
        const uint64_t values[] = {late->count, late->p50_ms, late->p99_ms, late->max_ms};
        static const char *const names[] = {"count", "p50_ms", "p99_ms", "max_ms"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            (void)snprintf(name, sizeof name, "late_%s%s%s",
                           path == PATH_ALL ? "" : run_path_names[path],
                           path == PATH_ALL ? "" : "_", names[i]);
            cluster_row_count(row, values[i], name);
        }
    }
    cluster_row_real(row, result->seconds, "seconds");
    cluster_row_real(row, result->fired_per_second, "fired_per_s");
    cluster_row_causes(row, result->duplicates, "duplicates_by");
}

/* Add the columns that fit a terminal. */
static void add_short_row(struct cluster_work *work, const struct run_result *result)
{
    static const char *const alike[] = {"protocol", "started", "stopped",    "fired",
                                        "lost",     "early",   "after_stop", "garbled"};
    struct cluster_table *row = &work->shown;
    cluster_row_begin(row);
    cluster_row_copy(row, &work->rows, alike, sizeof alike / sizeof alike[0]);
    cluster_row_count(row, cluster_causes_sum(result->duplicates), "again");
    cluster_row_causes(row, result->duplicates, "why");
    cluster_row_count(row, sum(result->kills) + sum(result->pauses), "faults");
    cluster_row_count(row, result->lateness[PATH_ALL].p99_ms, "p99 ms");
    cluster_row_count(row, result->lateness[PATH_ALL].max_ms, "max ms");
    cluster_row_count(row, (uint64_t)result->fired_per_second, "fired/s");
    cluster_row_text(row, run_is_right(result) ? "ok" : "fault", "status");
}

/* --- running ---------------------------------------------------------------------------------- */

/* Run a protocol in a folder of its own. */
static bool run_protocol(void *at, const struct cluster_protocol *protocol,
                         struct cluster_work *work)
{
    struct run_arguments *arguments = at;
    struct run_result result;
    struct temporary temporary = {0};
    struct run_plan plan = arguments->plan;
    (void)run_plan_protocol(&plan, protocol); /* or it would have been refused */
    bool done = temporary_make(&temporary, &arguments->common.error) &&
                run_cluster(&plan, temporary.folder, &result, &arguments->common.error);
    temporary_remove(&temporary);
    if (done) {
        work->right = work->right && run_is_right(&result);
        add_row(&work->rows, protocol->name, &plan, &result);
        add_short_row(work, &result);
    }
    return done;
}

static const struct cluster_command command = {.line = &syntax, .name = "run", .run = run_protocol};

int command_cluster_run(int argc, char **argv)
{
    struct run_arguments arguments = {
        .plan =
            {
                .timers = 10000,
                .roles = {1, 2, 3, 1},
                .batch = 20,
                .waiting_max = 10000,
                .delay_ms = 2000,
                .stopped = 0.2,
                .restarted = 0.2,
                .errors = 0.03,
                .replies_lost = 0.01,
                .payload_most = 65536,
                .every = 20,
                .seed = 1,
                .steps = {.tick_ms = 1000, .keep_ms = 86400000, .attempts_max = 20},
            },
        .engine = "redis",
        .lease_ms = 1500,
        .backoff_ms = 100,
        .later_ms = 300,
        .poll_ms = 1,
    };
    return cluster_command_run(&command, argc, argv, &arguments);
}
