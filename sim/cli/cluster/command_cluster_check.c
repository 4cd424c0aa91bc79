/* timerlab cluster check: search every state of small instances of the protocols. */
#include "check.h"
#include "cluster_rows.h"
#include "command.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

struct check_arguments {
    struct cluster_arguments common;
    struct check_faults faults;
    bool named; /* protocols */
};

static void complete(void *at, struct argp_state *state)
{
    struct check_arguments *arguments = at;
    arguments->named = arguments->common.count > 0;
    cluster_take_all(&arguments->common, state);
}

#define AT(member) OPTION_AT(struct check_arguments, member)
static const struct option_row options[] = {
    {{"crashes", 0, "K", 0, "Up to K crashes (default: the number of each listed case)", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(faults.crashes)},
    {{"outruns", 0, "K", 0, "Up to K leases or delays end although their holder is alive", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(faults.outruns)},
    {{"laters", 0, "K", 0, "Up to K calls are answered with a later time", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(faults.laters)},
    {{"late", 0, NULL, 0, "A timer may enter the table after its second has begun", 0},
     OPTION_FLAG,
     AT(faults.late)},
    {{"scan", 0, NULL, 0, "Add the second pass to protocols that have one", 0},
     OPTION_FLAG,
     AT(faults.scan)},
    CLUSTER_OPTION_ROWS("check.csv, check.json and runs.csv, the shortest losing run of each case"),
};

static const struct command_line syntax = {
    .options = options,
    .form = "[PROTOCOL...]",
    .text =
        "Explores everything that can happen to two timers, two schedulers and two executors, "
        "under each of several sets of faults, or the one that the options give. Reports in how "
        "many of all ends a timer was never called, the most calls and accepted acknowledgements "
        "of one timer, and, for each named protocol, the shortest run that loses a timer.\v"
        "Exit status: 0 nothing can be lost, 1 something can, 2 usage.",
    .take_word = cluster_take_word,
    .complete = complete,
};

/* --- one protocol under one set of faults ---------------------------------------------------- */

enum { STEP_PROTOCOL, STEP_FAULTS, STEP_SECOND, STEP_TEXT };

/* The rows of runs.csv: the shortest losing run of each case that has one, step by step. */
static const struct column_info step_columns[] = {
    [STEP_PROTOCOL] = {.name = "protocol", .digits = TEXT},
    [STEP_FAULTS] = {.name = "faults", .digits = TEXT},
    [STEP_SECOND] = {.name = "second"},
    [STEP_TEXT] = {.name = "step", .digits = TEXT}};
static const struct row_kind step_kind = {.columns = step_columns,
                                          .count = sizeof step_columns / sizeof step_columns[0]};

static void add_row(struct cluster_table *row, struct results *steps,
                    const struct cluster_protocol *protocol, const char *faults,
                    const struct check_result *result)
{
    cluster_row_begin(row);
    cluster_row_text(row, protocol->name, "protocol");
    cluster_row_text(row, faults, "faults");
    cluster_row_count(row, result->states, "states");
    cluster_row_count(row, result->end_count, "ends");
    cluster_row_count(row, result->lost_ends, "lost_ends");
    cluster_row_count(row, result->most_calls, "most_calls");
    cluster_row_count(row, result->most_acks, "most_acks");
    cluster_row_count(row, result->run_count, "losing_steps");
    cluster_row_text(row, result->lost_ends > 0 ? "loses" : "ok", "status");
    for (size_t i = 0; i < result->run_count; i++) {
        struct row *step = results_add(steps);
        char text[96];
        check_step_text(&result->run[i], text, sizeof text);
        row_set_text(step, STEP_PROTOCOL, protocol->name);
        row_set_text(step, STEP_FAULTS, faults);
        row_set_integer(step, STEP_SECOND, result->run[i].second);
        row_set_text(step, STEP_TEXT, text);
    }
}

/* Adds each row's steps, which follow one another in the order of the rows. */
static void add_runs(const struct results *steps, json_t *rows)
{
    size_t i;
    size_t at = 0;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        json_t *run = json_array();
        json_int_t end = (json_int_t)at + json_integer_value(json_object_get(row, "losing_steps"));
        for (; (json_int_t)at < end; at++) {
            const struct row *step = &steps->rows[at];
            (void)json_array_append_new(run, json_pack("{s:i, s:s}", "second",
                                                       (int)row_value(step, STEP_SECOND), "step",
                                                       row_text(step, STEP_TEXT)));
        }
        (void)json_object_set_new(row, "run", run);
    }
}

/* Add the row of a case. */
static void check_case(const struct cluster_protocol *protocol, const struct check_case *wanted,
                       struct cluster_work *work)
{
    struct check_result result = {0};
    check_search(protocol, &wanted->faults, &result);
    add_row(&work->rows, &work->more, protocol, wanted->name, &result);
    work->right = work->right && result.lost_ends == 0;
    free(result.ends);
}

static bool check_protocol(void *at, const struct cluster_protocol *protocol,
                           struct cluster_work *work)
{
    const struct check_arguments *arguments = at;
    const struct check_faults *faults = &arguments->faults;
    struct progress progress;
    const struct check_case own = {"as given", *faults};
    bool given = faults->crashes > 0 || faults->outruns > 0 || faults->late || faults->scan ||
                 faults->laters > 0;
    size_t count;
    const struct check_case *cases = check_cases(&count);
    if (given) {
        cases = &own;
        count = 1;
    }
    progress_begin(&progress, protocol->name, "cases", count);
    for (size_t i = 0; i < count; i++) {
        bool can = (protocol->scanned || !cases[i].faults.scan) &&
                   (cluster_protocol_does(protocol, CLUSTER_LATER) || cases[i].faults.laters == 0);
        if (can || given) {
            check_case(protocol, &cases[i], work);
        }
        progress_update(&progress, i + 1);
    }
    progress_end(&progress);
    return true;
}

static void print_runs(const void *at, const struct results *steps)
{
    const struct check_arguments *arguments = at;
    for (size_t i = 0; arguments->named && i < steps->count; i++) {
        const struct row *step = &steps->rows[i];
        const char *protocol = row_text(step, STEP_PROTOCOL);
        const char *faults = row_text(step, STEP_FAULTS);
        if (i == 0 || strcmp(protocol, row_text(step - 1, STEP_PROTOCOL)) != 0 ||
            strcmp(faults, row_text(step - 1, STEP_FAULTS)) != 0) {
            (void)printf("\n%s, faults: %s: a timer is lost\n", protocol, faults);
        }
        (void)printf("  second %.0f  %s\n", row_value(step, STEP_SECOND),
                     row_text(step, STEP_TEXT));
    }
}

static const struct cluster_command command = {
    .line = &syntax,
    .name = "check",
    .more_name = "runs.csv",
    .more_kind = &step_kind,
    .run = check_protocol,
    .complete = add_runs,
    .print = print_runs,
};

int command_cluster_check(int argc, char **argv)
{
    struct check_arguments arguments = {0};
    return cluster_command_run(&command, argc, argv, &arguments);
}
