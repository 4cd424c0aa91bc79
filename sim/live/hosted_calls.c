/*
 * Counts the system calls of a library's loop: wraps the C library's functions by which loops wait,
 * are woken, and register events. These are all calls of a running loop, as strace shows; those of
 * its creation are not counted.
 */
#include "kernel_hosted.h"

#include "led_calls.h"
#include "memory.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* name, type of the result, parameters, arguments */
#define CALLS(X)                                                                                   \
    X(epoll_wait, int, (int a, struct epoll_event *b, int c, int d), (a, b, c, d))                 \
    X(epoll_pwait, int, (int a, struct epoll_event *b, int c, int d, const sigset_t *e),           \
      (a, b, c, d, e))                                                                             \
    X(epoll_ctl, int, (int a, int b, int c, struct epoll_event *d), (a, b, c, d))                  \
    X(timerfd_settime, int, (int a, int b, const struct itimerspec *c, struct itimerspec *d),      \
      (a, b, c, d))                                                                                \
    X(poll, int, (struct pollfd * a, nfds_t b, int c), (a, b, c))                                  \
    X(read, ssize_t, (int a, void *b, size_t c), (a, b, c))                                        \
    X(write, ssize_t, (int a, const void *b, size_t c), (a, b, c))

#define NUMBER(name, type, parameters, arguments) CALL_##name,
enum { CALLS(NUMBER) CALL_COUNT };

static uint64_t *system_calls;
static void *counted; /* the library; NULL: none */
static struct led_call calls[CALL_COUNT];

/* Count, and call the previous target. */
#define COUNTED(name, type, parameters, arguments)                                                 \
    static type counted_##name parameters                                                          \
    {                                                                                              \
        __typeof__(name) *before = (__typeof__(name) *)calls[CALL_##name].target;                  \
        ++*system_calls;                                                                           \
        return before arguments;                                                                   \
    }
/* NOLINTNEXTLINE(performance-no-int-to-ptr): the arguments are addresses as numbers */
CALLS(COUNTED)

bool hosted_open(struct kernel_timers *timers, struct error *error)
{
    const struct hosted_loop *loop = timers->sort->hosted;
    void *handle = memory_unless_short(tl_library_load(loop->library));
    if (handle == NULL) {
        return error_set(error, "%s is not installed", loop->package);
    }
#define ROW(name, type, parameters, arguments)                                                     \
    calls[CALL_##name] = (struct led_call){#name, (uintptr_t)counted_##name, false};
    CALLS(ROW)
    system_calls = &timers->loop->system_calls;
    counted = handle;
    if (!tl_led_calls_swap(handle, calls, CALL_COUNT)) {
        return error_set(error, "the system calls of %s cannot be counted", loop->package);
    }
    loop->make(timers);
    return true;
}

/* A turn of the loop ends because of a timer, unless there is another reason. */
unsigned hosted_wait(struct kernel_timers *timers)
{
    timers->traffic_came = false;
    timers->sort->hosted->turn(timers);
    unsigned timer = timers->due_count > 0 || !timers->traffic_came ? LIVE_TIMER : 0;
    return timer | (timers->traffic_came ? LIVE_TRAFFIC : 0);
}

void hosted_close(struct kernel_timers *timers)
{
    if (counted != NULL) {
        (void)tl_led_calls_swap(counted, calls, CALL_COUNT);
        counted = NULL;
    }
    if (timers->own != NULL) {
        timers->sort->hosted->end(timers);
        free(timers->own);
    }
}
