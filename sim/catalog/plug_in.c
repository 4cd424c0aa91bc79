#include "plug_in.h"

#include "front.h"
#include "memory.h"
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For what runs in a plug-in when it comes and goes. */
#define LOAD_SECONDS   10.0

/* Of a descriptor, all together. */
#define PROBE_BYTES    ((size_t)1 << 18)
#define CHOICES_MAX    1024u
#define PRECISIONS_MAX 128u

#define HOOK_MAP(X)                                                                                \
    X(precision)                                                                                   \
    X(create)                                                                                      \
    X(destroy)                                                                                     \
    X(reserve)                                                                                     \
    X(start)                                                                                       \
    X(stop)                                                                                        \
    X(advance)                                                                                     \
    X(next)                                                                                        \
    X(count)                                                                                       \
    X(counters)                                                                                    \
    X(check)                                                                                       \
    X(place)                                                                                       \
    X(walk)                                                                                        \
    X(moved)                                                                                       \
    X(sync)                                                                                        \
    X(recover)                                                                                     \
    X(durability)                                                                                  \
    X(start_call)                                                                                  \
    X(call)

struct plug_in {
    struct plug_in *next;
    struct tl_algo algo;
    char *spec;
    const char *file;
    char *bytes;              /* the texts of all this */
    struct tl_plugin *loaded; /* in this process, until it ends; NULL: not yet */
};

static struct plug_in *known; /* all of this process */

/* --- a descriptor as bytes ------------------------------------------------------------------- */

/* A child's result: the file's name, and the descriptor. */
struct probe {
    size_t bytes; /* of all this */
    char data[PROBE_BYTES];
};

/* Writes what it is shown to the bytes, or reads it from there again, in the parent, which trusts
 * none of it. */
struct carrier {
    char *at;
    char *end;
    bool reads;
    bool failed; /* there are not enough bytes, or others than were expected */
};

static void carry(struct carrier *carrier, void *value, size_t bytes)
{
    carrier->failed = carrier->failed || bytes > (size_t)(carrier->end - carrier->at);
    if (!carrier->failed) {
        memcpy(carrier->reads ? value : carrier->at, carrier->reads ? carrier->at : value, bytes);
        carrier->at += bytes;
    }
}

static bool carry_bool(struct carrier *carrier, bool value)
{
    char byte = value;
    carry(carrier, &byte, sizeof byte);
    return byte != 0 && !carrier->failed;
}

/* NULL is another text than "". What is read points to the bytes. */
static void carry_text(struct carrier *carrier, const char **text)
{
    if (!carry_bool(carrier, *text != NULL)) {
        *text = NULL;
    } else if (!carrier->reads) {
        carry(carrier, (void *)*text, strlen(*text) + 1);
    } else {
        char *end = memchr(carrier->at, '\0', (size_t)(carrier->end - carrier->at));
        *text = end != NULL ? carrier->at : NULL;
        carrier->failed = end == NULL;
        carrier->at = end != NULL ? end + 1 : carrier->at;
    }
}

/* The number of a table's rows; -1: there is no table. */
static int64_t carry_count(struct carrier *carrier, int64_t count, int64_t most)
{
    carry(carrier, &count, sizeof count);
    carrier->failed = carrier->failed || count < -1 || count > most;
    return carrier->failed ? -1 : count;
}

static void carry_choices(struct carrier *carrier, struct tl_option *option)
{
    int64_t count = option->choices != NULL ? 0 : -1;
    while (count >= 0 && option->choices[count].word != NULL) {
        count++;
    }
    count = carry_count(carrier, count, CHOICES_MAX);
    struct tl_choice *read =
        carrier->reads && count >= 0 ? memory_new((size_t)count + 1, sizeof *read) : NULL;
    for (int64_t i = 0; i < count; i++) {
        struct tl_choice choice = read != NULL ? read[i] : option->choices[i];
        carry_text(carrier, &choice.word);
        carry_text(carrier, &choice.help);
        carry(carrier, &choice.value, sizeof choice.value);
        if (read != NULL) {
            read[i] = choice;
        }
    }
    option->choices = carrier->reads ? read : option->choices;
}

