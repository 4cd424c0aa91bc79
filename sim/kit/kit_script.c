#include "kit_script.h"

#include "clock.h"
#include "kit_play.h"
#include "memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

const uint64_t script_epochs[SCRIPT_EPOCHS] = {
    0, 1, 2, 9, 63, 64, 255, 511, 1000, 99999, UINT64_C(0xffffffff), UINT64_C(1) << 40};

const uint64_t script_delays[SCRIPT_DELAYS] = {
    1,   2,   3,   4,   7,   9,   10,  11,  19,  20,  21,   60,   63,   64,   65,   99,   100,  101,
    255, 256, 257, 399, 400, 401, 511, 512, 513, 999, 1000, 1023, 1024, 4095, 4096, 8000, 70000};

#define POWERS_OF_8(n)                                                                             \
    UINT64_C(1) << (n), UINT64_C(2) << (n), UINT64_C(4) << (n), UINT64_C(8) << (n),                \
        UINT64_C(16) << (n), UINT64_C(32) << (n), UINT64_C(64) << (n), UINT64_C(128) << (n)
const uint64_t script_powers[64] = {POWERS_OF_8(0),  POWERS_OF_8(8),  POWERS_OF_8(16),
                                    POWERS_OF_8(24), POWERS_OF_8(32), POWERS_OF_8(40),
                                    POWERS_OF_8(48), POWERS_OF_8(56)};

bool script_is_default(const struct kit_run *run)
{
    return memcmp(run->options, run->target->options, sizeof run->options) == 0;
}

uint32_t script_drawn(const struct kit_run *run, uint32_t least, uint32_t most)
{
    uint64_t state = run->target->seed + least;
    return least + (uint32_t)(kit_random(&state) % ((uint64_t)most - least + 1));
}

void script_init(struct kit_run *run, struct kit_subject *subject)
{
    uint64_t limit_bytes = script_is_default(run) ? run->limit_bytes : SCRIPT_VARIANT_BYTES;
    subject_init(subject, run->algo, run->options, limit_bytes, run->witness);
    subject->layout = run->layout;
    subject->guard.place = run->place;
    if (run->place != KIT_GUARD_CANARIES) {
        kit_guard_watch(&subject->guard);
    }
}

bool script_open_announced(struct kit_run *run, struct kit_subject *subject, uint32_t capacity,
                           uint64_t now, uint64_t max_delay_ticks)
{
    script_init(run, subject);
    bool opened = subject_create(subject, capacity, now, max_delay_ticks);
    if (!opened && !run->witness->unavailable && script_is_default(run) &&
        run->place == KIT_GUARD_CANARIES) { /* between pages, memory may be short */
        kit_fail(run->witness, FAULT_STATUS,
                 "create for %" PRIu32 " timers at clock %" PRIu64 ", longest delay %" PRIu64
                 ", refuses these options (with %" PRIu64 " bytes to be had)",
                 capacity, now, max_delay_ticks, run->limit_bytes);
    }
    return opened;
}

bool script_open(struct kit_run *run, struct kit_subject *subject, uint32_t capacity, uint64_t now)
{
    return script_open_announced(run, subject, capacity, now, 0);
}

void script_close(struct kit_subject *subject)
{
    subject->on_fire = NULL;
    subject_inspect(subject);
    subject_drain(subject);
    subject_inspect(subject);
    subject_destroy(subject);
}

unsigned script_thrift(const struct kit_subject *subject)
{
    uint64_t parts = subject->guard.bytes / (128 << 10);
    return parts < 15 ? 1 + (unsigned)parts * 2 : 31;
}

void script_advance(struct kit_subject *subject, uint64_t now)
{
    (void)subject_advance(subject, now > subject->clock ? now : subject->clock, TL_NO_BUDGET);
    subject->witness->operations++;
}

void script_start(struct kit_subject *subject, uint32_t id, uint64_t delay_ticks)
{
    (void)subject_start(subject, id, due_deadline(subject->clock, delay_ticks));
    subject->witness->operations++;
}

void script_stop(struct kit_subject *subject, uint32_t id)
{
    (void)subject_stop(subject, id);
    subject->witness->operations++;
}

/* The nearest due tick that is ahead of the clock; 0 if there is none. */
static uint64_t nearest_due(const struct kit_subject *subject)
{
    uint64_t nearest = 0;
    for (uint32_t id = 0; id < subject->usable; id++) {
        const struct kit_timer *timer = &subject->timers[id];
        if (timer->state == KIT_TIMER_PENDING && timer->due > subject->clock &&
            (nearest == 0 || timer->due < nearest)) {
            nearest = timer->due;
        }
    }
    return nearest;
}

void script_settle(struct kit_subject *subject)
{
    for (uint64_t due = nearest_due(subject); due != 0; due = nearest_due(subject)) {
        if (due - 1 > subject->clock) {
            script_advance(subject, due - 1);
        }
        script_advance(subject, due);
    }
    script_advance(subject, subject->clock + 1);
    subject_drain(subject);
}

struct script_time script_time(const struct kit_run *run, double share)
{
    double ns = run->patience_seconds * share * 1e9;
    return (struct script_time){.until_ns = clock_processor_ns() + (uint64_t)ns};
}

bool script_has_time(struct script_time *time)
{
    time->is_over = time->is_over || clock_processor_ns() > time->until_ns;
    return !time->is_over;
}

bool script_goes_on(struct script_time *time, uint64_t i)
{
    return i % 1024 == 1023 ? script_has_time(time) : !time->is_over;
}

/* --- lists of operations --------------------------------------------------------------------- */

