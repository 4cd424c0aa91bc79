#include "cluster_rows.h"

#include "command.h"
#include "context.h"
#include "memory.h"
#include "outfolder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the command line ------------------------------------------------------------------------- */

void cluster_take_word(void *arguments, const char *name, struct argp_state *state)
{
    struct cluster_arguments *own = arguments;
    const struct cluster_protocol *protocol = cluster_protocol_find(name, &own->error);
    if (protocol == NULL) {
        argp_failure(state, argp_err_exit_status, 0, "%s", own->error.text);
        return;
    }
    for (size_t i = 0; i < own->count; i++) {
        if (own->protocols[i] == protocol) {
            return;
        }
    }
    own->protocols = memory_resize(own->protocols, own->count + 1, sizeof *own->protocols);
    own->protocols[own->count++] = protocol;
}

void cluster_take_all(struct cluster_arguments *arguments, struct argp_state *state)
{
    size_t named = arguments->count;
    size_t count;
    const struct cluster_protocol *all = cluster_protocols(&count);
    for (size_t i = 0; named == 0 && i < count; i++) {
        cluster_take_word(arguments, all[i].name, state);
    }
}

/* One line per protocol: its name and description. */
static void list(FILE *stream)
{
    size_t count;
    const struct cluster_protocol *all = cluster_protocols(&count);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stream, "%s: %s (%s)\n", all[i].name, all[i].summary, all[i].origin);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

void cluster_row_begin(struct cluster_table *table)
{
    table->kind.columns = table->columns;
    table->results.kind = &table->kind;
    (void)results_add(&table->results);
    table->filled = 0;
}

static struct row *last_row(const struct cluster_table *table)
{
    return &table->results.rows[table->results.count - 1];
}

/* The next column of the last row, which the first row names. */
static unsigned add_column(struct cluster_table *table, int digits, const char *name)
{
    if (table->results.count == 1) {
        table->columns[table->filled] =
            (struct column_info){.name = memory_copy(name), .digits = digits};
        table->kind.count++;
    }
    return table->filled++;
}

void cluster_row_text(struct cluster_table *table, const char *value, const char *name)
{
    row_set_text(last_row(table), add_column(table, TEXT, name), value);
}

void cluster_row_count(struct cluster_table *table, uint64_t value, const char *name)
{
    row_set_integer(last_row(table), add_column(table, 0, name), value);
}

void cluster_row_real(struct cluster_table *table, double value, const char *name)
{
    row_set_real(last_row(table), add_column(table, SIGNIFICANT(9), name), value);
}

void cluster_row_copy(struct cluster_table *table, const struct cluster_table *from,
                      const char *const *names, size_t count)
{
    const struct row *row = last_row(from);
    for (size_t i = 0; i < count; i++) {
        unsigned c = (unsigned)row_kind_column(&from->kind, names[i]);
        if (from->columns[c].digits == TEXT) {
            cluster_row_text(table, row_text(row, c), names[i]);
        } else {
            bool real = from->columns[c].digits != 0;
            last_row(table)->cells[add_column(table, real ? SIGNIFICANT(4) : 0, names[i])] =
                row->cells[c];
        }
    }
}

static void free_table(struct cluster_table *table)
{
    results_free(&table->results);
    for (unsigned c = 0; c < table->kind.count; c++) {
        free((void *)table->columns[c].name);
    }
}

uint64_t cluster_causes_sum(const uint64_t counts[CLUSTER_CAUSES])
{
    uint64_t sum = 0;
    for (int cause = 0; cause < CLUSTER_CAUSES; cause++) {
        sum += counts[cause];
    }
    return sum;
}

void cluster_row_causes(struct cluster_table *table, const uint64_t counts[CLUSTER_CAUSES],
                        const char *name)
{
    char text[256] = "";
    for (int cause = 0; cause < CLUSTER_CAUSES; cause++) {
        size_t used = strlen(text);
        if (counts[cause] > 0) {
            (void)snprintf(text + used, sizeof text - used, "%s%s %" PRIu64, used > 0 ? ", " : "",
                           cluster_cause_word((enum cluster_cause)cause), counts[cause]);
        }
    }
    cluster_row_text(table, text, name);
}

/* --- a command -------------------------------------------------------------------------------- */

static void write_csv(const void *results, FILE *stream)
{
    results_write_csv(results, stream);
}

static void write_json(const void *ctx, FILE *stream)
{
    const struct cluster_work *work = ctx;
    json_t *rows = results_json_rows(&work->rows.results);
    if (work->command->complete != NULL) {
        work->command->complete(&work->more, rows);
    }
    results_write_rows(rows, work->context, false, stream);
    json_decref(rows);
}

static bool keep(const struct cluster_work *work, struct outfolder *folder, struct error *error)
{
    const struct cluster_command *command = work->command;
    char csv[64];
    char json[64];
    (void)snprintf(csv, sizeof csv, "%s.csv", command->name);
    (void)snprintf(json, sizeof json, "%s.json", command->name);
    const char *const kinds[] = {csv, json, command->more_name, NULL};
    return outfolder_write(folder, csv, write_csv, &work->rows.results, error) &&
           outfolder_write(folder, json, write_json, work, error) &&
           (command->more_name == NULL ||
            outfolder_write(folder, command->more_name, write_csv, &work->more, error)) &&
           outfolder_commit(folder, kinds, error);
}

static void print(const struct cluster_work *work, const struct cluster_arguments *arguments)
{
    const struct results *rows = &work->rows.results;
    if (arguments->format == CLUSTER_CSV) {
        results_write_csv(rows, stdout);
    } else if (arguments->format == CLUSTER_JSON) {
        write_json(work, stdout);
    } else {
        results_write_table(work->shown.results.count > 0 ? &work->shown.results : rows, stdout);
        if (work->command->print != NULL) {
            work->command->print(arguments, &work->more);
        }
    }
}

/* Run all protocols, and write the results after all is done. */
static int run_all(struct cluster_work *work, struct cluster_arguments *arguments)
{
    struct outfolder folder = {0};
    struct error *error = &arguments->error;
    bool done = arguments->out_dir == NULL || outfolder_open(&folder, arguments->out_dir, error);
    for (size_t i = 0; done && i < arguments->count; i++) {
        done = work->command->run(arguments, arguments->protocols[i], work);
    }
    done = done && (arguments->out_dir == NULL || keep(work, &folder, error));
    outfolder_close(&folder);
    if (done) {
        print(work, arguments);
    } else {
        command_complain(error);
    }
    return done && work->right ? EXIT_OK : EXIT_FAULT;
}

int cluster_command_run(const struct cluster_command *command, int argc, char **argv,
                        void *arguments)
{
    struct cluster_arguments *own = arguments;
    int status = EXIT_OK;
    command_line_read(command->line, argc, argv, arguments);
    if (own->list) {
        list(stdout);
    } else if (command->list == NULL || !command->list(arguments)) {
        struct cluster_work work = {.command = command,
                                    .more = {.kind = command->more_kind},
                                    .right = true,
                                    .context = context_json(argc, argv)};
        status = run_all(&work, own);
        json_decref(work.context);
        free_table(&work.shown);
        free_table(&work.rows);
        results_free(&work.more);
    }
    free((void *)own->protocols);
    return status;
}
