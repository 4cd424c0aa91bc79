/*
 * original.h: a structure compared with a small model of the one that its descriptor names as
 * origin.
 *
 * A model is written from the published source or paper of the original, not from algos/: it names
 * the file and version that it follows, and its omissions. It does the same as the original, habits
 * included; a habit that the structure of algos/ does not share can be switched off, and is
 * described in the descriptor's `differs`. So there are two checks:
 *
 *   original_agrees    with all such habits off, the same random operations have the same outcome:
 *                      the results of start and stop, the expiries of each advance, their order
 *                      where both have one, `next`, the inside
 *   original_differs   with one habit on, some outcomes differ, and `differs` has the words
 *
 * Timers fire into a callback that starts, and on request stops, timers itself.
 */
#ifndef TESTS_ORIGINALS_ORIGINAL_H
#define TESTS_ORIGINALS_ORIGINAL_H

#include "stand.h"

/* The callback of a model for an expired timer, which is no longer pending in the model. */
struct original_fire {
    void *ctx;
    void (*call)(void *ctx, uint32_t id);
};

/* A model. `self` is `bytes` of zeroed memory; ids are below ORIGINAL_IDS. */
struct original {
    const char *follows; /* the file and version, or the paper */
    size_t bytes;

    void (*open)(void *self, uint64_t now, uint32_t habits);

    /* Optional: for one that holds more than `self`. */
    void (*close)(void *self);

    /* Starts or moves a timer. False: refused, and nothing changed. */
    bool (*start)(void *self, uint32_t id, uint64_t deadline);

    /* Stops a timer. False where the original says that there was nothing to stop. */
    bool (*stop)(void *self, uint32_t id);

    void (*advance)(void *self, uint64_t now, const struct original_fire *fire);

    /* Optional: when the original wants to be called next; TL_NEVER: not at all. */
    uint64_t (*next)(void *self);

    /* Optional: where the original keeps a timer. `place` is where the structure keeps it; overwrite
     * `pending`, `level` and `slot` as far as the original has them. They are compared afterwards. */
    void (*place)(const void *self, uint32_t id, struct place *place);

    /* Optional: compare the inside, after every operation. False, with a sentence in `why`, if it
     * differs. */
    bool (*inside)(void *self, const struct tl_algo *algo, const void *structure, char *why,
                   size_t why_bytes);
};

#define ORIGINAL_IDS 64u

enum original_next {
    ORIGINAL_NEXT_ANY,    /* is not compared */
    ORIGINAL_NEXT_SAME,   /* the same tick */
    ORIGINAL_NEXT_BEFORE, /* the structure's is the same or before: it may wake once more */
    ORIGINAL_NEXT_AFTER,  /* the same or after: the original may */
};

/* The compared pair, and the operations. */
struct original_case {
    const struct original *original;
    const char *structure;
    const char *options;
    uint32_t habits;         /* that are on, in original_agrees */
    bool ordered;            /* timers that fire in one advance do so in the same order */
    enum original_next next; /* asked after every operation */

    uint32_t operations;  /* of a stream; 0: 400 */
    uint32_t ids;         /* timers at a time, up to ORIGINAL_IDS; 0: 24 */
    uint32_t delay_bits;  /* delays are below 2^delay_bits, of all magnitudes; 0: 14 */
    uint64_t clock;       /* the first tick */
    uint64_t step_ticks;  /* an advance goes from 1 to so far; 0: it may stay, or go anywhere */
    uint32_t batch_ticks; /* deadlines are multiples of this; 0: any */
    bool future_only;     /* no deadline is at or before the clock when it is given */
    bool quiet;           /* callbacks start and stop nothing */
};

/* The wheel that a walk shows, of a structure that has one. */
struct year {
    bool is_year;
    uint64_t day_ticks;
    uint32_t days;
};

struct year year_of(const struct tl_algo *algo, const void *structure);

/* Fails, with the seed and the operation, if the structure does other than the model. */
void original_agrees(const struct original_case *wanted);

/* Fail if `habit` alone makes no difference in any stream, or if the structure's `differs` does not
 * contain these words. */
void original_differs(const struct original_case *wanted, uint32_t habit, const char *words);

#endif
