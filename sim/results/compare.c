/* What stands against what. */
#include "compare_work.h"

#include "memory.h"
#include "timerlab.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *compare_correction_word(enum compare_correction correction)
{
#define WORD(code, word) word,
    static const char *const words[] = {COMPARE_CORRECTION_MAP(WORD)};
#undef WORD
    return words[correction];
}

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

/* --- what there is to compare ---------------------------------------------------------------- */

static bool is_structure(const struct compare_structure *structure, const struct thing *thing)
{
    return strcmp(structure->algo, thing->algo) == 0 &&
           strcmp(structure->options, thing->options) == 0;
}

static bool is_wanted(const struct compare_work *work, const struct thing *thing)
{
    const struct compare_request *request = work->request;
    bool workload = request->workload_count == 0;
    for (size_t i = 0; i < request->workload_count && !workload; i++) {
        workload = fnmatch(request->workloads[i], thing->workload, 0) == 0;
    }
    bool structure = request->only_count == 0;
    for (size_t i = 0; i < request->only_count && !structure; i++) {
        structure = is_structure(&request->only[i], thing);
    }
    /* What fires nothing is a yardstick, and compared only if it is named. */
    bool named = request->only_count > 0 || thing->side->one ||
                 (request->base != NULL && is_structure(request->base, thing));
    return workload && structure && (named || !thing->yardstick) &&
           (!thing->side->one || is_structure(&thing->side->structure, thing));
}

struct things {
    struct thing *items;
    size_t count;
};

static bool is_yardstick(const struct result_session *session, const struct row *row)
{
    const char *floor = json_string_value(json_object_get(session->context, "floor"));
    return (row->capabilities & TL_CAP_BASELINE) != 0 ||
           (floor != NULL && strcmp(floor, row_text(row, COL_ALGO)) == 0);
}

/* Everything measured on a side, once, in the order of its sessions. */
static void list_things(const struct compare_side *side, struct things *things)
{
    const struct result_set *set = side->set;
    for (size_t s = 0; s < set->count; s++) {
        const struct result_session *session = &set->sessions[s];
        for (size_t e = 0; e < session->results.count; e++) {
            const struct row *row = &session->results.rows[e];
            struct thing thing = {.side = side,
                                  .kind = session->results.kind,
                                  .yardstick = is_yardstick(session, row),
                                  .workload = row_text(row, COL_TRACE),
                                  .algo = row_text(row, COL_ALGO),
                                  .options = row_text(row, COL_OPTIONS)};
            bool known = false;
            for (size_t earlier = 0; earlier < s && !known; earlier++) {
                known = thing_row(&thing, earlier) != NULL;
            }
            if (known) {
                continue;
            }
            things->items = memory_resize(things->items, things->count + 1, sizeof thing);
            things->items[things->count++] = thing;
        }
    }
}

static void add_missing(struct compare_work *work, const struct thing *present,
                        const struct compare_side *base, const struct compare_side *other,
                        const char *where)
{
    struct comparison *item = comparison_add(work, present, present);
    item->base_side = base;
    item->other_side = other;
    comparison_set_status(item, COMPARE_MISSING, "not in %s", where);
}

/* The thing of `things` that stands against this one of the other side; NULL if there is none. */
static const struct thing *counterpart(const struct things *things, const struct thing *thing,
                                       bool any_structure, const struct compare_work *work)
{
    for (size_t i = 0; i < things->count; i++) {
        const struct thing *candidate = &things->items[i];
        if (candidate->kind == thing->kind && is_wanted(work, candidate) &&
            strcmp(candidate->workload, thing->workload) == 0 &&
            (any_structure || (strcmp(candidate->algo, thing->algo) == 0 &&
                               strcmp(candidate->options, thing->options) == 0))) {
            return candidate;
        }
    }
    return NULL;
}

static void compare_sides(struct compare_work *work, const struct compare_side *base,
                          const struct compare_side *other)
{
    struct things base_things = {0};
    struct things other_things = {0};
    bool any = base->one || other->one; /* structures of different names are meant */
    list_things(base, &base_things);
    list_things(other, &other_things);
    for (size_t i = 0; i < base_things.count; i++) {
        const struct thing *thing = &base_things.items[i];
        if (is_wanted(work, thing)) {
            const struct thing *against = counterpart(&other_things, thing, any, work);
            if (against != NULL) {
                compare_things(work, thing, against);
            } else {
                add_missing(work, thing, base, other, other->label);
            }
        }
    }
    for (size_t i = 0; i < other_things.count; i++) {
        const struct thing *thing = &other_things.items[i];
        if (is_wanted(work, thing) && counterpart(&base_things, thing, any, work) == NULL) {
            add_missing(work, thing, base, other, base->label);
        }
    }
    free(base_things.items);
    free(other_things.items);
}

