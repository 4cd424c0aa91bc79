/*
 * trace_format.h: the layout of a trace file, for the writer and the reader;
 * docs/reference/trace-format.md describes it. All numbers are little-endian.
 */
#ifndef SIM_TRACE_FORMAT_H
#define SIM_TRACE_FORMAT_H

#include "trace.h"

#include <stdint.h>

/* As in PNG: a byte outside ASCII, and line ends that a text-mode copy would change. */
#define TRACE_MAGIC          "\x89TLT\r\n\x1a\n"
#define TRACE_MAGIC_BYTES    8u
#define TRACE_FORMAT_VERSION 2u

/* Offsets of the header's fields, after the magic bytes. */
enum trace_header_at {
    TRACE_AT_VERSION = 8,       /* 32 bits */
    TRACE_AT_HEADER_BYTES = 12, /* 32 bits */
    TRACE_AT_FILE_BYTES = 16,   /* 64 bits, like all that follow */
    TRACE_AT_ORIGIN = 24,       /* offset of the origin's section */
    TRACE_AT_BLOCKS = 32,
    TRACE_AT_TICK_NS = 40,
    TRACE_AT_EVENTS = 48,
    TRACE_AT_STARTS = 56,
    TRACE_AT_STOPS = 64,
    TRACE_AT_WARMUP_END = 72,
    TRACE_AT_END = 80,
    TRACE_AT_MAX_DELAY = 88,
    TRACE_AT_IDS = 96,
    TRACE_AT_REACTIONS = 104,
    TRACE_AT_CAUSES_KNOWN = 112, /* 32 bits: 0 or 1 */
    TRACE_AT_MAX_SLACK = 116,    /* 32 bits */
    TRACE_AT_CHECKSUM = 120,     /* XXH3_64 of everything before it */
    TRACE_HEADER_BYTES = 128,
};

/* After the header come sections, each with this head: blocks, the origin, the end. */
enum trace_section_at {
    TRACE_SECTION_AT_KIND = 0,      /* 32 bits: enum trace_section_kind */
    TRACE_SECTION_AT_RECORDS = 4,   /* 32 bits */
    TRACE_SECTION_AT_STORED = 8,    /* 32 bits: bytes after this head */
    TRACE_SECTION_AT_RAW = 12,      /* 32 bits: bytes after decompression */
    TRACE_SECTION_AT_INDEX = 16,    /* 64 bits: of a block, from 0; then the number of blocks */
    TRACE_SECTION_AT_CHECKSUM = 24, /* XXH3_64 of the stored bytes, seeded with that of the head */
    TRACE_SECTION_BYTES = 32,
};

enum trace_section_kind {
    TRACE_SECTION_BLOCK = 0x4b434c42,  /* "BLCK" */
    TRACE_SECTION_ORIGIN = 0x4749524f, /* "ORIG" */
    TRACE_SECTION_END = 0x21444e45,    /* "END!" */
};

static inline void trace_put_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline void trace_put_u64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline uint32_t trace_get_u32(const uint8_t *at)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++) {
        value |= (uint32_t)at[i] << (8 * i);
    }
    return value;
}

static inline uint64_t trace_get_u64(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

/* Return the checksum of a section: its head up to the checksum, and the stored bytes. */
uint64_t trace_section_checksum(const uint8_t *head, const void *stored, size_t stored_bytes);

/* Return whether `text` (of `bytes` bytes, and a NUL after) is a valid origin: one JSON object on
 * one line, of at most TRACE_ORIGIN_MAX_BYTES. If not, *why is the reason. */
bool trace_origin_valid(const char *text, size_t bytes, const char **why);

#endif
