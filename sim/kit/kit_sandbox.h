/*
 * kit_sandbox.h: a child process for operations on a structure, and the verdict on how it ended.
 */
#ifndef SIM_KIT_SANDBOX_H
#define SIM_KIT_SANDBOX_H

#include "kit_subject.h"

/* A function for the child. It reports a fault by kit_fail, or returns. */
typedef void (*kit_child_fn)(void *ctx, struct kit_witness *witness);

/* Return a witness in memory shared with children, all zero. */
struct kit_witness *kit_witness_new(void);

/* Free it; harmless on NULL. */
void kit_witness_free(struct kit_witness *witness);

/* Clear the witness, run `child` in a process of its own until it ends or exceeds its processor
 * time, and fill in the verdict: result, fault, message, operations, seconds. Output of the
 * structure is captured, and is a fault. */
void kit_sandbox(const struct tl_algo *algo, kit_child_fn child, void *ctx,
                 const struct kit_limits *limits, struct kit_witness *witness,
                 struct kit_verdict *verdict);

/* Do the same for the operations of a trace. */
void kit_sandbox_trace(const struct kit_target *target, const struct kit_trace *trace,
                       const struct kit_limits *limits, struct kit_witness *witness,
                       struct kit_verdict *verdict);

#endif
