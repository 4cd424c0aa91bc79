#include "kit_guard.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANARY_BYTES     32u
#define CANARY_PATTERN   0xc9
#define FRESH_PATTERN    0xa5
#define FREED_PATTERN    0xdb
#define LIVE_MAGIC       UINT64_C(0x7469636b6c697665)
#define FREED_MAGIC      UINT64_C(0x7469636b67626e65)
/* Freed blocks larger than this go back at once: looking through them again and again is dear. */
#define QUARANTINE_BYTES 65536u

/* In memory: [padding] block, canary, payload, canary. */
struct kit_guard_block {
    uint64_t magic;
    const struct kit_guard *owner;
    struct kit_guard_block *next;
    struct kit_guard_block *prev;
    void *raw;
    size_t bytes;
    size_t align;
};

static unsigned char *front_canary(struct kit_guard_block *block)
{
    return (unsigned char *)(block + 1);
}

static unsigned char *payload(struct kit_guard_block *block)
{
    return front_canary(block) + CANARY_BYTES;
}

static struct kit_guard_block *block_of(void *ptr)
{
    return (struct kit_guard_block *)(void *)((unsigned char *)ptr - CANARY_BYTES -
                                              sizeof(struct kit_guard_block));
}

static void report(struct kit_guard *guard, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report(struct kit_guard *guard, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    guard->report(guard->report_ctx, what);
}

/* The first byte of [at, at + bytes) that is not `pattern`; `bytes` if there is none. */
static size_t first_other(const unsigned char *at, unsigned char pattern, size_t bytes)
{
    if (bytes == 0 || (at[0] == pattern && memcmp(at, at + 1, bytes - 1) == 0)) {
        return bytes;
    }
    size_t i = 0;
    while (at[i] == pattern) {
        i++;
    }
    return i;
}

static void check_canaries(struct kit_guard *guard, struct kit_guard_block *block)
{
    size_t at = first_other(front_canary(block), CANARY_PATTERN, CANARY_BYTES);
    if (at < CANARY_BYTES) {
        report(guard, "wrote outside its memory: a block of %zu bytes was written at offset %lld",
               block->bytes, (long long)at - (long long)CANARY_BYTES);
    }
    at = first_other(payload(block) + block->bytes, CANARY_PATTERN, CANARY_BYTES);
    if (at < CANARY_BYTES) {
        report(guard, "wrote outside its memory: a block of %zu bytes was written at offset %lld",
               block->bytes, (long long)block->bytes + (long long)at);
    }
}

static void check_freed(struct kit_guard *guard, struct kit_guard_block *block)
{
    size_t at = first_other(payload(block), FREED_PATTERN, block->bytes);
    if (at < block->bytes) {
        report(guard, "wrote to memory it had freed: a block of %zu bytes, at offset %lld",
               block->bytes, (long long)at);
    }
}

static void *give(struct kit_guard *guard, size_t bytes, size_t align)
{
    size_t front = sizeof(struct kit_guard_block) + CANARY_BYTES;
    size_t unit = align < 16 ? 16 : align;
    size_t lead = (front + unit - 1) / unit * unit;
    size_t whole = lead + bytes + CANARY_BYTES;
    void *raw = NULL;
    if (whole < bytes || posix_memalign(&raw, unit, whole) != 0) {
        return NULL;
    }
    unsigned char *ptr = (unsigned char *)raw + lead;
    struct kit_guard_block *block = block_of(ptr);
    *block = (struct kit_guard_block){.magic = LIVE_MAGIC,
                                      .owner = guard,
                                      .next = guard->first,
                                      .raw = raw,
                                      .bytes = bytes,
                                      .align = align};
    if (guard->first != NULL) {
        guard->first->prev = block;
    }
    guard->first = block;
    memset(front_canary(block), CANARY_PATTERN, CANARY_BYTES);
    memset(ptr, guard->fresh, bytes);
    memset(ptr + bytes, CANARY_PATTERN, CANARY_BYTES);
    guard->bytes += bytes;
    guard->blocks++;
    if (guard->bytes > guard->peak_bytes) {
        guard->peak_bytes = guard->bytes;
    }
    return ptr;
}

static void take_back(struct kit_guard *guard, struct kit_guard_block *block)
{
    check_canaries(guard, block);
    if (block->prev != NULL) {
        block->prev->next = block->next;
    } else {
        guard->first = block->next;
    }
    if (block->next != NULL) {
        block->next->prev = block->prev;
    }
    guard->bytes -= block->bytes;
    guard->blocks--;
    block->magic = FREED_MAGIC;
    memset(payload(block), FREED_PATTERN, block->bytes);
    if (block->bytes > QUARANTINE_BYTES) {
        free(block->raw);
        return;
    }
    struct kit_guard_block **place = &guard->quarantine[guard->quarantine_at];
    guard->quarantine_at = (guard->quarantine_at + 1) % KIT_GUARD_QUARANTINE;
    if (*place != NULL) {
        check_freed(guard, *place);
        free((*place)->raw);
    }
    *place = block;
}

static void *guard_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    struct kit_guard *guard = ctx;
    struct kit_guard_block *block = ptr != NULL ? block_of(ptr) : NULL;
    if (block != NULL && block->magic == FREED_MAGIC) {
        report(guard, "gave a block of %zu bytes back twice", block->bytes);
    }
    if (block != NULL && block->magic != LIVE_MAGIC) {
        report(guard, "gave back memory that the allocator never gave out");
    }
    if (block != NULL && block->owner != guard) {
        report(guard, "gave back a block of %zu bytes that belongs to another structure",
               block->bytes);
    }
    if (block != NULL && block->bytes != old_bytes) {
        report(guard, "gave a block of %zu bytes back as one of %lld", block->bytes,
               (long long)old_bytes);
    }
    if (block != NULL && block->align != align) {
        report(guard, "gave a block aligned to %zu back as one aligned to %lld", block->align,
               (long long)align);
    }
    if (new_bytes == 0) {
        if (block != NULL) {
            take_back(guard, block);
        }
        return NULL;
    }
    if (align == 0 || (align & (align - 1)) != 0) {
        report(guard, "asked for %zu bytes aligned to %lld, which is no power of two", new_bytes,
               (long long)align);
    }
    if (block == NULL || new_bytes > old_bytes) {
        guard->allocations++;
        uint64_t more = new_bytes - (block != NULL ? old_bytes : 0);
        bool beyond = guard->bytes > guard->limit_bytes || more > guard->limit_bytes - guard->bytes;
        if (guard->grants == 0 || beyond) {
            guard->refused++;
            return NULL;
        }
        guard->grants -= guard->grants != UINT64_MAX;
    }
    unsigned char *fresh = give(guard, new_bytes, align);
    if (fresh == NULL) {
        guard->refused++;
        return NULL;
    }
    if (block != NULL) {
        memcpy(fresh, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
        take_back(guard, block);
    }
    return fresh;
}

void kit_guard_init(struct kit_guard *guard, kit_guard_report_fn report_fn, void *report_ctx)
{
    *guard = (struct kit_guard){
        .allocator = {guard, guard_resize},
        .limit_bytes = UINT64_MAX,
        .grants = UINT64_MAX,
        .fresh = FRESH_PATTERN,
        .report = report_fn,
        .report_ctx = report_ctx,
    };
}

void kit_guard_check(struct kit_guard *guard)
{
    for (struct kit_guard_block *block = guard->first; block != NULL; block = block->next) {
        check_canaries(guard, block);
    }
    for (size_t i = 0; i < KIT_GUARD_QUARANTINE; i++) {
        if (guard->quarantine[i] != NULL) {
            check_freed(guard, guard->quarantine[i]);
        }
    }
}

void kit_guard_release(struct kit_guard *guard)
{
    while (guard->first != NULL) {
        struct kit_guard_block *block = guard->first;
        guard->first = block->next;
        free(block->raw);
    }
    for (size_t i = 0; i < KIT_GUARD_QUARANTINE; i++) {
        if (guard->quarantine[i] != NULL) {
            free(guard->quarantine[i]->raw);
            guard->quarantine[i] = NULL;
        }
    }
    guard->bytes = 0;
    guard->blocks = 0;
}
