/* timerlab live: structures driven by the real clock. */
#include "catalog.h"
#include "child.h"
#include "command.h"
#include "command_drive.h"
#include "context.h"
#include "kernel.h"
#include "live.h"
#include "memory.h"
#include "outfolder.h"
#include "progress.h"
#include "results.h"
#include "text_table.h"
#include "watched.h"

#include <math.h>
#include <stdlib.h>

/* Both in the order of the help. */
enum live_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };
enum asked_drive { ASKED_SLEEP, ASKED_POLL, ASKED_BOTH };

struct live_arguments {
    struct command_structures structures;
    struct live_plan plan; /* without structure, drive and lengths of time */
    double seconds;
    double tick_ms;
    double timeout_seconds;
    double traffic_ms;
    enum asked_drive drive;
    bool drives[2]; /* by enum live_drive */
    bool kernel;    /* the kernel's own timers, in addition to the structures */
    bool hosted;    /* and the loops of libraries */
    enum live_format format;
    const char *out_dir;
    struct error error;
};

static const char *const drive_words[] = {
    [LIVE_SLEEP] = "sleep", [LIVE_POLL] = "poll", [LIVE_OWN] = "own"};

/* A row: one driven structure, kernel timer or loop. */
struct live_subject {
    const struct contender *contender; /* NULL: what `kind` says */
    enum kernel_kind kind;
    enum live_drive drive;
    bool by_timeout; /* asleep by epoll_wait's timeout, not by a timerfd */
};

static const struct tl_algo *algo_of(const struct live_subject *subject)
{
    return subject->contender != NULL ? subject->contender->timed : kernel_algo(subject->kind);
}

/* The columns of a row that are not in live_result. */
struct subject_costs {
    struct kernel_memory *before;
    uint64_t user_bytes; /* before, then the growth */
    double kernel_bytes; /* for a timer; negative: not known */
    struct live_epoll loop;
    struct kernel_timers *timers; /* NULL: a structure */
    uint64_t system_calls;        /* before it was driven, then while it was */
    uint32_t connections;
};

/* The results of a child. */
struct driven {
    struct live_result result;
    struct subject_costs costs;
};

/* The results of all children. */
struct found {
    struct results rows;   /* of live_kind */
    struct results curves; /* of lateness_kind: SHARES for each row */
    const json_t *context;
};

/* --- the command line ------------------------------------------------------------------------ */

static void complete(void *at, struct argp_state *state)
{
    struct live_arguments *arguments = at;
    arguments->drives[LIVE_SLEEP] = arguments->drive != ASKED_POLL;
    arguments->drives[LIVE_POLL] = arguments->drive != ASKED_SLEEP;
    arguments->plan.tick_ns = (uint64_t)(arguments->tick_ms * 1e6);
    arguments->plan.timeout_ns = (uint64_t)(arguments->timeout_seconds * 1e9);
    command_structures_find(&arguments->structures, catalog_select,
                            "-a NAME,...; `timerlab list` shows them", state);
    if (arguments->plan.timeout_ns < arguments->plan.tick_ns) {
        argp_error(state, "--timeout is shorter than --tick");
    }
}

