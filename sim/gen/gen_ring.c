#include "gen_ring.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define NO_BLOCK       UINT32_MAX

/* Ring sizes, in ticks. The larger needs 4 MB for its heads. */
#define SIZE_MIN       (UINT64_C(1) << 10)
#define SIZE_MAX_TICKS (UINT64_C(1) << 20)

void gen_ring_create(struct gen_ring *ring, uint64_t now, uint64_t reach_ticks)
{
    *ring = (struct gen_ring){.now = now, .size = SIZE_MIN, .free_block = NO_BLOCK};
    while (ring->size <= reach_ticks && ring->size < SIZE_MAX_TICKS) {
        ring->size *= 2;
    }
    ring->heads = memory_new(ring->size, sizeof *ring->heads);
    for (uint64_t i = 0; i < ring->size; i++) {
        ring->heads[i] = NO_BLOCK;
    }
}

void gen_ring_destroy(struct gen_ring *ring)
{
    free(ring->heads);
    free(ring->blocks);
    free(ring->far);
    free(ring->taken);
    *ring = (struct gen_ring){0};
}

static void add_near(struct gen_ring *ring, uint64_t tick, uint32_t number)
{
    uint32_t *head = &ring->heads[tick & (ring->size - 1)];
    if (*head == NO_BLOCK || ring->blocks[*head].count == GEN_RING_BLOCK) {
        uint32_t fresh = ring->free_block;
        if (fresh != NO_BLOCK) {
            ring->free_block = ring->blocks[fresh].next;
        } else {
            MEMORY_REACH(ring->blocks, ring->block_capacity, ring->block_count);
            fresh = (uint32_t)ring->block_count++;
        }
        ring->blocks[fresh].next = *head;
        ring->blocks[fresh].count = 0;
        *head = fresh;
    }
    struct gen_ring_block *block = &ring->blocks[*head];
    block->numbers[block->count++] = number;
}

void gen_ring_add(struct gen_ring *ring, uint64_t tick, uint32_t number)
{
    if (tick - ring->now < ring->size) {
        add_near(ring, tick, number);
    } else {
        MEMORY_REACH(ring->far, ring->far_capacity, ring->far_count);
        ring->far[ring->far_count++] = (struct gen_ring_entry){.tick = tick, .number = number};
    }
}

/* File the entries that have come within reach. */
static void bring_near(struct gen_ring *ring)
{
    size_t kept = 0;
    for (size_t i = 0; i < ring->far_count; i++) {
        const struct gen_ring_entry far = ring->far[i];
        if (far.tick - ring->now >= ring->size) {
            ring->far[kept++] = far;
        } else {
            add_near(ring, far.tick, far.number);
        }
    }
    ring->far_count = kept;
}

void gen_ring_take(struct gen_ring *ring, const uint32_t **numbers, size_t *count)
{
    if (ring->now % (ring->size / 2) == 0) {
        bring_near(ring);
    }
    uint32_t *head = &ring->heads[ring->now & (ring->size - 1)];
    size_t n = 0;
    uint32_t at = *head;
    while (at != NO_BLOCK) {
        struct gen_ring_block *block = &ring->blocks[at];
        MEMORY_REACH(ring->taken, ring->taken_capacity, n + block->count);
        (void)memcpy(ring->taken + n, block->numbers, block->count * sizeof *block->numbers);
        n += block->count;
        uint32_t next = block->next;
        block->next = ring->free_block;
        ring->free_block = at;
        at = next;
    }
    *head = NO_BLOCK;
    ring->now++;
    *numbers = ring->taken;
    *count = n;
}
