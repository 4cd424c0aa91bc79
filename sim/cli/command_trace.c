/* timerlab trace: traces made, shown and checked. */
#include "command.h"
#include "command_option.h"
#include "error.h"
#include "standard_files.h"
#include "trace.h"
#include "trace_info.h"
#include "trace_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct trace_arguments {
    const char *paths[PORTRAITS_MAX]; /* the second may be NULL */
    const char *plot;                 /* folder for a picture; NULL: none is wanted */
    uint64_t limit;
    enum { FORMAT_TEXT, FORMAT_JSON } format;
};

#define AT(member) OPTION_AT(struct trace_arguments, member)
static const struct option_row no_options[] = {OPTION_ROW_END};

/* The action of a command on the trace that its arguments name. */
typedef bool (*trace_action)(struct trace_reader *reader, const struct trace_arguments *arguments,
                             struct error *error);

static int with_trace(int argc, char **argv, const struct option_row *options,
                      const char *description, trace_action action)
{
    const struct command_line syntax = {.options = options,
                                        .form = "FILE",
                                        .text = description,
                                        .places = {{.kind = OPTION_STREAM, AT(paths[0])}},
                                        .needed = "which trace?",
                                        .excess = "one trace at a time"};
    struct trace_arguments arguments = {.limit = 10};
    command_line_read(&syntax, argc, argv, &arguments);
    struct error error;
    struct trace_reader *reader = trace_reader_open(arguments.paths[0], &error);
    bool good = reader != NULL && action(reader, &arguments, &error);
    if (!good) {
        command_complain(&error);
    }
    trace_reader_close(reader);
    return good ? EXIT_OK : EXIT_FAULT;
}

/* One of the traces: its portrait, if a picture is wanted, and its summary, printed or as JSON. */
static bool look_into(const char *path, const struct trace_arguments *arguments,
                      struct trace_portrait *portrait, json_t *all, struct error *error)
{
    struct trace_info info;
    struct trace_reader *reader = trace_reader_open(path, error);
    bool good = reader != NULL &&
                trace_info_collect(reader, &info, arguments->plot != NULL ? portrait : NULL, error);
    if (good && arguments->format == FORMAT_JSON) {
        (void)json_array_append_new(all, trace_info_json(path, trace_reader_header(reader), &info));
    } else if (good) {
        trace_info_print(stdout, path, trace_reader_header(reader), &info);
    }
    trace_reader_close(reader);
    return good;
}

static bool show_info(const struct trace_arguments *arguments, struct error *error)
{
    struct trace_portrait portraits[PORTRAITS_MAX] = {0};
    json_t *all = json_array();
    size_t count = arguments->paths[1] != NULL ? 2 : 1;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = look_into(arguments->paths[i], arguments, &portraits[i], all, error);
    }
    if (good && arguments->format == FORMAT_JSON) {
        (void)json_dumpf(count == 1 ? json_array_get(all, 0) : all, stdout,
                         JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        (void)putchar('\n');
    }
    json_decref(all);
    char pictures[PATH_MAX];
    if (good && arguments->plot != NULL) {
        (void)fflush(stdout);
        good =
            portrait_picture(portraits, arguments->paths, count, arguments->plot, pictures, error);
        if (good) {
            standard_files_tell("drawn: %s.svg, .png, and .csv with its data\n", pictures);
        }
    }
    for (size_t i = 0; i < PORTRAITS_MAX; i++) {
        trace_portrait_release(&portraits[i]);
    }
    return good;
}

static int command_info(int argc, char **argv)
{
    static const struct option_row options[] = {
        {OPTION("format", 0, "text|json", "How to show it (text)"), OPTION_WORD, AT(format)},
        {OPTION("plot", 0, "FOLDER",
                "Draw it too, with gnuplot: portrait-NAME.svg and .png in FOLDER, and .csv, their "
                "data"),
         OPTION_TEXT, AT(plot)},
        OPTION_ROW_END};
    static const struct command_line syntax = {
        .options = options,
        .form = "FILE [FILE]",
        .text = "Shows the contents of one or two traces; - is standard input.\vThe picture shows "
                "the timed window: operations and expiries, pending timers, and how the delays are "
                "distributed; of two traces on the same axes, to compare a recorded one with a "
                "generated one.",
        .places = {{.kind = OPTION_STREAM, AT(paths[0])}, {.kind = OPTION_STREAM, AT(paths[1])}},
        .needed = "which trace?",
        .excess = "two traces at a time, at most"};
    struct trace_arguments arguments = {0};
    command_line_read(&syntax, argc, argv, &arguments);
    struct error error;
    if (!show_info(&arguments, &error)) {
        return command_fail(&error);
    }
    return EXIT_OK;
}

static bool show_head(struct trace_reader *reader, const struct trace_arguments *arguments,
                      struct error *error)
{
    return trace_text_write_head(reader, arguments->limit, stdout, error);
}

static int command_head(int argc, char **argv)
{
    static const struct option_row options[] = {
        {OPTION("operations", 'n', "N", "How many (10)"), OPTION_WHOLE(0, UINT64_MAX), AT(limit)},
        OPTION_ROW_END};
    return with_trace(argc, argv, options,
                      "Shows a trace's first operations as CSV; - is standard input.", show_head);
}

static bool dump(struct trace_reader *reader, const struct trace_arguments *arguments,
                 struct error *error)
{
    (void)arguments;
    return trace_text_write(reader, stdout, error);
}

static int command_dump(int argc, char **argv)
{
    return with_trace(argc, argv, no_options,
                      "Writes a trace (- is standard input) as CSV to standard output; `timerlab "
                      "trace import csv` makes the same trace of it again.",
                      dump);
}

static bool validate(struct trace_reader *reader, const struct trace_arguments *arguments,
                     struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    struct trace_info info;
    if (!trace_info_collect(reader, &info, NULL, error)) {
        return false;
    }
    if (info.misplaced > 0) {
        return error_set(error,
                         "%s: operation %" PRIu64 " and %" PRIu64
                         " others name causes that do not fire at their ticks; a reaction has the "
                         "tick at which its cause is due",
                         arguments->paths[0], info.misplaced_event, info.misplaced - 1);
    }
    standard_files_say(stdout, arguments->paths[0]);
    (void)printf(": valid: %" PRIu64 " operations in %" PRIu64 " block%s%s%s\n", header->events,
                 header->blocks, header->blocks == 1 ? "" : "s", header->causes_known ? "" : "; ",
                 header->causes_known ? "" : TRACE_OPEN_LOOP_NOTE);
    return true;
}

static int command_validate(int argc, char **argv)
{
    return with_trace(
        argc, argv, no_options,
        "Reads all of a trace; - is standard input. Exit status 0 if it is complete and each "
        "reaction has the tick at which its cause fires, 1 if not, with the place and the reason.",
        validate);
}

const struct command trace_commands[] = {
    {"gen", "Generate a trace from a model of traffic", command_trace_gen, NULL},
    {"import", "Make a trace from a recording of another tool", command_trace_import, NULL},
    {"scale", "Superpose copies of a recording until there are more connections",
     command_trace_scale, NULL},
    {"info", "Show the figures of a trace, as text or pictures", command_info, NULL},
    {"head", "Print the first operations of a trace as CSV", command_head, NULL},
    {"dump", "Print all operations of a trace as CSV", command_dump, NULL},
    {"validate", "Check that a trace is complete and consistent", command_validate, NULL},
    {0},
};