#define AT(member) OPTION_AT(struct live_arguments, member)
static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct live_arguments, "NAME[:opt=v...],...",
                          "Structures to drive; may be repeated"),
    OPTION_ROW_PLUGIN(struct live_arguments, OPTION_PLUGIN_TEXT),
    {{"connections", 'n', "N", 0, "Connections, each with an idle timeout (10k)", 0},
     OPTION_WHOLE(1, 1000000000),
     AT(plan.connections)},
    {{"seconds", 0, "S", 0, "How long to drive each structure (5)", 0},
     OPTION_SECONDS(0.01, 1e6),
     AT(seconds)},
    {{"tick", 0, "MS", 0, "The tick in milliseconds (1)", 0},
     OPTION_TIME(1e6, 1e-3, 1e6),
     AT(tick_ms)},
    {{"timeout", 0, "S", 0, "The idle timeout in seconds (30)", 0},
     OPTION_SECONDS(1e-3, 1e6),
     AT(timeout_seconds)},
    {{"rate", 0, "N", 0, "Timeouts pushed back in a second, of all connections (10k)", 0},
     OPTION_WHOLE(0, 1000000000),
     AT(plan.restarts_per_second)},
    {{"service", 0, "TIME|exp:TIME|none", 0,
      "Time for which each callback keeps the loop and the processor busy, as in 50us, fixed or "
      "exponentially distributed (none)",
      0},
     AT(plan.callbacks),
     .take = command_take_drive},
    {{"traffic", 0, "MS", 0, "Milliseconds between bursts of traffic (5)", 0},
     OPTION_TIME(1e6, 1e-2, 1e6),
     AT(traffic_ms)},
    {{"drive", 0, "sleep|poll|both", 0,
      "Sleep until `next`, wake at every tick, or one after the other where there is a `next` "
      "(both)",
      0},
     OPTION_WORD,
     AT(drive)},
    {{"kernel", 0, NULL, 0,
      "Also epoll_wait's own timeout instead of a timerfd, and timers that the kernel keeps, one "
      "for each connection: timerfds, POSIX timers, io_uring's timeouts",
      0},
     .kind = OPTION_FLAG,
     AT(kernel)},
    {{"hosted", 0, NULL, 0,
      "Also the loops of libev, libuv, libevent and GLib with their own timers", 0},
     .kind = OPTION_FLAG,
     AT(hosted)},
    {{"seed", 0, "K", 0, "Of the choice of connections (1)", 0},
     OPTION_WHOLE(0, UINT64_C(1000000000000000)),
     AT(plan.seed)},
    OPTION_ROWS_FORMAT(struct live_arguments, "table|csv|json"),
    {{"output", 'o', "FOLDER", 0,
      "Also write live.csv, live.json and lateness.csv there, which `timerlab report` draws", 0},
     OPTION_TEXT,
     AT(out_dir)},
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "",
    .text =
        "Drives structures by the real clock, with epoll and timerfd, as a server does: each "
        "connection has an idle timeout, which traffic pushes back or which expires. Reports "
        "lateness, wakeups and CPU use.\vExit status: 0 done, 1 a structure lost a timer, 2 usage.",
    .complete = complete,
};

/* --- the rows -------------------------------------------------------------------------------- */

static double per_second(uint64_t count, const struct live_result *result)
{
    return result->elapsed_ns > 0 ? (double)count * 1e9 / (double)result->elapsed_ns : 0;
}

/* NAN if nothing fired: there is no lateness then. */
static double quantile_us(const struct histogram *lateness_ns, double share)
{
    return lateness_ns->total > 0 ? (double)histogram_quantile(lateness_ns, share) / 1e3 : NAN;
}

static const double lateness_shares[] = {0,    0.1,  0.25,  0.5,   0.75,   0.9,
                                         0.95, 0.99, 0.995, 0.999, 0.9999, 1};
enum { SHARES = sizeof lateness_shares / sizeof lateness_shares[0] };

static void set_figures(struct row *row, const struct live_subject *subject,
                        const struct live_result *result, const struct subject_costs *costs)
{
    const struct contender *contender = subject->contender;
    bool is_durable = contender != NULL && (contender->timed->capabilities & TL_CAP_DURABLE) != 0;
    const struct histogram *late = &result->lateness_ns;
    const struct {
        enum live_column column;
        double value;
    } figures[] = {
        {LIVE_COL_SECONDS, (double)result->elapsed_ns / 1e9},
        {LIVE_COL_RESTARTS, per_second(result->restarts, result)},
        {LIVE_COL_FIRED, per_second(result->fired, result)},
        {LIVE_COL_WAKEUPS, per_second(result->timer_wakeups, result)},
        {LIVE_COL_IDLE, per_second(result->idle_wakeups, result)},
        {LIVE_COL_TRAFFIC, per_second(result->traffic_wakeups, result)},
        {LIVE_COL_SETS, per_second(result->arms, result)},
        {LIVE_COL_CPU, per_second(result->processor_ns, result) / 1e7},
        {LIVE_COL_P50, quantile_us(late, 0.5)},
        {LIVE_COL_P99, quantile_us(late, 0.99)},
        {LIVE_COL_P999, quantile_us(late, 0.999)},
        {LIVE_COL_MAX, late->total > 0 ? (double)late->max / 1e3 : NAN},
        {LIVE_COL_STALL, (double)result->advance_ns.max / 1e3},
        {LIVE_COL_EARLY, (double)result->early},
        {LIVE_COL_COMMITS, is_durable ? per_second(result->commits, result) : NAN},
        {LIVE_COL_WAITED, is_durable && result->fired > 0
                              ? 100.0 * (double)result->waited_ns.total / (double)result->fired
                              : NAN},
        {LIVE_COL_WAITED_P99, quantile_us(&result->waited_ns, 0.99)},
        {LIVE_COL_CALLS, (double)costs->system_calls / (double)result->fired},
        {LIVE_COL_USER_BYTES,
         costs->user_bytes > 0 ? (double)costs->user_bytes / costs->connections : NAN},
        {LIVE_COL_KERNEL_BYTES, costs->kernel_bytes >= 0 ? costs->kernel_bytes : NAN},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        row_set_real(row, figures[i].column, figures[i].value);
    }
}