static void carry_options(struct carrier *carrier, struct tl_algo *algo)
{
    int64_t count = algo->options != NULL ? (int64_t)tl_option_count(algo) : -1;
    /* One more than is allowed is for the validation to see. */
    count = carry_count(carrier, count, TL_OPTIONS_MAX + 1);
    struct tl_option *read =
        carrier->reads && count >= 0 ? memory_new((size_t)count + 1, sizeof *read) : NULL;
    for (int64_t i = 0; i < count; i++) {
        struct tl_option option = read != NULL ? read[i] : algo->options[i];
        carry_text(carrier, &option.name);
        carry_text(carrier, &option.help);
        carry(carrier, &option.default_value, sizeof option.default_value);
        carry(carrier, &option.min, sizeof option.min);
        carry(carrier, &option.max, sizeof option.max);
        carry_choices(carrier, &option);
        if (read != NULL) {
            read[i] = option;
        }
    }
    algo->options = carrier->reads ? read : algo->options;
}

/* In place of each hook. */
static void not_loaded(void)
{
    (void)fputs("a hook of a plug-in was called where it is not loaded\n", stderr);
    abort();
}

static void carry_algo(struct carrier *carrier, const char **file, struct tl_algo *algo)
{
    const char **texts[] = {
        file,           &algo->name,       &algo->summary,   &algo->origin,    &algo->description,
        &algo->differs, &algo->cost.start, &algo->cost.stop, &algo->cost.tick, &algo->cost.expire};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        carry_text(carrier, texts[i]);
    }
    carry(carrier, &algo->abi, sizeof algo->abi);
    carry(carrier, &algo->capabilities, sizeof algo->capabilities);
    carry(carrier, &algo->embedded_bytes, sizeof algo->embedded_bytes);
#define HOOK_CARRY(hook)                                                                           \
    if (carry_bool(carrier, algo->hook != NULL) && carrier->reads) {                               \
        algo->hook = (__typeof__(algo->hook))not_loaded;                                           \
    }
    HOOK_MAP(HOOK_CARRY)
#undef HOOK_CARRY
    carry_options(carrier, algo);
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
    struct probe *found = result;
    struct tl_plugin *plugin = open_plugin(ctx, error);
    if (plugin == NULL) {
        return false;
    }
    child_phase(load_seconds(), "while its descriptor was read");
    const char *file = tl_plugin_file(plugin);
    struct tl_algo algo = *tl_plugin_algo(plugin);
    struct carrier carrier = {found->data, found->data + sizeof found->data, false, false};
    carry_algo(&carrier, &file, &algo);
    found->bytes = (size_t)(carrier.at - (char *)found);
    child_phase(load_seconds(), "while it was unloaded");
    tl_plugin_close(plugin);
    return !carrier.failed || error_set(error, "%s: its descriptor has more than %zu bytes",
                                        (const char *)ctx, PROBE_BYTES);
}

