#include "program.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Returns an errno. */
static int start(const char *const *words, int out, pid_t *child)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes); /* neither fails on Linux */
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int why = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (why == 0) {
        /* It does not write to the words. */
        why = posix_spawnp(child, words[0], &actions, &attributes, (char *const *)words, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return why;
}

int program_run(const char *const *words, int out, struct error *error)
{
    pid_t child = 0;
    int status = 0;
    int why = start(words, out, &child);
    if (why != 0) {
        (void)error_set(error, "%s: cannot be run: %s", words[0], strerror(why));
        return -1;
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            (void)error_set(error, "%s: was lost: %s", words[0], strerror(errno));
            return -1;
        }
    }
    return status;
}
