/* Cases: where memory comes from, how much, and where it goes. */
#include "kit_cases.h"
#include "kit_script.h"

#include <inttypes.h>
#include <malloc.h>

static void grow(struct kit_subject *subject, struct traffic *traffic)
{
    for (uint32_t capacity = 1; capacity < 300; capacity += 1 + capacity / 4) {
        if (!subject_reserve(subject, capacity)) {
            break;
        }
        script_stop(subject, capacity - 1);
        script_start(subject, capacity - 1, script_draw_delay(traffic, subject->clock));
        (void)subject_reserve(subject, capacity / 2); /* never shrinks */
        subject_inspect(subject);
        script_churn(traffic, subject, 20, capacity % 2 == 0 ? BY_ONE : IRREGULARLY);
    }
    script_settle(subject);
}

void case_reserve_grows(struct kit_run *run)
{
    (void)script_play(run, 0, 0, 900, 8, grow);
}

void case_reserve_word(struct kit_run *run)
{
    enum { MANY = 150 };
    static const uint64_t spans[] = {300, 70000, UINT64_C(1) << 40};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        script_traffic(&traffic, run, spans[i], i);
        struct kit_subject subject;
        if (!script_open(run, &subject, 10, 0)) {
            return;
        }
        if (!subject_reserve(&subject, MANY)) {
            subject_destroy(&subject);
            continue;
        }
        subject_allow(&subject, 0);
        script_draw_starts(&traffic, &subject, MANY);
        for (unsigned k = 0; k < 3; k++) {
            script_churn(&traffic, &subject, 300, k % 2 == 0 ? IRREGULARLY : BY_ONE);
            script_draw_starts(&traffic, &subject, MANY);
        }
        script_close(&subject);
    }
}

static void visit_every_hook(struct kit_subject *subject, struct traffic *traffic)
{
    script_draw_starts(traffic, subject, 64);
    script_churn(traffic, subject, 2000, IRREGULARLY);
}

void case_no_allocation(struct kit_run *run)
{
    /* The judge watches the allocator in every case; this one visits every hook. */
    if ((run->algo->capabilities & TL_CAP_ALLOCATES) == 0) {
        (void)script_play(run, 64, 0, 5000, 2, visit_every_hook);
    }
}

void case_allocation_failure(struct kit_run *run)
{
    struct kit_subject subject;
    bool opened = false;
    for (uint64_t grants = 0; grants < 500 && !opened; grants++) {
        subject_init(&subject, run->algo, run->options, script_limit_bytes(run), run->witness);
        subject_allow(&subject, grants);
        enum kit_opened how = subject_create(&subject, 6, 0, 0);
        opened = how == KIT_OPENED;
        if (!opened) {
            subject_discard(&subject);
        }
        if (how == KIT_UNAVAILABLE) {
            return;
        }
    }
    if (!opened) {
        return; /* options that are refused however much memory there is */
    }
    for (uint32_t id = 0; id < 5; id++) {
        script_start(&subject, id, script_delays[id * 6]);
    }
    bool reserved = false;
    for (uint64_t grants = 0; grants < 500 && !reserved; grants++) {
        subject_allow(&subject, grants);
        reserved = subject_reserve(&subject, 90);
        subject_allow(&subject, 0);
        subject_inspect(&subject);
        script_stop(&subject, 5);
        script_start(&subject, 2, script_delays[grants % SCRIPT_DELAYS]);
    }
    subject_allow(&subject, UINT64_MAX);
    for (uint32_t id = 0; id < subject.capacity; id++) {
        script_start(&subject, id, script_delays[id % SCRIPT_DELAYS]);
    }
    script_settle(&subject);
    script_close(&subject);
}

