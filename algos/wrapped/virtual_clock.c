#include "virtual_clock.h"

#include "led_calls.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

/* Read in every call of a loop: without the detour that other ways to a thread's own take. */
static _Thread_local struct virtual_clock *thread_clock __attribute__((tls_model("initial-exec")));

struct virtual_clock *tl_virtual_clock_swap(struct virtual_clock *clock)
{
    struct virtual_clock *before = thread_clock;
    thread_clock = clock;
    return before;
}

/* --- the functions that the library calls instead --------------------------------------------- */

static int led_clock_gettime(clockid_t id, struct timespec *now)
{
    const struct virtual_clock *clock = thread_clock;
    if (clock == NULL) {
        return clock_gettime(id, now);
    }
    now->tv_sec = (time_t)(clock->now_ms / 1000);
    now->tv_nsec = (long)(clock->now_ms % 1000) * 1000000;
    return 0;
}

static int led_epoll_wait(int file, struct epoll_event *events, int count, int wait_ms)
{
    struct virtual_clock *clock = thread_clock;
    if (clock == NULL || clock->on_wait == NULL) {
        return epoll_wait(file, events, count, wait_ms);
    }
    clock->on_wait(clock, wait_ms);
    return 0;
}

/* The header of each block from the structure's allocator. A loop has a dozen of them, which grow by
 * doubling, so a list is enough. */
struct virtual_block {
    alignas(max_align_t) struct virtual_block *next;
    size_t bytes; /* after this */
};

/* Take the block at `memory` out of the clock's list. NULL: it is not in it. */
static struct virtual_block *take_block(struct virtual_clock *clock, const void *memory)
{
    for (struct virtual_block **at = &clock->blocks; *at != NULL; at = &(*at)->next) {
        struct virtual_block *block = *at;
        if (block + 1 == memory) {
            *at = block->next;
            return block;
        }
    }
    return NULL;
}

/* Resize `block`, or allocate one, and add it to the clock's list. NULL: `block` is unchanged, and
 * not in the list. */
static void *resize_block(struct virtual_clock *clock, struct virtual_block *block, size_t bytes)
{
    struct virtual_block *resized = clock->allocator->resize(
        clock->allocator->ctx, block, block != NULL ? sizeof *block + block->bytes : 0,
        sizeof *block + bytes, alignof(struct virtual_block));
    if (resized == NULL) {
        return NULL;
    }
    *resized = (struct virtual_block){.next = clock->blocks, .bytes = bytes};
    clock->blocks = resized;
    return resized + 1;
}

static void free_block(const struct virtual_clock *clock, struct virtual_block *block)
{
    tl_free(clock->allocator, block, sizeof *block + block->bytes, alignof(struct virtual_block));
}

static void *led_malloc(size_t bytes)
{
    struct virtual_clock *clock = thread_clock;
    void *memory = NULL;
    if (clock != NULL && clock->allocator != NULL) {
        memory = resize_block(clock, NULL, bytes);
    }
    return memory != NULL ? memory : malloc(bytes);
}

static void *led_calloc(size_t count, size_t bytes)
{
    size_t all = 0;
    if (thread_clock == NULL || __builtin_mul_overflow(count, bytes, &all)) {
        return calloc(count, bytes);
    }
    void *memory = led_malloc(all);
    return memory != NULL ? memset(memory, 0, all) : NULL;
}

static void led_free(void *memory)
{
    struct virtual_clock *clock = thread_clock;
    struct virtual_block *block = clock != NULL ? take_block(clock, memory) : NULL;
    if (block != NULL) {
        free_block(clock, block);
    } else {
        free(memory);
    }
}

static void *led_realloc(void *memory, size_t bytes)
{
    struct virtual_clock *clock = thread_clock;
    if (memory == NULL) {
        return led_malloc(bytes);
    }
    struct virtual_block *block = clock != NULL ? take_block(clock, memory) : NULL;
    if (block == NULL) {
        return realloc(memory, bytes);
    }
    void *resized = resize_block(clock, block, bytes);
    if (resized != NULL) {
        return resized;
    }
    resized = malloc(bytes);
    if (resized == NULL) {
        block->next = clock->blocks;
        clock->blocks = block;
        return NULL;
    }
    memcpy(resized, memory, bytes < block->bytes ? bytes : block->bytes);
    free_block(clock, block);
    return resized;
}

/* --- attaching ------------------------------------------------------------------------------- */

bool tl_virtual_clock_attach(void *library)
{
    struct led_call calls[] = {
        {"clock_gettime", (uintptr_t)led_clock_gettime, true},
        {"epoll_wait", (uintptr_t)led_epoll_wait, true},
        {"malloc", (uintptr_t)led_malloc, false},
        {"calloc", (uintptr_t)led_calloc, false},
        {"realloc", (uintptr_t)led_realloc, false},
        {"free", (uintptr_t)led_free, false},
    };
    return tl_led_calls_swap(library, calls, sizeof calls / sizeof calls[0]);
}
