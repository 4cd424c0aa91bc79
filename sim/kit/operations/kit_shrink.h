/*
 * kit_shrink.h: from the operations with which a fault was found to few that still fail in
 * the same way.
 */
#ifndef SIM_KIT_SHRINK_H
#define SIM_KIT_SHRINK_H

#include "kit_sandbox.h"

/* Execute a failing trace again. If it fails in the same way, replace it and its verdict by the
 * smallest trace found, and return true. */
bool kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict);

#endif
