/* timerlab list, timerlab describe: the descriptors and the measured memory. */
#include "catalog.h"
#include "command.h"
#include "command_option.h"
#include "front.h"
#include "json_text.h"
#include "memory.h"
#include "standard_files.h"
#include "structure_json.h"
#include "terminal.h"
#include "text_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* --- list ------------------------------------------------------------------------------------ */

enum list_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_MD }; /* in the order of the help */

struct list_arguments {
    struct command_structures structures; /* only known ones */
    enum list_format format;
    const char *name; /* describe only */
};

/* How many bytes of a timer may lie in the caller's record; "-": none. */
static const char *record_text(const struct catalog_entry *entry, char *text, size_t text_bytes)
{
    size_t bytes = entry->embedded != NULL ? entry->embedded->embedded_bytes : 0;
    (void)snprintf(text, text_bytes, "%zu", bytes);
    return bytes > 0 ? text : "-";
}

/* Report how a structure ended the process that measured it. */
static bool report_list_fault(const char *command, const char *name, const char *fault)
{
    if (fault[0] != '\0') {
        standard_files_tell("timerlab %s: %s: its memory was not measured: %s; `timerlab check` "
                            "may show the cause\n",
                            command, name, fault);
    }
    return fault[0] == '\0';
}

static void add_structure(struct text_table *table, const struct catalog_entry *entry,
                          const struct footprint *footprint)
{
    const struct tl_algo *algo = entry->timed;
    bool measured = footprint->status == TL_OK;
    char record[32];
    char words[256];
    capability_words(algo->capabilities, words, sizeof words);
    text_table_add(table, "%s", algo->name);
    text_table_add(table, measured ? "%.1f" : "-", footprint->bytes_per_timer);
    text_table_add(table, "%s", algo->cost.start);
    text_table_add(table, "%s", algo->cost.stop);
    text_table_add(table, "%s", algo->cost.tick);
    text_table_add(table, "%s", algo->cost.expire);
    text_table_add(table, measured ? "%" PRIu64 : "-", footprint->bytes_fixed);
    text_table_add(table, measured ? "%s" : "%s (%s)", words, footprint_missing(footprint));
    text_table_add(table, "%s", record_text(entry, record, sizeof record));
}

static void list_table(const struct catalog *catalog, const struct footprint *footprints)
{
    static const struct {
        const char *heading;
        bool right;
    } columns[] = {{"name", false},   {"B/timer", true},       {"start", false},
                   {"stop", false},   {"tick", false},         {"expire", false},
                   {"fixed B", true}, {"capabilities", false}, {"record B", true}};
    struct text_table table = {.columns = sizeof columns / sizeof columns[0]};
    for (size_t c = 0; c < table.columns; c++) {
        table.right[c] = columns[c].right;
        text_table_add(&table, "%s", columns[c].heading);
    }
    for (size_t i = 0; i < catalog->count; i++) {
        add_structure(&table, &catalog->entries[i], &footprints[i]);
    }
    text_table_write(&table, stdout);
    text_table_free(&table);
}

/* List the front ends, after the structures. */
static void list_fronts(void)
{
    size_t count = 0;
    const struct tl_front *const *fronts = tl_fronts(&count);
    struct wrapped lines;
    FILE *stream = wrapped_begin(&lines, stdout, 10);
    (void)fprintf(stream, "\nfront ends: FRONT(NAME), as in locked(hier-wheel)\n");
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stream, "%-8s  %s%s\n", fronts[i]->name, fronts[i]->summary,
                      (fronts[i]->adds & TL_CAP_CONCURRENT) != 0 ? "" : " (for one thread)");
    }
    wrapped_end(&lines);
}

static void list_markdown(const struct catalog *catalog, const struct footprint *footprints)
{
    (void)printf("| structure | description | after | start | stop | tick | expire | bytes fixed | "
                 "bytes per timer | bytes in a record | promises |\n");
    (void)printf("|---|---|---|---|---|---|---|--:|--:|--:|---|\n");
    for (size_t i = 0; i < catalog->count; i++) {
        const struct tl_algo *algo = catalog->entries[i].timed;
        char record[32];
        char words[256];
        capability_words(algo->capabilities, words, sizeof words);
        (void)printf("| `%s` | %s | %s | %s | %s | %s | %s | %" PRIu64 " | %.1f | %s | %s |\n",
                     algo->name, algo->summary, algo->origin, algo->cost.start, algo->cost.stop,
                     algo->cost.tick, algo->cost.expire, footprints[i].bytes_fixed,
                     footprints[i].bytes_per_timer,
                     record_text(&catalog->entries[i], record, sizeof record), words);
    }
}

