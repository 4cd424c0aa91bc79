/* timerlab compare: results against one another. */
#include "answer.h"
#include "command.h"
#include "command_drive.h"
#include "compare.h"
#include "context.h"
#include "memory.h"
#include "outfile.h"
#include "program.h"
#include "progress.h"
#include "simulate.h"
#include "standard_files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <wordexp.h>

#define DEFAULT_CONFIDENCE 0.95
#define DEFAULT_ROUNDS     10

/* In the order of the help. */
enum compare_format { FORMAT_TABLE, FORMAT_MARKDOWN, FORMAT_JSON };

struct compare_arguments {
    struct word_list sets;
    struct word_list commands;
    struct word_list structures;
    struct word_list traces;
    struct word_list metrics;
    const char *base;
    const char *out_dir;
    unsigned rounds;
    int by;                 /* which word of --by: only algo; negative: not given */
    double threshold;       /* negative: none */
    double count_threshold; /* negative: none */
    enum compare_format format;
    struct result_set **loaded; /* one for each path, however often it is named */
    size_t loaded_count;
    struct compare_side *sides; /* those of the request */
    struct compare_request request;
};

/* Check that the arguments are consistent. */
static void complete(void *at, struct argp_state *state)
{
    struct compare_arguments *arguments = at;
    arguments->request.by_algo = arguments->by == 0;
    if (arguments->commands.count > 0) {
        if (arguments->sets.count > 0) {
            argp_error(state, "either sets of results, or --command to make them; not both");
        }
        if (arguments->commands.count < 2 && !arguments->request.by_algo) {
            argp_error(state, "--command: one alone has nothing to be compared with");
        }
    } else if (arguments->sets.count < (arguments->request.by_algo ? 1 : 2)) {
        argp_error(state, arguments->request.by_algo
                              ? "which results? A folder, a results.json, or the JSON of "
                                "timerlab-bench"
                              : "it takes two sets of results, or one with --by algo");
    }
    if (arguments->out_dir != NULL && arguments->commands.count == 0) {
        argp_error(state, "-o keeps what --command makes, and there is none");
    }
    if (arguments->base != NULL && !arguments->request.by_algo) {
        argp_error(state, "--base names the structure that --by algo compares with; the first set "
                          "is the base of the others");
    }
}

