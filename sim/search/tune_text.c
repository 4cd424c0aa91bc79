/* What `tune` found, in words, numbers and JSON. */
#include "tune.h"

#include "export.h"
#include "figures.h"
#include "memory.h"
#include "terminal.h"
#include "text_table.h"
#include "trace_labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES    320
#define EXPORT_BYTES  1200
#define ANSWER_INDENT 11 /* of what a line says, behind the word that it begins with */

static const char *const stage_words[] = {
#define STAGE_WORD(code, word) word,
    TUNE_STAGE_MAP(STAGE_WORD)
#undef STAGE_WORD
};

static const struct {
    const char *word;
    const char *text;
} certainties[] = {
#define CERTAINTY_ROW(code, word, text) {word, text},
    TUNE_CERTAINTY_MAP(CERTAINTY_ROW)
#undef CERTAINTY_ROW
};

static const char *name_of(const struct tune_candidate *candidate, char text[NAME_BYTES])
{
    const struct contender *contender = &candidate->contender;
    (void)snprintf(text, NAME_BYTES, "%s%s%s", contender->timed->name,
                   contender->option_text[0] != '\0' ? ":" : "", contender->option_text);
    return text;
}

/* How what a candidate fires is told of this trace. */
static struct firing_frame frame_of(const struct tune_result *result)
{
    return (struct firing_frame){.tick_ns = (double)result->tick_ns,
                                 .exact_fired = (double)result->info.fired,
                                 .duration = plain_duration_text};
}

static void write_work(FILE *stream, const struct tune_candidate *candidate)
{
    double events = (double)candidate->events;
    const struct tl_counters *work = &candidate->work;
    if (isnan(candidate->cost)) {
        (void)fputs("it does not count its work", stream);
        return;
    }
    (void)fprintf(stream, "%.2f compares, %.2f moves, %.2f slots, %.2f cascades",
                  (double)work->compares / events, (double)work->moves / events,
                  (double)work->slots / events, (double)work->cascades / events);
}

/* What it takes: time, where it was taken, or else work. */
static void write_price(FILE *stream, const struct tune_candidate *candidate)
{
    if (isnan(candidate->ns)) {
        (void)fprintf(stream, "%.1f by the counts", candidate->cost);
    } else {
        (void)fprintf(stream, "%.1f ns an operation", candidate->ns);
    }
}

