/*
 * kit_bytes.h: bytes as decisions: every sequence of bytes is a session of operations on a structure,
 * whether they come from a random generator, a corpus or a fuzzing engine.
 */
#ifndef SIM_KIT_BYTES_H
#define SIM_KIT_BYTES_H

#include "kit_subject.h"

/* Execute the session of the bytes on the target; the operations are logged in the witness. Return
 * false if the structure refuses the options of the session. */
bool kit_interpret(const struct kit_target *target, const uint8_t *bytes, size_t size,
                   struct kit_witness *witness);

#endif
