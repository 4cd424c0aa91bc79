/*
 * supervisor.h: the process that a program starts as. The program's work is done in a child of it;
 * the supervisor forwards signals, waits, ends the processes that the work left running, and
 * removes its temporary files (temporary_file.h), whatever ended it.
 */
#ifndef SIM_SUPERVISOR_H
#define SIM_SUPERVISOR_H

/* Run `work` in a child process, which exits with its return value. Return that status; a signal
 * that ended the child ends this process, too. `ended`, unless NULL, is called before that with the
 * child's status of waitpid; its return value, if 0 or more, is returned instead. Call this first
 * in main, with one thread and empty buffers. If no process can be created, the work is done in
 * this one. */
int supervisor_run(int (*work)(void *ctx), int (*ended)(void *ctx, int status), void *ctx);

/* Processes that were started by the work outlive it: they are not this program's. */
void supervisor_let_go(void);

/* End all children of this process, and the children that it inherits from them: by the signal
 * `first`, and by SIGKILL those that are left after `grace_seconds`. Wait for them. */
void supervisor_end_children(int first, double grace_seconds);

#endif
