/*
 * loop-epoll-timeout: the echo server of echo.h on epoll, which sleeps until the next timer by the
 * timeout of epoll_wait: no descriptor and no system call for timers at all, in steps of a
 * millisecond.
 *
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -Itimers loop-epoll-timeout.c timers/timers.c -o server
 *     ./server 7000
 */
#include "echo-epoll.h"

int main(int argc, char **argv)
{
    loop_make(argc, argv);
    while (loop_turn((int)timers_sleep_ms(), -1)) {
    }
    return echo_report();
}
