/*
 * tcp_load.h: what the lives of write timers say of those who ask and who answers: whether a
 * server closes after so many requests, or so long after the last, and whether some connections'
 * gaps are many times as long as the others'. A life is that of a timer between two connections,
 * at either end; it is known from its begin only if the recording has that.
 */
#ifndef SIM_TCP_LOAD_H
#define SIM_TCP_LOAD_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_load;

/* An empty one; NULL if memory is short. */
struct tcp_load *tcp_load_create(void);
void tcp_load_destroy(struct tcp_load *load);

/* The number of a new life that is `whole` if its begin is in the recording; UINT32_MAX if memory
 * is short. */
uint32_t tcp_load_begin(struct tcp_load *load, bool whole);

/* A request, or a reply. False if memory is short. */
bool tcp_load_request(struct tcp_load *load, uint32_t life, uint64_t tick);

/* The connection closes. */
void tcp_load_end(struct tcp_load *load, uint32_t life, uint64_t tick);

/* Gaps from request to request. */
struct tcp_load_gaps {
    uint64_t *ticks; /* sorted */
    uint32_t count;  /* of these */
    uint32_t longer; /* that the server did not wait for: longer than idle_ticks */
};

struct tcp_load_found {
    uint64_t lives;             /* that ended */
    double singles;             /* share of them, with one request at most */
    uint32_t limit;             /* of requests; 0: none can be seen */
    uint64_t idle_ticks;        /* after so long it is closed; 0: never that can be seen */
    double by_limits;           /* share of the ends of whole lives that come of either */
    double slow;                /* share of the connections whose gaps are longer */
    double slow_times;          /* so many times */
    struct tcp_load_gaps all;   /* of the others, if there are such */
    struct tcp_load_gaps first; /* likewise, in lives that the recording begins with */
};

/* Sums up, at the recording's end. False if memory is short. What is found lasts as long as the
 * load. */
bool tcp_load_finish(struct tcp_load *load, uint64_t end_tick, struct tcp_load_found *found);

#endif