/* Of a row and of its curve. */
static void set_subject(struct row *row, const struct live_subject *subject)
{
    const struct contender *contender = subject->contender;
    row_set_text(row, LIVE_COL_ALGO, algo_of(subject)->name);
    row_set_text(row, LIVE_COL_OPTIONS, contender != NULL ? contender->option_text : "");
    row_set_text(row, LIVE_COL_DRIVE,
                 subject->by_timeout ? "epoll-ms" : drive_words[subject->drive]);
}

_Static_assert((int)LATENESS_ALGO == (int)LIVE_COL_ALGO &&
                   (int)LATENESS_OPTIONS == (int)LIVE_COL_OPTIONS &&
                   (int)LATENESS_DRIVE == (int)LIVE_COL_DRIVE,
               "both kinds begin alike");

/* Its figures are not known unless it was driven. */
static void set_row(struct found *found, const struct live_subject *subject,
                    const struct driven *driven, const char *status, bool was_driven)
{
    const struct histogram *late = &driven->result.lateness_ns;
    struct row *row = results_add(&found->rows);
    set_subject(row, subject);
    row_set_integer(row, LIVE_COL_CONNECTIONS, driven->costs.connections);
    row_set_text(row, LIVE_COL_STATUS, status);
    if (was_driven) {
        set_figures(row, subject, &driven->result, &driven->costs);
    }
    for (size_t i = 0; i < SHARES; i++) {
        struct row *point = results_add(&found->curves);
        set_subject(point, subject);
        row_set_real(point, LATENESS_SHARE, lateness_shares[i]);
        row_set_real(point, LATENESS_US,
                     (double)histogram_quantile(late, lateness_shares[i]) / 1e3);
    }
}

/* The rows, each with its curve as `lateness`; null where no timer fired. */
static json_t *rows_json(const struct found *found)
{
    json_t *rows = results_json_rows(&found->rows);
    for (size_t i = 0; i < found->rows.count; i++) {
        bool fired = !isnan(row_value(&found->rows.rows[i], LIVE_COL_MAX));
        json_t *curve = json_array();
        for (size_t k = 0; k < SHARES; k++) {
            const struct row *point = &found->curves.rows[i * SHARES + k];
            (void)json_array_append_new(
                curve,
                json_pack("{s:f, s:o}", "share", row_value(point, LATENESS_SHARE), "lateness_us",
                          fired ? json_real(row_value(point, LATENESS_US)) : json_null()));
        }
        (void)json_object_set_new(json_array_get(rows, i), "lateness", curve);
    }
    return rows;
}

static void print_table(const struct results *rows)
{
    static const struct {
        const char *head;
        enum live_column column;
    } columns[] = {
        {"cpu %", LIVE_COL_CPU},
        {"wakeups/s", LIVE_COL_WAKEUPS},
        {"late p50 us", LIVE_COL_P50},
        {"p99 us", LIVE_COL_P99},
        {"max us", LIVE_COL_MAX},
        {"stall us", LIVE_COL_STALL},
        {"fired/s", LIVE_COL_FIRED},
        {"idle/s", LIVE_COL_IDLE},
        {"restarts/s", LIVE_COL_RESTARTS},
        {"p99.9 us", LIVE_COL_P999},
        {"commits/s", LIVE_COL_COMMITS},
        {"waited %", LIVE_COL_WAITED},
        {"their p99", LIVE_COL_WAITED_P99},
        {"calls/exp", LIVE_COL_CALLS},
        {"user B", LIVE_COL_USER_BYTES},
        {"kernel B", LIVE_COL_KERNEL_BYTES},
    };
    enum { FIGURES = sizeof columns / sizeof columns[0] };
    struct text_table table = {.columns = FIGURES + 3};
    text_table_add(&table, "structure");
    text_table_add(&table, "drive");
    for (size_t c = 0; c < FIGURES; c++) {
        table.right[c + 2] = true;
        text_table_add(&table, "%s", columns[c].head);
    }
    text_table_add(&table, "status");
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->rows[i];
        const char *option_text = row_text(row, LIVE_COL_OPTIONS);
        text_table_add(&table, "%s%s%s", row_text(row, LIVE_COL_ALGO),
                       option_text[0] != '\0' ? ":" : "", option_text);
        text_table_add(&table, "%s", row_text(row, LIVE_COL_DRIVE));
        for (size_t c = 0; c < FIGURES; c++) {
            double value = row_value(row, columns[c].column);
            text_table_add(&table, isnan(value) ? "-" : "%.1f", value);
        }
        text_table_add(&table, "%s", row_text(row, LIVE_COL_STATUS));
    }
    text_table_write(&table, stdout);
    text_table_free(&table);
}

