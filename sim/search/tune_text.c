/* The result of `tune` as text and as JSON. */
#include "tune.h"

#include "export.h"
#include "figures.h"
#include "memory.h"
#include "terminal.h"
#include "text_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT_BYTES  1200
#define ANSWER_INDENT 11 /* of the text of a line, after its first word */

static const char *const stage_words[] = {
    [TUNE_COUNTED] = "counted", [TUNE_TIMED] = "timed", [TUNE_FINAL] = "final"};

static const char *name_of(const struct tune_candidate *candidate, char text[STRUCTURE_BYTES])
{
    return structure_text(candidate->contender.timed->name, candidate->contender.option_text, text);
}

/* The work of an operation. */
static void write_work(FILE *stream, const struct tune_candidate *candidate)
{
    static const struct {
        enum column column;
        const char *words;
    } counts[] = {{COL_N_COMPARES, "compares"},
                  {COL_N_MOVES, "moves"},
                  {COL_N_SLOTS, "slots"},
                  {COL_N_CASCADES, "cascades"}};
    if (isnan(candidate->cost)) {
        (void)fputs("it does not count its work", stream);
        return;
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        (void)fprintf(stream, "%s%.2f %s", i > 0 ? ", " : "",
                      row_value(candidate->row, counts[i].column) / (double)candidate->events,
                      counts[i].words);
    }
}

/* --- the answer ------------------------------------------------------------------------------ */

/* Write the rest of a line: the candidate's lateness, and the share of the timers that it fires. */
static void write_firing(FILE *stream, const struct tune_result *result,
                         const struct tune_candidate *candidate)
{
    char lateness[FIRING_BYTES];
    char share[FIRING_BYTES];
    const struct firing_frame frame = {.tick_ns = (double)result->tick_ns,
                                       .exact_fired = (double)result->info.fired,
                                       .duration = plain_duration_text};
    (void)fprintf(stream, "%s; it fires %s\n",
                  firing_lateness_words(&candidate->firing, &frame, lateness),
                  firing_share_words(&candidate->firing, &frame, share));
}

static void write_traffic(FILE *stream, const struct tune_result *result)
{
    const struct trace_info *info = &result->info;
    (void)fprintf(stream,
                  "traffic    %" PRIu64 " operations on %" PRIu64 " timers, at most %" PRIu64
                  " pending; %" PRIu64 " fire in an exact structure, %" PRIu64
                  " are restarted before; %s%" PRIu64
                  " different delay%s, half of them up to %" PRIu64 " ticks, the longest %" PRIu64
                  "\n",
                  info->window_events, result->ids, info->pending_max, info->fired, info->restarts,
                  info->distinct_bounded ? "more than " : "", info->distinct_delays,
                  info->distinct_delays == 1 ? "" : "s", info->delay_p50, info->delay_max);
    if (result->open_loop) {
        (void)fputs("           " TRACE_OPEN_LOOP_NOTE "\n", stream);
    }
}

/* The same structure with its initial options, if it is another candidate. */
static const struct tune_candidate *beginning_of(const struct tune_result *result,
                                                 const struct tune_candidate *candidate)
{
    for (size_t i = 0; i < result->candidate_count; i++) {
        const struct tune_candidate *other = &result->candidates[i];
        if (other->structure == candidate->structure) {
            return other != candidate ? other : NULL;
        }
    }
    return NULL;
}

/* Write the gain by the options. */
static void write_options(FILE *stream, const struct tune_result *result)
{
    const struct tune_candidate *best = result->best;
    const struct tune_candidate *beginning = beginning_of(result, best);
    (void)fputs("operation  ", stream);
    write_work(stream, best);
    (void)fputc('\n', stream);
    if (beginning != NULL && beginning->counted) {
        (void)fprintf(stream, "           as %s: ", name_of(beginning, STRUCTURE));
        if (!isnan(beginning->ns) && !isnan(best->ns)) {
            (void)fprintf(stream, "%.1f ns, ", beginning->ns);
        }
        write_work(stream, beginning);
        (void)fprintf(stream, "%s%s\n", beginning->why_not[0] != '\0' ? "; " : "",
                      beginning->why_not);
    }
}

