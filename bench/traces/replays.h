/*
 * replays.h: what the simulator's replay itself takes: against a plain loop over the same
 * operations, with a clock around each of them, and in memory. What is compared is measured by
 * turns: each round does one after the other, and figures are medians over the rounds.
 */
#ifndef BENCH_REPLAYS_H
#define BENCH_REPLAYS_H

#include "bench_shim.h"
#include "error.h"
#include "replay.h"

#include <stdbool.h>
#include <stdint.h>

/* What is replayed. */
struct replays_subject {
    const char *trace_path;
    const char *longer_path; /* of replays_memory: the same timers for longer */
    const char *plain_path;  /* of replays_throughput: a file that it may make; it removes it */
    const struct tl_algo *algo;
    const void *options;
    enum replay_pass pass;       /* of replays_memory */
    double min_time_s;           /* how long is measured at least */
    const struct stream *stream; /* the trace, decoded; NULL: each pass does so */
    struct tape *tape; /* what its expiries cause; made here where it is needed, else NULL */
};

/* The throughput pass, nanoseconds an operation of its window, against a plain loop: the same
 * operations as records of 16 bytes {tick, id, delay, operation} in a mapped file, each handed to
 * `start` or `stop` through the structure's pointers, with no advance, no block and no check. The
 * structure must be one that fires nothing. Counters: limit_ns, the plain loop's time; times_plain,
 * the ratio; times_ticking, the ratio to the same loop that also asks `next` and calls `advance`
 * when the tick changes, as the replay must; decoded_ns, what the whole pass takes, an operation of
 * the whole trace, with opening, reading and decoding it. */
bool replays_throughput(const struct replays_subject *subject, struct bench_measured *out,
                        struct error *error);

/* The latency pass, nanoseconds an operation of its window, against the throughput pass of the same
 * trace. Counters: plain_ns, that pass's time; adds_ns, what the latency pass takes more; clock_ns,
 * a reading of the processor's counter in a row of readings; limit_ns, the throughput pass with
 * such a reading, kept nowhere, before each operation; filing_ns, what the latency pass takes more
 * while its clock stands, for telling starts from restarts and for filing what it has measured. */
bool replays_latency(const struct replays_subject *subject, struct bench_measured *out,
                     struct error *error);

/* The replay's own memory: the most that a process holds that does nothing else, less what it holds
 * before, with a structure that fires nothing, and needs no memory. Timed is the whole pass, an
 * operation of the trace.
 * Counters: own_bytes; longer_own_bytes, on the longer trace, times_longer, by how much that has
 * more operations, and times_own, by how much more memory it took. */
bool replays_memory(const struct replays_subject *subject, struct bench_measured *out,
                    struct error *error);

#endif
