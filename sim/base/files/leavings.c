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
    _Atomic(struct leaving *) before;
};

static _Atomic(struct leaving *) latest;
static pid_t owner; /* of all in the list */

static void sweep_up(int number)
{
    int kept = errno;
    for (const struct leaving *at = atomic_load(&latest); owner == getpid() && at != NULL;
         at = atomic_load(&at->before)) {
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
    atomic_store(&entry->before, atomic_load(&latest));
    atomic_store(&latest, entry);
}

void leavings_forget(const char *path)
{
    _Atomic(struct leaving *) *from = &latest;
    struct leaving *at = atomic_load(from);
    while (at != NULL && strcmp(at->path, path) != 0) {
        from = &at->before;
        at = atomic_load(from);
    }
    if (owner == getpid() && at != NULL) {
        atomic_store(from, atomic_load(&at->before));
        free(at->path);
        free(at);
    }
}
