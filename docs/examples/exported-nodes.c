/*
 * exported-nodes: a timer in each connection of a pool, by its address.
 *
 *     timerlab export hier-wheel --intrusive --nodes --prefix idle -o nodes
 *     cc -O2 -Inodes exported-nodes.c nodes/idle.c -o exported-nodes
 */
#define _GNU_SOURCE
#include "idle_nodes.h"
#include <stdio.h>
#include <sys/mman.h>

struct connection {
    int descriptor;
    struct idle_node idle;
};

static void on_expiry(void *ctx, struct idle_node *node, uint64_t now)
{
    struct connection *expired = (void *)((char *)node - offsetof(struct connection, idle));
    printf("%d is closed at %d\n", expired->descriptor, (int)now);
}

int main(void)
{
    struct idle_nodes timers;
    struct connection *pool = mmap(NULL, IDLE_NODES_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct connection *connection = pool + 123456;
    if (pool == MAP_FAILED || idle_nodes_create(&timers, pool, 0, 0, NULL) != IDLE_OK ||
        !idle_nodes_ready(&timers, &connection->idle)) {
        return 1;
    }
    connection->descriptor = 7;
    idle_nodes_start(&timers, &connection->idle, 30);
    idle_nodes_advance(&timers, 30, IDLE_NO_BUDGET, on_expiry, NULL);
    idle_nodes_destroy(&timers);
}
