#include "command_option.h"

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double option_number(const char *option, const char *unit, const char *text, double min, double max,
                     struct argp_state *state)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= min && value <= max)) {
        argp_error(state, "%s takes %s from %.9g to %.9g, not '%s'", option, unit, min, max, text);
    }
    return value;
}

uint64_t option_bytes(const char *option, const char *text, struct argp_state *state)
{
    char *end = NULL;
    double value = strtod(text, &end);
    double unit = *end == 'K' ? 0x1p10 : *end == 'M' ? 0x1p20 : *end == 'G' ? 0x1p30 : 1;
    end += unit > 1;
    if (end == text || *end != '\0' || !(value * unit >= 1 && value * unit < 0x1p62)) {
        argp_error(state, "%s takes bytes, as in 800M or 4G, not '%s'", option, text);
    }
    return (uint64_t)(value * unit);
}

int option_word(const char *option, const char *text, const char *const *words,
                struct argp_state *state)
{
    char all[256] = "";
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, "%s%s",
                       i == 0                 ? ""
                       : words[i + 1] == NULL ? " or "
                                              : ", ",
                       words[i]);
    }
    argp_error(state, "%s takes %s, not '%s'", option, all, text);
    return 0;
}

void option_remember(const char ***list, size_t *count, const char *text, struct argp_state *state)
{
    const char **longer = realloc((void *)*list, (*count + 1) * sizeof *longer);
    if (longer == NULL) {
        argp_failure(state, EXIT_FAULT, 0, "out of memory");
        return;
    }
    *list = longer;
    longer[(*count)++] = text;
}

void option_plugin(struct catalog *catalog, const char *text, struct argp_state *state)
{
    struct error error;
    if (!catalog_add_plugin(catalog, text, &error)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", error.text);
    }
}

void option_structures(struct catalog *catalog, const char *const *selections, size_t count,
                       struct contender_list *list, struct argp_state *state)
{
    struct error error;
    for (size_t i = 0; i < count; i++) {
        if (!catalog_select(catalog, selections[i], list, &error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", error.text);
        }
    }
}
