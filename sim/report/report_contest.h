/*
 * report_contest.h: the rows of one trace in one folder, and the answer for them.
 */
#ifndef SIM_REPORT_CONTEST_H
#define SIM_REPORT_CONTEST_H

#include "answer.h"
#include "report_data.h"
#include "tolerance.h"

struct contest {
    const struct report_set *set;
    const char *trace;
    const json_t *known;     /* the trace's context; NULL: none */
    double exact_fired;      /* timers that an exact structure fires; NAN: not known */
    const struct row **rows; /* all, the fastest first */
    size_t count;
    struct answer answer;
};

struct contest_list {
    struct contest *items;
    size_t count;
};

/* All traces of all folders, in the order of their rows. The data must outlive the list. False,
 * with `error` set, if the tolerance is a time and some results do not say how long a tick is;
 * nothing is left to free then. */
bool contest_list_build(struct contest_list *list, const struct report_data *data,
                        const struct tolerance *max_lateness, struct error *error);
void contest_list_free(struct contest_list *list);

/* The checksum of its trace; "" if it is not known. */
const char *contest_checksum(const struct contest *contest);

#endif