static bool skip(const char **at, const char *word)
{
    size_t length = strlen(word);
    bool is_there = strncmp(*at, word, length) == 0;
    *at += is_there ? length : 0;
    return is_there;
}

static bool do_operation(struct kit_subject *subject, const char **at, const uint64_t *numbers)
{
    struct kit_op op;
    uint64_t steps = 0;
    if (skip(at, "settle")) {
        script_settle(subject);
    } else if (skip(at, "next")) {
        (void)subject_next(subject);
    } else if (skip(at, "draw")) {
        script_draw_operation(subject);
    } else if (skip(at, "start all")) {
        for (uint32_t id = 0; id < subject->capacity; id++) {
            script_start(subject, id, script_draw_delay(subject));
        }
    } else if (skip(at, "churn ") && kit_number_read(at, numbers, &steps)) {
        script_churn(subject, (unsigned)steps, skip(at, " by one") ? BY_ONE : IRREGULARLY);
    } else if (!kit_op_read(at, numbers, &op)) {
        return false;
    } else if (kit_op_timers(&op) == 0 || op.id < subject->capacity) {
        bool is_range = kit_op_timers(&op) > 0 && op.last >= subject->capacity;
        op.last = is_range ? subject->capacity - 1 : op.last;
        kit_do(subject, &op);
    }
    return true;
}

/* Execute a list up to its end, or to the end of a group; return where that is. */
static const char *do_list(struct kit_subject *subject, const char *at, const uint64_t *numbers)
{
    while (*at != '\0' && *at != ')') {
        bool repeats = isdigit((unsigned char)*at) || isupper((unsigned char)*at);
        uint64_t times = 1;
        bool is_right = !repeats || (kit_number_read(&at, numbers, &times) && skip(&at, " times "));
        const char *begin = at;
        for (uint64_t i = 0; i < times && is_right; i++) {
            at = begin;
            if (skip(&at, "(")) {
                at = do_list(subject, at, numbers);
                is_right = skip(&at, ")");
            } else {
                is_right = do_operation(subject, &at, numbers);
            }
        }
        if (!is_right || (!skip(&at, "; ") && *at != '\0' && *at != ')')) {
            kit_fail(subject->witness, FAULT_HARNESS, "this is no operation: '%s'", begin);
        }
    }
    return at;
}

void script_do(struct kit_subject *subject, const char *list, const uint64_t *numbers)
{
    (void)do_list(subject, list, numbers);
}

void script_each(struct kit_run *run, uint32_t capacity, uint64_t now, const uint64_t *values,
                 size_t count, const char *list)
{
    struct kit_subject subject;
    if (!script_open(run, &subject, capacity, now)) {
        return;
    }
    size_t others = strchr(list, 'B') != NULL ? count : 1;
    size_t times = count * others;
    for (size_t i = 0; i < times; i++) {
        script_traffic(&subject, values[i / others], i);
        script_do(&subject, list,
                  (const uint64_t[]){values[i / others], values[i % others], i, times - 1 - i});
    }
    script_settle(&subject);
    script_close(&subject);
}

/* --- random traffic --------------------------------------------------------------------------- */

void script_traffic(struct kit_subject *subject, uint64_t span, uint64_t seed)
{
    struct traffic *traffic = subject->traffic;
    traffic = traffic != NULL ? traffic : memory_new(1, sizeof *traffic);
    traffic->random = seed;
    traffic->span = span;
    traffic->boundary_count = 0;
    subject->traffic = traffic;
}

uint64_t script_draw_delay(const struct kit_subject *subject)
{
    struct traffic *traffic = subject->traffic;
    uint64_t random = kit_random(&traffic->random);
    uint64_t more = random >> 8;
    if (traffic->boundary_count == 0) {
        traffic->boundary_count =
            kit_boundaries(subject->algo, subject->options, traffic->span, traffic->boundaries);
    }
    uint64_t boundary = traffic->boundaries[more % traffic->boundary_count];
    switch (random % 8) {
    case 0:
        return more % 4;
    case 1:
    case 2:
        return more % (traffic->span / 16 + 1);
    case 3:
    case 4:
        return more % (traffic->span + 1);
    case 5:
        return boundary > 0 ? boundary - subject->clock % boundary : 0;
    default:
        return boundary;
    }
}

void script_draw_operation(struct kit_subject *subject)
{
    uint64_t random = kit_random(&subject->traffic->random);
    uint32_t id = (uint32_t)(random >> 32) % subject->capacity;
    if (random % 8 < 6) {
        script_start(subject, id, script_draw_delay(subject));
    } else {
        script_stop(subject, id);
    }
}

void script_churn(struct kit_subject *subject, unsigned steps, enum pace pace)
{
    for (unsigned i = 0; i < steps; i++) {
        if (subject->capacity > 0) {
            script_draw_operation(subject);
        }
        uint64_t random = kit_random(&subject->traffic->random);
        uint64_t step = 1;
        if (pace == IRREGULARLY) {
            step = random % 4 == 0   ? (random >> 8) % (subject->traffic->span + 1)
                   : random % 4 == 1 ? 0
                                     : (random >> 8) % 20;
        }
        script_advance(subject, subject->clock + step);
    }
}

void script_play(struct kit_run *run, uint32_t capacity, uint64_t now, uint64_t span, uint64_t seed,
                 script_fn *body)
{
    struct kit_subject subject;
    if (script_open(run, &subject, capacity, now)) {
        script_traffic(&subject, span, seed);
        body(&subject);
        script_close(&subject);
    }
}
