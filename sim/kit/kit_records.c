#include "kit_subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CALLERS_PATTERN 0x3c

/* A table with the caller's bytes in it, and those of the timers zero; NULL if
 * there is no memory. */
static unsigned char *new_table(struct kit_records *records, size_t stride_bytes, uint32_t room)
{
    unsigned char *table =
        tl_alloc(&records->guard.allocator, room * stride_bytes, TL_EMBEDDED_ALIGN);
    if (table == NULL) {
        return NULL;
    }
    memset(table, CALLERS_PATTERN, room * stride_bytes);
    for (uint32_t id = 0; id < room; id++) {
        memset(table + id * stride_bytes + records->before_bytes, 0, records->timer_bytes);
    }
    return table;
}

bool kit_records_init(struct kit_records *records, const struct kit_records_layout *layout,
                      size_t timer_bytes, uint32_t room, enum kit_guard_place place,
                      kit_guard_report_fn report, void *ctx)
{
    *records = (struct kit_records){
        .timer_bytes = timer_bytes,
        .before_bytes = layout->before_bytes,
        .least_stride_bytes = layout->before_bytes + timer_bytes + layout->behind_bytes,
        .room = room > 0 ? room : 1,
    };
    records->stride_bytes = records->least_stride_bytes;
    kit_guard_init(&records->guard, report, ctx);
    records->guard.place = place;
    records->guard.block_word = "the caller's records,";
    records->guard.freed_words = "where records had been before they moved";
    records->table = new_table(records, records->stride_bytes, records->room);
    return records->table != NULL;
}

struct tl_records kit_records_given(const struct kit_records *records)
{
    return (struct tl_records){.base = records->table,
                               .stride_bytes = records->stride_bytes,
                               .offset_bytes = records->before_bytes};
}

bool kit_records_move(struct kit_records *records, uint32_t room)
{
    enum { APART_MOST = 4 }; /* different strides, in turn */
    struct kit_records old = *records;
    records->room = room > old.room ? room : old.room;
    records->moves++;
    size_t apart = records->moves / 2 % APART_MOST * TL_EMBEDDED_ALIGN;
    records->stride_bytes = records->least_stride_bytes + apart;
    records->table = new_table(records, records->stride_bytes, records->room);
    if (records->table == NULL) {
        return false;
    }
    for (uint32_t id = 0; id < old.room; id++) {
        memcpy(records->table + id * records->stride_bytes + records->before_bytes,
               old.table + id * old.stride_bytes + old.before_bytes, old.timer_bytes);
    }
    tl_free(&records->guard.allocator, old.table, old.room * old.stride_bytes, TL_EMBEDDED_ALIGN);
    return true;
}

static void report(struct kit_records *records, uint32_t id, size_t at, const char *what)
{
    char text[240];
    (void)snprintf(text, sizeof text,
                   "wrote outside its memory, at byte %zu of the record of timer %" PRIu32
                   ", %s, where its own are %zu to %zu",
                   at, id, what, records->before_bytes,
                   records->before_bytes + records->timer_bytes - 1);
    records->guard.report(records->guard.report_ctx, text);
}

void kit_records_check(struct kit_records *records, uint32_t capacity)
{
    kit_guard_check(&records->guard);
    size_t behind_at = records->before_bytes + records->timer_bytes;
    size_t behind_bytes = records->stride_bytes - behind_at;
    for (uint32_t id = 0; id < records->room; id++) {
        const unsigned char *record = records->table + id * records->stride_bytes;
        size_t at = kit_guard_first_other(record, CALLERS_PATTERN, records->before_bytes);
        if (at < records->before_bytes) {
            report(records, id, at, "which is the caller's");
        }
        at = kit_guard_first_other(record + behind_at, CALLERS_PATTERN, behind_bytes);
        if (at < behind_bytes) {
            report(records, id, behind_at + at, "which is the caller's");
        }
        at = id >= capacity
                 ? kit_guard_first_other(record + records->before_bytes, 0, records->timer_bytes)
                 : records->timer_bytes;
        if (at < records->timer_bytes) {
            report(records, id, records->before_bytes + at, "for which there is no room yet");
        }
    }
}

void kit_records_release(struct kit_records *records)
{
    kit_guard_release(&records->guard);
    records->table = NULL;
}
