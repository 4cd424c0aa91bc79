/*
 * tune.h: find the structure, and its options, for a trace.
 *
 *   count    replay every structure with its default options once, checked and counted; then vary
 *            options one at a time, from the best, while the counts improve
 *   time     time the best of each structure, in a few runs; skip the far slower ones
 *   refine   vary the options of the fastest few once more, by time, which includes cache effects
 *   final    run the fastest few side by side, in rounds, which show how certain the order is
 *
 * For a long trace, the search uses only the beginning of its timed window, after all of its
 * warm-up; the final runs use all of it if the budget allows. Each stage tries only as much as fits
 * its share of the budget.
 *
 * Counts come first because they have no noise, are the same everywhere, and need one replay only;
 * but the choice is by time. Differences below TUNE_PRACTICAL do not count: options that gain no
 * more keep their defaults, and round numbers are preferred. A candidate that breaks a limit is
 * out, with the limit as the reason. The one with the least work among those that are only too late
 * runs side by side with the best, and is reported. If timers may be late, the best is also
 * replayed with the longest allowed poll interval, and if they have slack, with a loop that uses
 * it. The loop with the fewest wakeups is reported.
 *
 * A structure that fires fewer timers, or omits the operations caused by them, does less: its work
 * and time are scaled to the operations and expiries of an exact structure. No structure is known
 * here by name: its table of options says which can be varied.
 */
#ifndef SIM_TUNE_H
#define SIM_TUNE_H

#include "answer.h"
#include "catalog.h"
#include "error.h"
#include "replay.h"
#include "results.h"
#include "tolerance.h"
#include "trace_info.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A difference, as a share of the time or of the work, that does not matter in practice. */
#define TUNE_PRACTICAL 0.05

/* The limits that a structure must keep to. */
struct tune_limits {
    uint64_t late_ticks;  /* the most lateness that it may declare for the delays of the trace */
    uint64_t early_ticks; /* likewise: too early */
    bool exact;           /* never late or early, for any delay */
    uint64_t bytes;       /* the maximum at any time; UINT64_MAX: no limit */
    uint64_t stall_ns;    /* the longest advance, median of the runs; UINT64_MAX: no limit */
    double wakeups_per_s; /* in the trace's time; infinite: no limit */
};

struct tune_request {
    const char *trace_path;
    const struct contender_list *structures; /* each with its initial options */
    bool vary;                               /* vary the options */
    struct tune_limits limits;
    struct replay_drive drive;
    bool by_counts;        /* choose by counts, without timing */
    double budget_seconds; /* the search tries only as much as fits */
    const struct tl_algo *floor;
    double timeout_seconds;       /* of one pass in the search; a slower candidate is out */
    double final_timeout_seconds; /* of one pass of the final runs */
    uint64_t memory_limit_bytes;
    void (*report)(const char *stage); /* at the begin of each stage; may be NULL */
};

/* The last stage of a candidate. */
enum tune_stage { TUNE_COUNTED, TUNE_TIMED, TUNE_FINAL };

/* A structure with options. */
struct tune_candidate {
    struct contender contender;
    size_t structure; /* index in the request */
    enum tune_stage stage;
    bool counted;      /* the values below are set */
    bool too_slow;     /* not counted, because of the timeout */
    uint64_t events;   /* executed in the window of the trace, or of its beginning */
    char why_not[200]; /* the limit that it breaks, or the reason of a failure; "": none */
    bool only_late;    /* it breaks only the limit on lateness */
    double done;       /* share of the operations and expiries of an exact structure in the
                          window that it had */
    double cost;       /* work per operation, by the counts; NAN: not counted */
    struct firing firing;
    uint64_t early_promise; /* maximum for the delays of the trace */
    uint64_t late_promise;
    double wakeups_per_s; /* in the trace's time */
    double ns;            /* processor time per operation; NAN: not timed */
    struct row *row;      /* of its last stage, times scaled to the operations and expiries of an
                             exact structure; NULL: none */
};

/* Return whether it was counted, and breaks no limit. */
bool tune_candidate_fits(const struct tune_candidate *candidate);

/* Another loop around the best structure. */
struct tune_loop {
    struct replay_drive drive;
    double wakeups_per_s; /* in the trace's time */
    uint64_t lateness_max_ticks;
};

struct tune_result {
    struct trace_info info;
    uint64_t tick_ns;
    uint64_t ids;
    bool has_slack;       /* a timer of the trace has slack */
    bool open_loop;       /* the trace has no reactions to expiries */
    double trace_seconds; /* of the timed window, in its own time */
    struct tune_candidate *candidates;
    size_t candidate_count;
    char *trace;                        /* its name */
    struct row *rows;                   /* of the structures that ran side by side in the end */
    struct answer answer;               /* made from `rows` */
    const struct tune_candidate *best;  /* NULL: no structure keeps to the limits */
    const struct tune_candidate *later; /* faster, or less work, but too late; NULL: none */
    struct tune_loop loop; /* fewer wakeups than `sleep`, within the limit on lateness */
    bool loop_found;
    uint64_t search_events; /* operations of the window used in the search */
    bool decided_with_all;  /* false: the time sufficed only for search_events */
    bool wrong;             /* a structure was wrong, or crashed */
    bool out_of_time;       /* the budget ended the search early */
};

/* Search. Return false with `error` set if the trace cannot be read, or memory or processes fail;
 * it is no error if no structure keeps to the limits. */
bool tune(const struct tune_request *request, struct tune_result *result, struct error *error);

void tune_result_free(struct tune_result *result);

/* Write the answer, the reasons, and the table of structures; on a terminal the table first. */
void tune_write_text(const struct tune_request *request, const struct tune_result *result,
                     FILE *stream);

/* The same as a JSON object, which the caller owns; takes no reference to `context`. */
json_t *tune_json(const struct tune_result *result, const json_t *context);

#endif
