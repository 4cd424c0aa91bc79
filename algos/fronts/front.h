/*
 * front.h: front ends, which wrap any structure and change its use: most make it safe for many
 * threads, `lazy` avoids moving restarted timers.
 *
 * A front end holds a structure, the inner one, and is a structure itself: same contract, same
 * hooks. `locked(binary-heap)` is a binary heap under one lock. With one thread it keeps the promises
 * of its capabilities and its precision, like any other structure.
 *
 * A front end that adds TL_CAP_CONCURRENT may be called by many threads, as timerlab.h says. It
 * allows more than that: next, sync and advance may be called at any time, too; of several advances
 * one does its work, and the others wait. After another front end there is one caller at a time.
 *
 * A front end starts no thread: the caller advances it.
 */
#ifndef TIMERLAB_FRONT_H
#define TIMERLAB_FRONT_H

#include "timerlab.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* A front end, before it is given a structure. */
struct tl_front {
    const char *name;                /* "locked" */
    const char *summary;             /* one line */
    const char *origin;              /* who runs their timers like this */
    const char *description;         /* how it works, and its effects */
    const struct tl_option *options; /* its own, before those of the inner one; ends with name ==
                                        NULL; NULL: none */
    size_t options_bytes;            /* of the struct that its own table fills in */
    uint32_t needs;                  /* capabilities that the inner structure must have */
    uint32_t bars;                   /* capabilities that it must not have */
    uint32_t keeps;                  /* those that the whole has if the inner one has them */
    uint32_t adds;                   /* those that it always has */

    /* Return the precision of the whole; NULL: the inner structure's. `own` are the front end's
     * options, `options` the inner one's. */
    struct tl_precision (*precision)(const struct tl_algo *inner, const void *own,
                                     const void *options, uint64_t delay_ticks);

    /* As tl_algo's create; config->options are the inner structure's. `inner` outlives it. */
    enum tl_status (*create)(const struct tl_algo *inner, const void *own,
                             const struct tl_config *config, void **self);

    /* All other hooks. The whole has an optional one if the inner structure has it, or if the
     * capabilities require it. */
    struct tl_algo hooks;
};

/* Return the front ends, and their number in *count. */
const struct tl_front *const *tl_fronts(size_t *count);

/* Return the front end of that name; NULL: none. */
const struct tl_front *tl_front_find(const char *name);

/* Both forms of a composed structure exist up to this number at once. */
#define TL_COMPOSITIONS_MAX 128

/*
 * Return the descriptor of `inner` inside `front`: named "front(inner)", with the options of both.
 * `inner` must outlive the composition. NULL, with a sentence in `why`: it lacks a capability that the
 * front end needs, has one that it bars, has an option of the same name, or is composed itself; or
 * there are TL_COMPOSITIONS_MAX already, or no memory. Neither this nor its counterpart is
 * thread-safe.
 */
const struct tl_algo *tl_front_compose(const struct tl_front *front, const struct tl_algo *inner,
                                       char *why, size_t why_bytes);

/* Return the front end of a composed descriptor, or of a copy of it; NULL: it is not composed. */
const struct tl_front *tl_front_of(const struct tl_algo *algo);

/* Likewise the structure inside the front end. */
const struct tl_algo *tl_front_inner(const struct tl_algo *algo);

/* Free a composed descriptor, or NULL. No instance of it may be left. */
void tl_front_release(const struct tl_algo *composed);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
