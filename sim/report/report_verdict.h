/*
 * report_verdict.h: all results in two sentences: who won on what, and what that costs.
 */
#ifndef SIM_REPORT_VERDICT_H
#define SIM_REPORT_VERDICT_H

#include "report_contest.h"
#include "report_text.h"

const char *verdict_text(struct pool *pool, const struct report_data *data,
                         const struct contest_list *list);

#endif
