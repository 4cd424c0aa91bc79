/*
 * The echo server of docs/examples, under thousands of real connections: every message is echoed,
 * every idle connection is closed, no active one is; for each structure that is not a baseline.
 *
 * Half of the connections send once and fall silent, the others continue. Nothing here depends on
 * the speed of the machine. The assertions follow from causes:
 *   - not early: when the end of a connection is seen, at least the idle timeout has passed since
 *     the last echoed message was sent, by the one clock that both processes read
 *   - not late: an echo shows that the server has reached an advance at or after the tick at which
 *     its message was sent; the echo of another message, sent after the first echo, shows that this
 *     advance is over. All connections that were idle for long enough at that tick are closed then
 *   - an active connection that was closed because this process had no turn for too long is not the
 *     server's fault: the test is then repeated with twice the timeout
 */
#include "test.h"

#include "registry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS   2000u
#define MESSAGE_BYTES 40
#define FIRST_IDLE_MS 300u
#define ATTEMPTS      4
#define NS_PER_MS     UINT64_C(1000000)

struct connection {
    int fd;
    bool active;
    bool waiting; /* for an echo */
    bool closed;
    uint32_t messages;
    size_t received; /* of the echo that is awaited */
    char message[MESSAGE_BYTES + 1];
    uint64_t sent_ns;
    uint64_t echoed_ns;
    uint64_t echoed_sent_ns; /* when the last message that came back was sent */
};

struct trial {
    const char *name;
    uint64_t idle_ns;
    uint64_t early_ns; /* as the structure declares */
    uint64_t late_ns;
    pid_t server;
    FILE *output; /* the server's standard output */
    unsigned port;
    int epoll;
    struct connection *connections;
    uint32_t count;
    uint32_t idle_open;
    uint64_t bytes;
    bool starved;
    uint64_t advancing_ns; /* the server has come to an advance at this tick or later ... */
    uint64_t known_ns;     /* ... which was known at this time */
};

