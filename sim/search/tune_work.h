/*
 * tune_work.h: a search under way, for the room's own files. tune.c leads through the stages;
 * tune_search.c says what is tried, tune_candidates.c what a candidate is worth, tune_choice.c
 * which one it is to be.
 */
#ifndef SIM_TUNE_WORK_H
#define SIM_TUNE_WORK_H

#include "tune.h"

/* The one who searches. */
struct tuner {
    const struct tune_request *request;
    struct tune_result *result;
    size_t *best;     /* of each structure, by counts: an index of a candidate */
    const char *path; /* what is replayed now: the trace, or its beginning */
    uint64_t events;  /* in the timed window of that */
    uint64_t fired;   /* there, by an exact structure */
    double seconds;   /* that it lasts, in the trace's own time */
    bool deciding;    /* the search is over */
    uint64_t memory_limit_bytes;
    uint64_t begun_ns;
    double pass_seconds; /* about, of one pass of one structure */
};

/* How long the search has taken so far. */
double tuner_seconds(const struct tuner *tuner);

/* Replay all of the trace from here on, if there is time for `runs` timed runs of so many
 * structures with it, each also with a clock around every operation. */
void tuner_take_what_fits(struct tuner *tuner, size_t structures, unsigned runs);

/* Says what is done now. */
void tuner_tell(const struct tuner *tuner, const char *what);

/* --- candidates ------------------------------------------------------------------------------ */

/* Adds a candidate. */
void tuner_add(struct tuner *tuner, size_t structure, const void *options);

/* What the structure promises at worst for delays as the trace has them. */
void tuner_read_promise(const struct tuner *tuner, const struct contender *contender,
                        uint64_t *early, uint64_t *late);

/* Replays the trace through some candidates, and takes over what that shows: `runs` timed runs, or
 * only the count. */
bool tuner_run(struct tuner *tuner, const size_t *indices, size_t count, enum tune_stage stage,
               unsigned runs, bool latency, struct error *error);

/* --- the search ------------------------------------------------------------------------------ */

/* Counts every structure once, then variants of what is promising. */
bool tuner_count_all(struct tuner *tuner, struct error *error);

/* The best of each structure by counts, and its first options beside, timed once or twice. */
bool tuner_time_best(struct tuner *tuner, struct error *error);

/* Variants of the fastest few, side by side with them. */
bool tuner_refine(struct tuner *tuner, struct error *error);

/* The fastest candidate of each structure, in order, of those that keep to the limits; or one that
 * is about as fast and plainer, so that no option is set for nothing. Returns how
 * many; `indices` has room for one for each structure. */
size_t tuner_fastest_of_each(const struct tuner *tuner, size_t *indices);

/* The structure's best by counts, or the plainest that works about as little. */
size_t tuner_plainest_by_counts(const struct tuner *tuner, size_t structure);

/* Replays the best in other loops, and keeps the one that wakes up least often. */
bool tuner_try_loops(struct tuner *tuner, struct error *error);

/* --- the choice ------------------------------------------------------------------------------ */

/* The first few side by side, as often as the time allows; the fastest, or among what is as fast
 * the cheapest. */
bool tuner_compete(struct tuner *tuner, struct error *error);

/* The least work of those that keep to the limits. What was searched with a part of the trace only,
 * is counted once more with all of it. */
bool tuner_choose_by_counts(struct tuner *tuner, struct error *error);

#endif
