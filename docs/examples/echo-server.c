/*
 * echo-server: sends back what it receives, and closes connections that have been idle for too
 * long. It shows a timer structure in a real server: any structure of the library, chosen by name.
 *
 *     cc -std=c17 -O2 echo-server.c $(pkg-config --cflags --libs timerlab) -o echo-server
 *     ./echo-server -a hier-wheel -p 7000 -t 30000
 *
 * Each connection has one timer, and its file descriptor is the timer's id: descriptors are small
 * and dense, and the server keeps its connections in a table by descriptor anyway. A tick is a
 * millisecond. Every read restarts the timer; when it fires, the connection is closed. The server
 * sleeps in epoll_wait until the tick that the structure's `next` names; for a structure without
 * `next` it wakes at every tick while timers are pending.
 *
 * SIGTERM or SIGINT end it, with a line that says what it did.
 */
#define _GNU_SOURCE

#include <timerlab.h>
#include <timerlab/registry.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 256
#define READ_BYTES     16384

/* What could not be sent yet, for each descriptor. While there is something, nothing is read. */
struct connection {
    bool open;
    char *unsent; /* unsent_bytes from unsent_start on; NULL if there is nothing */
    size_t unsent_start;
    size_t unsent_bytes;
};

struct server {
    const struct tl_algo *algo;
    void *timers;
    uint64_t idle_ticks;
    int epoll;
    int listener;
    bool full; /* no descriptors left: the listener is not polled */
    struct connection *connections;
    uint32_t capacity; /* of the table, and of the timers */

    uint64_t accepted;
    uint64_t closed_idle;
    uint64_t closed_by_peer;
    uint64_t bytes;
    uint64_t wakeups;      /* because of timers, and of these: */
    uint64_t idle_wakeups; /* ones at which nothing fired */
};

/* Milliseconds of a clock that never goes back. */
static uint64_t tick_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "echo-server: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool watch(const struct server *server, int operation, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    return epoll_ctl(server->epoll, operation, fd, &event) == 0;
}

/* --- connections ----------------------------------------------------------------------------- */

static void close_connection(struct server *server, int fd)
{
    struct connection *connection = &server->connections[fd];
    free(connection->unsent);
    *connection = (struct connection){0};
    (void)close(fd); /* which also takes it out of the epoll set */
    if (server->full) {
        server->full = !watch(server, EPOLL_CTL_MOD, server->listener, EPOLLIN);
    }
}

static void close_by_peer(struct server *server, int fd)
{
    (void)server->algo->stop(server->timers, (uint32_t)fd);
    close_connection(server, fd);
    server->closed_by_peer++;
}

/* The expiry of a timer. It may start and stop timers, but not advance or reserve. */
static void close_idle(void *ctx, uint32_t id, uint64_t now)
{
    struct server *server = ctx;
    (void)now;
    close_connection(server, (int)id);
    server->closed_idle++;
}

/* (Re)starts the timer of a connection. False if there is no memory for it. */
static bool restart_idle_timer(struct server *server, int fd)
{
    /* A part of the present tick is over, hence one more: never earlier than asked for. */
    uint64_t now = tick_now();
    uint64_t deadline = now + server->idle_ticks + 1;
    enum tl_status status = server->algo->start(server->timers, (uint32_t)fd, deadline);
    if (status == TL_ERR_HORIZON) {
        /* The horizon counts from the last advance, and the server may have slept since. */
        (void)server->algo->stop(server->timers, (uint32_t)fd);
        (void)server->algo->advance(server->timers, now, TL_NO_BUDGET, close_idle, server);
        status = server->algo->start(server->timers, (uint32_t)fd, deadline);
    }
    return status == TL_OK;
}

/* Room for descriptor `fd`, in the table and in the timers. Not to be called by a callback. */
static bool make_room(struct server *server, int fd)
{
    if ((uint32_t)fd < server->capacity) {
        return true;
    }
    uint32_t capacity = server->capacity > 0 ? server->capacity : 64;
    while (capacity <= (uint32_t)fd) {
        capacity *= 2;
    }
    struct connection *connections =
        realloc(server->connections, capacity * sizeof *server->connections);
    if (connections == NULL) {
        return false;
    }
    memset(connections + server->capacity, 0,
           (capacity - server->capacity) * sizeof *server->connections);
    server->connections = connections;
    if (server->algo->reserve(server->timers, capacity) != TL_OK) {
        return false;
    }
    server->capacity = capacity;
    return true;
}

