/*
 * predict.h: does a structure fire when the recorded system did? The trace of a recording is
 * replayed in closed loop. Each system in the recording, such as a CPU of a kernel, gets a
 * structure of its own, and each expiry is compared with the recorded one of the same start, up to
 * the last recorded expiry.
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

/* An expiry that the structure does not perform at its recorded tick, or one not recorded. */
struct prediction_place {
    enum prediction_kind kind;
    int64_t off_steps;   /* how much later the structure fires, in steps of the recorded clock */
    uint64_t start_line; /* of the recording: start of the timer */
    uint64_t line;       /* of its expiry; 0: none */
    bool deferrable;
};

struct prediction {
    char refusal[256]; /* "", or why the structure cannot replay the trace; then nothing else is
                         set */
    uint64_t expiries; /* recorded, of timers that were started in the recording */
    uint64_t same_tick;
    uint64_t within_1;
    uint64_t within_2;
    uint64_t missed;                              /* never fired */
    uint64_t extra;                               /* expiries that were not recorded */
    uint64_t deferrable;                          /* expiries of timers that the system may defer */
    uint64_t deferrable_off;                      /* of those, not at the same tick */
    struct prediction_place worst[PREDICT_WORST]; /* the worst first */
    size_t worst_count;
};

/* Replay the trace of a recording through the structure. The recording must have an expiry. */
void predict(const struct stream *stream, const struct recording *recording,
             const struct contender *contender, struct prediction *prediction);

#endif
