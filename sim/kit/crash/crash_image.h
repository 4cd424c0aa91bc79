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
    uint64_t clock;
    uint64_t named; /* the largest number that was given to a start */
    bool advancing;
};

struct crash_trace;

/* Return an empty trace in memory shared with children. */
struct crash_trace *crash_trace_new(void);
void crash_trace_free(struct crash_trace *trace);

/* Add a call that succeeded. A call that does not fit ends the trace. */
void crash_trace_add(struct crash_trace *trace, const struct shim_call *call,
                     const struct crash_moment *moment);

/* Return the number of calls. */
uint64_t crash_trace_calls(const struct crash_trace *trace);

/* Return the number of calls up to the first write to several sectors, from call `cut` on, of which a
 * loss of power may leave the later ones only; `cut` if there is none. */
uint64_t crash_trace_torn(const struct crash_trace *trace, uint64_t cut);

/* Write the contents after a loss of power after `cut` calls, fewer than there are, to an empty
 * folder; set *moment to the state of the journal at the next call. */
bool crash_image_make(const struct crash_trace *trace, uint64_t cut, bool keeps_half, uint64_t seed,
                      const char *folder, struct crash_moment *moment, struct error *error);

#endif