static void accept_all(struct server *server)
{
    for (;;) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            /* It stays in the kernel's queue until a connection ends. */
            server->full = watch(server, EPOLL_CTL_MOD, server->listener, 0);
            return;
        }
        if (fd < 0) {
            return; /* none left, or one that is gone again */
        }
        if (!make_room(server, fd) || !watch(server, EPOLL_CTL_ADD, fd, EPOLLIN)) {
            (void)close(fd);
            continue;
        }
        server->connections[fd] = (struct connection){.open = true};
        server->accepted++;
        if (!restart_idle_timer(server, fd)) {
            close_by_peer(server, fd);
        }
    }
}

/* Sends from `data`; what the socket does not take is kept, and reading stops meanwhile. False if
 * the connection is broken. */
static bool echo(struct server *server, int fd, const char *data, size_t bytes)
{
    struct connection *connection = &server->connections[fd];
    ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        return false;
    }
    size_t done = sent > 0 ? (size_t)sent : 0;
    server->bytes += done;
    if (done == bytes) {
        return true;
    }
    connection->unsent = malloc(bytes - done);
    if (connection->unsent == NULL) {
        return false;
    }
    memcpy(connection->unsent, data + done, bytes - done);
    connection->unsent_start = 0;
    connection->unsent_bytes = bytes - done;
    return watch(server, EPOLL_CTL_MOD, fd, EPOLLOUT);
}

static bool send_rest(struct server *server, int fd)
{
    struct connection *connection = &server->connections[fd];
    ssize_t sent = send(fd, connection->unsent + connection->unsent_start, connection->unsent_bytes,
                        MSG_NOSIGNAL);
    if (sent < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    server->bytes += (size_t)sent;
    connection->unsent_start += (size_t)sent;
    connection->unsent_bytes -= (size_t)sent;
    if (connection->unsent_bytes > 0) {
        return true;
    }
    free(connection->unsent);
    connection->unsent = NULL;
    return watch(server, EPOLL_CTL_MOD, fd, EPOLLIN);
}

/* One read at a time: what is left makes epoll_wait return at once, and the
 * others get their turn. */
static bool read_and_echo(struct server *server, int fd)
{
    char data[READ_BYTES];
    ssize_t bytes = read(fd, data, sizeof data);
    if (bytes < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    return bytes > 0 && restart_idle_timer(server, fd) && echo(server, fd, data, (size_t)bytes);
}

static void serve(struct server *server, int fd)
{
    /* It may have been closed by an event before this one. */
    if ((uint32_t)fd >= server->capacity || !server->connections[fd].open) {
        return;
    }
    bool alive =
        server->connections[fd].unsent != NULL ? send_rest(server, fd) : read_and_echo(server, fd);
    /* The advance of a restart may have closed it meanwhile, as idle. */
    if (!alive && server->connections[fd].open) {
        close_by_peer(server, fd);
    }
}

/* --- the loop -------------------------------------------------------------------------------- */

/* For how many milliseconds there is nothing to do for the timers; -1: for ever. */
static int sleep_ms(const struct server *server)
{
    if (server->algo->next == NULL) {
        return server->algo->count(server->timers) > 0 ? 1 : -1;
    }
    uint64_t next = server->algo->next(server->timers);
    if (next == TL_NEVER) {
        return -1;
    }
    uint64_t now = tick_now();
    uint64_t ticks = next > now ? next - now : 0;
    return ticks < INT_MAX ? (int)ticks : INT_MAX;
}

static void run(struct server *server, int signals)
{
    for (;;) {
        struct epoll_event events[EVENTS_AT_ONCE];
        int count = epoll_wait(server->epoll, events, EVENTS_AT_ONCE, sleep_ms(server));
        if (count < 0 && errno != EINTR) {
            fail("epoll_wait");
        }
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == signals) {
                return;
            }
            if (events[i].data.fd == server->listener) {
                accept_all(server);
            } else {
                serve(server, events[i].data.fd);
            }
        }
        /* After the reads: a connection whose data waited here is not idle. */
        uint64_t fired =
            server->algo->advance(server->timers, tick_now(), TL_NO_BUDGET, close_idle, server);
        server->wakeups += count == 0;
        server->idle_wakeups += count == 0 && fired == 0;
    }
}

/* --- beginning and end ----------------------------------------------------------------------- */

