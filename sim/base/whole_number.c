#include "whole_number.h"

#include <errno.h>
#include <stdlib.h>

bool whole_number_read(const char *text, uint64_t max, uint64_t *value, const char **end)
{
    *end = text;
    if (text[0] < '0' || text[0] > '9') { /* strtoull takes signs and blanks */
        return false;
    }
    char *behind = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &behind, 10);
    uint64_t unit = *behind == 'k' ? 1000 : *behind == 'm' ? 1000000 : 1;
    if (errno != 0 || number > max / unit) {
        return false;
    }
    *value = number * unit;
    *end = behind + (unit > 1);
    return true;
}