void case_memory_guard(struct kit_run *run)
{
    /* Every id of small capacities, the first and the last above all. */
    for (uint32_t capacity = 1; capacity <= 33; capacity++) {
        struct traffic traffic;
        script_traffic(&traffic, run, 2000, capacity);
        struct kit_subject subject;
        if (!script_open(run, &subject, capacity, 0)) {
            return;
        }
        for (uint32_t id = capacity; id-- > 0;) {
            script_start(&subject, id, script_draw_delay(&traffic, 0));
            kit_guard_check(&subject.guard);
        }
        script_churn(&traffic, &subject, 30, IRREGULARLY);
        kit_guard_check(&subject.guard);
        script_settle(&subject);
        script_start_all(&subject, capacity, 64);
        (void)subject_reserve(&subject, capacity + 1);
        script_start(&subject, capacity, 64);
        script_settle(&subject);
        script_close(&subject);
    }
}

/* The sanitizers bring a malloc of their own, which mallinfo2 knows nothing of. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): their name for it */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* What the process has by way of malloc. */
static uint64_t heap_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL) {
        return __sanitizer_get_current_allocated_bytes();
    }
    struct mallinfo2 info = mallinfo2();
    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

void case_memory_in_sight(struct kit_run *run)
{
    /* As many timers as would show, had their memory not come from the allocator. */
    enum { MANY = 60000, SLACK = 64 << 10 };
    struct kit_subject subject;
    uint64_t before = heap_bytes();
    if (!script_open(run, &subject, MANY, 0)) {
        return;
    }
    uint64_t seen =
        subject.guard.bytes + subject.guard.blocks * 4352 + subject_model_bytes(&subject);
    uint64_t after = heap_bytes();
    if (after > before + seen + SLACK) {
        kit_fail(run->witness, FAULT_MEMORY,
                 "create for %d timers took %" PRIu64
                 " bytes from the allocator, and about %" PRIu64 " more behind its back",
                 MANY, subject.guard.bytes, after - before - seen);
    }
    if (subject.guard.bytes < MANY) {
        kit_fail(run->witness, FAULT_MEMORY,
                 "create for %d timers took only %" PRIu64
                 " bytes from the allocator: its memory is elsewhere",
                 MANY, subject.guard.bytes);
    }
    subject_destroy(&subject);
    /* What create and destroy leave behind outside the allocator adds up. */
    for (unsigned i = 0; i < 1200; i++) {
        /* malloc keeps some freed blocks as if in use: no more of them after the first rounds. */
        before = i == 200 ? heap_bytes() : before;
        if (script_open(run, &subject, 4, 0)) {
            script_start(&subject, 1, 100);
            subject_destroy(&subject);
        }
    }
    after = heap_bytes();
    if (after > before + SLACK / 8) {
        kit_fail(run->witness, FAULT_LEAK,
                 "1000 structures made and destroyed left %" PRIu64
                 " bytes behind that did not come from the allocator",
                 after - before);
    }
}

/* The same few timers over and over: started far, pulled near, stopped, started again. */
enum { FEW = 32, ROUNDS = 20000 };

static void restart_for_ever(struct kit_subject *subject, struct traffic *traffic)
{
    uint64_t settled = 0;
    for (unsigned i = 0; i < 4 * ROUNDS; i++) {
        uint32_t id = i % FEW;
        switch (i / FEW % 4) {
        case 0:
            script_start(subject, id, 50000 + i % 1000);
            break;
        case 1:
            script_start(subject, id, 1 + i % 90);
            break;
        case 2:
            script_stop(subject, id);
            break;
        default:
            script_start(subject, id, script_draw_delay(traffic, subject->clock));
        }
        if (i % 512 == 0) {
            script_advance(subject, subject->clock + 1);
        }
        if (i == ROUNDS) {
            settled = subject->guard.bytes;
        }
    }
    if (subject->guard.bytes > 2 * settled + (64 << 10)) {
        kit_fail(subject->witness, FAULT_MEMORY,
                 "%d timers took %" PRIu64 " bytes after %d operations, and %" PRIu64
                 " after %d: restarts and stops pile up",
                 FEW, settled, ROUNDS, subject->guard.bytes, 4 * ROUNDS);
    }
}

void case_memory_bounded(struct kit_run *run)
{
    (void)script_play(run, FEW, 0, 60000, 4, restart_for_ever);
}
