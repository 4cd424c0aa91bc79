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
    CHILD_CRASHED, /* a signal ended it */
    CHILD_EXITED,  /* it ended itself, from within the function */
    CHILD_TIMEOUT  /* it took longer than it may */
};

struct child_request {
    child_fn run;
    void *ctx;
    size_t result_bytes;      /* plain data */
    double timeout_seconds;   /* of the clock on the wall */
    double processor_seconds; /* limit of its processor time, as kind to a busy machine, in whole
                                 seconds above; 0: none */
    uint64_t address_space_bytes; /* limit of the process's memory; 0: none */
    bool keep_stderr; /* what it writes to standard error is kept like standard output */
};

#define CHILD_OUTPUT_BYTES 400u

struct child_outcome {
    enum child_end end;
    int signal;                      /* of CHILD_CRASHED */
    int exit_status;                 /* of CHILD_EXITED */
    char reason[1024];               /* a sentence, unless it is done */
    uint64_t output_bytes;           /* how much it printed */
    char output[CHILD_OUTPUT_BYTES]; /* the beginning of that, on one line */
    double seconds;
};

/* Runs it and waits. What it prints does not reach the parent's standard output. False, with
 * `error` set, only if no process could be made. A sanitizer build ignores the address space
 * limit: the sanitizers reserve more than any. */
bool child_run(const struct child_request *request, void *result, struct child_outcome *outcome,
               struct error *error);

/* "killed by signal 11 (Segmentation fault)". */
void child_signal_text(int number, char *text, size_t text_bytes);

/* Memory, all zero, that children share with the parent: what one has written there is there
 * whatever ends it. NULL if there is none. */
void *child_memory_new(size_t bytes);

/* NULL is legal. */
void child_memory_free(void *memory, size_t bytes);

#endif
