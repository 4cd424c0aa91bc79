/*
 * crash_image.h: what a loss of power leaves of a folder, made from what was done to it.
 *
 * A file's bytes are safe once it was synced after they were written, and a name once the folder
 * was synced after it was given. Of what is not safe, nothing is left, or any half: of bytes each
 * sector of 512 for itself, of names those that were given first.
 */
#ifndef SIM_KIT_CRASH_IMAGE_H
#define SIM_KIT_CRASH_IMAGE_H

#include "crash_shim.h"
#include "error.h"

/* How much was known, and what was being done, at the time of a call. */
struct crash_moment {
    uint64_t events;
    uint64_t acknowledged;
    uint64_t deadline;
    uint64_t clock;
    uint64_t named; /* the largest number that was given to a start */
    uint32_t doing;
    uint32_t id;
    bool advancing;
};

struct crash_trace;

/* Shared with children. NULL: no memory. */
struct crash_trace *crash_trace_new(size_t bytes);
void crash_trace_free(struct crash_trace *trace);

/* Notes a call that was done. What no longer fits ends the trace. */
void crash_trace_add(struct crash_trace *trace, const struct shim_call *call,
                     const struct crash_moment *moment);
void crash_trace_end(struct crash_trace *trace, const struct crash_moment *moment);

/* How many there are. */
uint64_t crash_trace_calls(const struct crash_trace *trace);

/* Makes in a folder that is empty what is left when power is lost after call `cut`, from 0; sets
 * what was known then. */
bool crash_image_make(const struct crash_trace *trace, uint64_t cut, bool keeps_half, uint64_t seed,
                      const char *folder, struct crash_moment *moment, struct error *error);

#endif
