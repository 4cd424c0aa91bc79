/* One contest in words. */
#include "report_words.h"

#include "figures.h"
#include "judge.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A horizon beyond this, of 49 days if a tick is 1 ms, is none that matters. */
#define HORIZON_MAX_TICKS UINT32_MAX

const char *punctual_text(struct pool *pool, const struct contest_list *list)
{
    const struct tolerance *lateness = &list->max_lateness;
    return lateness->ns > 0 || lateness->ticks > 0
               ? pool_format(pool, "at most %s after its due tick",
                             lateness->ns > 0 ? duration_text(lateness->ns, FIGURE)
                                              : ticks_text((double)lateness->ticks, FIGURE))
               : "on its due tick";
}

/* Whether what was measured stands for promises that some rows do not hold. */
static bool is_measured_only(const struct report_data *data)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->rows, i, row)
    {
        struct firing firing = firing_of_json(row);
        if (firing_is_measured_only(&firing)) {
            return true;
        }
    }
    return false;
}

const char *rule_text(struct pool *pool, const struct report_data *data,
                      const struct contest_list *list)
{
    return pool_format(
        pool,
        "Who fires early or late does less; so the fastest is looked for among those that promise "
        "to fire every timer %s, where there are any.%s Structures in italics are "
        "yardsticks, not contenders. A difference counts as in " MARK_CODE
        "timerlab compare" MARK_CODE ": both sides "
        "have at least five runs, and a rank test of these finds a difference that chance "
        "explains in less than 5 %% of cases, and that is larger than 1 %% where six rounds or "
        "more make pairs, else than 5 %%; each pair of structures is taken for itself; "
        "of results without their single runs, if the medians are further apart than three "
        "times the spreads (median absolute deviations, MAD) together. Otherwise the words are "
        "\"cannot tell\". Stall, memory and wakeups have no such test; a stall can also be the "
        "machine's own.",
        punctual_text(pool, list),
        is_measured_only(data) ? " Some results are older, and do not say what was promised: what "
                                 "was measured stands for it."
                               : "");
}

const char *series_text(struct pool *pool, const json_t *row)
{
    const char *options = row_string(row, "options");
    const char *mark = row_string(row, "set");
    return pool_format(pool, MARK_CODE "%s%s%s%s%s" MARK_CODE, row_string(row, "algo"),
                       options[0] != '\0' ? ":" : "", options, mark[0] != '\0' ? "@" : "", mark);
}

const char *place_text(struct pool *pool, const struct contest *contest)
{
    return contest->mark[0] == '\0'
               ? trace_base(contest->trace)
               : pool_format(pool, "%s (%s)", trace_base(contest->trace), contest->mark);
}

/* "24.0 bytes a timer (the least of 4)", "24.0 ns (the least: 12.0 ns, `other`)". */
static const char *standing(struct pool *pool, const struct report_data *data,
                            const struct contest *contest, const char *column,
                            const char *(*figure)(double, char[FIGURE_BYTES]), const char *unit)
{
    double mine = row_number(contest->rows[0], column);
    const json_t *least = NULL;
    size_t having = 0;
    bool differing = contest_least(contest, data, column, &least, &having);
    if (isnan(mine)) {
        return "not measured";
    }
    const char *text = pool_format(pool, "%s%s", figure(mine, FIGURE), unit);
    if (strncmp(column, "bytes_", 6) == 0 && row_hides_memory(data, contest->rows[0])) {
        return pool_format(pool, "%s, and what its library takes uncounted", text);
    }
    if (having < 2) {
        return text;
    }
    if (!differing) {
        return pool_format(pool, "%s (like all of them)", text);
    }
    double best = row_number(least, column);
    if (mine <= best) {
        return pool_format(pool, "%s (the least of %zu)", text, having);
    }
    return pool_format(pool, "%s (the least: %s%s, %s)", text, figure(best, FIGURE), unit,
                       series_text(pool, least));
}

const char *firing_text(struct pool *pool, const struct contest *contest, const json_t *row)
{
    char words[FIRING_BYTES];
    char undone[FIRING_BYTES];
    struct firing firing = firing_of_json(row);
    (void)firing_lateness_words(&firing, &contest->frame, words);
    (void)firing_undone_words(&firing, &contest->frame, undone);
    return pool_format(pool, "%s%s%s", words, undone[0] != '\0' ? "; " : "", undone);
}

static const char *lateness_text(struct pool *pool, const struct contest *contest,
                                 const json_t *row)
{
    struct firing firing = firing_of_json(row);
    char words[FIRING_BYTES];
    if (firing_is_exact(&firing)) {
        return isnan(firing.lateness_max) ? "no timer fired, so there is none"
                                          : "every timer fired on its due tick";
    }
    return pool_format(pool, "timers fired %s",
                       firing_lateness_words(&firing, &contest->frame, words));
}

static const char *share_text(struct pool *pool, const struct contest *contest, const json_t *row)
{
    struct firing firing = firing_of_json(row);
    char words[FIRING_BYTES];
    return isnan(firing.fired)
               ? "not counted"
               : pool_format(pool, "%s", firing_share_words(&firing, &contest->frame, words));
}

bool row_has_horizon(const struct report_data *data, const json_t *row)
{
    const json_t *structure = json_object_get(data->structures, row_string(row, "algo"));
    return row_number(structure, "horizon_ticks") <= HORIZON_MAX_TICKS;
}

