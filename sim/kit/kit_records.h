/*
 * kit_records.h: records of a caller's, in which a structure's timers lie, watched like memory
 * (kit_guard.h): what the caller has beside a timer in its record is known, and stays as it is; so
 * do the records of timers that there is no room for yet; and where the records were before they
 * moved there is nothing any more.
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

/* A table of at least one record, for timers of `timer_bytes`, between canaries or at pages as
 * `place` says. What is wrong is reported with `ctx`. False if there is no memory. */
bool kit_records_init(struct kit_records *records, const struct kit_records_layout *layout,
                      size_t timer_bytes, uint32_t room, enum kit_guard_place place,
                      kit_guard_report_fn report, void *ctx);

/* The table as a structure is told of it. */
struct tl_records kit_records_given(const struct kit_records *records);

/* Moves what there is to another table, of at least `room` records that are further apart now and
 * then. False if there is no memory. */
bool kit_records_move(struct kit_records *records, uint32_t room);

/* Looks at everything that is not a timer's, of a structure with room for `capacity` timers. */
void kit_records_check(struct kit_records *records, uint32_t capacity);

/* Frees it; harmless on none. */
void kit_records_release(struct kit_records *records);

#endif
