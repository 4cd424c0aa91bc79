/*
 * loop-epoll-timerfd: the echo server of echo.h on epoll, with one timerfd for all timers, set to
 * the earliest of them when that has changed: as exact as the kernel is, for a system call or two
 * each time.
 *
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -Itimers loop-epoll-timerfd.c timers/timers.c -o server
 *     ./server 7000
 */
#include "echo.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

enum { EVENTS_AT_ONCE = 256 };

static int epoll;

static void watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        echo_fail("epoll_ctl");
    }
}

static void loop_close(int fd)
{
    (void)close(fd); /* which also takes it out of the epoll set */
}

static void accept_all(int listener)
{
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        if (echo_open(fd)) {
            watch(fd);
        }
    }
}

/* Sets the timerfd to when there is something to do, unless it is. */
static void arm(int timer)
{
    static uint64_t armed_ms;
    uint64_t next_ms = now_ms() + timers_sleep_ms();
    if (next_ms != armed_ms) {
        const struct itimerspec when = {.it_value = {.tv_sec = (time_t)(next_ms / 1000),
                                                     .tv_nsec = (long)(next_ms % 1000 * 1000000)}};
        if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) != 0) {
            echo_fail("timerfd_settime");
        }
        armed_ms = next_ms;
    }
}

int main(int argc, char **argv)
{
    sigset_t end;
    (void)sigemptyset(&end);
    (void)sigaddset(&end, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &end, NULL);
    int signals = signalfd(-1, &end, 0);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int listener = echo_listen(argc, argv);
    epoll = epoll_create1(0);
    timers_make();
    watch(signals);
    watch(timer);
    watch(listener);
    for (bool ended = false; !ended;) {
        struct epoll_event events[EVENTS_AT_ONCE];
        arm(timer);
        int count = epoll_wait(epoll, events, EVENTS_AT_ONCE, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == signals) {
                ended = true;
            } else if (fd == timer) {
                uint64_t expirations;
                (void)!read(timer, &expirations, sizeof expirations); /* it is not ready any more */
            } else if (fd == listener) {
                accept_all(listener);
            } else {
                echo_readable(fd);
            }
        }
        timers_turn();
    }
    return echo_report();
}
