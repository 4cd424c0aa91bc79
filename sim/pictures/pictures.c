/* Which pictures there are. */
#include "pictures_work.h"

#include "catalog.h"
#include "csv_table.h"
#include "memory.h"
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sweep of more traces is drawn only as a whole. */
#define TRACES_OF_SWEEP 4

static const char *const table_names[TABLES] = {
    "results", "latency", "response", "work", "bench", "threads", "lateness", "live", "lateness"};

/* Bars and lines; the rest of the arguments says by which columns they are sorted. */
#define BARS(of, kind, heading, text, shown, ...)                                                  \
    {                                                                                              \
        .table = of, .name = kind, .script = kind, .title = heading, .about = text,                \
        .columns = shown, __VA_ARGS__                                                              \
    }
#define LINES(of, file, kind, setting, heading, text, shown, ...)                                  \
    {                                                                                              \
        .table = of, .name = file, .script = kind, .settings = {setting}, .title = heading,        \
        .about = text, .columns = shown, .lines = true, __VA_ARGS__                                \
    }
#define CURVES(of, file, setting, heading, text)                                                   \
    LINES(of, file, "latency", setting, heading, text, "op,percentile,latency_ns",                 \
          .by = "latency_ns", .at = "percentile")

/* Of each trace. */
static const struct picture trace_pictures[] = {
    BARS(RESULTS, "throughput", "Time per event and throughput",
         "The whole trace, replayed as fast as possible. Less time, and more events per second, "
         "are better.",
         "status,ns_per_event,ns_per_event_mad,events_per_s,floor_ns_per_event,fired,averted",
         .by = "ns_per_event"),
    CURVES(LATENCY, "latency", NULL, "Latency by percentile",
           "Service time of single operations. The rarest and longest are on the right."),
    CURVES(RESPONSE, "response", "response", "Response time by percentile",
           "Service time plus the time that an operation waits for earlier ones, on the trace's "
           "own schedule."),
    BARS(RESULTS, "stall", "Longest pause",
         "How long a single advance kept everything else waiting.", "status,stall_ns",
         .by = "stall_ns"),
    LINES(WORK, "work", "work", NULL, "Work over time",
          "Compares, moves, visited slots and cascades of the per-tick bookkeeping. A spike is a "
          "tick at which many timers expired or were moved, as in a cascade; everything else waits "
          "for it. These are counts, the same on any machine.",
          "measure,from_tick,to_tick,work,shown,tick,cascades,fired,peak", .by = "shown"),
    BARS(RESULTS, "memory", "Memory",
         "Bytes per timer, the peak, and the bytes kept after all timers are gone.",
         "status,bytes_per_timer,bytes_peak,bytes_drained", .by = "bytes_per_timer"),
    BARS(RESULTS, "wakeups", "Wakeups",
         "How often the caller has to wake up for each expiry, and how often for nothing.",
         "status,wakeups_per_fired,idle_wakeups", .by = "wakeups_per_fired"),
    BARS(RESULTS, "lateness", "Lateness",
         "How early and how late timers expire, for structures that do not fire every timer on its "
         "due tick.",
         "lateness_min,lateness_p50,lateness_p99,lateness_max,declared_early,declared_late",
         .by = "lateness_max", .not_on_time = true),
};

/* Of a sweep, against each of its parameters. */
static const struct {
    const char *title;
    const char *column;
    const char *spread;
} sweep_pictures[] = {
    {"Time per event", "ns_per_event", ",ns_per_event_mad"},
    {"Memory", "bytes_per_timer", ""},
    {"Longest pause", "stall_ns", ""},
    {"99th percentile of start", "start_p99_ns", ""},
    {"99th percentile of stop", "stop_p99_ns", ""},
    {"99th percentile of advance", "advance_p99_ns", ""},
};

