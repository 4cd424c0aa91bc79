/* Everything in two sentences. */
#include "report_words.h"

#include "figures.h"
#include "trace.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* What a quiet machine takes for itself. */
#define BUSY_SHARE 0.05

static bool same_series(const json_t *a, const json_t *b)
{
    return strcmp(row_string(a, "algo"), row_string(b, "algo")) == 0 &&
           strcmp(row_string(a, "options"), row_string(b, "options")) == 0;
}

/* Whether a contest has one fastest. */
static bool is_won(const struct contest *contest)
{
    return contest->count > 0 && contest->tied_count == 0;
}

/* Whether contest `index` is the first that its structure won. */
static bool is_first(const struct contest_list *list, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        const struct contest *contest = &list->items[i];
        if (is_won(contest) && same_series(contest->rows[0], list->items[index].rows[0])) {
            return false;
        }
    }
    return is_won(&list->items[index]);
}

/* The name of a winner: without the folder, which stands beside the trace. */
const char *winner_text(struct pool *pool, const json_t *row)
{
    const char *options = row_string(row, "options");
    return pool_format(pool, MARK_CODE "%s%s%s" MARK_CODE, row_string(row, "algo"),
                       options[0] != '\0' ? ":" : "", options);
}

/* "`a` is the fastest on x (24.0 ns per event; the next, `b`, takes 1.50 times as long) and ...".
 */
static void add_wins(struct text *text, const struct contest_list *list, const json_t *winner)
{
    size_t wins = 0;
    size_t said = 0;
    for (size_t i = 0; i < list->count; i++) {
        wins += is_won(&list->items[i]) && same_series(list->items[i].rows[0], winner);
    }
    text_add(text, MARK_BOLD "%s is the fastest" MARK_BOLD, winner_text(text->pool, winner));
    if (list->count > CONTESTS_TOLD) {
        text_add(text, " on %zu of %zu traces", wins, list->count);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        if (!is_won(contest) || !same_series(contest->rows[0], winner)) {
            continue;
        }
        double ns = row_number(contest->rows[0], "ns_per_event");
        text_add_joint(text, said, wins);
        text_add(text, "%son %s (%s ns per event", said++ > 0 ? "" : " ",
                 place_text(text->pool, contest), figure_text(ns, FIGURE));
        if (contest->count > 1) {
            text_add(text, "; the next, %s, takes %s times as long",
                     winner_text(text->pool, contest->rows[1]),
                     figure_text(row_number(contest->rows[1], "ns_per_event") / ns, FIGURE));
        } else {
            text_add(text, contest->unpunctual > 0 ? "; nothing else that ran it does"
                                                   : "; nothing else ran it");
        }
        text_add(text, ")");
    }
}

static void add_tie(struct text *text, const struct contest *contest)
{
    text_add(text, "on %s " MARK_BOLD "cannot tell" MARK_BOLD " which is the fastest of ",
             place_text(text->pool, contest));
    text_add_tied(text, contest, winner_text);
    text_add(text, " (%s ns per event at best)",
             figure_text(row_number(contest->rows[0], "ns_per_event"), FIGURE));
}

/* What is known of the contests that nobody won: each one, or, if they are many, how many. */
static void add_undecided(struct text *text, const struct contest_list *list, size_t said)
{
    size_t tied = 0;
    size_t empty = 0;
    for (size_t i = 0; i < list->count; i++) {
        tied += list->items[i].tied_count > 0;
        empty += list->items[i].count == 0;
    }
    for (size_t i = 0; i < list->count && list->count <= CONTESTS_TOLD; i++) {
        if (list->items[i].tied_count > 0) {
            text_add(text, "%s", said++ > 0 ? "; " : "");
            add_tie(text, &list->items[i]);
        }
    }
    if (tied > 0 && list->count > CONTESTS_TOLD) {
        text_add(text, "%son %zu of %zu traces " MARK_BOLD "cannot tell" MARK_BOLD,
                 said++ > 0 ? "; " : "", tied, list->count);
    }
    for (size_t i = 0; i < list->count && list->count <= CONTESTS_TOLD; i++) {
        if (list->items[i].count == 0) {
            text_add(text, "%son %s nothing ran to its end without a fault", said++ > 0 ? "; " : "",
                     place_text(text->pool, &list->items[i]));
        }
    }
    if (empty > 0 && list->count > CONTESTS_TOLD) {
        text_add(text, "%son %zu of %zu traces nothing ran to its end without a fault",
                 said > 0 ? "; " : "", empty, list->count);
    }
}

