/* kit_run.h: a contract case under way: between kit.c, which runs it, and kit_cases.c. */
#ifndef SIM_KIT_RUN_H
#define SIM_KIT_RUN_H

#include "kit_subject.h"

struct kit_run {
    const struct kit_target *target;
    const struct kit_case *contract_case;
    uint64_t limit_bytes;
    double patience_seconds; /* as in kit_limits */
    struct kit_witness *witness;
    const struct tl_algo *algo;       /* the build that the case is about */
    struct kit_records_layout layout; /* where its timers lie */
    TL_OPTION_VALUES(options);        /* the values that it is run under just now */
};

/* Runs the case under the target's options and, unless they are pinned, under others in range. */
void kit_run_case(struct kit_run *run);

#endif
