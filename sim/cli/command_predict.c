/* timerlab predict: a recording's own expiries compared with those of structures. */
#include "command.h"
#include "command_option.h"
#include "context.h"
#include "import.h"
#include "memory.h"
#include "predict.h"
#include "results.h"
#include "standard_files.h"
#include "temporary_file.h"
#include "text_table.h"
#include "watched.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS_MAX 4

enum predict_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON }; /* in the order of the help */

struct predict_arguments {
    struct command_structures structures;
    const char *format_name;
    const char *input;
    uint64_t clock_ns; /* 0: not given */
    uint64_t hz;       /* likewise */
    enum predict_format format;
};

/* Which structures are like the recorded system, and exact, and how its recording is read. */
static const struct system_kind {
    const char *format;
    const char *structures;
    const char *tick_ns; /* NULL: as the import takes it */
    uint64_t clock_ns;   /* the steps of the system's clock; 0: the recording says them */
} kinds[] = {
    {"ftrace", "coarse-wheel,binary-heap", NULL, 0},
    /* The ticks are so short that a timer restarted within a step still fires in it. */
    {"process", "libevent,binary-heap", "1000", 4000000},
};

static const struct system_kind *find_kind(const char *format)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].format, format) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* --- the command line ------------------------------------------------------------------------- */

static void complete(void *at, struct argp_state *state)
{
    struct predict_arguments *arguments = at;
    struct error error;
    if (arguments->input == NULL) {
        argp_error(state, "FORMAT and FILE are needed");
    }
    if (import_format_find(arguments->format_name, &error) == NULL) {
        argp_error(state, "%s", error.text);
    }
    const struct system_kind *kind = find_kind(arguments->format_name);
    if (kind == NULL) {
        argp_error(state,
                   "a recording of format %s does not say when timers expired; ftrace and "
                   "process do",
                   arguments->format_name);
        return;
    }
    if (arguments->clock_ns > 0 && kind->clock_ns == 0) {
        argp_error(state, "--clock-ns: a recording of format %s has its own clock", kind->format);
    }
    if (arguments->hz > 0 && kind->clock_ns > 0) {
        argp_error(state, "--hz: a recording of format %s has no jiffies", kind->format);
    }
    if (arguments->structures.selections.count == 0) {
        word_list_append(&arguments->structures.selections, kind->structures);
    }
    command_structures_find(&arguments->structures, catalog_select, ALL_OR_NAMES, state);
}

static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct predict_arguments, "NAME[:opt=v...],...|all",
                          "Structures (those like the recorded system, and a heap)"),
    OPTION_ROW_PLUGIN(struct predict_arguments, OPTION_PLUGIN_TEXT),
    {OPTION("clock-ns", 0, "NS",
            "Of process: the steps in which the recorded library's clock goes (4000000, which is "
            "libevent's where the kernel has 250 jiffies a second)"),
     OPTION_WHOLE(1, UINT64_C(1000000000)), OPTION_AT(struct predict_arguments, clock_ns)},
    {OPTION("hz", 0, "N", "Of ftrace: the kernel's jiffies per second (estimated)"),
     OPTION_WHOLE(1, 1000000), OPTION_AT(struct predict_arguments, hz)},
    OPTION_ROWS_FORMAT(struct predict_arguments, "table|csv|json"),
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "FORMAT FILE",
    .text = "Replays a recording through structures, and compares when timers fire with when the "
            "recorded system expired them: shares of the recorded expiries that a structure fires "
            "at the same tick, within one and within two, those that it never fires, and expiries "
            "that the recording does not have.\vFORMAT is ftrace (the kernel's timers: each CPU's "
            "are a structure of their own) or process, and FILE as for `timerlab trace import`. "
            "The worst go to standard error, with their lines in FILE. Exit status: 0 done, 1 it "
            "cannot be read or a structure cannot take it, 2 usage.",
    .places = {{.kind = OPTION_STREAM, OPTION_AT(struct predict_arguments, format_name)},
               {.kind = OPTION_STREAM, OPTION_AT(struct predict_arguments, input)}},
    .excess = "one FILE at a time: '%s' is one too many",
    .complete = complete,
};

/* --- results ---------------------------------------------------------------------------------- */

/* One structure's. */
struct predict_row {
    char algo[384]; /* with options */
    struct prediction prediction;
};

static double share(const struct prediction *prediction, uint64_t count)
{
    return prediction->expiries > 0 ? (double)count / (double)prediction->expiries : 0;
}

