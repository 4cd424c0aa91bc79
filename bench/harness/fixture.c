/*
 * A fixture holds the structure and the memory of a row that is being measured. The structure is
 * created before the row's first operation and kept warm, so neither page faults nor growth are
 * timed.
 */
#include "suite.h"

#include "child.h"
#include "floor.h"
#include "memory.h"
#include "stretch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

uint64_t min_time_ns(const struct fixture *fixture)
{
    return (uint64_t)(fixture->row->of->selection->min_time_s * 1e9);
}

uint64_t rounds_of(const struct fixture *fixture, uint64_t operations)
{
    return fixture->slow ? 1 : workload_rounds(operations);
}

bool fail(struct fixture *fixture, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fixture->error, sizeof fixture->error, format, arguments);
    va_end(arguments);
    return false;
}

bool leave_out(struct fixture *fixture, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fixture->error, sizeof fixture->error, format, arguments);
    va_end(arguments);
    fixture->left_out = true;
    return false;
}

bool has_patience(const struct fixture *fixture)
{
    child_alive();
    return cpu_now_ns() < fixture->patience_end_ns;
}

bool still_patient(struct fixture *fixture)
{
    if (has_patience(fixture)) {
        return true;
    }
    fixture->row->given_up = true;
    return leave_out(fixture, "preparing it lasts longer than %g s; --patience=S waits longer",
                     fixture->row->of->selection->patience_s);
}

void on_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct fired *fired = ctx;
    fired->count++;
    fired->ids += id;
    fired->checksum += workload_mix(id, now - fired->base);
}

void reset_fired(struct fixture *fixture)
{
    fixture->fired = (struct fired){.base = fixture->clock};
}

/* --- verification, never timed --------------------------------------------------------------- */

bool verify_pending(struct fixture *fixture, uint64_t pending)
{
    uint64_t count = fixture->algo->count(fixture->self);
    if (fixture->fires && !floor_is(fixture->algo) && count != pending) {
        return fail(fixture, "%" PRIu64 " timers are pending where %" PRIu64 " should be", count,
                    pending);
    }
    return true;
}

bool verify_started(struct fixture *fixture, uint64_t pending)
{
    if (tl_status_is_refusal(fixture->failure)) {
        return leave_out(fixture, "start: %s (%s)", tl_status_text(fixture->failure),
                         tl_status_name(fixture->failure));
    }
    if (fixture->failure != TL_OK) {
        return fail(fixture, "start: %s (%s)", tl_status_text(fixture->failure),
                    tl_status_name(fixture->failure));
    }
    return !fixture->exact || verify_pending(fixture, pending);
}

static bool verify_set(struct fixture *fixture, const struct workload_expected *expected)
{
    const struct fired *fired = &fixture->fired;
    if (fired->count != expected->count) {
        return fail(fixture, "%" PRIu64 " of %" PRIu64 " timers fired", fired->count,
                    expected->count);
    }
    if (fired->ids != expected->ids) {
        return fail(fixture, "the timers that fired are not those that were to");
    }
    if (fixture->exact && fired->checksum != expected->checksum) {
        return fail(fixture, "the ticks at which timers fired are not those at which they are due");
    }
    return true;
}

bool verify_drained(struct fixture *fixture, const struct workload_expected *expected)
{
    return !fixture->fires || verify_set(fixture, expected);
}

bool verify_fired(struct fixture *fixture, const struct workload_expected *expected)
{
    return !fixture->fires || !fixture->exact || floor_is(fixture->algo) ||
           verify_set(fixture, expected);
}

bool verify_nothing_fired(struct fixture *fixture)
{
    if (fixture->exact && fixture->fired.count != 0) {
        return fail(fixture, "%" PRIu64 " timers fired where none was due", fixture->fired.count);
    }
    return true;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The process's heap asks for huge pages where they pay; this takes the request back. */
static void *small_pages_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes,
                                size_t align)
{
    static const size_t page_bytes = 4096;
    const struct tl_allocator *below = tl_system_allocator();
    (void)ctx;
    void *fresh = below->resize(below->ctx, ptr, old_bytes, new_bytes, align);
    if (fresh != NULL && (uintptr_t)fresh % page_bytes == 0) {
        (void)madvise(fresh, new_bytes, MADV_NOHUGEPAGE);
    }
    return fresh;
}

static const struct tl_allocator *allocator_of(const struct bench_row *row)
{
    static const struct tl_allocator small_pages = {NULL, small_pages_resize};
    return row->shape.at[AXIS_PAGES] == PAGES_SMALL ? &small_pages : tl_system_allocator();
}

/* --- fixtures -------------------------------------------------------------------------------- */

/* Determine the structure's precision for the delays that are used here: every short one, and of
 * the long ones the powers of two. */
