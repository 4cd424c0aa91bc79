#include "command.h"

#include "error.h"
#include "guess.h"
#include "standard_files.h"

#include <stdio.h>
#include <string.h>

void command_complain(const struct error *error)
{
    standard_files_tell("timerlab: %s\n", error->text);
}

static void print_table(FILE *stream, const char *program, const struct command *table)
{
    (void)fprintf(stream, "Usage: %s COMMAND [ARGUMENT...]\n\n", program);
    for (const struct command *row = table; row->name != NULL; row++) {
        (void)fprintf(stream, "  %-10s %s\n", row->name, row->summary);
    }
    (void)fprintf(stream, "\n`%s COMMAND --help` explains a command.\n", program);
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
            return row->run(argc - 1, argv + 1);
        }
    }
    standard_files_tell("%s: there is no command '%s'%s `%s --help` shows all\n", program, name,
                        tl_guess_text(&guess), program);
    return EXIT_USAGE;
}