/* Write the lateness of a pick that is late, and the candidate that would win with more
 * tolerance. */
static void write_tolerance(FILE *stream, const struct tune_result *result)
{
    const struct tune_candidate *best = result->best;
    const struct tune_candidate *later = result->later;
    if (best != NULL && (!firing_is_exact(&best->firing) || best->firing.lateness_max > 0)) {
        (void)fputs("lateness   ", stream);
        write_firing(stream, result, best);
    }
    if (later != NULL) {
        (void)fprintf(stream, "tolerance  --max-lateness %.0f would allow %s: ",
                      firing_lateness(&later->firing), name_of(later, STRUCTURE));
        write_firing(stream, result, later);
    }
}

/* The loop with the fewest wakeups. */
static void write_loop(FILE *stream, const struct tune_result *result)
{
    const struct tune_loop *loop = &result->loop;
    char drive[DRIVE_TEXT_BYTES];
    if (result->loop_found) {
        drive_write(&loop->drive, drive);
        (void)fprintf(
            stream,
            "wake less  --drive %s: %.4g wakeups a second instead of %.4g; timers fire up "
            "to %" PRIu64 " ticks late\n",
            drive, loop->wakeups_per_s, result->best->wakeups_per_s, loop->lateness_max_ticks);
    }
}

/* The export command for it; or the reason why there is none. */
static const char *export_words(const struct tune_candidate *candidate, char text[EXPORT_BYTES])
{
    struct error error;
    if (export_is_possible(&(struct export_request){.contender = &candidate->contender}, &error)) {
        const char *name = name_of(candidate, STRUCTURE);
        const char *quote = strchr(name, '(') != NULL ? "'" : ""; /* for a shell */
        (void)snprintf(text, EXPORT_BYTES, "timerlab export %s%s%s -o timers", quote, name, quote);
    } else {
        (void)snprintf(text, EXPORT_BYTES, "%s", error.text);
    }
    return text;
}

/* --- the table ------------------------------------------------------------------------------- */

/* The structure's representative: the candidate of the last stage, and of these the best. */
static const struct tune_candidate *stand_in(const struct tune_result *result, size_t structure)
{
    const struct tune_candidate *best = NULL;
    for (size_t i = 0; i < result->candidate_count; i++) {
        const struct tune_candidate *candidate = &result->candidates[i];
        if (candidate->structure != structure) {
            continue;
        }
        bool fits = tune_candidate_fits(candidate);
        bool best_fits = best != NULL && tune_candidate_fits(best);
        bool better = best == NULL || (fits && !best_fits);
        if (best != NULL && fits == best_fits) {
            better =
                candidate->stage > best->stage ||
                (candidate->stage == best->stage &&
                 (candidate->ns < best->ns || (isnan(best->ns) && candidate->cost < best->cost)));
        }
        best = better ? candidate : best;
    }
    return best;
}

static int compare_stand_ins(const void *a, const void *b)
{
    const struct tune_candidate *x = *(const struct tune_candidate *const *)a;
    const struct tune_candidate *y = *(const struct tune_candidate *const *)b;
    bool x_fits = tune_candidate_fits(x);
    bool y_fits = tune_candidate_fits(y);
    if (x_fits != y_fits) {
        return x_fits ? -1 : 1;
    }
    if (isnan(x->ns) != isnan(y->ns)) {
        return isnan(x->ns) ? 1 : -1;
    }
    double left = isnan(x->ns) ? x->cost : x->ns;
    double right = isnan(y->ns) ? y->cost : y->ns;
    if (isnan(left) != isnan(right)) {
        return isnan(left) ? 1 : -1;
    }
    if (left < right || left > right) {
        return left < right ? -1 : 1;
    }
    return (x->structure > y->structure) - (x->structure < y->structure);
}

static double value_of(const struct tune_candidate *candidate, enum column column)
{
    return candidate->counted ? row_value(candidate->row, column) : NAN;
}

