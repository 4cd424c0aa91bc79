/*
 * leavings.h: what goes again when a signal ends the program: temporary files, and folders that
 * were made for what did not come. Whoever makes one says so here first, and takes it back when it
 * is removed or has become what it was to be.
 *
 * A signal that came between making one and saying so would leave it: the two stand between
 * leavings_hold and leavings_release.
 *
 * The first that is said makes SIGINT, SIGTERM and SIGHUP remove what is left before they end the
 * process, unless the process ignores them or has handlers of its own. A process made by fork
 * removes nothing of its parent's; one that writes to what is to go should be said, too.
 */
#ifndef SIM_LEAVINGS_H
#define SIM_LEAVINGS_H

#include <sys/types.h>

/* One that is out of memory is not known, and stays. Folders after those that they lie in: the
 * latest goes first. Not for several threads at a time. */
void leavings_add(const char *path);

/* The same of a folder that goes with the files in it, which are all ours. */
void leavings_add_with_files(const char *path);

/* A process made by this one that is to be ended first, by the signal `number`, and waited for; 0:
 * there is none any more. One at a time. */
void leavings_set_child(pid_t child, int number);

/* Signals wait from the one to the other; what was held already stays so. */
void leavings_hold(void);
void leavings_release(void);

/* Harmless for what is not known. */
void leavings_forget(const char *path);

#endif
