/* The pairs of measurements, and warnings of what weakens all comparisons. */
#include "compare_work.h"

#include "context.h"
#include "memory.h"
#include "timerlab.h"

#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool compare_structure_parse(struct compare_structure *structure, const char *text,
                             struct error *error)
{
    size_t length = strcspn(text, ":");
    const char *options = text[length] == ':' ? text + length + 1 : "";
    if (length == 0 || length >= sizeof structure->algo ||
        strlen(options) >= sizeof structure->options) {
        return error_set(error, "'%s' is not the name of a structure", text);
    }
    (void)snprintf(structure->algo, sizeof structure->algo, "%.*s", (int)length, text);
    (void)snprintf(structure->options, sizeof structure->options, "%s", options);
    return true;
}

/* --- the measurements of a side -------------------------------------------------------------- */

static bool is_structure(const struct compare_structure *structure, const struct measured *measured)
{
    return strcmp(structure->algo, measured->algo) == 0 &&
           strcmp(structure->options, measured->options) == 0;
}

static bool is_wanted(const struct compare_request *request, const struct measured *measured)
{
    bool workload = request->workload_count == 0;
    for (size_t i = 0; i < request->workload_count && !workload; i++) {
        workload = fnmatch(request->workloads[i], measured->workload, 0) == 0;
    }
    bool structure = request->only_count == 0;
    for (size_t i = 0; i < request->only_count && !structure; i++) {
        structure = is_structure(&request->only[i], measured);
    }
    /* A structure that fires nothing is a yardstick, and compared only if the user names it. */
    bool named = request->only_count > 0 || measured->side->one ||
                 (request->base != NULL && is_structure(request->base, measured));
    return workload && structure && (named || !measured->yardstick) &&
           (!measured->side->one || is_structure(&measured->side->structure, measured));
}

struct measured_list {
    struct measured *items;
    size_t count;
};

static bool is_yardstick(const struct result_session *session, const struct row *row)
{
    const char *floor = json_string_value(json_object_get(session->context, "floor"));
    return (row->capabilities & TL_CAP_BASELINE) != 0 ||
           (floor != NULL && strcmp(floor, row_text(row, COL_ALGO)) == 0);
}

const struct row *measured_row(const struct measured *measured, size_t session)
{
    return result_session_find(&measured->side->set->sessions[session], measured->kind,
                               measured->workload, measured->algo, measured->options);
}

bool measured_same_structure(const struct measured *a, const struct measured *b)
{
    return strcmp(a->algo, b->algo) == 0 && strcmp(a->options, b->options) == 0;
}

/* Add a measurement, which session `first` is the first to have. */
static void add_measured(struct measured_list *list, const struct compare_side *side, size_t first,
                         const struct row *row)
{
    static const struct row unknown;
    const struct result_session *sessions = side->set->sessions;
    bool replayed = sessions[first].results.kind == &replay_kind;
    struct measured measured = {.side = side,
                                .kind = sessions[first].results.kind,
                                .workload = row_text(row, COL_TRACE),
                                .algo = row_text(row, COL_ALGO),
                                .options = row_text(row, COL_OPTIONS),
                                .row = row,
                                .firing = firing_of_row(replayed ? row : &unknown),
                                .yardstick = is_yardstick(&sessions[first], row)};
    for (size_t s = first; s < side->set->count && measured.trace == NULL; s++) {
        if (measured_row(&measured, s) != NULL) {
            measured.trace = context_trace(sessions[s].context, measured.workload);
        }
    }
    const json_t *tick_ns = json_object_get(measured.trace, "tick_ns");
    measured.tick_ns = json_is_number(tick_ns) ? json_number_value(tick_ns) : NAN;
    list->items = memory_resize(list->items, list->count + 1, sizeof measured);
    list->items[list->count++] = measured;
}

/* Everything measured on a side, once, in the order of its sessions. */
static void list_measured(const struct compare_side *side, struct measured_list *list)
{
    for (size_t s = 0; s < side->set->count; s++) {
        const struct results *results = &side->set->sessions[s].results;
        for (size_t e = 0; e < results->count; e++) {
            const struct row *row = &results->rows[e];
            bool known = false;
            for (size_t earlier = 0; earlier < s && !known; earlier++) {
                known = result_session_find(&side->set->sessions[earlier], results->kind,
                                            row_text(row, COL_TRACE), row_text(row, COL_ALGO),
                                            row_text(row, COL_OPTIONS)) != NULL;
            }
            if (!known) {
                add_measured(list, side, s, row);
            }
        }
    }
}

/* `present` is of one of the two sides. */
static void add_missing(struct comparisons *out, const struct measured *present,
                        const struct compare_side *base, const struct compare_side *other,
                        const char *where)
{
    struct comparison *item = comparison_add(out, present, present);
    item->base.side = base;
    item->base.row = base == present->side ? present->row : NULL;
    item->other.side = other;
    item->other.row = other == present->side ? present->row : NULL;
    comparison_set_status(item, COMPARE_MISSING, "not in %s", where);
}

/* Return the measurement of the other side, in `items`, to compare with this one; NULL if there is
 * none. */