/* Of no trace. */
static const struct picture other_pictures[] = {
    LINES(BENCH, "cost", "cost", "ns_per_op", "Cost of single operations",
          "Time per operation against the number of timers.", "op,n,ns_per_op,ns_per_op_mad",
          .by = "ns_per_op", .at = "n", .per = "op"),
    LINES(BENCH, "cost-limit", "cost", "x_limit", "Cost as a multiple of the limit",
          "The limit is the least time that any structure could take on this machine.",
          "op,n,x_limit", .by = "x_limit", .at = "n", .per = "op"),
    LINES(BENCH, "cost-stall", "cost", "longest_advance_ns",
          "Longest pause against the number of timers", "The longest single advance.",
          "op,n,longest_advance_ns", .by = "longest_advance_ns", .at = "n", .per = "op"),
    LINES(THREADS, "threads", "threads", NULL, "Many threads",
          "Structures with front ends: operations per second against the number of threads.",
          "cancelled_percent,threads,operations_per_second,call_ns_p99",
          .by = "operations_per_second", .at = "threads"),
    BARS(LIVE, "live", "By the real clock",
         "Wakeups and CPU use of structures that sleep until the next expiry, or are polled at "
         "every tick.",
         "status,timer_wakeups_per_second,idle_wakeups_per_second,cpu_percent",
         .by = "timer_wakeups_per_second"),
    CURVES(LATE, "live-lateness", "lateness", "Lateness by the real clock",
           "How late timers expired: those of structures that sleep until the next expiry, and "
           "those of polled ones."),
    CURVES(CLUSTER, "cluster-lateness", "lateness", "Lateness by path",
           "How late the service was called, simulated: at once, after an error, after a process "
           "died, or when a second pass found the timer."),
};

/* --- looks ----------------------------------------------------------------------------------- */

/* As `structures` describe a structure, or else as this program knows it. */
static uint32_t capabilities_of(const json_t *structures, const struct catalog *catalog,
                                const char *name)
{
    struct error unknown;
    const json_t *known = json_object_get(structures, name);
    const struct catalog_entry *entry =
        known == NULL ? catalog_find(catalog, name, &unknown) : NULL;
    return entry != NULL ? entry->timed->capabilities
                         : results_read_capabilities(json_object_get(known, "capabilities"));
}

/* Contenders get the styles 1, 2, ... in the order of the tables, baselines 0, -1, ...; slow
 * baselines, which would squeeze the others, none. */
static void give_looks(struct pictures *all, const json_t *structures)
{
    struct catalog catalog;
    json_int_t contenders = 0;
    json_int_t baselines = 0;
    catalog_init(&catalog);
    for (enum table t = RESULTS; t < TABLES; t++) {
        const json_t *names = picture_distinct(all, all->tables[t], "series");
        for (size_t i = 0; i < json_array_size(names); i++) {
            const char *series = json_string_value(json_array_get(names, i));
            const json_t *rows = picture_where(all, all->tables[t], "series", series);
            uint32_t known =
                capabilities_of(structures, &catalog, json_word(json_array_get(rows, 0), "algo"));
            if (json_object_get(all->looks, series) == NULL && (known & TL_CAP_BASELINE) == 0) {
                (void)json_object_set_new(all->looks, series, json_integer(++contenders));
            } else if (json_object_get(all->looks, series) == NULL && (known & TL_CAP_SLOW) == 0) {
                (void)json_object_set_new(all->looks, series, json_integer(-baselines++));
            }
        }
    }
    catalog_free(&catalog);
}

/* --- of a trace ------------------------------------------------------------------------------ */

/* A trace's name in pictures, a word that is not among `used`. */
static const char *short_name(struct pictures *all, const char *trace, json_t *used)
{
    const char *base = picture_word(all, trace);
    const char *name = base;
    for (unsigned i = 2; json_object_get(used, name) != NULL; i++) {
        name = pool_format(&all->pool, "%s-%u", base, i);
    }
    (void)json_object_set_new(used, name, json_true());
    return name;
}

static void add_trace(struct pictures *all, const char *trace, const char *name)
{
    for (size_t i = 0; i < sizeof trace_pictures / sizeof trace_pictures[0]; i++) {
        struct picture picture = trace_pictures[i];
        picture.name = pool_format(&all->pool, "%s-%s", picture.name, name);
        picture.title = pool_format(&all->pool, "%s, %s", picture.title, name);
        picture.trace = name;
        picture_cut(all, picture_where(all, all->tables[picture.table], "trace", trace), &picture);
    }
}

/* --- of a sweep ------------------------------------------------------------------------------ */

