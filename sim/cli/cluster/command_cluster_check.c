/* timerlab cluster check: protocols through all that can happen, by Spin and by our own search. */
#include "chart.h"
#include "check.h"
#include "cluster_rows.h"
#include "command.h"
#include "progress.h"
#include "spin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the help. */
enum engine { ENGINE_BOTH, ENGINE_SPIN, ENGINE_SEARCH };

struct check_arguments {
    struct cluster_arguments common;
    struct check_faults faults;
    uint64_t crashes;
    uint64_t outruns;
    enum engine engine;
    bool named; /* protocols */
};

static void complete(void *at, struct argp_state *state)
{
    struct check_arguments *arguments = at;
    arguments->named = arguments->common.count > 0;
    cluster_take_all(&arguments->common, state);
    arguments->faults.crashes = (unsigned)arguments->crashes;
    arguments->faults.outruns = (unsigned)arguments->outruns;
}

#define AT(member) OPTION_AT(struct check_arguments, member)
static const struct option_row options[] = {
    {{"crashes", 0, "K", 0, "Up to so many crashes (as in each of a list of cases)", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(crashes)},
    {{"outruns", 0, "K", 0, "So often a lease or delay may end though its holder lives", 0},
     OPTION_WHOLE(0, CHECK_FAULTS_MAX),
     AT(outruns)},
    {{"late", 0, NULL, 0, "A timer may come into the table after its second has begun", 0},
     OPTION_FLAG,
     AT(faults.late)},
    {{"scan", 0, NULL, 0, "With the second pass, of protocols that have one", 0},
     OPTION_FLAG,
     AT(faults.scan)},
    {{"engine", 0, "both|spin|search", 0,
      "Who looks: Spin (Debian: spin), our own search, or both, held against one another (both)",
      0},
     OPTION_WORD,
     AT(engine)},
    CLUSTER_OPTION_ROWS("check.csv, check.json, the models, and each shortest losing run as a "
                        "picture with its data"),
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
        "Exit status: 0 nothing can be lost, 1 something can, or the two searches differ, 2 usage.",
    .take_word = cluster_take_word,
    .complete = complete,
};

/* What a run leaves in a folder. */
static const char *const kinds[] = {"check.csv", "check.json", "runs", "models", NULL};

/* --- one protocol under one set of faults ---------------------------------------------------- */

static bool same_ends(const struct check_result *a, const struct check_result *b)
{
    return a->end_count == b->end_count && a->run_count == b->run_count &&
           (a->end_count == 0 || memcmp(a->ends, b->ends, a->end_count * sizeof *a->ends) == 0);
}

static json_t *row_of(const struct cluster_protocol *protocol, const char *faults,
                      const char *engine, const struct check_result *result, const char *status)
{
    json_t *row =
        json_pack("{ss ss ss}", "protocol", protocol->name, "faults", faults, "engine", engine);
    cluster_row_count(row, result->states, "states");
    cluster_row_count(row, result->end_count, "ends");
    cluster_row_count(row, result->lost_ends, "lost_ends");
    cluster_row_count(row, result->most_calls, "most_calls");
    cluster_row_count(row, result->most_acks, "most_acks");
    cluster_row_count(row, result->run_count, "losing_steps");
    (void)json_object_set_new(row, "status", json_string(status));
    json_t *run = json_array();
    for (size_t i = 0; i < result->run_count; i++) {
        char text[96];
        chart_step_text(&result->run[i], text, sizeof text);
        (void)json_array_append_new(
            run, json_pack("{s:i, s:s}", "second", (int)result->run[i].second, "step", text));
    }
    (void)json_object_set_new(row, "run", run);
    return row;
}

struct picture {
    const struct check_result *result;
    const char *title;
    struct error *error;
    bool *failed;
};

static void write_picture(const void *ctx, FILE *stream)
{
    const struct picture *picture = ctx;
    *picture->failed = !chart_write(picture->result->run, picture->result->run_count,
                                    picture->title, stream, picture->error);
}

static void write_data(const void *ctx, FILE *stream)
{
    const struct picture *picture = ctx;
    chart_write_csv(picture->result->run, picture->result->run_count, stream);
}

static void write_model(const void *protocol, FILE *stream)
{
    spin_write_model(protocol, stream);
}

/* The shortest losing run, drawn, and its data beside it. */
static bool keep_run(struct outfolder *folder, const struct cluster_protocol *protocol,
                     const char *faults, const struct check_result *result, struct error *error)
{
    char title[160];
    char name[160];
    bool failed = false;
    struct picture picture = {result, title, error, &failed};
    (void)snprintf(title, sizeof title, "%s loses a timer (%s)", protocol->name, faults);
    (void)snprintf(name, sizeof name, "runs/%s-%s.svg", protocol->name, faults);
    for (char *c = name; *c != '\0'; c++) {
        *c = *c == ' ' || *c == '+' ? '-' : *c;
    }
    bool done = outfolder_write(folder, name, write_picture, &picture, error) && !failed;
    memcpy(strrchr(name, '.'), ".csv", 4);
    return done && outfolder_write(folder, name, write_data, &picture, error);
}

struct work {
    struct check_arguments *arguments;
    struct cluster_work found;
    struct progress progress;
    size_t done;
    bool right;
};

/* Adds the rows of a case: one of each engine. */
static bool check_case(struct work *work, const struct cluster_protocol *protocol,
                       struct spin_model *model, const struct check_case *wanted)
{
    struct check_arguments *arguments = work->arguments;
    struct check_result own = {0};
    struct check_result spins = {0};
    bool by_search = arguments->engine != ENGINE_SPIN;
    bool by_spin = arguments->engine != ENGINE_SEARCH;
    bool done =
        (!by_search || check_search(protocol, &wanted->faults, &own, &arguments->common.error)) &&
        (!by_spin || spin_search(model, &wanted->faults, &spins, &arguments->common.error));
    bool differ = done && by_search && by_spin && !same_ends(&own, &spins);
    const struct check_result *told = by_search ? &own : &spins;
    const char *status = differ ? "differ" : told->lost_ends > 0 ? "loses" : "ok";
    if (done && by_search) {
        (void)json_array_append_new(work->found.rows,
                                    row_of(protocol, wanted->name, "search", &own, status));
    }
    if (done && by_spin) {
        (void)json_array_append_new(work->found.rows,
                                    row_of(protocol, wanted->name, "spin", &spins, status));
    }
    work->right = work->right && done && !differ && told->lost_ends == 0;
    if (done && told->run_count > 0 && arguments->common.out_dir != NULL) {
        done =
            keep_run(&work->found.folder, protocol, wanted->name, told, &arguments->common.error);
    }
    free(own.ends);
    free(spins.ends);
    progress_update(&work->progress, ++work->done);
    return done;
}

static bool check_protocol(struct work *work, const struct cluster_protocol *protocol)
{
    struct check_arguments *arguments = work->arguments;
    const struct check_faults *faults = &arguments->faults;
    const struct check_case own = {"as given", *faults};
    bool given = faults->crashes > 0 || faults->outruns > 0 || faults->late || faults->scan;
    struct spin_model model = {0};
    size_t count;
    const struct check_case *cases = check_cases(&count);
    bool done = arguments->engine == ENGINE_SEARCH ||
                spin_model_open(&model, protocol, &arguments->common.error);
    if (given) {
        cases = &own;
        count = 1;
    }
    for (size_t i = 0; done && i < count; i++) {
        if (protocol->scanned || !cases[i].faults.scan || given) {
            done = check_case(work, protocol, &model, &cases[i]);
        }
    }
    if (done && arguments->common.out_dir != NULL) {
        char name[96];
        (void)snprintf(name, sizeof name, "models/%s.pml", protocol->name);
        done = outfolder_write(&work->found.folder, name, write_model, protocol,
                               &arguments->common.error);
    }
    spin_model_close(&model);
    return done;
}

/* --- what is printed ---------------------------------------------------------------------------
 */

/* The shortest losing run of each row that has one; the engines' are alike in length only. */
static void print_runs(const json_t *rows)
{
    size_t i;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        const json_t *run = json_object_get(row, "run");
        size_t k;
        json_t *step = NULL;
        if (json_array_size(run) == 0) {
            continue;
        }
        (void)printf("\n%s, faults: %s (%s): a timer is lost\n",
                     json_string_value(json_object_get(row, "protocol")),
                     json_string_value(json_object_get(row, "faults")),
                     json_string_value(json_object_get(row, "engine")));
        json_array_foreach(run, k, step)
        {
            (void)printf("  second %" JSON_INTEGER_FORMAT "  %s\n",
                         json_integer_value(json_object_get(step, "second")),
                         json_string_value(json_object_get(step, "step")));
        }
    }
}

static int run(void *at, int argc, char **argv)
{
    struct check_arguments *arguments = at;
    struct cluster_arguments *common = &arguments->common;
    struct work work = {.arguments = arguments, .right = true};
    bool done = cluster_work_begin(&work.found, common, argc, argv) &&
                (arguments->engine == ENGINE_SEARCH || spin_is_there(&common->error));
    progress_begin(&work.progress, "protocols", "cases", 0);
    for (size_t i = 0; done && i < common->count; i++) {
        done = check_protocol(&work, common->protocols[i]);
    }
    progress_end(&work.progress);
    done = cluster_work_end(&work.found, common, done, "check", kinds);
    if (done && common->format == CLUSTER_TABLE && arguments->named) {
        print_runs(work.found.rows);
    }
    cluster_work_free(&work.found);
    return done && work.right ? EXIT_OK : EXIT_FAULT;
}

int command_cluster_check(int argc, char **argv)
{
    struct check_arguments arguments = {0};
    return cluster_command_run(&syntax, argc, argv, &arguments, run);
}
