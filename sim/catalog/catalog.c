#include "catalog.h"

#include "foreign.h"
#include "front.h"
#include "guess.h"
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For what runs in a plug-in when it comes and goes. */
#define LOAD_SECONDS 10.0

/* A structure behind a front end. */
struct catalog_composition {
    struct catalog_entry entry;
    const struct tl_algo *timed; /* what the entry's copies are of */
    const struct tl_algo *counted;
    struct catalog_composition *next;
};

static bool append_entry(struct catalog *catalog, const struct catalog_entry *entry,
                         struct error *error)
{
    struct catalog_entry *entries =
        realloc(catalog->entries, (catalog->count + 1) * sizeof *entries);
    if (entries == NULL) {
        return error_set(error, "out of memory");
    }
    catalog->entries = entries;
    catalog->entries[catalog->count++] = *entry;
    return true;
}

bool catalog_init(struct catalog *catalog, struct error *error)
{
    *catalog = (struct catalog){.compositions = calloc(1, sizeof(struct catalog_composition *))};
    if (catalog->compositions == NULL) {
        return error_set(error, "out of memory");
    }
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_entry *built_in = tl_registry_at(i);
        struct catalog_entry entry = {.timed = *built_in->timed, .counted = *built_in->counted};
        const struct tl_algo *embedded = tl_entry_for_records(built_in);
        if (embedded != NULL) {
            entry.embedded = *embedded;
        }
        if (!append_entry(catalog, &entry, error)) {
            return false;
        }
    }
    return true;
}

static const struct catalog_entry *lookup(const struct catalog *catalog, const char *name)
{
    for (size_t i = 0; i < catalog->count; i++) {
        if (strcmp(catalog->entries[i].timed.name, name) == 0) {
            return &catalog->entries[i];
        }
    }
    return NULL;
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
    struct catalog_composition *composition = calloc(1, sizeof *composition);
    if (composition == NULL) {
        (void)error_set(error, "out of memory");
        return NULL;
    }
    composition->timed = tl_front_compose(front, &inner->timed, why, sizeof why);
    composition->counted = composition->timed != NULL
                               ? tl_front_compose(front, &inner->counted, why, sizeof why)
                               : NULL;
    if (composition->counted == NULL) {
        tl_front_release(composition->timed);
        free(composition);
        (void)error_set(error, "%s", why);
        return NULL;
    }
    composition->entry = (struct catalog_entry){.timed = *composition->timed,
                                                .counted = *composition->counted,
                                                .origin_file = inner->origin_file};
    composition->next = *catalog->compositions;
    *catalog->compositions = composition;
    return &composition->entry;
}

/* "front(structure)", which has an opening parenthesis. */
static const struct catalog_entry *find_composition(const struct catalog *catalog, const char *name,
                                                    struct error *error)
{
    for (const struct catalog_composition *c = *catalog->compositions; c != NULL; c = c->next) {
        if (strcmp(c->entry.timed.name, name) == 0) {
            return &c->entry;
        }
    }
    size_t bytes = strlen(name);
    if (name[bytes - 1] != ')') {
        (void)error_set(error, "'%s': a front end's structure stands in parentheses, as in %s",
                        name, "locked(hier-wheel)");
        return NULL;
    }
    char *front_name = strdup(name);
    if (front_name == NULL) {
        (void)error_set(error, "out of memory");
        return NULL;
    }
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
        (void)tl_guess_is(&guess, catalog->entries[i].timed.name);
    }
    (void)error_set(error, "there is no structure '%s'%s `timerlab list` shows all", name,
                    tl_guess_text(&guess));
    return NULL;
}

