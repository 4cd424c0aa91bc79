/* timerlab-mpi: `timerlab sim` on the ranks of an MPI job, each with its share of the timers. */
#include "command.h"
#include "memory.h"
#include "mpi_post.h"
#include "standard_files.h"

#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "timerlab-mpi"

const char *argp_program_version = PROGRAM " " TL_VERSION;

static int sim(int argc, char **argv)
{
    struct crew_post post = mpi_post();
    int status = command_sim_by(&post, argc, argv);
    mpi_post_end(&post, PROGRAM, status == EXIT_FAULT);
    return status;
}

static const struct command commands[] = {
    {"sim", "replays traces, or generated traffic, in shares: one for each rank", sim},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    static char program[] = PROGRAM;
    standard_files_fill();
    json_set_alloc_funcs(memory_bytes, free);
    (void)on_exit(standard_files_check, program);
    argp_err_exit_status = EXIT_USAGE;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)puts(argp_program_version);
        return EXIT_OK;
    }
    return command_dispatch(program, commands, argc, argv);
}
