/*
 * kit_interpreter.h: runs operations on a subject: those that bytes decide, or those of a trace.
 * Both end by driving the clock on until nothing is pending, and destroy the structure.
 */
#ifndef SIM_KIT_INTERPRETER_H
#define SIM_KIT_INTERPRETER_H

#include "kit_subject.h"

#define KIT_BOUNDARIES_MAX 512u

/* Numbers of ticks at which timer structures change their mind: powers and round numbers, and
 * the structure's own numeric option values with their products, each with its neighbours; in
 * increasing order, none above `largest`. Knows no structure. Returns how many. */
size_t kit_boundaries(const struct tl_algo *algo, const int64_t *options, uint64_t largest,
                      uint64_t values[KIT_BOUNDARIES_MAX]);

/* Values of an option worth trying, within its range: its words, its least, small and round
 * numbers. Returns how many. */
#define KIT_CANDIDATES_MAX 64u
size_t kit_option_candidates(const struct tl_option *option, int64_t values[KIT_CANDIDATES_MAX]);

/* Bytes as decisions: every sequence of bytes means some session. The operations done are noted in
 * the witness as they come. Returns false if the structure refused the session's options. */
bool kit_interpret(const struct kit_target *target, const uint8_t *bytes, size_t size,
                   struct kit_witness *witness);

/* The operations of a trace, ids and capacities brought into range. */
bool kit_execute(const struct kit_target *target, const struct kit_session *session,
                 const struct kit_op *ops, size_t count, struct kit_witness *witness);

#endif
