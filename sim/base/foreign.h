/*
 * foreign.h: a command, and the foreign code that it loads and calls, in a process of its own. What
 * foreign code does wrong there, crash, loop without end or end the program, ends that process; the
 * one that stayed behind says whose doing it was, and what may be done about it.
 *
 * It has nothing to do with how a structure is judged: what is measured or held to the contract
 * runs in processes of its own in any case (child.h).
 */
#ifndef SIM_FOREIGN_H
#define SIM_FOREIGN_H

/* Runs `work` in a process whose input, output and signals are the caller's, and returns what it
 * returns, or the status with which it called exit. Otherwise, which is told on standard error,
 * `failed`. The caller must have one thread only, and nothing to be written out. */
int foreign_supervise(const char *program, int (*work)(void *ctx), void *ctx, int failed);

/* From here on foreign code runs, and what ends the process is its doing: "NAME: crashed while
 * ...", of which the format gives all up to the verdict, as in "./x.so, while it was loaded". It
 * may take so many seconds, without foreign_alive; 0: any. Not for several threads at a time.
 * Nothing happens in a process that is not supervised. */
__attribute__((format(printf, 2, 3))) void foreign_enter(double seconds, const char *format, ...);

/* Its time begins anew; cheap. For any thread. */
void foreign_alive(void);

void foreign_leave(void);

#endif
