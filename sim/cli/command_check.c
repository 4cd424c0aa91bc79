/* timerlab check: run the conformance kit on structures, and report faults. */
#include "catalog.h"
#include "check_crash.h"
#include "child.h"
#include "command.h"
#include "command_option.h"
#include "context.h"
#include "guess.h"
#include "kit.h"
#include "memory.h"
#include "outfile.h"
#include "progress.h"
#include "temporary_file.h"
#include "text_table.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SECONDS    2.0

/* What hangs once hangs often: after the first time, it is given up sooner. */
#define HANG_SECONDS       1.0
#define HANG_HOOK_SECONDS  5.0

/* One defect fails many cases: after this many the others are skipped, unless --all is given. */
#define FAILING_MOST       5u

/* Where a fault is shown by so few, no fewer are looked for in other cases. */
#define FEW_OPERATIONS     2u

/* Structures with larger instances are checked with --large only. */
#define INSTANCE_BYTES_MAX (UINT64_C(32) << 20)

/* Lines of a trace that are printed; all of it can be saved. */
#define TRACE_LINES        40u

/* The fuzzer's name in the list of cases. */
static const char fuzz_name[] = "fuzz";

/* The row of a trace that is run again. */
static const char replay_name[] = "replay";

enum check_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_MD }; /* in the order of the help */

struct check_arguments {
    struct command_structures structures;
    const char *case_name; /* NULL: all, and the fuzzer */
    const char *replay_path;
    const char *save_path;
    bool list;
    bool all;
    bool large;
    bool crash;
    double crash_share;
    enum check_format format;
    struct kit_fuzz_plan plan;
    struct kit_limits limits;
    struct error error;
};

/* What came of one case on one structure. */
struct check_row {
    const struct contender *contender;
    const char *name;
    const char *group;
    struct kit_verdict verdict;
    struct kit_trace trace; /* that shows the fault */
    bool in_full;           /* a fault is reported in full, the others only by name */
    bool again;             /* where no operations repeat it: the case failed once more */
};

struct check_report {
    struct check_row *rows;
    size_t count;
    uint64_t seed;
    size_t faults;
    size_t left; /* cases, the fuzzer one of them, that were not run because others had failed */
    struct text_table table;
    struct text_page page;
};

/* --- the command line ------------------------------------------------------------------------ */

static void take_case(void *at, const struct option_row *row, const char *name,
                      struct argp_state *state)
{
    struct check_arguments *arguments = at;
    (void)row;
    arguments->case_name = name;
    struct tl_guess guess = {.given = name};
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    bool found = tl_guess_is(&guess, fuzz_name);
    for (size_t i = 0; i < count && !found; i++) {
        found = tl_guess_is(&guess, cases[i].name);
    }
    if (!found) {
        argp_error(state, "there is no case '%s'%s --list shows all", name, tl_guess_text(&guess));
    }
}

static void complete(void *at, struct argp_state *state)
{
    struct check_arguments *arguments = at;
    if (arguments->list) {
        return;
    }
    if (arguments->format == FORMAT_MD) {
        argp_error(state, "--format md goes with --list");
    }
    command_structures_find(&arguments->structures, catalog_select, ALL_OR_NAMES, state);
    if (arguments->replay_path != NULL && arguments->structures.contenders.count != 1) {
        argp_error(state, "--replay is for one structure");
    }
    if (arguments->crash && arguments->format != FORMAT_TABLE) {
        argp_error(state, "--crash prints a table only");
    }
}

