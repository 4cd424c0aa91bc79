/* timerlab-mpi: `timerlab sim` on the ranks of an MPI job, each with its partition of the timers. */
#include "command.h"
#include "memory.h"
#include "mpi_post.h"
#include "standard_files.h"
#include "supervisor.h"

#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "timerlab-mpi"

const char *argp_program_version = PROGRAM " " TL_VERSION;

static struct rank_post post;

static int sim(int argc, char **argv)
{
    return command_sim_by(&post, argc, argv);
}

static const struct command commands[] = {
    {"sim", "replays traces, or generated traffic, in partitions: one for each rank", sim, NULL},
    {0},
};

struct words {
    int count;
    char **texts;
};

static int run_rank(void *ctx)
{
    static char program[] = PROGRAM;
    json_set_alloc_funcs(memory_bytes, free);
    const struct words *words = ctx;
    (void)on_exit(standard_files_check, program);
    argp_err_exit_status = EXIT_USAGE;
    if (words->count == 2 && strcmp(words->texts[1], "--version") == 0) {
        (void)puts(argp_program_version);
        return EXIT_OK;
    }
    return command_dispatch(program, commands, words->count, words->texts);
}

static int ended(void *ctx, int status)
{
    (void)ctx;
    return mpi_post_end(&post, PROGRAM, status) ? EXIT_FAULT : -1;
}

int main(int argc, char **argv)
{
    struct words words = {argc, argv};
    standard_files_fill();
    post = mpi_post();
    return supervisor_run(run_rank, ended, &words);
}
