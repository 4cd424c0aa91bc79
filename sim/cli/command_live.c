/* timerlab live: structures driven by the real clock, and what that shows. */
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

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    bool kernel;    /* beside the structures, the kernel's own timers */
    bool hosted;    /* and the loops of libraries */
    enum live_format format;
    const char *out_dir;
    struct error error;
};

static const char *const drive_words[] = {
    [LIVE_SLEEP] = "sleep", [LIVE_POLL] = "poll", [LIVE_OWN] = "own"};

/* What is driven, and how: a row. */
struct subject {
    const struct contender *contender; /* NULL: what `kind` says */
    enum kernel_kind kind;
    enum live_drive drive;
    bool by_timeout; /* asleep by epoll_wait's timeout, not by a timerfd */
};

/* What a row has beside live_result. */
struct subject_costs {
    struct kernel_memory *before;
    uint64_t user_bytes;          /* before, then the growth */
    double kernel_bytes;          /* for a timer; negative: not known */
    struct live_epoll loop;       /* of a structure */
    struct kernel_timers *timers; /* NULL: a structure */
    const uint64_t *calls;
    uint64_t calls_before;
    uint64_t system_calls; /* while it was driven */
    uint32_t connections;
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
     .take = command_take_service},
    {{"traffic", 0, "MS", 0, "Traffic comes every so many milliseconds (5)", 0},
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
      "Also write live.csv, live.json and lateness.csv there, which plots/live.gp draws", 0},
     OPTION_TEXT,
     AT(out_dir)},
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "",
    .text = "Drives structures by the real clock, with epoll and timerfd, as a server would: "
            "connections with an idle timeout each, some of which traffic pushes back, and some of "
            "which expire. Shows how late, how many wakeups, how much of a processor."
            "\vExit status: 0 done, 1 a structure lost a timer, 2 usage.",
    .complete = complete,
};

/* --- the rows -------------------------------------------------------------------------------- */

static double per_second(uint64_t count, const struct live_result *result)
{
    return result->elapsed_ns > 0 ? (double)count * 1e9 / (double)result->elapsed_ns : 0;
}

/* Not a number if nothing fired: then nobody knows how late it would have been. */
static double quantile_us(const struct histogram *lateness_ns, double share)
{
    return lateness_ns->total > 0 ? (double)histogram_quantile(lateness_ns, share) / 1e3 : NAN;
}

static double lateness_us(const struct live_result *result, double share)
{
    return quantile_us(&result->lateness_ns, share);
}

static const double lateness_shares[] = {0,    0.1,  0.25,  0.5,   0.75,   0.9,
                                         0.95, 0.99, 0.995, 0.999, 0.9999, 1};

static const char *drive_word(const struct subject *subject)
{
    return subject->by_timeout ? "epoll-ms" : drive_words[subject->drive];
}

static double per_fired(const struct subject_costs *costs, const struct live_result *result)
{
    return result->fired > 0 ? (double)costs->system_calls / (double)result->fired : NAN;
}

