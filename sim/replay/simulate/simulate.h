/*
 * simulate.h: replay traces through structures. Every pass runs in a process of its own. First each
 * structure is checked; then those without a fault are timed in rounds, in another order each time,
 * so that a machine that slows down favors none. `null` takes part in every comparison as the
 * floor, and is a row only on request.
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

/* Structures with linear operations run traces of more timers only on request. */
#define SIMULATE_SLOW_IDS_MAX UINT32_C(50000)

struct simulate_request {
    const char *const *traces;
    size_t trace_count;
    const struct contender_list *contenders;
    const struct tl_algo *floor; /* fires nothing; NULL: no floor is measured */
    struct replay_drive drive;
    struct replay_window window;
    unsigned runs;        /* throughput runs; 0: only the check */
    uint64_t last_run_ns; /* after this time of clock_now_ns, no round begins once there are
                             JUDGE_RUNS_MIN; 0: no limit */
    bool latency;
    bool slow;              /* also run structures with linear operations through large traces */
    double timeout_seconds; /* of one pass */
    uint64_t memory_limit_bytes;
    const struct simulate_ranks *ranks; /* NULL: all of it runs here */
};

/* Return a contender's name for files. NULL is the floor. */
const char *contender_name(const struct contender *contender);

/* Return its options that differ from the defaults, as text; "" for the floor. */
const char *contender_options(const struct contender *contender);

/* The latencies of a structure on a trace, of all runs. */
struct latency_row {
    const char *trace;                 /* the trace row's name */
    const struct contender *contender; /* NULL: the floor */
    const struct replay_result *all;   /* only its latencies are set */
};

/* The work of a structure on a trace, over the window's ticks. */
struct work_row {
    const char *trace; /* the trace row's name */
    const struct contender *contender;
    const struct work_series *series;
};

struct fault_row {
    const char *trace; /* the trace row's name */
    const struct contender *contender;
    struct fault fault;
};

/* Digest of the expired timers, to compare structures. Not with a budget, where each structure
 * chooses which timers wait. */
struct fired_set {
    const char *trace; /* the trace row's name */
    const struct contender *contender;
    bool exact; /* with these options: such structures must agree */
    uint64_t digest;
    uint64_t operations; /* the same of the reactions */
};

/* A trace that was replayed. */
struct trace_row {
    char *name; /* in the rows */
    char *path; /* as given */
    char checksum[TRACE_CHECKSUM_CHARS + 1];
    uint64_t tick_ns;
    double window_seconds; /* length of the timed window in the trace's time */
    uint64_t events;
    uint64_t reactions;
    bool causes_known; /* false: open loop */
    bool has_slack;    /* some timer has */
    uint32_t ids;
    uint64_t empty_ticks;        /* skipped by structures without `next`, with nothing pending */
    struct replay_result *found; /* of each structure the check and the latencies */
    size_t found_bytes;
};

/* The part of one rank in a row of the results. */
struct rank_row {
    const char *trace; /* the trace row's name */
    const struct contender *contender;
    uint32_t rank;
    struct rank_figures figures;
};

struct simulation {
    struct results results;
    struct rank_row *ranks; /* only of a partitioned replay */
    size_t rank_count;
    struct trace_row *traces;
    size_t trace_count;
    struct latency_row *latencies;
    size_t latency_count;
    struct work_row *works; /* of those without a fault that count their work */
    size_t work_count;
    struct fault_row *faults;
    size_t fault_count;
    struct fired_set *fired_sets;
    size_t fired_set_count;
};

/* Return which of `count` entrants is next in round `round`, after `at` of them: every second round
 * goes backwards, and each pair of rounds begins with another one. */
size_t simulate_turn(unsigned round, size_t at, size_t count);

/* Run a pass over a trace, or a partition of one, in a child process, with the polling policy and
 * limits of `request`. False with `error` set only if no process could be made. */
bool simulate_pass(const struct simulate_request *request, struct replay_request *pass,
                   struct replay_result *result, struct child_outcome *outcome,
                   struct error *error);

/* Return the algorithm that a pass runs for an entrant, and its options: a contender's by number,
 * or after the last contender the floor's. */
const struct tl_algo *simulate_entrant(const struct simulate_request *request, size_t entrant,
                                       enum replay_pass pass, const void **options);

/* Run everything. False with `error` set if a trace cannot be read or memory or processes fail; a
 * structure's failure is a row. *all_right: every row is ok or unsupported. */
bool simulate(const struct simulate_request *request, struct simulation *simulation,
              bool *all_right, struct error *error);

/* Return the default memory limit of a structure: nine tenths of this machine's memory. */
uint64_t simulate_default_memory_limit(void);

/* Add `traces` to the context of the results: name, path, checksum, tick_ns, events and timers of
 * each. */
void simulation_describe_traces(const struct simulation *simulation, json_t *context);

/* Harmless on a zeroed one. */
void simulation_free(struct simulation *simulation);

#endif