/* Whether `a` takes less than `b`; what came further goes before. */
static bool is_less(const struct tune_candidate *a, const struct tune_candidate *b)
{
    if (a->stage != b->stage) {
        return a->stage > b->stage;
    }
    return isnan(a->ns) ? a->cost < b->cost : a->ns < b->ns;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* How many structures, and how many sets of options, keep to the limits; of how many. */
static void count_usable(const struct tune_request *request, const struct tune_result *result,
                         size_t *structures, size_t *sets)
{
    *structures = 0;
    *sets = 0;
    for (size_t s = 0; s < request->structures->count; s++) {
        size_t before = *sets;
        for (size_t i = 0; i < result->candidate_count; i++) {
            const struct tune_candidate *candidate = &result->candidates[i];
            *sets += candidate->structure == s && tune_candidate_fits(candidate);
        }
        *structures += *sets > before;
    }
}

static void write_lateness(FILE *stream, const struct tune_result *result,
                           const struct tune_candidate *candidate)
{
    char words[FIRING_BYTES];
    struct firing_frame frame = frame_of(result);
    (void)fputs(firing_lateness_words(&candidate->firing, &frame, words), stream);
}

static void write_share(FILE *stream, const struct tune_result *result,
                        const struct tune_candidate *candidate)
{
    char words[FIRING_BYTES];
    struct firing_frame frame = frame_of(result);
    (void)fputs(firing_share_words(&candidate->firing, &frame, words), stream);
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

/* The same structure with the options that it began with, where those were timed too. */
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

static void write_because(FILE *stream, const struct tune_request *request,
                          const struct tune_result *result)
{
    const struct tune_candidate *best = result->best;
    size_t structures;
    size_t sets;
    count_usable(request, result, &structures, &sets);
    (void)fputs("because    ", stream);
    if (isnan(best->ns)) {
        bool tied = result->second != NULL && result->second->cost < best->cost;
        (void)fprintf(stream, "it does %s work, %.1f by the counts,",
                      tied ? "within 5 % of the least" : "the least", best->cost);
    } else {
        (void)fprintf(stream, "it takes %.1f ns an operation, %s,", best->ns,
                      result->certainty == TUNE_TIED ? "as little as the fastest" : "the least");
    }
    (void)fprintf(stream, " of %zu structure%s with %zu set%s of options that keep to the limits\n",
                  structures, structures == 1 ? "" : "s", sets, sets == 1 ? "" : "s");
    (void)fputs("           an operation: ", stream);
    write_work(stream, best);
    (void)fputc('\n', stream);
    const struct tune_candidate *beginning = beginning_of(result, best);
    if (beginning != NULL && beginning->counted) {
        char name[NAME_BYTES];
        (void)fprintf(stream, "           as %s: ", name_of(beginning, name));
        if (!isnan(beginning->ns) && !isnan(best->ns)) {
            (void)fprintf(stream, "%.1f ns, ", beginning->ns);
        }
        write_work(stream, beginning);
        (void)fprintf(stream, "%s%s\n", beginning->why_not[0] != '\0' ? "; " : "",
                      beginning->why_not);
    }
}

static void write_second(FILE *stream, const struct tune_result *result)
{
    const struct tune_candidate *second = result->second;
    char name[NAME_BYTES];
    if (second == NULL) {
        (void)fputs("runner-up  none\n", stream);
        return;
    }
    (void)fprintf(stream, "runner-up  %s", name_of(second, name));
    if (result->judged) {
        (void)fprintf(stream,
                      ": %.1f ns, %.2f times as long (95 %%: %.2f to %.2f, %zu pairs of runs)",
                      second->ns, 1 + result->difference.change, 1 + result->difference.low,
                      1 + result->difference.high,
                      second->run_count < result->best->run_count ? second->run_count
                                                                  : result->best->run_count);
    } else {
        (void)fprintf(stream, ": %.1f by the counts", second->cost);
    }
    (void)fputs("\n           an operation: ", stream);
    write_work(stream, second);
    (void)fputc('\n', stream);
}

static void write_memory(FILE *stream, const struct tune_result *result,
                         const struct tune_candidate *candidate)
{
    (void)result;
    (void)fprintf(stream, "%s at most, %.1f bytes a timer",
                  binary_size_text((double)candidate->bytes_peak, FIGURE),
                  candidate->bytes_per_timer);
}

static void write_stall(FILE *stream, const struct tune_result *result,
                        const struct tune_candidate *candidate)
{
    (void)result;
    (void)fputs(isnan(candidate->stall_ns) ? "not measured"
                                           : plain_duration_text(candidate->stall_ns, FIGURE),
                stream);
}

static void write_wakeups(FILE *stream, const struct tune_result *result,
                          const struct tune_candidate *candidate)
{
    (void)result;
    (void)fprintf(stream, "%.4g a second", candidate->wakeups_per_s);
}

/* What the best costs, with the second's in parentheses. */
static void write_costs(FILE *stream, const struct tune_result *result)
{
    static const struct {
        const char *title;
        void (*write)(FILE *, const struct tune_result *, const struct tune_candidate *);
    } lines[] = {
        {"memory", write_memory},     {"stall", write_stall}, {"wakeups", write_wakeups},
        {"lateness", write_lateness}, {"fires", write_share},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        (void)fprintf(stream, "%-11s%s", lines[i].title,
                      lines[i].write == write_stall ? "the longest advance: " : "");
        lines[i].write(stream, result, result->best);
        if (result->second != NULL) {
            (void)fputs(" (runner-up: ", stream);
            lines[i].write(stream, result, result->second);
            (void)fputc(')', stream);
        }
        (void)fputc('\n', stream);
    }
}

/* The loop that wakes up least often. */
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

/* What lateness gains: the fastest that is exact, beside a best that is not; and what would gain
 * by more of it. */
static void write_tolerance(FILE *stream, const struct tune_result *result)
{
    char name[NAME_BYTES];
    const struct tune_candidate *exact = NULL;
    for (size_t i = 0; i < result->candidate_count; i++) {
        const struct tune_candidate *other = &result->candidates[i];
        bool comes = tune_candidate_fits(other) && firing_is_exact(&other->firing);
        if (comes && (exact == NULL || is_less(other, exact))) {
            exact = other;
        }
    }
    if (result->best != NULL && exact != NULL && !firing_is_exact(&result->best->firing)) {
        (void)fprintf(stream, "exact      the best that is: %s, ", name_of(exact, name));
        write_price(stream, exact);
        (void)fputc('\n', stream);
    }
    const struct tune_candidate *later = result->later;
    if (later == NULL) {
        return;
    }
    (void)fprintf(stream, "tolerance  --max-lateness %.0f would allow %s",
                  firing_lateness(&later->firing), name_of(later, name));
    if (result->best != NULL) {
        (void)fputs(", ", stream);
        write_price(stream, later);
    }
    if (result->later_judged) {
        const struct judgement *difference = &result->later_difference;
        (void)fprintf(stream, ", %.2f times as long (95 %%: %.2f to %.2f)", 1 + difference->change,
                      1 + difference->low, 1 + difference->high);
    }
    (void)fputs(": ", stream);
    write_lateness(stream, result, later);
    (void)fputs("; it fires ", stream);
    write_share(stream, result, later);
    (void)fputc('\n', stream);
}

/* The command that writes it for a server; or why there is none. */
static const char *export_words(const struct tune_candidate *candidate, char text[EXPORT_BYTES])
{
    char name[NAME_BYTES];
    struct error error;
    if (export_is_possible(&candidate->contender, false, &error)) {
        (void)snprintf(text, EXPORT_BYTES, "timerlab export %s -o timers",
                       name_of(candidate, name));
    } else {
        (void)snprintf(text, EXPORT_BYTES, "%s", error.text);
    }
    return text;
}

/* --- the table ------------------------------------------------------------------------------- */

/* The one that stands for a structure: that which came furthest, and of those the best. */
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

static void write_table(FILE *stream, const struct tune_request *request,
                        const struct tune_result *result)
{
    size_t count = request->structures->count;
    const struct tune_candidate **rows = memory_new(count + 1, sizeof *rows);
    static const char *const headings[] = {"structure", "stage",     "ns",    "work", "stall_ns",
                                           "B/timer",   "wakeups/s", "bytes", ""};
    struct text_table table = {.columns = sizeof headings / sizeof headings[0]};
    char name[NAME_BYTES];
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
        text_table_add(&table, "%s", name_of(row, name));
        text_table_add(&table, "%s", stage_words[row->stage]);
        text_table_add(&table, "%s", decimal_text(row->counted ? row->ns : NAN, 1, FIGURE));
        text_table_add(&table, "%s", decimal_text(row->counted ? row->cost : NAN, 1, FIGURE));
        text_table_add(&table, "%s", decimal_text(row->counted ? row->stall_ns : NAN, 0, FIGURE));
        text_table_add(&table, row->counted ? "%.1f" : "-", row->bytes_per_timer);
        text_table_add(&table, row->counted ? "%.4g" : "-", row->wakeups_per_s);
        text_table_add(&table, row->counted ? "%" PRIu64 : "-", row->bytes_peak);
        text_table_add(&table, "%s%s", row->why_not[0] != '\0' ? "out: " : "", row->why_not);
    }
    (void)fputc('\n', stream);
    text_table_write(&table, stream);
    text_table_free(&table);
    free(rows);
}

static void write_answer(FILE *stream, const struct tune_request *request,
                         const struct tune_result *result)
{
    char name[NAME_BYTES];
    if (result->best == NULL) {
        (void)fputs("Nothing keeps to the limits.\n\n", stream);
        write_traffic(stream, result);
    } else {
        (void)fprintf(stream, "Use %s.\n\n", name_of(result->best, name));
        write_traffic(stream, result);
        write_because(stream, request, result);
        write_second(stream, result);
        write_costs(stream, result);
        if (result->best->done < 1 || (result->second != NULL && result->second->done < 1)) {
            (void)fputs("           times and work are for as many operations and firings as an "
                        "exact structure has\n",
                        stream);
        }
        write_loop(stream, result);
        (void)fprintf(stream, "how sure   %s: %s", certainties[result->certainty].word,
                      certainties[result->certainty].text);
        if (result->certainty == TUNE_TIED) {
            (void)fprintf(stream, " (%s)", result->tie_break);
        }
        char undone[FIRING_BYTES];
        struct firing_frame frame = frame_of(result);
        if (firing_undone_words(&result->best->firing, &frame, undone)[0] != '\0') {
            (void)fprintf(stream, "; but of what exact structures fire: %s", undone);
        }
        (void)fputc('\n', stream);
        if (result->search_events < result->info.window_events) {
            (void)fprintf(stream,
                          "           searched with the first %" PRIu64
                          " operations of the window, decided with all\n",
                          result->search_events);
        }
        if (result->out_of_time) {
            (void)fputs("           the search was ended by the time it was given: more may be "
                        "found with a larger --seconds\n",
                        stream);
        }
    }
    write_tolerance(stream, result);
}

void tune_write_text(const struct tune_request *request, const struct tune_result *result,
                     FILE *stream)
{
    struct wrapped lines;
    write_answer(wrapped_begin(&lines, stream, ANSWER_INDENT), request, result);
    wrapped_end(&lines);
    write_table(stream, request, result);
    if (result->best != NULL) {
        char command[EXPORT_BYTES];
        bool lasts = (result->best->contender.timed->capabilities & TL_CAP_DURABLE) != 0;
        FILE *wrapped = wrapped_begin(&lines, stream, ANSWER_INDENT);
        (void)fprintf(wrapped, "\nits timers %s\n",
                      lasts ? "outlive the process, as its sync= and delivery= promise"
                            : "end with the process; those of durable(NAME) do not");
        (void)fprintf(wrapped, "\nto use it  %s\n", export_words(result->best, command));
        wrapped_end(&lines);
    }
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *whole_or_null(double value)
{
    return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

static json_t *candidate_json(const struct tune_candidate *candidate, double exact_fired)
{
    const struct firing *firing = &candidate->firing;
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:b, s:s}", "algo", candidate->contender.timed->name, "options",
                  candidate->contender.option_text, "stage", stage_words[candidate->stage], "fits",
                  tune_candidate_fits(candidate), "why_not", candidate->why_not);
    if (!candidate->counted) {
        return json;
    }
    (void)json_object_update_new(
        json,
        json_pack(
            "{s:o, s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}",
            "cost", json_real_or_null(candidate->cost), "ns_per_event",
            json_real_or_null(candidate->ns), "stall_ns", json_real_or_null(candidate->stall_ns),
            "bytes_per_timer", json_real_or_null(candidate->bytes_per_timer), "bytes_peak",
            (json_int_t)candidate->bytes_peak, "wakeups_per_s",
            json_real_or_null(candidate->wakeups_per_s), "wakeups", (json_int_t)candidate->wakeups,
            "lateness_min", whole_or_null(firing->lateness_min), "lateness_max",
            whole_or_null(firing->lateness_max), "declared_early",
            whole_or_null(firing->declared_early), "declared_late",
            whole_or_null(firing->declared_late), "fired", whole_or_null(firing->fired), "averted",
            whole_or_null(firing->averted), "averted_share",
            json_real_or_null(firing_averted_share(firing, exact_fired)), "reactions",
            whole_or_null(firing->reactions), "not_reached", whole_or_null(firing->not_reached),
            "done", candidate->done));
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {{"n_compares", candidate->work.compares},
                  {"n_moves", candidate->work.moves},
                  {"n_slots", candidate->work.slots},
                  {"n_cascades", candidate->work.cascades}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        (void)json_object_set_new(
            json, counts[i].name,
            isnan(candidate->cost) ? json_null() : json_integer((json_int_t)counts[i].count));
    }
    json_t *runs = json_array();
    for (size_t i = 0; i < candidate->run_count; i++) {
        (void)json_array_append_new(runs, json_real(candidate->ns_per_event[i]));
    }
    (void)json_object_set_new(json, "runs_ns_per_event", runs);
    return json;
}

static json_t *json_or_null(const struct tune_candidate *candidate, double exact_fired)
{
    return candidate != NULL ? candidate_json(candidate, exact_fired) : json_null();
}

json_t *tune_json(const struct tune_request *request, const struct tune_result *result,
                  const json_t *context)
{
    double exact_fired = (double)result->info.fired;
    json_t *candidates = json_array();
    for (size_t i = 0; i < result->candidate_count; i++) {
        (void)json_array_append_new(candidates,
                                    candidate_json(&result->candidates[i], exact_fired));
    }
    /* A path may be no UTF-8, which JSON must be. */
    char *trace = trace_label(&request->trace_path, 1, 0);
    json_t *json =
        json_pack("{s:i, s:O, s:s, s:b, s:f, s:o, s:o, s:o, s:b, s:o}", "schema", RESULTS_SCHEMA,
                  "context", context, "trace", trace, "open_loop", result->open_loop, "exact_fired",
                  exact_fired, "best", json_or_null(result->best, exact_fired), "second",
                  json_or_null(result->second, exact_fired), "later",
                  json_or_null(result->later, exact_fired), "out_of_time", result->out_of_time,
                  "candidates", candidates);
    free(trace);
    if (json != NULL && result->best != NULL) {
        (void)json_object_set_new(json, "certainty",
                                  json_string(certainties[result->certainty].word));
        (void)json_object_set_new(json, "tie_break", json_string(result->tie_break));
        struct error error;
        if (export_is_possible(&result->best->contender, false, &error)) {
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
    if (json != NULL && result->judged) {
        (void)json_object_set_new(
            json, "second_to_best",
            json_pack("{s:f, s:o, s:o, s:f}", "ratio", 1 + result->difference.change, "low",
                      json_real_or_null(1 + result->difference.low), "high",
                      json_real_or_null(1 + result->difference.high), "p", result->difference.p));
    }
    return json;
}
