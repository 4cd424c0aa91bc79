/* timerlab trace import: a recording of another tool becomes a trace. */
#include "command.h"
#include "command_option.h"
#include "import.h"
#include "memory.h"
#include "standard_files.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

/* More than any format's options together. */
#define OPTIONS_MAX  128
#define SETTINGS_MAX 64

struct import_arguments {
    const char *format;
    const char *input;
    const char *output;
    bool list;
    struct import_setting settings[SETTINGS_MAX];
    size_t setting_count;
};

static void take_setting(void *at, const struct option_row *row, const char *text,
                         struct argp_state *state)
{
    struct import_arguments *arguments = at;
    if (arguments->setting_count == SETTINGS_MAX) {
        argp_error(state, "more than %d options", SETTINGS_MAX);
    }
    arguments->settings[arguments->setting_count++] =
        (struct import_setting){.name = row->option.name, .value = text};
}

static void complete(void *at, struct argp_state *state)
{
    const struct import_arguments *arguments = at;
    if (arguments->list) {
        return;
    }
    if (arguments->input == NULL) {
        argp_error(state, "FORMAT and FILE are needed; --list shows the formats");
    } else if (arguments->output == NULL) {
        argp_error(state, "-o FILE is needed: where the trace is to be written");
    }
}

/* Adds every format's options to argp's, each format a group with a heading. An option that two
 * formats have stands twice; argp takes either, which does not matter: only the name is looked at.
 */
static void add_format_options(struct option_row *options, size_t count, char (*headings)[64])
{
    int group = 1;
    for (const struct import_format *format = import_formats(); format->name != NULL; format++) {
        if (count < OPTIONS_MAX - 1) {
            char *heading = headings[count];
            (void)snprintf(heading, sizeof headings[0], "Options of %s:", format->name);
            options[count++] = (struct option_row){.option = {.doc = heading, .group = group}};
        }
        for (const struct import_option *option = format->options;
             option->name != NULL && count < OPTIONS_MAX - 1; option++) {
            options[count] = (struct option_row){
                .option = {option->name, 0, option->value, 0, option->help, group},
                .repeats = true, /* not every one, and check_settings knows which */
                .take = take_setting};
            count++;
        }
        group++;
    }
}

static void list_formats(void)
{
    for (const struct import_format *format = import_formats(); format->name != NULL; format++) {
        (void)printf("%s: %s\n", format->name, format->summary);
        for (const struct import_option *option = format->options; option->name != NULL; option++) {
            (void)printf("  --%s %s%s\n      %s\n", option->name, option->value,
                         option->repeatable ? " (repeatable)" : "", option->help);
        }
    }
}

/* Each option must be one of the format's, and given once unless it may be repeated. */
static bool check_settings(const struct import_arguments *arguments,
                           const struct import_format *format, struct error *error)
{
    for (size_t i = 0; i < arguments->setting_count; i++) {
        const char *name = arguments->settings[i].name;
        const struct import_option *option = import_option_find(format, name);
        if (option == NULL) {
            return error_set(error, "format %s has no option --%s; --list shows the formats",
                             format->name, name);
        }
        for (size_t k = 0; k < i && !option->repeatable; k++) {
            if (strcmp(arguments->settings[k].name, name) == 0) {
                return error_set(error, "--%s is given twice", name);
            }
        }
    }
    return true;
}

int command_trace_import(int argc, char **argv)
{
    struct option_row options[OPTIONS_MAX] = {
        {OPTION("output", 'o', "FILE", "Where the trace goes; - is standard output"), OPTION_STREAM,
         OPTION_AT(struct import_arguments, output)},
        {OPTION("list", 0, NULL, "Show the formats and their options"), OPTION_FLAG,
         OPTION_AT(struct import_arguments, list)},
    };
    char headings[OPTIONS_MAX][64];
    add_format_options(options, 2, headings);
    const struct command_line syntax = {
        .options = options,
        .form = "FORMAT FILE -o FILE",
        .text = "Makes a trace from a recording of another tool.\vFILE may be compressed with "
                "gzip, Zstandard or xz; - is standard input. The counts go to standard error and, "
                "as JSON, into the trace: `timerlab trace info` shows it.",
        .places = {{.kind = OPTION_STREAM, OPTION_AT(struct import_arguments, format)},
                   {.kind = OPTION_STREAM, OPTION_AT(struct import_arguments, input)}},
        .excess = "one FILE at a time: '%s' is one too many",
        .complete = complete,
    };
    struct import_arguments arguments = {0};
    command_line_read(&syntax, argc, argv, &arguments);
    if (arguments.list) {
        list_formats();
        return EXIT_OK;
    }
    struct error error = {0};
    if (trace_is(arguments.input)) {
        (void)error_set(&error, "%s: is a trace already; `timerlab trace info` describes it",
                        arguments.input);
        return command_fail(&error);
    }
    const struct import_format *format = import_format_find(arguments.format, &error);
    if (format == NULL || !check_settings(&arguments, format, &error)) {
        command_complain(&error);
        return EXIT_USAGE;
    }
    char *text = NULL;
    size_t bytes = 0;
    const struct import_job job = {.input = arguments.input,
                                   .output = arguments.output,
                                   .settings = arguments.settings,
                                   .setting_count = arguments.setting_count,
                                   .report = memory_stream(&text, &bytes)};
    enum import_result result = format->run(&job, &error);
    memory_stream_close(job.report);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != '\0') {
            standard_files_tell("%s\n", line); /* names in it do nothing to a terminal */
        }
    }
    free(text);
    if (result != IMPORT_DONE) {
        command_complain(&error);
    }
    return result == IMPORT_DONE ? EXIT_OK : result == IMPORT_USAGE ? EXIT_USAGE : EXIT_FAULT;
}
