#include "crc32c.h"

#include <string.h>

/* Four bits at a time: the table is small enough to be written down. */
static const uint32_t nibbles[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        crc = nibbles[crc & 15u] ^ (crc >> 4);
        crc = nibbles[crc & 15u] ^ (crc >> 4);
    }
    return ~crc;
}

#if defined(__x86_64__) && defined(__GNUC__)

#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t
crc32c_by_instruction(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t wide = ~crc;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        wide = _mm_crc32_u64(wide, word);
    }
    uint32_t narrow = (uint32_t)wide;
    for (; bytes > 0; bytes--, at++) {
        narrow = _mm_crc32_u8(narrow, *at);
    }
    return ~narrow;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_by_instruction(crc, data, bytes)
                                            : crc32c_by_table(crc, data, bytes);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    return crc32c_by_table(crc, data, bytes);
}

#endif
