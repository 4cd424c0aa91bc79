/* timerlab show: a structure watched step by step. */
#include "command.h"
#include "command_option.h"
#include "outfile.h"
#include "progress.h"
#include "show.h"
#include "show_drawing.h"
#include "show_script.h"
#include "show_text.h"
#include "show_trace.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX 4096

struct show_arguments {
    struct catalog catalog;
    struct contender_list contenders;
    const char *structure;
    const char *script_text;
    const char *script_file;
    const char *trace;
    const char *out_path;
    uint64_t clock;
    uint64_t max_delay_ticks;
    struct show_window window;
    uint32_t ids[IDS_MAX];
    bool window_given; /* --from, --to or --ids */
    bool silent;
    struct error error;
};

enum {
    KEY_PLUGIN = 256,
    KEY_TRACE,
    KEY_FROM,
    KEY_TO,
    KEY_IDS,
    KEY_CLOCK,
    KEY_MAX_DELAY,
    KEY_PROGRESS,
};

static uint64_t parse_tick(const char *option, const char *text, struct argp_state *state)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 || value > TL_DEADLINE_MAX) {
        argp_error(state, "%s takes a number of ticks, not '%s'", option, text);
    }
    return value;
}

/* "3,7-9": the numbers of timers. */
static void parse_ids(const char *text, struct show_arguments *arguments, struct argp_state *state)
{
    const char *c = text;
    while (true) {
        char *end = NULL;
        errno = 0;
        unsigned long first = strtoul(c, &end, 10);
        unsigned long last = first;
        bool good = isdigit((unsigned char)*c) && errno == 0;
        if (good && *end == '-') {
            c = end + 1;
            last = strtoul(c, &end, 10);
            good = isdigit((unsigned char)*c) && errno == 0;
        }
        if (!good || first > last || last > UINT32_MAX || (*end != ',' && *end != '\0')) {
            argp_error(state, "--ids takes timers' numbers, as in 3,7-9, not '%s'", text);
            return;
        }
        if (last - first >= IDS_MAX - arguments->window.id_count) {
            argp_error(state, "--ids takes at most %d timers", IDS_MAX - 1);
            return;
        }
        for (unsigned long id = first; id <= last; id++) {
            arguments->ids[arguments->window.id_count++] = (uint32_t)id;
        }
        if (*end == '\0') {
            break;
        }
        c = end + 1;
    }
    arguments->window.ids = arguments->ids;
}

static void check_arguments(struct show_arguments *arguments, struct argp_state *state)
{
    if (arguments->structure == NULL) {
        argp_error(state, "which structure? `timerlab list` shows them");
    }
    int sources = (arguments->script_text != NULL) + (arguments->script_file != NULL) +
                  (arguments->trace != NULL);
    if (sources != 1) {
        argp_error(state, "what is to happen? One of: a script, as in 'start a 2; advance 2'; -f "
                          "FILE; --trace FILE");
    }
    if (arguments->trace == NULL && arguments->window_given) {
        argp_error(state, "--from, --to and --ids choose from a --trace");
    }
    if (arguments->window.from_tick > arguments->window.to_tick) {
        argp_error(state, "--from is after --to");
    }
    if (!catalog_select(&arguments->catalog, arguments->structure, &arguments->contenders,
                        &arguments->error)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
    }
    if (arguments->contenders.count != 1) {
        argp_error(state, "one structure at a time");
    }
}

static error_t parse_argument(int key, char *argument, struct argp_state *state)
{
    struct show_arguments *arguments = state->input;
    switch (key) {
    case 'f':
        arguments->script_file = argument;
        return 0;
    case 'o':
        arguments->out_path = argument;
        return 0;
    case 'q':
        arguments->silent = true;
        return 0;
    case KEY_PLUGIN:
        option_plugin(&arguments->catalog, argument, state);
        return 0;
    case KEY_TRACE:
        arguments->trace = argument;
        return 0;
    case KEY_FROM:
        arguments->window.from_tick = parse_tick("--from", argument, state);
        arguments->window_given = true;
        return 0;
    case KEY_TO:
        arguments->window.to_tick = parse_tick("--to", argument, state);
        arguments->window_given = true;
        return 0;
    case KEY_IDS:
        parse_ids(argument, arguments, state);
        arguments->window_given = true;
        return 0;
    case KEY_CLOCK:
        arguments->clock = parse_tick("--clock", argument, state);
        return 0;
    case KEY_MAX_DELAY:
        arguments->max_delay_ticks = parse_tick("--max-delay", argument, state);
        return 0;
    case KEY_PROGRESS:
        progress_set_mode(PROGRESS_ALWAYS);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0) {
            arguments->structure = argument;
        } else if (state->arg_num == 1) {
            arguments->script_text = argument;
        } else {
            argp_error(state, "the script is one argument: put it in quotes");
        }
        return 0;
    case ARGP_KEY_END:
        check_arguments(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"file", 'f', "FILE", 0, "Read the script from a file, - for standard input", 0},
    {"output", 'o', "FILE.svg|DIR", 0,
     "Also draw the steps: all in one picture, or one each into this folder", 0},
    {"quiet", 'q', NULL, 0, "Print no text: only draw", 0},
    {"trace", KEY_TRACE, "FILE", 0, "Show a window of this trace", 0},
    {"from", KEY_FROM, "TICK", 0, "The window's first tick (0)", 0},
    {"to", KEY_TO, "TICK", 0, "The window's last tick (the trace's end)", 0},
    {"ids", KEY_IDS, "ID,ID-ID,...", 0, "Leave out all other timers of the trace", 0},
    {"clock", KEY_CLOCK, "TICK", 0, "Where the clock stands at the beginning of a script (0)", 0},
    {"max-delay", KEY_MAX_DELAY, "TICKS", 0,
     "The longest delay to announce to the structure (the script's or trace's own)", 0},
    {"plugin", KEY_PLUGIN, "FILE[,NAME]", 0, "Also know the structure in this shared object", 0},
    {"progress", KEY_PROGRESS, NULL, 0, "Show progress even where there is no terminal", 0},
    {0},
};

