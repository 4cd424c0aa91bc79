/* A program outside the tree, which uses the installed library: every structure fires the timers
 * that were started, and no others. */
#include <timerlab.h>
#include <timerlab/plugin.h>
#include <timerlab/registry.h>

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMERS 1000u

static void count_firing(void *ctx, uint32_t id, uint64_t now)
{
    (void)now;
    ((unsigned char *)ctx)[id]++;
}

/* --- timers in records of one's own ----------------------------------------------------------- */

#define CONNECTIONS_FIRST 10u /* and three times as many later */
#define IDLE_TICKS        50u

/* A server's record of a connection. The size of the timer in it depends on the structure. */
struct conn {
    uint64_t bytes_received;
    uint32_t timeouts;
    int fd;
    alignas(TL_EMBEDDED_ALIGN) unsigned char timer[];
};

/* A server with a table of connections, in which their idle timers lie. */
struct server {
    const struct tl_algo *algo;
    void *timers;
    char *conns;
    size_t conn_bytes;
    uint32_t capacity;
    uint64_t now;
};

static struct conn *conn_at(const struct server *server, uint32_t id)
{
    return (struct conn *)(void *)(server->conns + id * server->conn_bytes);
}

static struct tl_records records_of(const struct server *server)
{
    return (struct tl_records){.base = server->conns,
                               .stride_bytes = server->conn_bytes,
                               .offset_bytes = offsetof(struct conn, timer)};
}

static void time_out(void *ctx, uint32_t id, uint64_t now)
{
    (void)now;
    conn_at(ctx, id)->timeouts++;
}

/* The table moves first, with all that is in it; then the structure makes room. */
static bool grow(struct server *server, uint32_t capacity)
{
    char *conns = calloc(capacity, server->conn_bytes);
    if (conns == NULL) {
        return false;
    }
    memcpy(conns, server->conns, server->capacity * server->conn_bytes);
    free(server->conns);
    server->conns = conns;
    server->capacity = capacity;
    struct tl_records records = records_of(server);
    server->algo->moved(server->timers, &records);
    return server->algo->reserve(server->timers, capacity) == TL_OK;
}

/* Bytes come in, which push the idle timer back. */
static bool receive(struct server *server, uint32_t id)
{
    conn_at(server, id)->bytes_received += 100 + id;
    return server->algo->start(server->timers, id, server->now + IDLE_TICKS) == TL_OK;
}

static void pass(struct server *server, uint64_t ticks)
{
    for (uint64_t end = server->now + ticks; server->now < end;) {
        (void)server->algo->advance(server->timers, ++server->now, TL_NO_BUDGET, time_out, server);
    }
}

static bool is_silent(uint32_t id)
{
    return id % 2 == 1 && id < CONNECTIONS_FIRST;
}

static bool have_silent_timed_out(const struct server *server)
{
    bool all = true;
    for (uint32_t id = 0; id < server->capacity; id++) {
        all = all && (!is_silent(id) || conn_at(server, id)->timeouts > 0);
    }
    return all;
}

/* Connections with an odd number fall silent, the others do not. */
static int serve(struct server *server, uint64_t late_ticks)
{
    bool well = true;
    for (uint32_t id = 0; id < server->capacity; id++) {
        conn_at(server, id)->fd = (int)id + 3;
        well = well && receive(server, id);
    }
    pass(server, IDLE_TICKS / 2);
    well = well && grow(server, 3 * CONNECTIONS_FIRST);
    for (uint32_t id = 0; well && id < server->capacity; id++) {
        conn_at(server, id)->fd = (int)id + 3;
        well = id % 2 == 1 || receive(server, id);
    }
    pass(server, IDLE_TICKS / 2);
    for (uint64_t late = 0; late < late_ticks && !have_silent_timed_out(server); late++) {
        pass(server, 1);
    }
    for (uint32_t id = 0; well && id < server->capacity; id += 2) {
        well = server->algo->stop(server->timers, id) == TL_OK ||
               IDLE_TICKS / 2 <= late_ticks; /* these may have timed out, too */
    }
    int wrong = !well;
    for (uint32_t id = 0; well && id < server->capacity; id++) {
        const struct conn *conn = conn_at(server, id);
        uint64_t received = id % 2 == 0 && id < CONNECTIONS_FIRST   ? 2
                            : id % 2 == 0 || id < CONNECTIONS_FIRST ? 1
                                                                    : 0;
        wrong += conn->fd != (int)id + 3 || conn->bytes_received != received * (100 + id) ||
                 (is_silent(id) && conn->timeouts != 1);
    }
    return wrong;
}

