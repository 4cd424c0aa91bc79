/* timerlab show: a structure watched step by step. */
#include "command.h"
#include "command_option.h"
#include "memory.h"
#include "outfile.h"
#include "progress.h"
#include "show.h"
#include "standard_files.h"
#include "text_file.h"
#include "watched.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX    4096
#define UNSET_TICK UINT64_MAX /* of the window */

struct show_arguments {
    struct command_structures structures;
    const char *structure;
    const char *script_text;
    const char *script_file;
    const char *trace;
    const char *out_path;
    struct show_script script;
    struct show_setup setup;
    struct show_window window;
    uint32_t ids[IDS_MAX];
    bool silent;
    uint64_t events;     /* of the trace */
    struct shown *shown; /* shared with the child, which fills it */
    struct error error;
};

/* "3,7-9": the numbers of timers. */
static void take_ids(void *at, const struct option_row *row, const char *text,
                     struct argp_state *state)
{
    struct show_arguments *arguments = at;
    struct tl_range ranges[IDS_MAX];
    struct show_window *window = &arguments->window;
    size_t count = option_ranges(row, text, ranges, state);
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].last - ranges[i].first >= IDS_MAX - window->id_count) {
            argp_error(state, "--ids takes at most %d timers, not '%s'", IDS_MAX - 1, text);
            return;
        }
        for (uint64_t id = ranges[i].first; id <= ranges[i].last; id++) {
            arguments->ids[window->id_count++] = (uint32_t)id;
        }
    }
    window->ids = arguments->ids;
}

static void complete(void *at, struct argp_state *state)
{
    struct show_arguments *arguments = at;
    struct show_window *window = &arguments->window;
    int sources = (arguments->script_text != NULL) + (arguments->script_file != NULL) +
                  (arguments->trace != NULL);
    if (sources != 1) {
        argp_error(state, "nothing to show. Give one of: a script, as in 'start a 2; advance 2'; "
                          "-f FILE; --trace FILE");
    }
    if (arguments->trace == NULL && (window->from_tick != UNSET_TICK ||
                                     window->to_tick != UNSET_TICK || window->id_count > 0)) {
        argp_error(state, "--from, --to and --ids choose from a --trace");
    }
    window->from_tick = window->from_tick != UNSET_TICK ? window->from_tick : 0;
    window->to_tick = window->to_tick != UNSET_TICK ? window->to_tick : TL_DEADLINE_MAX;
    if (window->from_tick > window->to_tick) {
        argp_error(state, "--from is after --to");
    }
    word_list_append(&arguments->structures.selections, arguments->structure);
    command_structures_find(&arguments->structures, catalog_select, "", state);
    if (arguments->structures.contenders.count != 1) {
        argp_error(state, "one structure at a time");
    }
}

#define AT(member)   OPTION_AT(struct show_arguments, member)
#define TICK(member) OPTION_WHOLE(0, TL_DEADLINE_MAX), AT(member)
static const struct option_row options[] = {
    {OPTION("file", 'f', "FILE", "Read the script from a file, - for standard input"),
     OPTION_STREAM, AT(script_file)},
    {OPTION("output", 'o', "FILE.svg|FILE.html|DIR",
            "Also draw the steps: all in one picture, one by one on a page that plays them, or one "
            "each into this folder"),
     OPTION_TEXT, AT(out_path)},
    {OPTION("quiet", 'q', NULL, "Print no text: only draw"), OPTION_FLAG, AT(silent)},
    {OPTION("trace", 0, "FILE", "Show a window of this trace; - is standard input"), OPTION_STREAM,
     AT(trace)},
    {OPTION("from", 0, "TICK", "The window's first tick (0)"), TICK(window.from_tick)},
    {OPTION("to", 0, "TICK", "The window's last tick (the trace's end)"), TICK(window.to_tick)},
    {OPTION("ids", 0, "ID,ID-ID,...",
            "Show only these timers of the trace; reactions to expiries then come at their "
            "recorded ticks"),
     .number = {.to = UINT32_MAX, .list_max = IDS_MAX - 1, .dash = '-', .example = "3,7-9"},
     .take = take_ids},
    {OPTION("clock", 0, "TICK", "Tick of the clock at the beginning of a script (0)"),
     TICK(setup.clock)},
    {OPTION("max-delay", 0, "TICKS",
            "The longest delay to announce to the structure (the script's or trace's own)"),
     TICK(setup.max_delay_ticks)},
    OPTION_ROW_PLUGIN(struct show_arguments, OPTION_PLUGIN_TEXT),
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "NAME[:opt=v...] [SCRIPT]",
    .text = "Shows the inside of a structure after each step: slots, levels, rounds, heaps, "
            "queues.\vThe steps of a script, divided by ; or new lines:\n"
            "  start NAME TICK   starts or restarts a timer for a deadline\n"
            "  stop NAME\n"
            "  advance TICK      one advance to this tick\n"
            "  tick [COUNT]      COUNT advances by one tick\n"
            "  wake [COUNT]      COUNT advances to the tick that `next` returns\n"
            "TICK counts from the clock with a + before it. For example:\n"
            "  timerlab show hier-wheel:slots=3 'start a 2; start b 4; tick 4'\n"
            "A structure without the hook `walk` is shown as seen from outside.",
    .places = {{.kind = OPTION_STREAM, AT(structure)}, {.kind = OPTION_STREAM, AT(script_text)}},
    .needed = "which structure? `timerlab list` shows them",
    .excess = "the script is one argument: put it in quotes",
    .complete = complete,
};

