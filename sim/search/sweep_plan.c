/* The plan of a sweep: the knobs, structures with alternatives, and the points. */
#include "sweep_work.h"

#include "memory.h"
#include "number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- knobs ----------------------------------------------------------------------------------- */

static struct sweep_knob *knob_of(const struct sweep_knobs *knobs, const char *name)
{
    for (size_t i = 0; i < knobs->count; i++) {
        if (strcmp(knobs->items[i].name, name) == 0) {
            return &knobs->items[i];
        }
    }
    return NULL;
}

void sweep_knob_append(struct sweep_knobs *knobs, const char *name, const char *value)
{
    struct sweep_knob *knob = knob_of(knobs, name);
    if (knob == NULL) {
        knobs->items = memory_resize(knobs->items, knobs->count + 1, sizeof *knobs->items);
        knob = &knobs->items[knobs->count++];
        *knob = (struct sweep_knob){.name = memory_copy(name)};
    }
    knob->values = memory_resize(knob->values, knob->value_count + 1, sizeof *knob->values);
    knob->values[knob->value_count++] = memory_copy(value);
}

bool sweep_knob_extend(struct sweep_knobs *knobs, const char *name, const char *value,
                       struct error *error)
{
    if (name[0] == '\0' || value[0] == '\0') {
        return error_set(error, "%s=%s: a knob has a name and values", name, value);
    }
    const struct sweep_knob *knob = knob_of(knobs, name);
    for (size_t i = 0; knob != NULL && i < knob->value_count; i++) {
        if (strcmp(knob->values[i], value) == 0) {
            return error_set(error, "%s=%s is named twice", name, value);
        }
    }
    sweep_knob_append(knobs, name, value);
    return true;
}

bool sweep_knob_add(struct sweep_knobs *knobs, const char *name, const char *values,
                    struct error *error)
{
    if (knob_of(knobs, name) != NULL) {
        return error_set(error, "the knob %s is given twice", name);
    }
    char *copy = memory_copy(values);
    bool good = true;
    char *rest = copy;
    for (char *value = strsep(&rest, ","); good && value != NULL; value = strsep(&rest, ",")) {
        good = sweep_knob_extend(knobs, name, value, error);
    }
    free(copy);
    return good;
}

void sweep_knobs_free(struct sweep_knobs *knobs)
{
    for (size_t i = 0; i < knobs->count; i++) {
        for (size_t k = 0; k < knobs->items[i].value_count; k++) {
            free(knobs->items[i].values[k]);
        }
        free(knobs->items[i].values);
        free(knobs->items[i].name);
    }
    free(knobs->items);
    *knobs = (struct sweep_knobs){0};
}

/* --- structures with alternatives ------------------------------------------------------------ */

/* Select one structure; the first value with alternatives is replaced by each of them. */
static bool select_alternatives(struct catalog *catalog, const char *text,
                                struct contender_list *list, struct error *error)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL) {
        return catalog_select(catalog, text, list, error);
    }
    const char *begin = slash;
    while (begin > text && begin[-1] != '=') {
        begin--;
    }
    size_t length = strcspn(begin, ":,)");
    if (begin == text || begin + length < slash) {
        return error_set(error, "'%s': alternatives are values of an option, as in slots=16/32",
                         text);
    }
    bool good = true;
    for (const char *value = begin; good && value <= begin + length;) {
        size_t bytes = strcspn(value, "/");
        bytes = bytes < (size_t)(begin + length - value) ? bytes : (size_t)(begin + length - value);
        char *one = memory_format("%.*s%.*s%s", (int)(begin - text), text, (int)bytes, value,
                                  begin + length);
        good = select_alternatives(catalog, one, list, error);
        free(one);
        value += bytes + 1;
    }
    return good;
}

bool sweep_select(struct catalog *catalog, const char *text, struct contender_list *list,
                  struct error *error)
{
    bool good = true;
    const char *begin = text;
    unsigned depth = 0; /* of parentheses, where a comma does not divide structures */
    for (const char *c = text; good; c++) {
        depth += *c == '(';
        depth -= *c == ')' && depth > 0;
        if (*c != '\0' && (*c != ',' || depth > 0)) {
            continue;
        }
        char *one = memory_copy_part(begin, (size_t)(c - begin));
        good = select_alternatives(catalog, one, list, error);
        free(one);
        begin = c + 1;
        if (*c == '\0') {
            break;
        }
    }
    return good;
}

/* --- points ---------------------------------------------------------------------------------- */

size_t sweep_count_points(const struct sweep_knobs *knobs)
{
    size_t points = 1;
    for (size_t i = 0; i < knobs->count; i++) {
        if (knobs->items[i].value_count > SWEEP_POINTS_MAX / points) {
            return SIZE_MAX;
        }
        points *= knobs->items[i].value_count;
    }
    return points;
}

size_t sweep_index_at(const struct sweep_knobs *knobs, size_t point, size_t knob)
{
    for (size_t i = knobs->count; --i > knob;) {
        point /= knobs->items[i].value_count;
    }
    return point % knobs->items[knob].value_count;
}

