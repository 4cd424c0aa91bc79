#include "latency_report.h"

#include "terminal.h"
#include "text_table.h"

#include <inttypes.h>
#include <string.h>

static const char *const time_words[] = {
    [LATENCY_SERVICE] = "service", [LATENCY_RESPONSE] = "response"};

static const struct histogram *distribution(const struct latency_row *row, enum latency_time time,
                                            int op)
{
    return time == LATENCY_SERVICE ? &row->all->latency_ns[op] : &row->all->response_ns[op];
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
    row_kind_write_header(&latency_kind, stream);
    for (size_t i = 0; i < simulation->latency_count; i++) {
        const struct latency_row *latency = &simulation->latencies[i];
        row_set_key(&row, latency->trace, contender_name(latency->contender),
                    contender_options(latency->contender));
        for (int op = 0; op < LATENCY_OPS; op++) {
            const struct histogram *ns = distribution(latency, time, op);
            double missing = 1.0;
            row_set_text(&row, CURVE_OP, latency_op_word((enum latency_op)op));
            row_set_integer(&row, CURVE_COUNT, ns->total);
            for (double step = 0; ns->total > 0 && missing * (double)ns->total >= 1; step++) {
                write_point(&row, 100 * (1 - missing), histogram_quantile(ns, 1 - missing), stream);
                missing *= 0.840896415253714543; /* the fourth root of 1/2 */
            }
            if (ns->total > 0) {
                write_point(&row, 100, ns->max, stream);
            }
        }
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

static bool add_histogram(const struct latency_row *row, enum latency_time time, int op,
                          struct outfolder *folder, struct error *error)
{
    char name[512] = "latency/";
    char *own = name + strlen(name);
    const char *options = contender_options(row->contender);
    (void)snprintf(own, sizeof name - strlen(name), "%s.%s%s%s.%s.%s.hgrm", row->trace,
                   contender_name(row->contender), options[0] != '\0' ? "_" : "", options,
                   latency_op_word((enum latency_op)op), time_words[time]);
    tame(own);
    return outfolder_write(folder, name, write_histogram, distribution(row, time, op), error);
}

bool latency_write_histograms(const struct simulation *simulation, struct outfolder *folder,
                              struct error *error)
{
    bool written = true;
    for (size_t i = 0; i < simulation->latency_count && written; i++) {
        const struct latency_row *row = &simulation->latencies[i];
        for (int op = 0; op < LATENCY_OPS && written; op++) {
            for (int time = 0; time < LATENCY_TIMES && written; time++) {
                if (row->all->latency_ns[op].total > 0) {
                    written = add_histogram(row, (enum latency_time)time, op, folder, error);
                }
            }
        }
    }
    return written;
}

/* --- the longest calls ----------------------------------------------------------------------- */

/* A structure's longest call of an operation. */
struct longest_call {
    const struct latency_row *row;
    enum latency_op op;
    const struct replay_worst *worst;
};

/* Get the next longest call; *at begins at 0. False: there is none. */
static bool next_longest(const struct simulation *simulation, size_t *at, struct longest_call *call)
{
    for (; *at < simulation->latency_count * LATENCY_OPS; ++*at) {
        call->row = &simulation->latencies[*at / LATENCY_OPS];
        call->op = (enum latency_op)(*at % LATENCY_OPS);
        call->worst = &call->row->all->worst[call->op];
        if (call->row->all->latency_ns[call->op].total > 0) {
            ++*at;
            return true;
        }
    }
    return false;
}

static json_t *longest_json(const struct longest_call *call)
{
    const struct replay_worst *worst = call->worst;
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "trace", call->row->trace,
                               "algo", contender_name(call->row->contender), "options",
                               contender_options(call->row->contender), "op",
                               latency_op_word(call->op), "ns", (json_int_t)worst->ns, "event",
                               (json_int_t)worst->event, "tick", (json_int_t)worst->tick);
    bool advance = call->op == LATENCY_ADVANCE;
    (void)json_object_set_new(
        object, advance ? "fired" : "timer",
        json_integer(advance ? (json_int_t)worst->fired : (json_int_t)worst->id));
    return object;
}

json_t *latency_worst(const struct simulation *simulation)
{
    json_t *all = json_array();
    struct longest_call call;
    for (size_t at = 0; next_longest(simulation, &at, &call);) {
        (void)json_array_append_new(all, longest_json(&call));
    }
    return all;
}

static void add_longest(struct text_table *table, const struct longest_call *call)
{
    const struct replay_worst *worst = call->worst;
    const char *options = contender_options(call->row->contender);
    bool advance = call->op == LATENCY_ADVANCE;
    text_table_add(table, "%s", call->row->trace);
    text_table_add(table, "%s%s%s", contender_name(call->row->contender),
                   options[0] != '\0' ? ":" : "", options);
    text_table_add(table, "%s", latency_op_word(call->op));
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
    if (simulation->latency_count == 0) {
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
    struct longest_call call;
    for (size_t at = 0; next_longest(simulation, &at, &call);) {
        add_longest(&table, &call);
    }
    text_table_write(&table, stream);
    text_table_free(&table);
}
