/*
 * libevent-server: an echo server with three timeouts for each connection, whose timers are
 * libevent's own, or with -DEXPORTED those of `timerlab export`: what changes is marked so, and is
 * all that does.
 *
 *     cc -O2 libevent-server.c -levent_core -o before
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -DEXPORTED -Itimers libevent-server.c timers/timers.c -levent_core -o after
 *     ./after 7000
 *
 * idle: nothing has come for so long; request: a line has begun and does not end; both close the
 * connection. heartbeat: a line with a dot, now and then. SIGTERM ends it, with a line of what it
 * did.
 */
#include <event2/event.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum kind { IDLE, REQUEST, HEARTBEAT, KINDS };
static const unsigned timeout_ms[KINDS] = {2000, 400, 500};

enum { CONNECTIONS = 20000 }; /* by descriptor; a timer's id is descriptor * KINDS + kind */

static struct event_base *base;
static struct event *readers[CONNECTIONS];
static bool in_request[CONNECTIONS];
static unsigned long accepted;
static unsigned long fired[KINDS];
static volatile sig_atomic_t ended;

static void on_timer(unsigned id);

#ifdef EXPORTED
#include "timers.h"

static struct timers_timers *timers;
static struct event *wakeup; /* the one timer that libevent still has */

static uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void timer_start(unsigned id, unsigned ms)
{
    if (timers_start(timers, id, now_ms() + ms) != TIMERS_OK) {
        (void)fputs("libevent-server: a timer cannot be started\n", stderr);
        exit(1);
    }
}

static void timer_stop(unsigned id)
{
    (void)timers_stop(timers, id);
}

static void on_expiry(void *ctx, uint32_t id, uint64_t now)
{
    (void)ctx;
    (void)now;
    on_timer(id);
}

static void on_wakeup(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd, (void)what, (void)ctx; /* the loop goes round, which is enough */
}

/* Sleeps until a descriptor is ready, or there is something to do for the timers. */
static void turn(void)
{
#ifdef TIMERS_HAS_NEXT
    uint64_t next = timers_next(timers);
#else
    uint64_t next = timers_count(timers) > 0 ? now_ms() + 1 : TIMERS_NEVER;
#endif
    uint64_t now = now_ms();
    uint64_t left = next > now ? next - now : 0;
    const struct timeval delay = {(time_t)(left / 1000), (suseconds_t)(left % 1000 * 1000)};
    if (next == TIMERS_NEVER) {
        (void)event_del(wakeup);
    } else {
        (void)event_add(wakeup, &delay);
    }
    (void)event_base_loop(base, EVLOOP_ONCE);
    (void)timers_advance(timers, now_ms(), TIMERS_NO_BUDGET, on_expiry, NULL);
}

static bool timers_make(void)
{
    wakeup = evtimer_new(base, on_wakeup, NULL);
    return timers_create(&timers, CONNECTIONS * KINDS, now_ms(), 2000, NULL) == TIMERS_OK;
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

static void turn(void)
{
    (void)event_base_loop(base, EVLOOP_ONCE);
}

static bool timers_make(void)
{
    return true;
}
#endif

static void start(int fd, enum kind kind)
{
    timer_start((unsigned)fd * KINDS + kind, timeout_ms[kind]);
}

static void close_connection(int fd)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        timer_stop((unsigned)fd * KINDS + kind);
    }
    event_free(readers[fd]);
    (void)close(fd);
}

static void on_timer(unsigned id)
{
    int fd = (int)(id / KINDS);
    fired[id % KINDS]++;
    if (id % KINDS != HEARTBEAT) {
        close_connection(fd);
    } else {
        (void)send(fd, ".\n", 2, MSG_NOSIGNAL | MSG_DONTWAIT);
        start(fd, HEARTBEAT);
    }
}

static void on_read(evutil_socket_t fd, short what, void *ctx)
{
    char bytes[4096];
    ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    (void)what, (void)ctx;
    if (count <= 0) { /* closed, or killed */
        close_connection(fd);
        return;
    }
    (void)send(fd, bytes, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT);
    start(fd, IDLE);
    bool whole = bytes[count - 1] == '\n';
    if (whole) {
        timer_stop((unsigned)fd * KINDS + REQUEST);
    } else if (!in_request[fd]) {
        start(fd, REQUEST);
    }
    in_request[fd] = !whole;
}

static void on_accept(evutil_socket_t listener, short what, void *ctx)
{
    int fd = accept(listener, NULL, NULL);
    (void)what, (void)ctx;
    if (fd < 0 || fd >= CONNECTIONS) {
        (void)(fd < 0 ? 0 : close(fd));
        return;
    }
    accepted++;
    in_request[fd] = false;
    readers[fd] = event_new(base, fd, EV_READ | EV_PERSIST, on_read, NULL);
    (void)event_add(readers[fd], NULL);
    start(fd, IDLE);
    start(fd, HEARTBEAT);
}

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
    (void)number, (void)what, (void)ctx;
    ended = 1;
}

int main(int argc, char **argv)
{
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 7000))};
    socklen_t bytes = sizeof at;
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    base = event_base_new();
    if (!timers_make() || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(listener, 4096) != 0 || getsockname(listener, (struct sockaddr *)&at, &bytes) != 0) {
        perror("libevent-server");
        return 1;
    }
    (void)printf("port %d\n", ntohs(at.sin_port));
    (void)fflush(stdout);
    (void)event_add(event_new(base, listener, EV_READ | EV_PERSIST, on_accept, NULL), NULL);
    (void)event_add(evsignal_new(base, SIGTERM, on_signal, NULL), NULL);
    while (!ended) {
        turn();
    }
    (void)printf("%lu accepted; idle %lu, request %lu, heartbeat %lu\n", accepted, fired[IDLE],
                 fired[REQUEST], fired[HEARTBEAT]);
    return 0;
}
