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
    bool found = begins(argument, "--benchmark_");
    size_t length = strcspn(argument, "=");
    for (const struct option_row *row = options; found && row->option.doc != NULL; row++) {
        const char *name = row->option.name;
        found = name == NULL || strlen(name) + 2 != length || !begins(argument + 2, name);
    }
    return found;
}

/* Move Google Benchmark's flags out of the arguments. */
static void take_google(struct bench_program *program)
{
    static const char list_flag[] = "--benchmark_list_tests";
    struct google_arguments *google = program->google;
    char **argv = program->argv;
    int kept = 1;
    google->texts = memory_new((size_t)program->argc + 1, sizeof *google->texts);
    google->texts[google->count++] = argv[0];
    for (int i = 1; i < program->argc; i++) {
        if (!is_for_google(program->line.options, argv[i])) {
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
    program->argc = kept;
}

static int run_worker(void *ctx)
{
    struct bench_program *program = ctx;
    (void)on_exit(standard_files_check, program->name);
    argp_err_exit_status = EXIT_USAGE;
    program->line.form = "[--benchmark_...=VALUE]...";
    program->argv[0] = program->name;
    take_google(program);
    int status = command_structures_run(&program->line, program->argc, program->argv,
                                        program->arguments, program->structures, program->run);
    free((void *)program->google->texts);
    return status;
}

int bench_program_run(struct bench_program *program, int argc, char **argv)
{
    program->argc = argc;
    program->argv = argv;
    standard_files_fill();
    return supervisor_run(run_worker, NULL, program);
}