static const struct measured *counterpart(const struct measured_list *list,
                                          const struct measured *measured, bool any_structure,
                                          const struct compare_request *request)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct measured *candidate = &list->items[i];
        if (candidate->kind == measured->kind && is_wanted(request, candidate) &&
            strcmp(candidate->workload, measured->workload) == 0 &&
            (any_structure || measured_same_structure(candidate, measured))) {
            return candidate;
        }
    }
    return NULL;
}

static void compare_sides(struct comparisons *out, const struct compare_side *base,
                          const struct compare_side *other)
{
    struct measured_list base_list = {0};
    struct measured_list other_list = {0};
    bool any = base->one || other->one; /* structures of different names are meant */
    list_measured(base, &base_list);
    list_measured(other, &other_list);
    for (size_t i = 0; i < base_list.count; i++) {
        const struct measured *measured = &base_list.items[i];
        if (is_wanted(out->request, measured)) {
            const struct measured *against = counterpart(&other_list, measured, any, out->request);
            if (against != NULL) {
                compare_measured(out, measured, against);
            } else {
                add_missing(out, measured, base, other, other->label);
            }
        }
    }
    for (size_t i = 0; i < other_list.count; i++) {
        const struct measured *measured = &other_list.items[i];
        if (is_wanted(out->request, measured) &&
            counterpart(&base_list, measured, any, out->request) == NULL) {
            add_missing(out, measured, base, other, base->label);
        }
    }
    free(base_list.items);
    free(other_list.items);
}

/* The structures of one set, each against the base, on each workload. */
static void compare_structures(struct comparisons *out, const struct compare_side *side)
{
    struct measured_list list = {0};
    list_measured(side, &list);
    const struct compare_structure *base = out->request->base;
    for (size_t i = 0; i < list.count; i++) {
        const struct measured *measured = &list.items[i];
        if (!is_wanted(out->request, measured) || measured->algo[0] == '\0' ||
            (base != NULL && is_structure(base, measured))) {
            continue;
        }
        const struct measured *against = NULL;
        bool found = false; /* a late structure is the base only if there is no other */
        for (size_t k = 0; k < list.count && !found; k++) {
            const struct measured *candidate = &list.items[k];
            bool same = candidate->kind == measured->kind &&
                        strcmp(candidate->workload, measured->workload) == 0;
            bool chosen =
                base != NULL ? is_structure(base, candidate) : is_wanted(out->request, candidate);
            found =
                same && chosen && (base != NULL || measured_bound(out, candidate) == FIRING_WITHIN);
            against = found || (same && chosen && against == NULL) ? candidate : against;
        }
        if (against == measured) {
            continue;
        }
        if (against != NULL) {
            compare_measured(out, against, measured);
        } else {
            add_missing(out, measured, side, side, base->algo);
        }
    }
    free(list.items);
}

/* --- warnings --------------------------------------------------------------------------------- */

void compare_warn(struct comparisons *out, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (size_t i = 0; i < out->warning_count; i++) {
        if (strcmp(out->warnings[i], text) == 0) {
            return;
        }
    }
    out->warnings = (char **)memory_resize((void *)out->warnings, out->warning_count + 1,
                                           sizeof *out->warnings);
    out->warnings[out->warning_count++] = memory_copy(text);
}

static void warn_of_key(struct comparisons *out, const char *key, const struct result_session *base,
                        const struct result_session *other)
{
    const json_t *base_value = json_object_get(base->context, key);
    const json_t *other_value = json_object_get(other->context, key);
    if (base_value == NULL || other_value == NULL || json_equal(base_value, other_value)) {
        return;
    }
    char *base_text = json_dumps(base_value, JSON_ENCODE_ANY | JSON_COMPACT);
    char *other_text = json_dumps(other_value, JSON_ENCODE_ANY | JSON_COMPACT);
    compare_warn(out, "%s differs: %s in %s, %s in %s", key, base_text, base->path, other_text,
                 other->path);
    free(base_text);
    free(other_text);
}

/* Warn about differences between the contexts of two sessions. */
static void warn_of_contexts(struct comparisons *out, const struct result_session *base,
                             const struct result_session *other)
{
    static const char *const keys[] = {"cpu",      "cpus",     "host_name",  "num_cpus",
                                       "kernel",   "governor", "huge_pages", "cpu_scaling_enabled",
                                       "compiler", "flags",    "build_type", "library_build_type",
                                       "version",  "commit",   "drive"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        warn_of_key(out, keys[i], base, other);
    }
}

static const struct result_session *first_of_kind(const struct result_set *set,
                                                  const struct row_kind *kind)
{
    for (size_t s = 0; s < set->count; s++) {
        if (set->sessions[s].results.kind == kind) {
            return &set->sessions[s];
        }
    }
    return NULL;
}

