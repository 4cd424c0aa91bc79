/* timerlab record: run a program and record its timer calls. */
#include "command.h"
#include "command_option.h"
#include "error.h"
#include "near_program.h"
#include "outfile.h"
#include "standard_files.h"
#include "supervisor.h"
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

/* The first word is the command, all following ones are its arguments. */
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

/* The recorded processes map the file that becomes the output. */
struct recording {
    struct outfile file;
    struct timer_record_header *header;
};

/* Room for the header and the first records is made before any of it is mapped. */
static bool recording_open(struct recording *recording, const char *output, struct error *error)
{
    size_t bytes = TIMER_RECORD_HEADER_BYTES + TIMER_RECORD_STEP * sizeof(struct timer_record);
    if (!outfile_open(&recording->file, output, error)) {
        return false;
    }
    int file = fileno(recording->file.stream);
    int why = posix_fallocate(file, 0, (off_t)bytes);
    if (why != 0) {
        return error_set(error,
                         "%s: could not be written: %s; a recording needs at least %zu bytes there",
                         output, strerror(why), bytes);
    }
    void *map = mmap(NULL, TIMER_RECORD_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) {
        return error_set(error, "%s: cannot be mapped: %s", output, strerror(errno));
    }
    recording->header = map;
    memcpy(recording->header->magic, TIMER_RECORD_MAGIC, TIMER_RECORD_MAGIC_BYTES);
    recording->header->version = TIMER_RECORD_VERSION;
    recording->header->record_bytes = sizeof(struct timer_record);
    recording->header->room = TIMER_RECORD_STEP;
    return true;
}

/* --- the program ------------------------------------------------------------------------------ */

static volatile sig_atomic_t child;
static volatile sig_atomic_t interrupted;

/* The first signal is for the program. After the second, remaining processes of it are not waited
 * for. */
static void pass_on(int signal)
{
    interrupted++;
    if (child > 0) {
        (void)kill((pid_t)child, signal);
    }
}

static void run_child(char **command, const char *recorder, const char *recording)
{
    const char *others = getenv("LD_PRELOAD");
    char preload[2 * PATH_MAX];
    (void)snprintf(preload, sizeof preload, "%s%s%s", recorder, others != NULL ? ":" : "",
                   others != NULL ? others : "");
    (void)setenv("LD_PRELOAD", preload, 1);
    (void)setenv(TIMER_RECORD_ENVIRONMENT, recording, 1);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)execvp(command[0], command);
    standard_files_tell("timerlab: %s: cannot be run: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* Runs the program, and waits for it and for all that it leaves running. */
static bool run_recorded(char **command, const char *recorder, const char *recording, int *status,
                         struct error *error)
{
    /* Daemons become our children when their parents end. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    supervisor_let_go();
    struct sigaction action = {.sa_handler = pass_on};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    pid_t pid = fork();
    if (pid < 0) {
        return error_set(error, "%s: cannot be run: %s", command[0], strerror(errno));
    }
    if (pid == 0) {
        run_child(command, recorder, recording);
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

/* Puts the recording into its place. If that fails, it stays under another name. */
static bool save(struct recording *recording, uint64_t *count, struct error *error)
{
    char spare[PATH_MAX];
    char folder[PATH_MAX];
    struct timer_record_header *header = recording->header;
    atomic_store(&header->closed, 1);
    uint64_t claimed = atomic_load(&header->claimed);
    uint64_t room = atomic_load(&header->room);
    *count = claimed < room ? claimed : room;
    if (waitpid(-1, NULL, WNOHANG) < 0) { /* no process has it mapped any more */
        (void)ftruncate(fileno(recording->file.stream),
                        (off_t)(TIMER_RECORD_HEADER_BYTES + *count * sizeof(struct timer_record)));
    }
    (void)snprintf(folder, sizeof folder, "%s", recording->file.path);
    bool kept = snprintf(spare, sizeof spare, "%s/timerlab-recording-%d", dirname(folder),
                         (int)getpid()) < (int)sizeof spare &&
                link(recording->file.temporary.file, spare) == 0;
    bool saved = outfile_commit(&recording->file, error);
    if (saved && kept) {
        (void)unlink(spare);
    } else if (kept) {
        standard_files_tell(
            "timerlab: the recording is kept in %s, for `timerlab trace import process`\n", spare);
    }
    return saved;
}

static enum exit_status conclude(const struct record_arguments *arguments,
                                 struct recording *recording, int status, struct error *error)
{
    uint64_t count;
    const char *name = arguments->command[0];
    bool ran = !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    if (!ran || atomic_load(&recording->header->claimed) == 0) {
        if (ran) {
            (void)fprintf(
                stderr,
                "timerlab: %s started no timer of libevent, libev, libuv or an export with "
                "--prefix timers; it must link one of them dynamically (ldd shows it)\n",
                name);
        }
        return EXIT_FAULT;
    }
    if (!save(recording, &count, error)) {
        command_complain(error);
        return EXIT_FAULT;
    }
    uint64_t lost = atomic_load(&recording->header->claimed) - count;
    standard_files_tell("%s: %" PRIu64 " records", arguments->output, count);
    if (lost > 0) {
        (void)fprintf(stderr, "; %" PRIu64 " or more were lost: %s", lost,
                      strerror(atomic_load(&recording->header->failed)));
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
        {OPTION("output", 'o', "FILE", "Where the recording goes"), OPTION_TEXT,
         OPTION_AT(struct record_arguments, output)},
        OPTION_ROW_END,
    };
    static const struct command_line syntax = {
        .options = options,
        .form = "-o FILE [--] COMMAND [ARGUMENT...]",
        .text = "Runs COMMAND and records the timers that it starts and stops with libevent, libev "
                "or libuv, or those that `timerlab export --prefix timers` wrote.\vThe program "
                "must link one of these dynamically. Processes that it forks are recorded too. "
                "Recording ends when all of them have ended; SIGINT, SIGTERM and SIGHUP are "
                "passed on to the program. `timerlab trace import process FILE` makes a trace of "
                "the recording.",
        .flags = ARGP_IN_ORDER,
        .take_word = take_command,
        .complete = complete,
    };
    struct record_arguments arguments = {0};
    command_line_read(&syntax, argc, argv, &arguments);
    struct error error = {0};
    static const char *const places[] = {"sim", TL_RECORDER_INSTALLED};
    char recorder[PATH_MAX];
    char path[PATH_MAX];
    struct recording recording = {0};
    int status = 0;
    enum exit_status result = EXIT_FAULT;
    if (near_program_find(places, "timerlab-recorder.so", recorder, &error) &&
        recording_open(&recording, arguments.output, &error) &&
        (realpath(recording.file.temporary.file, path) != NULL ||
         error_set(&error, "%s: %s", arguments.output, strerror(errno))) &&
        run_recorded(arguments.command, recorder, path, &status, &error)) {
        result = conclude(&arguments, &recording, status, &error);
    } else {
        command_complain(&error);
    }
    outfile_abort(&recording.file);
    return (int)result;
}
