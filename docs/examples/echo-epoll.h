/*
 * echo-epoll.h: epoll's part of the two loops on it; what each of them does about timers is in its
 * own file.
 */
#ifndef ECHO_EPOLL_H
#define ECHO_EPOLL_H

#include "echo.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

enum { EVENTS_AT_ONCE = 256 };

static int epoll;
static int listener;
static int end_signal;

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

static void accept_all(void)
{
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        if (echo_open(fd)) {
            watch(fd);
        }
    }
}

static void loop_make(int argc, char **argv)
{
    sigset_t end;
    (void)sigemptyset(&end);
    (void)sigaddset(&end, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &end, NULL);
    end_signal = signalfd(-1, &end, 0);
    listener = echo_listen(argc, argv);
    epoll = epoll_create1(0);
    timers_make();
    watch(end_signal);
    watch(listener);
}

/* Waits, for so long at most (-1: for ever), and does what is to be done. `timer`: a descriptor
 * that is only there to wake the loop; -1: none. False: SIGTERM has come. */
static bool loop_turn(int timeout_ms_most, int timer)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(epoll, events, EVENTS_AT_ONCE, timeout_ms_most);
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd;
        if (fd == end_signal) {
            return false;
        }
        if (fd == timer) {
            uint64_t expirations;
            (void)!read(timer, &expirations, sizeof expirations); /* it is not ready any more */
        } else if (fd == listener) {
            accept_all();
        } else {
            echo_readable(fd);
        }
    }
    timers_turn();
    return true;
}

#endif
