/*
 * engine.h: the shared table of a distributed scheduler, on an existing engine. Each participant, a
 * planner, scheduler or executor, is a process with a connection, and calls the protocol's steps;
 * each is atomic, and on the disk when it has answered.
 *
 * A timer is known by its id and generation; a restart is the same id with a higher generation. It
 * is pending, ready, in flight under a token until its lease ends, and then done; or stopped, or
 * dead after too many attempts:
 *
 *     start -> P    advance: P -> ready    take: ready -> F(token, lease)    ack: F -> D
 *                   nack: F -> P           reap: F -> ready, when the lease has ended
 *
 * That is `lease`, and its variants of claiming. The two protocols of `seed` are a hashed wheel in
 * a table of keys and values, as in common designs: a bucket a second, and a clock that is moved on
 * by compare and set before the bucket is read into a queue. They lose timers, and are here to show
 * that.
 *
 * Each function is one step of the table of protocols (protocol.h), and atomic: a process or the
 * engine may be killed between two of them. All times are given by the caller, from one clock, in
 * milliseconds.
 */
#ifndef SIM_CLUSTER_ENGINE_H
#define SIM_CLUSTER_ENGINE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Timers in one step, at most, also of those that claim: an engine does nothing else meanwhile. */
#define ENGINE_BATCH_MAX      1000u

#define ENGINE_PARTITIONS_MAX 64u

struct engine_timer {
    uint64_t id;
    uint64_t at_ms; /* the deadline; for nack, when to try again */
    uint64_t token; /* of the attempt, growing; 0: none */
    uint32_t generation;
    uint32_t attempt; /* from 1 */
    /* The task of its callback, opaque to the engine: a service's name and payload, of start and
     * take; of take, valid until the connection's next step. */
    const void *call;
    size_t call_bytes;
};

/* What planners and executors say of timers. SAY_LATER is SAY_NACK at the service's own wish, which
 * counts as no attempt. SAY_ACK deletes an entry that a seed has fetched, and SAY_NACK puts it into
 * the queue. */
enum engine_word { SAY_START, SAY_STOP, SAY_ACK, SAY_NACK, SAY_LATER };

/* A step's answer about one timer, as a character. */
enum engine_answer {
    ANSWER_NO = '0',   /* start: known already; stop, ack, nack: not in that state any more */
    ANSWER_YES = '1',  /* start: it is pending, and of an earlier generation nothing will fire.
                          stop: it will not fire. ack, nack: accepted */
    ANSWER_MAYBE = '2' /* start, stop: done, but an attempt had been begun, and may still be heard
                          of. nack: it is dead, after too many attempts */
};

/* Steps that answer with a number. */
enum engine_step {
    STEP_HAND_OUT, /* names the partitions that have something due in a queue of lists: how many
                      lists there are */
    STEP_LOAD,     /* takes one of these lists, and makes its due timers ready: how many; -1: there
                      is no list */
    STEP_JOIN,     /* gets ids for a node, by locks of the engine that end with their lease or with
                      the connection, its own and those of nodes that are gone: the ids that it has,
                      a bit each */
    STEP_REAP,     /* makes timers with an expired lease ready: how many */
    STEP_WAITING   /* how many timers are pending, ready and in flight */
};

enum engine_end {
    ENGINE_OK,
    ENGINE_GONE,  /* the connection is broken, or cannot be made: whether the step was done is not
                     known. Connect again, and do it again */
    ENGINE_FAILED /* `error` says why */
};

/* How the steps are to go. */
struct engine_plan {
    bool is_seed;
    uint32_t partitions; /* of the timers, by id; 1: they are not divided */
    uint32_t ids;        /* of nodes, which have a share of the partitions each */
    uint64_t lease_ms;
    uint64_t tick_ms;      /* seed: the length of a bucket */
    uint64_t scan_ms;      /* seed: the second pass comes this much later; 0: never */
    uint64_t keep_ms;      /* ended timers are remembered, in case their start is repeated */
    uint32_t attempts_max; /* then it is dead */
};

struct engine; /* a connection */

