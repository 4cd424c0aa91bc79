/* fuzz.h: common functions of the fuzzing targets. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A target's entry, as the engine calls it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* End the process, by which a target reports a fault, unless the condition holds. */
#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

_Noreturn static inline void fuzz_fail(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    abort();
}

/* The path of a regular file, in memory, that holds these bytes until the next call. */
const char *fuzz_file(const void *bytes, size_t count);

#endif