#define AT(member) OPTION_AT(struct check_arguments, member)
static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct check_arguments, "NAME[:opt=v...],...|all",
                          "Structures to check; with options, under these values only; may be "
                          "repeated"),
    OPTION_ROW_PLUGIN(struct check_arguments, OPTION_PLUGIN_TEXT),
    {{"case", 0, "NAME", 0, "Only this case; fuzz is the fuzzer", 0}, .take = take_case},
    {{"list", 0, NULL, 0, "List the cases and their assertions", 0}, OPTION_FLAG, AT(list)},
    {{"seconds", 0, "S", 0, "How long to fuzz each structure (2); 0: never", 0},
     OPTION_SECONDS(0, 1e7),
     AT(plan.seconds)},
    {{"operations", 0, "N", 0, "Fuzz each structure with N operations instead", 0},
     OPTION_WHOLE(0, UINT64_MAX),
     AT(plan.operations)},
    {{"seed", 0, "K", 0, "Of the fuzzer's first session (1); the next has K + 1", 0},
     OPTION_WHOLE(0, UINT64_MAX),
     AT(plan.seed)},
    {{"replay", 0, "FILE", 0, "Only run this trace; - is standard input", 0},
     OPTION_STREAM,
     AT(replay_path)},
    {{"large", 0, NULL, 0, "With more than a million timers too: minutes rather than seconds", 0},
     OPTION_FLAG,
     AT(large)},
    {{"all", 0, NULL, 0, "Continue after faults, and report each in full", 0},
     OPTION_FLAG,
     AT(all)},
    {{"crash", 0, NULL, 0,
      "Of durable structures: end the process and cut the power at one point after another, under "
      "each policy, and compare the recovered timers with the acknowledged ones",
      0},
     OPTION_FLAG,
     AT(crash)},
    {{"crash-share", 0, "X", 0,
      "Fraction of the crashes to run (1): 0.1 is a tenth, 10 ten times as many", 0},
     OPTION_REAL(0.001, 1000),
     AT(crash_share)},
    {{"save", 0, "FILE", 0, "Write the operations that show the simplest fault", 0},
     OPTION_TEXT,
     AT(save_path)},
    {{"format", 0, "table|json|md", 0, "Output format (table); md with --list only", 0},
     OPTION_WORD,
     AT(format)},
    OPTION_ROW_WIDE,
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .text = "Tests structures against the contract and their own promises: named cases, then "
            "random operations against a model. Each structure runs in a process of its own.\vExit "
            "status: 0 no fault, 1 a fault was found, 2 usage.",
    .complete = complete,
};

/* --- running --------------------------------------------------------------------------------- */

static struct kit_target target_of(const struct check_arguments *arguments,
                                   const struct contender *contender)
{
    struct kit_target target = kit_target_of(contender->timed, contender->counted);
    target.embedded = contender->embedded;
    memcpy(target.options, contender->options, sizeof target.options);
    target.pinned = contender->option_text[0] != '\0';
    target.large = arguments->large;
    target.seed = arguments->plan.seed;
    return target;
}

static struct check_row *new_row(struct check_report *report, const struct contender *contender,
                                 const char *group, const char *name)
{
    report->rows = memory_resize(report->rows, report->count + 1, sizeof *report->rows);
    struct check_row *row = &report->rows[report->count++];
    *row = (struct check_row){.contender = contender, .group = group, .name = name};
    return row;
}

static void show_operations(void *ctx, uint64_t operations)
{
    progress_update(ctx, operations);
}

static void run_fuzz(const struct check_arguments *arguments, const struct kit_target *target,
                     struct check_row *row)
{
    struct progress progress;
    struct kit_fuzz_plan plan = arguments->plan;
    progress_begin(&progress, target->algo->name, "operations", plan.operations);
    plan.progress = show_operations;
    plan.progress_ctx = &progress;
    kit_fuzz(target, &plan, &arguments->limits, &row->verdict, &row->trace);
    progress_end(&progress);
}

static bool run_replay(struct check_arguments *arguments, const struct kit_target *target,
                       struct check_row *row)
{
    bool from_stdin = strcmp(arguments->replay_path, "-") == 0;
    FILE *stream = from_stdin ? stdin : memory_unless_short(fopen(arguments->replay_path, "r"));
    if (stream == NULL) {
        return error_set(&arguments->error, "%s: cannot be read: %s", arguments->replay_path,
                         strerror(errno));
    }
    bool read = kit_trace_read(&row->trace, target->algo, stream, arguments->replay_path,
                               &arguments->error);
    if (!from_stdin) {
        (void)fclose(stream);
    }
    for (size_t i = 0; read && i < row->trace.session_count; i++) {
        read = catalog_leaves_path_alone(target->algo, row->trace.sessions[i].options,
                                         &arguments->error);
    }
    if (read) {
        kit_replay(target, &row->trace, &arguments->limits, &row->verdict);
    }
    return read;
}

