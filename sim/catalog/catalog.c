#include "catalog.h"

#include "front.h"
#include "guess.h"
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A structure inside a front end. */
struct catalog_composition {
    struct catalog_entry entry;
    struct catalog_composition *next;
};

static void append_entry(struct catalog *catalog, const struct catalog_entry *entry)
{
    catalog->entries =
        memory_resize(catalog->entries, catalog->count + 1, sizeof *catalog->entries);
    catalog->entries[catalog->count++] = *entry;
}

void catalog_init(struct catalog *catalog)
{
    *catalog = (struct catalog){.compositions = memory_new(1, sizeof *catalog->compositions)};
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_entry *built_in = tl_registry_at(i);
        struct catalog_entry entry = {.timed = built_in->timed,
                                      .counted = built_in->counted,
                                      .embedded = tl_entry_for_records(built_in)};
        append_entry(catalog, &entry);
    }
}

static const struct catalog_entry *lookup(const struct catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->count; i++) {
        if (strcmp(catalog->entries[i].timed->name, name) == 0) {
            return &catalog->entries[i];
        }
    }
    return NULL;
}

const struct tl_algo *catalog_compose(const struct tl_front *front, const struct tl_algo *inner,
                                      char *why, size_t why_bytes)
{
    errno = 0;
    const struct tl_algo *composed = tl_front_compose(front, inner, why, why_bytes);
    if (composed == NULL && errno == ENOMEM) {
        memory_end();
    }
    return composed;
}

static const struct tl_front *find_front(const char *name, struct error *error)
{
    const struct tl_front *front = tl_front_find(name);
    if (front == NULL) {
        size_t count = 0;
        const struct tl_front *const *fronts = tl_fronts(&count);
        struct tl_guess guess = {.given = name};
        for (size_t i = 0; i < count; i++) {
            (void)tl_guess_is(&guess, fronts[i]->name);
        }
        (void)error_set(error, "there is no front end '%s'%s `timerlab list` shows all", name,
                        tl_guess_text(&guess));
    }
    return front;
}

static const struct catalog_entry *compose(const struct catalog *catalog,
                                           const struct tl_front *front,
                                           const struct catalog_entry *inner, struct error *error)
{
    char why[sizeof error->text];
    const struct tl_algo *timed = catalog_compose(front, inner->timed, why, sizeof why);
    const struct tl_algo *counted =
        timed != NULL ? catalog_compose(front, inner->counted, why, sizeof why) : NULL;
    if (counted == NULL) {
        tl_front_release(timed);
        (void)error_set(error, "%s", why);
        return NULL;
    }
    struct catalog_composition *composition = memory_new(1, sizeof *composition);
    composition->entry = (struct catalog_entry){
        .timed = timed, .counted = counted, .origin_file = inner->origin_file};
    composition->next = *catalog->compositions;
    *catalog->compositions = composition;
    return &composition->entry;
}

/* "front(structure)", which has an opening parenthesis. */
static const struct catalog_entry *find_composition(const struct catalog *catalog, const char *name,
                                                    struct error *error)
{
    for (const struct catalog_composition *c = *catalog->compositions; c != NULL; c = c->next) {
        if (strcmp(c->entry.timed->name, name) == 0) {
            return &c->entry;
        }
    }
    size_t bytes = strlen(name);
    if (name[bytes - 1] != ')') {
        (void)error_set(error, "'%s': write a front end's structure in parentheses, as in %s", name,
                        "locked(hier-wheel)");
        return NULL;
    }
    char *front_name = memory_copy(name);
    char *inner_name = strchr(front_name, '(');
    *inner_name++ = '\0';
    front_name[bytes - 1] = '\0';
    const struct tl_front *front = find_front(front_name, error);
    const struct catalog_entry *inner =
        front != NULL ? catalog_find(catalog, inner_name, error) : NULL;
    const struct catalog_entry *entry =
        inner != NULL ? compose(catalog, front, inner, error) : NULL;
    free(front_name);
    return entry;
}

const struct catalog_entry *catalog_find(const struct catalog *catalog, const char *name,
                                         struct error *error)
{
    const struct catalog_entry *entry = lookup(catalog, name);
    if (entry != NULL) {
        return entry;
    }
    if (strchr(name, '(') != NULL) {
        return find_composition(catalog, name, error);
    }
    if (tl_front_find(name) != NULL) {
        (void)error_set(error, "%s is a front end; it needs a structure, as in %s(hier-wheel)",
                        name, name);
        return NULL;
    }
    struct tl_guess guess = {.given = name};
    for (size_t i = 0; i < catalog->count; i++) {
        (void)tl_guess_is(&guess, catalog->entries[i].timed->name);
    }
    (void)error_set(error, "there is no structure '%s'%s `timerlab list` shows all", name,
                    tl_guess_text(&guess));
    return NULL;
}

