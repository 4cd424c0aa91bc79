/* timerlab trace fit: the workload tcp, fitted to a recording and held against it. */
#include "command.h"
#include "command_option.h"
#include "outfile.h"
#include "scenario.h"
#include "standard_files.h"
#include "tcp_fit.h"
#include "text_table.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

enum fit_format { FORMAT_TABLE, FORMAT_MD, FORMAT_JSON }; /* in the order of the help */

struct fit_arguments {
    const char *format_name;
    const char *input;
    const char *out_path;
    const char *scenario_path;
    enum fit_format format;
};

/* What is known of a recording by the tracepoints of a kernel, and of no other. */
#define FORMAT_NAME "ftrace"

static void take_word(void *at, const char *word, struct argp_state *state)
{
    struct fit_arguments *arguments = at;
    if (arguments->format_name == NULL) {
        arguments->format_name = word;
    } else if (arguments->input == NULL) {
        arguments->input = word;
    } else {
        argp_error(state, "one FILE at a time: '%s' is one too many", word);
    }
}

static void complete(void *at, struct argp_state *state)
{
    const struct fit_arguments *arguments = at;
    struct error error;
    if (arguments->input == NULL) {
        argp_error(state, "FORMAT and FILE are needed");
    } else if (import_format_find(arguments->format_name, &error) == NULL) {
        argp_error(state, "%s", error.text);
    } else if (strcmp(arguments->format_name, FORMAT_NAME) != 0) {
        argp_error(state,
                   "a recording of format %s does not have the kernel's timers of TCP; " FORMAT_NAME
                   " has",
                   arguments->format_name);
    } else if (strcmp(arguments->input, "-") == 0) {
        argp_error(state, "FILE is read once for each kind of timer: it cannot be standard input");
    } else if (arguments->scenario_path != NULL && arguments->out_path != NULL) {
        argp_error(state, "-o writes what was fitted, and with --scenario nothing is");
    }
}

static const struct option_row options[] = {
    {{"output", 'o', "FILE", 0, "Writes the fitted workload, for `timerlab trace gen --scenario`",
      0},
     OPTION_TEXT,
     OPTION_AT(struct fit_arguments, out_path)},
    {{"scenario", 0, "FILE", 0,
      "Fits nothing: holds this workload against the recording. Its seconds are the recording's, "
      "its seeds those of the judgement",
      0},
     OPTION_TEXT,
     OPTION_AT(struct fit_arguments, scenario_path)},
    OPTION_ROWS_FORMAT(struct fit_arguments, "table|md|json"),
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "FORMAT FILE",
    .text =
        "Fits the workload tcp to a recording of Linux's timers, and shows it beside the "
        "recording: for each kind of timer how many starts, what becomes of them, delays, "
        "burstiness, and the busiest timer. Generated is the median of 49 seeds that the search "
        "has not seen, and from the least to the most of them; `own` is one standard error of the "
        "recording itself, by its balanced half-samples."
        "\vFORMAT is ftrace: tracefs, trace-cmd report or perf script, as for `timerlab trace "
        "import`. Timers that are not TCP's are left out. Exit status: 0 done, however well it "
        "fits; 1 it cannot be read, or has too little of TCP; 2 usage.",
    .take_word = take_word,
    .complete = complete,
};

/* --- what comes out --------------------------------------------------------------------------- */

static const char *const verdict_words[] = {
    [TCP_MET] = "",
    [TCP_OWN] = "beyond 10 %, within its own",
    [TCP_BEYOND] = "beyond 10 %",
    [TCP_FEW] = "too few",
    [TCP_NONE] = "none",
};

static const char *const columns[] = {"recording", "kind",  "statistic", "recorded", "own",
                                      "generated", "least", "most",      "ratio",    "note"};
#define COLUMNS (sizeof columns / sizeof columns[0])

static void add_value(struct text_table *table, enum tcp_statistic statistic, double value)
{
    if (isnan(value)) {
        text_table_add(table, "-");
    } else if (statistic >= TCP_EXPIRED && statistic <= TCP_MOVED) {
        text_table_add(table, "%.2f %%", 100 * value);
    } else {
        text_table_add(table, value < 100 ? "%.3g" : "%.0f", value);
    }
}

static void print_table(const char *recording, const struct tcp_fit *fit, bool markdown)
{
    struct text_table table = {.columns = COLUMNS};
    for (size_t i = 0; i < COLUMNS; i++) {
        table.right[i] = i > 2 && i < 9;
        text_table_add(&table, "%s", columns[i]);
    }
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            enum tcp_statistic statistic = (enum tcp_statistic)s;
            enum tcp_verdict verdict = tcp_fit_judge(fit, (enum tcp_kind)kind, statistic);
            if (verdict == TCP_NONE) {
                continue;
            }
            text_table_add(&table, "%s", recording);
            text_table_add(&table, "%s", tcp_kind_names[kind]);
            text_table_add(&table, "%s", tcp_statistic_names[s]);
            add_value(&table, statistic, fit->recorded.value[kind][s]);
            double own = fit->recorded.own[kind][s];
            text_table_add(&table, isnan(own) ? "-" : "%.1f %%", 100 * own);
            add_value(&table, statistic, fit->generated.value[kind][s]);
            add_value(&table, statistic, fit->least.value[kind][s]);
            add_value(&table, statistic, fit->most.value[kind][s]);
            double ratio = tcp_fit_ratio(fit, (enum tcp_kind)kind, statistic);
            text_table_add(&table, isnan(ratio) ? "-" : "%.3f", ratio);
            text_table_add(&table, "%s", verdict_words[verdict]);
        }
    }
    (markdown ? text_table_write_markdown : text_table_write)(&table, stdout);
    text_table_free(&table);
}

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static bool print_json(const char *recording, const struct tcp_fit *fit, const json_t *scenario)
{
    json_t *rows = json_array();
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            enum tcp_statistic statistic = (enum tcp_statistic)s;
            (void)json_array_append_new(
                rows, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "kind",
                                tcp_kind_names[kind], "statistic", tcp_statistic_names[s],
                                "recorded", number(fit->recorded.value[kind][s]), "own",
                                number(fit->recorded.own[kind][s]), "generated",
                                number(fit->generated.value[kind][s]), "least",
                                number(fit->least.value[kind][s]), "most",
                                number(fit->most.value[kind][s]), "ratio",
                                number(tcp_fit_ratio(fit, (enum tcp_kind)kind, statistic)), "note",
                                verdict_words[tcp_fit_judge(fit, (enum tcp_kind)kind, statistic)]));
        }
    }
    json_t *root = json_pack("{s:s, s:s, s:I, s:O, s:o}", "schema", "timerlab-fit-1", "recording",
                             recording, "other_starts", (json_int_t)fit->other_starts, "scenario",
                             scenario, "rows", rows);
    bool written =
        root != NULL && json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) == 0;
    (void)putchar('\n');
    json_decref(root);
    return written;
}

