#include "import_settings.h"

#include "log_time.h"
#include "timer_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *import_setting(const struct import_job *job, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < job->setting_count; i++) {
        if (strcmp(job->settings[i].name, name) == 0) {
            value = job->settings[i].value;
        }
    }
    return value;
}

bool import_setting_count(const struct import_job *job, const char *name, uint64_t least,
                          uint64_t most, uint64_t *number, struct error *error)
{
    const char *text = import_setting(job, name);
    if (text == NULL) {
        return true;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > most) {
        return error_set(error, "--%s %s: not a number from %" PRIu64 " to %" PRIu64, name, text,
                         least, most);
    }
    *number = value;
    return true;
}

bool import_setting_share(const struct import_job *job, const char *name, double *share,
                          struct error *error)
{
    const char *text = import_setting(job, name);
    if (text == NULL) {
        return true;
    }
    char *end;
    double value = strtod(text, &end);
    bool good = end != text;
    if (good && strcmp(end, "%") == 0) {
        value /= 100;
    } else {
        good = good && *end == '\0';
    }
    if (!good || !(value >= 0 && value <= 1)) {
        return error_set(error, "--%s %s: not a share, such as 1%% or 0.01", name, text);
    }
    *share = value;
    return true;
}

bool import_setting_time(const struct import_job *job, const char *name, uint64_t unit_ns,
                         uint64_t least_ns, uint64_t *time_ns, struct error *error)
{
    const char *text = import_setting(job, name);
    if (text == NULL) {
        return true;
    }
    uint64_t value;
    if (!log_time_parse_number(text, strlen(text), unit_ns, &value) || value < least_ns ||
        value > TIMER_MODEL_TIMEOUT_MAX_NS) {
        return error_set(error, "--%s %s: not a number of %s from %s to 10^9 s, such as 2.5", name,
                         text, unit_ns == UINT64_C(1000000000) ? "seconds" : "milliseconds",
                         least_ns == 0 ? "0" : "1 ns");
    }
    *time_ns = value;
    return true;
}
