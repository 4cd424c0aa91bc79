#include "leavings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A signal can come at any time: an entry is whole before it is in the list, and out of it before
 * it is freed. */
struct leaving {
    char *path;
    bool with_files;
    _Atomic(struct leaving *) earlier;
};

static _Atomic(struct leaving *) latest;
static pid_t owner; /* of all in the list */
static _Atomic pid_t child_of_owner;
static _Atomic int child_ended_by;

/* In a handler of signals, where opendir would not be safe. */
static void remove_files(const char *path)
{
    alignas(struct dirent64) char entries[4096];
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t bytes;
    while (folder >= 0 && (bytes = getdents64(folder, entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; at < bytes;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            (void)unlinkat(folder, entry->d_name, 0);
            at += entry->d_reclen;
        }
    }
    if (folder >= 0) {
        (void)close(folder);
    }
}

static void sweep_up(int number)
{
    int kept = errno;
    pid_t child = owner == getpid() ? atomic_load(&child_of_owner) : 0;
    if (child > 0 && kill(child, atomic_load(&child_ended_by)) == 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    for (const struct leaving *at = atomic_load(&latest); owner == getpid() && at != NULL;
         at = atomic_load(&at->earlier)) {
        if (at->with_files) {
            remove_files(at->path);
        }
        if (unlink(at->path) != 0) {
            (void)rmdir(at->path);
        }
    }
    errno = kept;
    /* The handler is gone by now, the signal blocked until this returns. */
    (void)raise(number);
}

static void watch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = sweep_up, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}

static sigset_t unheld; /* the signals that were blocked before the hold */

void leavings_hold(void)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &unheld);
}

void leavings_release(void)
{
    int kept = errno;
    (void)sigprocmask(SIG_SETMASK, &unheld, NULL);
    errno = kept;
}

static void own(void)
{
    if (owner != getpid()) {
        /* Of a parent's, or nothing: its entries are not this process's. */
        atomic_store(&latest, NULL);
        atomic_store(&child_of_owner, 0);
        owner = getpid();
        watch_signals();
    }
}

void leavings_set_child(pid_t child, int number)
{
    own();
    atomic_store(&child_ended_by, number);
    atomic_store(&child_of_owner, child);
}

static void add(const char *path, bool with_files)
{
    own();
    char *copy = strdup(path);
    struct leaving *entry = calloc(1, sizeof *entry);
    if (copy == NULL || entry == NULL) {
        free(copy);
        free(entry);
        return;
    }
    entry->path = copy;
    entry->with_files = with_files;
    atomic_store(&entry->earlier, atomic_load(&latest));
    atomic_store(&latest, entry);
}

void leavings_add(const char *path)
{
    add(path, false);
}

void leavings_add_with_files(const char *path)
{
    add(path, true);
}

void leavings_forget(const char *path)
{
    _Atomic(struct leaving *) *from = &latest;
    struct leaving *at = atomic_load(from);
    while (at != NULL && strcmp(at->path, path) != 0) {
        from = &at->earlier;
        at = atomic_load(from);
    }
    if (owner == getpid() && at != NULL) {
        atomic_store(from, atomic_load(&at->earlier));
        free(at->path);
        free(at);
    }
}