/* --- the sources ----------------------------------------------------------------------------- */

/* Read the script, and the structure's initial state. */
static bool prepare_script(struct show_arguments *arguments, struct error *error)
{
    struct show_script *script = &arguments->script;
    struct show_setup *setup = &arguments->setup;
    char *text = arguments->script_file != NULL ? text_file_read(arguments->script_file, error)
                                                : memory_copy(arguments->script_text);
    const char *file = arguments->script_file;
    struct error why;
    bool good = text != NULL && show_script_parse(script, text, &why);
    if (text != NULL && !good) {
        (void)error_set(error, "%s%s%s", file != NULL ? file : "", file != NULL ? ": " : "",
                        why.text);
    }
    free(text);
    setup->capacity = script->name_count;
    setup->names = script->names;
    if (good && setup->max_delay_ticks == 0) {
        setup->max_delay_ticks = show_script_longest_delay(script, setup->clock);
    }
    return good;
}

/* The same of a trace. */
static bool prepare_trace(struct show_arguments *arguments, struct error *error)
{
    struct show_setup *setup = &arguments->setup;
    struct trace_reader *reader = trace_reader_open(arguments->trace, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    if (!header->causes_known) {
        standard_files_tell("%s: " TRACE_OPEN_LOOP_NOTE "\n", arguments->trace);
    }
    setup->capacity = header->ids;
    setup->clock = 0;
    if (setup->max_delay_ticks == 0) {
        setup->max_delay_ticks = header->max_delay_ticks;
    }
    bool good = arguments->window.from_tick <= header->end_tick ||
                error_set(error, "%s: ends at tick %" PRIu64 ", before the window",
                          arguments->trace, header->end_tick);
    if (arguments->window.to_tick > header->end_tick) {
        arguments->window.to_tick = header->end_tick;
    }
    arguments->events = header->events;
    trace_reader_close(reader);
    return good;
}

/* --- in the child ---------------------------------------------------------------------------- */

/* Text and pictures together. */
#define SHOWN_BYTES_MAX ((size_t)1 << 28)

struct shown {
    bool good;
    struct error error;
    bool truncated;
    size_t text_bytes;
    size_t pictures;
    size_t picture_ends[SHOW_STEPS_MAX]; /* in `data` */
    char data[SHOWN_BYTES_MAX];          /* the text, then the pictures */
};

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path);
    size_t bytes = strlen(ending);
    return length > bytes && strcmp(path + length - bytes, ending) == 0;
}

static void draw_all(const char *path, struct show *show, struct shown *shown, FILE *stream)
{
    size_t steps = ends_with(path, ".svg") ? show->step_count : 1;
    for (size_t i = 0; i < show->step_count; i += steps) {
        show_draw(show, i, steps, stream);
        shown->picture_ends[shown->pictures++] = (size_t)ftell(stream);
    }
}