/* Who is faster than the first, but fires early or late. */
static void add_faster_unpunctual(struct text *text, const struct contest_list *list)
{
    size_t faster = 0;
    size_t said = 0;
    for (size_t i = 0; i < list->count; i++) {
        faster += list->items[i].fastest_unpunctual != NULL;
    }
    if (faster > 0 && list->count > CONTESTS_TOLD) {
        text_add(text, "; on %zu of %zu traces others are faster, but not punctual", faster,
                 list->count);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        if (contest->fastest_unpunctual == NULL) {
            continue;
        }
        text_add(text, "%s", said == 0 ? "; faster only by not being punctual: " : "");
        text_add_joint(text, said++, faster);
        text_add(text, "%s on %s (%s ns: %s)", winner_text(text->pool, contest->fastest_unpunctual),
                 place_text(text->pool, contest),
                 figure_text(row_number(contest->fastest_unpunctual, "ns_per_event"), FIGURE),
                 firing_text(text->pool, contest, contest->fastest_unpunctual));
    }
}

static void add_winners(struct text *text, const struct contest_list *list)
{
    size_t said = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (is_first(list, i)) {
            text_add(text, "%s", said++ > 0 ? "; " : "");
            add_wins(text, list, list->items[i].rows[0]);
        }
    }
    add_undecided(text, list, said);
}

/* The row of a structure in a contest in which it stands first, or with the first; else NULL. */
static const json_t *leading_row(const struct contest *contest, const json_t *series)
{
    for (size_t i = 0; i < contest->count; i++) {
        if ((i == 0 || contest->tied[i]) && same_series(contest->rows[i], series)) {
            return contest->rows[i];
        }
    }
    return NULL;
}

/* What a structure costs where it stands first, or with the first: the worst of those contests. */
struct worst {
    double value;
    double least; /* of all, in the contest of the value */
    const json_t *least_row;
};

static struct worst find_worst(const struct report_data *data, const struct contest_list *list,
                               const json_t *first, const char *column)
{
    struct worst worst = {NAN, NAN, NULL};
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        const json_t *row = leading_row(contest, first);
        double value = row != NULL ? row_number(row, column) : NAN;
        if (!isnan(value) && (isnan(worst.value) || value > worst.value)) {
            size_t having = 0;
            (void)contest_least(contest, data, column, &worst.least_row, &having);
            worst.value = value;
            worst.least = worst.least_row != NULL ? row_number(worst.least_row, column) : NAN;
        }
    }
    return worst;
}

/* " (the least)", " (12.0 times the least, that of `b`)". */
static void add_compared(struct text *text, struct worst worst)
{
    if (worst.value <= worst.least) {
        text_add(text, " (none takes less)");
    } else if (worst.least > 0) {
        text_add(text, " (%s times that of %s)", figure_text(worst.value / worst.least, FIGURE),
                 winner_text(text->pool, worst.least_row));
    }
}

/* How late it is where it stands first, at worst; NULL if it is exact. */
static const char *worst_lateness(struct pool *pool, const struct contest_list *list,
                                  const json_t *first)
{
    const struct contest *worst = NULL;
    double most = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        const json_t *row = leading_row(contest, first);
        if (row == NULL) {
            continue;
        }
        struct firing firing = firing_of_json(row);
        if (!firing_is_exact(&firing) && (worst == NULL || firing_lateness(&firing) > most)) {
            worst = contest;
            most = firing_lateness(&firing);
        }
    }
    return worst != NULL ? firing_text(pool, worst, leading_row(worst, first)) : NULL;
}

static void add_price(struct text *text, const struct report_data *data,
                      const struct contest_list *list, const json_t *first)
{
    struct worst bytes = find_worst(data, list, first, "bytes_peak");
    struct worst stall = find_worst(data, list, first, "stall_ns");
    text_add(text, "%s costs ", winner_text(text->pool, first));
    if (!isnan(bytes.value)) {
        bool hidden = row_hides_memory(data, first);
        text_add(text, "%s of memory%s", size_text(bytes.value, FIGURE),
                 hidden ? ", and what its library takes uncounted" : "");
        if (!hidden) {
            add_compared(text, bytes);
        }
        text_add(text, ", ");
    }
    if (!isnan(stall.value)) {
        text_add(text, "a longest stall of %s", duration_text(stall.value, FIGURE));
        add_compared(text, stall);
        text_add(text, ", ");
    }
    const char *lateness = worst_lateness(text->pool, list, first);
    bool horizon = row_has_horizon(data, first);
    text_add(text, "%s%s%s%s", horizon ? "" : "and ", lateness != NULL ? "firing " : "no lateness",
             lateness != NULL ? lateness : "",
             horizon ? ", and a horizon: a deadline further away than it was made for is refused"
                     : "");
}

