/*
 * tcp_fit.h: the workload tcp, fitted to a recording of Linux's timers, and held against it.
 *
 * The recording is imported kind by kind and measured; what can be counted in it becomes the
 * workload's parameters; the few that cannot are searched: small traces of some seeds are
 * generated, measured by the same code, and the values kept whose median comes nearest. What came
 * out is judged on other seeds. All are fixed, so the same recording gives the same fit.
 */
#ifndef SIM_TCP_FIT_H
#define SIM_TCP_FIT_H

#include "error.h"
#include "gen.h"
#include "import.h"
#include "tcp_estimate.h"
#include "tcp_measure.h"

#include <stdbool.h>
#include <stdint.h>

/* Of fewer events than this, in the mean of both sides, nothing can be judged. */
#define TCP_FIT_FEW    50

/* A statistic is met if it is within this of the recorded one, as a share. */
#define TCP_FIT_WITHIN 0.1

/* The seeds of the judgement, from the first on; the search sees none of them. An odd number: the
 * median is one of them. */
#define TCP_FIT_SEED   5001
#define TCP_FIT_SEEDS  49

/* How a statistic came out. */
enum tcp_verdict {
    TCP_MET,
    TCP_OWN,    /* more than TCP_FIT_WITHIN off, but by no more than the recording's own */
    TCP_BEYOND, /* more than either */
    TCP_FEW,    /* fewer than TCP_FIT_FEW events: not judged */
    TCP_NONE,   /* neither side has it */
};

struct tcp_fit {
    struct tcp_measure recorded;
    struct tcp_measure generated; /* of each statistic the median of the judgement's seeds */
    struct tcp_measure least;     /* of them */
    struct tcp_measure most;
    struct gen_part part;  /* the workload's parameters */
    uint64_t other_starts; /* of the recording: of timers that are not TCP's, left out */
    unsigned generations;
    char notes[TCP_ESTIMATE_NOTES][TCP_NOTE_BYTES];
    unsigned note_count;
};

/* Fits to the recording at `input`, a file that can be read more than once. With `given`, a share
 * of the workload tcp, nothing is fitted: that is held against the recording, for as long as it
 * lasts. False, with `error` set, if the recording cannot be read or imported, has no timers of
 * TCP, or too few to fit to. */
bool tcp_fit(const char *input, const struct gen_part *given, struct tcp_fit *fit,
             struct error *error);

/* Generated over recorded; NAN where that says nothing. */
double tcp_fit_ratio(const struct tcp_fit *fit, enum tcp_kind kind, enum tcp_statistic statistic);

enum tcp_verdict tcp_fit_judge(const struct tcp_fit *fit, enum tcp_kind kind,
                               enum tcp_statistic statistic);

#endif
