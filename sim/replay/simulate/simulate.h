/*
 * simulate.h: traces times structures. Every pass runs in a process of its own; first each
 * structure is checked, then those that are right are timed, in rounds: run 1 of every structure,
 * run 2 of every structure, ..., each time in another order, every second round backwards, so that
 * a machine that gets slower or faster meanwhile favours none. `null` takes part in every
 * comparison as the floor, and is a row only if it was asked for.
 */
#ifndef SIM_SIMULATE_H
#define SIM_SIMULATE_H

#include "catalog.h"
#include "child.h"
#include "error.h"
#include "replay.h"
#include "results.h"
#include "simulate_ranks.h"

#include <stdbool.h>
#include <stdint.h>

/* A structure that promises `slow` is not run through traces of more timers than this, unless it is
 * asked for: a row says so. */
#define SIMULATE_SLOW_IDS_MAX UINT32_C(50000)

struct simulate_request {
    const char *const *traces;
    size_t trace_count;
    const struct contender_list *contenders;
    const struct tl_algo *floor; /* what fires nothing; NULL: no floor is measured */
    struct replay_drive drive;
    struct replay_window window;
    unsigned runs;        /* throughput runs; 0: only the check */
    uint64_t last_run_ns; /* after this time of clock_now_ns, no round begins once there are
                             JUDGE_RUNS_MIN; 0: all runs are made */
    bool latency;
    bool slow;              /* also what is linear in the timers, on traces of very many */
    double timeout_seconds; /* of one pass */
    uint64_t memory_limit_bytes;
    const struct simulate_ranks *ranks; /* NULL: all of it here */
};

/* What a contender is called in files. NULL is the floor. */
const char *contender_name(const struct contender *contender);

/* Its options as text, where they differ from the defaults; "" of the floor. */
const char *contender_options(const struct contender *contender);

/* The latencies of one structure on one trace: all runs together. */
struct latency_row {
    const char *trace;                 /* its name: the trace row's, as below */
    const struct contender *contender; /* NULL: the floor */
    const struct replay_result *all;   /* only its latencies are set */
};

/* The work of one structure on one trace, over the window's ticks. */
struct work_row {
    const char *trace; /* its name: the trace row's, as below */
    const struct contender *contender;
    const struct work_series *series;
};

/* One fault that is to be listed. */
struct fault_row {
    const char *trace; /* its name: the trace row's, as below */
    const struct contender *contender;
    struct fault fault;
};

/* Sets of timers fired, for comparing structures with one another: not by a drive with a budget, by
 * which each structure chooses for itself what waits. */
struct fired_set {
    const char *trace; /* its name: the trace row's, as below */
    const struct contender *contender;
    bool exact; /* at these options: such structures must agree */
    uint64_t digest;
    uint64_t operations; /* the same of what the firings caused */
};

/* A trace that was replayed. */
struct trace_row {
    char *name; /* as the rows have it */
    char *path; /* as it was given */
    char checksum[TRACE_CHECKSUM_CHARS + 1];
    uint64_t tick_ns;
    double window_seconds; /* length of the timed window in the trace's own time */
    uint64_t events;
    uint64_t reactions;
    bool causes_known; /* false: open loop */
    bool has_slack;    /* some timer has */
    uint32_t ids;
    uint64_t empty_ticks; /* that structures without `next` passed in one step, nothing pending */
    struct replay_result *found; /* the rows' memory: of each structure check and latencies */
    size_t found_bytes;
};

/* What one rank has to do with a row of the results. */
struct rank_row {
    const char *trace; /* its name: the trace row's, as above */
    const struct contender *contender;
    uint32_t rank;
    struct rank_figures figures;
};

struct simulation {
    struct results results;
    struct rank_row *ranks; /* none but of a replay in shares */
    size_t rank_count;
    struct trace_row *traces;
    size_t trace_count;
    struct latency_row *latencies;
    size_t latency_count;
    struct work_row *works; /* of those that were right, and count their work */
    size_t work_count;
    struct fault_row *faults;
    size_t fault_count;
    struct fired_set *fired_sets;
    size_t fired_set_count;
};

/* Who is next in round `round` of `count` that take turns, with `at` of them done: every second
 * round goes backwards, and each pair of rounds begins with another one. */
size_t simulate_turn(unsigned round, size_t at, size_t count);

/* Run a pass of one structure over one trace, or over the share of one, in a child process. Its
 * drive and limits become those of `request`. False, with `error` set, only if no process could be
 * made. */
bool simulate_pass(const struct simulate_request *request, struct replay_request *pass,
                   struct replay_result *result, struct child_outcome *outcome,
                   struct error *error);

/* The contender number `subject`, or, if there are not so many, the floor: what of it a pass runs,
 * and its options. */
const struct tl_algo *simulate_subject(const struct simulate_request *request, size_t subject,
                                       enum replay_pass pass, const void **options);

/* Runs everything. False, with `error` set, if a trace cannot be read or memory or processes fail;
 * a structure's failure is a row. `all_right` says whether every row is ok or unsupported. */
bool simulate(const struct simulate_request *request, struct simulation *simulation,
              bool *all_right, struct error *error);

/* What one structure may use unless told otherwise: nine tenths of this machine's memory. */
uint64_t simulate_default_memory_limit(void);

/* Adds `traces` to the context of the results: name, path, checksum, tick_ns, events and timers of
 * each. */
void simulation_describe_traces(const struct simulation *simulation, json_t *context);

/* Frees what a simulation owns; harmless on a zeroed one. */
void simulation_free(struct simulation *simulation);

#endif
