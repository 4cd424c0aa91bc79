#include "bench_program.h"

#include "memory.h"
#include "standard_files.h"
#include "supervisor.h"

#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_for_google(const struct option_row *options, const char *argument)
{
    if (!begins(argument, "--benchmark_")) {
        return false;
    }
    size_t length = strcspn(argument + 2, "=");
    for (const struct option_row *row = options; row->option.doc != NULL; row++) {
        const char *name = row->option.name;
        if (name != NULL && strlen(name) == length && strncmp(name, argument + 2, length) == 0) {
            return false;
        }
    }
    return true;
}

/* Move Google Benchmark's flags out of the arguments; return how many arguments are left. */
static int take_google(const struct bench_program *program, int argc, char **argv)
{
    static const char list_flag[] = "--benchmark_list_tests";
    struct google_arguments *google = program->google;
    int kept = 1;
    *google =
        (struct google_arguments){.texts = memory_new((size_t)argc + 1, sizeof *google->texts)};
    google->texts[google->count++] = argv[0];
    for (int i = 1; i < argc; i++) {
        if (!is_for_google(program->options, argv[i])) {
            argv[kept++] = argv[i];
            continue;
        }
        google->texts[google->count++] = argv[i];
        if (begins(argv[i], list_flag)) {
            google->list = strcmp(argv[i] + strlen(list_flag), "=false") != 0;
        } else {
            google->reports = google->reports || !begins(argv[i], "--benchmark_filter=");
        }
    }
    argv[kept] = NULL;
    return kept;
}

struct worker {
    struct bench_program *program;
    int argc;
    char **argv;
};

static int run_worker(void *ctx)
{
    const struct worker *worker = ctx;
    struct bench_program *program = worker->program;
    const struct command_line line = {.options = program->options,
                                      .form = "[--benchmark_...=VALUE]...",
                                      .text = program->text,
                                      .complete = program->complete};
    (void)on_exit(standard_files_check, program->name);
    argp_err_exit_status = EXIT_USAGE;
    worker->argv[0] = program->name;
    int count = take_google(program, worker->argc, worker->argv);
    int status = command_structures_run(&line, count, worker->argv, program->arguments,
                                        program->structures, program->run);
    free((void *)program->google->texts);
    return status;
}

int bench_program_run(struct bench_program *program, int argc, char **argv)
{
    struct worker worker = {program, argc, argv};
    standard_files_fill();
    return supervisor_run(run_worker, NULL, &worker);
}