/* How many operations repeat the fault. */
static size_t operations_of(const struct check_row *row)
{
    return row->verdict.repeats ? row->trace.count : SIZE_MAX;
}

/* Return the fault that the fewest operations repeat, of the structure with rows from `from` on;
 * NULL: no fault. */
static struct check_row *simplest_fault(const struct check_report *report, size_t from)
{
    struct check_row *simplest = NULL;
    for (size_t i = from; i < report->count; i++) {
        struct check_row *row = &report->rows[i];
        if (row->contender == report->rows[from].contender && row->verdict.result == KIT_FAULT &&
            (simplest == NULL || operations_of(row) < operations_of(simplest))) {
            simplest = row;
        }
    }
    return simplest;
}

/* Choose the faults that are reported in full: the simplest, or all. */
static void choose_full(const struct check_arguments *arguments, const struct kit_target *target,
                        struct check_report *report, size_t from)
{
    const struct check_row *simplest = simplest_fault(report, from);
    for (size_t i = from; i < report->count; i++) {
        struct check_row *row = &report->rows[i];
        row->in_full = row->verdict.result == KIT_FAULT && (row == simplest || arguments->all);
        if (!row->in_full) {
            kit_trace_release(&row->trace);
            row->verdict.repeats = false;
        } else if (!row->verdict.repeats) {
            struct kit_verdict verdict;
            kit_check_case(target, kit_case_find(row->name), &arguments->limits, &verdict, NULL);
            row->again = verdict.result == KIT_FAULT;
        }
    }
}

/* The contract cases. */
static void run_cases(struct check_arguments *arguments, const struct kit_target *target,
                      const struct contender *contender, struct check_report *report)
{
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    struct kit_limits limits = arguments->limits;
    size_t from = report->count;
    unsigned failing = 0;
    struct progress *progress = child_memory_new(sizeof *progress);
    progress_begin(progress, "", "calls", 0);
    limits.progress = progress_follow;
    limits.progress_ctx = progress;
    for (size_t i = 0; i < count; i++) {
        if (arguments->case_name != NULL && strcmp(arguments->case_name, cases[i].name) != 0) {
            continue;
        }
        if (failing >= FAILING_MOST && !arguments->all) {
            report->left++;
            continue;
        }
        char what[512];
        (void)snprintf(what, sizeof what, "%s, case %s (%zu of %zu)", contender->timed->name,
                       cases[i].name, i + 1, count);
        progress_next(progress, what);
        struct check_row *row = new_row(report, contender, cases[i].group, cases[i].name);
        const struct check_row *simplest = simplest_fault(report, from);
        bool few = simplest != NULL && operations_of(simplest) <= FEW_OPERATIONS;
        kit_check_case(target, &cases[i], &limits, &row->verdict,
                       few && !arguments->all ? NULL : &row->trace);
        if (row->verdict.result == KIT_FAULT) {
            failing++;
            limits.shrink_seconds /= 2;
        }
        if (row->verdict.fault == FAULT_HANG) {
            limits.processor_seconds = HANG_SECONDS;
            limits.hook_seconds = fmin(limits.hook_seconds, HANG_HOOK_SECONDS);
        }
    }
    progress_end(progress);
    child_memory_free(progress, sizeof *progress);
    choose_full(arguments, target, report, from);
}