static void add_row(struct results *results, const char *recording, const struct predict_row *from)
{
    const struct prediction *it = &from->prediction;
    struct row *row = results_add(results);
    row_set_text(row, PREDICT_RECORDING, recording);
    row_set_text(row, PREDICT_ALGO, from->algo);
    row_set_integer(row, PREDICT_EXPIRIES, it->expiries);
    row_set_real(row, PREDICT_SAME_TICK, share(it, it->same_tick));
    row_set_real(row, PREDICT_WITHIN_1, share(it, it->within_1));
    row_set_real(row, PREDICT_WITHIN_2, share(it, it->within_2));
    row_set_integer(row, PREDICT_MISSED, it->missed);
    row_set_integer(row, PREDICT_EXTRA, it->extra);
}

static const char *const kind_words[] = {
    [PREDICTION_OFF] = "off", [PREDICTION_MISSED] = "missed", [PREDICTION_EXTRA] = "extra"};

static json_t *worst_json(const struct prediction *prediction)
{
    json_t *list = json_array();
    for (size_t i = 0; i < prediction->worst_count; i++) {
        const struct prediction_place *place = &prediction->worst[i];
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:I, s:I, s:b}", "kind", kind_words[place->kind], "start_line",
                      (json_int_t)place->start_line, "line", (json_int_t)place->line, "off_ticks",
                      (json_int_t)place->off_steps, "deferrable", place->deferrable));
    }
    return list;
}

/* The rows, each with the worst of its places. */
static void print_json(const struct results *results, const struct predict_row *rows, int argc,
                       char **argv)
{
    json_t *list = results_json_rows(results);
    json_t *context = context_json(argc, argv);
    for (size_t i = 0; i < results->count; i++) {
        (void)json_object_set_new(json_array_get(list, i), "worst",
                                  worst_json(&rows[i].prediction));
    }
    results_write_rows(list, context, false, stdout);
    json_decref(context);
    json_decref(list);
}

