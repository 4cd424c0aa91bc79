/* Numbers as people write them; number.h has the grammar. */
#include "number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A word after a number, and its factor. */
struct unit {
    const char *word; /* NULL ends the table */
    uint64_t factor;
};

static const struct unit counts[] = {
    {"", 1},           {"k", 1000},     {"m", 1000000},  {"M", 1000000},  {"g", 1000000000},
    {"G", 1000000000}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {NULL, 0}};
static const struct unit bytes[] = {{"", 1},         {"K", 1 << 10},  {"M", 1 << 20},
                                    {"G", 1 << 30},  {"Ki", 1 << 10}, {"Mi", 1 << 20},
                                    {"Gi", 1 << 30}, {NULL, 0}};
static const struct unit times[] = {{"ns", 1},
                                    {"us", 1000},
                                    {"ms", 1000000},
                                    {"s", 1000000000},
                                    {"min", UINT64_C(60000000000)},
                                    {"h", UINT64_C(3600000000000)},
                                    {NULL, 0}};
static const struct unit percents[] = {{"", 1}, {"%", 1}, {NULL, 0}};

/* A number without sign and unit, taken apart: digits times 10^exponent. */
struct decimal {
    uint64_t digits;
    int exponent;
    bool exact; /* else there are more digits than fit */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Beyond the range of every type; longer exponents are limited to it. */
#define EXPONENT_MAX 9999

/* Skip the exponent of ten at `text`, if there is one. Return its end. */
static const char *scan_exponent(const char *text, int *exponent)
{
    const char *c = text;
    if (*c != 'e' && *c != 'E') {
        return text;
    }
    c++;
    bool minus = *c == '-';
    c += minus || *c == '+';
    if (!is_digit(*c)) {
        return text;
    }
    int value = 0;
    for (; is_digit(*c); c++) {
        value = value < EXPONENT_MAX ? value * 10 + (*c - '0') : value;
    }
    *exponent += minus ? -value : value;
    return c;
}

/* Return the end of the number at `text`; NULL if there is none. */
static const char *scan(const char *text, struct decimal *decimal)
{
    *decimal = (struct decimal){.exact = true};
    bool fraction = false;
    bool any = false;
    const char *c = text;
    for (; is_digit(*c) || (*c == '.' && !fraction); c++) {
        if (*c == '.') {
            fraction = true;
            continue;
        }
        uint64_t digit = (uint64_t)(*c - '0');
        decimal->exact = decimal->exact && decimal->digits <= (UINT64_MAX - digit) / 10;
        decimal->digits = decimal->digits * 10 + digit;
        decimal->exponent -= fraction && decimal->exponent > -EXPONENT_MAX;
        any = true;
    }
    return any ? scan_exponent(c, &decimal->exponent) : NULL;
}

/* The number times `factor`. False if it is written with a fraction, or does not fit. */
static bool whole_of(const struct decimal *decimal, uint64_t factor, uint64_t *whole)
{
    if (!decimal->exact || decimal->exponent < 0 ||
        __builtin_mul_overflow(decimal->digits, factor, whole)) {
        return false;
    }
    for (int i = 0; i < decimal->exponent && *whole != 0; i++) {
        if (__builtin_mul_overflow(*whole, UINT64_C(10), whole)) {
            return false;
        }
    }
    return true;
}

/* Return the factor of the unit [word, word + length); 0: the table does not have it. */
static uint64_t factor_of(const struct unit *table, const char *word, size_t length)
{
    while (table->word != NULL &&
           (strlen(table->word) != length || strncmp(table->word, word, length) != 0)) {
        table++;
    }
    return table->factor;
}

/* Read a number, which ends at the first of the characters `ends` after it, or with the text. Return
 * its end; NULL if it is not of that form. */
static const char *read_one(const struct tl_number_form *form, const char *text, const char *ends,
                            union tl_number *number)
{
    struct decimal decimal;
    const char *unit = scan(text + (*text == '-' && form->least < 0), &decimal);
    if (unit == NULL) {
        return NULL;
    }
    size_t length = strcspn(unit, ends);
    const char *end = unit + length;
    uint64_t factor = 0;
    uint64_t whole = 0;
    double real = strtod(text, NULL);
    bool good = false;
    switch (form->kind) {
    case TL_NUMBER_WHOLE:
        factor = factor_of(counts, unit, length);
        good = factor > 0 && whole_of(&decimal, factor, &whole) && form->from <= whole &&
               whole <= form->to;
        break;
    case TL_NUMBER_BYTES:
        /* 64M, 64MB */
        length -= length > 0 && unit[length - 1] == 'B';
        factor = factor_of(bytes, unit, length);
        real *= (double)factor;
        good = real >= 1 && real < 0x1p62 && (factor > 1 || whole_of(&decimal, 1, &whole));
        whole = good ? (uint64_t)real : 0;
        break;
    case TL_NUMBER_REAL:
        factor = factor_of(counts, unit, length);
        real *= (double)factor;
        good = factor > 0 && form->least <= real && real <= form->most;
        break;
    case TL_NUMBER_PERCENT:
        good = factor_of(percents, unit, length) > 0 && form->least <= real && real <= form->most;
        real /= 100;
        break;
    case TL_NUMBER_SHARE:
        real /= *unit == '%' ? 100 : 1;
        good = factor_of(percents, unit, length) > 0 && 0 <= real && real <= 1;
        break;
    case TL_NUMBER_TIME:
        factor = factor_of(times, unit, length);
        if (factor > 0) {
            real = real * (double)factor / (form->unit_ns > 0 ? form->unit_ns : 1);
        }
        good = (factor > 0 || (length == 0 && form->unit_ns > 0)) && form->least <= real &&
               real <= form->most;
        break;
    }
    if (!good || !isfinite(real)) {
        return NULL;
    }
    if (form->kind <= TL_NUMBER_BYTES) {
        number->whole = whole;
    } else {
        number->real = real;
    }
    return end;
}

bool tl_number_read(const struct tl_number_form *form, const char *text, union tl_number *number)
{
    union tl_number read;
    if (read_one(form, text, "", &read) == NULL) {
        return false;
    }
    *number = read;
    return true;
}

size_t tl_ranges_read(const struct tl_number_form *form, const char *text, struct tl_range *ranges)
{
    const char ends[] = {',', form->dash, '\0'};
    for (size_t count = 0; count < form->list_max; text++) {
        union tl_number first;
        const char *end = read_one(form, text, ends, &first);
        union tl_number last = first;
        if (end != NULL && *end != ',' && *end != '\0') {
            end = read_one(form, end + 1, ",", &last);
        }
        if (end == NULL || last.whole < first.whole) {
            return 0;
        }
        ranges[count++] = (struct tl_range){first.whole, last.whole};
        if (*end == '\0') {
            return count;
        }
        text = end;
    }
    return 0;
}

bool tl_number_refuse(const struct tl_number_form *form, const char *option, const char *text,
                      char *why, size_t why_bytes)
{
    char takes[160] = "bytes, as in 64MB or 4G";
    switch (form->kind) {
    case TL_NUMBER_WHOLE:
        if (form->list_max == 0) {
            (void)snprintf(takes, sizeof takes, "a whole number from %" PRIu64 " to %" PRIu64,
                           form->from, form->to);
        } else if (form->list_max == 1) {
            (void)snprintf(takes, sizeof takes,
                           "whole numbers from %" PRIu64 " to %" PRIu64 ", as in %s", form->from,
                           form->to, form->example);
        } else {
            (void)snprintf(takes, sizeof takes,
                           "at most %zu whole numbers from %" PRIu64 " to %" PRIu64 ", as in %s",
                           form->list_max, form->from, form->to, form->example);
        }
        break;
    case TL_NUMBER_BYTES:
        break;
    case TL_NUMBER_REAL:
        (void)snprintf(takes, sizeof takes, "a number from %.9g to %.9g", form->least, form->most);
        break;
    case TL_NUMBER_PERCENT:
        (void)snprintf(takes, sizeof takes, "percent from %.9g to %.9g, as in 5%%", form->least,
                       form->most);
        break;
    case TL_NUMBER_SHARE:
        (void)snprintf(takes, sizeof takes, "a share from 0 to 1, as in 0.01 or 1%%");
        break;
    case TL_NUMBER_TIME:
        (void)snprintf(takes, sizeof takes, "%s from %.9g to %.9g, or a time as in 250us or 2min",
                       form->unit_ns >= 1e9   ? "seconds"
                       : form->unit_ns >= 1e6 ? "milliseconds"
                       : form->unit_ns >= 1e3 ? "microseconds"
                                              : "nanoseconds",
                       form->least, form->most);
        break;
    }
    (void)snprintf(why, why_bytes, "%s takes %s, not '%s'", option, takes, text);
    return false;
}
