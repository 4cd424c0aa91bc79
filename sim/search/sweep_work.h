/*
 * sweep_work.h: a sweep under way, for the room's own files. sweep_plan.c says what the points are,
 * sweep_cells.c keeps what is finished, sweep.c runs what is missing, sweep_table.c makes the
 * table.
 */
#ifndef SIM_SWEEP_WORK_H
#define SIM_SWEEP_WORK_H

#include "sweep.h"

#define SWEEP_NAME_BYTES 256

struct sweep_work {
    const struct sweep_request *request;
    json_t *program; /* what decides a cell besides what was asked for */
};

/* --- points ---------------------------------------------------------------------------------- */

/* SIZE_MAX, or another number above SWEEP_POINTS_MAX, if there are too many. */
size_t sweep_count_points(const struct sweep_knobs *knobs);

/* The value of a knob at a point, the last knob turning fastest. */
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

/* --- cells ----------------------------------------------------------------------------------- */

/* What tells a file from the same file changed. A new object; NULL if it is not there. */
json_t *sweep_file_key(const char *path);

/* What decides a point's trace. A new object. */
json_t *sweep_trace_key(const struct sweep_request *request, size_t point);

uint64_t sweep_hash(const json_t *key);

/* The row of a finished cell; NULL if it is not finished, or is to be run again. A new reference.
 */
json_t *sweep_read_cell(const struct sweep_work *work, size_t point,
                        const struct contender *contender);

bool sweep_write_cell(const struct sweep_work *work, size_t point,
                      const struct contender *contender, json_t *row, struct error *error);

/* --- the table ------------------------------------------------------------------------------- */

/* Adds the knobs' values to a row: numbers as numbers. False if out of memory. */
bool sweep_add_knobs(const struct sweep_request *request, size_t point, json_t *row);

/* Writes the folder's results.csv and results.json. */
bool sweep_write_tables(const struct sweep_request *request, json_t *rows, struct error *error);

#endif