static enum plug_in_found run_probe(struct plug_in *plug_in, struct probe *found,
                                    struct error *error)
{
    const struct child_request request = {.run = probe,
                                          .ctx = plug_in->spec,
                                          .result_bytes = sizeof *found,
                                          .sized = true,
                                          .alone = true};
    struct child_outcome outcome;
    char why[640];
    if (!child_run(&request, found, &outcome, error)) {
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
    plug_in->bytes = memory_new(1, PROBE_BYTES);
    memcpy(plug_in->bytes, found->data, PROBE_BYTES);
    struct carrier carrier = {plug_in->bytes, plug_in->bytes + PROBE_BYTES, true, false};
    carry_algo(&carrier, &plug_in->file, &plug_in->algo);
    bool whole = !carrier.failed && plug_in->file != NULL;
    if (!whole || tl_algo_validate(&plug_in->algo, why, sizeof why) != TL_OK) {
        (void)error_set(error, "%s: %s", plug_in->spec,
                        whole ? why : "its descriptor cannot be read");
        return PLUG_IN_REFUSED;
    }
    return PLUG_IN_FOUND;
}

enum plug_in_found plug_in_read(const char *spec, struct plug_in **plug_in, struct error *error)
{
    struct plug_in *made = memory_new(1, sizeof *made);
    struct probe *found = memory_new(1, sizeof *found);
    made->spec = memory_copy(spec);
    enum plug_in_found how = run_probe(made, found, error);
    free(found);
    made->next = known;
    known = made;
    if (how != PLUG_IN_FOUND) {
        plug_in_free(made);
        made = NULL;
    }
    *plug_in = made;
    return how;
}

const struct tl_algo *plug_in_algo(const struct plug_in *plug_in)
{
    return &plug_in->algo;
}

const char *plug_in_file(const struct plug_in *plug_in)
{
    return plug_in->file;
}

void plug_in_free(struct plug_in *plug_in)
{
    if (plug_in == NULL) {
        return;
    }
    struct plug_in **from = &known;
    while (*from != plug_in) {
        from = &(*from)->next;
    }
    *from = plug_in->next;
    for (size_t i = 0; i < tl_option_count(&plug_in->algo); i++) {
        free((void *)plug_in->algo.options[i].choices);
    }
    free((void *)plug_in->algo.options);
    free(plug_in->bytes);
    free(plug_in->spec);
    free(plug_in);
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

bool plug_in_load(const struct tl_algo *algo, struct error *error)
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
    bool same = real->capabilities == plug_in->algo.capabilities;
#define HOOK_TAKE(hook)                                                                            \
    same = same && (real->hook != NULL) == (plug_in->algo.hook != NULL);                           \
    plug_in->algo.hook = real->hook;
    HOOK_MAP(HOOK_TAKE)
#undef HOOK_TAKE
    plug_in->loaded = plugin;
    return same || error_set(error, "%s: has changed since it was looked at", plug_in->file);
}

/* What is run in a child. */
struct work {
    const struct tl_algo *algo;
    const struct child_request *request;
};

static bool load_and_run(void *ctx, void *result, struct error *error)
{
    const struct work *work = ctx;
    return plug_in_load(work->algo, error) && work->request->run(work->request->ctx, result, error);
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

/* What is asked in a child. */
struct question {
    const struct tl_algo *algo;
    const int64_t *options;
    const uint64_t *delays_ticks;
    size_t count;
};

struct answer {
    struct tl_precision precisions[PRECISIONS_MAX];
};

static bool ask(void *ctx, void *result, struct error *error)
{
    const struct question *question = ctx;
    struct answer *answer = result;
    (void)error;
    child_phase(child_hook_seconds(), "in precision");
    for (size_t i = 0; i < question->count; i++) {
        answer->precisions[i] =
            tl_algo_precision(question->algo, question->options, question->delays_ticks[i]);
    }
    return true;
}

bool plug_in_precision(const struct tl_algo *algo, const int64_t *options,
                       const uint64_t *delays_ticks, size_t count, struct tl_precision *precisions,
                       struct error *error)
{
    struct answer answer = {0};
    struct question question = {algo, options, delays_ticks, count};
    struct child_outcome outcome;
    const struct child_request request = {
        .run = ask, .ctx = &question, .result_bytes = sizeof answer};
    if (find(algo) == NULL || algo->precision == NULL) {
        (void)ask(&question, &answer, error);
    } else if (!plug_in_run(algo, &request, &answer, &outcome, error)) {
        return false;
    } else if (child_fault(&outcome) != NULL) {
        return error_set(error, "%s: %s", algo->name, child_fault(&outcome));
    }
    memcpy(precisions, answer.precisions, count * sizeof *precisions);
    return true;
}
