/* timerlab tune: which structure, with which options, for a trace. */
#include "command.h"
#include "command_drive.h"
#include "context.h"
#include "memory.h"
#include "outfile.h"
#include "progress.h"
#include "simulate.h"
#include "standard_files.h"
#include "trace.h"
#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BUDGET_SECONDS     120.0
#define TIMEOUT_SHARE              12.0 /* of that time, no single pass takes more while it searches */
#define SEARCH_TIMEOUT_MIN_SECONDS 2.0
#define FINAL_TIMEOUT_SECONDS      600.0
#define MAXIMUM_NS                 1e18 /* of any limit */

enum tune_format { FORMAT_TEXT, FORMAT_JSON }; /* in the order of the help */

struct tune_arguments {
    struct command_structures structures;
    struct tune_request request;
    struct tolerance max_lateness;
    struct tolerance max_early;
    double stall_ns;
    bool fixed;
    enum tune_format format;
    const char *out_path;
    struct error error;
};

static void take_trace(void *at, const char *word, struct argp_state *state)
{
    struct tune_arguments *arguments = at;
    if (arguments->request.trace_path != NULL) {
        argp_error(state, "one trace at a time");
    }
    arguments->request.trace_path = word;
}

static void complete(void *at, struct argp_state *state)
{
    struct tune_arguments *arguments = at;
    struct tune_request *request = &arguments->request;
    struct command_structures *structures = &arguments->structures;
    if (request->trace_path == NULL) {
        argp_error(state, "which trace? `timerlab trace gen` and `timerlab trace import` make "
                          "them");
    }
    if (structures->selections.count == 0) {
        word_list_append(&structures->selections, "all");
    }
    command_structures_find(structures, catalog_select, ALL_OR_NAMES, state);
    for (size_t i = 0; i < structures->contenders.count; i++) {
        const struct tl_algo *algo = structures->contenders.items[i].timed;
        if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            argp_error(state, "%s fires nothing: it cannot serve any traffic", algo->name);
        }
    }
    request->final_timeout_seconds = request->timeout_seconds;
    if (request->timeout_seconds == 0) {
        request->timeout_seconds =
            fmax(request->budget_seconds / TIMEOUT_SHARE, SEARCH_TIMEOUT_MIN_SECONDS);
        request->final_timeout_seconds = FINAL_TIMEOUT_SECONDS;
    }
    request->limits.stall_ns =
        arguments->stall_ns < MAXIMUM_NS ? (uint64_t)arguments->stall_ns : UINT64_MAX;
    if (request->by_counts && arguments->stall_ns < MAXIMUM_NS) {
        argp_error(state, "--max-stall needs times, which --counts does not take: omit one");
    }
    request->vary = !arguments->fixed;
    request->structures = &structures->contenders;
    request->floor = catalog_floor(&structures->catalog);
}

