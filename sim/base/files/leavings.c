#include "leavings.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A signal can come at any time: an entry is whole before it is in the list, and out of it before
 * it is freed. */
struct leaving {
    char *path;
    _Atomic(struct leaving *) earlier;
};

static _Atomic(struct leaving *) latest;
static pid_t owner; /* of all in the list */

static void sweep_up(int number)
{
    int kept = errno;
    for (const struct leaving *at = atomic_load(&latest); owner == getpid() && at != NULL;
         at = atomic_load(&at->earlier)) {
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

void leavings_add(const char *path)
{
    if (owner != getpid()) {
        /* Of a parent's, or nothing: its entries are not this process's. */
        atomic_store(&latest, NULL);
        owner = getpid();
        watch_signals();
    }
    char *copy = strdup(path);
    struct leaving *entry = calloc(1, sizeof *entry);
    if (copy == NULL || entry == NULL) {
        free(copy);
        free(entry);
        return;
    }
    entry->path = copy;
    atomic_store(&entry->earlier, atomic_load(&latest));
    atomic_store(&latest, entry);
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