static uint32_t connection_count; /* CONNECTIONS, or the limit of descriptors */

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void start_server(struct trial *trial)
{
    int ends[2];
    char idle_ms[32];
    (void)snprintf(idle_ms, sizeof idle_ms, "%" PRIu64, trial->idle_ns / NS_PER_MS);
    assert_int_equal(pipe(ends), 0);
    trial->server = fork();
    assert_true(trial->server >= 0);
    if (trial->server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(TL_BINARY_DIR "/tests/installed/echo-server", "echo-server", "-a", trial->name,
                    "-t", idle_ms, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    trial->output = fdopen(ends[0], "r");
    assert_non_null(trial->output);
    char line[128];
    if (fgets(line, sizeof line, trial->output) == NULL ||
        /* NOLINTNEXTLINE(cert-err34-c): a wrong number shows at once, in connect */
        sscanf(line, "listening on 127.0.0.1:%u", &trial->port) != 1) {
        fail_msg("%s: the server does not say where it listens", trial->name);
    }
}

static void send_message(struct trial *trial, struct connection *connection)
{
    (void)snprintf(connection->message, sizeof connection->message, "%010u %010u %s %0*d",
                   (unsigned)(connection - trial->connections), connection->messages,
                   connection->active ? "active" : "silent", MESSAGE_BYTES - 2 * 10 - 6 - 3, 0);
    connection->messages++;
    connection->received = 0;
    connection->waiting = true;
    connection->sent_ns = now_ns();
    /* A few bytes into an empty buffer; if the server has closed, reading will show it. */
    (void)send(connection->fd, connection->message, MESSAGE_BYTES, MSG_NOSIGNAL);
}

static void end_connection(struct trial *trial, struct connection *connection)
{
    uint64_t seen_ns = now_ns();
    /* A message without an echo may have been sent too late. */
    uint64_t silent_ns =
        seen_ns - (connection->waiting ? connection->echoed_sent_ns : connection->sent_ns);
    if (silent_ns + trial->early_ns < trial->idle_ns) {
        fail_msg(
            "%s: connection %td was closed %" PRIu64 " us after it sent, before %" PRIu64 " us",
            trial->name, connection - trial->connections, silent_ns / 1000, trial->idle_ns / 1000);
    }
    trial->starved = trial->starved || connection->active || connection->waiting;
    connection->closed = true;
    (void)close(connection->fd);
    trial->idle_open -= !connection->active;
}

/* The server has finished an advance at the tick of `advanced_ns` or a later one. */
static void check_idle(const struct trial *trial, uint64_t advanced_ns)
{
    uint64_t longest_ns = trial->idle_ns + trial->late_ns + 2 * NS_PER_MS;
    for (uint32_t i = 0; i < trial->count; i++) {
        const struct connection *connection = &trial->connections[i];
        if (connection->messages == 0 || connection->active || connection->closed ||
            connection->waiting || connection->echoed_ns + longest_ns >= advanced_ns) {
            continue;
        }
        /* Its end has been sent, but may be delivered a moment later than the echo. */
        struct pollfd end = {.fd = connection->fd, .events = POLLIN};
        if (poll(&end, 1, 50) != 1) {
            fail_msg("%s: connection %" PRIu32 " is still open after an advance %" PRIu64
                     " us after its last echo; the timeout is %" PRIu64 " us",
                     trial->name, i, (advanced_ns - connection->echoed_ns) / 1000,
                     trial->idle_ns / 1000);
        }
    }
}

static void receive(struct trial *trial, struct connection *connection)
{
    char data[256];
    ssize_t bytes = recv(connection->fd, data, sizeof data, MSG_DONTWAIT);
    if (bytes < 0 && errno == EAGAIN) {
        return;
    }
    if (bytes <= 0) {
        end_connection(trial, connection);
        return;
    }
    trial->bytes += (uint64_t)bytes;
    if (!connection->waiting || connection->received + (size_t)bytes > MESSAGE_BYTES ||
        memcmp(data, connection->message + connection->received, (size_t)bytes) != 0) {
        fail_msg("%s: connection %td got %zd bytes that it did not send", trial->name,
                 connection - trial->connections, bytes);
    }
    connection->received += (size_t)bytes;
    if (connection->received == MESSAGE_BYTES) {
        connection->waiting = false;
        connection->echoed_ns = now_ns();
        connection->echoed_sent_ns = connection->sent_ns;
        if (connection->sent_ns > trial->known_ns) {
            check_idle(trial, trial->advancing_ns);
            trial->advancing_ns = connection->sent_ns;
            trial->known_ns = connection->echoed_ns;
        }
    }
}

static void receive_all(struct trial *trial, int timeout_ms)
{
    struct epoll_event events[256];
    int count = epoll_wait(trial->epoll, events, 256, timeout_ms);
    assert_true(count >= 0 || errno == EINTR);
    for (int i = 0; i < count; i++) {
        receive(trial, &trial->connections[events[i].data.u32]);
    }
}

static void open_connections(struct trial *trial)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)trial->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (uint32_t i = 0; i < trial->count; i++) {
        struct connection *connection = &trial->connections[i];
        connection->active = i % 2 == 0;
        connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        connection->echoed_sent_ns = now_ns(); /* no timer of it is older than this */
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        if (connection->fd < 0 ||
            connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
            epoll_ctl(trial->epoll, EPOLL_CTL_ADD, connection->fd, &event) != 0) {
            fail_msg("%s: connection %" PRIu32 ": %s", trial->name, i, strerror(errno));
        }
        trial->idle_open += !connection->active;
        send_message(trial, connection);
        receive_all(trial, 0);
    }
}

/* Until every idle connection is closed, the active ones send four times in each idle timeout. */
static void keep_some_active(struct trial *trial)
{
    while (trial->idle_open > 0 && !trial->starved) {
        receive_all(trial, (int)(trial->idle_ns / NS_PER_MS / 16));
        for (uint32_t i = 0; i < trial->count; i++) {
            struct connection *connection = &trial->connections[i];
            if (connection->active && !connection->closed && !connection->waiting &&
                now_ns() - connection->sent_ns > trial->idle_ns / 4) {
                send_message(trial, connection);
            }
        }
    }
}

static bool any_waiting(const struct trial *trial)
{
    for (uint32_t i = 0; i < trial->count; i++) {
        if (trial->connections[i].waiting && !trial->connections[i].closed) {
            return true;
        }
    }
    return false;
}

/* The active ones get their last echoes, say that they are done, and see the server's end. */
static void end_active(struct trial *trial)
{
    while (!trial->starved && any_waiting(trial)) {
        receive_all(trial, -1);
    }
    for (uint32_t i = 0; i < trial->count && !trial->starved; i++) {
        if (!trial->connections[i].closed) {
            (void)shutdown(trial->connections[i].fd, SHUT_WR);
        }
    }
    for (uint32_t i = 0; i < trial->count && !trial->starved; i++) {
        struct connection *connection = &trial->connections[i];
        char byte;
        if (!connection->closed) {
            assert_int_equal(recv(connection->fd, &byte, 1, 0), 0);
            connection->closed = true;
            (void)close(connection->fd);
            /* else it may also have been closed as idle */
            trial->starved = now_ns() - connection->sent_ns >= trial->idle_ns;
        }
    }
}