const char *sweep_value_at(const struct sweep_knobs *knobs, size_t point, size_t knob)
{
    return knobs->items[knob].values[sweep_index_at(knobs, point, knob)];
}

const char *sweep_named_value_at(const struct sweep_knobs *knobs, size_t point, const char *name)
{
    const struct sweep_knob *knob = knob_of(knobs, name);
    return knob != NULL ? sweep_value_at(knobs, point, (size_t)(knob - knobs->items)) : NULL;
}

bool sweep_knob_drives(const char *name)
{
    return strcmp(name, SWEEP_KNOB_DRIVE) == 0 || strcmp(name, SWEEP_KNOB_BUDGET) == 0 ||
           strcmp(name, SWEEP_KNOB_PAUSE) == 0 || strcmp(name, SWEEP_KNOB_SERVICE) == 0;
}

static bool is_parameter(const char *name)
{
    return strcmp(name, SWEEP_KNOB_CONNECTIONS) != 0 && strcmp(name, SWEEP_KNOB_SEED) != 0 &&
           strcmp(name, SWEEP_KNOB_TRACE) != 0 && !sweep_knob_drives(name);
}

bool sweep_parse_whole(const char *name, const char *text, uint64_t min, uint64_t max,
                       uint64_t *value, struct error *error)
{
    const struct tl_number_form form = {.from = min, .to = max};
    union tl_number number = {0};
    if (!tl_number_read(&form, text, &number)) {
        return tl_number_refuse(&form, name, text, error->text, sizeof error->text);
    }
    *value = number.whole;
    return true;
}

bool sweep_part_at(const struct sweep_request *request, size_t point, struct gen_part *part,
                   uint64_t *seed, struct error *error)
{
    const struct sweep_knobs *knobs = request->knobs;
    uint64_t connections = 0;
    const char *text = sweep_named_value_at(knobs, point, SWEEP_KNOB_CONNECTIONS);
    *part = (struct gen_part){.workload = request->workload};
    if (!sweep_parse_whole(SWEEP_KNOB_CONNECTIONS, text, 1, request->workload->max_connections,
                           &connections, error) ||
        !sweep_parse_whole(SWEEP_KNOB_SEED, sweep_named_value_at(knobs, point, SWEEP_KNOB_SEED), 0,
                           INT64_MAX, seed, error)) {
        return false;
    }
    part->connections = (uint32_t)connections;
    gen_parameters_default(request->workload, part->parameters);
    for (size_t i = 0; i < knobs->count; i++) {
        char setting[SWEEP_NAME_BYTES];
        if (is_parameter(knobs->items[i].name)) {
            (void)snprintf(setting, sizeof setting, "%s=%s", knobs->items[i].name,
                           sweep_value_at(knobs, point, i));
            if (!gen_parameter_set(request->workload, part->parameters, setting, NULL, error)) {
                return false;
            }
        }
    }
    return true;
}

bool sweep_drive_at(const struct sweep_knobs *knobs, size_t point, struct replay_drive *drive,
                    struct error *error)
{
    const char *text = sweep_named_value_at(knobs, point, SWEEP_KNOB_DRIVE);
    const char *budget = sweep_named_value_at(knobs, point, SWEEP_KNOB_BUDGET);
    const char *pauses = sweep_named_value_at(knobs, point, SWEEP_KNOB_PAUSE);
    const char *service = sweep_named_value_at(knobs, point, SWEEP_KNOB_SERVICE);
    *drive = (struct replay_drive){0};
    return drive_read(drive, SWEEP_KNOB_DRIVE, text, error) &&
           (budget == NULL || drive_read_budget(drive, SWEEP_KNOB_BUDGET, budget, error)) &&
           (pauses == NULL || drive_read_pauses(drive, SWEEP_KNOB_PAUSE, pauses, error)) &&
           (service == NULL || drive_read_service(drive, SWEEP_KNOB_SERVICE, service, error));
}

bool sweep_check(const struct sweep_request *request, struct error *error)
{
    const struct sweep_knobs *knobs = request->knobs;
    if (sweep_count_points(knobs) > SWEEP_POINTS_MAX) {
        return error_set(error, "the knobs make more than %d points", SWEEP_POINTS_MAX);
    }
    /* Check each value once, with the others at their first. */
    size_t stride = sweep_count_points(knobs);
    for (size_t i = 0; i < knobs->count; i++) {
        const struct sweep_knob *knob = &knobs->items[i];
        stride /= knob->value_count;
        if (request->workload == NULL && is_parameter(knob->name)) {
            return error_set(error, "-p %s: traces that are there have no parameters", knob->name);
        }
        for (size_t k = 0; k < knob->value_count; k++) {
            struct gen_part part;
            uint64_t seed;
            struct replay_drive drive;
            if (!sweep_drive_at(knobs, k * stride, &drive, error)) {
                return false;
            }
            if (request->workload != NULL &&
                !sweep_part_at(request, k * stride, &part, &seed, error)) {
                return false;
            }
        }
    }
    return true;
}
