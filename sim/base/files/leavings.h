/*
 * leavings.h: what goes again when a signal ends the program: temporary files, and folders that
 * were made for what did not come. Whoever makes one says so here first, and takes it back when it
 * is removed or has become what it was to be.
 *
 * The first that is said makes SIGINT, SIGTERM and SIGHUP remove what is left before they end the
 * process, unless the process ignores them or has handlers of its own. A process made by fork
 * removes nothing of its parent's.
 */
#ifndef SIM_LEAVINGS_H
#define SIM_LEAVINGS_H

/* One that is out of memory is not known, and stays. Folders after those that they lie in: the
 * latest goes first. Not for several threads at a time. */
void leavings_add(const char *path);

/* Harmless for what is not known. */
void leavings_forget(const char *path);

#endif