/* --- running
 --------------------------------------------------------------------------------- */

static void take_progress(void *ctx, uint64_t done_ns)
{
    (void)ctx;
    child_progress(done_ns / 1000000);
}

/* All connections exist: note their cost. Calls count from here on. */
static void on_ready(void *ctx)
{
    struct subject_costs *costs = ctx;
    if (costs->timers != NULL) {
        kernel_settle(costs->timers);
    }
    struct kernel_memory *now = kernel_memory_read();
    uint64_t user = kernel_user_bytes();
    uint64_t harness = (uint64_t)costs->connections * sizeof(uint64_t);
    uint64_t grown = user > costs->user_bytes ? user - costs->user_bytes : 0;
    costs->user_bytes = grown > harness ? grown - harness : 0;
    costs->kernel_bytes = kernel_memory_grown(costs->before, now, costs->connections);
    free(now);
    costs->system_calls = costs->loop.system_calls;
}

/* The parameters of a child. */
struct drive {
    const struct live_arguments *arguments;
    const struct live_subject *subject;
};

/* In the child. False, with the reason, if it cannot be driven. */
static bool run_here(void *ctx, void *into, struct error *error)
{
    const struct drive *drive = ctx;
    const struct live_arguments *arguments = drive->arguments;
    const struct live_subject *subject = drive->subject;
    struct live_result *result = &((struct driven *)into)->result;
    struct subject_costs *costs = &((struct driven *)into)->costs;
    const struct contender *contender = subject->contender;
    uint64_t traffic_ns = (uint64_t)(arguments->traffic_ms * 1e6);
    struct live_plan plan = arguments->plan;
    plan.drive = subject->drive;
    plan.duration_ns = (uint64_t)(arguments->seconds * 1e9);
    plan.progress = take_progress;
    plan.ready = on_ready;
    plan.ready_ctx = costs;
    *costs = (struct subject_costs){.before = kernel_memory_read(),
                                    .user_bytes = kernel_user_bytes(),
                                    .connections = plan.connections};
    struct live_epoll *loop = &costs->loop;
    struct live_clock clock;
    if (!live_epoll_open(loop, traffic_ns, error)) {
        free(costs->before);
        return false;
    }
    if (contender != NULL) {
        plan.algo = watched(contender->timed);
        plan.options = contender->options;
        loop->by_timeout = subject->by_timeout;
        clock = live_epoll_clock(loop);
    } else {
        costs->timers =
            kernel_open(subject->kind, plan.connections, plan.tick_ns, traffic_ns, loop, error);
        plan.algo = kernel_algo(subject->kind);
        plan.made = costs->timers;
        clock = kernel_clock(costs->timers);
    }
    child_phase(child_hook_seconds(), "while it was driven");
    bool done =
        (contender != NULL || costs->timers != NULL) && live_run(&plan, &clock, result, error);
    costs->system_calls = loop->system_calls - costs->system_calls;
    kernel_close(costs->timers);
    live_epoll_close(loop);
    free(costs->before);
    return done;
}

/* Drives it in a child, and adds its row, which also says why it could not be driven. A built-in
 * structure that cannot be driven ends the command. */
