/* Of two different structures none is the faster by being late. */
#include "compare_work.h"

#include "context.h"
#include "figures.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a thing's results say of its trace; NULL if nothing. */
static const json_t *trace_of(const struct thing *thing)
{
    const json_t *known = NULL;
    for (size_t s = 0; s < thing->side->set->count && known == NULL; s++) {
        const json_t *context = thing->side->set->sessions[s].context;
        known = thing_row(thing, s) != NULL ? context_trace(context, thing->workload) : NULL;
    }
    return known;
}

/* How long a tick of it is; NAN if that is not known. */
static double tick_ns_of(const struct thing *thing)
{
    const json_t *known = json_object_get(trace_of(thing), "tick_ns");
    return json_is_number(known) ? json_number_value(known) : NAN;
}

/* Nothing is known of a benchmark's. */
static struct firing firing_of(const struct thing *thing)
{
    static const struct row unknown;
    const struct row *row = thing->kind == &replay_kind ? thing_first_row(thing) : NULL;
    return firing_of_row(row != NULL ? row : &unknown);
}

static enum firing_bound bound_of(const struct compare_work *work, const struct thing *thing)
{
    struct firing firing = firing_of(thing);
    uint64_t ticks = 0;
    bool known = tolerance_in_ticks(&work->request->max_lateness, tick_ns_of(thing), &ticks);
    return firing_beyond(&firing, known ? ticks : 0, 0);
}

bool thing_is_beyond(const struct compare_work *work, const struct thing *thing)
{
    return bound_of(work, thing) != FIRING_WITHIN;
}

/* What an exact structure of the same set fires on the trace; NAN if there is none. */
static double exact_fired(const struct thing *thing)
{
    const struct result_set *set = thing->side->set;
    const char *checksum = thing_first_row(thing)->trace_checksum;
    for (size_t s = 0; s < set->count; s++) {
        const struct results *results = &set->sessions[s].results;
        for (size_t e = 0; results->kind == &replay_kind && e < results->count; e++) {
            const struct row *row = &results->rows[e];
            struct firing firing = firing_of_row(row);
            if (strcmp(row_text(row, COL_TRACE), thing->workload) == 0 &&
                strcmp(row->trace_checksum, checksum) == 0 && row_is_ok(row) &&
                firing_is_exact(&firing) && !isnan(firing.fired)) {
                return firing.fired;
            }
        }
    }
    return NAN;
}

/* The two things of a comparison; false if lateness has no say between them. */
static bool find_things(const struct comparison *item, struct thing *base, struct thing *other)
{
    *base = (struct thing){.side = item->base_side,
                           .kind = &replay_kind,
                           .workload = item->workload,
                           .algo = item->base_algo,
                           .options = item->base_options};
    *other = (struct thing){.side = item->other_side,
                            .kind = &replay_kind,
                            .workload = item->workload,
                            .algo = item->algo,
                            .options = item->options};
    bool alike = strcmp(base->algo, other->algo) == 0 && strcmp(base->options, other->options) == 0;
    return !alike && thing_first_row(base) != NULL && thing_first_row(other) != NULL;
}

static struct firing_frame frame_of(const struct thing *thing)
{
    return (struct firing_frame){.tick_ns = tick_ns_of(thing),
                                 .exact_fired = exact_fired(thing),
                                 .duration = plain_duration_text};
}

/* Says how late the one is that takes less, what it is spared, and what would allow it. */
static void explain(struct comparison *item, const struct thing *winner, enum firing_bound bound)
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
static const struct thing *find_winner(const struct comparison *item, struct thing things[2])
{
    bool concerned = find_things(item, &things[0], &things[1]);
    return !concerned                        ? NULL
           : item->verdict == VERDICT_SLOWER ? &things[0]
           : item->verdict == VERDICT_FASTER ? &things[1]
                                             : NULL;
}

void comparison_bear_lateness(const struct compare_work *work, struct comparison *item)
{
    struct thing things[2];
    const struct thing *winner = find_winner(item, things);
    if (winner == NULL) {
        return;
    }
    enum firing_bound bound = bound_of(work, winner);
    if (bound != FIRING_WITHIN && !thing_is_beyond(work, &things[winner == &things[0]])) {
        item->verdict = VERDICT_NOT_PUNCTUAL;
        explain(item, winner, bound);
    }
}

/* Warns of a winner that is borne to be late, and is spared something by it. */
static void warn_of_winner(struct compare_work *work, const struct comparison *item)
{
    struct thing things[2];
    char undone[FIRING_BYTES] = "";
    const struct thing *winner = find_winner(item, things);
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
        struct thing things[2];
        bool concerned = find_things(&work->out->items[i], &things[0], &things[1]);
        warn_of_winner(work, &work->out->items[i]);
        for (int t = 0; t < 2 && concerned; t++) {
            struct firing firing = firing_of(&things[t]);
            uint64_t ticks = 0;
            if (!tolerance_in_ticks(&work->request->max_lateness, tick_ns_of(&things[t]), &ticks)) {
                return error_set(work->error,
                                 "%s: does not say how long a tick of %s is; --max-lateness then "
                                 "has to be in ticks",
                                 things[t].side->label, things[t].workload);
            }
            bool open = json_is_true(json_object_get(trace_of(&things[t]), "open_loop"));
            if (firing_is_measured_only(&firing)) {
                compare_warn(work,
                             "%s does not say how late its structures promise to be at most: how "
                             "late they were stands for it",
                             things[t].side->label);
            }
            if (open && !firing_is_exact(&firing)) {
                compare_warn(work, "%s: " TRACE_OPEN_LOOP_NOTE, things[t].workload);
            }
        }
    }
    return true;
}