/* The structures of one set, each against the base, on each workload. */
static void compare_structures(struct compare_work *work, const struct compare_side *side)
{
    struct things things = {0};
    list_things(side, &things);
    const struct compare_structure *base = work->request->base;
    for (size_t i = 0; i < things.count; i++) {
        const struct thing *thing = &things.items[i];
        if (!is_wanted(work, thing) || thing->algo[0] == '\0' ||
            (base != NULL && is_structure(base, thing))) {
            continue;
        }
        const struct thing *against = NULL;
        bool found = false; /* what fires late is the base only where nothing else is */
        for (size_t k = 0; k < things.count && !found; k++) {
            const struct thing *candidate = &things.items[k];
            bool same =
                candidate->kind == thing->kind && strcmp(candidate->workload, thing->workload) == 0;
            bool chosen = base != NULL ? is_structure(base, candidate) : is_wanted(work, candidate);
            found = same && chosen && (base != NULL || !thing_is_beyond(work, candidate));
            against = found || (same && chosen && against == NULL) ? candidate : against;
        }
        if (against == thing) {
            continue;
        }
        if (against != NULL) {
            compare_things(work, against, thing);
        } else {
            add_missing(work, thing, side, side, base->algo);
        }
    }
    free(things.items);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* By other side, trace or benchmark, and metric; then the least of the other side first, and what
 * has no value last. */
static int by_workload_and_value(const void *a, const void *b)
{
    const struct comparison *left = a;
    const struct comparison *right = b;
    int order = (left->other_side > right->other_side) - (left->other_side < right->other_side);
    order = order != 0 ? order : strverscmp(left->workload, right->workload);
    order = order != 0 ? order : strcmp(left->metric, right->metric);
    double left_value = isnan(left->other_median) ? INFINITY : left->other_median;
    double right_value = isnan(right->other_median) ? INFINITY : right->other_median;
    order = order != 0 ? order : (left_value > right_value) - (left_value < right_value);
    order = order != 0 ? order : strcmp(left->algo, right->algo);
    return order != 0 ? order : strcmp(left->options, right->options);
}

/* That something of both sides met, and had what was asked for. */
static bool check_comparable(const struct compare_request *request,
                             const struct comparisons *comparisons, struct error *error)
{
    bool met = false;
    bool measured = request->metric_count == 0;
    for (size_t i = 0; i < comparisons->count; i++) {
        met = met || comparisons->items[i].status != COMPARE_MISSING;
        measured = measured || comparisons->items[i].metric[0] != '\0';
    }
    if (comparisons->count > 0 && !met) {
        return error_set(error, "the sets have nothing in common that could be compared");
    }
    return (met && measured) ||
           error_set(error, "nothing there matches: no such structure, trace or metric");
}

bool compare_results(const struct compare_request *request, struct comparisons *comparisons,
                     struct error *error)
{
    *comparisons = (struct comparisons){0};
    struct compare_work work = {.request = request, .out = comparisons, .error = error};
    for (size_t i = 0; i < request->side_count; i++) {
        const struct compare_side *side = &request->sides[i];
        compare_warn_of_circumstances(&work, request->by_algo ? side : &request->sides[0], side);
        if (request->by_algo) {
            compare_structures(&work, side);
        } else if (i > 0) {
            compare_sides(&work, &request->sides[0], side);
        }
    }
    if (!check_comparable(request, comparisons, error)) {
        return false;
    }
    compare_give_verdicts(&work);
    compare_warn_of_methods(&work);
    if (comparisons->count > 0) {
        qsort(comparisons->items, comparisons->count, sizeof *comparisons->items,
              by_workload_and_value);
    }
    return compare_warn_of_lateness(&work);
}

void comparisons_free(struct comparisons *comparisons)
{
    for (size_t i = 0; i < comparisons->warning_count; i++) {
        free(comparisons->warnings[i]);
    }
    free((void *)comparisons->warnings);
    free(comparisons->items);
    free(comparisons->differences);
    *comparisons = (struct comparisons){0};
}
