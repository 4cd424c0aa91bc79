/*
 * crc32c: by the processor's instruction and by the table the same, which is Castagnoli's. Needs no
 * library, so that scripts/test-elsewhere has it on other processors, whose instruction is another.
 */
#include "crc32c.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_right(uint32_t (*checksum)(uint32_t, const void *, size_t), const char *name)
{
    unsigned char bytes[100];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 37);
    }
    bool right = checksum(0, "123456789", 9) == 0xe3069283;
    for (size_t length = 0; length < sizeof bytes; length++) {
        /* In two pieces, of which the second does not begin at a multiple of eight. */
        uint32_t begun = checksum(0, bytes, length / 3);
        right = right && checksum(begun, bytes + length / 3, length - length / 3) ==
                             crc32c_by_table(0, bytes, length);
    }
    if (!right) {
        (void)fprintf(stderr, "%s is not Castagnoli's checksum\n", name);
    }
    return right;
}

/* Of the first record; the third has another high half. */
#define NUMBER UINT64_C(0x5fffffffe)

static bool seals_are_right(void)
{
    unsigned char records[5 * CRC32C_RECORD];
    memset(records, 0x5a, sizeof records);
    crc32c_seal(NUMBER, records, 5);
    uint64_t number = NUMBER;
    for (const unsigned char *at = records; at < records + sizeof records; at += CRC32C_RECORD) {
        uint32_t sum;
        memcpy(&sum, at, sizeof sum);
        uint32_t begun = crc32c_by_table(0, &number, sizeof number);
        if (sum != crc32c_by_table(begun, at + sizeof sum, CRC32C_RECORD - sizeof sum) ||
            sum != crc32c_of_record(number, at)) {
            (void)fprintf(stderr, "crc32c_seal: record %" PRIu64 " has another checksum\n", number);
            return false;
        }
        number++;
    }
    return true;
}

int main(void)
{
    bool one = is_right(crc32c, "crc32c");
    bool other = is_right(crc32c_by_table, "crc32c_by_table");
    return one && other && seals_are_right() ? 0 : 1;
}
