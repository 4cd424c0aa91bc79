/* Numbers worth trying on a structure: where deadlines, steps and option values are likely to meet an
 * edge of it. Knows no structure. */
#include "kit_trace.h"

#include <stdlib.h>

static int compare_values(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct values {
    uint64_t *at;
    size_t count;
    uint64_t largest;
};

static void add_value(struct values *values, uint64_t value)
{
    for (uint64_t near = value > 0 ? value - 1 : 0; near <= value + 1; near++) {
        if (near <= values->largest && values->count < KIT_BOUNDARIES_MAX) {
            values->at[values->count++] = near;
        }
    }
}

/* base, its small multiples and its powers. */
static void add_base(struct values *values, uint64_t base)
{
    for (uint64_t k = 1; k <= 3; k++) {
        add_value(values, k * base);
    }
    uint64_t power = base;
    for (unsigned k = 0; k < 4 && power <= values->largest / base; k++) {
        power *= base;
        add_value(values, power);
    }
}

size_t kit_boundaries(const struct tl_algo *algo, const void *options, uint64_t largest,
                      uint64_t at[KIT_BOUNDARIES_MAX])
{
    static const uint64_t bases[] = {2, 3, 10, 20, 60, 64, 100, 256, 512, 1000, 1024, 4096, 65536};
    struct values values = {.at = at, .largest = largest};
    size_t option_count = tl_option_count(algo);
    /* The structure's own numbers first: they must find room. */
    for (size_t i = 0; i < option_count; i++) {
        uint64_t own = tl_option_number(&algo->options[i], options);
        if (own <= 1 || own > largest || own > UINT32_MAX) {
            continue;
        }
        add_base(&values, own);
        for (size_t j = i + 1; j < option_count; j++) {
            uint64_t other = tl_option_number(&algo->options[j], options);
            if (other > 1 && other <= UINT32_MAX) {
                add_value(&values, own * other);
                add_value(&values, 2 * own * other);
                add_value(&values, own * other * other);
                add_value(&values, own * own * other);
            }
        }
    }
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        if (bases[i] <= largest) {
            add_base(&values, bases[i]);
        }
    }
    for (unsigned k = 1; k < 63; k++) {
        add_value(&values, UINT64_C(1) << k);
    }
    qsort(at, values.count, sizeof at[0], compare_values);
    size_t kept = 0;
    for (size_t i = 0; i < values.count; i++) {
        if (kept == 0 || at[i] != at[kept - 1]) {
            at[kept++] = at[i];
        }
    }
    return kept;
}

size_t kit_option_candidates(const struct tl_option *option, uint64_t values[KIT_CANDIDATES_MAX])
{
    static const uint64_t numbers[] = {1,  2,  3,  4,  5,   7,   8,   10,   12,   16,  20,
                                       31, 32, 60, 64, 100, 128, 256, 1000, 1024, 4096};
    size_t count = 0;
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (count < KIT_CANDIDATES_MAX / 4) {
            values[count++] = c->value;
        }
    }
    if (!tl_option_is_number(option)) {
        return count;
    }
    uint64_t least = (uint64_t)option->min;
    values[count++] = least;
    if (option->min < option->max) {
        values[count++] = least + 1;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (least < numbers[i] && (double)numbers[i] <= option->max) {
            values[count++] = numbers[i];
        }
    }
    return count;
}

const struct kit_records_layout kit_layouts[KIT_LAYOUTS] = {
    {.lodging = KIT_LODGING_EITHER},
    {.lodging = KIT_LODGING_RECORDS},
    {.lodging = KIT_LODGING_RECORDS, .behind_bytes = 8},
    {.lodging = KIT_LODGING_RECORDS, .before_bytes = 8},
    {.lodging = KIT_LODGING_RECORDS, .behind_bytes = 128},
    {.lodging = KIT_LODGING_RECORDS, .before_bytes = 64},
    {.lodging = KIT_LODGING_RECORDS, .before_bytes = 24, .behind_bytes = 104},
    {.lodging = KIT_LODGING_RECORDS, .before_bytes = 40, .behind_bytes = 16},
    {.lodging = KIT_LODGING_RECORDS, .before_bytes = 24, .behind_bytes = 1000},
};
