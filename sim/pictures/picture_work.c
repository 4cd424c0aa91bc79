/* Work over time, in as many stretches of ticks as a picture has room for. */
#include "pictures_work.h"

#include "memory.h"

#include <math.h>
#include <stdlib.h>

/* Points of a line; fewer where there are many lines. */
#define POINTS         128
#define POINTS_OF_MANY 48
#define MANY           12

/* The logarithmic axis begins here, as plots/work.gp names it: less work is drawn here. */
#define LEAST          0.01

/* The highest points of a line have their values under the pointer. */
#define PEAKS          8

/* Several stretches as one. */
struct stretch {
    const json_t *first;
    const json_t *last;
    const json_t *worst; /* the one with the worst tick */
    double mean;
    double fired;
    double cascades;
};

static double value_of(const struct stretch *stretch, bool worst)
{
    return worst ? json_figure(stretch->worst, "worst_work") : stretch->mean;
}

static struct stretch join(const json_t *rows, size_t first, size_t count)
{
    const json_t *row = json_array_get(rows, first);
    struct stretch all = {.first = row, .worst = row};
    double ticks = 0;
    for (size_t i = first; i < first + count && i < json_array_size(rows); i++) {
        row = json_array_get(rows, i);
        double length = json_figure(row, "to_tick") - json_figure(row, "from_tick") + 1;
        ticks += length;
        all.mean += json_figure(row, "work_per_tick") * length;
        all.fired += json_figure(row, "fired");
        all.cascades += json_figure(row, "n_cascades");
        all.worst = json_figure(row, "worst_work") > value_of(&all, true) ? row : all.worst;
        all.last = row;
    }
    all.mean /= ticks;
    return all;
}

/* Whether the value of stretch `at` is one of the highest; of equals, the first are. */
static bool is_peak(const struct stretch *stretches, size_t count, size_t at, bool worst)
{
    double value = value_of(&stretches[at], worst);
    size_t higher = 0;
    for (size_t i = 0; i < count; i++) {
        double other = value_of(&stretches[i], worst);
        higher += other > value || (other == value && i < at);
    }
    return value > 0 && higher < PEAKS;
}

static const char *number(struct pictures *all, double value)
{
    return pool_format(&all->pool, value == floor(value) ? "%.0f" : "%.6g", value);
}

/* Add a row: that of the worst tick or of the first stretch, with these figures. */
static void add_point(struct pictures *all, json_t *table, const struct stretch *stretch,
                      bool worst, bool peak)
{
    json_t *row = json_copy((json_t *)(worst ? stretch->worst : stretch->first));
    double work = value_of(stretch, worst);
    const char *const figures[][2] = {
        {"measure", worst ? "worst" : "mean"},
        {"from_tick", json_word(stretch->first, "from_tick")},
        {"to_tick", json_word(stretch->last, "to_tick")},
        {"work", number(all, work)},
        {"shown", number(all, fmax(work, LEAST))},
        {"tick", json_word(row, worst ? "worst_tick" : "from_tick")},
        {"cascades", number(all, worst ? json_figure(row, "worst_cascades") : stretch->cascades)},
        {"fired", number(all, worst ? json_figure(row, "worst_fired") : stretch->fired)},
        {"peak", peak ? "1" : "0"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        (void)json_object_set_new(row, figures[i][0], json_string(figures[i][1]));
    }
    (void)json_array_append_new(table, row);
}

/* Add one line of the picture. */
static void add_series(struct pictures *all, json_t *table, const json_t *rows, size_t points)
{
    size_t step = 1;
    while (json_array_size(rows) > points * step) {
        step *= 2;
    }
    size_t count = (json_array_size(rows) + step - 1) / step;
    struct stretch *stretches = memory_new(count, sizeof *stretches);
    for (size_t i = 0; i < count; i++) {
        stretches[i] = join(rows, i * step, step);
    }
    for (size_t i = 0; i < 2 * count; i++) {
        bool worst = i < count;
        add_point(all, table, &stretches[i % count], worst,
                  is_peak(stretches, count, i % count, worst));
    }
    free(stretches);
}

json_t *picture_work(struct pictures *all, const json_t *rows)
{
    json_t *table = picture_table(all);
    const json_t *traces = picture_distinct(all, rows, "trace");
    for (size_t t = 0; t < json_array_size(traces); t++) {
        const json_t *of =
            picture_where(all, rows, "trace", json_string_value(json_array_get(traces, t)));
        const json_t *series = picture_distinct(all, of, "series");
        size_t count = json_array_size(series);
        for (size_t s = 0; s < count; s++) {
            add_series(
                all, table,
                picture_where(all, of, "series", json_string_value(json_array_get(series, s))),
                count > MANY ? POINTS_OF_MANY : POINTS);
        }
    }
    return table;
}