/* Whether a check would take minutes, since each instance is large; then a row says so. */
static bool is_too_large(const struct check_arguments *arguments, const struct kit_target *target,
                         const struct contender *contender, struct check_report *report)
{
    bool all = arguments->case_name == NULL && !arguments->large && !arguments->all;
    uint64_t bytes = all ? kit_instance_bytes(target) : 0;
    if (bytes <= INSTANCE_BYTES_MAX) {
        return false;
    }
    struct check_row *row = new_row(report, contender, "all", "all");
    row->verdict.result = KIT_SKIPPED;
    (void)snprintf(row->verdict.message, sizeof row->verdict.message,
                   "not checked: an instance takes %.0f MB, and a check makes hundreds; with "
                   "--large it takes minutes, with smaller options seconds",
                   (double)bytes / 1e6);
    return true;
}

/* Everything asked of one structure. False, with the error set, if it could not be carried out. */
static bool check_one(struct check_arguments *arguments, const struct contender *contender,
                      struct check_report *report)
{
    struct kit_target target = target_of(arguments, contender);
    struct check_row *row;
    size_t from = report->count;
    if (arguments->replay_path != NULL) {
        row = new_row(report, contender, replay_name, replay_name);
        row->in_full = true;
        return run_replay(arguments, &target, row);
    }
    if (is_too_large(arguments, &target, contender, report)) {
        return true;
    }
    run_cases(arguments, &target, contender, report);
    bool wanted = arguments->case_name == NULL || strcmp(arguments->case_name, fuzz_name) == 0;
    if (!wanted || (arguments->plan.seconds <= 0 && arguments->plan.operations == 0)) {
        return true;
    }
    if (simplest_fault(report, from) != NULL && !arguments->all) {
        report->left++;
        return true;
    }
    row = new_row(report, contender, fuzz_name, fuzz_name);
    run_fuzz(arguments, &target, row);
    row->in_full = row->verdict.result == KIT_FAULT;
    return true;
}

/* --- output ----------------------------------------------------------------------------------- */

static void name_of(const struct contender *contender, char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes, "%s%s%s", contender->timed->name,
                   contender->option_text[0] != '\0' ? ":" : "", contender->option_text);
}

/* The trace in text form, which the caller frees. */
static char *trace_text(const struct check_row *row)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = memory_stream(&text, &bytes);
    kit_trace_write(&row->trace, row->contender->timed, memory);
    memory_stream_close(memory);
    return text;
}

static void print_trace(const struct check_row *row)
{
    char *text = trace_text(row);
    size_t lines = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (lines++ < TRACE_LINES) {
            (void)printf("        %s\n", line);
        }
    }
    if (lines > TRACE_LINES) {
        (void)printf("        ... and %zu more: --save FILE writes them all\n",
                     lines - TRACE_LINES);
    }
    free(text);
}

/* Print the operations and the command that repeat a fault. */
static void print_way(const struct check_row *row, const char *name, uint64_t seed)
{
    bool fuzzed = row->name == fuzz_name;
    if (row->name == replay_name) {
        return;
    }
    (void)printf("    %s\n",
                 row->verdict.repeats ? "the fewest operations found that show it, for --replay:"
                 : row->trace.count > 0
                     ? "the same operations did not show it again: the result depends on something "
                       "else, such as uninitialized memory, addresses or the time. They were:"
                 : row->again ? "no list of operations shows it, the case does each time"
                              : "the case run again did not show it: the result depends on more "
                                "than the operations, such as uninitialized memory, addresses or "
                                "the time");
    if (row->verdict.repeats || row->trace.count > 0) {
        print_trace(row);
    }
    (void)printf("    again: timerlab check -a %s --case %s", name, row->name);
    check_print_seed(fuzzed ? row->trace.seed : seed);
    (void)printf("%s (and --plugin, if it is one)\n", fuzzed ? " --operations 1" : "");
}

static void print_fault(const struct check_row *row, uint64_t seed)
{
    char name[400];
    name_of(row->contender, name, sizeof name);
    (void)printf("\n%s, case %s, %s: %s\n", name, row->name, fault_word(row->verdict.fault),
                 row->verdict.message);
    print_way(row, name, seed);
}