static void list_fronts_markdown(void)
{
    size_t count = 0;
    const struct tl_front *const *fronts = tl_fronts(&count);
    (void)printf("\nFront ends stand before a structure, as in `locked(hier-wheel)`:\n\n"
                 "| front end | a structure | for many threads | after | needs | keeps |\n"
                 "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        char needs[256];
        char keeps[256];
        capability_words(fronts[i]->needs, needs, sizeof needs);
        capability_words(fronts[i]->keeps, keeps, sizeof keeps);
        (void)printf("| `%s(NAME)` | %s | %s | %s | %s | %s |\n", fronts[i]->name,
                     fronts[i]->summary, (fronts[i]->adds & TL_CAP_CONCURRENT) != 0 ? "yes" : "no",
                     fronts[i]->origin, needs[0] != '\0' ? needs : "-",
                     keeps[0] != '\0' ? keeps : "-");
    }
}

static bool list_json(const struct catalog *catalog)
{
    json_t *rows = json_array();
    bool right = true;
    for (size_t i = 0; i < catalog->count; i++) {
        json_t *row = structure_json(&catalog->entries[i]);
        (void)json_array_append_new(rows, row);
        right =
            report_list_fault("list", catalog->entries[i].timed->name, json_word(row, "fault")) &&
            right;
    }
    (void)json_dumpf(rows, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    json_decref(rows);
    return right;
}

/* The table or Markdown. */
static bool list_text(const struct catalog *catalog, bool markdown)
{
    struct footprint *footprints = memory_new(catalog->count, sizeof *footprints);
    bool right = true;
    for (size_t i = 0; i < catalog->count; i++) {
        footprints[i] = footprint_measure(catalog->entries[i].timed);
    }
    if (markdown) {
        list_markdown(catalog, footprints);
        list_fronts_markdown();
    } else {
        list_table(catalog, footprints);
        list_fronts();
    }
    for (size_t i = 0; i < catalog->count; i++) {
        right = report_list_fault("list", catalog->entries[i].timed->name, footprints[i].fault) &&
                right;
    }
    free(footprints);
    return right;
}

/* --- describe -------------------------------------------------------------------------------- */

/* Print a paragraph, wrapped at 80 columns and indented. */
static void print_wrapped(const char *text, size_t blanks)
{
    text_wrap(stdout, text, 80, blanks, blanks);
    (void)putchar('\n');
}

static void describe_option(const struct tl_option *option)
{
    const struct tl_option alone[] = {*option, {0}};
    TL_OPTION_VALUES(defaults);
    char value[64];
    tl_table_default(alone, defaults);
    (void)tl_option_format(option, defaults, value, sizeof value);
    (void)printf("  %s (%s%s", option->name, option->kind == TL_OPTION_TEXT ? "a text" : "default ",
                 value);
    if (tl_option_is_number(option)) {
        (void)printf(", %.15g to %.15g", option->min, option->max);
    }
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        (void)printf("%s%s", c == option->choices ? ", words: " : " ", c->word);
    }
    (void)printf(")\n");
    print_wrapped(option->help, 6);
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (c->help != NULL && c->help[0] != '\0') {
            (void)printf("      %s: %s\n", c->word, c->help);
        }
    }
}

static void describe_front(const struct tl_front *front)
{
    (void)printf("%s: a front end: a structure %s\n\n", front->name, front->summary);
    print_wrapped(front->description, 0);
    (void)printf("\nOrigin: %s\n", front->origin);
    char words[256];
    capability_words(front->needs, words, sizeof words);
    if (words[0] != '\0') {
        (void)printf("Needs: %s\n", words);
    }
    capability_words(front->bars, words, sizeof words);
    if (words[0] != '\0') {
        (void)printf("Not for structures that are: %s\n", words);
    }
    capability_words(front->keeps, words, sizeof words);
    (void)printf("Keeps: %s\n", words);
    (void)printf("Embedded: no, the structure's timers are in memory of its own\n");
    if (front->options == NULL) {
        (void)printf("Options: only the structure's (%s(NAME):option=value:...)\n", front->name);
        return;
    }
    (void)printf("Options, in addition to the structure's (%s(NAME):option=value:...):\n",
                 front->name);
    for (const struct tl_option *option = front->options; option->name != NULL; option++) {
        describe_option(option);
    }
}

