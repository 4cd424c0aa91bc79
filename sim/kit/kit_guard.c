#include "kit_guard.h"

#include "memory.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_UNDEFINED(at, bytes) ((void)0)
#endif

#define CANARY_BYTES     32u
#define MALLOC_BYTES     16u /* of malloc's own for a block */
#define HEADER_ALIGN     16u
#define CANARY_PATTERN   0xc9
#define FRESH_PATTERN    0xa5
#define FREED_PATTERN    0xdb
/* Larger blocks are freed at once: checking them repeatedly is expensive. */
#define QUARANTINE_BYTES 65536u

/* The sanitizer's, where the program is built with it. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): their names for it */
extern void __asan_poison_memory_region(const volatile void *at, size_t bytes)
    __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *at, size_t bytes)
    __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* Between canaries: [padding] header, canary, payload, canary. Between pages, with the header
 * elsewhere: [page] payload [canary] [page]. */
struct kit_guard_block {
    bool freed;
    const struct kit_guard *owner;
    struct kit_guard_block *next;
    struct kit_guard_block *prev;
    unsigned char *payload;
    void *raw;
    size_t raw_bytes; /* of the pages, or of malloc */
    size_t bytes;
    size_t align;
    uint64_t number;    /* of the request that it was given out for, from 1 */
    const char *during; /* which hook */
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void poison(const void *at, size_t bytes)
{
    if (__asan_poison_memory_region != NULL) {
        __asan_poison_memory_region(at, bytes);
    }
}

static void unpoison(const void *at, size_t bytes)
{
    if (__asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(at, bytes);
    }
}

static noreturn void report(struct kit_guard *guard, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static noreturn void report(struct kit_guard *guard, const char *format, ...)
{
    char what[320];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    guard->report(guard->report_ctx, what);
    abort(); /* it does not return; the compiler cannot know */
}

#define BLOCK_TEXT_BYTES 120u

/* "a block of 512 bytes, which create asked for (request 3)". */
static const char *block_text(const struct kit_guard_block *block, char text[BLOCK_TEXT_BYTES])
{
    int n =
        snprintf(text, BLOCK_TEXT_BYTES, "%s of %zu bytes", block->owner->block_word, block->bytes);
    if (block->during != NULL && n > 0) {
        (void)snprintf(text + n, BLOCK_TEXT_BYTES - (size_t)n,
                       ", which %s asked for (request %" PRIu64 ")", block->during, block->number);
    }
    return text;
}

size_t kit_guard_first_other(const unsigned char *at, unsigned char pattern, size_t bytes)
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

/* Report a write to bytes that must have that pattern, of a canary or of a freed block. */
static void check_bytes(struct kit_guard *guard, const struct kit_guard_block *block,
                        const unsigned char *from, size_t bytes, unsigned char pattern)
{
    unpoison(from, bytes);
    size_t at = kit_guard_first_other(from, pattern, bytes);
    if (at < bytes) {
        char text[BLOCK_TEXT_BYTES];
        report(guard, "wrote %s%s, at offset %lld of %s",
               pattern == FREED_PATTERN ? "to " : "outside its memory",
               pattern == FREED_PATTERN ? guard->freed_words : "",
               (long long)(from + at - block->payload), block_text(block, text));
    }
    poison(from, bytes);
}

static void check_block(struct kit_guard *guard, const struct kit_guard_block *block)
{
    const unsigned char *end = block->payload + block->bytes;
    bool has_pages = guard->place != KIT_GUARD_CANARIES;
    if (block->freed && !has_pages) {
        check_bytes(guard, block, block->payload, block->bytes, FREED_PATTERN);
    } else if (!block->freed && has_pages) { /* up to the page after it */
        const unsigned char *page = (unsigned char *)block->raw + block->raw_bytes - page_bytes();
        check_bytes(guard, block, end, (size_t)(page - end), CANARY_PATTERN);
    } else if (!block->freed) {
        check_bytes(guard, block, block->payload - CANARY_BYTES, CANARY_BYTES, CANARY_PATTERN);
        check_bytes(guard, block, end, CANARY_BYTES, CANARY_PATTERN);
    }
}

/* --- given out -------------------------------------------------------------------------------- */

/* The header is before the canary, at the next address that is aligned for it. */
static struct kit_guard_block *header_of(unsigned char *payload)
{
    unsigned char *end = payload - CANARY_BYTES;
    return (struct kit_guard_block *)(void *)(end - (uintptr_t)end % HEADER_ALIGN) - 1;
}

/* Aligned as requested, and no more. */
static struct kit_guard_block *give_between_canaries(size_t bytes, size_t align)
{
    size_t front = sizeof(struct kit_guard_block) + HEADER_ALIGN + CANARY_BYTES;
    size_t raw_align = 2 * align < HEADER_ALIGN ? HEADER_ALIGN : 2 * align;
    size_t lead = (front + raw_align - 1) / raw_align * raw_align + align;
    size_t whole = lead + bytes + CANARY_BYTES;
    void *raw = NULL;
    if (whole < bytes || posix_memalign(&raw, raw_align, whole) != 0) {
        return NULL;
    }
    unsigned char *payload = (unsigned char *)raw + lead;
    struct kit_guard_block *block = header_of(payload);
    *block = (struct kit_guard_block){
        .payload = payload, .raw = raw, .raw_bytes = malloc_usable_size(raw)};
    memset(payload - CANARY_BYTES, CANARY_PATTERN, CANARY_BYTES);
    memset(payload + bytes, CANARY_PATTERN, CANARY_BYTES);
    return block;
}

static struct kit_guard_block *give_between_pages(size_t bytes, size_t align, bool at_end)
{
    size_t page = page_bytes();
    size_t unit = align > page ? align : page;
    size_t room = (bytes + page - 1) / page * page;
    size_t whole = page + room + page + (unit > page ? unit : 0);
    void *raw = whole > bytes
                    ? mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                    : MAP_FAILED;
    if (raw == MAP_FAILED) {
        return NULL;
    }
    struct kit_guard_block *block = memory_bytes(sizeof *block);
    unsigned char *end = (unsigned char *)raw + whole - page;
    unsigned char *payload = (unsigned char *)raw + page;
    if (at_end) {
        payload = end - bytes;
        payload -= (uintptr_t)payload % align;
    } else {
        payload += (unit - (uintptr_t)payload % unit) % unit;
    }
    *block = (struct kit_guard_block){.payload = payload, .raw = raw, .raw_bytes = whole};
    memset(raw, CANARY_PATTERN, whole);
    (void)mprotect(raw, page, PROT_NONE);
    (void)mprotect(end, page, PROT_NONE);
    return block;
}

static void let_go(struct kit_guard *guard, struct kit_guard_block *block)
{
    if (block->prev != NULL) {
        block->prev->next = block->next;
    } else {
        guard->first = block->next;
    }
    if (block->next != NULL) {
        block->next->prev = block->prev;
    }
    guard->raw_bytes -= block->raw_bytes + MALLOC_BYTES;
    unpoison(block->raw, block->raw_bytes);
    if (guard->place == KIT_GUARD_CANARIES) {
        free(block->raw);
    } else {
        (void)munmap(block->raw, block->raw_bytes);
        free(block);
    }
}

static void *give(struct kit_guard *guard, size_t bytes, size_t align)
{
    struct kit_guard_block *block =
        guard->place == KIT_GUARD_CANARIES
            ? give_between_canaries(bytes, align)
            : give_between_pages(bytes, align, guard->place == KIT_GUARD_PAGE_BEHIND);
    if (block == NULL) {
        return NULL;
    }
    block->owner = guard;
    block->next = guard->first;
    block->bytes = bytes;
    block->align = align;
    block->number = guard->allocations;
    block->during = guard->during != NULL ? guard->during(guard->report_ctx) : NULL;
    if (guard->first != NULL) {
        guard->first->prev = block;
    }
    guard->first = block;
    memset(block->payload, guard->fresh, bytes);
    /* For valgrind, its contents are undefined again. */
    (void)VALGRIND_MAKE_MEM_UNDEFINED(block->payload, bytes);
    if (guard->place == KIT_GUARD_CANARIES) {
        poison(block->payload - CANARY_BYTES, CANARY_BYTES);
        poison(block->payload + bytes, CANARY_BYTES);
    }
    guard->raw_bytes += block->raw_bytes + MALLOC_BYTES;
    guard->bytes += bytes;
    guard->blocks++;
    return block->payload;
}

static void take_back(struct kit_guard *guard, struct kit_guard_block *block)
{
    struct kit_guard_block **place = &guard->quarantine[guard->quarantine_at];
    /* Before any change, since a report need not return. */
    check_block(guard, block);
    if (*place != NULL) {
        check_block(guard, *place);
    }
    guard->bytes -= block->bytes;
    guard->blocks--;
    block->freed = true;
    if (guard->place != KIT_GUARD_CANARIES) {
        (void)mprotect(block->raw, block->raw_bytes, PROT_NONE);
    } else if (block->bytes > QUARANTINE_BYTES) {
        let_go(guard, block);
        return;
    } else {
        memset(block->payload, FREED_PATTERN, block->bytes);
        poison(block->payload, block->bytes);
    }
    guard->quarantine_at = (guard->quarantine_at + 1) % KIT_GUARD_QUARANTINE;
    if (*place != NULL) {
        let_go(guard, *place);
    }
    *place = block;
}

/* Return the block that begins at `at` or, `within`, has it on its pages; NULL if there is none. */
static struct kit_guard_block *find_block(const struct kit_guard *guard, const void *at,
                                          bool within)
{
    struct kit_guard_block *block = guard->first;
    while (block != NULL && block->payload != at &&
           !(within && (uintptr_t)at - (uintptr_t)block->raw < block->raw_bytes)) {
        block = block->next;
    }
    return block;
}

/* Return the block that is given back as one of these bytes. It is identified by its header or,
 * where that may be a protected page, by a search. */
static struct kit_guard_block *block_of(struct kit_guard *guard, void *ptr, size_t bytes,
                                        size_t align)
{
    struct kit_guard_block *block =
        guard->place == KIT_GUARD_CANARIES ? header_of(ptr) : find_block(guard, ptr, false);
    char text[BLOCK_TEXT_BYTES];
    if (block == NULL || block->payload != ptr) {
        report(guard, "gave back memory that the allocator never gave out");
    }
    if (block->freed) {
        report(guard, "gave back twice %s", block_text(block, text));
    }
    if (block->owner != guard) {
        report(guard, "freed a block that belongs to another structure, %s",
               block_text(block, text));
    }
    if (block->bytes != bytes) {
        report(guard, "gave back as one of %zu bytes %s", bytes, block_text(block, text));
    }
    if (block->align != align) {
        report(guard, "freed with alignment %zu a block that was allocated with alignment %zu, %s",
               align, block->align, block_text(block, text));
    }
    return block;
}

/* Whether a request is granted. */
static bool grant(struct kit_guard *guard, size_t bytes, uint64_t more)
{
    guard->allocations++;
    bool beyond = guard->bytes > guard->limit_bytes || more > guard->limit_bytes - guard->bytes;
    if (guard->grants == 0 || bytes > guard->largest_bytes || beyond) {
        guard->refused++;
        return false;
    }
    guard->grants -= guard->grants != UINT64_MAX;
    return true;
}

static void *guard_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    struct kit_guard *guard = ctx;
    struct kit_guard_block *block = ptr != NULL ? block_of(guard, ptr, old_bytes, align) : NULL;
    size_t kept_bytes = block != NULL ? old_bytes : 0;
    unsigned char *fresh = NULL;
    if (new_bytes > 0 && (align == 0 || (align & (align - 1)) != 0)) {
        report(guard, "asked for %zu bytes aligned to %lld, which is no power of two", new_bytes,
               (long long)align);
    }
    if (new_bytes > kept_bytes && !grant(guard, new_bytes, new_bytes - kept_bytes)) {
        return NULL;
    }
    if (new_bytes > 0) {
        fresh = give(guard, new_bytes, align);
        if (fresh == NULL) { /* which is not the structure's fault */
            memory_end();
        }
        kept_bytes = kept_bytes < new_bytes ? kept_bytes : new_bytes;
        if (kept_bytes > 0) {
            memcpy(fresh, ptr, kept_bytes);
        }
    }
    if (block != NULL) {
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
        .largest_bytes = UINT64_MAX,
        .fresh = FRESH_PATTERN,
        .block_word = "a block",
        .freed_words = "memory it had freed",
        .report = report_fn,
        .report_ctx = report_ctx,
    };
}

void kit_guard_check(struct kit_guard *guard)
{
    for (struct kit_guard_block *block = guard->first; block != NULL; block = block->next) {
        check_block(guard, block);
    }
}

void kit_guard_release(struct kit_guard *guard)
{
    while (guard->first != NULL) {
        let_go(guard, guard->first);
    }
    memset(guard->quarantine, 0, sizeof guard->quarantine);
    guard->bytes = 0;
    guard->blocks = 0;
}

/* The sanitizers have their own malloc, unknown to mallinfo2. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): their name for it */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

uint64_t kit_heap_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL) {
        return __sanitizer_get_current_allocated_bytes();
    }
    struct mallinfo2 info = mallinfo2();
    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

