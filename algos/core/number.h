/*
 * number.h: how people write numbers on command lines, and the one reader of them, for the options
 * of commands, structures, workloads and importers.
 *
 *   number   250, 0.25, 1e6; after it k, m or M, g or G for powers of 1000, or Ki, Mi, Gi of 1024
 *   whole    a number that is written without a point: 250000, 250k, 2m, 1e9, 4Ki
 *   bytes    4096, 800M, 64MB, 1.5GiB: K, M, G, or Ki, Mi, Gi, are all powers of 1024; B may follow
 *   percent  5 or 5%; a share is 0.05 or 5%
 *   time     1.5s, 250us, 2min: ns, us, ms, s, min, h; a bare number is in the option's own unit
 *   list     3,7-9: whole numbers, and ranges where the option has them
 *
 * There are no blanks, no hexadecimal digits, no inf and nan, and no signs but a minus where negative
 * numbers are accepted. A text that is no number, is not whole where it has to be, or is out of range
 * is refused, in one sentence with the option, its range, and the text.
 *
 * Private to this project: not installed, not exported.
 */
#ifndef TL_NUMBER_H
#define TL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tl_number_kind {
    TL_NUMBER_WHOLE,
    TL_NUMBER_BYTES, /* at least one, below 2^62 */
    TL_NUMBER_REAL,
    TL_NUMBER_PERCENT, /* read as a share: 5% is 0.05 */
    TL_NUMBER_SHARE,   /* from 0 to 1 */
    TL_NUMBER_TIME,    /* read in the option's own unit */
};

/* The values that an option accepts. The bounds are included. */
struct tl_number_form {
    enum tl_number_kind kind;
    uint64_t from; /* TL_NUMBER_WHOLE */
    uint64_t to;
    double least; /* TL_NUMBER_REAL, TL_NUMBER_PERCENT (in percent), TL_NUMBER_TIME (in its unit) */
    double most;
    double unit_ns;      /* TL_NUMBER_TIME: of a bare number; 0: it needs a unit */
    size_t list_max;     /* how many numbers or ranges tl_ranges_read takes */
    char dash;           /* between the ends of a range; 0: there are no ranges */
    const char *example; /* of a list */
};

/* TL_NUMBER_WHOLE and TL_NUMBER_BYTES are `whole`, the others `real`. */
union tl_number {
    uint64_t whole;
    double real;
};

/* Both ends included; a number alone is both. */
struct tl_range {
    uint64_t first;
    uint64_t last;
};

/* Read all of `text`. False, and *number is not set, if it is not of that form. */
bool tl_number_read(const struct tl_number_form *form, const char *text, union tl_number *number);

/* Read a list of whole numbers, separated by commas, into `ranges`, which has form->list_max elements.
 * Return their number; 0 if it is not of that form. */
size_t tl_ranges_read(const struct tl_number_form *form, const char *text, struct tl_range *ranges);

/* Write "OPTION takes RANGE, not 'TEXT'" into `why`. Return false, for a reader to return. */
bool tl_number_refuse(const struct tl_number_form *form, const char *option, const char *text,
                      char *why, size_t why_bytes);

#endif