static void write_table(FILE *stream, const struct tune_request *request,
                        const struct tune_result *result)
{
    size_t count = request->structures->count;
    const struct tune_candidate **rows = memory_new(count + 1, sizeof *rows);
    static const char *const headings[] = {"structure", "stage",     "ns",    "work", "stall_ns",
                                           "B/timer",   "wakeups/s", "bytes", ""};
    struct text_table table = {.columns = sizeof headings / sizeof headings[0]};
    for (size_t c = 0; c < table.columns; c++) {
        table.right[c] = c > 1 && c + 1 < table.columns;
        text_table_add(&table, "%s", headings[c]);
    }
    for (size_t s = 0; s < count; s++) {
        rows[s] = stand_in(result, s);
    }
    qsort(rows, count, sizeof *rows, compare_stand_ins);
    for (size_t i = 0; i < count; i++) {
        const struct tune_candidate *row = rows[i];
        text_table_add(&table, "%s", name_of(row, STRUCTURE));
        text_table_add(&table, "%s", stage_words[row->stage]);
        text_table_add(&table, "%s", decimal_text(row->counted ? row->ns : NAN, 1, FIGURE));
        text_table_add(&table, "%s", decimal_text(row->counted ? row->cost : NAN, 1, FIGURE));
        text_table_add(&table, "%s", decimal_text(value_of(row, COL_STALL), 0, FIGURE));
        text_table_add(&table, "%s", decimal_text(value_of(row, COL_BYTES_PER_TIMER), 1, FIGURE));
        text_table_add(&table, row->counted ? "%.4g" : "-", row->wakeups_per_s);
        text_table_add(&table, "%s", decimal_text(value_of(row, COL_BYTES_PEAK), 0, FIGURE));
        text_table_add(&table, "%s%s", row->why_not[0] != '\0' ? "out: " : "", row->why_not);
    }
    text_table_write(&table, stream);
    text_table_free(&table);
    free(rows);
}

/* Write the number of structures, and of sets of options, that keep to the limits. */
static void write_tried(FILE *stream, const struct tune_result *result)
{
    size_t structures = 0;
    size_t sets = 0;
    for (size_t i = 0; i < result->candidate_count; i++) {
        const struct tune_candidate *candidate = &result->candidates[i];
        bool first = true;
        for (size_t k = 0; k < i && first; k++) {
            first = result->candidates[k].structure != candidate->structure ||
                    !tune_candidate_fits(&result->candidates[k]);
        }
        structures += tune_candidate_fits(candidate) && first;
        sets += tune_candidate_fits(candidate);
    }
    (void)fprintf(
        stream, "tried      %zu structure%s with %zu set%s of options that keep to the limits%s\n",
        structures, structures == 1 ? "" : "s", sets, sets == 1 ? "" : "s",
        result->answer.trace.by_counts ? "" : "; the best ran side by side");
}

static void write_answer(FILE *stream, const struct tune_result *result)
{
    struct wrapped lines;
    size_t width = terminal_width(stream);
    if (result->best == NULL) {
        (void)fputs("Nothing keeps to the limits.\n", stream);
    } else {
        answer_write(&result->answer, width > 0 ? width : ANSWER_WIDTH, stream);
    }
    FILE *wrapped = wrapped_begin(&lines, stream, ANSWER_INDENT);
    (void)fputc('\n', wrapped);
    write_traffic(wrapped, result);
    write_tried(wrapped, result);
    if (result->best != NULL) {
        write_options(wrapped, result);
        write_loop(wrapped, result);
    }
    write_tolerance(wrapped, result);
    if (result->search_events < result->info.window_events) {
        (void)fprintf(wrapped,
                      "searched   with the first %" PRIu64
                      " operations of the window, decided with %s\n",
                      result->search_events, result->decided_with_all ? "all" : "these");
    }
    if (result->out_of_time) {
        (void)fputs("time       ended the search: a larger --seconds may find more\n", wrapped);
    }
    wrapped_end(&lines);
}

