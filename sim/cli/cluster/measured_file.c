#include "measured_file.h"

#include "text_file.h"

#include <stdlib.h>
#include <string.h>

/* More than a real run has. */
#define MEASURED_TIMERS_MAX 1e7

static const double *value_of(double *values, const json_t *json)
{
    *values = json_is_number(json) ? json_number_value(json) : 0;
    return values;
}

/* --- of a run ----------------------------------------------------------------------------------
 */

static double mean_s(const struct measured_histograms *measured, enum measured_time time)
{
    return histogram_mean(&measured->us[time]) / 1e6;
}

/* Half of them take less: not what stalls make of it. */
static double usual_s(const struct measured_histograms *measured, enum measured_time time)
{
    return (double)histogram_quantile(&measured->us[time], 0.5) / 1e6;
}

/* Time between faults of one of so many, if they came that often together. */
static double every_s(double seconds, uint64_t faults, uint32_t nodes)
{
    return faults > 0 ? seconds * nodes / (double)faults : 0;
}

static double share_of(uint64_t some, uint64_t all)
{
    return all > 0 ? (double)some / (double)all : 0;
}

static void set_parameters(double *p, const struct run_plan *plan, const struct run_result *result,
                           const struct measured_histograms measured[RUN_ENGINE])
{
    uint32_t schedulers = plan->roles[RUN_SCHEDULER];
    uint32_t nodes = schedulers + plan->roles[RUN_EXECUTOR];
    uint64_t given_up = result->fired + result->dead + result->lost;
    cluster_parameters_default(p);
    cluster_parameters_calm(p);
    p[PAR_ARRIVALS] = result->planned_s > 0 ? (double)result->started / result->planned_s : 1;
    p[PAR_SHORT_SHARE] = 1;
    p[PAR_SHORT_S] = plan->delay_ms / 1e3;
    p[PAR_MINUTE_SHARE] = 0;
    p[PAR_HOUR_SHARE] = 0;
    p[PAR_CANCELLED] =
        result->started > given_up ? share_of(result->started - given_up, result->started) : 0;
    p[PAR_TICK_S] = (double)plan->steps.tick_ms / 1e3;
    p[PAR_POLL_S] = usual_s(&measured[RUN_SCHEDULER], TIME_LOOK);
    p[PAR_SCHEDULERS] = schedulers;
    p[PAR_SHARDS] = plan->engines;
    p[PAR_STORE_MS] = histogram_mean(&measured[RUN_EXECUTOR].us[TIME_TAKE]) / 1e3;
    p[PAR_SYNC_MS] = 0;
    p[PAR_BATCH] = ENGINE_BATCH_MAX;
    p[PAR_HOSTS] = plan->roles[RUN_EXECUTOR];
    p[PAR_SLOTS] = plan->batch;
    p[PAR_TAKE_POLL_MS] = usual_s(&measured[RUN_EXECUTOR], TIME_LOOK) * 1e3;
    p[PAR_SERVICE_MS] = histogram_mean(&measured[RUN_EXECUTOR].us[TIME_CALL]) / 1e3;
    p[PAR_TIMEOUT_S] = 1e9;
    p[PAR_FAILURE] =
        share_of(result->errors + result->unreached, result->calls + result->unreached);
    p[PAR_REPLY_LOST] = share_of(result->unheard, result->calls + result->unreached);
    p[PAR_LATER] = share_of(result->laters, result->calls);
    p[PAR_LATER_S] = (double)plan->later_ms / 1e3;
    p[PAR_RETRY_S] = (double)plan->backoff_ms / 1e3;
    p[PAR_ATTEMPTS] = plan->steps.attempts_max < 200 ? plan->steps.attempts_max : 200;
    p[PAR_LEASE_S] = (double)plan->steps.lease_ms / 1e3;
    p[PAR_REAP_S] = mean_s(&measured[RUN_SCHEDULER], TIME_REAP) / schedulers;
    p[PAR_SCAN] = plan->scan_ms > 0;
    p[PAR_SCAN_DELAY] = plan->scan_ms > 0 ? (double)plan->scan_ms / 1e3 : 1;
    p[PAR_CRASH_EVERY] =
        every_s(result->seconds, result->kills[RUN_SCHEDULER] + result->kills[RUN_EXECUTOR], nodes);
    p[PAR_RESTART_S] = mean_s(&measured[RUN_EXECUTOR], TIME_RESTART);
    p[PAR_PAUSE_EVERY] = every_s(
        result->seconds, result->pauses[RUN_SCHEDULER] + result->pauses[RUN_EXECUTOR], nodes);
    p[PAR_PAUSE_S] = (double)plan->pause_ms / 1e3;
    /* Each scheduler sees them all. */
    uint64_t stalls = measured[RUN_SCHEDULER].us[TIME_STALL].total;
    p[PAR_DOWN_EVERY] = every_s(result->seconds, stalls, schedulers);
    p[PAR_DOWN_S] = mean_s(&measured[RUN_SCHEDULER], TIME_STALL);
    p[PAR_DOWN_CRASH] = share_of(result->kills[RUN_ENGINE] * schedulers, stalls);
    p[PAR_DOWN_CRASH] = p[PAR_DOWN_CRASH] < 1 ? p[PAR_DOWN_CRASH] : 1;
}

