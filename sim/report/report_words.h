/*
 * report_words.h: results in words: who won, by how much, and what it costs. What the spread of the
 * runs does not allow to say is called "cannot tell".
 */
#ifndef SIM_REPORT_WORDS_H
#define SIM_REPORT_WORDS_H

#include "report_contest.h"
#include "report_text.h"

/* More names are counted, not listed. */
#define LISTED_MAX 4

/* "NAME:option=value@MARK", as code. */
const char *series_text(struct pool *pool, const json_t *row);

/* A trace, and the folder of its results where there are several. */
const char *place_text(struct pool *pool, const struct contest *contest);

/* Adds who cannot be told from the first, and the first, each by its name. */
void text_add_tied(struct text *text, const struct contest *contest,
                   const char *(*name)(struct pool *, const json_t *));

/* How late a row's structure was, and promises to be at most, and what it is spared. */
const char *firing_text(struct pool *pool, const struct contest *contest, const json_t *row);

/* The lateness that is borne, "on its due tick" or "at most 5.00 ms after its due tick". */
const char *punctual_text(struct pool *pool, const struct contest_list *list);

/* Whether there are deadlines that a row's structure refuses for being too far away. */
bool row_has_horizon(const struct report_data *data, const json_t *row);

/* More traces are not told of one by one. */
#define CONTESTS_TOLD 6u

/* The row of a structure, as the verdict names it. */
const char *winner_text(struct pool *pool, const json_t *row);

/* In report_durable.c: where only some of those that compete outlive the process, which of these is
 * the fastest. */
void add_durable(struct text *text, const struct report_data *data,
                 const struct contest_list *list);

/* A paragraph on one contest, and the items of what its first costs, of which there are
 * CONTEST_COSTS. */
#define CONTEST_COSTS 6
const char *contest_text(struct pool *pool, const struct contest *contest);
void contest_costs(struct pool *pool, const struct report_data *data, const struct contest *contest,
                   const char *items[CONTEST_COSTS]);

/* Two sentences: who won on what, and what that costs. */
const char *verdict_text(struct pool *pool, const struct report_data *data,
                         const struct contest_list *list);

/* The rule by which a difference counts. */
const char *rule_text(struct pool *pool, const struct report_data *data,
                      const struct contest_list *list);

#endif