/* Whether a structure stands first, or with the first, in a contest before this one. */
static bool led_before(const struct contest_list *list, size_t index, const json_t *series)
{
    for (size_t i = 0; i < index; i++) {
        if (leading_row(&list->items[i], series) != NULL) {
            return true;
        }
    }
    return false;
}

static const char *what_it_costs(struct pool *pool, const struct report_data *data,
                                 const struct contest_list *list)
{
    struct text text = {.pool = pool};
    size_t said = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        for (size_t k = 0; k < contest->count && said < LISTED_MAX; k++) {
            if ((k == 0 || contest->tied[k]) && !led_before(list, i, contest->rows[k])) {
                text_add(&text, "%s", said++ > 0 ? "; " : "");
                add_price(&text, data, list, contest->rows[k]);
            }
        }
    }
    text_add(&text, "%s", said > 0 ? "." : "");
    return text_end(&text);
}

/* Where nothing is punctual; and where being late is not paid for, of who could be. */
static void add_reservations(struct text *text, const struct contest_list *list)
{
    size_t none = 0;
    size_t open = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        none += contest->none_punctual;
        open +=
            contest_is_open_loop(contest) && (contest->none_punctual || contest->unpunctual > 0);
    }
    if (none > 0) {
        text_add(text, " On %zu of %zu traces nothing fires every timer %s: there all compete.",
                 none, list->count, punctual_text(text->pool, list));
    }
    if (open > 0) {
        text_add(text, " %zu of %zu traces: " TRACE_OPEN_LOOP_NOTE ".", open, list->count);
    }
}

/* How many compete, and for what. */
static void add_field(struct text *text, const struct contest_list *list)
{
    size_t least = SIZE_MAX;
    size_t most = 0;
    bool unpunctual = false;
    for (size_t i = 0; i < list->count; i++) {
        size_t count = list->items[i].count;
        least = count < least ? count : least;
        most = count > most ? count : most;
        unpunctual = unpunctual || list->items[i].unpunctual > 0;
    }
    if (most < 2 && !unpunctual) {
        return; /* alone, as is said */
    }
    text_add(text, "Of ");
    if (least < most) {
        text_add(text, "%zu to ", least);
    }
    text_add(text, "%zu structure%s%s%s, ", most, most == 1 ? "" : "s",
             unpunctual ? " that promise to fire every timer " : "",
             unpunctual ? punctual_text(text->pool, list) : "");
}

/* What the machine did beside: so much of the time that passed was not spent on this. */
static void add_disturbance(struct text *text, const struct contest_list *list)
{
    double passed = 0;
    double spent = 0;
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < list->items[i].count; k++) {
            const json_t *samples = json_object_get(list->items[i].rows[k], "samples");
            const json_t *wall = json_object_get(samples, "wall_ns_per_event");
            const json_t *own = json_object_get(samples, "ns_per_event");
            for (size_t run = 0; run < json_array_size(wall) && run < json_array_size(own); run++) {
                double ns = json_number_value(json_array_get(wall, run));
                passed += 1;
                spent += ns > 0 ? json_number_value(json_array_get(own, run)) / ns : 1;
            }
        }
    }
    double away = passed > 0 ? 1 - spent / passed : 0;
    if (away > BUSY_SHARE) {
        text_add(text,
                 " The machine was busy with other things: %.0f %% of the time that passed was not "
                 "spent on what is measured here; measure again on a quiet one.",
                 100 * away);
    }
}

const char *verdict_text(struct pool *pool, const struct report_data *data,
                         const struct contest_list *list)
{
    if (list->count == 0) {
        return json_array_size(data->bench) > 0
                   ? "There are no results of a simulation here, only of single operations: see "
                     "\"One operation at a time\"."
                   : "There are no results here.";
    }
    struct text text = {.pool = pool};
    add_field(&text, list);
    add_winners(&text, list);
    add_faster_unpunctual(&text, list);
    text_add(&text, ". %s", what_it_costs(pool, data, list));
    add_durable(&text, data, list);
    add_reservations(&text, list);
    add_disturbance(&text, list);
    return text_end(&text);
}
