/* timerlab threads: concurrent structures, and others inside front ends, under many threads. */
#include "catalog.h"
#include "command.h"
#include "concurrent.h"
#include "front.h"
#include "progress.h"
#include "results.h"
#include "text_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIST_MAX = 16 };

/* Numbers that are gone through, as they were given. */
struct number_list {
    uint32_t items[LIST_MAX];
    size_t count;
};

enum threads_format { FORMAT_TABLE, FORMAT_CSV }; /* in the order of the help */

struct threads_arguments {
    struct command_structures structures;
    struct number_list threads;
    struct number_list cancelled;
    uint32_t timers; /* of all threads together */
    struct concurrent_plan plan;
    enum threads_format format;
    struct text_table table;
    struct text_page page;
    struct error error;
};

static void take_list(void *at, const struct option_row *row, const char *text,
                      struct argp_state *state)
{
    struct number_list *list = (void *)((char *)at + row->at);
    struct tl_range ranges[LIST_MAX];
    list->count = option_ranges(row, text, ranges, state);
    for (size_t i = 0; i < list->count; i++) {
        list->items[i] = (uint32_t)ranges[i].first;
    }
}

/* Whole microseconds, or a time with its unit. */
static void take_tick(void *at, const struct option_row *row, const char *text,
                      struct argp_state *state)
{
    static const struct tl_number_form time = {.kind = TL_NUMBER_TIME, .most = 1e12};
    struct threads_arguments *arguments = at;
    union tl_number number = {0};
    if (tl_number_read(&row->number, text, &number)) {
        arguments->plan.tick_ns = number.whole * 1000;
    } else if (tl_number_read(&time, text, &number)) {
        arguments->plan.tick_ns = (uint64_t)number.real;
    } else {
        argp_error(state,
                   "--tick takes whole microseconds from 0 to %" PRIu64
                   ", or a time as in 250us or 1ms, not '%s'",
                   row->number.to, text);
    }
}

static void complete(void *at, struct argp_state *state)
{
    struct threads_arguments *arguments = at;
    const struct contender_list *contenders = &arguments->structures.contenders;
    command_structures_find(&arguments->structures, catalog_select,
                            "-a 'locked(NAME)',...; `timerlab list` shows them", state);
    for (size_t i = 0; i < contenders->count; i++) {
        const struct tl_algo *algo = contenders->items[i].timed;
        const struct tl_front *front = tl_front_of(algo);
        if ((algo->capabilities & TL_CAP_CONCURRENT) != 0) {
            continue;
        }
        if (front == NULL) {
            argp_error(state,
                       "%s is for one thread; with a front end it is for many, as in 'locked(%s)'",
                       algo->name, algo->name);
        } else {
            argp_error(state, "%s is for one thread: the front end %s makes it safe for no more",
                       algo->name, front->name);
        }
    }
}

#define AT(member) OPTION_AT(struct threads_arguments, member)
static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct threads_arguments, "NAME|FRONT(NAME)[:opt=v...],...",
                          "Concurrent structures, or structures with front ends"),
    OPTION_ROW_PLUGIN(struct threads_arguments, OPTION_PLUGIN_TEXT),
    {{"threads", 0, "N,...", 0,
      "Threads that start and stop, in addition to the one that advances (1,2,4,8)", 0},
     AT(threads),
     .number = {.from = 1, .to = 1024, .list_max = LIST_MAX, .example = "1,2,4,8"},
     .take = take_list},
    {{"cancelled", 0, "PERCENT,...", 0,
      "Timers that are stopped; the others expire within 20 ticks (0,50,99)", 0},
     AT(cancelled),
     .number = {.to = 100, .list_max = LIST_MAX, .example = "0,50,99"},
     .take = take_list},
    {{"timers", 0, "N", 0, "Of all threads together (100k)", 0},
     OPTION_WHOLE(1, 1000000000),
     AT(timers)},
    {{"operations", 0, "N", 0, "Starts, restarts and stops of each thread (200k)", 0},
     OPTION_WHOLE(1, 4000000000u),
     AT(plan.operations)},
    {{"tick", 0, "US", 0, "Microseconds between two advances (1000); 0: none", 0},
     .number = {.to = 1000000000},
     .take = take_tick},
    {{"seed", 0, "K", 0, "Seed of the threads' choices (1)", 0},
     OPTION_WHOLE(0, UINT32_MAX),
     AT(plan.seed)},
    OPTION_ROWS_FORMAT(struct threads_arguments, "table|csv"),
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "",
    .text = "Runs concurrent structures under many threads. Each thread starts, restarts and "
            "stops timers of its own while one advances, and its callbacks do the same (`inside`: "
            "how often). Reports operations per second, the duration of a call with its waiting "
            "time, and whether each timer was stopped or fired exactly once.\vExit status: 0 done "
            "without a fault, 1 a timer was lost, fired twice or early, 2 usage.",
    .complete = complete,
};