/* The headings, and for the layout a row as wide as most. */
static void print_head(struct check_report *report)
{
    static const char *const cells[] = {
        "structure",          "group",     "result", "cases", "operations", "seconds", "faults",
        "locked(hier-wheel)", "deadlines", "FAULT",  "10/10", "1000000000", "100.00",  ""};
    struct text_table *table = &report->table;
    report->page = text_page_begin(stdout);
    table->columns = sizeof cells / sizeof cells[0] / 2;
    table->right[4] = table->right[5] = true;
    for (size_t i = 0; i < 2 * table->columns; i++) {
        text_table_add(table, "%s", cells[i]);
    }
    text_table_write_rows(table, 0, 1, &report->page);
}

/* One line for the rows [first, end), which share a structure and a group. */
static void print_group(struct check_report *report, const struct check_row *first,
                        const struct check_row *end)
{
    unsigned passed = 0;
    unsigned judged = 0;
    double seconds = 0;
    uint64_t operations = 0;
    for (const struct check_row *row = first; row < end; row++) {
        judged += row->verdict.result != KIT_SKIPPED;
        passed += row->verdict.result == KIT_OK;
        seconds += row->verdict.seconds;
        operations += row->verdict.operations;
    }
    char name[400];
    char faults[2048] = "";
    name_of(first->contender, name, sizeof name);
    for (const struct check_row *row = first; row < end; row++) {
        size_t used = strlen(faults);
        if (row->verdict.result == KIT_FAULT) {
            (void)snprintf(faults + used, sizeof faults - used, "%s%s: %s", used > 0 ? ", " : "",
                           row->name, fault_word(row->verdict.fault));
        }
        if (row->verdict.result == KIT_SKIPPED && judged == 0 && row == first) {
            (void)snprintf(faults, sizeof faults, "%s", row->verdict.message);
        }
    }
    struct text_table *table = &report->table;
    text_table_add(table, "%s", name);
    text_table_add(table, "%s", first->group);
    text_table_add(table, "%s", judged == 0 ? "-" : passed == judged ? "ok" : "FAULT");
    text_table_add(table, "%u/%u", passed, judged);
    text_table_add(table, "%" PRIu64, operations);
    text_table_add(table, "%.2f", seconds);
    text_table_add(table, "%s", faults);
    text_table_write_last(table, &report->page);
}

/* Print the coverage of a structure without faults, and the notes of single cases. */
static void print_coverage(const struct check_report *report, size_t from)
{
    struct kit_coverage sum = {0};
    unsigned judged = 0;
    bool fault = false;
    for (size_t i = from; i < report->count; i++) {
        const struct kit_verdict *verdict = &report->rows[i].verdict;
        fault = fault || verdict->result == KIT_FAULT;
        judged += verdict->result == KIT_OK;
        kit_coverage_add(&sum, &verdict->coverage);
    }
    if (fault || judged == 0) {
        return;
    }
    (void)printf("    covered: up to %" PRIu64 " timers at once, %" PRIu64 " callbacks, %.3g ticks",
                 sum.pending, sum.callbacks, sum.ticks);
    if (sum.states > 0) {
        (void)printf(", %" PRIu64 " states", sum.states);
    }
    (void)putchar('\n');
    for (size_t i = from; i < report->count; i++) {
        const struct check_row *row = &report->rows[i];
        if (row->verdict.result == KIT_OK && row->verdict.message[0] != '\0') {
            (void)printf("    %s: %s\n", row->name, row->verdict.message);
        }
    }
}

/* Print the groups of the structure with rows from `from` on. */
static void print_structure(struct check_report *report, size_t from)
{
    size_t first = from;
    while (first < report->count) {
        size_t end = first + 1;
        while (end < report->count &&
               strcmp(report->rows[end].group, report->rows[first].group) == 0) {
            end++;
        }
        print_group(report, &report->rows[first], &report->rows[end]);
        first = end;
    }
    print_coverage(report, from);
    (void)fflush(stdout);
}

