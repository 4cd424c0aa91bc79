/*
 * fault.h: the faults of timer structures, as the oracle, the conformance kit and their readers
 * name them.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "results.h"

/* The fault_column of a kind that no column counts. */
#define FAULT_NO_COLUMN COLUMNS

/* X(code, word, column, sentence): the word for tables, the column that counts such faults in a
 * replay, the sentence that explains it. */
#define FAULT_MAP(X)                                                                               \
    X(FAULT_NONE, "none", FAULT_NO_COLUMN, "nothing is wrong")                                     \
    X(FAULT_DESCRIPTOR, "descriptor", FAULT_NO_COLUMN,                                             \
      "the descriptor cannot be used: a member is missing or invalid")                             \
    X(FAULT_STATUS, "status", FAULT_NO_COLUMN,                                                     \
      "a hook returned a status that the contract rules out")                                      \
    X(FAULT_EARLY, "early", COL_EARLY, "a timer fired before the declared precision allows")       \
    X(FAULT_LATE, "late", COL_LATE_BEYOND, "a timer fired after the last tick at which it may")    \
    X(FAULT_LOST, "lost", COL_LOST, "a timer that had to fire did not")                            \
    X(FAULT_DUPLICATE, "duplicate", COL_DUPLICATE,                                                 \
      "a timer fired that was not pending: twice, after a stop, or never started")                 \
    X(FAULT_REENTRY, "reentry", FAULT_NO_COLUMN,                                                   \
      "a timer fired in the same advance that started it")                                         \
    X(FAULT_MISORDERED, "misordered", COL_MISORDERED,                                              \
      "timers fired out of the promised order, of due ticks or of starts for one due tick")        \
    X(FAULT_BUDGET, "budget", FAULT_NO_COLUMN, "more timers fired than the budget allows")         \
    X(FAULT_COUNT, "count", FAULT_NO_COLUMN,                                                       \
      "a number that was returned, or passed to a callback, is wrong")                             \
    X(FAULT_NEXT, "next", FAULT_NO_COLUMN, "`next` breaks its promise")                            \
    X(FAULT_WALK, "walk", FAULT_NO_COLUMN,                                                         \
      "`walk` does not show every pending timer once, in a cell of a part")                        \
    X(FAULT_COUNTERS, "counters", FAULT_NO_COLUMN, "the counters of work done are not counts")     \
    X(FAULT_COST, "cost", FAULT_NO_COLUMN, "the work counted grows faster than the stated cost")   \
    X(FAULT_CORRUPT, "corrupt", FAULT_NO_COLUMN,                                                   \
      "the structure's own `check` found a broken invariant")                                      \
    X(FAULT_RANDOM, "random", FAULT_NO_COLUMN,                                                     \
      "equal operations gave different results: uninitialized memory was read")                    \
    X(FAULT_ALLOCATION, "allocation", FAULT_NO_COLUMN, "a hook allocated that promised not to")    \
    X(FAULT_LEAK, "leak", FAULT_NO_COLUMN, "memory was not given back")                            \
    X(FAULT_GUARD, "guard", FAULT_NO_COLUMN,                                                       \
      "memory was written or given back that is not the structure's")                              \
    X(FAULT_MEMORY, "memory", FAULT_NO_COLUMN,                                                     \
      "memory use is out of proportion, or hidden from the allocator")                             \
    X(FAULT_CRASH, "crash", FAULT_NO_COLUMN,                                                       \
      "the process was ended by a signal; it is named, with the hook")                             \
    X(FAULT_HANG, "hang", FAULT_NO_COLUMN, "a hook did not return in time")                        \
    X(FAULT_EXIT, "exit", FAULT_NO_COLUMN, "the structure ended the process")                      \
    X(FAULT_OUTPUT, "output", FAULT_NO_COLUMN, "the structure printed")                            \
    X(FAULT_PROCESS, "process", FAULT_NO_COLUMN, "processes or threads were left running")         \
    X(FAULT_HARNESS, "harness", FAULT_NO_COLUMN, "the check itself could not be carried out")

enum fault_kind {
#define FAULT_ENUM(code, word, column, sentence) code,
    FAULT_MAP(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_KINDS
};

/* Return the word of a kind; never NULL. */
const char *fault_word(enum fault_kind kind);

/* Return the column that counts a kind, or FAULT_NO_COLUMN. */
enum column fault_column(enum fault_kind kind);

#endif