/* The table, its headings, and a row as wide as most. */
static const char *const columns[][2] = {{"structure", "locked(hier-wheel)"},
                                         {"threads", "1000"},
                                         {"cancelled", "100 %"},
                                         {"operations/s", "1000000000"},
                                         {"p50 ns", "100000"},
                                         {"p99 ns", "1000000"},
                                         {"max ns", "1000000000"},
                                         {"p99.9 ns", "10000000"},
                                         {"fired", "100000000"},
                                         {"inside", "100000000"},
                                         {"status", "ok"}};
enum { TABLE_COLUMNS = sizeof columns / sizeof columns[0] };

static void print_head(struct threads_arguments *arguments)
{
    struct text_table *table = &arguments->table;
    *table = (struct text_table){.columns = TABLE_COLUMNS};
    arguments->page = text_page_begin(stdout);
    if (arguments->format == FORMAT_CSV) {
        row_kind_write_header(&threads_kind, stdout);
    } else {
        for (size_t i = 0; i < 2 * TABLE_COLUMNS; i++) {
            table->right[i % TABLE_COLUMNS] =
                i % TABLE_COLUMNS > 0 && i % TABLE_COLUMNS < TABLE_COLUMNS - 1;
            text_table_add(table, "%s", columns[i % TABLE_COLUMNS][i / TABLE_COLUMNS]);
        }
        text_table_write_rows(table, 0, 1, &arguments->page);
    }
}

static void print_csv(const struct contender *contender, const struct concurrent_plan *plan,
                      const struct concurrent_result *result, uint64_t acts, const char *status)
{
    const struct concurrent_counts *counts = &result->counts;
    const struct concurrent_counts *inside = &result->inside;
    struct row row = {0};
    row_set_text(&row, THREADS_ALGO, contender->timed->name);
    row_set_text(&row, THREADS_OPTIONS, contender->option_text);
    row_set_integer(&row, THREADS_THREADS, plan->threads);
    row_set_integer(&row, THREADS_CANCELLED, plan->cancelled_percent);
    row_set_real(&row, THREADS_RATE, result->per_second);
    row_set_real(&row, THREADS_P50, result->call_ns_p50);
    row_set_real(&row, THREADS_P99, result->call_ns_p99);
    row_set_real(&row, THREADS_P999, result->call_ns_p999);
    row_set_real(&row, THREADS_MAX, result->call_ns_max);
    row_set_integer(&row, THREADS_STARTED, counts->starts + inside->starts);
    row_set_integer(&row, THREADS_RESTARTED, counts->restarts + inside->restarts);
    row_set_integer(&row, THREADS_STOPPED, counts->stopped + inside->stopped);
    row_set_integer(&row, THREADS_FIRED, result->fired);
    row_set_integer(&row, THREADS_INSIDE, acts);
    row_set_integer(&row, THREADS_TICKS, result->ticks);
    row_set_text(&row, THREADS_STATUS, status);
    row_write_csv(&threads_kind, &row, stdout);
    row_clear(&row);
}

