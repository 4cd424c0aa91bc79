/* made.h: the structures made for the tests of the kit: wrong ones, and those without the fault. */
#ifndef TESTS_KIT_MADE_H
#define TESTS_KIT_MADE_H

#include "registry.h"

#include "test.h"

#include <string.h>

#define MADE_STRUCTURE(symbol) extern const struct tl_algo tl_algo_##symbol;
#include "made_list.h"
#undef MADE_STRUCTURE

static const struct tl_algo *const made[] = {
#define MADE_STRUCTURE(symbol) &tl_algo_##symbol,
#include "made_list.h"
#undef MADE_STRUCTURE
};

#define MADE_COUNT (sizeof made / sizeof made[0])

static inline bool is_right(const struct tl_algo *algo)
{
    return strncmp(algo->name, "right-", 6) == 0;
}

static inline const struct tl_algo *made_called(const char *name)
{
    for (size_t i = 0; i < MADE_COUNT; i++) {
        if (strcmp(made[i]->name, name) == 0) {
            return made[i];
        }
    }
    fail_msg("no structure %s", name);
    return NULL;
}

#endif
