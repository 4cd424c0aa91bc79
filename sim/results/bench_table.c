#include "bench_table.h"

#include "csv_table.h"
#include "plots_folder.h"
#include "temporary_file.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Beside plots/, in the source tree and where it is installed. */
#define CONVERTER "../scripts/bench-to-csv"

/* Runs the script with its standard output in `to`. */
static bool convert(const char *program, const char *path, int to, struct error *error)
{
    char *words[] = {strdup(program), strdup(path), NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int status = 0;
    int why =
        words[0] == NULL || words[1] == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);
    if (why == 0) {
        why = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
        if (why == 0) {
            why = posix_spawn(&child, program, &actions, NULL, words, environ);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    free(words[0]);
    free(words[1]);
    if (why != 0) {
        return error_set(error, "%s: cannot be run: %s", program, strerror(why));
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return error_set(error, "%s: was lost: %s", program, strerror(errno));
        }
    }
    return status == 0 || error_set(error, "%s: %s made no table of it", path, program);
}

json_t *bench_table_read(const char *path, struct error *error)
{
    char program[PATH_MAX];
    char table[PATH_MAX];
    int file = -1;
    json_t *rows = NULL;
    if (!plots_find(CONVERTER, program, error) ||
        !temporary_file_make(table, sizeof table, "bench", true, &file, error)) {
        return NULL;
    }
    if (convert(program, path, file, error)) {
        rows = csv_table_read(table, error);
    }
    (void)close(file);
    temporary_file_remove(table);
    return rows;
}