static bool show_here(void *ctx, void *result, struct error *error)
{
    const struct show_arguments *arguments = ctx;
    struct shown *shown = arguments->shown;
    struct show show = {0};
    struct contender contender = arguments->structures.contenders.items[0];
    FILE *stream = memory_made(fmemopen(shown->data, sizeof shown->data, "w"));
    contender.counted = watched(contender.counted);
    child_phase(child_hook_seconds(), "while it was shown");
    shown->good = show_open(&show, &contender, &arguments->setup, &shown->error) &&
                  (arguments->trace != NULL
                       ? show_trace_run(arguments->trace, &arguments->window, &show, &shown->error)
                       : show_script_run(&arguments->script, &show, &shown->error));
    shown->truncated = show.truncated;
    /* The steps before an error explain it. */
    if (!arguments->silent && show.step_count > 0) {
        show_write_text(&show, stream);
    }
    shown->text_bytes = (size_t)ftell(stream);
    if (shown->good && arguments->out_path != NULL) {
        draw_all(arguments->out_path, &show, shown, stream);
    }
    show_close(&show);
    (void)result;
    return fclose(stream) == 0 || error_set(error, "there is too much to show; choose fewer steps");
}

/* --- output ----------------------------------------------------------------------------------- */

static const char *picture_at(const struct shown *shown, size_t picture, size_t *bytes)
{
    size_t from = picture > 0 ? shown->picture_ends[picture - 1] : shown->text_bytes;
    *bytes = shown->picture_ends[picture] - from;
    return shown->data + from;
}

static bool draw_to(const struct shown *shown, size_t picture, const char *path,
                    struct error *error)
{
    struct outfile file;
    size_t bytes = 0;
    const char *drawing = picture_at(shown, picture, &bytes);
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    (void)fwrite(drawing, 1, bytes, file.stream);
    return outfile_commit(&file, error);
}

static bool draw_page(const struct shown *shown, const char *path, struct error *error)
{
    struct outfile file;
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    show_page_begin(file.stream);
    for (size_t i = 0; i < shown->pictures; i++) {
        size_t bytes = 0;
        const char *drawing = picture_at(shown, i, &bytes);
        show_page_add(drawing, bytes, file.stream);
    }
    return outfile_commit(&file, error);
}

static bool draw(const struct shown *shown, const char *path, struct error *error)
{
    if (ends_with(path, ".svg")) {
        return draw_to(shown, 0, path, error);
    }
    if (ends_with(path, ".html")) {
        return draw_page(shown, path, error);
    }
    bool good = folder_make(path, error);
    for (size_t i = 0; good && i < shown->pictures; i++) {
        char file[PATH_MAX];
        (void)snprintf(file, sizeof file, "%s/step-%03zu.svg", path, i);
        good = draw_to(shown, i, file, error);
    }
    return good;
}

static bool show_and_draw(struct show_arguments *arguments, struct error *error)
{
    const struct shown *shown = arguments->shown;
    const struct tl_algo *algo = arguments->structures.contenders.items[0].timed;
    struct child_outcome outcome;
    struct progress progress;
    const struct child_request request = {
        .run = show_here, .ctx = arguments, .progress = progress_follow, .progress_ctx = &progress};
    progress_begin(&progress, "replaying up to the window", "operations", arguments->events);
    if (!plug_in_run(algo, &request, NULL, &outcome, error)) {
        return false;
    }
    if (outcome.end != CHILD_DONE) {
        return error_set(error, "%s: %s", algo->name, outcome.reason);
    }
    (void)fwrite(shown->data, 1, shown->text_bytes, stdout);
    bool good = shown->good || error_set(error, "%s", shown->error.text);
    if (good && arguments->out_path != NULL) {
        good = draw(shown, arguments->out_path, error);
    }
    return good && (child_fault(&outcome) == NULL ||
                    error_set(error, "%s: %s", algo->name, child_fault(&outcome)));
}

static int show_structure(void *at, int argc, char **argv)
{
    struct show_arguments *arguments = at;
    struct error *error = &arguments->error;
    struct shown *shown = child_memory_new(sizeof *shown);
    (void)argc;
    (void)argv;
    arguments->shown = shown;
    bool good = (arguments->trace != NULL ? prepare_trace(arguments, error)
                                          : prepare_script(arguments, error)) &&
                show_and_draw(arguments, error);
    if (!good) {
        command_complain(error);
    } else if (shown->truncated) {
        (void)fprintf(stderr, "timerlab: more than %d steps: the rest is not shown\n",
                      SHOW_STEPS_MAX);
    }
    child_memory_free(shown, sizeof *shown);
    show_script_free(&arguments->script);
    return good ? EXIT_OK : EXIT_FAULT;
}

int command_show(int argc, char **argv)
{
    struct show_arguments arguments = {.window = {.from_tick = UNSET_TICK, .to_tick = UNSET_TICK}};
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures,
                                  show_structure);
}
