#include "import_settings.h"

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
    if (!import_parse_time(text, strlen(text), unit_ns, &value) || value < least_ns ||
        value > TIMER_MODEL_TIMEOUT_MAX_NS) {
        return error_set(error, "--%s %s: not a number of %s from %s to 10^9 s, such as 2.5", name,
                         text, unit_ns == UINT64_C(1000000000) ? "seconds" : "milliseconds",
                         least_ns == 0 ? "0" : "1 ns");
    }
    *time_ns = value;
    return true;
}

bool import_parse_time(const char *text, size_t length, uint64_t unit_ns, uint64_t *time_ns)
{
    size_t i = 0;
    uint64_t whole = 0;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
        if (i == 19) {
            return false;
        }
        whole = whole * 10 + (uint64_t)(text[i] - '0');
    }
    if (i == 0 || whole > TIMER_MODEL_TIME_MAX_NS / unit_ns) {
        return false;
    }
    uint64_t time = whole * unit_ns;
    if (i < length && text[i] == '.') {
        uint64_t place_ns = unit_ns;
        for (i++; i < length && text[i] >= '0' && text[i] <= '9'; i++) {
            place_ns /= 10;
            time += (uint64_t)(text[i] - '0') * place_ns;
        }
    }
    *time_ns = time;
    return i == length && time <= TIMER_MODEL_TIME_MAX_NS;
}
