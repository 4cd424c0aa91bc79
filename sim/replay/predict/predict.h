/*
 * predict.h: does a structure fire when the recorded system did? The trace of a recording is
 * replayed in closed loop, as in every replay; but each of the systems that the recording has side
 * by side, such as a kernel's CPUs, is a structure of its own, and each of its firings is held
 * against the expiry that was recorded for the same start.
 *
 * Firings after the last expiry of the recording are not looked at.
 */
#ifndef SIM_PREDICT_H
#define SIM_PREDICT_H

#include "catalog.h"
#include "recording.h"
#include "stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PREDICT_WORST 5u

enum prediction_kind { PREDICTION_OFF, PREDICTION_MISSED, PREDICTION_EXTRA };

/* An expiry that was not foretold, or a firing that never was. */
struct prediction_place {
    enum prediction_kind kind;
    int64_t off_steps;   /* of the recorded clock, how much later the structure fires */
    uint64_t start_line; /* of the recording: where the timer was started, */
    uint64_t line;       /* and where it expired; 0: not at all */
    bool deferrable;
};

struct prediction {
    char
        refusal[256]; /* "", or why the structure cannot take the trace; then nothing else is set */
    uint64_t expiries; /* of the recording, of timers that were started in it */
    uint64_t same_tick;
    uint64_t within_1;
    uint64_t within_2;
    uint64_t missed;         /* never fired */
    uint64_t extra;          /* firings that the recording does not have */
    uint64_t deferrable;     /* expiries of timers that the system may put off, */
    uint64_t deferrable_off; /* and those of them not at the same tick */
    struct prediction_place worst[PREDICT_WORST]; /* the worst first */
    size_t worst_count;
};

/* Replay the trace of a recording through the structure. Both must have been read, and the recording
 * have an expiry. */
void predict(const struct stream *stream, const struct recording *recording,
             const struct contender *contender, struct prediction *prediction);

#endif
