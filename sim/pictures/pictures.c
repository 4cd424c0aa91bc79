/* Which pictures there are. */
#include "pictures_work.h"

#include "catalog.h"
#include "csv_table.h"
#include "memory.h"
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIST            PICTURES_FOLDER "/pictures.csv"

/* A sweep of more traces is drawn only as a whole. */
#define TRACES_OF_SWEEP 4

static const char *const table_names[TABLES] = {
    "results", "latency", "response", "work", "bench", "threads", "", "live", "lateness"};

/* Of each trace. */
static const struct picture trace_pictures[] = {
    {.table = RESULTS,
     .name = "throughput",
     .script = "throughput",
     .title = "Time per event and throughput",
     .about =
         "The whole trace, replayed as fast as possible. Less time, and more events per second, "
         "are better.",
     .columns =
         "status,ns_per_event,ns_per_event_mad,events_per_s,floor_ns_per_event,fired,averted",
     .by = "ns_per_event"},
    {.table = LATENCY,
     .name = "latency",
     .script = "latency",
     .title = "Latency by percentile",
     .about = "Service time of single operations. The rarest and longest are on the right.",
     .columns = "op,percentile,latency_ns",
     .by = "latency_ns",
     .at = "percentile",
     .lines = true},
    {.table = RESPONSE,
     .name = "response",
     .script = "latency",
     .settings = {"response"},
     .title = "Response time by percentile",
     .about = "Service time plus the time that an operation waits for earlier ones, on the trace's "
              "own schedule.",
     .columns = "op,percentile,latency_ns",
     .by = "latency_ns",
     .at = "percentile",
     .lines = true},
    {.table = RESULTS,
     .name = "stall",
     .script = "stall",
     .title = "Stall",
     .about = "The longest pause: how long a single advance kept everything else waiting.",
     .columns = "status,stall_ns",
     .by = "stall_ns"},
    {.table = WORK,
     .name = "work",
     .script = "work",
     .title = "Work over time",
     .about =
         "Compares, moves, visited slots and cascades of the per-tick bookkeeping. A spike is a "
         "tick at which many timers expired or were moved, as in a cascade; everything else "
         "waits for it. These are counts, the same on any machine.",
     .columns = "measure,from_tick,to_tick,work,shown,tick,cascades,fired,peak",
     .by = "shown",
     .lines = true},
    {.table = RESULTS,
     .name = "memory",
     .script = "memory",
     .title = "Memory",
     .about = "Bytes per timer, the peak, and the bytes kept after all timers are gone.",
     .columns = "status,bytes_per_timer,bytes_peak,bytes_drained",
     .by = "bytes_per_timer"},
    {.table = RESULTS,
     .name = "wakeups",
     .script = "wakeups",
     .title = "Wakeups",
     .about = "How often the caller has to wake up for each expiry, and how often for nothing.",
     .columns = "status,wakeups_per_fired,idle_wakeups",
     .by = "wakeups_per_fired"},
    {.table = RESULTS,
     .name = "lateness",
     .script = "lateness",
     .title = "Lateness",
     .about =
         "How early and how late timers expire, for structures that do not fire every timer on "
         "its due tick.",
     .columns = "lateness_min,lateness_p50,lateness_p99,lateness_max,declared_early,declared_late",
     .by = "lateness_max",
     .not_on_time = true},
};

/* Of a sweep, against each of its parameters. */
static const struct picture sweep_pictures[] = {
    {.name = "sweep-ns",
     .title = "Time per event",
     .columns = "ns_per_event,ns_per_event_mad",
     .by = "ns_per_event"},
    {.name = "sweep-bytes",
     .title = "Memory",
     .columns = "bytes_per_timer",
     .by = "bytes_per_timer"},
    {.name = "sweep-stall", .title = "Stall", .columns = "stall_ns", .by = "stall_ns"},
    {.name = "sweep-start",
     .title = "99th percentile of start",
     .columns = "start_p99_ns",
     .by = "start_p99_ns"},
    {.name = "sweep-stop",
     .title = "99th percentile of stop",
     .columns = "stop_p99_ns",
     .by = "stop_p99_ns"},
    {.name = "sweep-advance",
     .title = "99th percentile of advance",
     .columns = "advance_p99_ns",
     .by = "advance_p99_ns"},
};

