/*
 * cleanup.h: temporary files and folders that must not outlive the program. They are listed in
 * memory that the command shares with its supervisor (supervisor.h), which removes those that are
 * still listed when the command has ended, whatever ended it: an exit, a signal, SIGKILL.
 *
 * Add a path before making the file, under a name that no other program uses, and forget it when
 * the file is removed or has become a result. Any process and thread of the command may do so.
 * Without a supervisor, as in unit tests, these functions do nothing.
 */
#ifndef SIM_CLEANUP_H
#define SIM_CLEANUP_H

#include <stdbool.h>

/* Add a file, or a folder that is removed only if it is empty. A folder comes before the entries in
 * it: the latest goes first. Relative paths count from the folder in which the program was started.
 */
void cleanup_add(const char *path);

/* Add a folder that is removed with all that is in it. */
void cleanup_add_with_files(const char *path);

/* Take a path off the list; nothing happens if it is not listed. */
void cleanup_forget(const char *path);

/* Remove a file, or a folder with all that is in it, and take it off the list. */
void cleanup_remove(const char *path);

/* For the supervisor: begin a list, before it makes the command's process. False if there is no
 * memory for it. */
bool cleanup_begin(void);

/* For the supervisor: remove what is listed, the latest first. */
void cleanup_remove_all(void);

#endif
