#include "import.h"

#include "guess.h"
#include "number.h"
#include "timer_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct import_format formats[] = {
    {"ftrace", "Linux timer tracepoints as text: tracefs, trace-cmd report, perf script",
     import_ftrace_options, import_ftrace},
    {"process", "a program's own timers, as `timerlab record` writes them", import_process_options,
     import_process},
    {"pcap", "captured packets: idle timers of flows, or TCP's retransmission timers",
     import_pcap_options, import_pcap},
    {"access-log", "a web server's log: Common, Combined, or any format of Apache or nginx",
     import_access_log_options, import_access_log},
    {"events",
     "a table of events, or of timers' own operations, with named columns: CSV, TSV, Zeek",
     import_events_options, import_events},
    {"csv",
     "a trace's own text, as `timerlab trace dump` writes it: columns "
     "tick,id,op,delay[,cause][,slack]",
     import_csv_options, import_csv},
    {NULL, NULL, NULL, NULL},
};

const struct import_format *import_formats(void)
{
    return formats;
}

const struct import_format *import_format_find(const char *name, struct error *error)
{
    struct tl_guess guess = {.given = name};
    for (const struct import_format *row = formats; row->name != NULL; row++) {
        if (tl_guess_is(&guess, row->name)) {
            return row;
        }
    }
    (void)error_set(error,
                    "there is no import format '%s'%s `timerlab trace import --list` shows all",
                    name, tl_guess_text(&guess));
    return NULL;
}

const struct import_option *import_option_find(const struct import_format *format, const char *name)
{
    for (const struct import_option *option = format->options; option->name != NULL; option++) {
        if (strcmp(option->name, name) == 0) {
            return option;
        }
    }
    return NULL;
}

/* --- the values of options -------------------------------------------------------------------- */

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
