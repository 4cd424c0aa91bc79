/* csv: the text form of a trace becomes a trace again. */
#include "import.h"
#include "trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static bool get_number(const struct import_setting *setting, uint64_t max, uint64_t *value,
                       struct error *error)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(setting->value, &end, 10);
    if (setting->value[0] < '0' || setting->value[0] > '9' || *end != '\0' || errno != 0 ||
        number > max) {
        return error_set(error, "--%s takes a number up to %" PRIu64 ", not '%s'", setting->name,
                         max, setting->value);
    }
    *value = number;
    return true;
}

enum import_result import_csv(const struct import_job *job, struct error *error)
{
    struct trace_text_options options = {0};
    uint64_t end_tick;
    uint64_t ids = 0;
    uint64_t warmup_end_tick;
    for (size_t i = 0; i < job->setting_count; i++) {
        const struct import_setting *setting = &job->settings[i];
        bool good = false;
        if (strcmp(setting->name, "end-tick") == 0) {
            good = get_number(setting, TRACE_TICK_MAX + 1, &end_tick, error);
            options.end_tick = &end_tick;
        } else if (strcmp(setting->name, "warmup-end-tick") == 0) {
            good = get_number(setting, TRACE_TICK_MAX + 1, &warmup_end_tick, error);
            options.warmup_end_tick = &warmup_end_tick;
        } else if (strcmp(setting->name, "ids") == 0) {
            good = get_number(setting, UINT32_MAX, &ids, error);
        } else {
            good = get_number(setting, TRACE_TICK_NS_MAX, &options.tick_ns, error);
            if (good && options.tick_ns == 0) {
                good = error_set(error, "--tick-ns takes at least 1");
            }
        }
        if (!good) {
            return IMPORT_USAGE;
        }
    }
    options.min_ids = (uint32_t)ids;
    return trace_text_read(job->input, job->output, &options, error) ? IMPORT_DONE : IMPORT_FAILED;
}
