/* Cases: the source, the amount and the release of memory. */
#include "kit_script.h"

#include <inttypes.h>
#include <stdlib.h>

/* A smaller reserve never shrinks. */
static void grow(struct kit_subject *subject)
{
    for (uint64_t capacity = 1; capacity < 300; capacity += 1 + capacity / 4) {
        script_do(subject,
                  "reserve A; stop A-1; start A-1 in B; reserve A/2; inspect; churn 10 by one; "
                  "churn 10",
                  (const uint64_t[]){capacity, script_draw_delay(subject)});
    }
    script_settle(subject);
}

/* Every array is exactly full at some reserve. */
static void grow_when_full(struct kit_subject *subject)
{
    for (uint64_t capacity = 1; capacity < 300; capacity++) {
        script_do(subject, "reserve A; start A-1 in A+200", &capacity);
    }
    script_settle(subject);
}

void case_reserve_grows(struct kit_run *run)
{
    script_play(run, 0, 0, 900, 8, grow_when_full);
    script_play(run, 0, 0, 900, 8, grow);
}

void case_reserve_word(struct kit_run *run)
{
    static const uint64_t spans[] = {300, 70000, UINT64_C(1) << 40};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        script_each(run, 10, 0, &spans[i], 1,
                    "reserve 150; allow 0; start all; churn 300; start all; churn 300 by one; "
                    "start all; churn 300; start all");
    }
}

void case_allocation_failure(struct kit_run *run)
{
    struct kit_subject subject;
    bool opened = false;
    for (uint64_t grants = 0; grants < 500 && !opened && !run->witness->unavailable; grants++) {
        script_init(run, &subject);
        subject_allow(&subject, grants, 0);
        opened = subject_create(&subject, 6, 0, 0);
    }
    if (!opened) {
        return; /* options that are refused however much memory there is */
    }
    script_do(&subject,
              "start 0 in 1; start 1 in 10; start 2 in 63; start 3 in 256; start 4 in 512", NULL);
    bool reserved = false;
    for (uint64_t grants = 0; grants < 500 && !reserved; grants++) {
        subject_allow(&subject, grants, 0);
        reserved = subject_reserve(&subject, 90);
        subject_allow(&subject, 0, 0);
        script_do(&subject, "inspect; stop 5; start 2 in A",
                  &script_delays[grants % SCRIPT_DELAYS]);
    }
    /* Large requests are refused, small ones granted. */
    for (int64_t largest = 16; largest < 1 << 16; largest *= 2) {
        subject_allow(&subject, UINT64_MAX, largest);
        script_do(&subject, "reserve A; start 0-A in 500; inspect",
                  (const uint64_t[]){subject.capacity + 40});
    }
    subject_allow(&subject, UINT64_MAX, 0);
    for (uint32_t id = 0; id < subject.capacity; id++) {
        script_start(&subject, id, script_delays[id % SCRIPT_DELAYS]);
    }
    script_settle(&subject);
    script_close(&subject);
}

/* Fail if the process got more from malloc than the guard and the model did. */
static void check_in_sight(struct kit_subject *subject, uint64_t before, const char *after_what)
{
    enum { SLACK = 64 << 10 };
    uint64_t seen = subject->guard.raw_bytes + subject_model_bytes(subject);
    uint64_t after = kit_heap_bytes();
    if (after > before + seen + SLACK && !subject_can(subject, TL_CAP_OWN_MEMORY)) {
        kit_fail(subject->witness, FAULT_MEMORY,
                 "after %s, %" PRIu32 " timers have taken %" PRIu64
                 " bytes from the allocator, and about %" PRIu64 " more from elsewhere",
                 after_what, subject->capacity, subject->guard.bytes, after - before - seen);
    }
}

/* malloc counts freed blocks in a cache per thread, a few of each size up to about 1 KiB, as in
 * use. How many there are depends on addresses. Fill the cache, so that only leaks change the
 * count. */
static void fill_thread_cache(void)
{
    enum { EACH = 16, STEP = 16, BYTES_MAX = 65 * STEP };
    void *volatile blocks[EACH];
    for (size_t bytes = STEP; bytes <= BYTES_MAX; bytes += STEP) {
        for (unsigned i = 0; i < EACH; i++) {
            blocks[i] = malloc(bytes - 8);
        }
        for (unsigned i = 0; i < EACH; i++) {
            free(blocks[i]);
        }
    }
}

