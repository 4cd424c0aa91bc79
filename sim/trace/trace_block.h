/*
 * trace_block.h: a block's operations as columns, between the records and the compression.
 * docs/reference/trace-format.md describes the columns. Those of numbers are stored by planes of
 * bytes: high bytes, alike, then lie together and compress to nothing, low ones, random, are stored
 * as they are.
 */
#ifndef SIM_TRACE_BLOCK_H
#define SIM_TRACE_BLOCK_H

#include "trace.h"

#include <assert.h>

#define TRACE_BLOCK_PREFIX_BYTES 24u
#define TRACE_BLOCK_CAUSES_BYTES 5u
#define TRACE_BLOCK_SLACK_BYTES  1u

/* No block's columns are longer. */
#define TRACE_BLOCK_RAW_MAX                                                                        \
    (TRACE_BLOCK_PREFIX_BYTES + TRACE_BLOCK_RECORDS * (8 + 2 + 4 + 8) + TRACE_BLOCK_RECORDS / 4 +  \
     TRACE_BLOCK_CAUSES_BYTES + TRACE_BLOCK_RECORDS / 8 + TRACE_BLOCK_RECORDS * (1 + 4) +          \
     TRACE_BLOCK_SLACK_BYTES + TRACE_BLOCK_RECORDS * 4)
static_assert(TRACE_BLOCK_RAW_MAX >= TRACE_ORIGIN_MAX_BYTES, "nor is any other section's content");

/* The columns of numbers. */
enum trace_column_kind {
    TRACE_COLUMN_STEPS,
    TRACE_COLUMN_LENGTHS,
    TRACE_COLUMN_IDS,
    TRACE_COLUMN_DELAYS,
    TRACE_BLOCK_WIDTHS, /* of these are in the prefix */
    TRACE_COLUMN_DIFFERENCES = TRACE_BLOCK_WIDTHS,
    TRACE_COLUMN_SLACKS,
    TRACE_COLUMNS
};

/* Operations to be encoded as a block. */
struct trace_columns {
    uint32_t records;
    uint32_t previous_id;
    uint64_t first_tick;
    uint64_t last_tick;
    struct trace_column {
        uint32_t count;
        uint64_t bits; /* bitwise or of the numbers: as wide as the largest */
        uint64_t numbers[TRACE_BLOCK_RECORDS];
    } columns[TRACE_COLUMNS];
    uint8_t bases[TRACE_BLOCK_RECORDS]; /* of each reaction */
    uint8_t codes[TRACE_BLOCK_RECORDS / 4];
    uint8_t which[TRACE_BLOCK_RECORDS / 8];
};

void trace_columns_clear(struct trace_columns *columns);

/* Add an operation; its basis decides whether it is a reaction. Requires records <
 * TRACE_BLOCK_RECORDS, and ticks that do not decrease. */
void trace_columns_add(struct trace_columns *columns, uint64_t tick, uint32_t id, enum trace_op op,
                       uint64_t delay_ticks, struct trace_cause cause);

/* Write the columns to `raw`, of at least TRACE_BLOCK_RAW_MAX bytes; return the number of bytes.
 * Requires at least one record. */
size_t trace_columns_encode(const struct trace_columns *columns, uint8_t *raw);

/* Memory to decode into, and the results. One element more than needed: the branch-free decoder may
 * look one after the last. */
struct trace_decoded {
    struct trace_record records[TRACE_BLOCK_RECORDS];
    struct trace_group groups[TRACE_BLOCK_RECORDS];
    struct trace_cause causes[TRACE_BLOCK_RECORDS]; /* if has_causes */
    uint64_t ids[TRACE_BLOCK_RECORDS + 1];
    uint64_t delays[TRACE_BLOCK_RECORDS + 1];
    uint32_t record_count;
    uint32_t group_count;
    uint32_t starts;
    uint32_t reactions;
    uint32_t max_slack_ticks;
    uint64_t max_delay_ticks;
    bool has_causes; /* there are reactions, or slack */
};

/* Decode untrusted bytes as a block of `record_count` records. Return NULL, or the reason why it is
 * invalid: ticks before `min_tick`, or ticks, ids, delays or slack beyond the header's. Requires an
 * end tick of at most TRACE_TICK_MAX + 1. */
const char *trace_block_decode(const uint8_t *raw, size_t raw_bytes, uint32_t record_count,
                               uint64_t min_tick, const struct trace_header *header,
                               struct trace_decoded *decoded);

#endif
