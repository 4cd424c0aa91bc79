/* csv: the text form of a trace becomes a trace again. */
#include "import.h"

#include "import_settings.h"
#include "import_tally.h"
#include "trace.h"
#include "trace_text.h"

#include <inttypes.h>

#define SPARSE 16u /* so many ids for each timer that there can be are too many */

const struct import_option import_csv_options[] = {
    {"end-tick", "TICK", false,
     "where the trace ends (default: as the text says, or else behind "
     "the last row)"},
    {"ids", "N", false, "how many timers there are at least (default: as the text says)"},
    {"tick-ns", "NS", false, "what a tick lasts (default: as the text says, or else 1000000)"},
    {"warmup-end-tick", "TICK", false,
     "where the warm-up ends (default: as the text says, or "
     "else 0)"},
    {NULL, NULL, false, NULL},
};

/* Says what the text said of causes, by the trace made of it. */
static bool report_causes(const struct import_job *job, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(job->output, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    const struct import_tally tally = {.job = job};
    import_causes_print(&tally, header->reactions,
                        header->causes_known ? "as column cause says" : TRACE_OPEN_LOOP_NOTE);
    if (header->ids / SPARSE > header->starts) {
        (void)fprintf(job->report,
                      "warning: %s: its ids go up to %" PRIu32 ", though no more than %" PRIu64
                      " timers can be in it: whoever replays it keeps room for all ids. `import "
                      "events --time tick --key id --op op` numbers them anew\n",
                      job->input, header->ids - 1, header->starts);
    }
    trace_reader_close(reader);
    return true;
}

enum import_result import_csv(const struct import_job *job, struct error *error)
{
    struct trace_text_options options = {0};
    uint64_t end_tick;
    uint64_t ids = 0;
    uint64_t warmup_end_tick;
    if (!import_setting_count(job, "end-tick", 0, TRACE_TICK_MAX + 1, &end_tick, error) ||
        !import_setting_count(job, "warmup-end-tick", 0, TRACE_TICK_MAX + 1, &warmup_end_tick,
                              error) ||
        !import_setting_count(job, "ids", 0, UINT32_MAX, &ids, error) ||
        !import_setting_count(job, "tick-ns", 1, TRACE_TICK_NS_MAX, &options.tick_ns, error)) {
        return IMPORT_USAGE;
    }
    if (import_setting(job, "end-tick") != NULL) {
        options.end_tick = &end_tick;
    }
    if (import_setting(job, "warmup-end-tick") != NULL) {
        options.warmup_end_tick = &warmup_end_tick;
    }
    options.min_ids = (uint32_t)ids;
    return trace_text_read(job->input, job->output, &options, error) && report_causes(job, error)
               ? IMPORT_DONE
               : IMPORT_FAILED;
}
