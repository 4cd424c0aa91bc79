/*
 * progress.h: one line on standard error that says how far a long piece of work is: what, share
 * done, rate, time left. It is drawn on a terminal, or wherever that is asked for; elsewhere, as in
 * a pipe, a new line is written every ten seconds.
 */
#ifndef SIM_PROGRESS_H
#define SIM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_mode { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER };

/* Treat as opaque; initialise with progress_begin. */
struct progress {
    const char *what;
    const char *unit;
    uint64_t total;
    uint64_t begun_ns;
    uint64_t shown_ns;
    uint64_t every_ns; /* UINT64_MAX: never */
    unsigned width;
    bool drawn;
};

/* Sets the policy for the whole process; PROGRESS_AUTO until then. */
void progress_set_mode(enum progress_mode mode);

/* Whether progress is drawn: on a terminal, or asked for. */
bool progress_is_shown(void);

/* Starts a line. `what` and `unit` (plural, such as "events") must outlive it. total 0: unknown. */
void progress_begin(struct progress *progress, const char *what, const char *unit, uint64_t total);

/* Goes on with other work under that name, which must outlive it, too; lines come as they would. */
void progress_next(struct progress *progress, const char *what);

/* Says how much is done; cheap enough for every few thousand events, draws ten times a second. */
void progress_update(struct progress *progress, uint64_t done);

/* The same for a child's monitor (child.h): `progress` is a struct progress, and a `done` after the
 * end clears the line. */
void progress_follow(void *progress, uint64_t done);

/* Clears the line. */
void progress_end(struct progress *progress);

#endif
