/*
 * loop-epoll-timeout: the echo server of echo.h on epoll, which sleeps until the next timer by the
 * timeout of epoll_wait: no descriptor and no system call for timers at all, in steps of a
 * millisecond.
 *
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -Itimers loop-epoll-timeout.c timers/timers.c -o server
 *     ./server 7000
 */
#include "echo.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

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

int main(int argc, char **argv)
{
    sigset_t end;
    (void)sigemptyset(&end);
    (void)sigaddset(&end, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &end, NULL);
    int signals = signalfd(-1, &end, 0);
    int listener = echo_listen(argc, argv);
    epoll = epoll_create1(0);
    timers_make();
    watch(signals);
    watch(listener);
    for (bool ended = false; !ended;) {
        struct epoll_event events[EVENTS_AT_ONCE];
        int count = epoll_wait(epoll, events, EVENTS_AT_ONCE, (int)timers_sleep_ms());
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == signals) {
                ended = true;
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
