/*
 * kit.h: the conformance kit. It tests a timer structure against the contract in timerlab.h and the
 * promises of its own descriptor, and reports faults in terms of timers and ticks.
 *
 * The judge (kit_subject.h) drives a structure operation by operation, updates a model, and compares
 * the two after every call. The contract cases are short scripts, each about one promise. The fuzzer
 * turns bytes into operations (kit_trace.h), and a failing run into the shortest list of operations
 * that still fails.
 *
 * A structure always runs in a child process, on an allocator with guards: a crash, a hang, an exit,
 * output, a leak or a wild write is a verdict, and the caller continues.
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

/* A structure to check, under given option values. */
struct kit_target {
    const struct tl_algo *algo;
    const struct tl_algo *counted;  /* its build with counters; may be the same */
    const struct tl_algo *embedded; /* its build that takes records; may be the same, NULL: none */
    TL_OPTION_VALUES(options);
    bool large;    /* with the cases of more than a million timers */
    uint64_t seed; /* for drawn sizes */
    bool pinned;   /* check under these values only, rather than also under others in range */
};

/* Return a target of that descriptor under its defaults, not pinned. Set `embedded` if the build
 * that takes records is another one. */
struct kit_target kit_target_of(const struct tl_algo *timed, const struct tl_algo *counted);

/* Return the memory of an instance for one timer; 0 if none can be made. Checking takes about a
 * second for each 4 MB of it, since the cases make hundreds of instances. */
uint64_t kit_instance_bytes(const struct kit_target *target);

struct kit_run; /* kit_subject.h */

/* A requirement next to the capabilities: the structure takes records. */
#define KIT_NEEDS_RECORDS (UINT32_C(1) << 31)

/* Not repeated under other option values. */
#define KIT_ONCE          (UINT32_C(1) << 30)

/* A contract case. */
struct kit_case {
    const char *name;
    const char *group;
    uint32_t flags; /* required capabilities, KIT_NEEDS_RECORDS, KIT_ONCE */
    void (*function)(struct kit_run *run);
    const char *asserts; /* one sentence */
};

/* Return the contract cases in their order; set *count. */
const struct kit_case *kit_cases(size_t *count);

/* Return the case of that name, or NULL. */
const struct kit_case *kit_case_find(const char *name);

/* Whether the target promises everything that the case requires; if not, `why` names the missing
 * promise. */
bool kit_case_applies(const struct kit_target *target, const struct kit_case *contract_case,
                      char *why, size_t size);

/* How much was tested. */
struct kit_coverage {
    uint64_t pending;   /* the most timers at once */
    uint64_t callbacks; /* timers fired */
    double ticks;       /* by which clocks advanced */
    uint64_t states;    /* distinct states of an exhaustive search */
};

/* Add `more` to `sum`; `pending` is a maximum. */
void kit_coverage_add(struct kit_coverage *sum, const struct kit_coverage *more);

enum kit_result { KIT_OK, KIT_FAULT, KIT_SKIPPED };

struct kit_verdict {
    enum kit_result result;
    enum fault_kind fault;
    char message
        [2048];   /* the fault, with options, timer and tick; the reason of a skip; or a remark */
    bool repeats; /* of a fault: the trace that was returned with it shows it again */
    struct kit_coverage coverage;
    uint64_t operations;
    double seconds;
};

/* Limits of one child. A hook that takes an eighth of the processor time hangs; a child that takes
 * twice the time is ended without a fault. A case that could go on for ever stops after
 * `patience_seconds` and reports how far it got. */
struct kit_limits {
    double processor_seconds;
    double hook_seconds; /* wall time of one hook, which may wait for ever */
    uint64_t bytes;      /* that a structure may request */
    double patience_seconds;
    double shrink_seconds; /* spent on shortening a failing trace */
    /* Called at intervals by another process with the number of hooks called; may be NULL. It keeps
     * state in shared memory only (child.h). */
    void (*progress)(void *ctx, uint64_t calls);
    void *progress_ctx;
};

/* Return generous limits for one case, those of `timerlab check`. */
struct kit_limits kit_limits_default(void);

/* Run one case on one target in a child process. With `trace`, a fault is reduced to the fewest
 * operations that repeat it, and verdict and trace are about these; the trace is empty if the
 * operations do not repeat it. Release it with kit_trace_release. */
void kit_check_case(const struct kit_target *target, const struct kit_case *contract_case,
                    const struct kit_limits *limits, struct kit_verdict *verdict,
                    struct kit_trace *trace);

/* Duration of fuzzing: `operations` operations, or, where that is 0, `seconds`. Session k of a run
 * with `seed` is session 0 of seed + k. */
struct kit_fuzz_plan {
    uint64_t seed;
    double seconds;
    uint64_t operations;
    void (*progress)(void *ctx, uint64_t operations); /* may be NULL */
    void *progress_ctx;
};

/* Compare a target with the model on random operations. On a fault, `trace` is the shortest failing
 * trace found, with the seed of its session (release it with kit_trace_release); if the fault did
 * not repeat, it has all operations, and verdict.repeats is false. */
void kit_fuzz(const struct kit_target *target, const struct kit_fuzz_plan *plan,
              const struct kit_limits *limits, struct kit_verdict *verdict,
              struct kit_trace *trace);

/* Run a trace on a target in a child process. */
void kit_replay(const struct kit_target *target, const struct kit_trace *trace,
                const struct kit_limits *limits, struct kit_verdict *verdict);

#endif
