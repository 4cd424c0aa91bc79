/*
 * result_set.h: the reader of result files: those of `timerlab sim` and `timerlab-bench`, and the
 * JSON of Google Benchmark. A session is one file: the measurements of one process. A set is one
 * side of a comparison: one session, or several of the same measurement.
 */
#ifndef SIM_RESULT_SET_H
#define SIM_RESULT_SET_H

#include "error.h"
#include "results.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct result_session {
    char *path;
    json_t *context;        /* an object, possibly empty */
    struct results results; /* of replay_kind or bench_kind */
};

struct result_set {
    char *name; /* as it was given */
    struct result_session *sessions;
    size_t count;
};

/* Read a file. False, with `error` naming file and reason, if it is none of these; end the session
 * with result_session_free in any case. */
bool result_session_read(struct result_session *session, const char *path, struct error *error);
void result_session_free(struct result_session *session);

/* Read a set. `path` is a file, or a folder: of that results.json and bench.json, or, where it has
 * neither, all *.json by their names, each a session. False, with `error` set; free the set in any
 * case. */
bool result_set_load(struct result_set *set, const char *path, struct error *error);

/* An empty set, to be filled by result_set_add. */
void result_set_begin(struct result_set *set, const char *name);

/* Add a session from its JSON; `source` is named in errors. */
bool result_set_add(struct result_set *set, const char *source, const char *text, size_t bytes,
                    struct error *error);

void result_set_free(struct result_set *set);

/* Write the mark of folder `index` of `count` in a comparison, "A", "B", ..., "Z",
 * "Z1", ..., and return it: "" if there is one folder. */
#define RESULT_MARK_BYTES 24
const char *result_mark(size_t index, size_t count, char mark[RESULT_MARK_BYTES]);

/* The row of this key in a session; NULL if it has none. */
const struct row *result_session_find(const struct result_session *session,
                                      const struct row_kind *kind, const char *workload,
                                      const char *algo, const char *options);

/* Fill the names of a row of bench_kind, and the number of timers, from the name of a benchmark of
 * timerlab-bench: SUITE/STRUCTURE[:options]/n:N[/FORM...][/manual_time]. */
void result_name(struct row *row, const char *name);

/* Whether the message of a benchmark that has no value says that timerlab-bench omitted it, which
 * is no fault: NULL if not, else the reason that the message goes on with. */
const char *result_left_out(const char *message);

#endif
