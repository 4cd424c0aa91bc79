/* What the sides were not made alike in, or what else weakens a comparison. */
#include "compare_work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool compare_warn(struct compare_work *work, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    struct comparisons *out = work->out;
    for (size_t i = 0; i < out->warning_count; i++) {
        if (strcmp(out->warnings[i], text) == 0) {
            return true;
        }
    }
    char **warnings =
        (char **)realloc((void *)out->warnings, (out->warning_count + 1) * sizeof *warnings);
    char *copy = strdup(text);
    out->warnings = warnings != NULL ? warnings : out->warnings;
    if (warnings == NULL || copy == NULL) {
        free(copy);
        return error_set(work->error, "out of memory");
    }
    out->warnings[out->warning_count++] = copy;
    return true;
}

static bool warn_of_key(struct compare_work *work, const char *key,
                        const struct result_session *base, const struct result_session *other)
{
    const json_t *base_value = json_object_get(base->context, key);
    const json_t *other_value = json_object_get(other->context, key);
    if (base_value == NULL || other_value == NULL || json_equal(base_value, other_value)) {
        return true;
    }
    char *base_text = json_dumps(base_value, JSON_ENCODE_ANY | JSON_COMPACT);
    char *other_text = json_dumps(other_value, JSON_ENCODE_ANY | JSON_COMPACT);
    bool done = base_text != NULL && other_text != NULL
                    ? compare_warn(work, "%s differs: %s in %s, %s in %s", key, base_text,
                                   base->path, other_text, other->path)
                    : error_set(work->error, "out of memory");
    free(base_text);
    free(other_text);
    return done;
}

/* What the two sessions were not made alike in. */
static bool warn_of_contexts(struct compare_work *work, const struct result_session *base,
                             const struct result_session *other)
{
    static const char *const keys[] = {"cpu",      "cpus",     "host_name",  "num_cpus",
                                       "kernel",   "governor", "huge_pages", "cpu_scaling_enabled",
                                       "compiler", "flags",    "build_type", "library_build_type",
                                       "version",  "commit",   "drive"};
    bool done = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && done; i++) {
        done = warn_of_key(work, keys[i], base, other);
    }
    return done;
}

static const struct result_session *first_of_kind(const struct result_set *set,
                                                  enum result_kind kind)
{
    for (size_t s = 0; s < set->count; s++) {
        if (set->sessions[s].kind == kind) {
            return &set->sessions[s];
        }
    }
    return NULL;
}

/* Every session against the base's first of its kind. */
bool compare_warn_of_circumstances(struct compare_work *work, const struct compare_side *base,
                                   const struct compare_side *side)
{
    bool done = true;
    for (size_t s = 0; s < side->set->count && done; s++) {
        const struct result_session *session = &side->set->sessions[s];
        const struct result_session *first = first_of_kind(base->set, session->kind);
        const char *build = json_string_value(json_object_get(session->context, "build_type"));
        if (first != NULL) {
            done = warn_of_contexts(work, first, session);
        }
        if (build != NULL && strcmp(build, "Debug") == 0) {
            done = done &&
                   compare_warn(work,
                                "%s was measured in a build without optimisation: its times say "
                                "nothing",
                                session->path);
        }
    }
    return done;
}

/* That of a replay; NULL if it is none. */
static const struct result_entry *first_entry(const struct compare_side *side, const char *workload,
                                              const char *algo, const char *options)
{
    struct thing thing = {
        .side = side, .kind = RESULT_SIM, .workload = workload, .algo = algo, .options = options};
    return thing_first_entry(&thing);
}

/* Whether the trace of a compared thing is known by its content. */
static bool has_checksum(const struct compare_side *side, const char *workload, const char *algo,
                         const char *options)
{
    const struct result_entry *entry = first_entry(side, workload, algo, options);
    return entry == NULL || entry->checksum[0] != '\0'; /* a benchmark has no trace */
}

/* One structure of many timers is not many of some: their times say different things. */
static bool warn_of_ranks(struct compare_work *work, const struct comparison *item)
{
    const struct result_entry *base =
        first_entry(item->base_side, item->workload, item->base_algo, item->base_options);
    const struct result_entry *other =
        first_entry(item->other_side, item->workload, item->algo, item->options);
    if (base == NULL || other == NULL) {
        return true;
    }
    json_int_t base_ranks = json_integer_value(json_object_get(base->row, "ranks"));
    json_int_t other_ranks = json_integer_value(json_object_get(other->row, "ranks"));
    const char *base_times = json_string_value(json_object_get(base->row, "times"));
    const char *other_times = json_string_value(json_object_get(other->row, "times"));
    bool ranks_differ = base_ranks > 0 && other_ranks > 0 && base_ranks != other_ranks;
    bool times_differ =
        base_times != NULL && other_times != NULL && strcmp(base_times, other_times) != 0;
    return (!ranks_differ ||
            compare_warn(work,
                         "ranks differ: %" JSON_INTEGER_FORMAT " in %s, %" JSON_INTEGER_FORMAT
                         " in %s: each rank has a structure of its own, of fewer "
                         "timers, and they run side by side",
                         base_ranks, item->base_side->label, other_ranks,
                         item->other_side->label)) &&
           (!times_differ ||
            compare_warn(work, "times are %s in %s, %s in %s", base_times, item->base_side->label,
                         other_times, item->other_side->label));
}

bool compare_warn_of_methods(struct compare_work *work)
{
    bool apart = false;
    bool checksums = true;
    for (size_t i = 0; i < work->out->count; i++) {
        const struct comparison *item = &work->out->items[i];
        if (!warn_of_ranks(work, item)) {
            return false;
        }
        apart = apart || item->method == METHOD_APART;
        checksums =
            checksums &&
            has_checksum(item->base_side, item->workload, item->base_algo, item->base_options) &&
            has_checksum(item->other_side, item->workload, item->algo, item->options);
    }
    return (!apart ||
            compare_warn(work,
                         "measured apart, not in turn: what the machine did meanwhile is in the "
                         "difference; --command measures in turn")) &&
           (checksums ||
            compare_warn(work, "some rows have no checksum of their trace: whether it is the "
                               "same one, only its name says"));
}
