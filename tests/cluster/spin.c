#include "spin.h"

#include "outfile.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the model ------------------------------------------------------------------------------- */

/* A name as the C preprocessor wants it. */
static void write_name(const char *word, const char *suffix, FILE *stream)
{
    for (const char *c = word; *c != '\0'; c++) {
        (void)fputc(*c == '-' ? '_' : *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, stream);
    }
    (void)fputs(suffix, stream);
}

static void write_step(enum cluster_step step, FILE *stream)
{
    write_name(cluster_step_word(step), step == CLUSTER_LEASE ? "_STEP" : "", stream);
}

static void write_steps(const char *name, const enum cluster_step *steps, FILE *stream)
{
    int count = 0;
    for (; steps[count] != CLUSTER_END; count++) {
        (void)fprintf(stream, "#define %s_%d ", name, count);
        write_step(steps[count], stream);
        (void)fputc('\n', stream);
    }
    (void)fprintf(stream, "#define %sS %d\n", name, count);
}

static bool copy_file(const char *path, FILE *to)
{
    char line[512];
    FILE *from = fopen(path, "r");
    while (from != NULL && fgets(line, sizeof line, from) != NULL) {
        (void)fputs(line, to);
    }
    return from != NULL && fclose(from) == 0;
}

static bool spin_write_model(const struct cluster_protocol *protocol, FILE *stream)
{
    (void)fprintf(stream, "/* %s: %s. Written by tests/cluster/spin.c. */\n", protocol->name,
                  protocol->summary);
    for (int step = 0; step < CLUSTER_STEPS; step++) {
        (void)fputs("#define ", stream);
        write_step((enum cluster_step)step, stream);
        (void)fprintf(stream, " %d\n", step);
    }
    for (unsigned action = CLUSTER_STEPS; action < CHECK_ACTIONS; action++) {
        (void)fputs("#define ", stream);
        write_name(check_action_word(action), "", stream);
        (void)fprintf(stream, " %u\n", action);
    }
    write_steps("SCHEDULE", protocol->schedule, stream);
    write_steps("EXECUTE", protocol->execute, stream);
    (void)fprintf(stream, "#define LEASES %d\n#define SCANNED %d\n#define LATER_FOLLOWS %d\n",
                  cluster_protocol_leases(protocol), protocol->scanned,
                  cluster_protocol_does(protocol, CLUSTER_LATER));
    return copy_file(TL_SOURCE_DIR "/tests/cluster/cluster.pml", stream);
}

/* --- other programs -------------------------------------------------------------------------- */

/* Run a program in the model's folder; `output` gets its output. */
struct program {
    pid_t pid;
    FILE *output;
};

/* The settings of a search, for the model's environment. */
struct settings {
    char text[5][16];
    char *environment[64];
};

static void set_environment(struct settings *settings, const struct check_faults *faults)
{
    size_t count = 0;
    (void)snprintf(settings->text[0], 16, "CRASHES=%u", faults->crashes);
    (void)snprintf(settings->text[1], 16, "OUTRUNS=%u", faults->outruns);
    (void)snprintf(settings->text[2], 16, "LATE=%d", faults->late);
    (void)snprintf(settings->text[3], 16, "SCANS=%d", faults->scan);
    (void)snprintf(settings->text[4], 16, "LATERS=%u", faults->laters);
    for (; count < 5; count++) {
        settings->environment[count] = settings->text[count];
    }
    for (char **own = environ; *own != NULL && count < 63; own++) {
        settings->environment[count++] = *own;
    }
    settings->environment[count] = NULL;
}

