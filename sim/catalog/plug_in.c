#include "plug_in.h"

#include "front.h"
#include "memory.h"
#include "plugin.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For what runs in a plug-in when it comes and goes. */
#define LOAD_SECONDS 10.0

/* Of a descriptor, all together. */
#define ARENA_BYTES  ((size_t)1 << 18)

/* Memory that the child which reads the descriptor shares with this process, at the same address.
 */
struct arena {
    struct tl_algo algo;
    const char *file;
    size_t used; /* of the bytes; more than there are if they do not suffice */
    _Alignas(max_align_t) char bytes[ARENA_BYTES];
};

struct plug_in {
    struct plug_in *next;
    struct tl_algo algo; /* with pointers into the arena */
    char *spec;
    struct arena *arena;
    struct tl_plugin *loaded; /* in this process, until it ends; NULL: not yet */
};

static struct plug_in *known; /* all of this process */

/* --- copying a descriptor, with all that it points to ---------------------------------------- */

/* `count` elements, if there is room. NULL stays NULL. */
static void *copy(struct arena *arena, const void *from, size_t count, size_t bytes)
{
    size_t at = (arena->used + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (from == NULL || at > ARENA_BYTES || count > (ARENA_BYTES - at) / bytes) {
        arena->used = from == NULL ? arena->used : SIZE_MAX / 2;
        return NULL;
    }
    arena->used = at + count * bytes;
    return memcpy(arena->bytes + at, from, count * bytes);
}

static const char *copy_text(struct arena *arena, const char *text)
{
    return copy(arena, text, text != NULL ? strlen(text) + 1 : 0, 1);
}

static const struct tl_choice *copy_choices(struct arena *arena, const struct tl_choice *from)
{
    size_t count = 0;
    while (from != NULL && from[count].word != NULL) {
        count++;
    }
    struct tl_choice *choices = copy(arena, from, count + 1, sizeof *from);
    for (size_t i = 0; choices != NULL && i < count; i++) {
        choices[i].word = copy_text(arena, from[i].word);
        choices[i].help = copy_text(arena, from[i].help);
    }
    return choices;
}

static const struct tl_option *copy_options(struct arena *arena, const struct tl_algo *algo)
{
    size_t count = tl_option_count(algo);
    struct tl_option *options = copy(arena, algo->options, count + 1, sizeof *options);
    for (size_t i = 0; options != NULL && i < count; i++) {
        options[i].name = copy_text(arena, algo->options[i].name);
        options[i].help = copy_text(arena, algo->options[i].help);
        options[i].choices = copy_choices(arena, algo->options[i].choices);
    }
    return options;
}

/* Instead of each hook. */
static void not_loaded(void)
{
    (void)fputs("a hook of a plug-in was called where it is not loaded\n", stderr);
    abort();
}

static void copy_algo(struct arena *arena, const struct tl_algo *from)
{
    struct tl_algo *algo = &arena->algo;
    *algo = *from;
    const char **texts[] = {&algo->name,        &algo->summary,   &algo->origin,
                            &algo->description, &algo->differs,   &algo->cost.start,
                            &algo->cost.stop,   &algo->cost.tick, &algo->cost.expire};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = copy_text(arena, *texts[i]);
    }
#define HOOK_COVER(hook)                                                                           \
    algo->hook = from->hook != NULL ? (__typeof__(algo->hook))not_loaded : NULL;
    PLUG_IN_HOOKS(HOOK_COVER)
#undef HOOK_COVER
    algo->options = copy_options(arena, from);
}

/* --- reading one ----------------------------------------------------------------------------- */

static double load_seconds(void)
{
    double hook = child_hook_seconds();
    return hook < LOAD_SECONDS ? hook : LOAD_SECONDS;
}

static struct tl_plugin *open_plugin(const char *spec, struct error *error)
{
    char why[sizeof error->text];
    child_phase(load_seconds(), "while it was loaded");
    struct tl_plugin *plugin = tl_plugin_open(spec, why, sizeof why);
    child_phase(0, "%s", "");
    if (plugin == NULL) {
        (void)error_set(error, "%s", why);
    }
    return plugin;
}

static bool probe(void *ctx, void *result, struct error *error)
{
    const struct plug_in *plug_in = ctx;
    struct arena *arena = plug_in->arena;
    struct tl_plugin *plugin = open_plugin(plug_in->spec, error);
    (void)result;
    if (plugin == NULL) {
        return false;
    }
    child_phase(load_seconds(), "while its descriptor was read");
    copy_algo(arena, tl_plugin_algo(plugin));
    arena->file = copy_text(arena, tl_plugin_file(plugin));
    child_phase(load_seconds(), "while it was unloaded");
    tl_plugin_close(plugin);
    return arena->used <= ARENA_BYTES ||
           error_set(error, "%s: its descriptor has more than %zu bytes", plug_in->spec,
                     ARENA_BYTES);
}