/* Whether a parameter has several values, all numbers. Seeds only repeat a measurement. */
static bool is_turned(struct pictures *all, const char *knob)
{
    const json_t *values = picture_distinct(all, all->tables[RESULTS], knob);
    bool turned = json_array_size(values) > 1 && strcmp(knob, "p_seed") != 0;
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *text = json_string_value(json_array_get(values, i));
        char *end = NULL;
        turned = isfinite(strtod(text, &end)) && end != text && *end == '\0' && turned;
    }
    return turned;
}

/* The parameters that were turned, or those that were not: columns p_*. */
static json_t *find_knobs(struct pictures *all, bool turned)
{
    json_t *knobs = picture_table(all);
    json_t *known = json_object();
    for (size_t i = 0; i < json_array_size(all->tables[RESULTS]); i++) {
        (void)json_object_update_missing(known, json_array_get(all->tables[RESULTS], i));
    }
    const char *name = NULL;
    const json_t *value = NULL;
    json_object_foreach(known, name, value)
    {
        if (strncmp(name, "p_", 2) == 0 && is_turned(all, name) == turned) {
            (void)json_array_append_new(knobs, json_string(name));
        }
    }
    json_decref(known);
    return knobs;
}

/* Lines against `x`, a panel for each value of `panel`; other parameters stay at their first values. */
static void add_lines(struct pictures *all, const json_t *knobs, const char *x, const char *panel)
{
    const json_t *rows = all->tables[RESULTS];
    struct text about = {.pool = &all->pool};
    text_add(&about, "By %s", panel + strlen("p_"));
    for (size_t i = 0, others = 0; i < json_array_size(knobs); i++) {
        const char *other = json_string_value(json_array_get(knobs, i));
        if (strcmp(other, x) != 0 && strcmp(other, panel) != 0) {
            const char *first = json_word(json_array_get(rows, 0), other);
            text_add(&about, "%s%s=%s", others++ == 0 ? "; with " : ",", other + strlen("p_"),
                     first);
            rows = picture_where(all, rows, other, first);
        }
    }
    text_add(&about, ".");
    const char *text = text_end(&about);
    const char *x_name = picture_word(all, x + strlen("p_"));
    for (size_t i = 0; i < sizeof sweep_pictures / sizeof sweep_pictures[0]; i++) {
        const char *column = sweep_pictures[i].column;
        picture_cut(
            all, rows,
            &(struct picture){
                .name = pool_format(&all->pool, "sweep-%.*s-%s", (int)strcspn(column, "_"), column,
                                    x_name),
                .script = "sweep",
                .settings = {column, picture_word(all, x), picture_word(all, panel)},
                .title = pool_format(&all->pool, "%s against %s", sweep_pictures[i].title, x_name),
                .about = text,
                .columns = pool_format(&all->pool, "%s,%s,%s%s", panel, x, column,
                                       sweep_pictures[i].spread),
                .by = column,
                .at = x,
                .lines = true,
            });
    }
}

/* For each pair of parameters a map, and lines against each, with panels by the next. */
static void add_sweep(struct pictures *all, const json_t *knobs)
{
    const json_t *fixed = find_knobs(all, false);
    size_t count = json_array_size(knobs);
    for (size_t i = 0; i < count; i++) {
        const char *x = json_string_value(json_array_get(knobs, i));
        for (size_t k = i + 1; k < count; k++) {
            picture_regime(all, all->tables[RESULTS], x,
                           json_string_value(json_array_get(knobs, k)));
        }
        const json_t *panel =
            count > 1 ? json_array_get(knobs, (i + 1) % count) : json_array_get(fixed, 0);
        if (panel != NULL) {
            add_lines(all, knobs, x, json_string_value(panel));
        }
    }
}

/* --- of other commands ----------------------------------------------------------------------- */

/* The lateness.csv of `timerlab live` or `cluster sim` in the columns of latency.csv: the one that has
 * these columns for structure, panel, and lateness in units of `ns`. */