static void tell_worst(const struct predict_arguments *arguments, const struct predict_row *row)
{
    const struct prediction *it = &row->prediction;
    if (it->deferrable > 0) {
        standard_files_tell("%s: %" PRIu64
                            " expiries are of deferrable timers, for which an idle CPU does "
                            "not wake up; %" PRIu64 " of them are not at the same tick\n",
                            row->algo, it->deferrable, it->deferrable_off);
    }
    for (size_t i = 0; i < it->worst_count; i++) {
        const struct prediction_place *place = &it->worst[i];
        const char *kind = place->deferrable ? ", deferrable" : "";
        if (place->kind == PREDICTION_EXTRA) {
            standard_files_tell("%s: %s: line %" PRIu64 ": started%s; fires, but did not expire\n",
                                row->algo, arguments->input, place->start_line, kind);
        } else if (place->kind == PREDICTION_MISSED) {
            standard_files_tell("%s: %s: line %" PRIu64 ": expired, started at line %" PRIu64
                                "%s; never fires\n",
                                row->algo, arguments->input, place->line, place->start_line, kind);
        } else {
            standard_files_tell("%s: %s: line %" PRIu64 ": expired, started at line %" PRIu64
                                "%s; fires %" PRIu64 " tick%s %s\n",
                                row->algo, arguments->input, place->line, place->start_line, kind,
                                (uint64_t)llabs(place->off_steps),
                                llabs(place->off_steps) == 1 ? "" : "s",
                                place->off_steps > 0 ? "later" : "earlier");
        }
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Convert the recording to a trace at `path`, and read its own expiries. */
static enum import_result read_recording(const struct predict_arguments *arguments,
                                         const char *path, struct recording *recording,
                                         struct error *error)
{
    const struct system_kind *kind = find_kind(arguments->format_name);
    const struct import_format *format = import_format_find(kind->format, error);
    char clock[24];
    char hz[24];
    struct import_setting settings[SETTINGS_MAX];
    size_t count = 0;
    if (kind->tick_ns != NULL) {
        settings[count++] = (struct import_setting){"tick-ns", kind->tick_ns};
    }
    if (kind->clock_ns > 0) {
        (void)snprintf(clock, sizeof clock, "%" PRIu64,
                       arguments->clock_ns > 0 ? arguments->clock_ns : kind->clock_ns);
        settings[count++] = (struct import_setting){"clock-ns", clock};
    }
    if (arguments->hz > 0) {
        (void)snprintf(hz, sizeof hz, "%" PRIu64, arguments->hz);
        settings[count++] = (struct import_setting){"hz", hz};
    }
    char *said;
    size_t bytes;
    FILE *report = memory_stream(&said, &bytes);
    const struct import_job job = {.input = arguments->input,
                                   .output = path,
                                   .settings = settings,
                                   .setting_count = count,
                                   .report = report,
                                   .recording = recording};
    enum import_result result = format->run(&job, error);
    memory_stream_close(report);
    for (char *rest = said, *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strncmp(line, "warning: ", 9) == 0) {
            standard_files_tell("%s\n", line);
        }
    }
    free(said);
    return result;
}

/* The parameters of a child. */
struct replay {
    const struct stream *stream;
    const struct recording *recording;
    const struct contender *contender;
};

static bool predict_here(void *ctx, void *result, struct error *error)
{
    (void)error;
    const struct replay *replay = ctx;
    struct contender contender = *replay->contender;
    contender.timed = watched(contender.timed);
    child_phase(child_hook_seconds(), "while the recording was replayed");
    predict(replay->stream, replay->recording, &contender, result);
    return true;
}

/* Fill a row for each structure that supports the recording, and report the others. A plug-in may
 * do anything, which is reported in `wrong`. */
static bool predict_all(const struct predict_arguments *arguments, const struct stream *stream,
                        const struct recording *recording, struct predict_row *rows, size_t *count,
                        bool *wrong, struct error *error)
{
    const struct contender_list *contenders = &arguments->structures.contenders;
    bool good = true;
    for (size_t i = 0; i < contenders->count && good; i++) {
        const struct contender *contender = &contenders->items[i];
        struct predict_row *row = &rows[*count];
        (void)snprintf(row->algo, sizeof row->algo, "%s%s%s", contender->timed->name,
                       contender->option_text[0] != '\0' ? ":" : "", contender->option_text);
        struct replay replay = {stream, recording, contender};
        struct child_outcome outcome;
        const struct child_request request = {
            .run = predict_here, .ctx = &replay, .result_bytes = sizeof row->prediction};
        good = plug_in_run(contender->timed, &request, &row->prediction, &outcome, error);
        if (good && outcome.end == CHILD_FAILED && !plug_in_is(contender->timed)) {
            good = error_set(error, "%s", outcome.reason);
        } else if (good && child_fault(&outcome) != NULL) {
            standard_files_tell("timerlab: %s: %s\n", row->algo, child_fault(&outcome));
            *wrong = true;
        } else if (good && row->prediction.refusal[0] != '\0') {
            (void)error_set(error, "%s", row->prediction.refusal);
            command_complain(error);
        } else {
            *count += good;
        }
    }
    return good;
}

static void print(const struct predict_arguments *arguments, const struct predict_row *rows,
                  size_t count, int argc, char **argv)
{
    const char *slash = strrchr(arguments->input, '/');
    const char *recording = slash != NULL ? slash + 1 : arguments->input;
    struct results results = {.kind = &predict_kind};
    for (size_t i = 0; i < count; i++) {
        add_row(&results, recording, &rows[i]);
        tell_worst(arguments, &rows[i]);
    }
    if (arguments->format == FORMAT_JSON) {
        print_json(&results, rows, argc, argv);
    } else if (arguments->format == FORMAT_CSV) {
        results_write_csv(&results, stdout);
    } else {
        results_write_table(&results, stdout);
    }
    results_free(&results);
}

static int predict_recording(void *at, int argc, char **argv)
{
    const struct predict_arguments *arguments = at;
    struct recording recording = {0};
    struct error error;
    struct temporary trace = {0};
    if (!temporary_make(&trace, &error)) {
        return command_fail(&error);
    }
    size_t count = 0;
    bool wrong = false;
    struct predict_row *rows = memory_new(arguments->structures.contenders.count, sizeof *rows);
    struct stream *stream = NULL;
    bool good = read_recording(arguments, trace.file, &recording, &error) == IMPORT_DONE &&
                (stream = stream_open(trace.file, &error)) != NULL &&
                (recording.expiry_count > 0 ||
                 error_set(&error, "no timer expires in the recording that was started in it")) &&
                predict_all(arguments, stream, &recording, rows, &count, &wrong, &error);
    stream_close(stream);
    temporary_remove(&trace);
    if (good) {
        print(arguments, rows, count, argc, argv);
    } else {
        command_complain(&error);
    }
    recording_free(&recording);
    free(rows);
    return good && count > 0 && !wrong ? EXIT_OK : EXIT_FAULT;
}

int command_predict(int argc, char **argv)
{
    struct predict_arguments arguments = {0};
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures,
                                  predict_recording);
}