static int drive_embedded(const struct tl_algo *algo)
{
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    struct server server = {.algo = algo,
                            .conn_bytes = sizeof(struct conn) + algo->embedded_bytes,
                            .capacity = CONNECTIONS_FIRST};
    server.conns = calloc(server.capacity, server.conn_bytes);
    if (server.conns == NULL) {
        return 1;
    }
    struct tl_records records = records_of(&server);
    struct tl_config config = {.capacity = server.capacity,
                               .max_delay_ticks = IDLE_TICKS,
                               .options = options,
                               .allocator = tl_system_allocator(),
                               .records = &records};
    int wrong = 1;
    if (algo->create(&config, &server.timers) == TL_OK) {
        wrong = serve(&server, tl_algo_precision(algo, options, IDLE_TICKS).late_ticks);
        algo->destroy(server.timers);
    }
    if (wrong != 0) {
        (void)fprintf(stderr, "%s: %d connections are not as they should be\n", algo->name, wrong);
    }
    free(server.conns);
    return wrong;
}

/* --- timers in the structure's own memory ----------------------------------------------------- */

static int drive(const struct tl_algo *algo)
{
    TL_OPTION_VALUES(options);
    unsigned char fired[TIMERS] = {0};
    void *self = NULL;
    tl_options_default(algo, options);
    struct tl_config config = {.capacity = TIMERS,
                               .max_delay_ticks = TIMERS,
                               .options = options,
                               .allocator = tl_system_allocator()};
    enum tl_status status = algo->create(&config, &self);
    if (status != TL_OK) {
        return status == TL_ERR_UNAVAILABLE ? 0 : 1;
    }
    for (uint32_t id = 0; id < TIMERS; id++) {
        status = algo->start(self, id, 1 + id);
        if (status != TL_OK) {
            (void)fprintf(stderr, "%s: %s\n", algo->name, tl_status_text(status));
            return 1;
        }
    }
    for (uint32_t id = 0; id < TIMERS; id += 3) {
        (void)algo->stop(self, id);
    }
    uint64_t end = 2 * TIMERS;
    for (uint64_t delay = 1; delay <= TIMERS; delay++) {
        uint64_t last = delay + tl_algo_precision(algo, options, delay).late_ticks;
        end = last > end ? last : end;
    }
    for (uint64_t now = 1; now <= 2 * TIMERS || (now <= end && algo->count(self) > 0); now++) {
        (void)algo->advance(self, now, TL_NO_BUDGET, count_firing, fired);
    }
    int wrong = 0;
    for (uint32_t id = 0; id < TIMERS; id++) {
        bool expected = id % 3 != 0 && (algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
        wrong += fired[id] != expected;
    }
    algo->destroy(self);
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *for_records = tl_entry_for_records(tl_registry_at(i));
        wrong += drive(tl_registry_at(i)->timed);
        wrong += for_records != NULL ? drive_embedded(for_records) : 0;
        (void)puts(tl_registry_at(i)->timed->name);
    }
    for (int i = 1; i < argc; i++) {
        char why[1024] = "";
        struct tl_plugin *plugin = tl_plugin_open(argv[i], why, sizeof why);
        if (plugin == NULL) {
            (void)fprintf(stderr, "%s\n", why);
            return 1;
        }
        wrong += drive(tl_plugin_algo(plugin));
        wrong +=
            tl_plugin_algo(plugin)->embedded_bytes > 0 ? drive_embedded(tl_plugin_algo(plugin)) : 0;
        (void)puts(tl_plugin_algo(plugin)->name);
        tl_plugin_close(plugin);
    }
    return wrong != 0;
}
