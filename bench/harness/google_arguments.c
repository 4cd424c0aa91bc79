#include "google_arguments.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_for_google(const struct option_row *options, const char *argument)
{
    if (!begins(argument, "--benchmark_")) {
        return false;
    }
    size_t length = strcspn(argument + 2, "=");
    for (const struct option_row *row = options; row->option.doc != NULL; row++) {
        const char *name = row->option.name;
        if (name != NULL && strlen(name) == length && strncmp(name, argument + 2, length) == 0) {
            return false;
        }
    }
    return true;
}

int google_arguments_take(struct google_arguments *google, const struct option_row *options,
                          int argc, char **argv)
{
    static const char list_flag[] = "--benchmark_list_tests";
    int kept = 1;
    *google =
        (struct google_arguments){.texts = memory_new((size_t)argc + 1, sizeof *google->texts)};
    google->texts[google->count++] = argv[0];
    for (int i = 1; i < argc; i++) {
        if (!is_for_google(options, argv[i])) {
            argv[kept++] = argv[i];
            continue;
        }
        google->texts[google->count++] = argv[i];
        if (begins(argv[i], list_flag)) {
            google->list = strcmp(argv[i] + strlen(list_flag), "=false") != 0;
        } else {
            google->reports = google->reports || !begins(argv[i], "--benchmark_filter=");
        }
    }
    argv[kept] = NULL;
    return kept;
}

void google_arguments_free(struct google_arguments *google)
{
    free((void *)google->texts);
}
