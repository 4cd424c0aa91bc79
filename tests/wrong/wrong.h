/*
 * wrong.h: the common part of the structures of structures.txt. Each has one fault that a real one had.
 * Its generated source defines the fault (WRONG), a description (WRONG_HOW) and the contract case that
 * must detect it (WRONG_CASE), and includes one of the bases, heap.h, wheel.h, cascade.h, seed.h,
 * embedded.h, shown.h or many.h, which have no fault where WRONG is NOTHING.
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

/* The declared cost; a base may define another. */
#ifndef WRONG_COST
#define WRONG_COST                                                                                 \
    {                                                                                              \
        .start = "-", .stop = "-", .tick = "-", .expire = "-"                                      \
    }
#endif

/* The origin of a descriptor is the case that must detect the fault. */
#define WRONG_TEXTS(what, case_name)                                                               \
    .abi = TL_ABI, .name = WRONG_NAME, .summary = (what), .origin = (case_name),                   \
    .description = "Made to be found wrong. Its origin names the contract case that must do so.",  \
    .cost = WRONG_COST

#endif
