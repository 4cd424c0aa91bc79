/*
 * crc32c.h: Castagnoli's checksum, by the processor's own instruction where there is one.
 */
#ifndef ALGOS_CRC32C_H
#define ALGOS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of `bytes` bytes, going on from `crc`: 0, or that of what stands before them. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* Records of so many bytes are numbered, and begin with the checksum of their number, eight bytes
 * of it, and of what follows in them. */
#define CRC32C_RECORD 16u

/* The checksum of a record. */
uint32_t crc32c_of_record(uint64_t number, const void *record);

/* Sets the checksums of `count` records, which stand one behind the other, by their numbers. */
void crc32c_seal(uint64_t number, void *records, size_t count);

/* crc32c without the instruction, for the tests. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t bytes);

#endif
