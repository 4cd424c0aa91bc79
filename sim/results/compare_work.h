/*
 * compare_work.h: a comparison in progress, for this room's files only. compare.c finds the pairs,
 * compare_pair.c judges each, compare_verdict.c sets the verdicts of all together, corrected by
 * compare_lateness.c, and compare_warnings.c adds warnings.
 */
#ifndef SIM_COMPARE_WORK_H
#define SIM_COMPARE_WORK_H

#include "compare.h"

struct compare_work {
    const struct compare_request *request;
    struct comparisons *out;
    struct error *error;
};

/* One measurement of one side: the same row in each session that has it. */
struct measured {
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
const struct row *measured_row(const struct measured *measured, size_t session);

/* That of the first session that has it: its names, checksum and counts stand for all. */
const struct row *measured_first_row(const struct measured *measured);

/* Add a comparison of two measurements. Valid until the next call. */
struct comparison *comparison_add(struct compare_work *work, const struct measured *base,
                                  const struct measured *other);

/* Refuse a comparison, or state its defect. */
void comparison_set_status(struct comparison *item, enum compare_status status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* Compare two measurements: their times, and counts that differ. */
void compare_measured(struct compare_work *work, const struct measured *base,
                      const struct measured *other);

/* Judges all comparisons together. */
void compare_give_verdicts(struct compare_work *work);

/* Whether the structure promises less than the tolerance requires, late or early; false if its
 * promise is unknown. A tolerance that cannot be converted to ticks counts as 0. */
bool measured_is_beyond(const struct compare_work *work, const struct measured *measured);

/* Withdraw the verdict if the faster of two different structures is outside the tolerance and the
 * other is not; explain how late it is, and which work it skips. */
void comparison_apply_lateness(const struct compare_work *work, struct comparison *item);

/* Warns of what weakens the rule on lateness. False, with the error set, if a tolerance cannot be
 * expressed in ticks. */
bool compare_warn_of_lateness(struct compare_work *work);

/* Adds a warning, unless it is there. */
void compare_warn(struct compare_work *work, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Warn about conditions in which the sessions of a side differ from the base's. */
void compare_warn_of_circumstances(struct compare_work *work, const struct compare_side *base,
                                   const struct compare_side *side);

/* Warns of what weakens all that was compared. */
void compare_warn_of_methods(struct compare_work *work);

#endif