void case_memory_in_sight(struct kit_run *run)
{
    /* Their memory exceeds the tolerance if it does not come from the allocator. */
    enum { MANY = 60000, LIVES = 1200, SETTLED = 200, SLACK = 8 << 10 };
    struct kit_subject subject;
    uint64_t before = kit_heap_bytes();
    if (!script_open(run, &subject, MANY, 0)) {
        return;
    }
    check_in_sight(&subject, before, "create");
    if (subject.guard.bytes < MANY) {
        kit_fail(run->witness, FAULT_MEMORY,
                 "create for %d timers took only %" PRIu64
                 " bytes from the allocator: its memory is elsewhere",
                 MANY, subject.guard.bytes);
    }
    struct script_time time = script_time(run, 0.3);
    for (uint64_t id = 0; id < MANY && script_has_time(&time); id += 100) {
        script_do(&subject, "start A-B in C; start A-B every 4 in D",
                  (const uint64_t[]){id, id + 99, 10 + id / 16, 70 + id / 32});
    }
    check_in_sight(&subject, before, "starting them");
    script_do(&subject, "stop 0-59999 every 3; advance by 60; advance by 4000", NULL);
    check_in_sight(&subject, before, "stops and expiries");
    subject_destroy(&subject);
    /* Leaks outside the allocator add up. */
    for (unsigned i = 0; i < LIVES; i++) {
        if (i == SETTLED) {
            fill_thread_cache();
            before = kit_heap_bytes();
        }
        if (script_open(run, &subject, 4, 0)) {
            script_do(&subject,
                      "start 0 in 1; start 1 in 2; start 2 in 3; start 3 in 4; start 0 in 100; "
                      "stop 1; advance by 3; reserve 6; start 1 in 2000; advance by 200",
                      NULL);
            subject_destroy(&subject);
        }
    }
    fill_thread_cache();
    uint64_t after = kit_heap_bytes();
    if (after > before + SLACK) {
        kit_fail(run->witness, FAULT_LEAK,
                 "%d structures made and destroyed leaked %" PRIu64
                 " bytes that did not come from the allocator",
                 LIVES - SETTLED, after - before);
    }
}

/* --- the surroundings of its memory ----------------------------------------------------------- */

/* Execute every hook. Between protected pages a block costs system calls, so there are few
 * operations, at sizes that end at the page exactly and at others. */
static void use_all_hooks(struct kit_run *run, enum kit_guard_place place, uint32_t capacity)
{
    struct kit_subject subject;
    run->place = place;
    if (!script_open(run, &subject, capacity, 7)) {
        return;
    }
    script_traffic(&subject, 900, capacity);
    for (uint32_t id = capacity; id-- > 0;) {
        script_start(&subject, id, script_draw_delay(&subject));
        subject_check_memory(&subject);
    }
    script_do(&subject,
              "churn 60; reserve A+1; start A in 64; reserve B+1; start 0-B in 30; "
              "churn 60 by one; stop 0-B every 2; inspect; settle; start all",
              (const uint64_t[]){capacity, 3 * capacity + 4});
    subject_destroy(&subject);
}

/* Every id of small capacities, the first and the last above all. */
void case_memory_guard(struct kit_run *run)
{
    for (uint32_t capacity = 1; capacity <= 33; capacity++) {
        use_all_hooks(run, KIT_GUARD_CANARIES, capacity);
    }
}

