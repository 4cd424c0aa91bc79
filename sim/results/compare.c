/* Pair the measurements of two sides. */
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

/* --- the measurements of a side -------------------------------------------------------------- */

static bool is_structure(const struct compare_structure *structure, const struct measured *measured)
{
    return strcmp(structure->algo, measured->algo) == 0 &&
           strcmp(structure->options, measured->options) == 0;
}

static bool is_wanted(const struct compare_work *work, const struct measured *measured)
{
    const struct compare_request *request = work->request;
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

/* Everything measured on a side, once, in the order of its sessions. */
static void list_measured(const struct compare_side *side, struct measured_list *list)
{
    const struct result_set *set = side->set;
    for (size_t s = 0; s < set->count; s++) {
        const struct result_session *session = &set->sessions[s];
        for (size_t e = 0; e < session->results.count; e++) {
            const struct row *row = &session->results.rows[e];
            struct measured measured = {.side = side,
                                        .kind = session->results.kind,
                                        .yardstick = is_yardstick(session, row),
                                        .workload = row_text(row, COL_TRACE),
                                        .algo = row_text(row, COL_ALGO),
                                        .options = row_text(row, COL_OPTIONS)};
            bool known = false;
            for (size_t earlier = 0; earlier < s && !known; earlier++) {
                known = measured_row(&measured, earlier) != NULL;
            }
            if (known) {
                continue;
            }
            list->items = memory_resize(list->items, list->count + 1, sizeof measured);
            list->items[list->count++] = measured;
        }
    }
}

static void add_missing(struct compare_work *work, const struct measured *present,
                        const struct compare_side *base, const struct compare_side *other,
                        const char *where)
{
    struct comparison *item = comparison_add(work, present, present);
    item->base_side = base;
    item->other_side = other;
    comparison_set_status(item, COMPARE_MISSING, "not in %s", where);
}

/* Return the measurement of the other side, in `items`, to compare with this one; NULL if there is
 * none. */
static const struct measured *counterpart(const struct measured_list *list,
                                          const struct measured *measured, bool any_structure,
                                          const struct compare_work *work)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct measured *candidate = &list->items[i];
        if (candidate->kind == measured->kind && is_wanted(work, candidate) &&
            strcmp(candidate->workload, measured->workload) == 0 &&
            (any_structure || (strcmp(candidate->algo, measured->algo) == 0 &&
                               strcmp(candidate->options, measured->options) == 0))) {
            return candidate;
        }
    }
    return NULL;
}

static void compare_sides(struct compare_work *work, const struct compare_side *base,
                          const struct compare_side *other)
{
    struct measured_list base_list = {0};
    struct measured_list other_list = {0};
    bool any = base->one || other->one; /* structures of different names are meant */
    list_measured(base, &base_list);
    list_measured(other, &other_list);
    for (size_t i = 0; i < base_list.count; i++) {
        const struct measured *measured = &base_list.items[i];
        if (is_wanted(work, measured)) {
            const struct measured *against = counterpart(&other_list, measured, any, work);
            if (against != NULL) {
                compare_measured(work, measured, against);
            } else {
                add_missing(work, measured, base, other, other->label);
            }
        }
    }
    for (size_t i = 0; i < other_list.count; i++) {
        const struct measured *measured = &other_list.items[i];
        if (is_wanted(work, measured) && counterpart(&base_list, measured, any, work) == NULL) {
            add_missing(work, measured, base, other, base->label);
        }
    }
    free(base_list.items);
    free(other_list.items);
}

/* The structures of one set, each against the base, on each workload. */
static void compare_structures(struct compare_work *work, const struct compare_side *side)
{
    struct measured_list list = {0};
    list_measured(side, &list);
    const struct compare_structure *base = work->request->base;
    for (size_t i = 0; i < list.count; i++) {
        const struct measured *measured = &list.items[i];
        if (!is_wanted(work, measured) || measured->algo[0] == '\0' ||
            (base != NULL && is_structure(base, measured))) {
            continue;
        }
        const struct measured *against = NULL;
        bool found = false; /* a late structure is the base only if there is no other */
        for (size_t k = 0; k < list.count && !found; k++) {
            const struct measured *candidate = &list.items[k];
            bool same = candidate->kind == measured->kind &&
                        strcmp(candidate->workload, measured->workload) == 0;
            bool chosen = base != NULL ? is_structure(base, candidate) : is_wanted(work, candidate);
            found = same && chosen && (base != NULL || !measured_is_beyond(work, candidate));
            against = found || (same && chosen && against == NULL) ? candidate : against;
        }
        if (against == measured) {
            continue;
        }
        if (against != NULL) {
            compare_measured(work, against, measured);
        } else {
            add_missing(work, measured, side, side, base->algo);
        }
    }
    free(list.items);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* By other side, trace or benchmark, and metric; then ascending by the other side's value, NAN
 * last. */
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

/* Check that the sides have a measurement in common, and that the requested metric exists. */
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
