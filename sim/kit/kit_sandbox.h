/*
 * kit_sandbox.h: a child process in which a structure may do what it likes, and a verdict on what
 * it did.
 */
#ifndef SIM_KIT_SANDBOX_H
#define SIM_KIT_SANDBOX_H

#include "kit_subject.h"

/* What runs in the child. It fails by kit_fail, and otherwise returns. */
typedef void (*kit_child_fn)(void *ctx, struct kit_witness *witness);

/* A witness in memory that child processes share, all zero. */
struct kit_witness *kit_witness_new(void);

/* Frees it; harmless on NULL. */
void kit_witness_free(struct kit_witness *witness);

/* Clears the witness, runs `child` in a process of its own until it ends or has used up its
 * processor time, and writes the verdict: result, fault, message, operations, seconds. What the
 * structure prints is kept from the caller's standard output and error, and is a fault. */
void kit_sandbox(const struct tl_algo *algo, kit_child_fn child, void *ctx,
                 const struct kit_limits *limits, struct kit_witness *witness,
                 struct kit_verdict *verdict);

/* The same for the operations of a trace. */
void kit_sandbox_trace(const struct kit_target *target, const struct kit_trace *trace,
                       const struct kit_limits *limits, struct kit_witness *witness,
                       struct kit_verdict *verdict);

#endif
