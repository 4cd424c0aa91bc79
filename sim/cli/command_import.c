/* timerlab trace import: a recording of another tool becomes a trace. */
#include "command.h"
#include "import.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_OUTPUT = 'o', KEY_LIST = 0x100, KEY_FORMAT_OPTION = 0x200 };

/* More than any format's options together. */
#define OPTIONS_MAX  128
#define SETTINGS_MAX 64

struct import_arguments {
    const char *format;
    const char *input;
    const char *output;
    bool list;
    struct argp_option *options; /* key KEY_FORMAT_OPTION + i: row i */
    struct import_setting settings[SETTINGS_MAX];
    size_t setting_count;
};

static void take_setting(struct import_arguments *arguments, const char *name, const char *value,
                         struct argp_state *state)
{
    if (arguments->setting_count == SETTINGS_MAX) {
        argp_error(state, "more than %d options", SETTINGS_MAX);
    }
    arguments->settings[arguments->setting_count++] =
        (struct import_setting){.name = name, .value = value};
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct import_arguments *arguments = state->input;
    switch (key) {
    case KEY_OUTPUT:
        arguments->output = value;
        return 0;
    case KEY_LIST:
        arguments->list = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->format == NULL) {
            arguments->format = value;
        } else if (arguments->input == NULL) {
            arguments->input = value;
        } else {
            argp_error(state, "one FILE at a time: '%s' is one too many", value);
        }
        return 0;
    case ARGP_KEY_END:
        if (arguments->list) {
            return 0;
        }
        if (arguments->input == NULL) {
            argp_error(state, "FORMAT and FILE are needed; --list shows the formats");
        } else if (arguments->output == NULL) {
            argp_error(state, "-o FILE is needed: where the trace is to be written");
        }
        return 0;
    default:
        if (key < KEY_FORMAT_OPTION || key >= KEY_FORMAT_OPTION + OPTIONS_MAX) {
            return ARGP_ERR_UNKNOWN;
        }
        take_setting(arguments, arguments->options[key - KEY_FORMAT_OPTION].name, value, state);
        return 0;
    }
}

/* Adds every format's options to argp's, each format a group with a heading. An option that two
 * formats have stands twice; argp takes either, which does not matter: only the name is looked at.
 */
static void add_format_options(struct argp_option *options, size_t count, char (*headings)[64])
{
    int group = 1;
    for (const struct import_format *format = import_formats(); format->name != NULL; format++) {
        if (count < OPTIONS_MAX - 1) {
            char *heading = headings[count];
            (void)snprintf(heading, sizeof headings[0], "Options of %s:", format->name);
            options[count++] = (struct argp_option){.doc = heading, .group = group};
        }
        for (const struct import_option *option = format->options;
             option->name != NULL && count < OPTIONS_MAX - 1; option++) {
            options[count] = (struct argp_option){.name = option->name,
                                                  .key = KEY_FORMAT_OPTION + (int)count,
                                                  .arg = option->value,
                                                  .doc = option->help,
                                                  .group = group};
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
    struct argp_option options[OPTIONS_MAX] = {
        {.name = "output", .key = KEY_OUTPUT, .arg = "FILE", .doc = "the trace to write"},
        {.name = "list", .key = KEY_LIST, .doc = "print the formats and their options"},
    };
    char headings[OPTIONS_MAX][64];
    add_format_options(options, 2, headings);
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FORMAT FILE -o FILE",
        .doc = "Makes a trace from a recording of another tool.\vFILE may be compressed with "
               "gzip, Zstandard or xz; - is standard input. What was counted goes to standard "
               "error and, as JSON, into the trace: `timerlab trace info` shows it.",
    };
    struct import_arguments arguments = {.options = options};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
        return EXIT_USAGE;
    }
    if (arguments.list) {
        list_formats();
        return EXIT_OK;
    }
    struct error error = {0};
    const struct import_format *format = import_format_find(arguments.format, &error);
    if (format == NULL || !check_settings(&arguments, format, &error)) {
        command_complain(&error);
        return EXIT_USAGE;
    }
    const struct import_job job = {.input = arguments.input,
                                   .output = arguments.output,
                                   .settings = arguments.settings,
                                   .setting_count = arguments.setting_count,
                                   .report = stderr};
    enum import_result result = format->run(&job, &error);
    if (result != IMPORT_DONE) {
        command_complain(&error);
    }
    return result == IMPORT_DONE ? EXIT_OK : result == IMPORT_USAGE ? EXIT_USAGE : EXIT_FAULT;
}
