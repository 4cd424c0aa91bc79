/*
 * kit_shrink.h: from the operations with which the fuzzer found a fault to few that still fail in
 * the same way.
 */
#ifndef SIM_KIT_SHRINK_H
#define SIM_KIT_SHRINK_H

#include "kit_sandbox.h"

/* Replaces a failing trace, and the verdict on it, by the smallest found. */
void kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict);

#endif