/* The faults of one structure: the simplest, and in which cases there were others. */
static size_t print_faults_of(const struct check_report *report, size_t from)
{
    const struct contender *contender = report->rows[from].contender;
    const struct check_row *simplest = simplest_fault(report, from);
    const char *separator = "    other cases that fail: ";
    size_t end = from;
    if (simplest != NULL) {
        print_fault(simplest, report->seed);
    }
    for (; end < report->count && report->rows[end].contender == contender; end++) {
        const struct check_row *row = &report->rows[end];
        if (row->in_full && row != simplest && row->verdict.result == KIT_FAULT) {
            print_fault(row, report->seed);
        }
    }
    for (size_t i = from; i < end; i++) {
        const struct check_row *row = &report->rows[i];
        if (row->verdict.result == KIT_FAULT && !row->in_full) {
            (void)printf("%s%s (%s)", separator, row->name, fault_word(row->verdict.fault));
            separator = ", ";
        }
    }
    if (strcmp(separator, ", ") == 0) {
        (void)putchar('\n');
    }
    return end;
}

static void print_faults(const struct check_report *report)
{
    for (size_t i = 0; i < report->count;) {
        i = print_faults_of(report, i);
    }
    if (report->left > 0) {
        (void)printf("\n"
                     "%zu cases were not run because others had failed: --all runs them, and "
                     "reports each fault in full\n",
                     report->left);
    }
}

static json_t *trace_json(const struct check_row *row)
{
    json_t *lines = json_array();
    char *text = trace_text(row);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        (void)json_array_append_new(lines, json_string(line));
    }
    free(text);
    return lines;
}

static bool print_json(const struct check_report *report, int argc, char **argv)
{
    static const char *const statuses[] = {"ok", "fault", "skipped"};
    json_t *rows = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const struct check_row *row = &report->rows[i];
        const struct kit_verdict *verdict = &row->verdict;
        const struct kit_coverage *coverage = &verdict->coverage;
        bool fault = verdict->result == KIT_FAULT;
        json_t *object = json_pack(
            "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:{s:I, s:I, s:f, s:I}}", "algo",
            row->contender->timed->name, "options", row->contender->option_text, "group",
            row->group, "case", row->name, "status", statuses[verdict->result], "fault",
            fault ? fault_word(verdict->fault) : "", "message", verdict->message, "operations",
            (json_int_t)verdict->operations, "seconds", verdict->seconds, "coverage", "timers",
            (json_int_t)coverage->pending, "callbacks", (json_int_t)coverage->callbacks, "ticks",
            coverage->ticks, "states", (json_int_t)coverage->states);
        if (fault && row->name == fuzz_name) {
            (void)json_object_set_new(object, "seed", json_integer((json_int_t)row->trace.seed));
        }
        if (row->in_full) {
            (void)json_object_set_new(object, "repeats", json_boolean(verdict->repeats));
            (void)json_object_set_new(
                object, "trace", row->trace.session_count > 0 ? trace_json(row) : json_array());
        }
        (void)json_array_append_new(rows, object);
    }
    json_t *root =
        json_pack("{s:s, s:o, s:I, s:o}", "schema", "timerlab-check-1", "context",
                  context_json(argc, argv), "not_run", (json_int_t)report->left, "rows", rows);
    bool written = root != NULL && json_dumpf(root, stdout, JSON_INDENT(1)) == 0;
    (void)putchar('\n');
    json_decref(root);
    return written;
}

/* The table in docs/internals/conformance.md. */
static void print_cases_md(void)
{
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    (void)printf("| group | case | asserts |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        (void)printf("| %s | `%s` | %s |\n", cases[i].group, cases[i].name, cases[i].asserts);
    }
}

static void add_case(struct text_table *table, const char *name, const char *group,
                     const char *needs, const char *asserts)
{
    text_table_add(table, "%s", name);
    text_table_add(table, "%s", group);
    text_table_add(table, "%s", needs);
    text_table_add(table, "%s", asserts);
}