static void print_row(struct threads_arguments *arguments, const struct contender *contender,
                      const struct concurrent_plan *plan, const struct concurrent_result *result,
                      const char *status)
{
    const char *option_text = contender->option_text;
    const struct concurrent_counts *inside = &result->inside;
    uint64_t acts = inside->starts + inside->restarts + inside->stopped + inside->idle;
    if (arguments->format == FORMAT_CSV) {
        print_csv(contender, plan, result, acts, status);
    } else {
        struct text_table *table = &arguments->table;
        text_table_add(table, "%s%s%s", contender->timed->name, option_text[0] != '\0' ? ":" : "",
                       option_text);
        text_table_add(table, "%u", plan->threads);
        text_table_add(table, "%u %%", plan->cancelled_percent);
        text_table_add(table, "%.0f", result->per_second);
        text_table_add(table, "%.0f", result->call_ns_p50);
        text_table_add(table, "%.0f", result->call_ns_p99);
        text_table_add(table, "%.0f", result->call_ns_max);
        text_table_add(table, "%.0f", result->call_ns_p999);
        text_table_add(table, "%" PRIu64, result->fired);
        text_table_add(table, "%" PRIu64, acts);
        text_table_add(table, "%s", status);
        text_table_write_last(table, &arguments->page);
    }
    (void)fflush(stdout);
}

static bool run_here(void *ctx, void *result, struct error *error)
{
    const struct concurrent_plan *plan = ctx;
    child_phase(child_hook_seconds(), "under %u threads", plan->threads);
    return concurrent_run(plan, result, error);
}

/* One cell of the table, in a child. */
static bool run_cell(struct threads_arguments *arguments, const struct contender *contender,
                     struct concurrent_plan *plan, bool *right)
{
    struct concurrent_result result = {.counts = {0}};
    struct child_outcome outcome;
    const struct child_request request = {
        .run = run_here, .ctx = plan, .result_bytes = sizeof result};
    if (!plug_in_run(contender->timed, &request, &result, &outcome, &arguments->error)) {
        return false;
    }
    if (outcome.end == CHILD_FAILED && !plug_in_is(contender->timed)) {
        return error_set(&arguments->error, "%s", outcome.reason);
    }
    const char *fault = child_fault(&outcome);
    if (fault == NULL && result.faults > 0) {
        fault = result.fault;
    }
    print_row(arguments, contender, plan, &result, fault != NULL ? fault : "ok");
    *right = *right && fault == NULL;
    return true;
}

static int run_threads(void *at, int argc, char **argv)
{
    struct threads_arguments *arguments = at;
    (void)argc;
    (void)argv;
    struct progress progress;
    uint64_t cells = arguments->structures.contenders.count * arguments->threads.count *
                     arguments->cancelled.count;
    bool right = true;
    bool done = true;
    progress_begin(&progress, "threads", "runs", cells);
    print_head(arguments);
    for (uint64_t cell = 0; done && cell < cells; cell++) {
        uint64_t shares = arguments->cancelled.count;
        uint64_t counts = arguments->threads.count;
        const struct contender *contender =
            &arguments->structures.contenders.items[cell / shares / counts];
        struct concurrent_plan plan = arguments->plan;
        plan.algo = contender->timed;
        plan.options = contender->options;
        plan.threads = arguments->threads.items[cell / shares % counts];
        plan.cancelled_percent = arguments->cancelled.items[cell % shares];
        plan.timers = arguments->timers / plan.threads > 0 ? arguments->timers / plan.threads : 1;
        progress_end(&progress);
        done = run_cell(arguments, contender, &plan, &right);
        progress_update(&progress, cell + 1);
    }
    progress_end(&progress);
    text_table_free(&arguments->table);
    text_page_end(&arguments->page);
    if (!done) {
        command_complain(&arguments->error);
    }
    return done && right ? EXIT_OK : EXIT_FAULT;
}

int command_threads(int argc, char **argv)
{
    struct threads_arguments arguments = {
        .threads = {{1, 2, 4, 8}, 4},
        .cancelled = {{0, 50, 99}, 3},
        .timers = 100000,
        .plan = {.operations = 200000, .tick_ns = 1000000, .seed = 1},
    };
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures,
                                  run_threads);
}