static void read_promises(struct fixture *fixture)
{
    static const uint64_t short_ticks = 1 << 16;
    fixture->fires = (fixture->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    fixture->slow = (fixture->algo->capabilities & TL_CAP_SLOW) != 0;
    fixture->exact = true;
    for (uint64_t delay_ticks = 1; delay_ticks <= fixture->max_delay_ticks;
         delay_ticks = delay_ticks < short_ticks ? delay_ticks + 1 : 2 * delay_ticks) {
        struct tl_precision precision =
            tl_algo_precision(fixture->algo, fixture->row->subject->options, delay_ticks);
        fixture->exact = fixture->exact && precision.early_ticks == 0 && precision.late_ticks == 0;
        if (precision.late_ticks > fixture->late_ticks) {
            fixture->late_ticks = precision.late_ticks;
        }
    }
}

static unsigned char *make_lines(size_t bytes)
{
    if (bytes == 0) {
        return NULL;
    }
    unsigned char *lines = memory_made(tl_alloc(tl_system_allocator(), bytes, RECORD_LINE_BYTES));
    memset(lines, 0, bytes);
    return lines;
}

/* The connections' records, and whether the structure's own bytes lie in them. */
static bool make_records(struct fixture *fixture)
{
    const uint64_t *at = fixture->row->shape.at;
    const struct suite_subject *subject = fixture->row->subject;
    size_t bytes = at[AXIS_RECORD];
    const struct tl_algo *in_records = subject->in_records;
    /* The counters that are touched: the first eight bytes, and in long ones the last. */
    size_t counters = bytes > RECORD_LINE_BYTES ? 16 : 8;
    bool fits = in_records != NULL && in_records->embedded_bytes + counters <= bytes;
    fixture->record_bytes = bytes;
    fixture->node_in = at[AXIS_NODE] != NODE_OUT && fits;
    if (at[AXIS_NODE] == NODE_IN && !fits && fixture->fires && !floor_is(fixture->algo)) {
        return in_records == NULL ? leave_out(fixture, "it keeps its timers in memory of its own")
                                  : leave_out(fixture,
                                              "its %zu bytes of a timer and the counters do not "
                                              "fit in a record of %zu; --record=BYTES has it "
                                              "longer",
                                              in_records->embedded_bytes, bytes);
    }
    if (fixture->node_in) {
        fixture->algo = in_records;
    }
    fixture->records = make_lines(bytes * fixture->ids);
    return true;
}

/* A structure that is not available, or not for such long delays, has not failed. */
static bool refuse_create(struct fixture *fixture, enum tl_status status)
{
    if (status == TL_ERR_NOMEM && fixture->memory_limit_bytes != UINT64_MAX) {
        return leave_out(fixture,
                         "%" PRIu32 " timers of %" PRIu64 " ticks take more than %" PRIu64 " MiB",
                         fixture->ids, fixture->max_delay_ticks, fixture->memory_limit_bytes >> 20);
    }
    if (status == TL_ERR_OPTION && fixture->scale > 1) {
        return leave_out(fixture, "its options have no values for delays of %" PRIu64 " ticks",
                         fixture->max_delay_ticks);
    }
    if (status == TL_ERR_UNAVAILABLE || status == TL_ERR_CAPACITY) {
        return leave_out(fixture, "%s (%s)", tl_status_text(status), tl_status_name(status));
    }
    return fail(fixture, "create: %s (%s)", tl_status_text(status), tl_status_name(status));
}

enum tl_status fixture_create(struct fixture *fixture, uint32_t capacity,
                              const struct tl_allocator *allocator)
{
    struct tl_records records = {.base = fixture->records,
                                 .stride_bytes = fixture->record_bytes,
                                 .offset_bytes = RECORD_NODE_AT};
    struct tl_config config = {
        .capacity = capacity,
        .max_delay_ticks = fixture->max_delay_ticks,
        .options = fixture->row->subject->options,
        .allocator = allocator,
        .records = fixture->node_in ? &records : NULL,
    };
    enum tl_status status = fixture->algo->create(&config, &fixture->self);
    fixture->self = status == TL_OK ? fixture->self : NULL;
    return status;
}

bool fixture_plan(struct fixture *fixture, struct bench_row *row)
{
    if (!fixture->warm) {
        *fixture = (struct fixture){
            .row = row,
            .algo = row->subject->algo,
            .memory_limit_bytes = UINT64_MAX,
            .scale = 1,
        };
    }
    bool planned = row->suite->plan(fixture);
    /* The operations are made once for all: that is not the structure's time. */
    fixture->patience_end_ns = cpu_now_ns() + (uint64_t)(row->of->selection->patience_s * 1e9);
    return planned;
}

bool fixture_make(struct fixture *fixture, struct bench_row *row)
{
    if (!fixture_plan(fixture, row)) {
        return false;
    }
    if (fixture->warm) {
        return true;
    }
    read_promises(fixture);
    if (!make_records(fixture)) {
        return false;
    }
    fixture->cold_bytes = row->shape.at[AXIS_COLD] << 20;
    fixture->cold = make_lines(fixture->cold_bytes);
    tl_counting_allocator(&fixture->memory, allocator_of(row));
    fixture->memory.limit_bytes = fixture->memory_limit_bytes;
    enum tl_status status = fixture_create(fixture, fixture->ids, &fixture->memory.allocator);
    return status == TL_OK || refuse_create(fixture, status);
}

void fixture_end(struct fixture *fixture)
{
    if (fixture->self != NULL) {
        fixture->algo->destroy(fixture->self);
    }
    tl_free(tl_system_allocator(), fixture->records, fixture->record_bytes * fixture->ids,
            RECORD_LINE_BYTES);
    tl_free(tl_system_allocator(), fixture->cold, fixture->cold_bytes, RECORD_LINE_BYTES);
}
