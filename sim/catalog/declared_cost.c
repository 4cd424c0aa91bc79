#include "declared_cost.h"

#include <stddef.h>
#include <string.h>

/* What "O(n/slots)" and its like divide by. */
#define SLOTS 256.0

enum growth growth_of(const char *cost)
{
    static const struct {
        const char *prefix;
        enum growth growth;
    } words[] = {
        {"O(1)", GROWTH_CONSTANT},     {"O(m)", GROWTH_CONSTANT},
        {"O(log t)", GROWTH_CONSTANT}, {"O(log of the delay)", GROWTH_CONSTANT},
        {"O(t)", GROWTH_CONSTANT},     {"O(log n)", GROWTH_LOGARITHMIC},
        {"O(sqrt n)", GROWTH_ROOT},    {"O(n)", GROWTH_LINEAR},
        {"O(n/", GROWTH_LINEAR},
    };
    for (size_t i = 0; cost != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(cost, words[i].prefix, strlen(words[i].prefix)) == 0) {
            return words[i].growth;
        }
    }
    return GROWTH_UNKNOWN;
}

/* Whole numbers only: libraries may compute a logarithm's last digit differently. */
static double steps_of(const char *cost, uint64_t timers)
{
    unsigned bits = timers > 1 ? 64 - (unsigned)__builtin_clzll(timers) : 1;
    switch (growth_of(cost)) {
    case GROWTH_LOGARITHMIC:
        return bits;
    case GROWTH_ROOT:
        return (double)(UINT64_C(1) << (bits - 1) / 2);
    case GROWTH_LINEAR:
        return 1 + (double)timers / (strncmp(cost, "O(n/", 4) == 0 ? SLOTS : 1);
    case GROWTH_CONSTANT:
    case GROWTH_UNKNOWN:
        break;
    }
    return 1;
}

double declared_steps(const struct tl_cost *cost, uint64_t timers)
{
    double stop = steps_of(cost->stop, timers);
    double expire = steps_of(cost->expire, timers);
    return steps_of(cost->start, timers) + (stop > expire ? stop : expire) +
           steps_of(cost->tick, timers);
}