/* The fitted workload, as `trace gen --scenario` takes it; parameters at their defaults are left
 * out. */
static json_t *scenario_json(const struct tcp_fit *fit)
{
    const struct gen_part *part = &fit->part;
    const struct gen_parameter *rows = part->workload->parameters;
    json_t *parameters = json_object();
    for (size_t i = 0; rows[i].name != NULL; i++) {
        double value = part->parameters[i];
        if (i == GEN_TICK_US || fabs(value - rows[i].default_value) == 0) {
            continue;
        }
        (void)json_object_set_new(parameters, rows[i].name,
                                  rows[i].words != NULL ? json_string(rows[i].words[(size_t)value])
                                                        : json_real(value));
    }
    return json_pack("{s:f, s:f, s:i, s:[{s:s, s:I, s:o}]}", "tick_us",
                     part->parameters[GEN_TICK_US], "seconds", fit->recorded.seconds, "seed",
                     TCP_FIT_SEED, "parts", "workload", part->workload->name, "connections",
                     (json_int_t)part->connections, "parameters", parameters);
}

static bool write_scenario(const char *path, const json_t *scenario, struct error *error)
{
    struct outfile file;
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    if (json_dumpf(scenario, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) != 0 &&
        !ferror(file.stream)) {
        outfile_abort(&file);
        return error_set(error, "%s: out of memory", path);
    }
    (void)fputc('\n', file.stream);
    return outfile_commit(&file, error);
}

/* What was counted, and how it came out. */
static void tell(const char *input, const struct tcp_fit *fit)
{
    unsigned judged = 0;
    unsigned own = 0;
    unsigned beyond = 0;
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            enum tcp_verdict verdict =
                tcp_fit_judge(fit, (enum tcp_kind)kind, (enum tcp_statistic)s);
            judged += verdict != TCP_FEW && verdict != TCP_NONE;
            own += verdict == TCP_OWN;
            beyond += verdict == TCP_BEYOND;
        }
    }
    for (unsigned i = 0; i < fit->note_count; i++) {
        standard_files_tell("%s: %s\n", input, fit->notes[i]);
    }
    (void)fprintf(
        stderr,
        "%s: %" PRIu64 " starts are of timers that are not TCP's, and left out\n"
        "%s: %u statistics, %u of them more than 10 %% off in the median of %u seeds that "
        "were not fitted to, and %u of these by more than the recording itself is uncertain; "
        "%u traces generated\n",
        input, fit->other_starts, input, judged, own + beyond, TCP_FIT_SEEDS, beyond,
        fit->generations);
}

/* The workload of a scenario that has nothing else. */
static bool read_given(const char *path, struct gen_part *given, struct error *error)
{
    struct scenario scenario;
    if (!scenario_read(path, &scenario, error)) {
        return false;
    }
    *given = scenario.parts[0];
    bool good =
        (scenario.part_count == 1 && given->workload == gen_find("tcp", error)) ||
        error_set(
            error,
            "%s: only a scenario of one part, of the workload tcp, can be held against a recording",
            path);
    scenario_free(&scenario);
    return good;
}

int command_trace_fit(int argc, char **argv)
{
    struct fit_arguments arguments = {0};
    if (!command_line_read(&syntax, argc, argv, &arguments)) {
        return EXIT_USAGE;
    }
    struct tcp_fit fit;
    struct gen_part part = {0};
    const struct gen_part *given = arguments.scenario_path != NULL ? &part : NULL;
    struct error error;
    bool good = (arguments.out_path == NULL || outfile_check(arguments.out_path, &error)) &&
                (given == NULL || read_given(arguments.scenario_path, &part, &error)) &&
                tcp_fit(arguments.input, given, &fit, &error);
    if (!good) {
        command_complain(&error);
        return EXIT_FAULT;
    }
    const char *slash = strrchr(arguments.input, '/');
    const char *recording = slash != NULL ? slash + 1 : arguments.input;
    json_t *scenario = scenario_json(&fit);
    good = scenario != NULL || error_set(&error, "out of memory for a scenario");
    good = good &&
           (arguments.out_path == NULL || write_scenario(arguments.out_path, scenario, &error));
    if (!good) {
        command_complain(&error);
    } else {
        tell(arguments.input, &fit);
        if (arguments.format == FORMAT_JSON) {
            (void)print_json(recording, &fit, scenario);
        } else {
            print_table(recording, &fit, arguments.format == FORMAT_MD);
        }
    }
    json_decref(scenario);
    return good ? EXIT_OK : EXIT_FAULT;
}
