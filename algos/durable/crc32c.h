/*
 * crc32c.h: Castagnoli's checksum, by the processor's own instruction where there is one.
 */
#ifndef ALGOS_CRC32C_H
#define ALGOS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Return the checksum of `bytes` bytes, continuing from `crc`: 0, or the checksum of the bytes
 * before. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* crc32c without the instruction, for the tests. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t bytes);

#endif