static enum plug_in_found run_probe(struct plug_in *plug_in, struct error *error)
{
    const struct child_request request = {.run = probe, .ctx = plug_in, .alone = true};
    struct child_outcome outcome;
    if (!child_run(&request, NULL, &outcome, error)) {
        return PLUG_IN_FAILED;
    }
    if (outcome.end == CHILD_FAILED) {
        (void)error_set(error, "%s", outcome.reason);
        return PLUG_IN_REFUSED;
    }
    const char *fault = child_fault(&outcome);
    if (fault != NULL) {
        (void)error_set(error, "%s: %s", plug_in->spec, fault);
        return PLUG_IN_FAILED;
    }
    plug_in->algo = plug_in->arena->algo;
    return PLUG_IN_FOUND;
}

enum plug_in_found plug_in_read(const char *spec, const struct tl_algo **algo, const char **file,
                                struct error *error)
{
    struct plug_in *plug_in = memory_new(1, sizeof *plug_in);
    plug_in->spec = memory_copy(spec);
    plug_in->arena = child_memory_new(sizeof *plug_in->arena);
    plug_in->next = known;
    known = plug_in;
    enum plug_in_found found = run_probe(plug_in, error);
    *algo = &plug_in->algo;
    *file = plug_in->arena->file;
    if (found != PLUG_IN_FOUND) {
        plug_in_free(*algo);
    }
    return found;
}

void plug_in_free(const struct tl_algo *algo)
{
    struct plug_in **from = &known;
    while (*from != NULL && &(*from)->algo != algo) {
        from = &(*from)->next;
    }
    struct plug_in *plug_in = *from;
    if (plug_in != NULL) {
        *from = plug_in->next;
        child_memory_free(plug_in->arena, sizeof *plug_in->arena);
        free(plug_in->spec);
        free(plug_in);
    }
}

/* --- its hooks ------------------------------------------------------------------------------- */

static struct plug_in *find(const struct tl_algo *algo)
{
    const struct tl_algo *inner = tl_front_inner(algo);
    struct plug_in *at = known;
    while (at != NULL && &at->algo != (inner != NULL ? inner : algo)) {
        at = at->next;
    }
    return at;
}

bool plug_in_is(const struct tl_algo *algo)
{
    return find(algo) != NULL;
}

/* Load the plug-in again. False, with `error` set, if it has changed. */
static bool load(const struct tl_algo *algo, struct error *error)
{
    struct plug_in *plug_in = find(algo);
    if (plug_in == NULL || plug_in->loaded != NULL) {
        return true;
    }
    struct tl_plugin *plugin = open_plugin(plug_in->spec, error);
    if (plugin == NULL) {
        return false;
    }
    const struct tl_algo *real = tl_plugin_algo(plugin);
    struct tl_algo *own = &plug_in->algo;
    bool same = real->capabilities == own->capabilities;
#define HOOK_TAKE(hook)                                                                            \
    same = same && (real->hook != NULL) == (own->hook != NULL);                                    \
    own->hook = real->hook;
    PLUG_IN_HOOKS(HOOK_TAKE)
#undef HOOK_TAKE
    plug_in->loaded = plugin;
    return same || error_set(error, "%s: has changed since it was looked at", plug_in->arena->file);
}

/* Parameters of a call in a child. */
struct work {
    const struct tl_algo *algo;
    const struct child_request *request;
};

static bool load_and_run(void *ctx, void *result, struct error *error)
{
    const struct work *work = ctx;
    return load(work->algo, error) && work->request->run(work->request->ctx, result, error);
}

bool plug_in_run(const struct tl_algo *algo, const struct child_request *request, void *result,
                 struct child_outcome *outcome, struct error *error)
{
    struct work work = {algo, request};
    struct child_request loading = *request;
    loading.run = load_and_run;
    loading.ctx = &work;
    loading.alone = plug_in_is(algo);
    return child_run(&loading, result, outcome, error);
}

/* Parameters of a query in a child. */
struct question {
    const struct tl_algo *algo;
    const void *options;
    const uint64_t *delays_ticks;
    size_t count;
};

static bool ask(void *ctx, void *result, struct error *error)
{
    const struct question *question = ctx;
    struct tl_precision *precisions = result;
    (void)error;
    child_phase(child_hook_seconds(), "in precision");
    for (size_t i = 0; i < question->count; i++) {
        precisions[i] =
            tl_algo_precision(question->algo, question->options, question->delays_ticks[i]);
    }
    return true;
}

bool plug_in_precision(const struct tl_algo *algo, const void *options,
                       const uint64_t *delays_ticks, size_t count, struct tl_precision *precisions,
                       struct error *error)
{
    struct question question = {algo, options, delays_ticks, count};
    struct child_outcome outcome;
    const struct child_request request = {
        .run = ask, .ctx = &question, .result_bytes = count * sizeof *precisions};
    if (find(algo) == NULL || algo->precision == NULL) {
        return ask(&question, precisions, error);
    }
    if (!plug_in_run(algo, &request, precisions, &outcome, error)) {
        return false;
    }
    return child_fault(&outcome) == NULL ||
           error_set(error, "%s: %s", algo->name, child_fault(&outcome));
}