/* Every session against the base's first of its kind. */
static void warn_of_circumstances(struct comparisons *out, const struct compare_side *base,
                                  const struct compare_side *side)
{
    for (size_t s = 0; s < side->set->count; s++) {
        const struct result_session *session = &side->set->sessions[s];
        const struct result_session *first = first_of_kind(base->set, session->results.kind);
        const char *build = json_string_value(json_object_get(session->context, "build_type"));
        if (first != NULL) {
            warn_of_contexts(out, first, session);
        }
        if (build != NULL && strcmp(build, "Debug") == 0) {
            compare_warn(out,
                         "%s was measured in a build without optimisation: its times say nothing",
                         session->path);
        }
    }
}

/* Whether the trace of a replay is identified by its content. */
static bool has_checksum(const struct measured *measured)
{
    return measured->row == NULL || measured->kind != &replay_kind ||
           measured->row->trace_checksum[0] != '\0';
}

/* One structure with many timers is not comparable with many structures of a few. */
static void warn_of_ranks(struct comparisons *out, const struct comparison *item)
{
    const struct row *base = item->base.row;
    const struct row *other = item->other.row;
    if (base == NULL || other == NULL || item->other.kind != &replay_kind) {
        return;
    }
    double base_ranks = row_value(base, COL_RANKS);
    double other_ranks = row_value(other, COL_RANKS);
    const char *base_times = row_text(base, COL_TIMES);
    const char *other_times = row_text(other, COL_TIMES);
    bool ranks_differ = base_ranks > 0 && other_ranks > 0 && base_ranks != other_ranks;
    bool times_differ =
        base_times[0] != '\0' && other_times[0] != '\0' && strcmp(base_times, other_times) != 0;
    if (ranks_differ) {
        compare_warn(out,
                     "ranks differ: %.0f in %s, %.0f in %s: each rank has a structure of its own, "
                     "of fewer timers, and they run "
                     "side by side",
                     base_ranks, item->base.side->label, other_ranks, item->other.side->label);
    }
    if (times_differ) {
        compare_warn(out, "times are %s in %s, %s in %s", base_times, item->base.side->label,
                     other_times, item->other.side->label);
    }
}

static void warn_of_methods(struct comparisons *out)
{
    bool apart = false;
    bool checksums = true;
    for (size_t i = 0; i < out->count; i++) {
        const struct comparison *item = &out->items[i];
        warn_of_ranks(out, item);
        apart = apart || item->method == METHOD_APART;
        checksums = checksums && has_checksum(&item->base) && has_checksum(&item->other);
    }
    if (apart) {
        compare_warn(out, "measured apart, not in turn: the difference includes changes of the "
                          "machine; --command measures in turn");
    }
    if (!checksums) {
        compare_warn(out, "some rows have no checksum of their trace: whether it is the same one, "
                          "only its name says");
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

/* By other side, trace or benchmark, and metric; then ascending by the other side's value, NAN
 * last. */
static int by_workload_and_value(const void *a, const void *b)
{
    const struct comparison *left = a;
    const struct comparison *right = b;
    const struct compare_side *side = left->other.side;
    int order = (side > right->other.side) - (side < right->other.side);
    order = order != 0 ? order : strverscmp(left->other.workload, right->other.workload);
    order = order != 0 ? order : strcmp(left->metric, right->metric);
    double left_value = isnan(left->other_median) ? INFINITY : left->other_median;
    double right_value = isnan(right->other_median) ? INFINITY : right->other_median;
    order = order != 0 ? order : (left_value > right_value) - (left_value < right_value);
    order = order != 0 ? order : strcmp(left->other.algo, right->other.algo);
    return order != 0 ? order : strcmp(left->other.options, right->other.options);
}

/* Check that the sides have a measurement in common, and that the requested metric exists. */
static bool check_comparable(const struct comparisons *out, struct error *error)
{
    bool met = false;
    bool measured = out->request->metric_count == 0;
    for (size_t i = 0; i < out->count; i++) {
        met = met || out->items[i].status != COMPARE_MISSING;
        measured = measured || out->items[i].metric[0] != '\0';
    }
    if (out->count > 0 && !met) {
        return error_set(error, "the sets have nothing in common that could be compared");
    }
    return (met && measured) ||
           error_set(error, "nothing there matches: no such structure, trace or metric");
}

bool compare_results(const struct compare_request *request, struct comparisons *out,
                     struct error *error)
{
    *out = (struct comparisons){.request = request};
    for (size_t i = 0; i < request->side_count; i++) {
        const struct compare_side *side = &request->sides[i];
        warn_of_circumstances(out, request->by_algo ? side : &request->sides[0], side);
        if (request->by_algo) {
            compare_structures(out, side);
        } else if (i > 0) {
            compare_sides(out, &request->sides[0], side);
        }
    }
    if (!check_comparable(out, error)) {
        return false;
    }
    compare_give_verdicts(out);
    warn_of_methods(out);
    qsort(out->items, out->count, sizeof *out->items, by_workload_and_value);
    return compare_warn_of_lateness(out, error);
}

void comparisons_free(struct comparisons *out)
{
    for (size_t i = 0; i < out->warning_count; i++) {
        free(out->warnings[i]);
    }
    free((void *)out->warnings);
    free(out->items);
    free(out->differences);
    *out = (struct comparisons){0};
}