/* The role that does a step, or sees it. */
static enum run_role role_of(enum measured_time time)
{
    return time == TIME_START                         ? RUN_PLANNER
           : time == TIME_CLAIM || time == TIME_STALL ? RUN_SCHEDULER
                                                      : RUN_EXECUTOR;
}

json_t *measured_file_of(const char *protocol, const struct run_plan *plan,
                         const struct run_result *result,
                         const struct measured_histograms measured[RUN_ENGINE])
{
    double values[CLUSTER_PARAMETERS];
    json_t *parameters = json_object();
    json_t *steps = json_object();
    json_t *late = json_object();
    set_parameters(values, plan, result, measured);
    for (int i = 0; i < CLUSTER_PARAMETERS; i++) {
        (void)json_object_set_new(parameters, cluster_parameters[i].name, json_real(values[i]));
    }
    for (int time = 0; time < (int)MEASURED_OF_STEPS; time++) {
        struct measured_quantiles quantiles;
        json_t *points = json_array();
        measured_sum_up(&measured[role_of((enum measured_time)time)].us[time], &quantiles);
        for (int i = 0; quantiles.known && i < MEASURED_POINTS; i++) {
            (void)json_array_append_new(points, json_real(quantiles.ms[i]));
        }
        (void)json_object_set_new(steps, measured_time_word((enum measured_time)time), points);
    }
    for (int path = 0; path < RUN_PATHS; path++) {
        const struct run_lateness *of = &result->lateness[path];
        (void)json_object_set_new(late, run_path_names[path],
                                  json_pack("{s:I s:I s:I}", "count", (json_int_t)of->count, "p50",
                                            (json_int_t)of->p50_ms, "p99", (json_int_t)of->p99_ms));
    }
    return json_pack("{ss ss sI so so so}", "protocol", protocol, "engine", plan->engine->name,
                     "timers", (json_int_t)result->started, "parameters", parameters, "steps_ms",
                     steps, "late_ms", late);
}

/* --- for the model ------------------------------------------------------------------------------
 */

static bool read_parameters(const json_t *json, double *values, const char *path,
                            struct error *error)
{
    for (int i = 0; i < CLUSTER_PARAMETERS; i++) {
        const struct cluster_parameter_row *row = &cluster_parameters[i];
        const json_t *value = json_object_get(json, row->name);
        if (value == NULL || value_of(&values[i], value) == NULL || values[i] < row->least ||
            values[i] > row->most) {
            return error_set(error,
                             "%s: %s is not there, or not from %g to %g. `timerlab cluster run "
                             "--clock real -o DIR` writes such files",
                             path, row->name, row->least, row->most);
        }
    }
    return true;
}

static bool read_steps(const json_t *json, struct measured_quantiles *steps, const char *path,
                       struct error *error)
{
    for (int time = 0; time < (int)MEASURED_OF_STEPS; time++) {
        const char *word = measured_time_word((enum measured_time)time);
        const json_t *points = json_object_get(json, word);
        size_t count = json_array_size(points);
        steps[time].known = count > 0;
        if (points == NULL || (count > 0 && count != MEASURED_POINTS)) {
            return error_set(error,
                             "%s: steps_ms.%s has %zu points, where %d or none are to be: it is of "
                             "another version",
                             path, word, count, MEASURED_POINTS);
        }
        for (size_t i = 0; i < count; i++) {
            (void)value_of(&steps[time].ms[i], json_array_get(points, i));
        }
    }
    return true;
}

bool measured_file_read(const char *path, struct measured_file *file, struct error *error)
{
    json_error_t why;
    double timers;
    char *text = text_file_read(path, error);
    if (text == NULL) {
        return false;
    }
    file->whole = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (file->whole == NULL) {
        return error_set(error, "%s, line %d: %s", path, why.line, why.text);
    }
    (void)value_of(&timers, json_object_get(file->whole, "timers"));
    if (!(timers >= 0 && timers <= MEASURED_TIMERS_MAX)) {
        return error_set(error, "%s: timers is not from 0 to %g; give -n N", path,
                         MEASURED_TIMERS_MAX);
    }
    file->timers = (uint64_t)timers;
    return read_parameters(json_object_get(file->whole, "parameters"), file->parameters, path,
                           error) &&
           read_steps(json_object_get(file->whole, "steps_ms"), file->steps, path, error);
}

bool measured_file_late(const struct measured_file *file, const char *path, const char *which,
                        double *late_ms, uint64_t *count)
{
    double number;
    const json_t *late = json_object_get(json_object_get(file->whole, "late_ms"), path);
    *count = (uint64_t)*value_of(&number, json_object_get(late, "count"));
    (void)value_of(late_ms, json_object_get(late, which));
    return *count > 0;
}