static void stop_server(struct trial *trial, char *line, size_t line_bytes)
{
    int status = 0;
    assert_int_equal(kill(trial->server, SIGTERM), 0);
    if (fgets(line, (int)line_bytes, trial->output) == NULL) {
        fail_msg("%s: the server ended without its statistics", trial->name);
    }
    (void)fclose(trial->output);
    assert_int_equal(waitpid(trial->server, &status, 0), trial->server);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("%s: the server ended with status %d", trial->name, status);
    }
}

/* False if this process was starved, and the trial says nothing. */
static bool run_trial(const struct tl_algo *algo, uint64_t idle_ms)
{
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    struct tl_precision precision = tl_algo_precision(algo, options, idle_ms);
    struct trial trial = {.name = algo->name,
                          .idle_ns = idle_ms * NS_PER_MS,
                          .early_ns = precision.early_ticks * NS_PER_MS,
                          .late_ns = precision.late_ticks * NS_PER_MS,
                          .count = connection_count};
    trial.connections = calloc(trial.count, sizeof *trial.connections);
    trial.epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_non_null(trial.connections);
    assert_true(trial.epoll >= 0);
    start_server(&trial);
    open_connections(&trial);
    keep_some_active(&trial);
    end_active(&trial);
    for (uint32_t i = 0; i < trial.count; i++) {
        if (!trial.connections[i].closed) {
            (void)close(trial.connections[i].fd);
        }
    }
    char line[512];
    char expected[512];
    stop_server(&trial, line, sizeof line);
    (void)snprintf(expected, sizeof expected,
                   "accepted %" PRIu32 " closed_idle %" PRIu32 " closed_by_peer %" PRIu32
                   " open 0 pending 0 bytes %" PRIu64 " ",
                   trial.count, trial.count / 2, trial.count - trial.count / 2, trial.bytes);
    if (!trial.starved && strncmp(line, expected, strlen(expected)) != 0) {
        fail_msg("%s: the server says '%s', not '%s...'", algo->name, line, expected);
    }
    if (!trial.starved) {
        print_message("%s: %" PRIu32 " connections, %" PRIu64 " echoes; %s", algo->name,
                      trial.count, trial.bytes / MESSAGE_BYTES, line);
    }
    (void)close(trial.epoll);
    free(trial.connections);
    return !trial.starved;
}

static void idle_connections_are_closed_and_active_ones_are_not(void **state)
{
    (void)state;
    unsigned tried = 0;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if ((algo->capabilities & TL_CAP_BASELINE) != 0) {
            continue;
        }
        TL_OPTION_VALUES(options);
        tl_options_default(algo, options);
        uint64_t late_ms = tl_algo_precision(algo, options, FIRST_IDLE_MS).late_ticks;
        if (late_ms > FIRST_IDLE_MS) {
            print_message("%s: skipped: with its default options it may be %" PRIu64
                          " ms late for a timeout of %d ms\n",
                          algo->name, late_ms, (int)FIRST_IDLE_MS);
            continue;
        }
        tried++;
        uint64_t idle_ms = FIRST_IDLE_MS;
        int attempt = 1;
        while (!run_trial(algo, idle_ms)) {
            print_message("%s: this process had no turn for %" PRIu64
                          " ms; again with twice that\n",
                          algo->name, idle_ms);
            idle_ms *= 2;
            if (++attempt > ATTEMPTS) {
                fail_msg("%s: too little processor time for an answer", algo->name);
            }
        }
    }
    assert_true(tried > 0);
}

/* As many connections as the limit allows; false if that is too few to be worth it. */
static bool raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    rlim_t usable = limit.rlim_max > 64 ? limit.rlim_max - 64 : 0;
    connection_count = usable < CONNECTIONS ? (uint32_t)usable / 2 * 2 : CONNECTIONS;
    return connection_count >= 200;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_connections_are_closed_and_active_ones_are_not),
    };
    int probe = socket(AF_INET, SOCK_STREAM, 0);
    if (probe < 0 || !raise_limit()) {
        (void)fputs("skipped: no sockets, or fewer than 264 descriptors allowed\n", stderr);
        return 77;
    }
    (void)close(probe);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
