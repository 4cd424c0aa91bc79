/*
 * stand.h: one structure under test, with a clock, counters and the due tick of each timer.
 * tests/README.md has an example.
 *
 * These functions fail the test if the structure fires an idle timer, returns the wrong status from
 * stop or the wrong number from advance or count, fails its own check, or leaks memory. They do not
 * compare ticks of expiry with due ticks, because some structures are early or late by design.
 */
#ifndef TESTS_STAND_H
#define TESTS_STAND_H

#include "test.h"

#define STAND_FIRED_MAX 16u

struct stand {
    const struct tl_algo *algo;
    void *self;
    TL_OPTION_VALUES(options);
    struct tl_memory memory;
    uint64_t clock;
    uint64_t random;               /* seed of stand_draw */
    uint64_t fired;                /* expiries in all */
    uint32_t ids[STAND_FIRED_MAX]; /* the first expiries of the last advance, in order */
    uint32_t capacity;
    uint64_t *due; /* by id: the deadline, or the clock if that was later; TL_NEVER: idle */

    /* Optional, with `ctx` for its use: called for each expiry, when s->clock is the tick of the
     * advance and the timer is idle. `due` is the tick that s->due had for it. */
    void (*on_expiry)(struct stand *s, uint32_t id, uint64_t due);
    void *ctx;
};

/* Create `algo` with the options in `text`, or those of `config` if `text` is NULL, and a counting
 * allocator. Returns the status of create. */
enum tl_status stand_try(struct stand *s, const struct tl_algo *algo, const char *text,
                         struct tl_config config);

/* The same, but any status except TL_OK fails the test. stand_open takes the name of a registered
 * structure, in the build that counts its work, and members of struct tl_config as `.capacity = 4`. */
#define stand_open(s, name, text, ...)                                                             \
    stand_must(s, stand_algo(name), text, (struct tl_config){__VA_ARGS__})
void stand_must(struct stand *s, const struct tl_algo *algo, const char *text,
                struct tl_config config);
const struct tl_algo *stand_algo(const char *name);

/* Fail the test unless the structure's own check passes, and it counts the pending timers. */
void stand_check(const struct stand *s);

/* Check and destroy the structure, of which no memory may be left. */
void stand_close(struct stand *s);

/* Grow to hold ids below `capacity`. */
void stand_reserve(struct stand *s, uint32_t capacity);

/* Start a timer; stand_start fails the test unless the answer is TL_OK. */
void stand_start(struct stand *s, uint32_t id, uint64_t deadline);
enum tl_status stand_try_start(struct stand *s, uint32_t id, uint64_t deadline);

/* Stop a timer. Returns TL_OK if it was pending, else TL_IDLE. */
enum tl_status stand_stop(struct stand *s, uint32_t id);

/* Advance to a tick. Returns how many timers expired, at most `budget`. */
uint64_t stand_advance(struct stand *s, uint64_t now);
uint64_t stand_advance_some(struct stand *s, uint64_t now, uint64_t budget);

/* Advance tick by tick until no timer is pending. Returns the last tick. */
uint64_t stand_run_dry(struct stand *s);

/* The structure's own next and count. */
uint64_t stand_next(const struct stand *s);
uint64_t stand_count(const struct stand *s);

/* The work counted so far; since `before`; and compares, moves and slots in one sum. */
struct tl_counters stand_counters(const struct stand *s);
struct tl_counters stand_since(const struct stand *s, const struct tl_counters *before);
uint64_t stand_work(const struct stand *s);

/* A random number below `bound`. */
uint64_t stand_draw(struct stand *s, uint64_t bound);

/* Where a structure's walk shows a timer. */
struct place {
    bool pending;
    char part[32];   /* its name */
    unsigned level;  /* N in the part "level N"; 1 in any other wheel; 0: in no wheel */
    uint64_t slot;   /* the cell's index; in a tree, how many cells are above it */
    uint64_t rounds; /* full turns still to wait */
    uint64_t from;   /* the ticks that the cell stands for */
    uint64_t to;
};

/* The place of a pending timer; fails the test if the walk does not show it. */
struct place stand_place(const struct stand *s, uint32_t id);

/* The place of one timer, or of all below `capacity`. */
struct place place_find(const struct tl_algo *algo, const void *self, uint32_t id);
void places_find(const struct tl_algo *algo, const void *self, struct place *places,
                 uint32_t capacity);

#endif