/* Of no trace. */
static const struct picture other_pictures[] = {
    {.table = BENCH,
     .name = "cost",
     .script = "cost",
     .settings = {"ns_per_op"},
     .title = "Cost of single operations",
     .about = "Time per operation against the number of timers.",
     .columns = "op,n,ns_per_op,ns_per_op_mad",
     .by = "ns_per_op",
     .at = "n",
     .per = "op",
     .lines = true},
    {.table = BENCH,
     .name = "cost-limit",
     .script = "cost",
     .settings = {"x_limit"},
     .title = "Cost as a multiple of the limit",
     .about = "The limit is the least time that any structure could take on this machine.",
     .columns = "op,n,x_limit",
     .by = "x_limit",
     .at = "n",
     .per = "op",
     .lines = true},
    {.table = BENCH,
     .name = "cost-stall",
     .script = "cost",
     .settings = {"longest_advance_ns"},
     .title = "Stall against the number of timers",
     .about = "The longest single advance.",
     .columns = "op,n,longest_advance_ns",
     .by = "longest_advance_ns",
     .at = "n",
     .per = "op",
     .lines = true},
    {.table = THREADS,
     .name = "threads",
     .script = "threads",
     .title = "Many threads",
     .about = "Structures with front ends: operations per second against the number of threads.",
     .columns = "cancelled_percent,threads,operations_per_second,call_ns_p99",
     .by = "operations_per_second",
     .at = "threads",
     .lines = true},
    {.table = CLUSTER,
     .name = "cluster-lateness",
     .script = "latency",
     .settings = {"lateness"},
     .title = "Lateness by path",
     .about =
         "How late the service was called, simulated: at once, after an error, after a process "
         "died, or when a second pass found the timer.",
     .columns = "op,percentile,latency_ns",
     .by = "latency_ns",
     .at = "percentile",
     .lines = true},
};

/* --- looks ----------------------------------------------------------------------------------- */

/* The capabilities of structures, by name; the last folder that describes one counts. The caller owns it. */
static json_t *read_structures(struct pictures *all, const char *const *folders, size_t count)
{
    json_t *structures = json_object();
    for (size_t i = 0; i < count && !all->failed; i++) {
        struct stat info;
        json_error_t why;
        const char *path = pool_format(&all->pool, "%s/structures.json", folders[i]);
        if (stat(path, &info) != 0 || info.st_size == 0) {
            continue;
        }
        json_t *list = memory_unless_short(json_load_file(path, 0, &why));
        all->failed = !json_is_array(list);
        if (all->failed) {
            (void)error_set(all->error, "%s: does not list structures as JSON", path);
        }
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *structure = json_array_get(list, k);
            (void)json_object_set(structures, json_word(structure, "name"),
                                  json_object_get(structure, "capabilities"));
        }
        json_decref(list);
    }
    return structures;
}

/* As a folder describes the structure, or else as this program knows it. */
static uint32_t capabilities_of(const json_t *structures, const struct catalog *catalog,
                                const char *name)
{
    struct error unknown;
    const json_t *words = json_object_get(structures, name);
    const struct catalog_entry *entry =
        words == NULL ? catalog_find(catalog, name, &unknown) : NULL;
    return entry != NULL ? entry->timed->capabilities : results_read_capabilities(words);
}

/* Contenders get the styles 1, 2, ... in the order of the tables, baselines 0, -1, ...; slow
 * baselines, which would squeeze the others, none. */
