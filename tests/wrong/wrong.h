/*
 * wrong.h: what the structures of structures.txt have in common. Each is wrong in one way, as real
 * ones have been. Its generated source defines the fault (WRONG), a description (WRONG_HOW) and the
 * contract case that must find it (WRONG_CASE), and includes one of the bases, heap.h, wheel.h,
 * cascade.h, seed.h, embedded.h, told.h or many.h, which have no fault where WRONG is NOTHING.
 *
 * Each generated source is also a plug-in; the tests link all of them.
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
    .description = "Made to be found wrong. Its origin names the contract case that must do so.",  \
    .cost = WRONG_COST

#endif