static json_t *curves(struct pictures *all, const json_t *lateness, const char *algo,
                      const char *panel, const char *late, double ns)
{
    json_t *table = picture_table(all);
    for (size_t i = 0; i < json_array_size(lateness); i++) {
        const json_t *row = json_array_get(lateness, i);
        if (json_word(row, panel)[0] != '\0') {
            picture_table_add(
                all, table,
                json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "algo", json_word(row, algo), "options",
                          json_word(row, "options"), "op", json_word(row, panel), "percentile",
                          pool_format(&all->pool, "%.9g", json_figure(row, "share") * 100),
                          "latency_ns",
                          pool_format(&all->pool, "%.9g", json_figure(row, late) * ns), "set",
                          json_word(row, "set")));
        }
    }
    return table;
}

/* A row of live.csv is a structure with a drive, which is shown as its last option. */
static void show_drives(struct pictures *all)
{
    for (size_t i = 0; i < json_array_size(all->tables[LIVE]); i++) {
        json_t *row = json_array_get(all->tables[LIVE], i);
        const char *options = json_word(row, "options");
        const char *shown = pool_format(&all->pool, "%s%s%s", options,
                                        options[0] != '\0' ? ", " : "", json_word(row, "drive"));
        (void)json_object_set_new(row, "options", json_string(shown));
    }
}

/* --- all ------------------------------------------------------------------------------------- */

static void add_all(struct pictures *all)
{
    const json_t *knobs = find_knobs(all, true);
    const json_t *traces = picture_distinct(all, all->tables[RESULTS], "trace");
    json_t *used = json_object();
    bool many = json_array_size(knobs) > 0 && json_array_size(traces) > TRACES_OF_SWEEP;
    add_sweep(all, knobs);
    for (size_t i = 0; !many && i < json_array_size(traces); i++) {
        const char *trace = json_string_value(json_array_get(traces, i));
        add_trace(all, trace, short_name(all, trace, used));
    }
    json_decref(used);
    for (size_t i = 0; i < sizeof other_pictures / sizeof other_pictures[0]; i++) {
        picture_cut(all, all->tables[other_pictures[i].table], &other_pictures[i]);
    }
}

static void write_list(const void *ctx, FILE *stream)
{
    (void)fputs("picture,script,trace,setting_1,setting_2,setting_3,title,about\n", stream);
    (void)fputs(ctx, stream);
}

bool pictures_write(struct outfolder *out, const char *place, const char *const *folders,
                    size_t count, const json_t *structures, struct error *error)
{
    char *list = NULL;
    size_t list_bytes = 0;
    struct pictures all = {
        .out = out, .place = place, .error = error, .kept = json_array(), .looks = json_object()};
    for (size_t t = 0; t < TABLES; t++) {
        all.tables[t] = picture_table_read(&all, folders, count, table_names[t]);
    }
    all.tables[WORK] = picture_work(&all, all.tables[WORK]);
    all.tables[LATE] = curves(&all, all.tables[LATE], "algo", "drive", "lateness_us", 1e3);
    all.tables[CLUSTER] = curves(&all, all.tables[CLUSTER], "protocol", "path", "late_ms", 1e6);
    show_drives(&all);
    all.list = memory_stream(&list, &list_bytes);
    give_looks(&all, structures);
    add_all(&all);
    memory_stream_close(all.list);
    bool done =
        !all.failed && outfolder_write(out, pool_format(&all.pool, "%s/pictures.csv", place),
                                       write_list, list, error);
    json_decref(all.kept);
    json_decref(all.looks);
    pool_free(&all.pool);
    free(list);
    return done;
}

bool pictures_commit(struct outfolder *out, const char *place, struct error *error)
{
    static const char *const endings[] = {"csv", "svg", "png", "pdf"};
    struct pool pool = {0};
    struct error unread;
    json_t *before =
        csv_table_read(pool_format(&pool, "%s/%s/pictures.csv", out->path, place), &unread);
    const char **kinds = memory_new(4 * json_array_size(before) + 1, sizeof *kinds);
    size_t count = 0;
    for (size_t i = 0; i < 4 * json_array_size(before); i++) {
        const char *name = json_word(json_array_get(before, i / 4), "picture");
        if (strchr(name, '/') == NULL) {
            kinds[count++] = pool_format(&pool, "%s/%s.%s", place, name, endings[i % 4]);
        }
    }
    bool done = outfolder_commit(out, kinds, error);
    json_decref(before);
    free((void *)kinds);
    pool_free(&pool);
    return done;
}
