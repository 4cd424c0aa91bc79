/*
 * kit_bytes.h: bytes as decisions: every sequence of bytes means some session of operations on a
 * structure. What random numbers, a corpus and a fuzzing engine are read by.
 */
#ifndef SIM_KIT_BYTES_H
#define SIM_KIT_BYTES_H

#include "kit_subject.h"

/* Does what the bytes mean to the target. The operations done are noted in the witness as they
 * come. Returns false if the structure refused the session's options. */
bool kit_interpret(const struct kit_target *target, const uint8_t *bytes, size_t size,
                   struct kit_witness *witness);

#endif
