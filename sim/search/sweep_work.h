/*
 * sweep_work.h: a sweep under way, for the room's own files. sweep_plan.c says what the points are,
 * sweep_parts.c which of them are a part's, sweep_cells.c keeps what is finished, sweep.c runs what
 * is missing, sweep_table.c makes the table, sweep_join.c makes it of parts.
 */
#ifndef SIM_SWEEP_WORK_H
#define SIM_SWEEP_WORK_H

#include "sweep.h"

#define SWEEP_NAME_BYTES 256

struct sweep_work {
    const struct sweep_request *request;
    json_t *program; /* what decides a cell besides what was asked for */
    json_t *context; /* the request's, with SWEEP_DESCRIPTION and, of a part, SWEEP_PART */
    size_t *points;  /* that are to be run, ascending */
    size_t point_count;
    double *costs; /* that are expected of all points, in no unit, the same on every machine */
    struct outfolder *out;
};

/* --- points ---------------------------------------------------------------------------------- */

/* As sweep_knob_extend, whatever the value: two traces may have one name. */
void sweep_knob_append(struct sweep_knobs *knobs, const char *name, const char *value);

/* SIZE_MAX, or another number above SWEEP_POINTS_MAX, if there are too many. */
size_t sweep_count_points(const struct sweep_knobs *knobs);

/* Which of a knob's values it has at a point, the last knob turning fastest; and that value. */
size_t sweep_index_at(const struct sweep_knobs *knobs, size_t point, size_t knob);
const char *sweep_value_at(const struct sweep_knobs *knobs, size_t point, size_t knob);

/* The same by the knob's name; NULL if there is none. */
const char *sweep_named_value_at(const struct sweep_knobs *knobs, size_t point, const char *name);

/* A whole number, to which k and m may be added: thousands and millions. */
bool sweep_parse_whole(const char *name, const char *text, uint64_t min, uint64_t max,
                       uint64_t *value, struct error *error);

/* What is generated at a point. */
bool sweep_part_at(const struct sweep_request *request, size_t point, struct gen_part *part,
                   uint64_t *seed, struct error *error);

/* Whether a knob says how the structures are driven, and nothing of the trace. */
bool sweep_knob_drives(const char *name);

/* How a point is driven. */
bool sweep_drive_at(const struct sweep_knobs *knobs, size_t point, struct replay_drive *drive,
                    struct error *error);

/* --- parts ----------------------------------------------------------------------------------- */

/* In the context of results.json. The first says what the sweep consists of: {workload, knobs,
 * structures, ...}, the same in all of its parts. The second, of a part, {part, parts, points,
 * done, cost_share}: its points, how many of these are done, from the first on, and its share of
 * the cost that is expected of all. */
#define SWEEP_DESCRIPTION "sweep"
#define SWEEP_PART        "part"

/* What the sweep consists of. A new object. NULL with `error` set; of a trace that cannot be read
 * that is so only in parts. */
json_t *sweep_describe(const struct sweep_request *request, struct error *error);

/* Sets work->points to those of the request's part, work->costs, and *share to the part's of the
 * expected cost. Each point goes to the part that has the least so far, what costs most first. */
void sweep_choose_points(struct sweep_work *work, double *share);

/* --- cells ----------------------------------------------------------------------------------- */

/* What tells a file from the same file changed. A new object; NULL if it is not there. */
json_t *sweep_file_key(const char *path);

/* What decides a point's trace. A new object. */
json_t *sweep_trace_key(const struct sweep_request *request, size_t point);

uint64_t sweep_hash(const json_t *key);

/* The row of a finished cell; NULL if it is not finished, or is to be run again.
 * A new reference. */
json_t *sweep_read_cell(const struct sweep_work *work, size_t point,
                        const struct contender *contender);

bool sweep_write_cell(const struct sweep_work *work, size_t point,
                      const struct contender *contender, json_t *row, struct error *error);

/* --- the table ------------------------------------------------------------------------------- */

/* Adds the knobs' values to a row: numbers as numbers. */
void sweep_add_knobs(const struct sweep_request *request, size_t point, json_t *row);

/* Write results.csv and results.json. */
bool sweep_write_tables(struct outfolder *out, const struct sweep_knobs *knobs, json_t *rows,
                        json_t *context, struct error *error);

/* Whether a row is ok or unsupported. */
bool sweep_row_is_right(const json_t *row);

#endif