/* --- protected pages -------------------------------------------------------------------------- */

/* Static, since a signal handler reads it: the first of the watched guards. */
static struct kit_guard *watched;

/* "read", or "wrote" where the processor says so. */
static const char *what_was_done(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *state = context;
    return (state->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "wrote" : "read";
#else
    (void)context;
    return "touched";
#endif
}

static void report_signal(int number, siginfo_t *info, void *context)
{
    for (struct kit_guard *guard = watched; guard != NULL; guard = guard->beside) {
        const struct kit_guard_block *block = find_block(guard, info->si_addr, true);
        if (block != NULL) {
            char text[BLOCK_TEXT_BYTES];
            const char *done = what_was_done(context);
            long long offset = (long long)((uintptr_t)info->si_addr - (uintptr_t)block->payload);
            report(guard, "%s %s, at offset %lld of %s", done,
                   block->freed ? guard->freed_words : "outside its memory", offset,
                   block_text(block, text));
        }
    }
    /* Not about this memory: let the default action end the process. */
    (void)signal(number, SIG_DFL);
}

void kit_guard_watch(struct kit_guard *guard)
{
    static unsigned char stack[65536];
    watched = guard;
    (void)sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = report_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigaction(SIGSEGV, &action, NULL);
    (void)sigaction(SIGBUS, &action, NULL);
}
