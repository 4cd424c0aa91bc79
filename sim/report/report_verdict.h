/*
 * report_verdict.h: results in words: who won, by how much, and what it costs. What the spread of
 * the runs does not allow to say is called "cannot tell".
 */
#ifndef SIM_REPORT_VERDICT_H
#define SIM_REPORT_VERDICT_H

#include "report_data.h"
#include "report_text.h"

/* The rows of one trace in one folder that compete, the fastest first. Who fires early or late does
 * less: where any row fired every timer on its due tick, only such rows compete. */
struct contest {
    const char *mark;
    const char *trace;
    const json_t **rows;
    bool *tied; /* whether a row cannot be told from the first; tied[0] is true */
    size_t count;
    size_t tied_count;                /* with the first */
    size_t unpunctual;                /* so many rows do not compete for that */
    const json_t *fastest_unpunctual; /* of these, if it is faster than the first; else NULL */
};

struct contest_list {
    struct contest *items;
    size_t count;
};

/* All traces of all folders, in the order of their rows. The data must outlive the list. False if
 * out of memory; nothing is left to free then. */
bool contest_list_build(struct contest_list *list, const struct report_data *data);
void contest_list_free(struct contest_list *list);

/* The contest of a row; NULL if it has none. */
const struct contest *contest_find(const struct contest_list *list, const json_t *row);

/* "NAME:option=value@MARK", as code. */
const char *series_text(struct pool *pool, const json_t *row);

/* Two sentences: who won on what, and what that costs. */
const char *verdict_text(struct pool *pool, const struct report_data *data,
                         const struct contest_list *list);

/* More traces are not told of one by one. */
#define CONTESTS_TOLD 6u

/* A paragraph on one contest, and the items of what its first costs, of which there are
 * CONTEST_COSTS. */
#define CONTEST_COSTS 5
const char *contest_text(struct pool *pool, const struct contest *contest);
void contest_costs(struct pool *pool, const struct report_data *data, const struct contest *contest,
                   const char *items[CONTEST_COSTS]);

/* A sentence for each operation of bench.csv: who is the fastest with the fewest and the most
 * timers. Calls `say` with each; not with operations that were not measured five times. */
void bench_texts(struct pool *pool, const struct report_data *data,
                 void (*say)(void *context, const char *text), void *context);

/* The rule by which a difference counts. */
const char *rule_text(void);

#endif
