#include "kit_subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CALLERS_PATTERN 0x3c

static unsigned char *record_of(const struct kit_records *records, uint32_t id)
{
    return (unsigned char *)records->given.base + id * records->given.stride_bytes;
}

/* Make a table with the caller's bytes in it, and those of the timers zero. False if there is no
 * memory. */
static bool make_table(struct kit_records *records, size_t stride_bytes, uint32_t room)
{
    records->room = room;
    records->given.stride_bytes = stride_bytes;
    records->given.base =
        tl_alloc(&records->guard.allocator, room * stride_bytes, TL_EMBEDDED_ALIGN);
    if (records->given.base == NULL) {
        return false;
    }
    memset(records->given.base, CALLERS_PATTERN, room * stride_bytes);
    for (uint32_t id = 0; id < room; id++) {
        memset(record_of(records, id) + records->given.offset_bytes, 0, records->timer_bytes);
    }
    return true;
}

bool kit_records_init(struct kit_records *records, const struct kit_records_layout *layout,
                      size_t timer_bytes, uint32_t room, enum kit_guard_place place,
                      kit_guard_report_fn report, void *ctx)
{
    *records = (struct kit_records){
        .given.offset_bytes = layout->before_bytes,
        .timer_bytes = timer_bytes,
        .least_stride_bytes = layout->before_bytes + timer_bytes + layout->behind_bytes,
    };
    kit_guard_init(&records->guard, report, ctx);
    records->guard.place = place;
    records->guard.block_word = "the caller's records,";
    records->guard.freed_words = "where records had been before they moved";
    return make_table(records, records->least_stride_bytes, room > 0 ? room : 1);
}

bool kit_records_move(struct kit_records *records, uint32_t room)
{
    enum { APART_MOST = 4 }; /* different strides, in turn */
    struct kit_records old = *records;
    records->moves++;
    size_t apart = records->moves / 2 % APART_MOST * TL_EMBEDDED_ALIGN;
    if (!make_table(records, records->least_stride_bytes + apart,
                    room > old.room ? room : old.room)) {
        return false;
    }
    for (uint32_t id = 0; id < old.room; id++) {
        memcpy(record_of(records, id) + old.given.offset_bytes,
               record_of(&old, id) + old.given.offset_bytes, old.timer_bytes);
    }
    tl_free(&records->guard.allocator, old.given.base, old.room * old.given.stride_bytes,
            TL_EMBEDDED_ALIGN);
    return true;
}

/* Report a change of bytes from `at` on of a record. */
static void check_bytes_of(struct kit_records *records, uint32_t id, size_t at, size_t bytes,
                           unsigned char pattern, const char *what)
{
    size_t own = records->given.offset_bytes;
    size_t first = kit_guard_first_other(record_of(records, id) + at, pattern, bytes);
    if (first < bytes) {
        char text[240];
        (void)snprintf(text, sizeof text,
                       "wrote outside its memory, at byte %zu of the record of timer %" PRIu32
                       ", %s, where its own are %zu to %zu",
                       at + first, id, what, own, own + records->timer_bytes - 1);
        records->guard.report(records->guard.report_ctx, text);
    }
}

void kit_records_check(struct kit_records *records, uint32_t capacity)
{
    static const char callers[] = "which is the caller's";
    size_t own = records->given.offset_bytes;
    size_t after = own + records->timer_bytes;
    kit_guard_check(&records->guard);
    for (uint32_t id = 0; id < records->room; id++) {
        check_bytes_of(records, id, 0, own, CALLERS_PATTERN, callers);
        check_bytes_of(records, id, after, records->given.stride_bytes - after, CALLERS_PATTERN,
                       callers);
        if (id >= capacity) {
            check_bytes_of(records, id, own, records->timer_bytes, 0,
                           "for which there is no room yet");
        }
    }
}

void kit_records_release(struct kit_records *records)
{
    kit_guard_release(&records->guard);
    records->given.base = NULL;
}
