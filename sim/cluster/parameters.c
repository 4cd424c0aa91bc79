#include "parameters.h"

#include "guess.h"
#include "number.h"

#include <stdio.h>
#include <string.h>

const struct cluster_parameter_row cluster_parameters[CLUSTER_PARAMETERS] = {
#define PARAMETER_ROW(code, name, value, least, most, source, help)                                \
    [code] = {name, value, least, most, source, help},
    CLUSTER_PARAMETER_MAP(PARAMETER_ROW)
#undef PARAMETER_ROW
};

void cluster_parameters_default(double values[CLUSTER_PARAMETERS])
{
    for (int i = 0; i < CLUSTER_PARAMETERS; i++) {
        values[i] = cluster_parameters[i].value;
    }
}

void cluster_parameters_calm(double values[CLUSTER_PARAMETERS])
{
    static const enum cluster_parameter faults[] = {
        PAR_FAILURE,   PAR_REPLY_LOST, PAR_OUTAGE_EVERY, PAR_CRASH_EVERY, PAR_PAUSE_EVERY,
        PAR_CUT_EVERY, PAR_OFFSET_MS,  PAR_STEP_EVERY,   PAR_SLOW_EVERY,  PAR_STALL_SHARE};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        values[faults[i]] = 0;
    }
}

bool cluster_parameter_set(double values[CLUSTER_PARAMETERS], const char *text, struct error *error)
{
    size_t length = strcspn(text, "=");
    char name[64];
    if (text[length] != '=' || length >= sizeof name) {
        return error_set(error, "a parameter is set by name=value, not by '%s'", text);
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
    struct tl_guess guess = {.given = name};
    for (size_t i = 0; i < CLUSTER_PARAMETERS; i++) {
        const struct cluster_parameter_row *row = &cluster_parameters[i];
        if (!tl_guess_is(&guess, row->name)) {
            continue;
        }
        const struct tl_number_form form = {
            .kind = TL_NUMBER_REAL, .least = row->least, .most = row->most};
        union tl_number number;
        if (!tl_number_read(&form, text + length + 1, &number)) {
            (void)tl_number_refuse(&form, name, text + length + 1, error->text, sizeof error->text);
            return false;
        }
        values[i] = number.real;
        return true;
    }
    return error_set(error,
                     "there is no parameter '%s'%s `timerlab cluster sim --parameters` shows all",
                     name, tl_guess_text(&guess));
}
