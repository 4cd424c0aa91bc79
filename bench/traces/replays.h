/*
 * replays.h: the cost of the simulator's replay: compared with a plain loop over the same
 * operations, with a clock around each of them, and in memory. The sides of a comparison are
 * measured in turn, round by round; figures are medians over the rounds.
 */
#ifndef BENCH_REPLAYS_H
#define BENCH_REPLAYS_H

#include "bench_shim.h"
#include "error.h"
#include "replay.h"

#include <stdbool.h>
#include <stdint.h>

struct replays_subject {
    const char *trace_path;
    const char *longer_path; /* of replays_memory: the same timers for longer */
    const char *plain_path;  /* of replays_throughput: a file that it may make; it removes it */
    const struct tl_algo *algo;
    const void *options;
    enum replay_pass pass;       /* of replays_memory */
    double min_time_s;           /* how long is measured at least */
    const struct stream *stream; /* the trace, decoded; NULL: each pass does so */
    struct tape *tape; /* the reactions of its expiries; made here where needed, else NULL */
};

/* Measure the throughput pass, in nanoseconds an operation of its window, compared with a plain
 * loop: the same operations as records of 16 bytes {tick, id, delay, operation} in a mapped file,
 * each a call of `start` or `stop` through the structure's pointers, without advance, blocks and
 * checks. The structure must fire nothing. Counters: limit_ns, the plain loop's time; times_plain,
 * the ratio; times_ticking, the ratio to the same loop with the calls of `next` and `advance` that
 * the replay must make when the tick changes; decoded_ns, the whole pass with opening, reading and
 * decoding the trace, an operation of the whole trace. */
bool replays_throughput(const struct replays_subject *subject, struct bench_measured *out,
                        struct error *error);

/* Measure the latency pass, in nanoseconds an operation of its window, compared with the throughput
 * pass of the same trace. Counters: plain_ns, that pass's time; adds_ns, the difference; clock_ns,
 * a reading of the processor's counter; limit_ns, the throughput pass with such a reading before
 * each operation; filing_ns, the latency pass's additional time outside its timed part, for
 * distinguishing starts from restarts and for filing latencies. */
bool replays_latency(const struct replays_subject *subject, struct bench_measured *out,
                     struct error *error);

/* Measure the replay's own memory: the peak of a process that only replays, less its memory before,
 * with a structure that fires nothing and needs no memory. The time is that of the whole pass, an
 * operation of the trace. Counters: own_bytes; longer_own_bytes, for the longer trace;
 * times_longer, the ratio of the operations; times_own, the ratio of the memory. */
bool replays_memory(const struct replays_subject *subject, struct bench_measured *out,
                    struct error *error);

#endif