/* Without a shell: the folder's name is data. */
static bool begin_program(const struct spin_model *model, const struct check_faults *faults,
                          char *const argv[], struct program *program)
{
    static const struct check_faults none;
    posix_spawn_file_actions_t actions;
    struct settings settings;
    int pipe[2];
    *program = (struct program){0};
    if (pipe2(pipe, O_CLOEXEC) != 0) {
        return false;
    }
    set_environment(&settings, faults != NULL ? faults : &none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addchdir_np(&actions, model->temporary.folder);
    (void)posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
    bool begun =
        posix_spawnp(&program->pid, argv[0], &actions, NULL, argv, settings.environment) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(pipe[1]);
    program->output = begun ? fdopen(pipe[0], "r") : NULL;
    if (program->output == NULL) {
        (void)close(pipe[0]);
    }
    return program->output != NULL;
}

/* Whether it ended well. */
static bool end_program(struct program *program)
{
    int status = 0;
    (void)fclose(program->output);
    return waitpid(program->pid, &status, 0) == program->pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* Run a program of which the output matters only if it fails; `error` then has its first line. */
static bool run_program(const struct spin_model *model, const struct check_faults *faults,
                        char *const argv[], struct error *error)
{
    struct program program;
    char first[512] = "";
    char line[512];
    if (!begin_program(model, faults, argv, &program)) {
        return error_set(error, "%s could not be run", argv[0]);
    }
    while (fgets(line, sizeof line, program.output) != NULL) {
        if (first[0] == '\0') {
            (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(line, "\n"), line);
        }
    }
    return end_program(&program) || error_set(error, "%s failed: %s", argv[0], first);
}

#define PROGRAM(...) ((char *const[]){__VA_ARGS__, NULL})

static bool compile(const struct spin_model *model, char *output, char *define, struct error *error)
{
    return run_program(
        model, NULL,
        PROGRAM("cc", "-O1", "-w", "-DSAFETY", "-DNOREDUCE", define, "-o", output, "pan.c"), error);
}

bool spin_is_there(struct error *error)
{
    static const struct spin_model here = {.temporary = {.folder = "."}};
    return run_program(&here, NULL, PROGRAM("spin", "-V"), error) &&
           run_program(&here, NULL, PROGRAM("cc", "--version"), error);
}

bool spin_model_open(struct spin_model *model, const struct cluster_protocol *protocol,
                     struct error *error)
{
    *model = (struct spin_model){0};
    if (!temporary_make(&model->temporary, error)) {
        return false;
    }
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/model.pml", model->temporary.folder);
    FILE *stream = fopen(path, "w");
    bool written = stream != NULL && spin_write_model(protocol, stream);
    if (stream == NULL || fclose(stream) != 0 || !written) {
        return outfile_fail(path, errno, "nothing was checked", error);
    }
    return run_program(model, NULL, PROGRAM("spin", "-a", "model.pml"), error) &&
           compile(model, "pan", "-DTL_ALL", error);
}

void spin_model_close(struct spin_model *model)
{
    temporary_remove(&model->temporary);
    *model = (struct spin_model){0};
}

/* --- searches -------------------------------------------------------------------------------- */

static bool keep_end(struct check_result *result, size_t *room, const int values[9])
{
    if (result->end_count == *room) {
        size_t larger = *room == 0 ? 256 : *room * 2;
        struct check_end *ends = realloc(result->ends, larger * sizeof *ends);
        if (ends == NULL) {
            return false;
        }
        result->ends = ends;
        *room = larger;
    }
    result->ends[result->end_count++] = (struct check_end){
        .stage = {(uint8_t)values[0], (uint8_t)values[1]},
        .calls = {(uint8_t)values[2], (uint8_t)values[3]},
        .acks = {(uint8_t)values[4], (uint8_t)values[5]},
        .crashes = (uint8_t)values[6],
        .outruns = (uint8_t)values[7],
        .late = (uint8_t)values[8],
    };
    return true;
}

/* Numbers divided by blanks. Returns how many there are. */
static int read_numbers(const char *text, int *values, int most)
{
    int count = 0;
    char *end = NULL;
    for (long value = strtol(text, &end, 10); end != text && count < most;
         value = strtol(text, &end, 10)) {
        values[count++] = (int)value;
        text = end;
    }
    return count;
}

static bool read_step(const char *text, struct check_step *step)
{
    static const int actors[] = {CHECK_SCHEDULER, CHECK_EXECUTOR, CHECK_RECOVERY, CHECK_PLANNER,
                                 CHECK_TIME};
    int values[5];
    if (read_numbers(text, values, 5) != 5 || values[0] < 0 || values[0] > 4) {
        return false;
    }
    *step = (struct check_step){(uint8_t)(actors[values[0]] + values[1]), (uint8_t)values[2],
                                (uint8_t)values[3], (uint8_t)values[4]};
    return true;
}

/* A shortest losing run: a second program, which looks at states in order of the number of steps,
 * leaves a trail, and prints the steps of it when it is run again. */
static bool find_run(struct spin_model *model, const struct check_faults *faults,
                     struct check_result *result, struct error *error)
{
    struct program program;
    char line[512];
    char trail[PATH_MAX + 32];
    if (!model->for_runs &&
        !(run_program(model, NULL, PROGRAM("spin", "-a", "-DTRAIL", "model.pml"), error) &&
          compile(model, "runs", "-DBFS", error))) {
        return false;
    }
    model->for_runs = true;
    (void)snprintf(trail, sizeof trail, "%s/model.pml.trail", model->temporary.folder);
    (void)unlink(trail);
    if (!run_program(model, faults, PROGRAM("./runs", "-E", "-w20"), error) ||
        !begin_program(model, faults, PROGRAM("./runs", "-r", "-S"), &program)) {
        return false;
    }
    while (fgets(line, sizeof line, program.output) != NULL) {
        if (strncmp(line, "STEP ", 5) == 0 && result->run_count < CHECK_RUN_MAX &&
            read_step(line + 5, &result->run[result->run_count])) {
            result->run_count++;
        }
    }
    (void)end_program(&program); /* its status is that of the fault that it has replayed */
    return result->run_count > 0 || error_set(error, "Spin's program found no run that loses");
}

bool spin_search(struct spin_model *model, const struct check_faults *faults,
                 struct check_result *result, struct error *error)
{
    struct program program;
    char line[512];
    size_t room = 0;
    bool done = true;
    *result = (struct check_result){0};
    if (!begin_program(model, faults, PROGRAM("./pan", "-E", "-w20", "-m100000"), &program)) {
        return error_set(error, "Spin's program could not be run");
    }
    while (fgets(line, sizeof line, program.output) != NULL) {
        int values[9];
        const char *states = strstr(line, " states, stored");
        if (strncmp(line, "END ", 4) == 0 && read_numbers(line + 4, values, 9) == 9) {
            done = done && keep_end(result, &room, values);
        } else if (states != NULL) {
            result->states = strtoull(line, NULL, 10);
        } else if (strstr(line, "max search depth too small") != NULL) {
            done = false;
        }
    }
    if (!end_program(&program) || !done || result->states == 0) {
        free(result->ends);
        *result = (struct check_result){0};
        return error_set(error, "Spin's program did not look at everything");
    }
    check_result_count(result);
    return result->lost_ends == 0 || find_run(model, faults, result, error);
}
