/*
 * result_set.h: results as they lie on a disk, of `timerlab sim` and of Google Benchmark, read into
 * one shape. A set is one side of a comparison. It holds one session for each file: what one
 * process measured in one go. A session has an entry for each thing measured, and an entry has the
 * single runs of each figure, in the order in which they were made.
 */
#ifndef SIM_RESULT_SET_H
#define SIM_RESULT_SET_H

#include "error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum result_kind { RESULT_SIM, RESULT_BENCH };

/* Texts belong to the session. */
struct result_entry {
    char *workload; /* the trace's file name; of a benchmark its name, without the structure's */
    char *algo;     /* the structure, "" if a benchmark is none of timerlab's */
    char *options;
    const char *checksum; /* of the trace's content, "" if unknown */
    const char *status;   /* "ok", or what else the row says; "error" of a benchmark that failed */
    bool left_out;        /* it was not run, for a reason that is no fault: no status but "ok" then
                             is a failure */
    const char *reason;   /* "" if there is none */
    json_t *row;          /* sim: the row; bench: an array of the repetitions */
};

struct result_session {
    char *path;
    enum result_kind kind;
    json_t *root;
    const json_t *context; /* an object, possibly empty */
    struct result_entry *entries;
    size_t count;
};

struct result_set {
    char *name; /* as it was given */
    struct result_session *sessions;
    size_t count;
};

/* Reads a set. `path` is a file, or a folder: of that results.json and bench.json, or, where it has
 * neither, all *.json by their names, each a session. False, with `error` naming file and reason;
 * free the set in any case. */
bool result_set_load(struct result_set *set, const char *path, struct error *error);

/* An empty set, to be filled by result_set_add. */
void result_set_begin(struct result_set *set, const char *name);

/* Adds a session from its JSON; `source` is named in errors. */
bool result_set_add(struct result_set *set, const char *source, const char *text, size_t bytes,
                    struct error *error);

void result_set_free(struct result_set *set);

/* The entry of this name in a session; NULL if it has none. */
const struct result_entry *result_session_find(const struct result_session *session,
                                               enum result_kind kind, const char *workload,
                                               const char *algo, const char *options);

/* Whether the message of a benchmark that has no value says that timerlab-bench left it out, which
 * is no fault: NULL if not, else the reason that the message goes on with. */
const char *result_left_out(const char *message);

/* How many single runs of a figure an entry has, and the run at `index`. Times of benchmarks come
 * in nanoseconds whatever their unit. */
size_t result_entry_runs(const struct result_session *session, const struct result_entry *entry,
                         const char *metric);
double result_entry_run(const struct result_session *session, const struct result_entry *entry,
                        const char *metric, size_t index);

#endif
