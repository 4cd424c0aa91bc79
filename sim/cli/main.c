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
    {"check", "a protocol through all that can happen, in a small instance", command_cluster_check,
     NULL},
    {"sim", "protocols as discrete events: lateness, duplicates, losses, cost", command_cluster_sim,
     NULL},
    {"run", "a protocol by processes on a real engine, all of which are killed",
     command_cluster_run, NULL},
    {0},
};

static const struct command commands[] = {
    {"list", "the structures: capabilities, cost, bytes per timer", command_list, NULL},
    {"describe", "one structure: origin, how it works, options", command_describe, NULL},
    {"show", "a structure's inside, step by step, as text and drawn", command_show, NULL},
    {"record", "runs a program and records its own timers", command_record, NULL},
    {"trace", "traces: generate, import, show, check", NULL, trace_commands},
    {"sim", "replays traces through structures: right, how fast, at what cost", command_sim, NULL},
    {"sweep", "structures times options times workload knobs, as one table", command_sweep, NULL},
    {"compare", "differences of results: faster, slower, or cannot tell", command_compare, NULL},
    {"tune", "which structure, with which options, for a trace", command_tune, NULL},
    {"export", "a structure as C files for your own server", command_export, NULL},
    {"predict", "a recording's own expiries compared with those of structures", command_predict,
     NULL},
    {"live", "drives structures by the real clock: lateness, wakeups, processor time", command_live,
     NULL},
    {"threads", "structures with front ends, under many threads", command_threads, NULL},
    {"cluster", "timers that many machines share: protocols checked, simulated, and run for real",
     NULL, cluster_commands},
    {"new", "writes a starter for a structure of your own, as a plug-in", command_new, NULL},
    {"check", "holds structures to the contract: cases, then fuzzing against a model",
     command_check, NULL},
    {"report", "results as a page: who won on what, at what cost, with tables and pictures",
     command_report, NULL},
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
