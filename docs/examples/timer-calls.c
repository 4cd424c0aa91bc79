/*
 * timer-calls: what starting and stopping a libevent timer costs this thread, alone or recorded.
 *
 *     cc -O2 docs/examples/timer-calls.c -levent_core -o timer-calls
 *     ./timer-calls
 *     timerlab record -o calls.rec -- ./timer-calls
 */
#include <event2/event.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIMERS = 1000, ROUNDS = 1000 };

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void on_timer(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    (void)argument;
}

int main(void)
{
    struct event_base *base = event_base_new();
    struct event *timers[TIMERS];
    uint32_t draw = 1;
    for (int i = 0; i < TIMERS; i++) {
        timers[i] = evtimer_new(base, on_timer, NULL);
    }
    /* Far timers, none of which fires. */
    double restarts_ns = 0;
    double stops_ns = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double begun_ns = now_ns();
        for (int i = 0; i < TIMERS; i++) {
            draw = draw * 1664525 + 1013904223;
            const struct timeval delay = {.tv_sec = 60, .tv_usec = draw >> 13};
            (void)event_add(timers[i], &delay);
        }
        double restarted_ns = now_ns();
        for (int i = 0; i < TIMERS && round % 2 == 1; i++) {
            (void)event_del(timers[i]);
        }
        stops_ns += now_ns() - restarted_ns;
        restarts_ns += restarted_ns - begun_ns;
    }
    (void)printf("start or restart %.1f ns, stop %.1f ns\n", restarts_ns / ROUNDS / TIMERS,
                 stops_ns / (ROUNDS / 2) / TIMERS);
    for (int i = 0; i < TIMERS; i++) {
        event_free(timers[i]);
    }
    event_base_free(base);
    return EXIT_SUCCESS;
}
