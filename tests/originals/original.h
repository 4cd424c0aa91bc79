/*
 * original.h: a structure beside a small model of the one that its descriptor names as origin.
 *
 * A model is written from the published source or paper of the original, not from algos/: it says
 * which file and version it follows, and what it leaves out. It does what the original does,
 * habits included; what the structure of algos/ does not take over is a habit that can be switched
 * off, and each has its words in the descriptor's `differs`. So two things are held:
 *
 *   original_agrees    with all such habits off, the same random operations have the same outcome:
 *                      what start and stop answer, which timers fire in which advance, in which
 *                      order where both have one, what `next` says, what is inside
 *   original_differs   with one habit on, some of them have not, and `differs` says so
 *
 * Timers fire into a callback that starts, and on request stops, timers itself.
 */
#ifndef TESTS_ORIGINALS_ORIGINAL_H
#define TESTS_ORIGINALS_ORIGINAL_H

#include "stand.h"

/* What a model calls for a timer that fires; by then the timer is not pending in the model. */
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

    /* Optional: compares what is inside, after every operation. False, with a sentence in `why`,
     * where it is not the same. */
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

/* What is compared, and with which operations. */
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

/* Fails if `habit` alone makes no difference to any stream, or if what the structure says of its
 * differences does not have these words. */
void original_differs(const struct original_case *wanted, uint32_t habit, const char *words);

#endif