static bool describe(const struct catalog_entry *entry)
{
    const struct tl_algo *algo = entry->timed;
    struct footprint footprint = footprint_measure(algo);
    size_t record_bytes = entry->embedded != NULL ? entry->embedded->embedded_bytes : 0;
    (void)printf("%s: %s\n\n", algo->name, algo->summary);
    print_wrapped(algo->description, 0);
    (void)printf("\nOrigin: %s\n", algo->origin);
    if (algo->differs != NULL) {
        char line[4096];
        (void)snprintf(line, sizeof line, "Differs from the original in: %s", algo->differs);
        print_wrapped(line, 0);
    }
    if (entry->origin_file != NULL) {
        (void)printf("Plug-in: %s\n", entry->origin_file);
    }
    (void)printf("Cost: start %s, stop %s, tick %s, expire %s\n", algo->cost.start, algo->cost.stop,
                 algo->cost.tick, algo->cost.expire);
    if (footprint.status == TL_OK) {
        (void)printf("Memory: %" PRIu64 " bytes fixed, %.1f bytes per timer (measured with %" PRIu32
                     " timers)\n",
                     footprint.bytes_fixed, footprint.bytes_per_timer, FOOTPRINT_TIMERS);
    } else {
        (void)printf("Memory: not measured: %s\n", footprint_missing(&footprint));
    }
    if (record_bytes == 0) {
        (void)printf("Embedded: no, timers are in memory of its own\n");
    } else {
        (void)printf("Embedded: %zu bytes of a timer may be in the caller's record\n",
                     record_bytes);
    }
    if (footprint.status == TL_OK && footprint.horizon_ticks == TL_DEADLINE_MAX) {
        (void)printf("Horizon: none\n");
    } else if (footprint.status == TL_OK) {
        (void)printf("Horizon: with default options, and no delay above %" PRIu64
                     " announced, %" PRIu64 " ticks\n",
                     FOOTPRINT_SPREAD_TICKS, footprint.horizon_ticks);
    }
    if (footprint.fault[0] == '\0') {
        (void)printf("Precision: with default options, a delay of %" PRIu64
                     " ticks fires at most %" PRIu64 " early and %" PRIu64 " late\n",
                     FOOTPRINT_SPREAD_TICKS, footprint.precision_far.early_ticks,
                     footprint.precision_far.late_ticks);
    }
    (void)printf("Promises:\n");
    size_t rows = 0;
    const struct tl_capability_row *row = tl_capabilities(&rows);
    for (size_t i = 0; i < rows; i++) {
        if ((algo->capabilities & row[i].bit) != 0) {
            (void)printf("  %s: %s\n", row[i].word, row[i].text);
        }
    }
    (void)printf("Options%s\n",
                 tl_option_count(algo) == 0 ? ": none" : " (NAME:option=value:...):");
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        describe_option(&algo->options[i]);
    }
    return report_list_fault("describe", algo->name, footprint.fault);
}

/* --- the commands ---------------------------------------------------------------------------- */

#define PLUGIN_ROW                                                                                 \
    OPTION_ROW_PLUGIN(struct list_arguments, "Also the structure in this shared object")

static int run_list(void *at, int argc, char **argv)
{
    const struct list_arguments *arguments = at;
    const struct catalog *catalog = &arguments->structures.catalog;
    (void)argc;
    (void)argv;
    bool right = arguments->format == FORMAT_JSON
                     ? list_json(catalog)
                     : list_text(catalog, arguments->format == FORMAT_MD);
    return right ? EXIT_OK : EXIT_FAULT;
}

int command_list(int argc, char **argv)
{
    static const struct option_row options[] = {
        OPTION_ROWS_FORMAT(struct list_arguments, "table|json|md"),
        PLUGIN_ROW,
        OPTION_ROW_END,
    };
    static const struct command_line syntax = {
        .options = options,
        .form = "",
        .text = "Lists the structures with their capabilities, cost, and memory per timer, which "
                "is measured with 65,536 timers.",
    };
    struct list_arguments arguments = {0};
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures, run_list);
}

static int run_describe(void *at, int argc, char **argv)
{
    const struct list_arguments *arguments = at;
    struct error error;
    (void)argc;
    (void)argv;
    const struct tl_front *front = tl_front_find(arguments->name);
    const struct catalog_entry *entry =
        front == NULL ? catalog_find(&arguments->structures.catalog, arguments->name, &error)
                      : NULL;
    if (front == NULL && entry == NULL) {
        command_complain(&error);
        return arguments->structures.catalog.failed ? EXIT_FAULT : EXIT_USAGE;
    }
    bool right = true;
    struct wrapped lines;
    FILE *own = stdout;
    stdout = wrapped_begin(&lines, own, 4);
    if (front != NULL) {
        describe_front(front);
    } else {
        right = describe(entry);
    }
    stdout = own;
    wrapped_end(&lines);
    return right ? EXIT_OK : EXIT_FAULT;
}

int command_describe(int argc, char **argv)
{
    static const struct option_row options[] = {PLUGIN_ROW, OPTION_ROW_END};
    static const struct command_line syntax = {
        .options = options,
        .form = "NAME",
        .text = "Explains a structure: origin, algorithm, promises and options.",
        .places = {{.kind = OPTION_STREAM, OPTION_AT(struct list_arguments, name)}},
        .needed = "which structure? `timerlab list` shows them",
        .excess = "one structure at a time",
    };
    struct list_arguments arguments = {0};
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures,
                                  run_describe);
}
