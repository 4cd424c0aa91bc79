#include "crc32c.h"

#include <stdbool.h>
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

#define HAS_INSTRUCTION() __builtin_cpu_supports("sse4.2")
#define TARGET            __attribute__((target("sse4.2")))
#define ADD_8(crc, value) ((uint32_t)_mm_crc32_u64(crc, value))
#define ADD_4(crc, value) _mm_crc32_u32(crc, value)
#define ADD_1(crc, value) _mm_crc32_u8(crc, value)

#elif defined(__aarch64__) && defined(__linux__) && defined(__GNUC__)

#include <sys/auxv.h>

/* The extension is enabled for the assembler here: compilers have several names for its
 * functions. */
#define ADDER(name, type, instruction)                                                             \
    static inline uint32_t name(uint32_t crc, type value)                                          \
    {                                                                                              \
        __asm__(".arch_extension crc\n\t" instruction : "+r"(crc) : "r"(value));                   \
        return crc;                                                                                \
    }
ADDER(add_8, uint64_t, "crc32cx %w0, %w0, %x1")
ADDER(add_4, uint32_t, "crc32cw %w0, %w0, %w1")
ADDER(add_1, uint32_t, "crc32cb %w0, %w0, %w1")

#define HAS_INSTRUCTION() ((getauxval(AT_HWCAP) & (1ul << 7)) != 0) /* HWCAP_CRC32 */
#define TARGET
#define ADD_8(crc, value) add_8(crc, value)
#define ADD_4(crc, value) add_4(crc, value)
#define ADD_1(crc, value) add_1(crc, value)

#endif

#if defined(HAS_INSTRUCTION)

TARGET static inline uint32_t crc32c_by_instruction(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    crc = ~crc;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        crc = ADD_8(crc, word);
    }
    if (bytes >= sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        crc = ADD_4(crc, word);
        bytes -= sizeof word;
        at += sizeof word;
    }
    for (; bytes > 0; bytes--, at++) {
        crc = ADD_1(crc, *at);
    }
    return ~crc;
}

#else

#define HAS_INSTRUCTION() false
#define TARGET
#define crc32c_by_instruction crc32c_by_table

#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    return HAS_INSTRUCTION() ? crc32c_by_instruction(crc, data, bytes)
                             : crc32c_by_table(crc, data, bytes);
}