#define AT(member) OPTION_AT(struct tune_arguments, member)
static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct tune_arguments, "NAME[:opt=v...],...|all",
                          "Structures to choose from, with options to begin with (all)"),
    OPTION_ROW_MAX_LATENESS(struct tune_arguments, max_lateness),
    {{"max-early", 0, "TICKS|TIME", 0, "How early a timer may fire by its structure's promise (0)",
      0},
     AT(max_early),
     .take = command_take_tolerance},
    {{"exact", 0, NULL, 0, "Only structures that promise to be exact for every delay", 0},
     OPTION_FLAG,
     AT(request.limits.exact)},
    {{"max-bytes", 0, "BYTES", 0, "The most memory at any time; K, M, G", 0},
     OPTION_BYTES,
     AT(request.limits.bytes)},
    {{"max-stall", 0, "TIME", 0, "The longest single advance, as in 200us", 0},
     OPTION_TIME(1, 0, MAXIMUM_NS),
     AT(stall_ns)},
    {{"max-wakeups", 0, "N", 0, "Wakeups a second, in the trace's own time", 0},
     OPTION_REAL(0, 1e12),
     AT(request.limits.wakeups_per_s)},
    OPTION_ROWS_DRIVE(struct tune_arguments, request.drive),
    {{"fixed", 0, NULL, 0, "Take the options as they are: only choose the structure", 0},
     OPTION_FLAG,
     AT(fixed)},
    {{"counts", 0, NULL, 0,
      "Choose by counts alone, without timing: quick, and the same on every machine", 0},
     OPTION_FLAG,
     AT(request.by_counts)},
    {{"seconds", 0, "S", 0, "How long the search may take (120)", 0},
     OPTION_SECONDS(0.1, 1e6),
     AT(request.budget_seconds)},
    OPTION_ROW_TIMEOUT(struct tune_arguments, request.timeout_seconds,
                       "Of one pass of one structure (a twelfth of --seconds, but no less than 2, "
                       "while it searches; then 600)"),
    {{"output", 'o', "FILE", 0, "Also write the answer, with all that was tried, as JSON", 0},
     OPTION_TEXT,
     AT(out_path)},
    OPTION_ROW_PLUGIN(struct tune_arguments, OPTION_PLUGIN_TEXT),
    {{"format", 0, "text|json", 0, "Output format (text)", 0}, OPTION_WORD, AT(format)},
    OPTION_ROW_WIDE,
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "TRACE",
    .text = "Searches structures and options for the traffic of a trace, and prints which to use, "
            "why, at what cost, and how sure that is. Excludes structures that may fire later or "
            "earlier, or need more memory, longer pauses or more wakeups than the options allow. "
            "- is standard input.\vExit status: 0 there "
            "is an answer, 1 nothing keeps to the limits, a structure had a fault or crashed, or "
            "the search failed, 2 usage.",
    .take_word = take_trace,
    .complete = complete,
};

static void print_step(const char *what)
{
    if (progress_is_shown()) {
        standard_files_tell("%s\n", what);
    }
}

static bool read_limits(struct tune_arguments *arguments)
{
    struct tune_request *request = &arguments->request;
    struct trace_reader *reader = trace_reader_open(request->trace_path, &arguments->error);
    if (reader == NULL) {
        return false;
    }
    double tick_ns = (double)trace_reader_header(reader)->tick_ns;
    (void)tolerance_in_ticks(&arguments->max_lateness, tick_ns, &request->limits.late_ticks);
    (void)tolerance_in_ticks(&arguments->max_early, tick_ns, &request->limits.early_ticks);
    trace_reader_close(reader);
    return true;
}

static bool write_answer(const char *path, const json_t *answer, struct error *error)
{
    struct outfile file;
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    (void)json_dumpf(answer, file.stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    (void)fputc('\n', file.stream);
    return outfile_commit(&file, error);
}

static int run_tune(void *at, int argc, char **argv)
{
    struct tune_arguments *arguments = at;
    struct tune_request *request = &arguments->request;
    struct tune_result result = {0};
    request->report = print_step;
    if ((arguments->out_path != NULL && !outfile_check(arguments->out_path, &arguments->error)) ||
        !read_limits(arguments) || !tune(request, &result, &arguments->error)) {
        return command_fail(&arguments->error);
    }
    json_t *context = context_json(argc, argv);
    json_t *answer = tune_json(&result, context);
    bool good = answer != NULL ||
                error_set(&arguments->error, "%s: not UTF-8, which JSON requires of a name",
                          request->trace_path);
    if (good && arguments->format == FORMAT_JSON) {
        (void)json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        (void)putchar('\n');
    } else if (good) {
        tune_write_text(request, &result, stdout);
    }
    good = good && (arguments->out_path == NULL ||
                    write_answer(arguments->out_path, answer, &arguments->error));
    if (!good) {
        command_complain(&arguments->error);
    }
    int status = good && result.best != NULL && !result.wrong ? EXIT_OK : EXIT_FAULT;
    json_decref(answer);
    json_decref(context);
    tune_result_free(&result);
    return status;
}

int command_tune(int argc, char **argv)
{
    struct tune_arguments arguments = {
        .request = {.budget_seconds = DEFAULT_BUDGET_SECONDS,
                    .memory_limit_bytes = memory_default_limit(),
                    .limits = {.bytes = UINT64_MAX, .wakeups_per_s = INFINITY}},
        .stall_ns = MAXIMUM_NS};
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures, run_tune);
}
