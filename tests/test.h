/* test.h: cmocka, with the headers it wants before it; and what several tests ask. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "registry.h"

#include <stdbool.h>

/* Whether this build is for the address sanitizer, under which everything takes several times as
 * long. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* Whether the library that a structure wraps, if it does, is in this build. */
static inline bool test_is_available(const struct tl_algo *algo)
{
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    struct tl_config config = {
        .capacity = 1, .options = options, .allocator = tl_system_allocator()};
    void *self = NULL;
    enum tl_status status = algo->create(&config, &self);
    if (status == TL_OK) {
        algo->destroy(self);
    }
    return status != TL_ERR_UNAVAILABLE;
}

#endif
