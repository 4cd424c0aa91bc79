#include "scenario.h"

#include "guess.h"
#include "memory.h"
#include "text_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const char *path;
    char *text;
    struct error *error;
};

/* The place of a value: the keys and indices that lead to it. */
struct place {
    const char *key; /* of the scenario */
    size_t part;     /* index in "parts"; SIZE_MAX: the array itself */
    const char *part_key;
    const char *parameter;
};

/* --- the line of a place --------------------------------------------------------------------- */

/* These walk through text that was parsed before, and so is valid JSON. */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Skip a value, and the blanks after it. */
static const char *skip_value(const char *at)
{
    json_error_t end;
    json_decref(json_loads(at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &end));
    return skip_blanks(at + end.position);
}

/* Return the value of `key` in the object at `at`, or number `index` of the array there, and set
 * *found to it, or to its key; NULL if there is none. Keys with escapes are not found. */
static const char *find_child(const char *at, const char *key, size_t index, const char **found)
{
    const bool object = *at == '{';
    const char end = object ? '}' : ']';
    if (!object && *at != '[') {
        return NULL;
    }
    at = skip_blanks(at + 1);
    for (size_t i = 0; *at != end; i++) {
        const char *child = at;
        at = object ? skip_blanks(skip_value(at) + 1) : at; /* after the colon */
        const size_t length = object ? strlen(key) : 0;
        if (object ? strncmp(child + 1, key, length) == 0 && child[length + 1] == '"'
                   : i == index) {
            *found = child;
            return at;
        }
        at = skip_value(at);
        at = *at == ',' ? skip_blanks(at + 1) : at;
    }
    return NULL;
}

/* Return the text of a place, or of the nearest enclosing one. */
static const char *find_place(const char *text, const struct place *place)
{
    const char *found = skip_blanks(text);
    const char *at = place->key != NULL ? find_child(found, place->key, 0, &found) : NULL;
    if (at == NULL || place->part == SIZE_MAX) {
        return found;
    }
    at = find_child(at, NULL, place->part, &found);
    if (at != NULL && place->part_key != NULL) {
        at = find_child(at, place->part_key, 0, &found);
        if (at != NULL && place->parameter != NULL) {
            (void)find_child(at, place->parameter, 0, &found);
        }
    }
    return found;
}

/* Report an error at a place: file, line, key, and the sentence. */
static bool complain(const struct reading *reading, const struct place *place, const char *sentence)
{
    const char *found = find_place(reading->text, place);
    size_t line = 1;
    for (const char *at = reading->text; at < found; at++) {
        line += *at == '\n';
    }
    char key[200] = "";
    if (place->key != NULL && place->part == SIZE_MAX) {
        (void)snprintf(key, sizeof key, "%s: ", place->key);
    } else if (place->key != NULL) {
        (void)snprintf(
            key, sizeof key, "%s[%zu]%s%s%s%s: ", place->key, place->part,
            place->part_key != NULL ? "." : "", place->part_key != NULL ? place->part_key : "",
            place->parameter != NULL ? "." : "", place->parameter != NULL ? place->parameter : "");
    }
    return error_set(reading->error, "%s:%zu: %s%s", reading->path, line, key, sentence);
}

/* --- values ---------------------------------------------------------------------------------- */

/* Refuse keys of `object` that are not among `known`, which ends with NULL. */
static bool check_keys(const struct reading *reading, json_t *object, const char *const *known,
                       const struct place *above)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        struct tl_guess guess = {.given = key};
        size_t i = 0;
        while (known[i] != NULL && !tl_guess_is(&guess, known[i])) {
            i++;
        }
        if (known[i] == NULL) {
            struct place place = *above;
            *(place.key == NULL ? &place.key : &place.part_key) = key;
            char sentence[300];
            (void)snprintf(sentence, sizeof sentence,
                           "there is no such key%s docs/reference/workloads.md shows all",
                           tl_guess_text(&guess));
            return complain(reading, &place, sentence);
        }
    }
    return true;
}

/* Read a number from min to max; *number is unchanged if the value is missing. */
static bool take_number(const struct reading *reading, const struct place *place,
                        const json_t *value, bool whole, double min, double max, double *number)
{
    if (value == NULL) {
        return true;
    }
    char sentence[200];
    if (!json_is_number(value) || (whole && !json_is_integer(value))) {
        return complain(reading, place, whole ? "it takes a whole number" : "it takes a number");
    }
    double got = json_number_value(value);
    if (!(got >= min && got <= max)) {
        (void)snprintf(sentence, sizeof sentence, "%g is not from %g to %g", got, min, max);
        return complain(reading, place, sentence);
    }
    *number = got;
    return true;
}

static bool take_parameter(const struct reading *reading, struct gen_part *part,
                           const struct place *place, const json_t *value)
{
    char text[300];
    struct error why;
    if (strcmp(place->parameter, part->workload->parameters[GEN_TICK_US].name) == 0) {
        return complain(reading, place, "all parts have the scenario's tick_us; set it there");
    }
    if (json_is_string(value)) {
        (void)snprintf(text, sizeof text, "%s=%s", place->parameter, json_string_value(value));
    } else if (json_is_number(value)) {
        (void)snprintf(text, sizeof text, "%s=%.17g", place->parameter, json_number_value(value));
    } else {
        return complain(reading, place, "it takes a number or a word");
    }
    return gen_parameter_set(part->workload, part->parameters, text, NULL, &why) ||
           complain(reading, place, why.text);
}