static void write_use(FILE *stream, const struct tune_result *result)
{
    char command[EXPORT_BYTES];
    struct wrapped lines;
    if (result->best != NULL) {
        (void)fprintf(wrapped_begin(&lines, stream, ANSWER_INDENT), "to use it  %s\n",
                      export_words(result->best, command));
        wrapped_end(&lines);
    }
}

void tune_write_text(const struct tune_request *request, const struct tune_result *result,
                     FILE *stream)
{
    bool last = isatty(fileno(stream)) == 1; /* so that it stays on the screen */
    if (last) {
        write_table(stream, request, result);
        (void)fputc('\n', stream);
    }
    write_answer(stream, result);
    (void)fputc('\n', stream);
    if (!last) {
        write_table(stream, request, result);
        (void)fputc('\n', stream);
    }
    write_use(stream, result);
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* The row, and the search's own values. */
static json_t *candidate_json(const struct tune_candidate *candidate, double exact_fired)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:b, s:s}", "algo", candidate->contender.timed->name, "options",
                  candidate->contender.option_text, "stage", stage_words[candidate->stage], "fits",
                  tune_candidate_fits(candidate), "why_not", candidate->why_not);
    if (candidate->counted) {
        const struct results one = {.rows = candidate->row, .count = 1};
        json_t *rows = results_json_rows(&one);
        (void)json_object_update_missing(json, json_array_get(rows, 0));
        json_decref(rows);
        (void)json_object_update_new(
            json,
            json_pack("{s:o, s:o, s:o, s:f}", "cost", json_real_or_null(candidate->cost),
                      "wakeups_per_s", json_real_or_null(candidate->wakeups_per_s), "averted_share",
                      json_real_or_null(firing_averted_share(&candidate->firing, exact_fired)),
                      "done", candidate->done));
    }
    return json;
}

static json_t *json_or_null(const struct tune_candidate *candidate, double exact_fired)
{
    return candidate != NULL ? candidate_json(candidate, exact_fired) : json_null();
}

json_t *tune_json(const struct tune_result *result, const json_t *context)
{
    static const char *const certainties[] = {
        [ANSWER_ALONE] = "alone", [ANSWER_COUNTED] = "counts", [ANSWER_FEW_RUNS] = "few runs",
        [ANSWER_NOISY] = "noisy", [ANSWER_TIED] = "tied",      [ANSWER_SURE] = "sure"};
    double exact_fired = (double)result->info.fired;
    json_t *candidates = json_array();
    for (size_t i = 0; i < result->candidate_count; i++) {
        (void)json_array_append_new(candidates,
                                    candidate_json(&result->candidates[i], exact_fired));
    }
    json_t *json =
        json_pack("{s:i, s:O, s:s, s:b, s:f, s:o, s:o, s:b, s:o}", "schema", RESULTS_SCHEMA,
                  "context", context, "trace", result->trace, "open_loop", result->open_loop,
                  "exact_fired", exact_fired, "best", json_or_null(result->best, exact_fired),
                  "later", json_or_null(result->later, exact_fired), "out_of_time",
                  result->out_of_time, "candidates", candidates);
    if (json != NULL && result->best != NULL) {
        (void)json_object_set_new(json, "certainty",
                                  json_string(certainties[result->answer.certainty]));
        (void)json_object_set_new(json, "tied", json_integer((json_int_t)result->answer.tied));
        struct error error;
        if (export_is_possible(&(struct export_request){.contender = &result->best->contender},
                               &error)) {
            char command[EXPORT_BYTES];
            (void)json_object_set_new(json, "export",
                                      json_string(export_words(result->best, command)));
        }
    }
    if (json != NULL && result->loop_found) {
        char drive[DRIVE_TEXT_BYTES];
        drive_write(&result->loop.drive, drive);
        (void)json_object_set_new(json, "few_wakeups",
                                  json_pack("{s:s, s:f, s:I}", "drive", drive, "wakeups_per_s",
                                            result->loop.wakeups_per_s, "lateness_max",
                                            (json_int_t)result->loop.lateness_max_ticks));
    }
    return json;
}
