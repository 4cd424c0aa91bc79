/* timerlab: the command. */
#include "command.h"
#include "memory.h"
#include "standard_files.h"
#include "supervisor.h"

#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "timerlab " TL_VERSION;

static const struct command cluster_commands[] = {
    {"check", "Explore everything that can happen to two timers of a protocol",
     command_cluster_check, NULL},
    {"sim", "Simulate protocols with faults: lateness, repeats, losses, cost", command_cluster_sim,
     NULL},
    {"run", "Run a protocol on Redis or PostgreSQL and kill its processes", command_cluster_run,
     NULL},
    {0},
};

static const struct command commands[] = {
    {"list", "List the structures: capabilities, cost, bytes per timer", command_list, NULL},
    {"describe", "Explain a structure: origin, algorithm, promises, options", command_describe,
     NULL},
    {"show", "Show the inside of a structure, step by step, as text or pictures", command_show,
     NULL},
    {"record", "Run a program and record its timers", command_record, NULL},
    {"trace", "Generate, import, enlarge, show and validate traces", NULL, trace_commands},
    {"sim", "Replay traces through structures: faults, speed, memory, lateness", command_sim, NULL},
    {"sweep", "Measure all combinations of structures, options and parameters", command_sweep,
     NULL},
    {"compare", "Compare results: faster, slower, or no significant difference", command_compare,
     NULL},
    {"tune", "Find the structure and its options for a trace", command_tune, NULL},
    {"export", "Write a structure as C files for your own server", command_export, NULL},
    {"predict", "Compare the expiries in a recording with those of structures", command_predict,
     NULL},
    {"live", "Drive structures by the real clock: lateness, wakeups, CPU use", command_live, NULL},
    {"threads", "Measure structures with front ends under many threads", command_threads, NULL},
    {"cluster", "Check, simulate and run protocols for timers of many machines", NULL,
     cluster_commands},
    {"new", "Write the beginning of your own structure, as a plug-in", command_new, NULL},
    {"check", "Test structures by the contract: cases, then random operations", command_check,
     NULL},
    {"report", "Write results as a page: the answer, tables and pictures", command_report, NULL},
    {0},
};

struct words {
    int count;
    char **texts;
};

static int run_command(void *ctx)
{
    static char program[] = "timerlab";
    json_set_alloc_funcs(memory_bytes, free);
    const struct words *words = ctx;
    (void)on_exit(standard_files_check, program);
    argp_err_exit_status = EXIT_USAGE;
    const char *only = words->count == 2 ? words->texts[1] : "";
    if (strcmp(only, "--version") == 0 || strcmp(only, "-V") == 0) {
        (void)puts(argp_program_version);
        return EXIT_OK;
    }
    return command_dispatch(program, commands, words->count, words->texts);
}

int main(int argc, char **argv)
{
    struct words words = {argc, argv};
    standard_files_fill();
    return supervisor_run(run_command, NULL, &words);
}
