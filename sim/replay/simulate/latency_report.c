#include "simulate.h"

#include "terminal.h"
#include "text_table.h"

#include <inttypes.h>
#include <string.h>

static const char *const time_words[] = {
    [LATENCY_SERVICE] = "service", [LATENCY_RESPONSE] = "response"};

/* A call of a kind, of a structure. */
struct measured {
    const struct entrant *entrant;
    enum latency_op op;
};

static const struct histogram *distribution(const struct measured *measured, enum latency_time time)
{
    const struct replay_result *latency = measured->entrant->latency;
    return time == LATENCY_SERVICE ? &latency->latency_ns[measured->op]
                                   : &latency->response_ns[measured->op];
}

/* Get the next kind of call of a structure that was measured; *at begins at 0. False: there is
 * none. */
static bool next_measured(const struct simulation *simulation, size_t *at,
                          struct measured *measured)
{
    while (*at < simulation->entrant_count * LATENCY_OPS) {
        const struct entrant *entrant = &simulation->entrants[*at / LATENCY_OPS];
        enum latency_op op = (enum latency_op)((*at)++ % LATENCY_OPS);
        if (entrant->right && entrant->latency != NULL &&
            entrant->latency->latency_ns[op].total > 0) {
            *measured = (struct measured){.entrant = entrant, .op = op};
            return true;
        }
    }
    return false;
}

/* --- curves ---------------------------------------------------------------------------------- */

static void write_point(struct row *row, double percentile, uint64_t ns, FILE *stream)
{
    row_set_real(row, CURVE_PERCENTILE, percentile);
    row_set_integer(row, CURVE_NS, ns);
    row_write_csv(&latency_kind, row, stream);
}

void latency_write_csv(const struct simulation *simulation, enum latency_time time, FILE *stream)
{
    struct row row = {0};
    struct measured measured;
    row_kind_write_header(&latency_kind, stream);
    for (size_t at = 0; next_measured(simulation, &at, &measured);) {
        const struct entrant *entrant = measured.entrant;
        const struct histogram *ns = distribution(&measured, time);
        double missing = 1.0;
        row_set_key(&row, entrant->trace->name, contender_name(entrant->contender),
                    contender_options(entrant->contender));
        row_set_text(&row, CURVE_OP, latency_op_word(measured.op));
        row_set_integer(&row, CURVE_COUNT, ns->total);
        while (missing * (double)ns->total >= 1) {
            write_point(&row, 100 * (1 - missing), histogram_quantile(ns, 1 - missing), stream);
            missing *= 0.840896415253714543; /* the fourth root of 1/2 */
        }
        write_point(&row, 100, ns->max, stream);
    }
    row_clear(&row);
}

/* --- distributions --------------------------------------------------------------------------- */

/* Replace characters that some file systems do not allow in names. */
static void tame(char *name)
{
    for (char *c = name; *c != '\0'; c++) {
        if (strchr("/\\:*?\"<>| ", *c) != NULL) {
            *c = '_';
        }
    }
}

static void write_histogram(const void *at, FILE *stream)
{
    histogram_write_percentiles(at, stream);
}

static bool add_histogram(const struct measured *measured, enum latency_time time,
                          struct outfolder *folder, struct error *error)
{
    const struct entrant *entrant = measured->entrant;
    const char *options = contender_options(entrant->contender);
    char name[512] = "latency/";
    char *own = name + strlen(name);
    (void)snprintf(own, sizeof name - strlen(name), "%s.%s%s%s.%s.%s.hgrm", entrant->trace->name,
                   contender_name(entrant->contender), options[0] != '\0' ? "_" : "", options,
                   latency_op_word(measured->op), time_words[time]);
    tame(own);
    return outfolder_write(folder, name, write_histogram, distribution(measured, time), error);
}

bool latency_write_histograms(const struct simulation *simulation, struct outfolder *folder,
                              struct error *error)
{
    struct measured measured;
    bool written = true;
    for (size_t at = 0; written && next_measured(simulation, &at, &measured);) {
        written = add_histogram(&measured, LATENCY_SERVICE, folder, error) &&
                  add_histogram(&measured, LATENCY_RESPONSE, folder, error);
    }
    return written;
}

/* --- the longest calls ----------------------------------------------------------------------- */

static json_t *longest_json(const struct measured *measured)
{
    const struct entrant *entrant = measured->entrant;
    const struct replay_worst *worst = &entrant->latency->worst[measured->op];
    bool advance = measured->op == LATENCY_ADVANCE;
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "trace", entrant->trace->name,
                     "algo", contender_name(entrant->contender), "options",
                     contender_options(entrant->contender), "op", latency_op_word(measured->op),
                     "ns", (json_int_t)worst->ns, "event", (json_int_t)worst->event, "tick",
                     (json_int_t)worst->tick, advance ? "fired" : "timer",
                     advance ? (json_int_t)worst->fired : (json_int_t)worst->id);
}

json_t *latency_worst(const struct simulation *simulation)
{
    json_t *all = json_array();
    struct measured measured;
    for (size_t at = 0; next_measured(simulation, &at, &measured);) {
        (void)json_array_append_new(all, longest_json(&measured));
    }
    return all;
}

static void add_longest(struct text_table *table, const struct measured *measured)
{
    const struct entrant *entrant = measured->entrant;
    const struct replay_worst *worst = &entrant->latency->worst[measured->op];
    const char *options = contender_options(entrant->contender);
    bool advance = measured->op == LATENCY_ADVANCE;
    text_table_add(table, "%s", entrant->trace->name);
    text_table_add(table, "%s%s%s", contender_name(entrant->contender),
                   options[0] != '\0' ? ":" : "", options);
    text_table_add(table, "%s", latency_op_word(measured->op));
    text_table_add(table, "%" PRIu64, worst->ns);
    text_table_add(table, "%" PRIu64, worst->tick);
    text_table_add(table, advance ? "fired %" PRIu64 : "%" PRIu64,
                   advance ? worst->fired : worst->id);
    text_table_add(table, "%" PRIu64, worst->event);
}

void latency_write_worst(const struct simulation *simulation, FILE *stream)
{
    static const char *const headings[] = {"trace", "algo", "op", "ns", "tick", "timer", "event"};
    struct text_table table = {.columns = sizeof headings / sizeof headings[0]};
    struct measured measured;
    size_t at = 0;
    if (!next_measured(simulation, &at, &measured)) {
        return;
    }
    text_wrap(stream,
              "\nthe longest calls of all runs; to time one again: --window TICK, to look at it: "
              "timerlab show NAME --trace FILE --from TICK --to TICK\n",
              terminal_width(stream), 0, 0);
    for (size_t c = 0; c < table.columns; c++) {
        table.right[c] = c > 2;
        text_table_add(&table, "%s", headings[c]);
    }
    do {
        add_longest(&table, &measured);
    } while (next_measured(simulation, &at, &measured));
    text_table_write(&table, stream);
    text_table_free(&table);
}
