/*
 * wrong.h: what the structures in this folder have in common. Each .c file is a timer structure
 * that is wrong in one way, as real ones have been: it names the way (WRONG), says it in words
 * (WRONG_HOW) and which contract case must notice (WRONG_CASE), and includes one of the bases,
 * heap.h, wheel.h, cascade.h, seed.h, embedded.h or told.h, which are right where WRONG is NOTHING
 * (right_heap.c and so on).
 *
 * Each file is a plug-in as it stands; the tests compile them in.
 */
#ifndef WRONG_H
#define WRONG_H

#include "timerlab.h"

#include <stdalign.h>

#ifndef WRONG_SYMBOL
#define WRONG_SYMBOL wrong
#endif

/* What it costs, by its own account; a base may say otherwise. */
#ifndef WRONG_COST
#define WRONG_COST                                                                                 \
    {                                                                                              \
        .start = "-", .stop = "-", .tick = "-", .expire = "-"                                      \
    }
#endif

/* The case that must notice stands where other structures name their source. */
#define WRONG_TEXTS(what, case_name)                                                               \
    .abi = TL_ABI, .name = WRONG_NAME, .summary = (what), .origin = (case_name),                   \
    .description = "Made to be found out. Its origin names the contract case that must do so.",    \
    .cost = WRONG_COST

#endif
