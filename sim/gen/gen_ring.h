/*
 * gen_ring.h: the next events of a model: a ring of lists of connection numbers, one for each tick.
 * Far cheaper than a heap for very many events when time advances tick by tick. A list is a chain
 * of small blocks, so that taking it costs a cache line for fourteen entries, and the caller knows
 * all numbers before it visits the first connection. Entries beyond the ring's reach are kept
 * apart, and searched twice a turn.
 */
#ifndef SIM_GEN_RING_H
#define SIM_GEN_RING_H

#include <stddef.h>
#include <stdint.h>

#define GEN_RING_BLOCK 14u

struct gen_ring_block {
    uint32_t next;
    uint32_t count;
    uint32_t numbers[GEN_RING_BLOCK];
};

struct gen_ring_entry {
    uint64_t tick;
    uint32_t number;
};

/* Treat as opaque. */
struct gen_ring {
    uint64_t now; /* the next tick to be taken */
    uint64_t size;
    uint32_t *heads;
    struct gen_ring_block *blocks;
    size_t block_count;
    size_t block_capacity;
    uint32_t free_block;
    struct gen_ring_entry *far;
    size_t far_count;
    size_t far_capacity;
    uint32_t *taken;
    size_t taken_capacity;
};

/* Make an empty ring at tick `now` that reaches `reach_ticks` ahead. */
void gen_ring_create(struct gen_ring *ring, uint64_t now, uint64_t reach_ticks);

/* Harmless on a zeroed ring. */
void gen_ring_destroy(struct gen_ring *ring);

/* File `number` at `tick`, which must not be taken yet. */
void gen_ring_add(struct gen_ring *ring, uint64_t tick, uint32_t number);

/* Take the next tick's numbers, valid until the next call, and advance by a tick. Their order
 * depends only on the order of the additions. */
void gen_ring_take(struct gen_ring *ring, const uint32_t **numbers, size_t *count);

#endif