struct engine_claim {
    uint64_t now_ms;
    uint32_t partition;
    int node; /* which must have the partition's id; below 0: any may */
};

/* An engine for one run only: its process, in a folder of its own. */
struct engine_server {
    char folder[3000];
    char url[3500];
    pid_t pid;
};

struct engine_kind {
    const char *name;    /* as in `redis` */
    const char *package; /* of Debian, without which it is not there */

    /* Whether its server is installed; otherwise `error` names Debian's package. */
    bool (*is_installed)(struct error *error);

    /* Prepare the server's files in `server->folder`, which is empty, and set its `url`. */
    bool (*prepare)(struct engine_server *server, struct error *error);

    /* Starts the server, of which `server->folder` may hold an earlier one's data, and sets its
     * `pid`; it need not answer yet. */
    bool (*serve)(struct engine_server *server, struct error *error);

    /* Connects, and brings the protocol there, if it is not yet. */
    enum engine_end (*connect)(const char *url, const struct engine_plan *plan,
                               struct engine **engine, struct error *error);
    void (*close)(struct engine *engine); /* NULL is legal */

    /* Says a word of `count` timers, at most ENGINE_BATCH_MAX, and gets an answer for each. */
    enum engine_end (*say)(struct engine *engine, enum engine_word word,
                           const struct engine_timer *timers, size_t count, char *answers,
                           struct error *error);

    /* The steps of a seed: NULL, both, if it has none. Moves a clock from *passed on by a tick, but
     * not beyond `tick`: *state 0; or not, as another has (-1) or as it is there (-2). */
    enum engine_end (*move_clock)(struct engine *engine, const char *clock, uint64_t tick,
                                  uint64_t *version, int64_t *state, uint64_t *passed,
                                  struct error *error);

    /* Read all timers in the bucket of a tick that are before `now_ms`, into an array that the
     * caller frees. */
    enum engine_end (*fetch)(struct engine *engine, uint64_t tick, uint64_t now_ms,
                             struct engine_timer **timers, size_t *count, struct error *error);

    /* Makes timers that are due ready, and says how many. *version is that of the clock which the
     * caller saw last, 0 at first: if another has moved it on since, nothing is done, *moved is -1,
     * and *version the new one; the caller may as well sleep. NULL: that does not matter. *moved is
     * -1, too, if the node has not the partition's id any more. */
    enum engine_end (*claim)(struct engine *engine, const struct engine_claim *claim,
                             uint64_t *version, int64_t *moved, struct error *error);

    /* Does a step that answers with a number; `node` is of STEP_JOIN. */
    enum engine_end (*step)(struct engine *engine, enum engine_step step, uint64_t now_ms,
                            uint32_t node, int64_t *answer, struct error *error);

    /* Takes at most *count ready timers for an attempt each, with their calls. */
    enum engine_end (*take)(struct engine *engine, uint64_t now_ms, struct engine_timer *timers,
                            size_t *count, struct error *error);

    /* Calls `visit` for each that is dead. */
    enum engine_end (*dead)(struct engine *engine,
                            void (*visit)(void *ctx, uint64_t id, uint32_t generation), void *ctx,
                            struct error *error);
};

/* All that were built in, up to a NULL. */
extern const struct engine_kind *const engine_kinds[];

/* By name. NULL, with `error` set (which there are, or which package is missing), if there is none.
 */
const struct engine_kind *engine_find(const char *text, struct error *error);

/* --- shared by the engines -------------------------------------------------------------------- */

/* Seconds that the wheel of `seed` has slots for: 3.17 years. */
#define ENGINE_REVOLUTION 100000000u

/* Start a process for `argv` (the path is searched), with its output in `log`; as `user` if it is
 * not NULL. Returns false, with `error` set, if that fails. */
bool engine_spawn(const char *const argv[], const char *log, const char *user, pid_t *pid,
                  struct error *error);

/* Set `error` to `what` and the last line of `log`, which is removed with its folder. Returns
 * false. */
bool engine_failed(const char *what, const char *log, struct error *error);

#endif
