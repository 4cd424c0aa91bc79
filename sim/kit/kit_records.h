/*
 * kit_records.h: a table of caller's records that contain a structure's timers, watched like memory
 * (kit_guard.h): the caller's bytes must not change, nor the records of ids beyond the capacity, and
 * nothing may access the former place of a table that has moved.
 */
#ifndef SIM_KIT_RECORDS_H
#define SIM_KIT_RECORDS_H

#include "kit_guard.h"
#include "kit_trace.h"

/* Treat as opaque but for `guard`; all zero is none. */
struct kit_records {
    struct kit_guard guard; /* of the table */
    unsigned char *table;
    size_t timer_bytes;
    size_t before_bytes;
    size_t least_stride_bytes;
    size_t stride_bytes;
    uint32_t room; /* records in the table */
    unsigned moves;
};

/* Make a table of at least one record, for timers of `timer_bytes`, with guards as `place` says.
 * Damage is reported to `report` with `ctx`. False if there is no memory. */
bool kit_records_init(struct kit_records *records, const struct kit_records_layout *layout,
                      size_t timer_bytes, uint32_t room, enum kit_guard_place place,
                      kit_guard_report_fn report, void *ctx);

/* Return the description of the table that structures get. */
struct tl_records kit_records_given(const struct kit_records *records);

/* Move the timers to another table of at least `room` records, at times with a larger stride. False
 * if there is no memory. */
bool kit_records_move(struct kit_records *records, uint32_t room);

/* Check all bytes that do not belong to the timers of a structure with this capacity. */
void kit_records_check(struct kit_records *records, uint32_t capacity);

/* Free it; harmless on an empty one. */
void kit_records_release(struct kit_records *records);

#endif
