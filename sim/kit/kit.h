/*
 * kit.h: the conformance kit. It holds a timer structure to the contract in timerlab.h and to what
 * its own descriptor promises, and says what is wrong in terms of timers and ticks.
 *
 * Two instruments share one judge. The judge (kit_subject.h) drives a structure operation by
 * operation, keeps beside it what the contract says must happen, and compares after every call.
 * The contract cases are short scripts, each about one promise. The fuzzer turns bytes into
 * operations (kit_trace.h), and a failing run into the shortest list of operations that still
 * fails.
 *
 * Whatever runs a structure runs it in a child process of its own, on an allocator with guards:
 * one that crashes, hangs, exits, prints, leaks or writes where it must not is a verdict like any
 * other, and the caller goes on.
 */
#ifndef SIM_KIT_H
#define SIM_KIT_H

#include "error.h"
#include "fault.h"
#include "kit_trace.h"
#include "registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is checked: a structure under given option values. */
struct kit_target {
    const struct tl_algo *algo;
    const struct tl_algo *counted;  /* its build with counters; may be the same */
    const struct tl_algo *embedded; /* its build that takes records; may be the same, NULL: none */
    TL_OPTION_VALUES(options);
    bool large;    /* with the cases of more than a million timers */
    uint64_t seed; /* of the sizes that are drawn */
    bool pinned;   /* check under these values only, rather than also under others in range */
};

/* A target of that descriptor under its defaults, not pinned. Where the build that takes records is
 * another one, it is to be set. */
struct kit_target kit_target_of(const struct tl_algo *timed, const struct tl_algo *counted);

/* The memory of an instance for one timer; 0 if none can be made. Checking takes about a second for
 * each 4 MB of it: the cases make hundreds of instances. */
uint64_t kit_instance_bytes(const struct kit_target *target);

struct kit_run; /* what a case gets: kit_run.h */

/* A structure that takes records, where other needs are capabilities. */
#define KIT_NEEDS_RECORDS (UINT32_C(1) << 31)

/* A contract case. */
struct kit_case {
    const char *name;
    const char *group;
    const char *asserts; /* one sentence */
    uint32_t needs;      /* capabilities without which the case does not apply, and
                            KIT_NEEDS_RECORDS */
    bool once;           /* not repeated under other option values */
    void (*function)(struct kit_run *run);
};

/* The contract cases in their order; *count is set to how many. */
const struct kit_case *kit_cases(size_t *count);

/* The case of that name; NULL if there is none. */
const struct kit_case *kit_case_find(const char *name);

/* Whether the target promises all that the case needs; if not, `why` says what it does not. */
bool kit_case_applies(const struct kit_target *target, const struct kit_case *contract_case,
                      char *why, size_t size);

/* What was tried. */
struct kit_coverage {
    uint64_t pending;   /* the most timers at once */
    uint64_t callbacks; /* timers fired */
    double ticks;       /* that the clocks went */
    uint64_t states;    /* different ones, where all cases of a kind are gone through */
};

/* Adds what else was tried; of what is pending at once, the most. */
void kit_coverage_add(struct kit_coverage *sum, const struct kit_coverage *more);

enum kit_result { KIT_OK, KIT_FAULT, KIT_SKIPPED };

struct kit_verdict {
    enum kit_result result;
    enum fault_kind fault;
    char message[2048]; /* what happened, or why it was skipped; names options, timer and tick.
                           Of what is right, what is worth knowing, if anything */
    bool repeats;       /* of a fault: the trace that was handed out with it shows it again */
    struct kit_coverage coverage;
    uint64_t operations;
    double seconds;
};

/* Processor time for one child: a hook that takes an eighth of it hangs; a child that goes on for
 * twice as long is ended, and what it did counts. The memory that a structure may ask for. And how
 * much time a case takes that could go on for ever: it then stops, and says how far it came. */
struct kit_limits {
    double processor_seconds;
    double hook_seconds; /* by the wall clock, for one hook, which may wait for ever */
    uint64_t bytes;
    double patience_seconds;
    double shrink_seconds; /* of looking for fewer operations that show a fault */
    /* Called now and then, by another process, with how many hooks the child has called; may be
     * NULL. What it writes it finds again only in shared memory (child.h). */
    void (*progress)(void *ctx, uint64_t calls);
    void *progress_ctx;
};

/* Generous for one case, and what `timerlab check` uses. */
struct kit_limits kit_limits_default(void);

/* Runs one case on one target in a child process. With `trace`, a fault is also told in the fewest
 * operations that were found to repeat it: verdict and trace are of these then. Where they do not
 * repeat it the trace is empty. To be released with kit_trace_release. */
void kit_check_case(const struct kit_target *target, const struct kit_case *contract_case,
                    const struct kit_limits *limits, struct kit_verdict *verdict,
                    struct kit_trace *trace);

/* How long to fuzz: until `operations` operations are done, or (where that is 0) for `seconds` of
 * time. Sessions are numbered on from `seed`: session k of a run is session 0 of seed + k. */
struct kit_fuzz_plan {
    uint64_t seed;
    double seconds;
    uint64_t operations;
    void (*progress)(void *ctx, uint64_t operations); /* may be NULL */
    void *progress_ctx;
};

/* Differential fuzzing of one target. On a fault, `trace` is the shortest failing trace found (to
 * be released with kit_trace_release), and its seed that of the failing session; it is what was
 * done, and verdict.repeats false, if that did not fail again. */
void kit_fuzz(const struct kit_target *target, const struct kit_fuzz_plan *plan,
              const struct kit_limits *limits, struct kit_verdict *verdict,
              struct kit_trace *trace);

/* Runs a trace on a target in a child process. */
void kit_replay(const struct kit_target *target, const struct kit_trace *trace,
                const struct kit_limits *limits, struct kit_verdict *verdict);

/* Runs what bytes mean as operations in this process, and aborts on a fault: for a fuzzing engine
 * that watches the process. */
void kit_run_bytes(const struct kit_target *target, const uint8_t *bytes, size_t size);

#endif
