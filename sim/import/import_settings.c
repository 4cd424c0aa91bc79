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

/* Reads an option's value, where it was given; false if that is not of the form. *given says
 * whether there is a number. */
static bool read_setting(const struct import_job *job, const char *name,
                         const struct tl_number_form *form, union tl_number *number, bool *given,
                         struct error *error)
{
    const char *text = import_setting(job, name);
    char option[64];
    *given = text != NULL;
    if (!*given || tl_number_read(form, text, number)) {
        return true;
    }
    (void)snprintf(option, sizeof option, "--%s", name);
    return tl_number_refuse(form, option, text, error->text, sizeof error->text);
}

bool import_setting_count(const struct import_job *job, const char *name, uint64_t least,
                          uint64_t most, uint64_t *count, struct error *error)
{
    const struct tl_number_form form = {.from = least, .to = most};
    union tl_number number = {0};
    bool given = false;
    bool good = read_setting(job, name, &form, &number, &given, error);
    *count = good && given ? number.whole : *count;
    return good;
}

bool import_setting_share(const struct import_job *job, const char *name, double *share,
                          struct error *error)
{
    const struct tl_number_form form = {.kind = TL_NUMBER_SHARE};
    union tl_number number = {0};
    bool given = false;
    bool good = read_setting(job, name, &form, &number, &given, error);
    *share = good && given ? number.real : *share;
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
    union tl_number number = {0};
    bool given = false;
    bool good = read_setting(job, name, &form, &number, &given, error);
    *time_ns = good && given ? (uint64_t)llround(number.real * (double)unit_ns) : *time_ns;
    return good;
}
