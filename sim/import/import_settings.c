#include "import_settings.h"

#include "number.h"
#include "timer_model.h"

#include <math.h>
#include <stdio.h>
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

/* Read an option's value; *number does not change if it was not given. */
static bool read_setting(const struct import_job *job, const char *name,
                         const struct tl_number_form *form, union tl_number *number,
                         struct error *error)
{
    const char *text = import_setting(job, name);
    char option[64];
    if (text == NULL || tl_number_read(form, text, number)) {
        return true;
    }
    (void)snprintf(option, sizeof option, "--%s", name);
    return tl_number_refuse(form, option, text, error->text, sizeof error->text);
}

bool import_setting_count(const struct import_job *job, const char *name, uint64_t least,
                          uint64_t most, uint64_t *count, struct error *error)
{
    const struct tl_number_form form = {.from = least, .to = most};
    union tl_number number = {.whole = *count};
    bool good = read_setting(job, name, &form, &number, error);
    *count = number.whole;
    return good;
}

bool import_setting_share(const struct import_job *job, const char *name, double *share,
                          struct error *error)
{
    const struct tl_number_form form = {.kind = TL_NUMBER_SHARE};
    union tl_number number = {.real = *share};
    bool good = read_setting(job, name, &form, &number, error);
    *share = number.real;
    return good;
}

bool import_setting_time(const struct import_job *job, const char *name, uint64_t unit_ns,
                         uint64_t least_ns, uint64_t *time_ns, struct error *error)
{
    const struct tl_number_form form = {.kind = TL_NUMBER_TIME,
                                        .unit_ns = (double)unit_ns,
                                        .least = (double)least_ns / (double)unit_ns,
                                        .most =
                                            (double)TIMER_MODEL_TIMEOUT_MAX_NS / (double)unit_ns};
    union tl_number number = {.real = (double)*time_ns / (double)unit_ns};
    bool good = read_setting(job, name, &form, &number, error);
    *time_ns = (uint64_t)llround(number.real * (double)unit_ns);
    return good;
}
