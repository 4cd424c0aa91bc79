/* timerlab cluster check: search every state of small instances of the protocols. */
#include "check.h"
#include "cluster_rows.h"
#include "command.h"
#include "progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct check_arguments {
    struct cluster_arguments common;
    struct check_faults faults;
    uint64_t crashes;
    uint64_t outruns;
    uint64_t laters;
    bool named; /* protocols */
};

static void complete(void *at, struct argp_state *state)
{
    struct check_arguments *arguments = at;
    arguments->named = arguments->common.count > 0;
    cluster_take_all(&arguments->common, state);
    arguments->faults.crashes = (unsigned)arguments->crashes;
    arguments->faults.outruns = (unsigned)arguments->outruns;
    arguments->faults.laters = (unsigned)arguments->laters;
}

#define AT(member) OPTION_AT(struct check_arguments, member)
static const struct option_row options[] = {
    {{"crashes", 0, "K", 0, "Up to so many crashes (as in each of a list of cases)", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(crashes)},
    {{"outruns", 0, "K", 0, "So often a lease or delay may end though its holder lives", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(outruns)},
    {{"laters", 0, "K", 0, "Up to K calls are answered: call me later", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(laters)},
    {{"late", 0, NULL, 0, "A timer may come into the table after its second has begun", 0},
     OPTION_FLAG,
     AT(faults.late)},
    {{"scan", 0, NULL, 0, "With the second pass, of protocols that have one", 0},
     OPTION_FLAG,
     AT(faults.scan)},
    CLUSTER_OPTION_ROWS("check.csv, check.json and runs.csv, the shortest losing run of each case"),
};

static const struct command_line syntax = {
    .options = options,
    .form = "[PROTOCOL...]",
    .text =
        "Follows protocols through everything that can happen to two timers, two schedulers and "
        "two executors, under each of a list of sets of faults, or the one that the options give. "
        "Says in how many of all ends a timer was never called, the most calls of one timer, the "
        "most acknowledgements that were accepted, and, of protocols that are named, the shortest "
        "run that loses one.\v"
        "Exit status: 0 nothing can be lost, 1 something can, 2 usage.",
    .take_word = cluster_take_word,
    .complete = complete,
};

/* What a run leaves in a folder. */
static const char *const kinds[] = {"check.csv", "check.json", "runs.csv", NULL};

/* --- one protocol under one set of faults ---------------------------------------------------- */

static json_t *row_of(const struct cluster_protocol *protocol, const char *faults,
                      const struct check_result *result)
{
    json_t *row = json_pack("{ss ss}", "protocol", protocol->name, "faults", faults);
    cluster_row_count(row, result->states, "states");
    cluster_row_count(row, result->end_count, "ends");
    cluster_row_count(row, result->lost_ends, "lost_ends");
    cluster_row_count(row, result->most_calls, "most_calls");
    cluster_row_count(row, result->most_acks, "most_acks");
    cluster_row_count(row, result->run_count, "losing_steps");
    (void)json_object_set_new(row, "status", json_string(result->lost_ends > 0 ? "loses" : "ok"));
    json_t *run = json_array();
    for (size_t i = 0; i < result->run_count; i++) {
        char text[96];
        check_step_text(&result->run[i], text, sizeof text);
        (void)json_array_append_new(
            run, json_pack("{s:i, s:s}", "second", (int)result->run[i].second, "step", text));
    }
    (void)json_object_set_new(row, "run", run);
    return row;
}

struct work {
    struct check_arguments *arguments;
    struct cluster_work found;
    struct progress progress;
    size_t done;
    bool right;
};

/* Add the row of a case. */
static void check_case(struct work *work, const struct cluster_protocol *protocol,
                       const struct check_case *wanted)
{
    struct check_result result = {0};
    check_search(protocol, &wanted->faults, &result);
    (void)json_array_append_new(work->found.rows, row_of(protocol, wanted->name, &result));
    work->right = work->right && result.lost_ends == 0;
    free(result.ends);
    progress_update(&work->progress, ++work->done);
}

static void check_protocol(struct work *work, const struct cluster_protocol *protocol)
{
    struct check_arguments *arguments = work->arguments;
    const struct check_faults *faults = &arguments->faults;
    const struct check_case own = {"as given", *faults};
    bool given = faults->crashes > 0 || faults->outruns > 0 || faults->late || faults->scan ||
                 faults->laters > 0;
    size_t count;
    const struct check_case *cases = check_cases(&count);
    if (given) {
        cases = &own;
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        bool can = (protocol->scanned || !cases[i].faults.scan) &&
                   (cluster_protocol_does(protocol, CLUSTER_LATER) || cases[i].faults.laters == 0);
        if (can || given) {
            check_case(work, protocol, &cases[i]);
        }
    }
}

/* --- what is printed -------------------------------------------------------------------------- */

/* The shortest losing run of each row that has one: as CSV, or for people. */
static void write_runs_as(const json_t *rows, bool csv, FILE *stream)
{
    size_t i;
    json_t *row = NULL;
    (void)fputs(csv ? "protocol,faults,second,step\n" : "", stream);
    json_array_foreach(rows, i, row)
    {
        const char *protocol = json_string_value(json_object_get(row, "protocol"));
        const char *faults = json_string_value(json_object_get(row, "faults"));
        size_t k;
        json_t *step = NULL;
        json_array_foreach(json_object_get(row, "run"), k, step)
        {
            int second = (int)json_integer_value(json_object_get(step, "second"));
            const char *text = json_string_value(json_object_get(step, "step"));
            if (csv) {
                (void)fprintf(stream, "%s,%s,%d,\"%s\"\n", protocol, faults, second, text);
                continue;
            }
            if (k == 0) {
                (void)fprintf(stream, "\n%s, faults: %s: a timer is lost\n", protocol, faults);
            }
            (void)fprintf(stream, "  second %d  %s\n", second, text);
        }
    }
}

static void write_runs(const void *ctx, FILE *stream)
{
    write_runs_as(ctx, true, stream);
}

static int run(void *at, int argc, char **argv)
{
    struct check_arguments *arguments = at;
    struct cluster_arguments *common = &arguments->common;
    struct work work = {.arguments = arguments, .right = true};
    bool done = cluster_work_begin(&work.found, common, argc, argv);
    progress_begin(&work.progress, "protocols", "cases", 0);
    for (size_t i = 0; done && i < common->count; i++) {
        check_protocol(&work, common->protocols[i]);
    }
    progress_end(&work.progress);
    if (done && common->out_dir != NULL) {
        done = outfolder_write(&work.found.folder, "runs.csv", write_runs, work.found.rows,
                               &common->error);
    }
    done = cluster_work_end(&work.found, common, done, "check", kinds);
    if (done && common->format == CLUSTER_TABLE && arguments->named) {
        write_runs_as(work.found.rows, false, stdout);
    }
    cluster_work_free(&work.found);
    return done && work.right ? EXIT_OK : EXIT_FAULT;
}

int command_cluster_check(int argc, char **argv)
{
    struct check_arguments arguments = {0};
    return cluster_command_run(&syntax, argc, argv, &arguments, run);
}