static void print_cases(void)
{
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    size_t rows = 0;
    const struct tl_capability_row *row = tl_capabilities(&rows);
    struct text_table table = {.columns = 4};
    add_case(&table, "case", "group", "needs", "asserts");
    for (size_t i = 0; i < count; i++) {
        const char *needs = "-";
        for (size_t k = 0; k < rows; k++) {
            needs = (cases[i].flags & row[k].bit) != 0 ? row[k].word : needs;
        }
        add_case(&table, cases[i].name, cases[i].group, needs, cases[i].asserts);
    }
    add_case(&table, fuzz_name, fuzz_name, "-", "random operations have the results of the model");
    text_table_write(&table, stdout);
    text_table_free(&table);
}

static bool save_trace(const struct check_arguments *arguments, const struct check_report *report,
                       struct error *error)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct check_row *row = simplest_fault(report, i);
        if (row == NULL || row->trace.session_count == 0) {
            continue;
        }
        struct outfile file;
        if (!outfile_open(&file, arguments->save_path, error)) {
            return false;
        }
        (void)fprintf(file.stream, "# %s, case %s\n# %s: %s\n", row->contender->timed->name,
                      row->name, fault_word(row->verdict.fault), row->verdict.message);
        kit_trace_write(&row->trace, row->contender->timed, file.stream);
        return outfile_commit(&file, error);
    }
    return true;
}

static int run_check(void *at, int argc, char **argv)
{
    struct check_arguments *arguments = at;
    struct error *error = &arguments->error;
    struct check_report report = {.seed = arguments->plan.seed};
    int status = EXIT_OK;
    if (arguments->list) {
        (arguments->format == FORMAT_MD ? print_cases_md : print_cases)();
        return EXIT_OK;
    }
    if (arguments->save_path != NULL && !outfile_check(arguments->save_path, error)) {
        return command_fail(error);
    }
    if (arguments->crash) {
        check_crash_load(argc, argv);
        bool done = check_crash(&arguments->structures.contenders, arguments->plan.seed,
                                arguments->crash_share, &report.faults, error);
        if (!done) {
            command_complain(error);
        }
        return !done ? EXIT_USAGE : report.faults > 0 ? EXIT_FAULT : EXIT_OK;
    }
    /* Cases need no disk, and some sync thousands of times: waiting is no processor time, by which
     * cases limit themselves. */
    temporary_files_lie_in_memory();
    bool table = arguments->format == FORMAT_TABLE;
    bool replays = arguments->replay_path != NULL;
    if (table && !replays) {
        print_head(&report);
    }
    const struct contender_list *contenders = &arguments->structures.contenders;
    for (size_t i = 0; i < contenders->count && status == EXIT_OK; i++) {
        size_t from = report.count;
        if (!check_one(arguments, &contenders->items[i], &report)) {
            command_complain(error); /* the file of operations cannot be used */
            status = EXIT_FAULT;
        } else if (table) {
            if (replays) {
                print_head(&report);
            }
            print_structure(&report, from);
        }
    }
    for (size_t i = 0; i < report.count; i++) {
        report.faults += report.rows[i].verdict.result == KIT_FAULT;
    }
    if (table && status == EXIT_OK) {
        text_page_end(&report.page);
        print_faults(&report);
    } else if (status == EXIT_OK && !print_json(&report, argc, argv)) {
        status = EXIT_FAULT;
    }
    if (arguments->save_path != NULL && !save_trace(arguments, &report, error)) {
        command_complain(error);
        status = EXIT_FAULT;
    }
    if (status == EXIT_OK && report.faults > 0) {
        status = EXIT_FAULT;
    }
    for (size_t i = 0; i < report.count; i++) {
        kit_trace_release(&report.rows[i].trace);
    }
    text_table_free(&report.table);
    free(report.rows);
    return status;
}

int command_check(int argc, char **argv)
{
    struct check_arguments arguments = {
        .plan = {.seed = CHECK_SEED, .seconds = DEFAULT_SECONDS},
        .crash_share = 1,
        .limits = kit_limits_default(),
    };
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures,
                                  run_check);
}
