/*
 * loop-epoll-timerfd: the echo server of echo.h on epoll, with one timerfd for all timers, set to
 * the earliest of them when that has changed: as exact as the kernel is, for a system call or two
 * each time.
 *
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -Itimers loop-epoll-timerfd.c timers/timers.c -o server
 *     ./server 7000
 */
#include "echo-epoll.h"

#include <sys/timerfd.h>

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
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    loop_make(argc, argv);
    watch(timer);
    do {
        arm(timer);
    } while (loop_turn(-1, timer));
    return echo_report();
}
