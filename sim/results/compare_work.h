/*
 * compare_work.h: a comparison in progress, for this room's files only. compare.c finds the pairs
 * and adds warnings; compare_judge.c judges each pair, and sets the verdicts of all together.
 */
#ifndef SIM_COMPARE_WORK_H
#define SIM_COMPARE_WORK_H

#include "compare.h"

/* Its row in a session; NULL if it is not in there. */
const struct row *measured_row(const struct measured *measured, size_t session);

/* Whether both are of one structure with the same options. */
bool measured_same_structure(const struct measured *a, const struct measured *b);

/* Return the bound that the structure's promise exceeds, with a tolerance of 0 where it cannot be
 * converted to ticks. */
enum firing_bound measured_bound(const struct comparisons *out, const struct measured *measured);

/* Add a comparison of two measurements. Valid until the next call. */
struct comparison *comparison_add(struct comparisons *out, const struct measured *base,
                                  const struct measured *other);

/* Refuse a comparison, or state its defect. */
void comparison_set_status(struct comparison *item, enum compare_status status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* Compare two measurements: their times, and counts that differ. */
void compare_measured(struct comparisons *out, const struct measured *base,
                      const struct measured *other);

/* Judge all comparisons together. Of two different structures none is the faster by being later
 * than tolerated. */
void compare_give_verdicts(struct comparisons *out);

/* Warn of what weakens the rule on lateness. Return false, with `error` set, if a tolerance cannot
 * be expressed in ticks. */
bool compare_warn_of_lateness(struct comparisons *out, struct error *error);

/* Add a warning, unless it is there. */
void compare_warn(struct comparisons *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
