/* passes.h: that the conformance kit finds no fault in a structure, for more tests than one. */
#ifndef TESTS_KIT_PASSES_H
#define TESTS_KIT_PASSES_H

#include "registry.h"

#include <stdbool.h>

/* All cases, or all but the long ones, and some fuzzing; fails the test with the first fault. */
void assert_passes(const struct tl_entry *entry, bool all);

#endif