static bool add_row(const struct live_arguments *arguments, const struct live_subject *subject,
                    struct driven *driven, struct found *found, bool *right, struct error *error)
{
    const struct contender *contender = subject->contender;
    const struct tl_algo *algo = algo_of(subject);
    struct drive drive = {arguments, subject};
    struct child_outcome outcome;
    struct progress progress;
    const struct child_request request = {.run = run_here,
                                          .ctx = &drive,
                                          .result_bytes = sizeof *driven,
                                          .progress = progress_follow,
                                          .progress_ctx = &progress};
    char status[sizeof outcome.reason + 32] = "ok";
    *driven = (struct driven){.costs = {.connections = arguments->plan.connections}};
    progress_begin(&progress, algo->name, "milliseconds", (uint64_t)(arguments->seconds * 1e3));
    if (!plug_in_run(algo, &request, driven, &outcome, error)) {
        return false;
    }
    const char *fault = child_fault(&outcome);
    if (outcome.end == CHILD_FAILED) {
        if (contender != NULL && !plug_in_is(algo)) {
            return error_set(error, "%s", outcome.reason);
        }
        (void)snprintf(status, sizeof status, "unsupported: %s", outcome.reason);
        *right = *right && contender == NULL;
    } else if (fault != NULL || driven->result.fault[0] != '\0') {
        (void)snprintf(status, sizeof status, "%s", fault != NULL ? fault : driven->result.fault);
        *right = false;
    }
    set_row(found, subject, driven, status, outcome.end == CHILD_DONE);
    return true;
}

static bool run_all(const struct live_arguments *arguments, struct found *found, bool *right,
                    struct error *error)
{
    struct driven *result = memory_new(1, sizeof *result);
    bool done = true;
    for (size_t i = 0; done && i < arguments->structures.contenders.count; i++) {
        const struct contender *contender = &arguments->structures.contenders.items[i];
        bool sleeps = contender->timed->next != NULL;
        for (int drive = LIVE_SLEEP; done && drive <= LIVE_POLL; drive++) {
            /* Asked for both, one that cannot sleep is only polled; asked to sleep, it says so. */
            if (!arguments->drives[drive] ||
                (drive == LIVE_SLEEP && !sleeps && arguments->drives[LIVE_POLL])) {
                continue;
            }
            struct live_subject subject = {.contender = contender, .drive = (enum live_drive)drive};
            done = add_row(arguments, &subject, result, found, right, error);
        }
        if (done && arguments->kernel && sleeps) {
            struct live_subject subject = {
                .contender = contender, .drive = LIVE_SLEEP, .by_timeout = true};
            done = add_row(arguments, &subject, result, found, right, error);
        }
    }
    for (int kind = 0; done && kind < KERNEL_AND_HOSTED; kind++) {
        if (kind < KERNEL_KINDS ? arguments->kernel : arguments->hosted) {
            struct live_subject subject = {.kind = (enum kernel_kind)kind, .drive = LIVE_OWN};
            done = add_row(arguments, &subject, result, found, right, error);
        }
    }
    free(result);
    return done;
}

static void write_json(const void *at, FILE *stream)
{
    const struct found *found = at;
    json_t *rows = rows_json(found);
    results_write_rows(rows, found->context, false, stream);
    json_decref(rows);
}

static void write_csv(const void *rows, FILE *stream)
{
    results_write_csv(rows, stream);
}

static bool write_folder(struct outfolder *folder, const struct found *found, struct error *error)
{
    return outfolder_write(folder, "live.csv", write_csv, &found->rows, error) &&
           outfolder_write(folder, "lateness.csv", write_csv, &found->curves, error) &&
           outfolder_write(folder, "live.json", write_json, found, error) &&
           outfolder_commit(folder, live_files, error);
}

static int run_live(void *at, int argc, char **argv)
{
    struct live_arguments *arguments = at;
    struct error *error = &arguments->error;
    struct found found = {.rows = {.kind = &live_kind}, .curves = {.kind = &lateness_kind}};
    bool right = true;
    struct outfolder folder = {0};
    bool done =
        (arguments->out_dir == NULL || outfolder_open(&folder, arguments->out_dir, error)) &&
        run_all(arguments, &found, &right, error);
    json_t *context = context_json(argc, argv);
    found.context = context;
    if (done && arguments->out_dir != NULL) {
        done = write_folder(&folder, &found, error);
    }
    outfolder_close(&folder);
    if (!done) {
        command_complain(error);
    } else if (arguments->format == FORMAT_JSON) {
        write_json(&found, stdout);
    } else if (arguments->format == FORMAT_CSV) {
        results_write_csv(&found.rows, stdout);
    } else {
        print_table(&found.rows);
    }
    json_decref(context);
    results_free(&found.rows);
    results_free(&found.curves);
    return done && right ? EXIT_OK : EXIT_FAULT;
}

int command_live(int argc, char **argv)
{
    struct live_arguments arguments = {
        .plan = {.connections = 10000, .restarts_per_second = 10000, .seed = 1},
        .seconds = 5,
        .tick_ms = 1,
        .timeout_seconds = 30,
        .traffic_ms = 5,
        .drive = ASKED_BOTH,
    };
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures, run_live);
}