/* What is not known is null. */
static json_t *real_or_null(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

/* Its figures are not known unless it was driven. */
static json_t *row_json(const struct subject *subject, const struct live_result *result,
                        const struct subject_costs *costs, const char *status, bool driven)
{
    const struct contender *contender = subject->contender;
    bool is_durable = contender != NULL && (contender->timed->capabilities & TL_CAP_DURABLE) != 0;
    json_t *row = json_object();
    (void)json_object_set_new(
        row, "algo",
        json_string(contender != NULL ? contender->timed->name : kernel_name(subject->kind)));
    (void)json_object_set_new(row, "options",
                              json_string(contender != NULL ? contender->option_text : ""));
    (void)json_object_set_new(row, "drive", json_string(drive_word(subject)));
    (void)json_object_set_new(row, "connections", json_integer(costs->connections));
    const struct {
        const char *name;
        double value;
    } figures[] = {
        {"seconds", (double)result->elapsed_ns / 1e9},
        {"restarts_per_second", per_second(result->restarts, result)},
        {"fired_per_second", per_second(result->fired, result)},
        {"timer_wakeups_per_second", per_second(result->timer_wakeups, result)},
        {"idle_wakeups_per_second", per_second(result->idle_wakeups, result)},
        {"traffic_wakeups_per_second", per_second(result->traffic_wakeups, result)},
        {"timer_sets_per_second", per_second(result->arms, result)},
        {"cpu_percent", per_second(result->processor_ns, result) / 1e7},
        {"lateness_us_p50", lateness_us(result, 0.5)},
        {"lateness_us_p99", lateness_us(result, 0.99)},
        {"lateness_us_p999", lateness_us(result, 0.999)},
        {"lateness_us_max",
         result->lateness_ns.total > 0 ? (double)result->lateness_ns.max / 1e3 : NAN},
        {"stall_us", (double)result->advance_ns.max / 1e3},
        {"early", (double)result->early},
        {"commits_per_second", is_durable ? per_second(result->commits, result) : NAN},
        {"waited_percent", is_durable && result->fired > 0
                               ? 100.0 * (double)result->waited_ns.total / (double)result->fired
                               : NAN},
        {"waited_us_p99", quantile_us(&result->waited_ns, 0.99)},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        (void)json_object_set_new(row, figures[i].name,
                                  real_or_null(driven ? figures[i].value : NAN));
    }
    (void)json_object_set_new(row, "status", json_string(status));
    const struct {
        const char *name;
        double value;
    } costs_of[] = {
        {"system_calls_per_expiry", per_fired(costs, result)},
        {"user_bytes_per_timer",
         costs->user_bytes > 0 ? (double)costs->user_bytes / costs->connections : NAN},
        {"kernel_bytes_per_timer", costs->kernel_bytes >= 0 ? costs->kernel_bytes : NAN},
    };
    for (size_t i = 0; i < sizeof costs_of / sizeof costs_of[0]; i++) {
        (void)json_object_set_new(row, costs_of[i].name,
                                  real_or_null(driven ? costs_of[i].value : NAN));
    }
    json_t *curve = json_array();
    for (size_t i = 0; i < sizeof lateness_shares / sizeof lateness_shares[0]; i++) {
        json_t *point = json_pack("{s:f, s:o}", "share", lateness_shares[i], "lateness_us",
                                  real_or_null(lateness_us(result, lateness_shares[i])));
        (void)json_array_append_new(curve, point);
    }
    (void)json_object_set_new(row, "lateness", curve);
    return row;
}

/* One value as it is printed; numbers with few digits where they are for people. */
static void format_value(const json_t *value, bool table, char *text, size_t text_bytes)
{
    if (json_is_string(value)) {
        (void)snprintf(text, text_bytes, "%s", json_string_value(value));
    } else if (json_is_null(value)) {
        (void)snprintf(text, text_bytes, "%s", table ? "-" : "");
    } else if (json_is_integer(value)) {
        (void)snprintf(text, text_bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else {
        (void)snprintf(text, text_bytes, table ? "%.1f" : "%.6g", json_real_value(value));
    }
}

static void print_csv(FILE *stream, const json_t *rows)
{
    for (size_t i = 0; i <= json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i > 0 ? i - 1 : 0);
        const char *name = NULL;
        json_t *value = NULL;
        const char *separator = "";
        json_object_foreach(row, name, value)
        {
            char text[1200];
            if (json_is_array(value)) {
                continue;
            }
            format_value(value, false, text, sizeof text);
            (void)fputs(separator, stream);
            csv_write_field(stream, i == 0 ? name : text);
            separator = ",";
        }
        (void)putc('\n', stream);
    }
}

/* The distribution of the lateness, a line for each share of the timers. */
static void print_lateness(FILE *stream, const json_t *rows)
{
    (void)fputs("algo,options,drive,share,lateness_us\n", stream);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        size_t index = 0;
        json_t *point = NULL;
        json_array_foreach(json_object_get(row, "lateness"), index, point)
        {
            csv_write_field(stream, json_string_value(json_object_get(row, "algo")));
            (void)putc(',', stream);
            csv_write_field(stream, json_string_value(json_object_get(row, "options")));
            (void)fprintf(stream, ",%s,%g,%.6g\n", json_string_value(json_object_get(row, "drive")),
                          json_real_value(json_object_get(point, "share")),
                          json_real_value(json_object_get(point, "lateness_us")));
        }
    }
}

static void print_table(json_t *rows)
{
    static const struct {
        const char *head;
        const char *name;
    } columns[] = {
        {"cpu %", "cpu_percent"},
        {"wakeups/s", "timer_wakeups_per_second"},
        {"late p50 us", "lateness_us_p50"},
        {"p99 us", "lateness_us_p99"},
        {"max us", "lateness_us_max"},
        {"stall us", "stall_us"},
        {"fired/s", "fired_per_second"},
        {"idle/s", "idle_wakeups_per_second"},
        {"restarts/s", "restarts_per_second"},
        {"p99.9 us", "lateness_us_p999"},
        {"commits/s", "commits_per_second"},
        {"waited %", "waited_percent"},
        {"their p99", "waited_us_p99"},
        {"calls/exp", "system_calls_per_expiry"},
        {"user B", "user_bytes_per_timer"},
        {"kernel B", "kernel_bytes_per_timer"},
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
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        const char *option_text = json_string_value(json_object_get(row, "options"));
        text_table_add(&table, "%s%s%s", json_string_value(json_object_get(row, "algo")),
                       option_text[0] != '\0' ? ":" : "", option_text);
        text_table_add(&table, "%s", json_string_value(json_object_get(row, "drive")));
        for (size_t c = 0; c < FIGURES; c++) {
            char text[64];
            format_value(json_object_get(row, columns[c].name), true, text, sizeof text);
            text_table_add(&table, "%s", text);
        }
        text_table_add(&table, "%s", json_string_value(json_object_get(row, "status")));
    }
    text_table_write(&table, stdout);
    text_table_free(&table);
}

/* --- running --------------------------------------------------------------------------------- */

static void take_progress(void *ctx, uint64_t done_ns)
{
    (void)ctx;
    child_progress(done_ns / 1000000);
}

/* All connections are there: what they took, and from here on calls count. */
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
    kernel_memory_free(now);
    costs->calls_before = *costs->calls;
}

