/*
 * crash_image.h: possible contents of a folder after a loss of power, made from a record of the calls
 * that changed it.
 *
 * Bytes are safe once their file was synced after they were written, and a name once the folder was
 * synced after it was given. Of the others, none remain or a random half: each sector of 512 bytes by
 * itself, and of names the earliest.
 */
#ifndef SIM_KIT_CRASH_IMAGE_H
#define SIM_KIT_CRASH_IMAGE_H

#include "crash_shim.h"
#include "error.h"

/* The state of the journal at a call. */
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

/* Return an empty trace in memory shared with children. */
struct crash_trace *crash_trace_new(size_t bytes);
void crash_trace_free(struct crash_trace *trace);

/* Add a call that succeeded. A call that does not fit ends the trace. */
void crash_trace_add(struct crash_trace *trace, const struct shim_call *call,
                     const struct crash_moment *moment);
void crash_trace_end(struct crash_trace *trace, const struct crash_moment *moment);

/* Return the number of calls, at least 1. */
uint64_t crash_trace_calls(const struct crash_trace *trace);

/* Write the contents after a loss of power after call `cut`, from 0, to an empty folder; set
 * *moment to the state of the journal then. */
bool crash_image_make(const struct crash_trace *trace, uint64_t cut, bool keeps_half, uint64_t seed,
                      const char *folder, struct crash_moment *moment, struct error *error);

#endif
