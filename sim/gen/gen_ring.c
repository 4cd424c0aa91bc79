#include "gen_ring.h"

#include <stdlib.h>
#include <string.h>

#define NO_BLOCK       UINT32_MAX

/* Ring sizes, in ticks. The larger takes 4 MB for its heads. */
#define SIZE_MIN       (UINT64_C(1) << 10)
#define SIZE_MAX_TICKS (UINT64_C(1) << 20)

bool gen_ring_create(struct gen_ring *ring, uint64_t now, uint64_t reach_ticks)
{
    *ring = (struct gen_ring){.now = now, .size = SIZE_MIN, .free_block = NO_BLOCK};
    while (ring->size <= reach_ticks && ring->size < SIZE_MAX_TICKS) {
        ring->size *= 2;
    }
    ring->heads = malloc(ring->size * sizeof *ring->heads);
    if (ring->heads == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < ring->size; i++) {
        ring->heads[i] = NO_BLOCK;
    }
    return true;
}

void gen_ring_destroy(struct gen_ring *ring)
{
    free(ring->heads);
    free(ring->blocks);
    free(ring->far);
    free(ring->taken);
    *ring = (struct gen_ring){0};
}

/* Makes room for one more of `bytes` each. */
static bool grow(void **array, size_t count, size_t *capacity, size_t bytes)
{
    if (count < *capacity) {
        return true;
    }
    size_t larger = *capacity > 0 ? 2 * *capacity : 1024;
    void *moved = realloc(*array, larger * bytes);
    if (moved == NULL) {
        return false;
    }
    *array = moved;
    *capacity = larger;
    return true;
}

static bool add_near(struct gen_ring *ring, uint64_t tick, uint32_t number)
{
    uint32_t *head = &ring->heads[tick & (ring->size - 1)];
    if (*head == NO_BLOCK || ring->blocks[*head].count == GEN_RING_BLOCK) {
        uint32_t fresh = ring->free_block;
        if (fresh != NO_BLOCK) {
            ring->free_block = ring->blocks[fresh].next;
        } else {
            void *blocks = ring->blocks;
            if (!grow(&blocks, ring->block_count, &ring->block_capacity, sizeof *ring->blocks)) {
                return false;
            }
            ring->blocks = blocks;
            fresh = (uint32_t)ring->block_count++;
        }
        ring->blocks[fresh].next = *head;
        ring->blocks[fresh].count = 0;
        *head = fresh;
    }
    struct gen_ring_block *block = &ring->blocks[*head];
    block->numbers[block->count++] = number;
    return true;
}

static bool add_far(struct gen_ring *ring, const struct gen_ring_entry *entry)
{
    void *far = ring->far;
    if (!grow(&far, ring->far_count, &ring->far_capacity, sizeof *ring->far)) {
        return false;
    }
    ring->far = far;
    ring->far[ring->far_count++] = *entry;
    return true;
}

/* Files the batch, in its order. */
static bool file_batch(struct gen_ring *ring)
{
    for (size_t i = 0; i < ring->batch_count; i++) {
        uint32_t head = ring->heads[ring->batch[i].tick & (ring->size - 1)];
        if (head != NO_BLOCK) {
            __builtin_prefetch(&ring->blocks[head], 1);
        }
    }
    for (size_t i = 0; i < ring->batch_count; i++) {
        const struct gen_ring_entry *entry = &ring->batch[i];
        if (entry->tick - ring->now < ring->size ? !add_near(ring, entry->tick, entry->number)
                                                 : !add_far(ring, entry)) {
            return false;
        }
    }
    ring->batch_count = 0;
    return true;
}

bool gen_ring_add(struct gen_ring *ring, uint64_t tick, uint32_t number)
{
    if (ring->batch_count == GEN_RING_BATCH && !file_batch(ring)) {
        return false;
    }
    __builtin_prefetch(&ring->heads[tick & (ring->size - 1)], 1);
    ring->batch[ring->batch_count++] = (struct gen_ring_entry){.tick = tick, .number = number};
    return true;
}

/* Files what has come within reach. */
static bool bring_near(struct gen_ring *ring)
{
    size_t kept = 0;
    for (size_t i = 0; i < ring->far_count; i++) {
        const struct gen_ring_entry far = ring->far[i];
        if (far.tick - ring->now >= ring->size) {
            ring->far[kept++] = far;
        } else if (!add_near(ring, far.tick, far.number)) {
            return false;
        }
    }
    ring->far_count = kept;
    return true;
}

bool gen_ring_take(struct gen_ring *ring, const uint32_t **numbers, size_t *count)
{
    if (!file_batch(ring) || (ring->now % (ring->size / 2) == 0 && !bring_near(ring))) {
        return false;
    }
    uint32_t *head = &ring->heads[ring->now & (ring->size - 1)];
    size_t n = 0;
    uint32_t at = *head;
    while (at != NO_BLOCK) {
        struct gen_ring_block *block = &ring->blocks[at];
        while (ring->taken_capacity < n + block->count) {
            void *taken = ring->taken;
            if (!grow(&taken, ring->taken_capacity, &ring->taken_capacity, sizeof *ring->taken)) {
                return false;
            }
            ring->taken = taken;
        }
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
    return true;
}
