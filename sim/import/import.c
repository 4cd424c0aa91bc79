#include "import.h"

#include "guess.h"

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
