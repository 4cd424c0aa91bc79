/* Warnings about different conditions of the sides, and about all else that weakens a
 * comparison. */
#include "compare_work.h"

#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void compare_warn(struct compare_work *work, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    struct comparisons *out = work->out;
    for (size_t i = 0; i < out->warning_count; i++) {
        if (strcmp(out->warnings[i], text) == 0) {
            return;
        }
    }
    out->warnings = (char **)memory_resize((void *)out->warnings, out->warning_count + 1,
                                           sizeof *out->warnings);
    out->warnings[out->warning_count++] = memory_copy(text);
}

static void warn_of_key(struct compare_work *work, const char *key,
                        const struct result_session *base, const struct result_session *other)
{
    const json_t *base_value = json_object_get(base->context, key);
    const json_t *other_value = json_object_get(other->context, key);
    if (base_value == NULL || other_value == NULL || json_equal(base_value, other_value)) {
        return;
    }
    char *base_text = json_dumps(base_value, JSON_ENCODE_ANY | JSON_COMPACT);
    char *other_text = json_dumps(other_value, JSON_ENCODE_ANY | JSON_COMPACT);
    compare_warn(work, "%s differs: %s in %s, %s in %s", key, base_text, base->path, other_text,
                 other->path);
    free(base_text);
    free(other_text);
}

/* Warn about differences between the contexts of two sessions. */
static void warn_of_contexts(struct compare_work *work, const struct result_session *base,
                             const struct result_session *other)
{
    static const char *const keys[] = {"cpu",      "cpus",     "host_name",  "num_cpus",
                                       "kernel",   "governor", "huge_pages", "cpu_scaling_enabled",
                                       "compiler", "flags",    "build_type", "library_build_type",
                                       "version",  "commit",   "drive"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        warn_of_key(work, keys[i], base, other);
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
void compare_warn_of_circumstances(struct compare_work *work, const struct compare_side *base,
                                   const struct compare_side *side)
{
    for (size_t s = 0; s < side->set->count; s++) {
        const struct result_session *session = &side->set->sessions[s];
        const struct result_session *first = first_of_kind(base->set, session->results.kind);
        const char *build = json_string_value(json_object_get(session->context, "build_type"));
        if (first != NULL) {
            warn_of_contexts(work, first, session);
        }
        if (build != NULL && strcmp(build, "Debug") == 0) {
            compare_warn(work,
                         "%s was measured in a build without optimisation: its times say nothing",
                         session->path);
        }
    }
}

/* That of a replay; NULL if it is none. */
static const struct row *first_row(const struct compare_side *side, const char *workload,
                                   const char *algo, const char *options)
{
    struct measured measured = {
        .side = side, .kind = &replay_kind, .workload = workload, .algo = algo, .options = options};
    return measured_first_row(&measured);
}

/* Whether the trace of a compared measurement is identified by its content. */
static bool has_checksum(const struct compare_side *side, const char *workload, const char *algo,
                         const char *options)
{
    const struct row *row = first_row(side, workload, algo, options);
    return row == NULL || row->trace_checksum[0] != '\0'; /* a benchmark has no trace */
}

/* One structure with many timers is not comparable with many structures of a few. */
static void warn_of_ranks(struct compare_work *work, const struct comparison *item)
{
    const struct row *base =
        first_row(item->base_side, item->workload, item->base_algo, item->base_options);
    const struct row *other =
        first_row(item->other_side, item->workload, item->algo, item->options);
    if (base == NULL || other == NULL) {
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
        compare_warn(work,
                     "ranks differ: %.0f in %s, %.0f in %s: each rank has a structure of its own, "
                     "of fewer timers, and they run "
                     "side by side",
                     base_ranks, item->base_side->label, other_ranks, item->other_side->label);
    }
    if (times_differ) {
        compare_warn(work, "times are %s in %s, %s in %s", base_times, item->base_side->label,
                     other_times, item->other_side->label);
    }
}

void compare_warn_of_methods(struct compare_work *work)
{
    bool apart = false;
    bool checksums = true;
    for (size_t i = 0; i < work->out->count; i++) {
        const struct comparison *item = &work->out->items[i];
        warn_of_ranks(work, item);
        apart = apart || item->method == METHOD_APART;
        checksums =
            checksums &&
            has_checksum(item->base_side, item->workload, item->base_algo, item->base_options) &&
            has_checksum(item->other_side, item->workload, item->algo, item->options);
    }
    if (apart) {
        compare_warn(work, "measured apart, not in turn: the difference includes changes of the "
                           "machine; --command measures in turn");
    }
    if (!checksums) {
        compare_warn(work, "some rows have no checksum of their trace: whether it is the same one, "
                           "only its name says");
    }
}
