/*
 * compare_work.h: a comparison under way, for the room's own files. compare.c finds what stands
 * against what; each pair is judged in compare_pair.c, all of them together get their verdicts in
 * compare_verdict.c, in which compare_lateness.c has a say, and compare_warnings.c says what was
 * not alike.
 */
#ifndef SIM_COMPARE_WORK_H
#define SIM_COMPARE_WORK_H

#include "compare.h"

struct compare_work {
    const struct compare_request *request;
    struct comparisons *out;
    struct error *error;
};

/* One thing measured on one side: the same row in each session that has it. */
struct thing {
    const struct compare_side *side;
    const struct row_kind *kind;
    bool yardstick; /* fires nothing */
    const char *workload;
    const char *algo;
    const char *options;
};

/* Whether larger values of a figure are better: of rates per second. */
bool compare_is_rate(const char *metric);

/* Its row in a session; NULL if it is not in there. */
const struct row *thing_row(const struct thing *thing, size_t session);

/* That of the first session that has it: its names, checksum and counts stand for all. */
const struct row *thing_first_row(const struct thing *thing);

/* A new comparison of two things. Valid until the next call. */
struct comparison *comparison_add(struct compare_work *work, const struct thing *base,
                                  const struct thing *other);

/* Refuses a comparison, or says what is wrong with it. */
void comparison_set_status(struct comparison *item, enum compare_status status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* Compares two things: their times, and counts that differ. */
void compare_things(struct compare_work *work, const struct thing *base, const struct thing *other);

/* Judges all comparisons together. */
void compare_give_verdicts(struct compare_work *work);

/* Whether a thing fires timers later than is borne, or early, by its promise; false of what is not
 * known to. A tolerance that cannot be told in ticks counts as none. */
bool thing_is_beyond(const struct compare_work *work, const struct thing *thing);

/* Takes the verdict back where, of two different structures, the one that takes less is beyond what
 * is borne, and the other is not; says how late it is, and what it is spared. */
void comparison_bear_lateness(const struct compare_work *work, struct comparison *item);

/* Warns of what weakens the rule on lateness. False, with the error set, if a tolerance cannot be
 * expressed in ticks. */
bool compare_warn_of_lateness(struct compare_work *work);

/* Adds a warning, unless it is there. */
void compare_warn(struct compare_work *work, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Warns of what the sessions of a side have different from the base's. */
void compare_warn_of_circumstances(struct compare_work *work, const struct compare_side *base,
                                   const struct compare_side *side);

/* Warns of what weakens all that was compared. */
void compare_warn_of_methods(struct compare_work *work);

#endif