#define AT(member) OPTION_AT(struct compare_arguments, member)
static const struct option_row options[] = {
    {OPTION("by", 0, "algo", "Compare the structures of each set with one another"), OPTION_WORD,
     AT(by)},
    {OPTION("base", 0, "NAME[:opt=v...]",
            "With --by algo: the structure to compare with (the first of each trace that is "
            "punctual)"),
     OPTION_TEXT, AT(base)},
    {OPTION("algorithm", 'a', "NAME[:opt=v...],...", "Only these structures; may be repeated"),
     OPTION_LIST, AT(structures)},
    {OPTION("trace", 0, "PATTERN",
            "Only traces, or benchmarks, with a name that matches this shell pattern; may be "
            "repeated"),
     OPTION_LIST, AT(traces)},
    {OPTION("metric", 0, "NAME",
            "Judge this instead of the time per operation: a key of `samples` in results.json, or "
            "of a benchmark's repetition; may be repeated"),
     OPTION_LIST, AT(metrics)},
    {OPTION("counts", 0, NULL, "Also compare the counts of different structures"), OPTION_FLAG,
     AT(request.all_counts)},
    {OPTION("confidence", 0, "PERCENT", "Of intervals and verdicts (95%)"),
     OPTION_PERCENT(50, 99.99), AT(request.confidence)},
    {OPTION("min-effect", 0, "PERCENT",
            "A change must be shown to be larger than this (1% of pairs, 5% of sides measured "
            "apart, 50% of one run a side measured apart)"),
     OPTION_PERCENT(0, 1000), AT(request.min_effect)},
    OPTION_ROW_MAX_LATENESS(struct compare_arguments, request.max_lateness),
    {OPTION("correction", 0, "holm|bh|none",
            "For many comparisons at once: Holm (the default), Benjamini and Hochberg, none"),
     OPTION_WORD, AT(request.correction)},
    {OPTION("threshold", 0, "PERCENT",
            "End with status 1 if something is slower by more than this, or fails where the base "
            "does not"),
     OPTION_PERCENT(0, 1e6), AT(threshold)},
    {OPTION("count-threshold", 0, "PERCENT",
            "Likewise if a count of work, wakeups or bytes grows by more than this"),
     OPTION_PERCENT(0, 1e6), AT(count_threshold)},
    OPTION_ROWS_FORMAT(struct compare_arguments, "table|md|json"),
    {OPTION("command", 0, "COMMAND",
            "Make the results: a program and its arguments, quoted as for a shell, that prints "
            "results as JSON, such as `timerlab sim ... --format json`; once for each side. The "
            "commands take turns"),
     OPTION_LIST, AT(commands)},
    {OPTION("rounds", 0, "K", "How often each command runs (10)"), OPTION_WHOLE(1, 1000),
     AT(rounds)},
    {OPTION(
         "output", 'o', "DIR",
         "Keep the output of the commands: DIR/1 has a set of the first, DIR/2 of the second, ..."),
     OPTION_TEXT, AT(out_dir)},
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "SET SET...\n--by algo SET...\n--command COMMAND --command COMMAND...",
    .text =
        "Compares each measurement with the first set: faster, slower, or no significant "
        "difference.\n\nA SET is a folder of results, a results.json of `timerlab sim`, or "
        "the JSON of `timerlab-bench` or any Google Benchmark; SET:NAME[:opt=v...] is one "
        "structure of it, which is compared with one of another name."
        "\vTimes are judged by distribution-free rank tests: the runs of one `timerlab sim` and "
        "the rounds of --command as pairs, everything else as two "
        "samples. Fewer than five runs a side are refused. Counts are the same in every run, so "
        "each difference is shown.\n\n"
        "Exit status: 0 done, 1 a regression beyond --threshold or --count-threshold, or nothing "
        "that could be compared, 2 usage.",
    .places = {{.kind = OPTION_LIST, AT(sets)}},
    .complete = complete,
};

/* --- sets ------------------------------------------------------------------------------------ */

static void free_sets(struct compare_arguments *arguments)
{
    for (size_t i = 0; i < arguments->loaded_count; i++) {
        result_set_free(arguments->loaded[i]);
        free(arguments->loaded[i]);
    }
    free((void *)arguments->loaded);
    free(arguments->sides);
}

/* A new, empty place for a set. */
static struct result_set *add_set(struct compare_arguments *arguments)
{
    struct result_set *set = memory_new(1, sizeof *set);
    arguments->loaded = (struct result_set **)memory_resize(
        (void *)arguments->loaded, arguments->loaded_count + 1, sizeof set);
    arguments->loaded[arguments->loaded_count++] = set;
    return set;
}

static struct result_set *load_set(struct compare_arguments *arguments, const char *path,
                                   struct error *error)
{
    for (size_t i = 0; i < arguments->loaded_count; i++) {
        if (strcmp(arguments->loaded[i]->name, path) == 0) {
            return arguments->loaded[i];
        }
    }
    struct result_set *set = add_set(arguments);
    return result_set_load(set, path, error) ? set : NULL;
}

