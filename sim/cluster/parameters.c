#include "parameters.h"

#include "registry.h"

#include <string.h>

const struct tl_option cluster_parameters[CLUSTER_PARAMETERS + 1] = {
#define PARAMETER_ROW(code, name, value, least, most, source, help)                                \
    [code] = {name, TL_OPTION_REAL, (code) * sizeof(double), value, least,                         \
              most, NULL,           help " (" source ")"},
    CLUSTER_PARAMETER_MAP(PARAMETER_ROW)
#undef PARAMETER_ROW
};

void cluster_parameters_default(double values[CLUSTER_PARAMETERS])
{
    tl_table_default(cluster_parameters, values);
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
    static const struct tl_option_table table = {cluster_parameters, "the cluster", "parameter",
                                                 "timerlab cluster sim --parameters"};
    return tl_setting_read(&table, text, strlen(text), NULL, values, error->text,
                           sizeof error->text);
}
