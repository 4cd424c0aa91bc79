/* timerlab record: runs a program and writes down what it asks of its timers. */
#include "command.h"
#include "command_option.h"
#include "error.h"
#include "near_program.h"
#include "outfile.h"
#include "standard_files.h"
#include "supervisor.h"
#include "temporary_file.h"
#include "timer_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct record_arguments {
    const char *output;
    char **command; /* ended by NULL */
};

/* The first word is the command, and all behind it the command's. */
static void take_command(void *at, const char *word, struct argp_state *state)
{
    struct record_arguments *arguments = at;
    (void)word;
    arguments->command = &state->argv[state->next - 1];
    state->next = state->argc;
}

static void complete(void *at, struct argp_state *state)
{
    const struct record_arguments *arguments = at;
    if (arguments->command == NULL) {
        argp_error(state, "COMMAND is needed: the program to run");
    } else if (arguments->output == NULL) {
        argp_error(state, "-o FILE is needed: where the recording is to be written");
    }
}

/* The file that is recorded into, and copied to the output in the end: processes that outlive the
 * recording have it mapped. */
struct workspace {
    struct temporary temporary;
    int file;
    struct timer_record_header *header;
};

/* Room for the header and the first records is made before any of it is mapped. */
static bool workspace_open(struct workspace *workspace, const char *output, struct error *error)
{
    size_t bytes = TIMER_RECORD_HEADER_BYTES + TIMER_RECORD_STEP * sizeof(struct timer_record);
    char folder[PATH_MAX];
    char absolute[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", output);
    if (realpath(dirname(folder), absolute) == NULL ||
        !temporary_make_in(&workspace->temporary, absolute)) {
        return error_set(error, "%s: cannot be written: %s", output, strerror(errno));
    }
    workspace->file = open(workspace->temporary.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int why = workspace->file >= 0 ? posix_fallocate(workspace->file, 0, (off_t)bytes) : errno;
    if (why != 0) {
        return error_set(error,
                         "%s: could not be written: %s; a recording needs at least %zu bytes there",
                         output, strerror(why), bytes);
    }
    void *map = mmap(NULL, TIMER_RECORD_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                     workspace->file, 0);
    if (map == MAP_FAILED) {
        return error_set(error, "%s: cannot be mapped: %s", output, strerror(errno));
    }
    workspace->header = map;
    memcpy(workspace->header->magic, TIMER_RECORD_MAGIC, TIMER_RECORD_MAGIC_BYTES);
    workspace->header->version = TIMER_RECORD_VERSION;
    workspace->header->record_bytes = sizeof(struct timer_record);
    workspace->header->room = TIMER_RECORD_STEP;
    return true;
}

static void workspace_close(struct workspace *workspace)
{
    if (workspace->header != NULL) {
        (void)munmap(workspace->header, TIMER_RECORD_HEADER_BYTES);
    }
    temporary_remove(&workspace->temporary);
    if (workspace->file >= 0) {
        (void)close(workspace->file);
    }
}

/* --- the program ------------------------------------------------------------------------------ */

static volatile sig_atomic_t child;
static volatile sig_atomic_t interrupted;

/* The first signal is for the program; with the second, those that it left behind are not waited
 * for. */
static void pass_on(int signal)
{
    interrupted++;
    if (child > 0) {
        (void)kill((pid_t)child, signal);
    }
}

static void run_child(char **command, const char *recorder, const char *workspace)
{
    const char *others = getenv("LD_PRELOAD");
    char preload[2 * PATH_MAX];
    (void)snprintf(preload, sizeof preload, "%s%s%s", recorder, others != NULL ? ":" : "",
                   others != NULL ? others : "");
    (void)setenv("LD_PRELOAD", preload, 1);
    (void)setenv(TIMER_RECORD_ENVIRONMENT, workspace, 1);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)execvp(command[0], command);
    standard_files_tell("timerlab: %s: cannot be run: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* Runs the program, and waits for it and for all that it leaves running. */
static bool run(char **command, const char *recorder, const char *workspace, int *status,
                struct error *error)
{
    /* Daemons become our children when their parents end. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    supervisor_let_go();
    struct sigaction action = {.sa_handler = pass_on};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    pid_t pid = fork();
    if (pid < 0) {
        return error_set(error, "%s: cannot be run: %s", command[0], strerror(errno));
    }
    if (pid == 0) {
        run_child(command, recorder, workspace);
    }
    child = pid;
    for (;;) {
        int ended;
        pid_t which = waitpid(-1, &ended, 0);
        if (which == pid) {
            *status = ended;
            child = 0;
        } else if (which < 0 && (errno != EINTR || (interrupted > 0 && child == 0))) {
            return true;
        }
    }
}

/* Copies what was recorded to where it is wanted. */
static bool save(struct workspace *workspace, const char *output, uint64_t *count,
                 struct error *error)
{
    struct timer_record_header *header = workspace->header;
    atomic_store(&header->closed, 1);
    uint64_t claimed = atomic_load(&header->claimed);
    uint64_t room = atomic_load(&header->room);
    *count = claimed < room ? claimed : room;
    struct outfile file;
    if (!outfile_open(&file, output, error)) {
        return false;
    }
    uint64_t left = TIMER_RECORD_HEADER_BYTES + *count * sizeof(struct timer_record);
    char buffer[1 << 16];
    off_t at = 0;
    while (left > 0) {
        ssize_t n = pread(workspace->file, buffer, left < sizeof buffer ? left : sizeof buffer, at);
        if (n <= 0 || fwrite(buffer, 1, (size_t)n, file.stream) != (size_t)n) {
            (void)outfile_fail(output, errno, OUTFILE_NOTHING_LEFT, error);
            outfile_abort(&file);
            return false;
        }
        at += n;
        left -= (uint64_t)n;
    }
    return outfile_commit(&file, error);
}

/* Gives what could not be saved a name under which it stays. */
static void keep(const struct workspace *workspace)
{
    char path[PATH_MAX];
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", workspace->temporary.folder);
    if (snprintf(path, sizeof path, "%s/timerlab-recording-%d", dirname(folder), (int)getpid()) <
            (int)sizeof path &&
        rename(workspace->temporary.file, path) == 0) {
        standard_files_tell(
            "timerlab: the recording is kept in %s, for `timerlab trace import process`\n", path);
    }
}

static enum exit_status conclude(const struct record_arguments *arguments,
                                 struct workspace *workspace, int status, struct error *error)
{
    uint64_t count;
    const char *name = arguments->command[0];
    bool ran = !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    if (!ran || atomic_load(&workspace->header->claimed) == 0) {
        if (ran) {
            (void)fprintf(
                stderr,
                "timerlab: %s started no timer of libevent, libev or libuv, or exported with "
                "--prefix timers; it must link one of them dynamically (ldd shows it)\n",
                name);
        }
        return EXIT_FAULT;
    }
    if (!save(workspace, arguments->output, &count, error)) {
        command_complain(error);
        keep(workspace);
        return EXIT_FAULT;
    }
    uint64_t lost = atomic_load(&workspace->header->claimed) - count;
    standard_files_tell("%s: %" PRIu64 " records", arguments->output, count);
    if (lost > 0) {
        (void)fprintf(stderr, "; %" PRIu64 " or more were lost: %s", lost,
                      strerror(atomic_load(&workspace->header->failed)));
    }
    (void)fputc('\n', stderr);
    bool by_itself = interrupted == 0 && WIFEXITED(status) && WEXITSTATUS(status) != 0;
    bool crashed = interrupted == 0 && WIFSIGNALED(status);
    if (by_itself || crashed) {
        standard_files_tell("timerlab: %s ended with %s %d\n", name,
                            crashed ? "signal" : "exit status",
                            crashed ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return by_itself || crashed || lost > 0 ? EXIT_FAULT : EXIT_OK;
}

int command_record(int argc, char **argv)
{
    static const struct option_row options[] = {
        {{"output", 'o', "FILE", 0, "the recording to write", 0},
         OPTION_TEXT,
         OPTION_AT(struct record_arguments, output)},
        OPTION_ROW_END,
    };
    static const struct command_line syntax = {
        .options = options,
        .form = "-o FILE [--] COMMAND [ARGUMENT...]",
        .text =
            "Runs COMMAND and records the timers that it starts and stops with libevent, libev "
            "or libuv, or those that `timerlab export --prefix timers` wrote.\vThe program must "
            "link one of these dynamically. Processes "
            "that it forks are recorded too. Recording ends when all of them have ended; "
            "SIGINT and SIGTERM are passed on to the program. `timerlab trace import process "
            "FILE` makes a trace of the recording.",
        .flags = ARGP_IN_ORDER,
        .take_word = take_command,
        .complete = complete,
    };
    struct record_arguments arguments = {0};
    if (!command_line_read(&syntax, argc, argv, &arguments)) {
        return EXIT_USAGE;
    }
    struct error error = {0};
    static const char *const places[] = {"sim", TL_RECORDER_INSTALLED};
    char recorder[PATH_MAX];
    struct workspace workspace = {.file = -1};
    int status = 0;
    enum exit_status result = EXIT_FAULT;
    if (near_program_find(places, "timerlab-recorder.so", recorder, &error) &&
        outfile_check(arguments.output, &error) &&
        workspace_open(&workspace, arguments.output, &error) &&
        run(arguments.command, recorder, workspace.temporary.file, &status, &error)) {
        result = conclude(&arguments, &workspace, status, &error);
    } else {
        command_complain(&error);
    }
    workspace_close(&workspace);
    return (int)result;
}
