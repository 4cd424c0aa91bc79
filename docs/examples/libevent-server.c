/*
 * libevent-server: the echo server of echo.h on libevent, whose timers are libevent's own, or with
 * -DEXPORTED those of `timerlab export`: what changes is marked so, and is all that does.
 *
 *     cc -O2 libevent-server.c -levent_core -o before
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -DEXPORTED -Itimers libevent-server.c timers/timers.c -levent_core -o after
 *     ./after 7000
 */
#ifndef EXPORTED
#define ECHO_OWN_TIMERS
#endif
#include "echo.h"

#include <event2/event.h>
#include <signal.h>

static struct event_base *base;
static struct event *readers[CONNECTIONS];
static bool ended;

#ifdef EXPORTED
static struct event *wakeup; /* the one timer that libevent still has */

static void on_wakeup(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd, (void)what, (void)ctx; /* the loop goes round, which is enough */
}

static void make_timers(void)
{
    timers_make();
    wakeup = evtimer_new(base, on_wakeup, NULL);
}

/* Sleeps until a descriptor is ready, or there is something to do for the timers. */
static void turn(void)
{
    unsigned ms = timers_sleep_ms();
    const struct timeval delay = {ms / 1000, ms % 1000 * 1000};
    (void)event_add(wakeup, &delay);
    (void)event_base_loop(base, EVLOOP_ONCE);
    timers_turn();
}
#else
static struct event *events[CONNECTIONS * KINDS];

static void on_event(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd, (void)what;
    on_timer((unsigned)(uintptr_t)ctx);
}

static void timer_start(unsigned id, unsigned ms)
{
    const struct timeval delay = {ms / 1000, ms % 1000 * 1000};
    if (events[id] == NULL) {
        events[id] = evtimer_new(base, on_event, (void *)(uintptr_t)id);
    }
    (void)event_add(events[id], &delay);
}

static void timer_stop(unsigned id)
{
    if (events[id] != NULL) {
        (void)event_del(events[id]);
    }
}

static void make_timers(void) {}

static void turn(void)
{
    (void)event_base_loop(base, EVLOOP_ONCE);
}
#endif

static void loop_close(int fd)
{
    event_free(readers[fd]);
    (void)close(fd);
}

static void on_read(evutil_socket_t fd, short what, void *ctx)
{
    (void)what, (void)ctx;
    echo_readable(fd);
}

static void on_accept(evutil_socket_t listener, short what, void *ctx)
{
    int fd = accept(listener, NULL, NULL);
    (void)what, (void)ctx;
    if (fd >= 0 && echo_open(fd)) {
        readers[fd] = event_new(base, fd, EV_READ | EV_PERSIST, on_read, NULL);
        (void)event_add(readers[fd], NULL);
    }
}

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
    (void)number, (void)what, (void)ctx;
    ended = true;
}

int main(int argc, char **argv)
{
    int listener = echo_listen(argc, argv);
    base = event_base_new();
    make_timers();
    (void)event_add(event_new(base, listener, EV_READ | EV_PERSIST, on_accept, NULL), NULL);
    (void)event_add(evsignal_new(base, SIGTERM, on_signal, NULL), NULL);
    while (!ended) {
        turn();
    }
    return echo_report();
}
