#include "catalog.h"

#include "plugin.h"

#include <stdlib.h>
#include <string.h>

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
    *catalog = (struct catalog){0};
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_entry *built_in = tl_registry_at(i);
        struct catalog_entry entry = {.timed = *built_in->timed, .counted = *built_in->counted};
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

const struct catalog_entry *catalog_find(const struct catalog *catalog, const char *name,
                                         struct error *error)
{
    const struct catalog_entry *entry = lookup(catalog, name);
    if (entry != NULL) {
        return entry;
    }
    const char *nearest = catalog->entries[0].timed.name;
    for (size_t i = 1; i < catalog->count; i++) {
        const char *candidate = catalog->entries[i].timed.name;
        if (tl_name_distance(name, candidate) < tl_name_distance(name, nearest)) {
            nearest = candidate;
        }
    }
    (void)error_set(error,
                    "there is no structure '%s'; did you mean '%s'? `timerlab list` shows all",
                    name, nearest);
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
    struct tl_plugin *plugin = tl_plugin_open(spec, why, sizeof why);
    if (plugin == NULL) {
        return error_set(error, "%s", why);
    }
    const struct tl_algo *algo = tl_plugin_algo(plugin);
    const char *file = tl_plugin_file(plugin);
    struct catalog_entry entry = {.timed = *algo, .counted = *algo, .origin_file = file};
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

static bool append_contender(struct contender_list *list, const struct catalog_entry *entry,
                             const char *options, struct error *error)
{
    struct contender contender = {.timed = &entry->timed, .counted = &entry->counted};
    char why[512];
    if (tl_options_parse(&entry->timed, options, contender.options, why, sizeof why) != TL_OK) {
        return error_set(error, "%s", why);
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
        tl_plugin_close(catalog->plugins[i]);
    }
    free(catalog->plugins);
    free(catalog->entries);
    *catalog = (struct catalog){0};
}
