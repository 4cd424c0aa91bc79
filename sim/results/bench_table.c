#include "bench_table.h"

#include "csv_table.h"
#include "plots_folder.h"
#include "program.h"
#include "temporary_file.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* Beside plots/, in the source tree and where it is installed. */
#define CONVERTER "../scripts/bench-to-csv"

json_t *bench_table_read(const char *path, struct error *error)
{
    char program[PATH_MAX];
    struct temporary table = {0};
    json_t *rows = NULL;
    if (!plots_find(CONVERTER, program, error) || !temporary_make(&table, error)) {
        return NULL;
    }
    const char *words[] = {program, path, NULL};
    int file = open(table.file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int status = program_run(words, file, error);
    if (status == 0) {
        rows = csv_table_read(table.file, error);
    } else if (status > 0) {
        (void)error_set(error, "%s: %s made no table of it", path, program);
    }
    (void)close(file);
    temporary_remove(&table);
    return rows;
}