static bool take_connections(const struct reading *reading, struct gen_part *part,
                             struct place place, const json_t *object, double total)
{
    const json_t *connections = json_object_get(object, "connections");
    const json_t *share = json_object_get(object, "share");
    double number = 0;
    double max = (double)part->workload->max_connections;
    if ((connections == NULL) == (share == NULL)) {
        return complain(reading, &place, "a part has either 'connections' or 'share'");
    }
    place.part_key = connections != NULL ? "connections" : "share";
    if (connections != NULL) {
        if (!take_number(reading, &place, connections, true, 1, max, &number)) {
            return false;
        }
    } else {
        if (total == 0) {
            return complain(reading, &place,
                            "a share is of the scenario's 'connections', which are missing");
        }
        if (!take_number(reading, &place, share, false, 0, 1, &number)) {
            return false;
        }
        number = (double)(uint64_t)(number * total + 0.5);
        if (number < 1 || number > max) {
            return complain(reading, &place, "that is no connection, or more than there can be");
        }
    }
    part->connections = (uint32_t)number;
    return true;
}

static bool take_part(const struct reading *reading, struct gen_part *part, size_t index,
                      json_t *object, double total, double tick_us)
{
    static const char *const known[] = {"workload", "connections", "share", "parameters", NULL};
    struct place place = {.key = "parts", .part = index};
    if (!json_is_object(object)) {
        return complain(reading, &place, "a part is an object: {\"workload\": ...}");
    }
    if (!check_keys(reading, object, known, &place)) {
        return false;
    }
    const json_t *name = json_object_get(object, "workload");
    place.part_key = "workload";
    if (!json_is_string(name)) {
        return complain(reading, &place, "a part names its workload");
    }
    struct error why;
    part->workload = gen_find(json_string_value(name), &why);
    if (part->workload == NULL) {
        return complain(reading, &place, why.text);
    }
    gen_parameters_default(part->workload, part->parameters);
    part->parameters[GEN_TICK_US] = tick_us;
    place.part_key = NULL;
    if (!take_connections(reading, part, place, object, total)) {
        return false;
    }
    json_t *parameters = json_object_get(object, "parameters");
    place.part_key = "parameters";
    if (parameters != NULL && !json_is_object(parameters)) {
        return complain(reading, &place, "parameters are an object: {\"name\": value}");
    }
    json_t *value;
    json_object_foreach(parameters, place.parameter, value)
    {
        if (!take_parameter(reading, part, &place, value)) {
            return false;
        }
    }
    return true;
}

/* Shares above the whole are a mistake; less may be intended. */
static bool check_shares(const struct reading *reading, const json_t *parts)
{
    double sum = 0;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *share = json_object_get(json_array_get(parts, i), "share");
        sum += share != NULL ? json_number_value(share) : 0;
    }
    const struct place place = {.key = "parts", .part = SIZE_MAX};
    return sum <= 1 + 1e-9 || complain(reading, &place, "the shares add up to more than 1");
}

static bool take_scenario(const struct reading *reading, json_t *root, struct scenario *scenario)
{
    static const char *const known[] = {"tick_us", "seconds", "seed", "connections", "parts", NULL};
    struct place place = {.part = SIZE_MAX};
    if (!json_is_object(root)) {
        return complain(reading, &place, "a scenario is an object: {\"parts\": [...]}");
    }
    if (!check_keys(reading, root, known, &place)) {
        return false;
    }
    double tick_us = 1000;
    double seconds = 10;
    double seed = 1;
    double total = 0;
    const struct {
        const char *key;
        bool whole;
        double min;
        double max;
        double *number;
    } numbers[] = {
        {"tick_us", false, 1, 1e6, &tick_us},
        {"seconds", false, 1e-9, 1e9, &seconds},
        {"seed", true, 0, 0x1p53, &seed}, /* the integers that all JSON readers agree on */
        {"connections", true, 1, UINT32_MAX, &total},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        place.key = numbers[i].key;
        if (!take_number(reading, &place, json_object_get(root, place.key), numbers[i].whole,
                         numbers[i].min, numbers[i].max, numbers[i].number)) {
            return false;
        }
    }
    scenario->seconds = seconds;
    scenario->seed = (uint64_t)seed;
    json_t *parts = json_object_get(root, "parts");
    place.key = "parts";
    if (!json_is_array(parts) || json_array_size(parts) == 0) {
        return complain(reading, &place, "a scenario has parts: [{\"workload\": ...}, ...]");
    }
    scenario->parts = memory_new(json_array_size(parts), sizeof *scenario->parts);
    for (; scenario->part_count < json_array_size(parts); scenario->part_count++) {
        size_t i = scenario->part_count;
        if (!take_part(reading, &scenario->parts[i], i, json_array_get(parts, i), total, tick_us)) {
            return false;
        }
    }
    return check_shares(reading, parts);
}

/* --- the file -------------------------------------------------------------------------------- */

bool scenario_read(const char *path, struct scenario *scenario, struct error *error)
{
    *scenario = (struct scenario){0};
    struct reading reading = {.path = path, .text = text_file_read(path, error), .error = error};
    if (reading.text == NULL) {
        return false;
    }
    json_error_t why;
    json_t *root = json_loads(reading.text, JSON_REJECT_DUPLICATES, &why);
    bool good = root != NULL ? take_scenario(&reading, root, scenario)
                             : error_set(error, "%s:%d: %s", path, why.line, why.text);
    json_decref(root);
    free(reading.text);
    if (!good) {
        scenario_free(scenario);
    }
    return good;
}

void scenario_free(struct scenario *scenario)
{
    free(scenario->parts);
    *scenario = (struct scenario){0};
}