bool catalog_add_plugin(struct catalog *catalog, const char *spec, struct error *error)
{
    struct tl_plugin **plugins =
        realloc(catalog->plugins, (catalog->plugin_count + 1) * sizeof *plugins);
    if (plugins == NULL) {
        return error_set(error, "out of memory");
    }
    catalog->plugins = plugins;
    char why[sizeof error->text];
    foreign_enter(LOAD_SECONDS, "%s, while it was loaded", spec);
    struct tl_plugin *plugin = tl_plugin_open(spec, why, sizeof why);
    foreign_leave();
    if (plugin == NULL) {
        return error_set(error, "%s", why);
    }
    const struct tl_algo *algo = tl_plugin_algo(plugin);
    const char *file = tl_plugin_file(plugin);
    struct catalog_entry entry = {
        .timed = *algo, .counted = *algo, .embedded = *algo, .origin_file = file};
    if (lookup(catalog, algo->name) != NULL) {
        (void)error_set(error,
                        "%s: the name '%s' is taken; list it under another with --plugin %s,NAME",
                        file, algo->name, file);
    } else if (append_entry(catalog, &entry, error)) {
        catalog->plugins[catalog->plugin_count++] = plugin;
        return true;
    }
    tl_plugin_close(plugin);
    return false;
}

const struct tl_algo *catalog_floor(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++) {
        if ((catalog->entries[i].timed.capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            return &catalog->entries[i].timed;
        }
    }
    return NULL;
}

bool catalog_leaves_path_alone(const struct tl_algo *algo, const int64_t *options,
                               struct error *error)
{
    size_t path = tl_option_row(algo, "path");
    return (algo->capabilities & TL_CAP_DURABLE) == 0 || options[path] == 0 ||
           error_set(error,
                     "%s: path=%s: a structure is made several times, each time with files of its "
                     "own; leave out path, and set TMPDIR to a folder on the disk that is meant",
                     algo->name, tl_option_text(options[path]));
}

static bool append_contender(struct contender_list *list, const struct catalog_entry *entry,
                             const char *options, struct error *error)
{
    struct contender contender = {.timed = &entry->timed,
                                  .counted = &entry->counted,
                                  .embedded =
                                      entry->embedded.embedded_bytes > 0 ? &entry->embedded : NULL};
    char why[512];
    if (tl_options_parse(&entry->timed, options, contender.options, why, sizeof why) != TL_OK) {
        return error_set(error, "%s", why);
    }
    if (!catalog_leaves_path_alone(contender.timed, contender.options, error)) {
        return false;
    }
    (void)tl_options_format(&entry->timed, contender.options, false, contender.option_text,
                            sizeof contender.option_text);
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].timed == contender.timed &&
            strcmp(list->items[i].option_text, contender.option_text) == 0) {
            return error_set(error, "%s is named twice with the same options", entry->timed.name);
        }
    }
    struct contender *items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (items == NULL) {
        return error_set(error, "out of memory");
    }
    list->items = items;
    list->items[list->count++] = contender;
    return true;
}

/* Turns "front(NAME:opt=v):opt=v" into "front(NAME):opt=v:opt=v", the same with the options of both
 * behind the name. */
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

static bool select_one(const struct catalog *catalog, char *text, struct contender_list *list,
                       struct error *error)
{
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; i < catalog->count; i++) {
            if ((catalog->entries[i].timed.capabilities & TL_CAP_BASELINE) == 0 &&
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
        return false;
    }
    if (colon != NULL && colon[1] == '\0') {
        return error_set(error, "nothing follows '%s:'", text);
    }
    return append_contender(list, entry, colon != NULL ? colon + 1 : "", error);
}

bool catalog_select(const struct catalog *catalog, const char *text, struct contender_list *list,
                    struct error *error)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        return error_set(error, "out of memory");
    }
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
    for (size_t i = 0; i < catalog->plugin_count; i++) {
        foreign_enter(LOAD_SECONDS, "%s, while it was unloaded",
                      tl_plugin_file(catalog->plugins[i]));
        tl_plugin_close(catalog->plugins[i]);
        foreign_leave();
    }
    free(catalog->plugins);
    free(catalog->entries);
    while (catalog->compositions != NULL && *catalog->compositions != NULL) {
        struct catalog_composition *composition = *catalog->compositions;
        *catalog->compositions = composition->next;
        tl_front_release(composition->timed);
        tl_front_release(composition->counted);
        free(composition);
    }
    free(catalog->compositions);
    *catalog = (struct catalog){0};
}