/* Return the length of the path in SET[:NAME[:opt=v...]]: the longest that exists, or else all. */
static size_t path_length(const char *text)
{
    struct stat info;
    size_t length = strlen(text);
    if (stat(text, &info) == 0) {
        return length;
    }
    for (const char *colon = strchr(text, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%.*s", (int)(colon - text), text);
        if (stat(path, &info) == 0) {
            return (size_t)(colon - text);
        }
    }
    return length;
}

static bool add_side(struct compare_arguments *arguments, const char *text, struct error *error)
{
    struct compare_side *side = &arguments->sides[arguments->request.side_count++];
    size_t length = path_length(text);
    char path[4096];
    (void)snprintf(path, sizeof path, "%.*s", (int)length, text);
    (void)snprintf(side->label, sizeof side->label, "%s", text);
    side->one = text[length] == ':';
    if (side->one && !compare_structure_parse(&side->structure, text + length + 1, error)) {
        return false;
    }
    side->set = load_set(arguments, path, error);
    return side->set != NULL;
}

/* --- commands that take turns ---------------------------------------------------------------- */

/* Return the command's output, read from `file`, to be freed by the caller; NULL with `error`
 * set. */
static char *take_output(const char *command, int status, FILE *file, size_t *bytes,
                         struct error *error)
{
    char *text = NULL;
    size_t room = 0;
    rewind(file);
    ssize_t length = memory_read_until(&text, &room, '\0', file);
    /* 1 means that a structure has a fault, which is in the results */
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_FAULT;
    if (ended && length > 0) {
        *bytes = (size_t)length;
        return text;
    }
    if (ended) {
        (void)error_set(error, "'%s' printed nothing; it has to print results as JSON", command);
    } else {
        (void)error_set(error, "'%s' failed with %s %d", command,
                        WIFEXITED(status) ? "exit status" : "signal",
                        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    free(text);
    return NULL;
}

/* All that a command prints, to be freed by the caller; NULL with `error` set. */
static char *run_command(const char *command, size_t *bytes, struct error *error)
{
    wordexp_t words;
    if (wordexp(command, &words, WRDE_NOCMD) != 0) {
        (void)error_set(error,
                        "'%s' is not a program with its arguments; where it needs a shell, give "
                        "sh -c '...'",
                        command);
        return NULL;
    }
    char *text = NULL;
    FILE *file = memory_unless_short(tmpfile());
    if (file == NULL || words.we_wordc == 0) {
        (void)error_set(error, "'%s' cannot be run: %s", command,
                        file == NULL ? strerror(errno) : "there is nothing in it");
    } else {
        int status = program_run((const char *const *)words.we_wordv, fileno(file), error);
        text = status >= 0 ? take_output(command, status, file, bytes, error) : NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    wordfree(&words);
    return text;
}

static bool make_new_folder(const char *path, struct error *error)
{
    return mkdir(path, 0777) == 0 ||
           error_set(error, "%s: cannot be made: %s; -o takes a new folder", path, strerror(errno));
}

/* DIR, and in it a folder for each command. */
static bool make_folders(const struct compare_arguments *arguments, struct error *error)
{
    bool done = arguments->out_dir == NULL || make_new_folder(arguments->out_dir, error);
    for (size_t i = 0; i < arguments->commands.count && arguments->out_dir != NULL && done; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%zu", arguments->out_dir, i + 1);
        done = make_new_folder(path, error);
    }
    return done;
}

static bool keep_output(const struct compare_arguments *arguments, size_t command, unsigned round,
                        const char *text, size_t bytes, struct error *error)
{
    char path[4096];
    struct outfile file;
    if (arguments->out_dir == NULL) {
        return true;
    }
    (void)snprintf(path, sizeof path, "%s/%zu/round-%04u.json", arguments->out_dir, command + 1,
                   round + 1);
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    (void)fwrite(text, 1, bytes, file.stream);
    return outfile_commit(&file, error);
}

static bool run_one(const struct compare_arguments *arguments, size_t command, unsigned round,
                    struct error *error)
{
    char source[512];
    size_t bytes = 0;
    char *text = run_command(arguments->commands.items[command], &bytes, error);
    if (text == NULL) {
        return false;
    }
    (void)snprintf(source, sizeof source, "round %u of '%.400s'", round + 1,
                   arguments->commands.items[command]);
    bool done = result_set_add(arguments->loaded[command], source, text, bytes, error) &&
                keep_output(arguments, command, round, text, bytes, error);
    free(text);
    return done;
}

/* Runs all commands in each round, and makes a side of each. */
static bool run_commands(struct compare_arguments *arguments, struct error *error)
{
    size_t count = arguments->commands.count;
    bool done = make_folders(arguments, error);
    for (size_t i = 0; i < count && done; i++) {
        struct result_set *set = add_set(arguments);
        result_set_begin(set, arguments->commands.items[i]);
        struct compare_side *side = &arguments->sides[arguments->request.side_count++];
        side->set = set;
        (void)snprintf(side->label, sizeof side->label, "%s", arguments->commands.items[i]);
    }
    struct progress progress;
    progress_begin(&progress, "running", "commands", arguments->rounds * count);
    for (unsigned round = 0; round < arguments->rounds && done; round++) {
        for (size_t at = 0; at < count && done; at++) {
            done = run_one(arguments, simulate_turn(round, at, count), round, error);
            progress_update(&progress, round * count + at + 1);
        }
    }
    progress_end(&progress);
    return done;
}

static bool load_all(struct compare_arguments *arguments, struct error *error)
{
    size_t count = arguments->sets.count + arguments->commands.count;
    arguments->sides = memory_new(count, sizeof *arguments->sides);
    arguments->request.sides = arguments->sides;
    if (arguments->commands.count > 0) {
        return run_commands(arguments, error);
    }
    bool done = true;
    for (size_t i = 0; i < arguments->sets.count && done; i++) {
        done = add_side(arguments, arguments->sets.items[i], error);
    }
    return done;
}

/* --- structures ------------------------------------------------------------------------------ */

/* Take the lists of -a apart at their commas; the caller frees *structures. */
static bool parse_structures(const struct word_list *lists, struct compare_structure **structures,
                             size_t *count, struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < lists->count; i++) {
        char *copy = memory_copy(lists->items[i]);
        char *rest = copy;
        for (char *text = strsep(&rest, ","); good && text != NULL; text = strsep(&rest, ",")) {
            *structures = memory_resize(*structures, *count + 1, sizeof **structures);
            good = compare_structure_parse(&(*structures)[(*count)++], text, error);
        }
        free(copy);
    }
    return good;
}

/* --- what CI wants to know ------------------------------------------------------------------- */

static bool is_work(const char *count)
{
    return strncmp(count, "n_", 2) == 0 || strncmp(count, "bytes_", 6) == 0 ||
           strstr(count, "wakeups") != NULL;
}

/* Says each regression; how many there are. */
static size_t print_regressions(const struct compare_arguments *arguments,
                                const struct comparisons *comparisons)
{
    size_t regressions = 0;
    for (size_t i = 0; i < comparisons->count && arguments->threshold >= 0; i++) {
        const struct comparison *item = &comparisons->items[i];
        if (item->status == COMPARE_FAILED && item->other_failed) {
            standard_files_tell("regression: %s: %s\n", item->other.workload, item->reason);
            regressions++;
        } else if (item->verdict == VERDICT_SLOWER &&
                   compare_slowdown(item) > arguments->threshold) {
            standard_files_tell("regression: %s, %s, %s: %+.1f %% time\n", item->other.workload,
                                item->other.algo, item->metric, 100 * compare_slowdown(item));
            regressions++;
        }
    }
    for (size_t i = 0; i < comparisons->difference_count && arguments->count_threshold >= 0; i++) {
        const struct compare_difference *difference = &comparisons->differences[i];
        if (is_work(difference->name) &&
            difference->other > difference->base * (1 + arguments->count_threshold)) {
            standard_files_tell("regression: %s, %s, %s: %.15g, was %.15g\n",
                                difference->measured.workload, difference->measured.algo,
                                difference->name, difference->other, difference->base);
            regressions++;
        }
    }
    return regressions;
}

/* Print the answer for each trace of a set in which the structures took turns. */
static void print_answers(const struct compare_arguments *arguments,
                          const struct compare_side *side)
{
    const struct result_session *session = &side->set->sessions[0];
    const struct results *rows = &session->results;
    for (size_t i = 0; i < rows->count && rows->kind == &replay_kind; i++) {
        const char *trace = row_text(&rows->rows[i], COL_TRACE);
        const json_t *known = context_trace(session->context, trace);
        const json_t *tick_ns = json_object_get(known, "tick_ns");
        const json_t *seconds = json_object_get(known, "window_seconds");
        struct answer_trace about = {.name = trace, .window_seconds = json_number_value(seconds)};
        bool known_before = false;
        for (size_t k = 0; k < i && !known_before; k++) {
            known_before = strcmp(row_text(&rows->rows[k], COL_TRACE), trace) == 0;
        }
        if (!known_before &&
            tolerance_in_ticks(&arguments->request.max_lateness,
                               json_is_number(tick_ns) ? json_number_value(tick_ns) : NAN,
                               &about.max_late_ticks)) {
            answer_print(rows, &about, stdout);
            (void)putchar('\n');
        }
    }
}

static bool print(const struct compare_arguments *arguments, const struct comparisons *comparisons,
                  struct error *error)
{
    const struct compare_request *request = comparisons->request;
    bool card = arguments->request.by_algo && arguments->format == FORMAT_TABLE &&
                request->only_count + request->workload_count == 0;
    for (size_t i = 0; i < comparisons->warning_count; i++) {
        standard_files_tell("warning: %s\n", comparisons->warnings[i]);
    }
    if (arguments->format == FORMAT_JSON) {
        return compare_print_json(comparisons, stdout) ||
               error_set(error, "a name is not UTF-8, which JSON requires");
    }
    for (size_t i = 0; card && i < request->side_count; i++) {
        if (request->sides[i].set->count == 1) {
            print_answers(arguments, &request->sides[i]);
        }
    }
    compare_print(comparisons, arguments->format == FORMAT_MARKDOWN, stdout);
    return true;
}

static int conclude(const struct compare_arguments *arguments,
                    const struct comparisons *comparisons)
{
    size_t regressions = print_regressions(arguments, comparisons);
    if (arguments->threshold >= 0 && comparisons->judged == 0) {
        (void)fprintf(stderr, "timerlab: nothing could be judged, so nothing is known of "
                              "regressions\n");
        return EXIT_FAULT;
    }
    return regressions > 0 ? EXIT_FAULT : EXIT_OK;
}

static int compare_sets(struct compare_arguments *arguments)
{
    struct error error;
    struct comparisons comparisons = {0};
    struct compare_request *request = &arguments->request;
    struct compare_structure base;
    struct compare_structure *only = NULL;
    int status = EXIT_FAULT;
    if (!parse_structures(&arguments->structures, &only, &request->only_count, &error) ||
        (arguments->base != NULL && !compare_structure_parse(&base, arguments->base, &error))) {
        command_complain(&error);
        free(only);
        return EXIT_USAGE;
    }
    bool done = load_all(arguments, &error);
    request->in_turn = arguments->commands.count > 0;
    request->base = arguments->base != NULL ? &base : NULL;
    request->only = only;
    request->workloads = arguments->traces.items;
    request->workload_count = arguments->traces.count;
    request->metrics = arguments->metrics.items;
    request->metric_count = arguments->metrics.count;
    if (done && compare_results(request, &comparisons, &error) &&
        print(arguments, &comparisons, &error)) {
        status = conclude(arguments, &comparisons);
    } else {
        command_complain(&error);
    }
    comparisons_free(&comparisons);
    free_sets(arguments);
    free(only);
    return status;
}

int command_compare(int argc, char **argv)
{
    struct compare_arguments arguments = {
        .rounds = DEFAULT_ROUNDS,
        .by = -1,
        .request = {.confidence = DEFAULT_CONFIDENCE, .min_effect = -1},
        .threshold = -1,
        .count_threshold = -1};
    command_line_read(&syntax, argc, argv, &arguments);
    int status = compare_sets(&arguments);
    struct word_list *words[] = {&arguments.sets, &arguments.commands, &arguments.structures,
                                 &arguments.traces, &arguments.metrics};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        free((void *)words[i]->items);
    }
    return status;
}
