/*
 * crc32c: the processor's instruction and the table give the same checksum, Castagnoli's. Needs no
 * library, so scripts/test-elsewhere runs it on processors with another instruction.
 */
#include "crc32c.h"

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

int main(void)
{
    bool one = is_right(crc32c, "crc32c");
    bool other = is_right(crc32c_by_table, "crc32c_by_table");
    return one && other ? 0 : 1;
}
