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
bool test_is_available(const struct tl_algo *algo);

/* splitmix64: the next random number from a state; and the number that it makes of a state. */
uint64_t test_draw(uint64_t *state);
uint64_t test_mix(uint64_t z);

/* How many files a folder has, but for hidden ones. */
unsigned test_files_in(const char *folder);

#endif
