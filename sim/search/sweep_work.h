/*
 * sweep_work.h: a sweep under way, for this room's own files. sweep_plan.c has the points, and those
 * of a part, sweep.c the finished cells and the run of the missing ones, sweep_table.c the table,
 * sweep_join.c the join of parts.
 */
#ifndef SIM_SWEEP_WORK_H
#define SIM_SWEEP_WORK_H

#include "sweep.h"

#define SWEEP_NAME_BYTES 256

struct sweep_work {
    const struct sweep_request *request;
    json_t *program; /* decides a cell's result, in addition to the request */
    json_t *context; /* the request's, with SWEEP_DESCRIPTION and, of a part, SWEEP_PART */
    size_t *points;  /* to be run, ascending */
    size_t point_count;
    double *costs; /* expected, of all points, in no unit; the same on every machine */
    struct outfolder *out;
};

/* --- points ---------------------------------------------------------------------------------- */

/* As sweep_knob_extend, for any value: two traces may have the same name. */
void sweep_knob_append(struct sweep_knobs *knobs, const char *name, const char *value);

/* If there are too many, SIZE_MAX or another number above SWEEP_POINTS_MAX. */
size_t sweep_count_points(const struct sweep_knobs *knobs);

/* The index of a knob's value at a point, and that value. The last knob varies fastest. */
size_t sweep_index_at(const struct sweep_knobs *knobs, size_t point, size_t knob);
const char *sweep_value_at(const struct sweep_knobs *knobs, size_t point, size_t knob);

/* The same by the knob's name; NULL if there is none. */
const char *sweep_named_value_at(const struct sweep_knobs *knobs, size_t point, const char *name);

/* The part to generate at a point. */
bool sweep_part_at(const struct sweep_request *request, size_t point, struct gen_part *part,
                   uint64_t *seed, struct error *error);

/* Return whether a knob decides how the structures are driven, and nothing about the trace. */
bool sweep_knob_drives(const char *name);

/* The drive at a point. */
bool sweep_drive_at(const struct sweep_knobs *knobs, size_t point, struct replay_drive *drive,
                    struct error *error);

/* --- parts ----------------------------------------------------------------------------------- */

/* In the context of results.json. SWEEP_DESCRIPTION is {workload, knobs, structures, ...}, the same
 * in all parts. SWEEP_PART, of a part only, is {part, parts, points, done, cost_share}: its points,
 * the number of them done (in order), and its share of the expected cost. */
#define SWEEP_DESCRIPTION "sweep"
#define SWEEP_PART        "part"

/* Return the description, a new object; NULL with `error` set. An unreadable trace is an error only
 * if the sweep runs in parts. */
json_t *sweep_describe(const struct sweep_request *request, struct error *error);

/* Set work->points to the points of the request's part, work->costs, and *share to the part's share
 * of the expected cost. Points are distributed by descending cost, each to the part with the least
 * so far. */
void sweep_choose_points(struct sweep_work *work, double *share);

/* --- the table ------------------------------------------------------------------------------- */

/* Add the knobs' values to a row: numbers as numbers. */
void sweep_add_knobs(const struct sweep_request *request, size_t point, json_t *row);

/* Write results.csv and results.json. */
bool sweep_write_tables(struct outfolder *out, const struct sweep_knobs *knobs, json_t *rows,
                        json_t *context, struct error *error);

/* Return whether a row, or each of `rows`, is ok or unsupported. */
bool sweep_row_is_right(const json_t *row);
bool sweep_rows_are_right(const json_t *rows);

#endif
