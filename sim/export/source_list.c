/* The files of algos/ that a source needs. */
#include "source_list.h"

#include "amalgam.h"

#include <stdio.h>
#include <string.h>

void symbol_of(const char *name, char *symbol, size_t bytes)
{
    if (symbol != name) {
        (void)snprintf(symbol, bytes, "%s", name);
    }
    for (char *c = symbol; *c != '\0'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
}

bool source_of(const char *structure, char file[SOURCE_NAME_BYTES])
{
    symbol_of(structure, file, SOURCE_NAME_BYTES - 2);
    (void)strcat(file, ".c");
    const char *text = embedded_source(file);
    return text != NULL && strstr(text, "\"unavailable.h\"") == NULL;
}

void source_list_add(struct source_list *list, const char *name)
{
    bool is_new = embedded_source(name) != NULL && list->count < SOURCES_MAX;
    for (size_t i = 0; i < list->count; i++) {
        is_new = is_new && strcmp(list->names[i], name) != 0;
    }
    if (is_new) {
        (void)snprintf(list->names[list->count++], SOURCE_NAME_BYTES, "%s", name);
    }
}

void source_list_add_included(struct source_list *list, const char *omitted)
{
    static const char include[] = "#include \"";
    for (size_t i = 0; i < list->count; i++) {
        for (const char *at = embedded_source(list->names[i]);
             (at = strstr(at, include)) != NULL;) {
            char name[SOURCE_NAME_BYTES];
            at += strlen(include);
            (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
            if (strcmp(name, omitted) != 0) {
                source_list_add(list, name);
                name[strlen(name) - 1] = 'c';
                source_list_add(list, name);
            }
        }
    }
}

bool source_list_of_copy(const struct tl_algo *algo, struct source_list *list, struct error *error)
{
    char file[SOURCE_NAME_BYTES];
    if (!source_of(algo->name, file) || (algo->capabilities & TL_CAP_DURABLE) != 0) {
        return error_set(error,
                         "%s cannot be copied: it needs more than timerlab.h, such as another "
                         "structure, a library or a log. `timerlab list` shows all structures",
                         algo->name);
    }
    *list = (struct source_list){.count = 0};
    source_list_add(list, file);
    source_list_add_included(list, "timerlab.h");
    return true;
}