enum plug_in_found catalog_add_plugin(struct catalog *catalog, const char *spec,
                                      struct error *error)
{
    const struct tl_algo *algo = NULL;
    const char *file = NULL;
    enum plug_in_found found = plug_in_read(spec, &algo, &file, error);
    catalog->failed = catalog->failed || found == PLUG_IN_FAILED;
    if (found != PLUG_IN_FOUND) {
        return found;
    }
    const struct catalog_entry entry = {.timed = algo,
                                        .counted = algo,
                                        .embedded = algo->embedded_bytes > 0 ? algo : NULL,
                                        .origin_file = file};
    if (lookup(catalog, algo->name) != NULL) {
        (void)error_set(error,
                        "%s: the name '%s' is taken; list it under another with --plugin %s,NAME",
                        file, algo->name, file);
        plug_in_free(algo);
        return PLUG_IN_REFUSED;
    }
    append_entry(catalog, &entry);
    return PLUG_IN_FOUND;
}

const struct tl_algo *catalog_floor(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++) {
        if ((catalog->entries[i].timed->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            return catalog->entries[i].timed;
        }
    }
    return NULL;
}

bool catalog_leaves_path_alone(const struct tl_algo *algo, const void *options, struct error *error)
{
    const struct tl_option *path = tl_option_find(algo->options, "path");
    const char *folder = path != NULL ? (const char *)options + path->offset : "";
    return (algo->capabilities & TL_CAP_DURABLE) == 0 || folder[0] == '\0' ||
           error_set(error,
                     "%s: path=%s: a structure is created several times, each time with files of "
                     "its own; omit path, and set TMPDIR to a folder on the intended disk",
                     algo->name, folder);
}

static bool append_contender(struct contender_list *list, const struct catalog_entry *entry,
                             const char *options, struct error *error)
{
    struct contender contender = {
        .timed = entry->timed, .counted = entry->counted, .embedded = entry->embedded};
    char why[512];
    if (tl_options_parse(entry->timed, options, contender.options, why, sizeof why) != TL_OK) {
        return error_set(error, "%s", why);
    }
    if (!catalog_leaves_path_alone(contender.timed, contender.options, error)) {
        return false;
    }
    (void)tl_options_format(entry->timed, contender.options, false, contender.option_text,
                            sizeof contender.option_text);
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].timed == contender.timed &&
            strcmp(list->items[i].option_text, contender.option_text) == 0) {
            return error_set(error, "%s is named twice with the same options", entry->timed->name);
        }
    }
    list->items = memory_resize(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = contender;
    return true;
}

/* Turns "front(NAME:opt=v):opt=v" into "front(NAME):opt=v:opt=v", the same with the options of both
 * after the name. */
static void move_options_out(char *text)
{
    char *open = strchr(text, '(');
    char *close = strchr(text, ')');
    char *colon = strchr(text, ':');
    if (open != NULL && colon != NULL && close != NULL && open < colon && colon < close) {
        memmove(colon + 1, colon, (size_t)(close - colon));
        *colon = ')';
    }
}

/* Whether a name that is not known may be that of a plug-in which has failed; it is then added to
 * `missing`. */
static bool misses(struct catalog *catalog, const char *name)
{
    char *before = catalog->missing;
    if (catalog->failed) {
        catalog->missing =
            memory_format("%s%s%s", before != NULL ? before : "", before != NULL ? " " : "", name);
        free(before);
    }
    return catalog->failed;
}

static bool select_one(struct catalog *catalog, char *text, struct contender_list *list,
                       struct error *error)
{
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; i < catalog->count; i++) {
            if ((catalog->entries[i].timed->capabilities & TL_CAP_BASELINE) == 0 &&
                !append_contender(list, &catalog->entries[i], "", error)) {
                return false;
            }
        }
        return true;
    }
    move_options_out(text);
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
    }
    const struct catalog_entry *entry = catalog_find(catalog, text, error);
    if (entry == NULL) {
        return misses(catalog, text);
    }
    if (colon != NULL && colon[1] == '\0') {
        return error_set(error, "nothing follows '%s:'", text);
    }
    return append_contender(list, entry, colon != NULL ? colon + 1 : "", error);
}

bool catalog_select(struct catalog *catalog, const char *text, struct contender_list *list,
                    struct error *error)
{
    char *copy = memory_copy(text);
    bool done = true;
    char *rest = copy;
    for (char *part = strsep(&rest, ","); done && part != NULL; part = strsep(&rest, ",")) {
        done = select_one(catalog, part, list, error);
    }
    free(copy);
    return done;
}

void contender_list_free(struct contender_list *list)
{
    free(list->items);
    *list = (struct contender_list){0};
}

void catalog_free(struct catalog *catalog)
{
    while (catalog->compositions != NULL && *catalog->compositions != NULL) {
        struct catalog_composition *composition = *catalog->compositions;
        *catalog->compositions = composition->next;
        tl_front_release(composition->entry.timed);
        tl_front_release(composition->entry.counted);
        free(composition);
    }
    for (size_t i = 0; i < catalog->count; i++) {
        plug_in_free(catalog->entries[i].timed);
    }
    free(catalog->missing);
    free(catalog->entries);
    free((void *)catalog->compositions);
    *catalog = (struct catalog){0};
}
