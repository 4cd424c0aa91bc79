/*
 * command_option.h: command lines as data. A command has a table of its options, each with the kind
 * of its value and its place among the command's arguments. The code that reads, checks and refuses
 * values is here, once. A wrong command line is reported on standard error, with the option, its
 * valid values and the given one, and ends the program with the status of argp_err_exit_status
 * (EXIT_USAGE). An option with a value may be given once, unless its values make a list.
 */
#ifndef SIM_COMMAND_OPTION_H
#define SIM_COMMAND_OPTION_H

#include "catalog.h"
#include "number.h"

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

/* How the programs end. */
enum exit_status {
    EXIT_OK = 0,    /* done, and right */
    EXIT_FAULT = 1, /* a run failed, or a fault was found */
    EXIT_USAGE = 2, /* the command line cannot be followed */
};

enum option_kind {
    OPTION_OWN,    /* `take` sees to it */
    OPTION_TEXT,   /* const char *; not "-" for a file or a folder */
    OPTION_STREAM, /* const char *: a file, or "-" */
    OPTION_FLAG,   /* bool: set to true */
    OPTION_NUMBER, /* whole numbers and bytes any unsigned type, others double; as `number` says */
    OPTION_WORD,   /* an enum or int: which of `words`, from 0 */
    OPTION_LIST,   /* struct word_list: appended; may be repeated */
    OPTION_PLUGIN, /* struct catalog: loaded into it; may be repeated */
    OPTION_PROGRESS,
    OPTION_WIDE,
};

/* Words of the command line, which live as long as it. */
struct word_list {
    const char **items;
    size_t count;
};

struct option_row {
    struct argp_option option; /* key 0: it has no letter */
    enum option_kind kind;
    size_t at; /* the place of its value, from the beginning of the arguments */
    size_t bytes;
    struct tl_number_form number;
    const char *words; /* divided by |; NULL: as the help names the value */
    bool repeats;      /* OPTION_OWN: may be given more than once */
    void (*take)(void *arguments, const struct option_row *row, const char *text,
                 struct argp_state *state);
};

/* An option's name, its letter or 0, the name of its value or NULL, and its text in the help. */
#define OPTION(name, letter, value, text)                                                          \
    {                                                                                              \
        name, letter, value, 0, text, 0                                                            \
    }

/* The place of a row's value. */
#define OPTION_AT(type, member) .at = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

#define OPTION_WHOLE(least, greatest)                                                              \
    .kind = OPTION_NUMBER, .number = {.kind = TL_NUMBER_WHOLE, .from = (least), .to = (greatest)}
#define OPTION_BYTES .kind = OPTION_NUMBER, .number = {.kind = TL_NUMBER_BYTES}
#define OPTION_REAL(smallest, largest)                                                             \
    .kind = OPTION_NUMBER,                                                                         \
    .number = {.kind = TL_NUMBER_REAL, .least = (smallest), .most = (largest)}
#define OPTION_PERCENT(smallest, largest)                                                          \
    .kind = OPTION_NUMBER,                                                                         \
    .number = {.kind = TL_NUMBER_PERCENT, .least = (smallest), .most = (largest)}
#define OPTION_TIME(bare_unit_ns, shortest, longest)                                               \
    .kind = OPTION_NUMBER,                                                                         \
    .number = {                                                                                    \
        .kind = TL_NUMBER_TIME, .unit_ns = (bare_unit_ns), .least = (shortest), .most = (longest)}
#define OPTION_SECONDS(shortest, longest) OPTION_TIME(1e9, shortest, longest)

#define OPTION_ROW_END                                                                             \
    {                                                                                              \
        .option = { 0 }                                                                            \
    }

/* What several commands have alike. `type` is that of their arguments. */
#define OPTION_ROW_PROGRESS                                                                        \
    {                                                                                              \
        OPTION("progress", 0, NULL, "Show progress even where there is no terminal"),              \
            .kind = OPTION_PROGRESS                                                                \
    }
#define OPTION_ROW_WIDE                                                                            \
    {                                                                                              \
        OPTION("wide", 0, NULL,                                                                    \
               "Print the tables with all columns, whatever the width of the terminal"),           \
            .kind = OPTION_WIDE                                                                    \
    }
#define OPTION_ROWS_FORMAT(type, formats)                                                          \
    {OPTION("format", 0, formats, "Output format (table)"), OPTION_WORD, OPTION_AT(type, format)}, \
        OPTION_ROW_WIDE
#define OPTION_ROW_TIMEOUT(type, member, text)                                                     \
    {                                                                                              \
        OPTION("timeout", 0, "SECONDS", text), OPTION_SECONDS(0.01, 1e6), OPTION_AT(type, member)  \
    }
#define OPTION_ROW_PLUGIN(type, text)                                                              \
    {                                                                                              \
        OPTION("plugin", 0, "FILE[,NAME]", text), OPTION_PLUGIN,                                   \
            OPTION_AT(type, structures.catalog)                                                    \
    }
#define OPTION_PLUGIN_TEXT "Also know the structure in this shared object"
#define OPTION_ROW_STRUCTURES(type, value, text)                                                   \
    {                                                                                              \
        OPTION("algorithm", 'a', value, text), OPTION_LIST, OPTION_AT(type, structures.selections) \
    }

/* Prints "<program>: <error>" on standard error. */
void command_complain(const struct error *error);

/* Likewise; returns EXIT_FAULT. */
int command_fail(const struct error *error);

struct command_line {
    const struct option_row *options; /* a row without name and text ends them */
    const char *form;                 /* text next to the options in the help */
    const char *text;
    unsigned flags; /* argp_parse's */

    /* Where words go that are no options: OPTION_STREAM takes one word, OPTION_LIST all further
     * ones. Without any, and without `take_word`, no word is accepted. */
    struct option_row places[3];
    const char *needed; /* the complaint if there is no word; NULL: it may be omitted */
    const char *excess; /* the complaint about a word without a place; %s in it is that word */

    /* Take a word instead. */
    void (*take_word)(void *arguments, const char *word, struct argp_state *state);

    /* Sees whether all that was given goes together. May be NULL. */
    void (*complete)(void *arguments, struct argp_state *state);
};

/* Reads a command line into `arguments`; one that is wrong ends the program. */
void command_line_read(const struct command_line *line, int argc, char **argv, void *arguments);

/* Appends `text`, which has to live as long as the list. The caller frees list->items. */
void word_list_append(struct word_list *list, const char *text);

/* For `take`: reads a list of whole numbers, as row->number says, and returns how many ranges. */
size_t option_ranges(const struct option_row *row, const char *text, struct tl_range *ranges,
                     struct argp_state *state);

/* The structures that a command works with: known, asked for with -a, and found. */
struct command_structures {
    struct catalog catalog;
    struct word_list selections;
    struct contender_list contenders;
};

/* Select the structures of -a, with catalog_select or a similar function. If there are none, `how`
 * explains the choice. */
typedef bool (*structure_select)(struct catalog *catalog, const char *text,
                                 struct contender_list *list, struct error *error);
void command_structures_find(struct command_structures *structures, structure_select select,
                             const char *how, struct argp_state *state);

/* `how`, for most. */
#define ALL_OR_NAMES "-a all, or -a NAME,...; `timerlab list` shows them"

/* A command about structures, from its command line to its exit status: `structures` is part of
 * `arguments`, and NULL but for them. */
int command_structures_run(const struct command_line *line, int argc, char **argv, void *arguments,
                           struct command_structures *structures,
                           int (*run)(void *arguments, int argc, char **argv));

#endif
