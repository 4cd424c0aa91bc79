/*
 * kit_shrink.h: from the operations with which a fault was found to few that still fail in
 * the same way.
 */
#ifndef SIM_KIT_SHRINK_H
#define SIM_KIT_SHRINK_H

#include "kit_sandbox.h"

/* Carries out a failing trace again. If it fails in the same way, replaces it, and the verdict on
 * it, by the smallest found, and returns true; otherwise false, and the verdict stays. */
bool kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict);

#endif
