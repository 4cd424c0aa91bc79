/*
 * report_contest.h: the rows of a trace as a contest: who competes, and who can be told from the
 * first. What the spread of the runs does not allow to say counts as a tie.
 */
#ifndef SIM_REPORT_CONTEST_H
#define SIM_REPORT_CONTEST_H

#include "report_data.h"
#include "tolerance.h"

/* The rows of one trace in one folder that compete, the fastest first. Who fires early or late does
 * less: where any row is punctual, which is as late as is borne and not early (tolerance.h), only
 * such rows compete. */
struct contest {
    const char *mark;
    const char *trace;
    const json_t *known; /* what the context says of the trace; NULL: nothing */
    uint64_t late_ticks; /* that are borne */
    struct firing_frame frame;
    const json_t **rows;
    bool *tied; /* whether a row cannot be told from the first; tied[0] is true */
    size_t count;
    size_t tied_count;                /* with the first */
    size_t unpunctual;                /* so many rows do not compete for that */
    bool none_punctual;               /* all compete */
    const json_t *fastest_unpunctual; /* of these, if it is faster than the first; else NULL */
};

struct contest_list {
    struct contest *items;
    size_t count;
    struct tolerance max_lateness;
};

/* All traces of all folders, in the order of their rows. The data must outlive the list. False,
 * with `error` set, if the lateness is a time and some results do not say how long a tick is;
 * nothing is left to free then. */
bool contest_list_build(struct contest_list *list, const struct report_data *data,
                        const struct tolerance *max_lateness, struct error *error);
void contest_list_free(struct contest_list *list);

/* The contest of a row; NULL if it has none. */
const struct contest *contest_find(const struct contest_list *list, const json_t *row);

/* Whether a row is of the contest's trace and folder. */
bool contest_has(const struct contest *contest, const json_t *row);

/* Whether its trace does not say what a firing causes. */
bool contest_is_open_loop(const struct contest *contest);

/* Which rows of its trace and folder: any; those that compete; of these, those that are punctual,
 * and those that are not. */
enum rows_wanted { ROWS_ANY, ROWS_COMPETING, ROWS_PUNCTUAL, ROWS_UNPUNCTUAL };

/* Fills `rows`, which has room for all rows, the fastest first; returns how many. */
size_t contest_rows(const struct contest *contest, const struct report_data *data,
                    enum rows_wanted wanted, const json_t **rows);

/* The least of a column among a contest's rows that have it, and how many have it; false if all
 * have the same. Of memory a row does not have it whose structure keeps some that is not counted.
 */
bool contest_least(const struct contest *contest, const struct report_data *data,
                   const char *column, const json_t **least, size_t *having);

#endif
