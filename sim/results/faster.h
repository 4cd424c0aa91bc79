/*
 * faster.h: figures of rows as JSON has them (results_json_rows), and whether two rows of one trace
 * differ in time.
 */
#ifndef SIM_FASTER_H
#define SIM_FASTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A row's value: NaN, or "", where it has none. A text that is a number is one. */
double row_number(const json_t *row, const char *column);
const char *row_string(const json_t *row, const char *column);

/* For qsort: the row with the smaller value first, one without a value last. */
int row_order(const json_t *a, const json_t *b, const char *column);

/* A figure of a row, without its single runs. */
struct measured {
    double value;
    double spread;
    double runs;
};

struct measured measured_of(const json_t *row, const char *column);

/* Whether two figures lie apart further than their spreads explain. */
bool measured_differ(struct measured a, struct measured b);

/* Whether `other` is shown to take longer for an event than `base`: by their single runs, judged as
 * `timerlab compare` does, or where a row has none by its figures. */
bool row_is_slower(const json_t *base, const json_t *other);

#endif
