/* import csv: the text form of a trace becomes a trace again. */
#include "import.h"

#include "import_tally.h"
#include "trace.h"
#include "trace_ids.h"
#include "trace_text.h"

#include <inttypes.h>
#include <string.h>

const struct import_option import_csv_options[] = {
    {"end-tick", "TICK", false,
     "where the trace ends (default: the value in the text, or else after the last row)"},
    {"ids", "N|dense", false,
     "minimum number of timers; dense: renumber them from 0 (default: the value in the text, or "
     "else dense where the ids are sparse)"},
    {"tick-ns", "NS", false, "length of a tick (default: the value in the text, or else 1000000)"},
    {"warmup-end-tick", "TICK", false,
     "where the warm-up ends (default: as the text says, or "
     "else 0)"},
    {NULL, NULL, false, NULL},
};

static void report_ids(const struct import_job *job, const struct trace_text_ids *ids, bool asked)
{
    if (!ids->renumbered) {
        (void)fprintf(job->report, "%s: %" PRIu32 " timer%s, numbered as in %s\n", job->output,
                      ids->named, ids->named == 1 ? "" : "s", job->input);
        return;
    }
    (void)fprintf(job->report,
                  "%s: %" PRIu32 " timers, renumbered: their ids, which go up to %" PRIu32
                  ", are 0 to %" PRIu32 " now, in the same order",
                  job->output, ids->named, ids->largest, ids->named - 1);
    if (asked) {
        (void)fprintf(job->report, "\n");
    } else {
        (void)fprintf(job->report,
                      " (so it is done where ids go beyond %u and fewer than one in %u is named; "
                      "--ids %" PRIu64 " keeps them)\n",
                      TRACE_IDS_NEVER_SPARSE, TRACE_IDS_SPARSE, (uint64_t)ids->largest + 1);
    }
}

enum import_result import_csv(const struct import_job *job, struct error *error)
{
    struct trace_text_ids ids;
    struct trace_text_options options = {.ids = &ids};
    const char *ids_asked = import_setting(job, "ids");
    uint64_t end_tick;
    uint64_t min_ids = 0;
    uint64_t warmup_end_tick;
    options.dense_ids = ids_asked != NULL && strcmp(ids_asked, "dense") == 0;
    if (!import_setting_count(job, "end-tick", 0, TRACE_TICK_MAX + 1, &end_tick, error) ||
        !import_setting_count(job, "warmup-end-tick", 0, TRACE_TICK_MAX + 1, &warmup_end_tick,
                              error) ||
        (!options.dense_ids && !import_setting_count(job, "ids", 0, UINT32_MAX, &min_ids, error)) ||
        !import_setting_count(job, "tick-ns", 1, TRACE_TICK_NS_MAX, &options.tick_ns, error)) {
        return IMPORT_USAGE;
    }
    if (import_setting(job, "end-tick") != NULL) {
        options.end_tick = &end_tick;
    }
    if (import_setting(job, "warmup-end-tick") != NULL) {
        options.warmup_end_tick = &warmup_end_tick;
    }
    options.min_ids = (uint32_t)min_ids;
    if (!trace_text_read(job->input, job->output, &options, error)) {
        return IMPORT_FAILED;
    }
    report_ids(job, &ids, options.dense_ids);
    const struct import_tally tally = {.job = job};
    import_causes_print(&tally, ids.reactions,
                        ids.causes_known ? "as column cause says" : TRACE_OPEN_LOOP_NOTE);
    return IMPORT_DONE;
}