/* The structure that "NAME[:option=value...]" names, empty. */
static void create_timers(struct server *server, char *text)
{
    char *options_text = strchr(text, ':');
    if (options_text != NULL) {
        *options_text++ = '\0';
    }
    const struct tl_entry *entry = tl_registry_find(text);
    if (entry == NULL) {
        (void)fprintf(stderr,
                      "echo-server: there is no structure '%s'; `timerlab list` shows all\n", text);
        exit(2);
    }
    TL_OPTION_VALUES(options);
    char why[512];
    server->algo = entry->timed;
    if (tl_options_parse(server->algo, options_text != NULL ? options_text : "", options, why,
                         sizeof why) != TL_OK) {
        (void)fprintf(stderr, "echo-server: %s\n", why);
        exit(2);
    }
    struct tl_config config = {.capacity = 1,
                               .now = tick_now(),
                               .max_delay_ticks = server->idle_ticks + 1,
                               .options = options,
                               .allocator = tl_system_allocator()};
    enum tl_status status = server->algo->create(&config, &server->timers);
    if (status == TL_OK) {
        /* Whether such a timer fits at all is better known now than at the first connection. */
        status = server->algo->start(server->timers, 0, config.now + config.max_delay_ticks);
        (void)server->algo->stop(server->timers, 0);
    }
    if (status != TL_OK) {
        (void)fprintf(stderr, "echo-server: %s with an idle timeout of %" PRIu64 " ms: %s\n", text,
                      server->idle_ticks, tl_status_text(status));
        exit(1);
    }
}

static void listen_on(struct server *server, uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int on = 1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->listener < 0 ||
        setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(server->listener, (struct sockaddr *)&address, length) != 0 ||
        listen(server->listener, SOMAXCONN) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0) {
        fail("cannot listen");
    }
    (void)printf("listening on 127.0.0.1:%u\n", (unsigned)ntohs(address.sin_port));
    (void)fflush(stdout);
}

/* As many descriptors as this user may have. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static uint64_t parse_number(const char *text, uint64_t max)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || errno != 0 || value > max) {
        (void)fprintf(stderr, "echo-server: '%s' is not a number from 0 to %" PRIu64 "\n", text,
                      max);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct server server = {.idle_ticks = 30000};
    char *structure = NULL;
    uint16_t port = 0;
    for (int flag; (flag = getopt(argc, argv, "a:p:t:")) != -1;) {
        if (flag == 'a') {
            structure = optarg;
        } else if (flag == 'p') {
            port = (uint16_t)parse_number(optarg, UINT16_MAX);
        } else if (flag == 't') {
            server.idle_ticks = parse_number(optarg, UINT32_MAX);
        } else {
            structure = NULL;
            break;
        }
    }
    if (structure == NULL || optind < argc) {
        (void)fputs(
            "usage: echo-server -a NAME[:option=value...] [-p PORT] [-t IDLE_MS]\n"
            "  -a  the timer structure, as `timerlab list` shows them\n"
            "  -p  the port on 127.0.0.1 (0: any; it is printed)\n"
            "  -t  after how many milliseconds without data a connection is closed (30000)\n",
            stderr);
        return 2;
    }
    raise_descriptor_limit();
    create_timers(&server, structure);

    sigset_t stop;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigaddset(&stop, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    int signals = signalfd(-1, &stop, SFD_CLOEXEC);
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (signals < 0 || server.epoll < 0) {
        fail("no descriptors");
    }
    listen_on(&server, port);
    if (!watch(&server, EPOLL_CTL_ADD, signals, EPOLLIN) ||
        !watch(&server, EPOLL_CTL_ADD, server.listener, EPOLLIN)) {
        fail("epoll_ctl");
    }
    run(&server, signals);

    uint64_t still_open = 0;
    for (uint32_t fd = 0; fd < server.capacity; fd++) {
        if (server.connections[fd].open) {
            still_open++;
            free(server.connections[fd].unsent);
            (void)close((int)fd);
        }
    }
    (void)printf(
        "accepted %" PRIu64 " closed_idle %" PRIu64 " closed_by_peer %" PRIu64 " open %" PRIu64
        " pending %" PRIu64 " bytes %" PRIu64 " wakeups %" PRIu64 " idle_wakeups %" PRIu64 "\n",
        server.accepted, server.closed_idle, server.closed_by_peer, still_open,
        server.algo->count(server.timers), server.bytes, server.wakeups, server.idle_wakeups);
    server.algo->destroy(server.timers);
    free(server.connections);
    (void)close(server.listener);
    (void)close(signals);
    (void)close(server.epoll);
    return 0;
}
