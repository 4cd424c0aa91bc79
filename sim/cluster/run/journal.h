/*
 * journal.h: the messages of each process of a run, as records appended to a file, and their
 * comparison after the run.
 */
#ifndef SIM_CLUSTER_JOURNAL_H
#define SIM_CLUSTER_JOURNAL_H

#include "error.h"
#include "run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum journal_what {
    JOURNAL_START_SENT,
    JOURNAL_STARTED, /* answered */
    JOURNAL_STOP_SENT,
    JOURNAL_STOPPED,
    JOURNAL_TAKEN,
    JOURNAL_CALLED, /* by the service: `answer` says how it went */
    JOURNAL_ACKED,
    JOURNAL_NACKED,
    JOURNAL_FAULT, /* `answer`: which; of `role` and `member`; of no timer and generation */
    JOURNAL_DEAD   /* given up by the engine */
};

/* Answers of JOURNAL_CALLED and JOURNAL_FAULT. */
enum journal_answer {
    CALL_DONE = 'd',
    CALL_REFUSED = 'e',
    CALL_UNHEARD = 'l', /* done, and the reply is lost */
    CALL_GARBLED = 'g', /* not done: the call differs from the one at its timer's start */
    CALL_LATER = 'w',   /* not done: it wants to be called again, at `at_ms` */
    FAULT_KILL = 'k',
    FAULT_PAUSE = 'p'
};

struct journal_record {
    uint64_t id;
    uint64_t at_ms;
    uint64_t now_ms;
    uint64_t token; /* of planners: the number of the step */
    uint32_t generation;
    uint32_t attempt;
    uint16_t incarnation; /* of who wrote it, or took it; from 0 */
    uint8_t member;       /* which of its role */
    uint8_t role;         /* enum run_role */
    uint8_t what;
    uint8_t answer;
    uint8_t spare[2];
};

/* Opens a journal for more. -1, with `error` set, if that fails. */
int journal_open(const char *folder, enum run_role role, unsigned member, struct error *error);

/* Adds records, all or none of which outlive the process. */
bool journal_add(int journal, const struct journal_record *records, size_t count,
                 struct error *error);

/* Adds a journal, if there is one, to an array of *count records, which the caller frees. */
bool journal_read(const char *folder, enum run_role role, unsigned member,
                  struct journal_record **records, size_t *count, struct error *error);

/* Compare all journals in `folder`: fills all of `result` but times, kills and pauses. False, with
 * `error` set, if one cannot be read. */
bool account_run(const struct run_plan *plan, const char *folder, struct run_result *result,
                 struct error *error);

#endif