static const struct argp parser = {
    options,
    parse_argument,
    "NAME[:opt=v...] [SCRIPT]",
    "Shows the inside of a structure after each step: slots, levels, rounds, heaps, queues."
    "\vThe steps of a script, divided by ; or new lines:\n"
    "  start NAME TICK   starts or restarts a timer for a deadline\n"
    "  stop NAME\n"
    "  advance TICK      one advance to this tick\n"
    "  tick [COUNT]      so many advances by one tick\n"
    "  wake [COUNT]      so many advances to where `next` says\n"
    "TICK counts from the clock with a + before it. For example:\n"
    "  timerlab show hier-wheel:slots=3 'start a 2; start b 4; tick 4'\n"
    "A structure without the hook `walk` is shown as it is known from outside.",
    NULL,
    NULL,
    NULL,
};

/* --- the sources ----------------------------------------------------------------------------- */

/* A whole file as text, which the caller frees; NULL with `error` set. */
static char *read_whole(const char *path, struct error *error)
{
    FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (stream == NULL) {
        (void)error_set(error, "%s: cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    char *text = NULL;
    size_t bytes = 0;
    errno = 0;
    ssize_t length = getdelim(&text, &bytes, '\0', stream);
    bool failed = ferror(stream) != 0;
    if (stream != stdin) {
        (void)fclose(stream);
    }
    if (length >= 0) {
        return text;
    }
    free(text);
    if (failed) {
        (void)error_set(error, "%s: cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    return strdup("");
}

static bool show_script(const struct show_arguments *arguments, struct show_script *script,
                        struct show *show, struct error *error)
{
    char *text = arguments->script_file != NULL ? read_whole(arguments->script_file, error)
                                                : strdup(arguments->script_text);
    if (text == NULL) {
        return false;
    }
    bool good = show_script_parse(script, text, error);
    free(text);
    if (!good) {
        return false;
    }
    const struct show_setup setup = {
        .capacity = script->name_count,
        .clock = arguments->clock,
        .max_delay_ticks = arguments->max_delay_ticks > 0
                               ? arguments->max_delay_ticks
                               : show_script_longest_delay(script, arguments->clock),
        .names = script->names,
    };
    return show_open(show, &arguments->contenders.items[0], &setup, error) &&
           show_script_run(script, show, error);
}

static bool show_trace(struct show_arguments *arguments, struct show *show, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(arguments->trace, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    const struct show_setup setup = {
        .capacity = header->ids,
        .max_delay_ticks =
            arguments->max_delay_ticks > 0 ? arguments->max_delay_ticks : header->max_delay_ticks,
    };
    bool good = true;
    if (arguments->window.from_tick > header->end_tick) {
        good = error_set(error, "%s: ends at tick %" PRIu64 ", before the window", arguments->trace,
                         header->end_tick);
    }
    if (arguments->window.to_tick > header->end_tick) {
        arguments->window.to_tick = header->end_tick;
    }
    good = good && show_open(show, &arguments->contenders.items[0], &setup, error) &&
           show_trace_run(reader, &arguments->window, show, error);
    trace_reader_close(reader);
    return good;
}

/* --- what is written ------------------------------------------------------------------------- */

static bool draw_to(const struct show *show, size_t first, size_t count, const char *path,
                    struct error *error)
{
    struct outfile file;
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    if (!show_draw(show, first, count, file.stream, error)) {
        outfile_abort(&file);
        return false;
    }
    return outfile_commit(&file, error);
}

static bool is_picture(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

static bool draw(const struct show *show, const char *path, struct error *error)
{
    if (is_picture(path)) {
        return draw_to(show, 0, show->step_count, path, error);
    }
    bool good = folder_make(path, error);
    for (size_t i = 0; good && i < show->step_count; i++) {
        char file[PATH_MAX];
        (void)snprintf(file, sizeof file, "%s/step-%03zu.svg", path, i);
        good = draw_to(show, i, 1, file, error);
    }
    return good;
}

static int run(struct show_arguments *arguments)
{
    struct show show = {0};
    struct show_script script = {0};
    bool good = arguments->trace != NULL
                    ? show_trace(arguments, &show, &arguments->error)
                    : show_script(arguments, &script, &show, &arguments->error);
    /* What happened before something went wrong explains it. */
    if (!arguments->silent && show.step_count > 0) {
        show_write_text(&show, stdout);
    }
    if (good && arguments->out_path != NULL) {
        good = draw(&show, arguments->out_path, &arguments->error);
    }
    if (!good) {
        command_complain(&arguments->error);
    } else if (show.truncated) {
        (void)fprintf(stderr, "timerlab: more than %d steps: the rest is not shown\n",
                      SHOW_STEPS_MAX);
    }
    show_close(&show);
    show_script_free(&script);
    return good ? EXIT_OK : EXIT_FAULT;
}

int command_show(int argc, char **argv)
{
    struct show_arguments arguments = {.window.to_tick = TL_DEADLINE_MAX};
    int status = EXIT_USAGE;
    if (!catalog_init(&arguments.catalog, &arguments.error)) {
        command_complain(&arguments.error);
        status = EXIT_FAULT;
    } else if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) == 0) {
        status = run(&arguments);
    }
    contender_list_free(&arguments.contenders);
    catalog_free(&arguments.catalog);
    return status;
}
