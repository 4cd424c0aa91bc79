#include "command.h"

#include "error.h"
#include "guess.h"
#include "standard_files.h"

#include <stdio.h>
#include <string.h>

static void print_table(FILE *stream, const char *program, const struct command *table)
{
    (void)fprintf(stream, "Usage: %s COMMAND [ARGUMENT...]\n\n", program);
    for (const struct command *row = table; row->name != NULL; row++) {
        (void)fprintf(stream, "  %-10s %s\n", row->name, row->summary);
    }
    (void)fprintf(stream, "\n`%s COMMAND --help` explains a command.\n", program);
}

/* Return the nearest word: a row of the table or, if nearer, of a table below it, with the full
 * name in `text`. NULL: none is near. */
static const char *find_below(const struct command *table, struct tl_guess *guess, char *text,
                              size_t bytes)
{
    const char *nearest = guess->nearest;
    for (const struct command *row = table; row->name != NULL; row++) {
        for (const struct command *under = row->below; under != NULL && under->name != NULL;
             under++) {
            struct tl_guess inner = {.given = guess->given};
            bool same = tl_guess_is(&inner, under->name);
            if (same ||
                (inner.nearest != NULL && (nearest == NULL || inner.distance < guess->distance))) {
                guess->distance = same ? 0 : inner.distance;
                (void)snprintf(text, bytes, "%s %s", row->name, under->name);
                nearest = text;
            }
        }
    }
    return nearest;
}

int command_dispatch(const char *program, const struct command *table, int argc, char **argv)
{
    if (argc < 2) {
        print_table(stderr, program, table);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_table(stdout, program, table);
        return EXIT_OK;
    }
    struct tl_guess guess = {.given = name};
    for (const struct command *row = table; row->name != NULL; row++) {
        if (tl_guess_is(&guess, row->name)) {
            char full_name[64];
            (void)snprintf(full_name, sizeof full_name, "%s %s", program, name);
            argv[1] = full_name;
            return row->below != NULL ? command_dispatch(full_name, row->below, argc - 1, argv + 1)
                                      : row->run(argc - 1, argv + 1);
        }
    }
    char below[64];
    const char *nearest = find_below(table, &guess, below, sizeof below);
    standard_files_tell("%s: there is no command '%s'%s%s%s `%s --help` shows all\n", program, name,
                        nearest != NULL ? "; did you mean '" : ";", nearest != NULL ? nearest : "",
                        nearest != NULL ? "'?" : "", program);
    return EXIT_USAGE;
}