/* What a child drives, and what it finds out. */
struct drive {
    const struct live_arguments *arguments;
    const struct subject *subject;
};

struct driven {
    struct live_result result;
    struct subject_costs costs;
};

/* In the child. False, with the reason, if it cannot be driven. */
static bool run_here(void *ctx, void *into, struct error *error)
{
    const struct drive *drive = ctx;
    const struct live_arguments *arguments = drive->arguments;
    const struct subject *subject = drive->subject;
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
    struct kernel_timers *timers = NULL;
    struct live_clock clock;
    if (contender != NULL) {
        plan.algo = watched(contender->timed);
        plan.options = contender->options;
        if (!live_epoll_open(loop, traffic_ns, error)) {
            return false;
        }
        loop->by_timeout = subject->by_timeout;
        costs->calls = &loop->system_calls;
        clock = live_epoll_clock(loop);
    } else {
        timers = kernel_open(subject->kind, plan.connections, plan.tick_ns, traffic_ns, error);
        if (timers == NULL) {
            return false;
        }
        plan.algo = kernel_algo(subject->kind);
        plan.made = timers;
        costs->timers = timers;
        costs->calls = kernel_system_calls(timers);
        clock = kernel_clock(timers);
    }
    child_phase(child_hook_seconds(), "while it was driven");
    bool done = live_run(&plan, &clock, result, error);
    costs->system_calls = *costs->calls - costs->calls_before;
    if (contender != NULL) {
        live_epoll_close(loop);
    }
    kernel_close(timers);
    kernel_memory_free(costs->before);
    return done;
}

/* Drives it in a child, and adds its row, which also says why it could not be driven. A built-in
 * structure that cannot be driven ends the command. */
static bool add_row(const struct live_arguments *arguments, const struct subject *subject,
                    struct driven *driven, json_t *rows, bool *right, struct error *error)
{
    const struct contender *contender = subject->contender;
    const char *name = contender != NULL ? contender->timed->name : kernel_name(subject->kind);
    const struct tl_algo *algo = contender != NULL ? contender->timed : kernel_algo(subject->kind);
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
    progress_begin(&progress, name, "milliseconds", (uint64_t)(arguments->seconds * 1e3));
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
    (void)json_array_append_new(rows, row_json(subject, &driven->result, &driven->costs, status,
                                               outcome.end == CHILD_DONE));
    return true;
}

static bool run_all(const struct live_arguments *arguments, json_t *rows, bool *right,
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
            struct subject subject = {.contender = contender, .drive = (enum live_drive)drive};
            done = add_row(arguments, &subject, result, rows, right, error);
        }
        if (done && arguments->kernel && sleeps) {
            struct subject subject = {
                .contender = contender, .drive = LIVE_SLEEP, .by_timeout = true};
            done = add_row(arguments, &subject, result, rows, right, error);
        }
    }
    for (int kind = 0; done && kind < KERNEL_AND_HOSTED; kind++) {
        if (kind < KERNEL_KINDS ? arguments->kernel : arguments->hosted) {
            struct subject subject = {.kind = (enum kernel_kind)kind, .drive = LIVE_OWN};
            done = add_row(arguments, &subject, result, rows, right, error);
        }
    }
    free(result);
    return done;
}

static void write_document(const void *document, FILE *stream)
{
    (void)json_dumpf(document, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    (void)putc('\n', stream);
}

static void write_csv(const void *rows, FILE *stream)
{
    print_csv(stream, rows);
}

static void write_lateness(const void *rows, FILE *stream)
{
    print_lateness(stream, rows);
}

static bool write_folder(struct outfolder *folder, const json_t *document, struct error *error)
{
    const json_t *rows = json_object_get(document, "rows");
    return outfolder_write(folder, "live.csv", write_csv, rows, error) &&
           outfolder_write(folder, "lateness.csv", write_lateness, rows, error) &&
           outfolder_write(folder, "live.json", write_document, document, error) &&
           outfolder_commit(folder, live_files, error);
}

static int run(void *at, int argc, char **argv)
{
    struct live_arguments *arguments = at;
    struct error *error = &arguments->error;
    json_t *rows = json_array();
    bool right = true;
    struct outfolder folder = {0};
    bool done =
        (arguments->out_dir == NULL || outfolder_open(&folder, arguments->out_dir, error)) &&
        run_all(arguments, rows, &right, error);
    json_t *document = json_pack("{s:o, s:O}", "context", context_json(argc, argv), "rows", rows);
    if (done && arguments->out_dir != NULL) {
        done = write_folder(&folder, document, error);
    }
    outfolder_close(&folder);
    if (!done) {
        command_complain(error);
    } else if (arguments->format == FORMAT_JSON) {
        write_document(document, stdout);
    } else if (arguments->format == FORMAT_CSV) {
        print_csv(stdout, rows);
    } else {
        print_table(rows);
    }
    json_decref(document);
    json_decref(rows);
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
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures, run);
}
