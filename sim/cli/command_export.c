/* timerlab export: a structure as C files for one's own server. */
#include "command.h"
#include "command_option.h"
#include "export.h"

#include <stdio.h>

struct export_arguments {
    const char *name;
    struct export_request request;
};

static void take_name(void *at, const char *word, struct argp_state *state)
{
    struct export_arguments *arguments = at;
    if (arguments->name != NULL) {
        argp_error(state, "one structure at a time");
    }
    arguments->name = word;
}

static void complete(void *at, struct argp_state *state)
{
    const struct export_arguments *arguments = at;
    if (arguments->name == NULL) {
        argp_error(state, "which structure? As in `timerlab export hier-wheel -o timers`");
    } else if (arguments->request.prefix != NULL &&
               !export_prefix_is_good(arguments->request.prefix)) {
        argp_error(state,
                   "--prefix %s: names in C begin with a small letter, and go on with letters, "
                   "digits and underscores; not tl, which is timerlab's",
                   arguments->request.prefix);
    } else if (arguments->request.nodes && !arguments->request.intrusive) {
        argp_error(state, "--nodes says how they lie in structs of yours: add --intrusive");
    }
}

static const struct option_row options[] = {
    {{"output", 'o', "DIR", 0, "Folder for the files (.); made if it is missing", 0},
     OPTION_TEXT,
     OPTION_AT(struct export_arguments, request.folder)},
    {{"prefix", 'p', "NAME", 0,
      "Prefix of all public names and of the files (the structure's name, with underscores)", 0},
     OPTION_TEXT,
     OPTION_AT(struct export_arguments, request.prefix)},
    {{"intrusive", 'i', NULL, 0,
      "Store the data of each timer in a member of your own struct, of which you have an array", 0},
     OPTION_FLAG,
     OPTION_AT(struct export_arguments, request.intrusive)},
    {{"nodes", 'n', NULL, 0,
      "Also write NAME_nodes.h, with which your structs need no array: each stays where it was "
      "allocated, and that member names its timer; with --intrusive",
      0},
     OPTION_FLAG,
     OPTION_AT(struct export_arguments, request.nodes)},
    {{"cpp", 'c', NULL, 0, "Also NAME.hpp, a class around it for C++17", 0},
     OPTION_FLAG,
     OPTION_AT(struct export_arguments, request.cpp)},
    {{"plugin", 'P', NULL, 0,
      "Also NAME_plugin.c, with which the files are a plug-in, to be checked and timed again", 0},
     OPTION_FLAG,
     OPTION_AT(struct export_arguments, request.plugin)},
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "NAME[:opt=v[:opt=v]]",
    .text =
        "Writes a structure as PREFIX.h and PREFIX.c, which need nothing of timerlab: the lines "
        "that are measured, with these options as constants. Compile PREFIX.c as C17 with your "
        "server; PREFIX.h is for C and C++. durable(NAME) and kv-wheel are written as a folder of "
        "their sources, with PREFIX.h, PREFIX.c and example.c, a loop to begin with.\vOther front "
        "ends, plug-ins and other people's libraries are refused.\nExit status: 0 written, 1 not "
        "written, 2 "
        "usage. Files of these names are replaced.",
    .take_word = take_name,
    .complete = complete,
};

int command_export(int argc, char **argv)
{
    struct export_arguments arguments = {.request = {.folder = "."}};
    struct export_request *request = &arguments.request;
    struct catalog catalog = {0};
    struct contender_list list = {0};
    struct error error;
    char command[512];
    int status = EXIT_USAGE;
    command_line_read(&syntax, argc, argv, &arguments);
    catalog_init(&catalog);
    bool found = catalog_select(&catalog, arguments.name, &list, &error);
    if (found && list.count != 1) {
        found = error_set(&error, "'%s': one structure at a time", arguments.name);
    }
    if (found) {
        request->contender = &list.items[0];
        (void)snprintf(command, sizeof command, "timerlab export %s%s%s%s", arguments.name,
                       request->prefix != NULL ? " --prefix " : "",
                       request->prefix != NULL ? request->prefix : "",
                       request->intrusive ? " --intrusive" : "");
        request->command = command;
        status = export_write(request, &error) ? EXIT_OK : EXIT_FAULT;
    }
    if (status != EXIT_OK) {
        command_complain(&error);
    }
    contender_list_free(&list);
    catalog_free(&catalog);
    return status;
}
