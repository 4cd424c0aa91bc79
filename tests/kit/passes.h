/* passes.h: that the conformance kit finds no fault in a structure, for more tests than one. */
#ifndef TESTS_KIT_PASSES_H
#define TESTS_KIT_PASSES_H

#include "registry.h"

#include <stdbool.h>

/* Whether this build is for the address sanitizer, under which everything takes several times as
 * long. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* All cases, or all but the long ones, and some fuzzing; fails the test with the first fault. */
void assert_passes(const struct tl_entry *entry, bool all);

#endif
