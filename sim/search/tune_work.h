/*
 * tune_work.h: a search under way, for this room's own files. tune.c has the stages and the
 * choice, tune_search.c the variants to try, tune_candidates.c their measurement.
 */
#ifndef SIM_TUNE_WORK_H
#define SIM_TUNE_WORK_H

#include "tune.h"

struct tuner {
    const struct tune_request *request;
    struct tune_result *result;
    size_t *best;     /* of each structure, by counts: an index of a candidate */
    const char *path; /* the file to replay: the trace, or its beginning */
    uint64_t events;  /* in its timed window */
    uint64_t fired;   /* in its window, by an exact structure */
    double seconds;   /* of its window, in the trace's own time */
    bool deciding;    /* the search is over */
    uint64_t memory_limit_bytes;
    uint64_t begun_ns;
    double pass_seconds; /* about, for one pass of one structure */
};

/* The time since the search began, and until its budget ends. */
double tuner_seconds(const struct tuner *tuner);
double tuner_seconds_left(const struct tuner *tuner);

/* Report the stage to the caller. */
void tuner_report(const struct tuner *tuner, const char *stage);

/* --- candidates ------------------------------------------------------------------------------ */

void tuner_add(struct tuner *tuner, size_t structure, const void *options);

/* The largest lateness and earliness that the structure declares for the delays of the trace. */
void tuner_read_promise(const struct tuner *tuner, const struct contender *contender,
                        uint64_t *early, uint64_t *late);

/* Replay the trace with some candidates, and store the results: of `runs` timed runs, or only the
 * counts. */
bool tuner_run(struct tuner *tuner, const size_t *indices, size_t count, enum tune_stage stage,
               unsigned runs, bool latency, struct error *error);

/* --- the search ------------------------------------------------------------------------------ */

/* Count every structure once, then variants of the promising ones. */
bool tuner_count_all(struct tuner *tuner, struct error *error);

/* Time the best of each structure by counts, and its initial options. */
bool tuner_time_best(struct tuner *tuner, struct error *error);

/* Time variants of the fastest few, side by side with these. */
bool tuner_refine(struct tuner *tuner, struct error *error);

/* Find the fastest candidate within the limits of each structure, in order; or one about as fast
 * and plainer, so that no option is set without need. Return the number; `indices` has room for one
 * of each structure. */
size_t tuner_fastest_of_each(const struct tuner *tuner, size_t *indices);

/* The same by counts: each structure's best, or the plainest with about as little work. */
size_t tuner_least_work_of_each(const struct tuner *tuner, size_t *indices);

/* Replay the best in other loops, and keep the one with the fewest wakeups. */
bool tuner_try_loops(struct tuner *tuner, struct error *error);

#endif
