/*
 * child.h: runs a function in a process of its own, so that what it does wrong stays there. It may
 * crash, hang, exhaust memory, call exit or print: the parent gets to know, and goes on.
 */
#ifndef SIM_CHILD_H
#define SIM_CHILD_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills `result` (zeroed before) and returns true; or returns false with `error` set. */
typedef bool (*child_fn)(void *ctx, void *result, struct error *error);

enum child_end {
    CHILD_DONE,    /* the function returned true: `result` holds what it wrote */
    CHILD_FAILED,  /* it returned false: its sentence is in `reason` */
    CHILD_CRASHED, /* a signal, an exit from within: `reason` names it */
    CHILD_TIMEOUT  /* it took longer than it may */
};

struct child_request {
    child_fn run;
    void *ctx;
    size_t result_bytes; /* plain data */
    double timeout_seconds;
    uint64_t address_space_bytes; /* limit of the process's memory; 0: none */
};

struct child_outcome {
    enum child_end end;
    char reason[1024];
    uint64_t output_bytes; /* what it printed on its standard output, which is thrown away */
    double seconds;
};

/* Runs it and waits. False, with `error` set, only if no process could be made. A sanitizer build
 * ignores the address space limit: the sanitizers reserve more than any. */
bool child_run(const struct child_request *request, void *result, struct child_outcome *outcome,
               struct error *error);

#endif