void contest_costs(struct pool *pool, const struct report_data *data, const struct contest *contest,
                   const char *items[CONTEST_COSTS])
{
    items[0] =
        pool_format(pool, "memory: %s; at the peak %s",
                    standing(pool, data, contest, "bytes_per_timer", figure_text, " bytes a timer"),
                    standing(pool, data, contest, "bytes_peak", size_text, ""));
    items[1] =
        pool_format(pool, "stall, the longest single advance of a run, median of the runs: %s",
                    standing(pool, data, contest, "stall_ns", duration_text, ""));
    items[2] = pool_format(pool, "wakeups: %s, of these idle: %s",
                           standing(pool, data, contest, "wakeups", grouped_text, ""),
                           standing(pool, data, contest, "idle_wakeups", grouped_text, ""));
    items[3] = pool_format(pool, "lateness: %s", lateness_text(pool, contest, contest->rows[0]));
    items[4] = pool_format(pool, "fired: %s", share_text(pool, contest, contest->rows[0]));
    items[5] = row_has_horizon(data, contest->rows[0])
                   ? "horizon: a deadline further away than it was made for is refused"
                   : "horizon: none that matters";
}

void text_add_tied(struct text *text, const struct contest *contest,
                   const char *(*name)(struct pool *, const json_t *))
{
    size_t tied = contest->tied_count + 1;
    size_t listed = tied > LISTED_MAX ? LISTED_MAX : tied;
    size_t said = 0;
    for (size_t i = 0; i < contest->count && said < listed; i++) {
        if (contest->tied[i]) {
            text_add_joint(text, said++, listed < tied ? listed + 1 : listed);
            char undone[FIRING_BYTES];
            struct firing firing = firing_of_json(contest->rows[i]);
            (void)firing_undone_words(&firing, &contest->frame, undone);
            text_add(text, "%s%s%s%s", name(text->pool, contest->rows[i]),
                     undone[0] != '\0' ? " (" : "", undone, undone[0] != '\0' ? ")" : "");
        }
    }
    if (listed < tied) {
        text_add(text, " and %zu more", tied - listed);
    }
}

static const char *measured_text(struct pool *pool, const json_t *row)
{
    struct measured m = measured_of(row, "ns_per_event");
    return pool_format(pool, "%s (%s ± %s ns)", series_text(pool, row),
                       figure_text(m.value, FIGURE), figure_text(m.spread, FIGURE));
}

/* Adds who cannot be told from the first, with their figures. */
static void add_tied(struct text *text, const struct contest *contest)
{
    bool few_runs = false;
    for (size_t i = 0; i < contest->count; i++) {
        few_runs = few_runs || row_number(contest->rows[i], "runs") < JUDGE_RUNS_MIN;
    }
    text_add(text, MARK_BOLD "Cannot tell which is the fastest of ");
    text_add_tied(text, contest, measured_text);
    text_add(text, MARK_BOLD "%s. The smallest median is that of %s: ",
             few_runs ? " (it takes five runs)"
                      : " (they differ by no more than chance may explain)",
             series_text(text->pool, contest->rows[0]));
}

/* How many times as long those take that are slower than the first: the next few, and the last. */
static void add_slower(struct text *text, const struct contest *contest)
{
    double first_ns = row_number(contest->rows[0], "ns_per_event");
    size_t slower = contest->count - contest->tied_count - 1;
    size_t said = 0;
    for (size_t i = 1; i < contest->count; i++) {
        if (contest->tied[i]) {
            continue;
        }
        if (said < LISTED_MAX || said + 1 == slower) {
            text_add(text, "%s", said == 0 ? " Time per event compared with it: " : "");
            text_add_joint(text, said, slower);
            text_add(text, "%s %s times", series_text(text->pool, contest->rows[i]),
                     figure_text(row_number(contest->rows[i], "ns_per_event") / first_ns, FIGURE));
        } else if (said == LISTED_MAX) {
            text_add(text, ", %zu others", slower - LISTED_MAX - 1);
        }
        said++;
    }
    text_add(text, "%s", said > 0 ? "." : "");
}

const char *contest_text(struct pool *pool, const struct contest *contest)
{
    struct text text = {.pool = pool};
    if (contest->count == 0) {
        return "No structure ran this trace to its end without a fault.";
    }
    const json_t *first = contest->rows[0];
    const char *name = series_text(pool, first);
    double floor_ns = row_number(first, "floor_ns_per_event");
    if (contest->count == 1) {
        text_add(&text, "Only %s %s: ", name,
                 contest->unpunctual > 0 ? "is punctual here" : "ran this trace");
    } else if (contest->tied_count == 0) {
        text_add(&text, MARK_BOLD "%s is the fastest" MARK_BOLD ": ", name);
    } else {
        add_tied(&text, contest);
    }
    text_add(&text, "%s ns per event, %s events per second",
             figure_text(row_number(first, "ns_per_event"), FIGURE),
             rate_text(row_number(first, "events_per_s"), FIGURE));
    if (!isnan(floor_ns)) {
        text_add(&text, "; %s ns of it is the harness itself", figure_text(floor_ns, FIGURE));
    }
    text_add(&text, ".");
    add_slower(&text, contest);
    if (contest->fastest_unpunctual != NULL) {
        text_add(&text, " %s, which is not punctual, takes %s times as long: %s.",
                 series_text(pool, contest->fastest_unpunctual),
                 figure_text(row_number(contest->fastest_unpunctual, "ns_per_event") /
                                 row_number(first, "ns_per_event"),
                             FIGURE),
                 firing_text(pool, contest, contest->fastest_unpunctual));
    }
    if (contest->none_punctual) {
        text_add(&text, " Nothing is punctual here, so all compete.");
    }
    return text_end(&text);
}
