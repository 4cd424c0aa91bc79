#include "spin.h"

#include "outfile.h"
#include "temporary_file.h"

#include "promela.h" /* cluster.pml, as text */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the model ------------------------------------------------------------------------------- */

/* A name as the C preprocessor wants it; the lease is a step and a recovery. */
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

void spin_write_model(const struct cluster_protocol *protocol, FILE *stream)
{
    (void)fprintf(stream, "/* %s: %s. Made by timerlab. */\n", protocol->name, protocol->summary);
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
    for (int recovery = 0; recovery < CLUSTER_RECOVERIES; recovery++) {
        (void)fputs("#define ", stream);
        write_name(cluster_recovery_word((enum cluster_recovery)recovery), "", stream);
        (void)fprintf(stream, " %d\n", recovery);
    }
    write_steps("SCHEDULE", protocol->schedule, stream);
    write_steps("EXECUTE", protocol->execute, stream);
    (void)fputs("#define RECOVERY ", stream);
    write_name(cluster_recovery_word(protocol->recovery), "", stream);
    (void)fprintf(stream, "\n#define BY_CURSOR %d\n#define SCANNED %d\n#define MASTER %d\n",
                  cluster_protocol_does(protocol, CLUSTER_MOVE_CURSOR), protocol->scanned,
                  protocol->master);
    (void)fwrite(text_cluster_pml, 1, sizeof text_cluster_pml - 1, stream);
}

/* --- other people's programs ----------------------------------------------------------------- */

/* Runs a command in the model's folder; NULL: it cannot. */
static FILE *begin_command(const struct spin_model *model, const char *command)
{
    char whole[sizeof model->folder + 512];
    (void)snprintf(whole, sizeof whole, "cd '%s' && %s", model->folder, command);
    return popen(whole, "r"); /* NOLINT(cert-env33-c): a shell is what is wanted */
}

/* Runs one whose output is for nobody, unless it fails. */
static bool run_command(const struct spin_model *model, const char *what, const char *command,
                        struct error *error)
{
    char said[512] = "";
    char line[512];
    FILE *pipe = begin_command(model, command);
    if (pipe == NULL) {
        return error_set(error, "%s could not be run", what);
    }
    while (fgets(line, sizeof line, pipe) != NULL) {
        if (said[0] == '\0') {
            (void)snprintf(said, sizeof said, "%.*s", (int)strcspn(line, "\n"), line);
        }
    }
    return pclose(pipe) == 0 || error_set(error, "%s failed: %s", what, said);
}

static bool is_there(const char *program)
{
    char command[128];
    (void)snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0; /* NOLINT(cert-env33-c): the shell's own look */
}

bool spin_is_there(struct error *error)
{
    if (!is_there("spin")) {
        return error_set(error, "Spin is not installed (Debian: spin); `--engine search` does "
                                "without it");
    }
    return is_there("cc") ||
           error_set(error, "there is no `cc` for Spin's programs (Debian: build-essential); "
                            "`--engine search` does without it");
}

#define COMPILE "cc -O1 -w -DSAFETY -DNOREDUCE "

bool spin_model_open(struct spin_model *model, const struct cluster_protocol *protocol,
                     struct error *error)
{
    *model = (struct spin_model){0};
    if (!temporary_folder_make(model->folder, sizeof model->folder, "spin", false, error)) {
        return false;
    }
    char path[sizeof model->folder + 16];
    (void)snprintf(path, sizeof path, "%s/model.pml", model->folder);
    FILE *stream = fopen(path, "w");
    if (stream != NULL) {
        spin_write_model(protocol, stream);
    }
    if (stream == NULL || fclose(stream) != 0) {
        return outfile_fail(path, errno, "nothing was checked", error);
    }
    return run_command(model, "spin", "spin -a model.pml 2>&1", error) &&
           run_command(model, "cc", COMPILE "-o pan pan.c 2>&1", error);
}

void spin_model_close(struct spin_model *model)
{
    if (model->folder[0] != '\0') {
        temporary_folder_remove(model->folder);
    }
    *model = (struct spin_model){0};
}

/* --- searches -------------------------------------------------------------------------------- */

static void command_of(const struct check_faults *faults, const char *program, char *command,
                       size_t bytes)
{
    (void)snprintf(command, bytes, "CRASHES=%u OUTRUNS=%u LATE=%d SCANS=%d %s 2>&1",
                   faults->crashes, faults->outruns, faults->late, faults->scan, program);
}

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
 * and then tells the steps of what it has found. */
static bool find_run(struct spin_model *model, const struct check_faults *faults,
                     struct check_result *result, struct error *error)
{
    if (!model->for_runs &&
        !(run_command(model, "spin", "spin -a -DTRAIL model.pml 2>&1", error) &&
          run_command(model, "cc", COMPILE "-DBFS -o runs pan.c 2>&1", error))) {
        return false;
    }
    model->for_runs = true;
    char command[256];
    char line[512];
    command_of(faults, "sh -c 'rm -f *.trail; ./runs -E -w20 >/dev/null; ./runs -r -S'", command,
               sizeof command);
    FILE *pipe = begin_command(model, command);
    if (pipe == NULL) {
        return error_set(error, "Spin's program could not be run");
    }
    while (fgets(line, sizeof line, pipe) != NULL) {
        if (strncmp(line, "STEP ", 5) == 0 && result->run_count < CHECK_RUN_MAX &&
            read_step(line + 5, &result->run[result->run_count])) {
            result->run_count++;
        }
    }
    (void)pclose(pipe); /* it ends with a fault: that is what it tells */
    return result->run_count > 0 || error_set(error, "Spin's program found no run that loses");
}

bool spin_search(struct spin_model *model, const struct check_faults *faults,
                 struct check_result *result, struct error *error)
{
    char command[256];
    char line[512];
    size_t room = 0;
    bool done = true;
    *result = (struct check_result){0};
    command_of(faults, "./pan -E -w20 -m100000", command, sizeof command);
    FILE *pipe = begin_command(model, command);
    if (pipe == NULL) {
        return error_set(error, "Spin's program could not be run");
    }
    while (fgets(line, sizeof line, pipe) != NULL) {
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
    if (pclose(pipe) != 0 || !done || result->states == 0) {
        free(result->ends);
        *result = (struct check_result){0};
        return error_set(error, "Spin's program did not look at everything");
    }
    check_result_count(result);
    return result->lost_ends == 0 || find_run(model, faults, result, error);
}