void case_memory_pages(struct kit_run *run)
{
    static const uint32_t capacities[] = {1, 2, 7, 16, 33, 64, 100, 512};
    size_t count = script_is_default(run) ? LENGTH(capacities) : 2;
    for (size_t i = 0; i < count; i++) {
        use_all_hooks(run, KIT_GUARD_PAGE_BEHIND, capacities[i]);
        use_all_hooks(run, KIT_GUARD_PAGE_BEFORE, capacities[i]);
    }
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* Use the last timer of a structure that reported room for an impossible number of timers. The
 * model has no room for it. */
static void use_the_last(struct kit_subject *subject, uint32_t capacity)
{
    uint32_t last = capacity - 1;
    kit_enter(subject, KIT_HOOK_STOP, last, 0);
    (void)subject->algo->stop(subject->self, last);
    kit_enter(subject, KIT_HOOK_START, last, 10);
    (void)subject->algo->start(subject->self, last, subject->clock + 10);
    kit_guard_check(&subject->guard);
    kit_enter(subject, KIT_HOOK_STOP, last, 0);
    if (subject->algo->stop(subject->self, last) != TL_OK) {
        kit_fail(subject->witness, FAULT_STATUS,
                 "timer %" PRIu32 ", started after reserve reported room for %" PRIu32
                 " timers, is not pending",
                 last, capacity);
    }
}

/* Capacities of which the bytes just exceed 32 bits, for timers of 4 to 96 bytes. */
void case_memory_sizes(struct kit_run *run)
{
    static const uint32_t timer_bytes[] = {4,  8,  12, 16, 20, 24, 28, 32,
                                           36, 40, 48, 56, 64, 72, 80, 96};
    enum { LITTLE = 16 << 20 };
    for (size_t i = 0; i < LENGTH(timer_bytes); i++) {
        uint32_t capacity = (uint32_t)((UINT64_C(1) << 32) / timer_bytes[i]) + 2;
        struct kit_subject subject;
        subject_init(&subject, run->algo, run->options, LITTLE, run->witness);
        kit_guard_watch(&subject.guard);
        if (!subject_create(&subject, 4, 0, 0)) {
            return;
        }
        script_start(&subject, 3, 20);
        kit_enter(&subject, KIT_HOOK_RESERVE, capacity, 0);
        enum tl_status status = subject.algo->reserve(subject.self, capacity);
        if (status == TL_OK) {
            use_the_last(&subject, capacity);
        } else if (status != TL_ERR_NOMEM && status != TL_ERR_CAPACITY) {
            kit_fail(run->witness, FAULT_STATUS,
                     "reserve(%" PRIu32 ") where there is no memory for it returned %s", capacity,
                     tl_status_name(status));
        }
        script_settle(&subject);
        subject_destroy(&subject);
    }
}

/* Restart few timers often: far, near, stopped, drawn. */
enum { FEW = 32, ROUNDS = 20000, AGES = 4, FAR = 50000 };

static void restart_often(struct kit_subject *subject)
{
    static const char *const lists[] = {"start A in B", "start A in C", "stop A", "start A in D"};
    for (unsigned i = 0; i < ROUNDS; i++) {
        const char *list = lists[i / FEW % LENGTH(lists)];
        uint64_t drawn = i / FEW % 4 == 3 ? script_draw_delay(subject) : 0;
        script_do(subject, list, (const uint64_t[]){i % FEW, FAR + i % 1000, 1 + i % 90, drawn});
        if (i % 512 == 0) {
            script_advance(subject, subject->clock + 1);
        }
    }
}

static bool is_more(uint64_t bytes, uint64_t than_bytes)
{
    return bytes > 2 * than_bytes + (64 << 10);
}

/* Stale entries may stay until their due ticks, as in a heap with lazy deletion: that is a remark.
 * Later they must be gone. */
static void restart_for_ever(struct kit_subject *subject)
{
    uint64_t reserved = subject->guard.bytes;
    uint64_t first = 0;
    for (unsigned age = 0; age < AGES; age++) {
        restart_often(subject);
        uint64_t bytes = subject->guard.bytes;
        first = age == 0 ? bytes : first;
        if (is_more(bytes, first)) {
            kit_fail(subject->witness, FAULT_MEMORY,
                     "%d timers took %" PRIu64 " bytes after %d operations, and %" PRIu64
                     " after %d, though nothing of the former was still to be due: restarts and "
                     "stops pile up",
                     FEW, first, ROUNDS, bytes, (int)(age + 1) * ROUNDS);
        }
        script_settle(subject);
        script_advance(subject, subject->clock + 2 * FAR);
    }
    if (is_more(first, reserved)) {
        kit_note(subject->witness,
                 "restarts and stops pile up until their ticks have passed: %" PRIu64
                 " bytes for %d timers, %d operations after %" PRIu64,
                 first, FEW, ROUNDS, reserved);
    }
}

void case_memory_bounded(struct kit_run *run)
{
    script_play(run, FEW, 0, 60000, 4, restart_for_ever);
}
