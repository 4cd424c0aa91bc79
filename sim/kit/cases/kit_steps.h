/*
 * kit_steps.h: to be asked before every single instruction of a stretch of code, as a debugger is,
 * but from within: the processor's trap flag, and a handler of SIGTRAP. On x86-64 under Linux;
 * elsewhere, and where a processor is only imitated, nothing is asked and all runs as it would.
 */
#ifndef SIM_KIT_STEPS_H
#define SIM_KIT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* Asked before an instruction at that address is carried out; false: no more of this stretch. May
 * do what a signal handler may. */
typedef bool kit_step_fn(const void *instruction);

/* Readies all for code of the object (the program, or the shared object) that `code` belongs to;
 * instructions of others are not asked about. For one thread of the process. False: it cannot be
 * done here. */
bool kit_steps_ready(const void *code, kit_step_fn *ask);

/* From here on it is asked, for at most so many instructions, those of other objects counted. */
void kit_steps_begin(uint64_t most);

/* No more. Returns how many instructions there were since the beginning, as counted above. */
uint64_t kit_steps_end(void);

#endif