static void give_looks(struct pictures *all, const json_t *structures)
{
    struct catalog catalog;
    json_int_t contenders = 0;
    json_int_t baselines = 0;
    catalog_init(&catalog);
    for (enum table t = RESULTS; t <= CLUSTER; t++) {
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

/* The last part of a trace's path without its ending, as a word that is not among `used`. */
static const char *short_name(struct pictures *all, const char *trace, json_t *used)
{
    const char *slash = strrchr(trace, '/');
    const char *last = slash != NULL ? slash + 1 : trace;
    const char *dot = strrchr(last, '.');
    int length = (int)(dot != NULL ? (size_t)(dot - last) : strlen(last));
    const char *base = picture_word(all, pool_format(&all->pool, "%.*s", length, last));
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
        struct picture picture = sweep_pictures[i];
        picture.script = "sweep";
        picture.settings[0] = picture.by;
        picture.settings[1] = picture_word(all, x);
        picture.settings[2] = picture_word(all, panel);
        picture.name = pool_format(&all->pool, "%s-%s", picture.name, x_name);
        picture.title = pool_format(&all->pool, "%s against %s", picture.title, x_name);
        picture.about = text;
        picture.columns = pool_format(&all->pool, "%s,%s,%s", panel, x, picture.columns);
        picture.at = x;
        picture.lines = true;
        picture_cut(all, rows, &picture);
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

/* The lateness.csv of `cluster sim` in the columns of latency.csv: a series for each protocol, a panel
 * for each path. Rows of `timerlab live`, which writes a file of the same name, are not taken. */
static json_t *cluster_table(struct pictures *all)
{
    json_t *table = picture_table(all);
    for (size_t i = 0; i < json_array_size(all->tables[LATENESS]); i++) {
        const json_t *row = json_array_get(all->tables[LATENESS], i);
        if (json_word(row, "protocol")[0] != '\0') {
            picture_table_add(
                table,
                json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "algo", json_word(row, "protocol"),
                          "options", "", "op", json_word(row, "path"), "percentile",
                          pool_format(&all->pool, "%.9g", json_figure(row, "share") * 100),
                          "latency_ns",
                          pool_format(&all->pool, "%.9g", json_figure(row, "late_ms") * 1e6), "set",
                          json_word(row, "set")));
        }
    }
    return table;
}

/* Write a row of live.csv or lateness.csv. */
static void write_live(struct pictures *all, const json_t *row, const char *panel)
{
    bool late = strcmp(panel, "lateness_us") == 0;
    const char *drive = json_word(row, "drive");
    picture_field(all, true, json_word(row, "series"), "");
    picture_field(all, false, drive, "");
    (void)fprintf(all->csv, ",%d,%s", strcmp(drive, "sleep") == 0 ? 1 : 2, panel);
    picture_field(all, false, late ? json_word(row, "share") : "", "nan");
    picture_field(all, false, json_word(row, panel), "nan");
    picture_end_row(all);
}

/* A picture for each folder that has live.csv. */
static void add_live(struct pictures *all)
{
    static const char *const panels[] = {"timer_wakeups_per_second", "idle_wakeups_per_second",
                                         "cpu_percent", "lateness_us"};
    const json_t *marks = picture_distinct(all, all->tables[LIVE], "set");
    for (size_t m = 0; m < json_array_size(marks); m++) {
        const char *mark = json_string_value(json_array_get(marks, m));
        const char *dash = mark[0] != '\0' ? "-" : "";
        picture_begin(all, "series,drive,style,panel,share,value");
        for (size_t p = 0; p < sizeof panels / sizeof panels[0]; p++) {
            const json_t *rows = picture_where(
                all, all->tables[strcmp(panels[p], "lateness_us") == 0 ? LATENESS : LIVE], "set",
                mark);
            for (size_t i = 0; i < json_array_size(rows); i++) {
                write_live(all, json_array_get(rows, i), panels[p]);
            }
        }
        picture_finish(all, &(struct picture){
                                .name = pool_format(&all->pool, "live%s%s", dash, mark),
                                .script = "live",
                                .title = pool_format(&all->pool, "By the real clock%s%s",
                                                     dash[0] != '\0' ? ", " : "", mark),
                                .about = "Wakeups, CPU use and lateness of structures that sleep "
                                         "until the next expiry, or are polled at every tick.",
                                .trace = mark,
                            });
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
    add_live(all);
}

static void write_list(const void *ctx, FILE *stream)
{
    (void)fputs("picture,script,trace,setting_1,setting_2,setting_3,title,about\n", stream);
    (void)fputs(ctx, stream);
}

bool pictures_write(struct outfolder *out, const char *place, const char *const *folders,
                    size_t count, struct error *error)
{
    char *list = NULL;
    size_t list_bytes = 0;
    struct pictures all = {
        .out = out, .place = place, .error = error, .kept = json_array(), .looks = json_object()};
    json_t *structures = read_structures(&all, folders, count);
    for (size_t t = 0; t < TABLES; t++) {
        all.tables[t] = picture_table_read(&all, folders, count, table_names[t]);
    }
    all.tables[WORK] = picture_work(&all, all.tables[WORK]);
    all.tables[CLUSTER] = cluster_table(&all);
    all.list = memory_stream(&list, &list_bytes);
    give_looks(&all, structures);
    add_all(&all);
    memory_stream_close(all.list);
    bool done =
        !all.failed && outfolder_write(out, pool_format(&all.pool, "%s/pictures.csv", place),
                                       write_list, list, error);
    json_decref(structures);
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
