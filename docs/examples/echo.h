/*
 * echo.h: what the echo servers beside it have in common, so that each file shows its loop alone.
 *
 * A connection has three timeouts. idle: nothing has come for so long; request: a line has begun
 * and does not end; both close the connection. heartbeat: a line with a dot, now and then. SIGTERM
 * ends a server, with a line of what it did.
 *
 * The timers are those of `timerlab export --prefix timers`, whose ticks are milliseconds here. A
 * timer's id is the connection's descriptor times the kinds of timer. Where ECHO_OWN_TIMERS is
 * defined, the server has timers of its own.
 */
#ifndef ECHO_H
#define ECHO_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum kind { IDLE, REQUEST, HEARTBEAT, KINDS };
static unsigned timeout_ms[KINDS] = {2000, 400, 500};

enum { CONNECTIONS = 20000, READ_BYTES = 512 }; /* connections by descriptor */

static bool is_open[CONNECTIONS];
static bool in_request[CONNECTIONS];
static unsigned long accepted;
static unsigned long ended_by_peer;
static unsigned long fired[KINDS];

/* The loop's: takes the connection out of it, and closes the descriptor. */
static void loop_close(int fd);

/* The timers': starts it anew if it is pending. */
static void timer_start(unsigned id, unsigned ms);
static void timer_stop(unsigned id);

static inline void echo_fail(const char *what)
{
    perror(what);
    exit(1);
}

/* --- a connection ----------------------------------------------------------------------------- */

static inline void start(int fd, enum kind kind)
{
    timer_start((unsigned)fd * KINDS + kind, timeout_ms[kind]);
}

static inline void echo_close(int fd)
{
    is_open[fd] = false;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        timer_stop((unsigned)fd * KINDS + kind);
    }
    loop_close(fd);
}

/* An accepted one. False: there is no room, and it is closed. */
static inline bool echo_open(int fd)
{
    if (fd >= CONNECTIONS) {
        (void)close(fd);
        return false;
    }
    accepted++;
    is_open[fd] = true;
    in_request[fd] = false;
    start(fd, IDLE);
    start(fd, HEARTBEAT);
    return true;
}

/* `count` bytes have come; 0: it has ended; below: it was killed. May close it. */
static inline void echo_bytes(int fd, const char *bytes, ssize_t count)
{
    if (count <= 0) {
        ended_by_peer++;
        echo_close(fd);
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

/* For loops that say when there is something to read. */
static inline void echo_readable(int fd)
{
    char bytes[READ_BYTES];
    ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count >= 0 || (errno != EAGAIN && errno != EINTR)) {
        echo_bytes(fd, bytes, count);
    }
}

/* What the expiry of a timer does. */
static inline void on_timer(unsigned id)
{
    int fd = (int)(id / KINDS);
    fired[id % KINDS]++;
    if (id % KINDS != HEARTBEAT) {
        echo_close(fd);
    } else {
        (void)send(fd, ".\n", 2, MSG_NOSIGNAL | MSG_DONTWAIT);
        start(fd, HEARTBEAT);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* A socket that listens at the port of the first argument; 0: at any, which is printed. With the
 * second, timeouts last so many times longer. Comes before all else. */
static inline int echo_listen(int argc, char **argv)
{
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 7000))};
    socklen_t bytes = sizeof at;
    struct rlimit files;
    for (unsigned kind = 0; kind < KINDS && argc > 2; kind++) {
        timeout_ms[kind] *= (unsigned)atoi(argv[2]);
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &bytes) != 0) {
        echo_fail("cannot listen");
    }
    (void)printf("port %d\n", ntohs(at.sin_port));
    (void)fflush(stdout);
    return listener;
}

static inline int echo_report(void)
{
    (void)printf("%lu accepted; idle %lu, request %lu, heartbeat %lu, ended by the peer %lu\n",
                 accepted, fired[IDLE], fired[REQUEST], fired[HEARTBEAT], ended_by_peer);
    return 0;
}

/* --- exported timers -------------------------------------------------------------------------- */

#ifndef ECHO_OWN_TIMERS
#include "timers.h"

static struct timers_timers *timers;

static inline uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline void timer_start(unsigned id, unsigned ms)
{
    /* A part of this millisecond is over, hence one more: never earlier than asked for. */
    if (timers_start(timers, id, now_ms() + ms + 1) != TIMERS_OK) {
        echo_fail("a timer cannot be started");
    }
}

static inline void timer_stop(unsigned id)
{
    (void)timers_stop(timers, id);
}

static inline void on_expiry(void *ctx, uint32_t id, uint64_t now)
{
    (void)ctx;
    (void)now;
    on_timer(id);
}

/* Some structures take deadlines only up to a horizon, which counts from the last advance: that is
 * never longer ago than the longest timeout, see timers_sleep_ms. */
static inline void timers_make(void)
{
    uint64_t longest = 2 * timeout_ms[IDLE] + 1000;
    if (timers_create(&timers, CONNECTIONS * KINDS, now_ms(), longest, NULL) != TIMERS_OK) {
        echo_fail("no timers");
    }
}

/* How many milliseconds the loop may sleep. */
static inline unsigned timers_sleep_ms(void)
{
    uint64_t now = now_ms();
    uint64_t most = now + timeout_ms[IDLE];
#ifdef TIMERS_HAS_NEXT
    uint64_t next = timers_next(timers);
#else
    uint64_t next = timers_count(timers) > 0 ? now + 1 : most;
#endif
    next = next < most ? next : most;
    return next > now ? (unsigned)(next - now) : 0;
}

/* Fires what is due. After what has come was read: who waits here to be read is not idle. */
static inline void timers_turn(void)
{
    (void)timers_advance(timers, now_ms(), TIMERS_NO_BUDGET, on_expiry, NULL);
}
#endif

#endif
