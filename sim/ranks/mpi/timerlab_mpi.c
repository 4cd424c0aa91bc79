/* timerlab-mpi: `timerlab sim` on the ranks of an MPI job, each with its partition of the timers.
 * Only this file knows of MPI. */
#include "child.h"
#include "command.h"
#include "memory.h"
#include "rank_group.h"
#include "standard_files.h"
#include "supervisor.h"

#include <argp.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "timerlab-mpi"

const char *argp_program_version = PROGRAM " " TL_VERSION;

/* --- messages between ranks ------------------------------------------------------------------- */

#define MOMENT_NS     500000
#define LEAVE_MOMENTS 20000u /* ten seconds */

/* MPI waits by polling, which occupies a processor that another rank's replay may need. So long
 * waits poll now and then here. */
static void doze(void)
{
    static const struct timespec a_moment = {.tv_nsec = MOMENT_NS};
    (void)nanosleep(&a_moment, NULL);
}

static bool judge_mpi(int code, const char *what, uint32_t rank, struct error *error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) {
        return true;
    }
    (void)MPI_Error_string(code, text, &length);
    return error_set(error, "%s rank %" PRIu32 ": %.*s", what, rank, length, text);
}

static bool send_bytes(void *ctx, uint32_t to, const void *data, size_t bytes, struct error *error)
{
    (void)ctx;
    MPI_Request request;
    int sent = 0;
    int code = MPI_Isend(data, (int)bytes, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD, &request);
    while (code == MPI_SUCCESS &&
           (code = MPI_Test(&request, &sent, MPI_STATUS_IGNORE)) == MPI_SUCCESS && !sent) {
        doze();
    }
    return judge_mpi(code, "sending to", to, error);
}

static bool receive_bytes(void *ctx, uint32_t from, void *data, size_t bytes, struct error *error)
{
    (void)ctx;
    int there = 0;
    int code;
    while ((code = MPI_Iprobe((int)from, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE)) ==
               MPI_SUCCESS &&
           !there) {
        doze();
    }
    if (code == MPI_SUCCESS) {
        code =
            MPI_Recv(data, (int)bytes, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return judge_mpi(code, "receiving from", from, error);
}

/* Errors are reported once. */
static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)close(nowhere);
    }
}

/* Shared with the supervisor, which outlives the process that joins. */
struct attendance {
    bool joined;
    bool left;
    uint32_t rank;
    uint32_t ranks;
};

static void join(struct rank_post *post)
{
    int rank = 0;
    int ranks = 1;
    /* Open MPI would have ranks of one machine read each other's memory, which
     * containers forbid. */
    (void)setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
    (void)MPI_Init(NULL, NULL);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    post->rank = (uint32_t)rank;
    post->ranks = (uint32_t)ranks;
    *(struct attendance *)post->ctx =
        (struct attendance){.joined = true, .rank = post->rank, .ranks = post->ranks};
    if (rank > 0) {
        be_silent();
    }
}

static void leave(void *ctx, int status)
{
    struct attendance *attendance = ctx;
    attendance->left = true;
    MPI_Request request;
    int all = 0;
    int code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (unsigned waited = 0; code == MPI_SUCCESS && !all && waited < LEAVE_MOMENTS; waited++) {
        code = MPI_Test(&request, &all, MPI_STATUS_IGNORE);
        if (!all) {
            doze();
        }
    }
    if (all) {
        (void)MPI_Finalize();
    } else {
        (void)MPI_Abort(MPI_COMM_WORLD, status != 0 ? status : 1);
    }
}

/* Joins the job which mpirun has started; without one, a job of one rank. Leaves when all ranks
 * want to; if some do not for a few seconds, because they wait for this one, ends the whole job. */
static struct rank_post post = {
    .join = join, .leave = leave, .send = send_bytes, .receive = receive_bytes};

/* --- the program ------------------------------------------------------------------------------ */

/* In the supervisor, after the end of the process that joined, with `status` as of waitpid: if it
 * ended without leaving, as one that was killed does, print which rank it was, and what helps. */
static int ended(void *ctx, int status)
{
    (void)ctx;
    const struct attendance *attendance = post.ctx;
    if (!attendance->joined || attendance->left || attendance->ranks <= 1) {
        return -1;
    }
    char host[64] = "";
    char how[128] = "ended early";
    (void)gethostname(host, sizeof host - 1);
    if (WIFSIGNALED(status)) {
        child_signal_text(WTERMSIG(status), how, sizeof how);
    }
    (void)fprintf(stderr,
                  PROGRAM
                  ": rank %" PRIu32 " of %" PRIu32 " on %s: %s: the job ends, and no results are "
                  "written. If memory ran out, take more ranks or machines, or fewer timers; the "
                  "same partitions in one process, by which a crash is found: timerlab sim "
                  "--ranks-in-turn %" PRIu32 "\n",
                  attendance->rank, attendance->ranks, host, how, attendance->ranks);
    return EXIT_FAULT;
}

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

int main(int argc, char **argv)
{
    struct words words = {argc, argv};
    standard_files_fill();
    post.ctx = child_memory_new(sizeof(struct attendance));
    return supervisor_run(run_rank, ended, &words);
}
