/* Of two different structures none is the faster by being late. */
#include "compare_work.h"

#include "context.h"
#include "figures.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Return the context of a measurement's trace; NULL if there is none. */
static const json_t *trace_of(const struct measured *measured)
{
    const json_t *known = NULL;
    for (size_t s = 0; s < measured->side->set->count && known == NULL; s++) {
        const json_t *context = measured->side->set->sessions[s].context;
        known =
            measured_row(measured, s) != NULL ? context_trace(context, measured->workload) : NULL;
    }
    return known;
}

/* How long a tick of it is; NAN if that is not known. */
static double tick_ns_of(const struct measured *measured)
{
    const json_t *known = json_object_get(trace_of(measured), "tick_ns");
    return json_is_number(known) ? json_number_value(known) : NAN;
}

/* Nothing is known of a benchmark's. */
static struct firing firing_of(const struct measured *measured)
{
    static const struct row unknown;
    const struct row *row = measured->kind == &replay_kind ? measured_first_row(measured) : NULL;
    return firing_of_row(row != NULL ? row : &unknown);
}

static enum firing_bound bound_of(const struct compare_work *work, const struct measured *measured)
{
    struct firing firing = firing_of(measured);
    uint64_t ticks = 0;
    bool known = tolerance_in_ticks(&work->request->max_lateness, tick_ns_of(measured), &ticks);
    return firing_beyond(&firing, known ? ticks : 0, 0);
}

bool measured_is_beyond(const struct compare_work *work, const struct measured *measured)
{
    return bound_of(work, measured) != FIRING_WITHIN;
}

/* Return the expiries of an exact structure of the same set on this trace; NAN if there is none. */
static double exact_fired(const struct measured *measured)
{
    const struct result_set *set = measured->side->set;
    const char *checksum = measured_first_row(measured)->trace_checksum;
    for (size_t s = 0; s < set->count; s++) {
        const struct results *results = &set->sessions[s].results;
        for (size_t e = 0; results->kind == &replay_kind && e < results->count; e++) {
            const struct row *row = &results->rows[e];
            struct firing firing = firing_of_row(row);
            if (strcmp(row_text(row, COL_TRACE), measured->workload) == 0 &&
                strcmp(row->trace_checksum, checksum) == 0 && row_is_ok(row) &&
                firing_is_exact(&firing) && !isnan(firing.fired)) {
                return firing.fired;
            }
        }
    }
    return NAN;
}

/* Set the two measurements of a comparison; false if lateness does not matter between them. */
static bool find_measured(const struct comparison *item, struct measured *base,
                          struct measured *other)
{
    *base = (struct measured){.side = item->base_side,
                              .kind = &replay_kind,
                              .workload = item->workload,
                              .algo = item->base_algo,
                              .options = item->base_options};
    *other = (struct measured){.side = item->other_side,
                               .kind = &replay_kind,
                               .workload = item->workload,
                               .algo = item->algo,
                               .options = item->options};
    bool alike = strcmp(base->algo, other->algo) == 0 && strcmp(base->options, other->options) == 0;
    return !alike && measured_first_row(base) != NULL && measured_first_row(other) != NULL;
}

static struct firing_frame frame_of(const struct measured *measured)
{
    return (struct firing_frame){.tick_ns = tick_ns_of(measured),
                                 .exact_fired = exact_fired(measured),
                                 .duration = plain_duration_text};
}

/* Explain how late the faster structure is, which work it skips, and which tolerance would accept
 * it. */
static void explain(struct comparison *item, const struct measured *winner, enum firing_bound bound)
{
    char lateness[FIRING_BYTES];
    char share[FIRING_BYTES] = "";
    char remedy[64] = "";
    struct firing firing = firing_of(winner);
    struct firing_frame frame = frame_of(winner);
    double needed = firing_lateness(&firing);
    if (bound == FIRING_LATE && isfinite(needed)) {
        (void)snprintf(remedy, sizeof remedy, "; --max-lateness %.0f allows it", needed);
    }
    (void)firing_lateness_words(&firing, &frame, lateness);
    if (!isnan(firing.fired)) {
        (void)firing_share_words(&firing, &frame, share);
    }
    (void)snprintf(item->reason, sizeof item->reason, "%s%s%s takes less, and fires %s%s%s%s",
                   winner->algo, winner->options[0] != '\0' ? ":" : "", winner->options, share,
                   share[0] != '\0' ? ", " : "", lateness, remedy);
}

/* The one of a comparison that takes less; NULL if there is none, or lateness has no say. */
static const struct measured *find_winner(const struct comparison *item, struct measured list[2])
{
    bool concerned = find_measured(item, &list[0], &list[1]);
    return !concerned                        ? NULL
           : item->verdict == VERDICT_SLOWER ? &list[0]
           : item->verdict == VERDICT_FASTER ? &list[1]
                                             : NULL;
}

void comparison_apply_lateness(const struct compare_work *work, struct comparison *item)
{
    struct measured list[2];
    const struct measured *winner = find_winner(item, list);
    if (winner == NULL) {
        return;
    }
    enum firing_bound bound = bound_of(work, winner);
    if (bound != FIRING_WITHIN && !measured_is_beyond(work, &list[winner == &list[0]])) {
        item->verdict = VERDICT_NOT_PUNCTUAL;
        explain(item, winner, bound);
    }
}

/* Warn about a winner that skips work because its lateness is tolerated. */
static void warn_of_winner(struct compare_work *work, const struct comparison *item)
{
    struct measured list[2];
    char undone[FIRING_BYTES] = "";
    const struct measured *winner = find_winner(item, list);
    if (winner != NULL) {
        struct firing firing = firing_of(winner);
        struct firing_frame frame = frame_of(winner);
        (void)firing_undone_words(&firing, &frame, undone);
    }
    if (undone[0] != '\0') {
        compare_warn(work, "%s: %s%s%s takes less; of what exact structures fire: %s",
                     item->workload, winner->algo, winner->options[0] != '\0' ? ":" : "",
                     winner->options, undone);
    }
}

bool compare_warn_of_lateness(struct compare_work *work)
{
    for (size_t i = 0; i < work->out->count; i++) {
        struct measured list[2];
        bool concerned = find_measured(&work->out->items[i], &list[0], &list[1]);
        warn_of_winner(work, &work->out->items[i]);
        for (int t = 0; t < 2 && concerned; t++) {
            struct firing firing = firing_of(&list[t]);
            uint64_t ticks = 0;
            if (!tolerance_in_ticks(&work->request->max_lateness, tick_ns_of(&list[t]), &ticks)) {
                return error_set(work->error,
                                 "%s: does not say how long a tick of %s is; --max-lateness then "
                                 "has to be in ticks",
                                 list[t].side->label, list[t].workload);
            }
            bool open = json_is_true(json_object_get(trace_of(&list[t]), "open_loop"));
            if (firing_is_measured_only(&firing)) {
                compare_warn(work,
                             "%s does not say how late its structures promise to be at most: how "
                             "late they were stands for it",
                             list[t].side->label);
            }
            if (open && !firing_is_exact(&firing)) {
                compare_warn(work, "%s: " TRACE_OPEN_LOOP_NOTE, list[t].workload);
            }
        }
    }
    return true;
}
