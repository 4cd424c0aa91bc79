/* timerlab list, timerlab describe: what the descriptors say, and what they cost in memory. */
#include "catalog.h"
#include "command.h"
#include "command_option.h"
#include "front.h"
#include "structure_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    size_t bytes = entry->embedded.embedded_bytes;
    (void)snprintf(text, text_bytes, "%zu", bytes);
    return bytes > 0 ? text : "-";
}

/* The texts of a row of the table, in the order of its columns. */
#define TABLE_TEXTS 5
static void table_texts(const struct tl_algo *algo, const char *texts[TABLE_TEXTS])
{
    texts[0] = algo->name;
    texts[1] = algo->cost.start;
    texts[2] = algo->cost.stop;
    texts[3] = algo->cost.tick;
    texts[4] = algo->cost.expire;
}

static void list_table(const struct catalog *catalog)
{
    const char *texts[TABLE_TEXTS] = {"name", "start", "stop", "tick", "expire"};
    int widths[TABLE_TEXTS] = {0};
    for (size_t i = 0; i <= catalog->count; i++) {
        for (size_t c = 0; c < TABLE_TEXTS; c++) {
            int width = (int)strlen(texts[c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
        if (i < catalog->count) {
            table_texts(&catalog->entries[i].timed, texts);
        }
    }
    (void)printf("%-*s  %-*s  %-*s  %-*s  %-*s  %10s  %7s  %8s  %s\n", widths[0], "name", widths[1],
                 "start", widths[2], "stop", widths[3], "tick", widths[4], "expire", "fixed B",
                 "B/timer", "record B", "capabilities");
    for (size_t i = 0; i < catalog->count; i++) {
        const struct tl_algo *algo = &catalog->entries[i].timed;
        struct footprint footprint = footprint_measure(algo);
        char record_buffer[32];
        const char *record = record_text(&catalog->entries[i], record_buffer, sizeof record_buffer);
        char words[256];
        capability_words(algo->capabilities, words, sizeof words);
        table_texts(algo, texts);
        for (size_t c = 0; c < TABLE_TEXTS; c++) {
            (void)printf("%-*s  ", widths[c], texts[c]);
        }
        if (footprint.status == TL_OK) {
            (void)printf("%10" PRIu64 "  %7.1f  %8s  %s\n", footprint.bytes_fixed,
                         footprint.bytes_per_timer, record, words);
        } else {
            (void)printf("%10s  %7s  %8s  %s (%s)\n", "-", "-", record, words,
                         tl_status_text(footprint.status));
        }
    }
}

/* What stands before structures, below them. */
static void list_fronts(void)
{
    size_t count = 0;
    const struct tl_front *const *fronts = tl_fronts(&count);
    (void)printf("\nfront ends: FRONT(NAME), as in locked(hier-wheel)\n");
    for (size_t i = 0; i < count; i++) {
        (void)printf("%-8s  %s%s\n", fronts[i]->name, fronts[i]->summary,
                     fronts[i]->for_threads ? "" : " (for one thread)");
    }
}

static void list_markdown(const struct catalog *catalog)
{
    (void)printf("| structure | what it is | after | start | stop | tick | expire | bytes fixed | "
                 "bytes per timer | bytes in a record | promises |\n");
    (void)printf("|---|---|---|---|---|---|---|--:|--:|--:|---|\n");
    for (size_t i = 0; i < catalog->count; i++) {
        const struct tl_algo *algo = &catalog->entries[i].timed;
        struct footprint footprint = footprint_measure(algo);
        char record[32];
        char words[256];
        capability_words(algo->capabilities, words, sizeof words);
        (void)printf("| `%s` | %s | %s | %s | %s | %s | %s | %" PRIu64 " | %.1f | %s | %s |\n",
                     algo->name, algo->summary, algo->origin, algo->cost.start, algo->cost.stop,
                     algo->cost.tick, algo->cost.expire, footprint.bytes_fixed,
                     footprint.bytes_per_timer,
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
                     fronts[i]->summary, fronts[i]->for_threads ? "yes" : "no", fronts[i]->origin,
                     needs[0] != '\0' ? needs : "-", keeps[0] != '\0' ? keeps : "-");
    }
}

static void list_json(const struct catalog *catalog)
{
    json_t *rows = structures_json(catalog);
    (void)json_dumpf(rows, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    (void)putchar('\n');
    json_decref(rows);
}

/* --- describe -------------------------------------------------------------------------------- */

/* Prints a paragraph, wrapped at 80 columns. */
static void print_wrapped(const char *text, const char *indent)
{
    size_t column = 0;
    const char *at = text;
    while (*at != '\0') {
        if (*at == '\n') {
            (void)putchar('\n');
            column = 0;
            at++;
            continue;
        }
        at += strspn(at, " ");
        size_t word = strcspn(at, " \n");
        if (word == 0) {
            continue;
        }
        if (column > 0 && column + 1 + word > 80) {
            (void)putchar('\n');
            column = 0;
        }
        if (column == 0) {
            column = (size_t)printf("%s", indent);
        } else {
            (void)putchar(' ');
            column++;
        }
        (void)printf("%.*s", (int)word, at);
        column += word;
        at += word;
    }
    (void)putchar('\n');
}

static void describe_option(const struct tl_option *option)
{
    char value[64];
    (void)tl_option_format(option, option->default_value, value, sizeof value);
    (void)printf("  %s (%s%s", option->name, tl_option_is_text(option) ? "a text" : "default ",
                 value);
    if (option->min <= option->max) {
        (void)printf(", %" PRId64 " to %" PRId64, option->min, option->max);
    }
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        (void)printf("%s%s", c == option->choices ? ", words: " : " ", c->word);
    }
    (void)printf(")\n");
    print_wrapped(option->help, "      ");
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (c->help != NULL && c->help[0] != '\0') {
            (void)printf("      %s: %s\n", c->word, c->help);
        }
    }
}

static void describe_front(const struct tl_front *front)
{
    (void)printf("%s: a front end: a structure %s\n\n", front->name, front->summary);
    print_wrapped(front->description, "");
    (void)printf("\nOrigin: %s\n", front->origin);
    char words[256];
    capability_words(front->needs, words, sizeof words);
    if (words[0] != '\0') {
        (void)printf("Needs: %s\n", words);
    }
    capability_words(front->bars, words, sizeof words);
    if (words[0] != '\0') {
        (void)printf("Takes none that is: %s\n", words);
    }
    capability_words(front->keeps, words, sizeof words);
    (void)printf("Keeps: %s\n", words);
    (void)printf("Embedded: no, the structure's timers lie in memory of its own\n");
    if (front->options == NULL) {
        (void)printf("Options: only the structure's (%s(NAME):option=value:...)\n", front->name);
        return;
    }
    (void)printf("Options, beside the structure's (%s(NAME):option=value:...):\n", front->name);
    for (const struct tl_option *option = front->options; option->name != NULL; option++) {
        describe_option(option);
    }
}

static void describe_embedded(size_t record_bytes, const struct footprint *besides)
{
    if (record_bytes == 0) {
        (void)printf("Embedded: no, timers lie in memory of its own\n");
        return;
    }
    (void)printf("Embedded: %zu bytes of a timer may lie in the caller's record", record_bytes);
    if (besides->status == TL_OK) {
        (void)printf("; besides them it then has %" PRIu64 " bytes fixed, %.1f bytes per timer",
                     besides->bytes_fixed, besides->bytes_per_timer);
    }
    (void)putchar('\n');
}

static void describe(const struct catalog_entry *entry)
{
    const struct tl_algo *algo = &entry->timed;
    struct footprint footprint = footprint_measure(algo);
    size_t record_bytes = entry->embedded.embedded_bytes;
    struct footprint besides = {0};
    if (record_bytes > 0) {
        besides = footprint_embedded(&entry->embedded);
    }
    int64_t options[TL_OPTIONS_MAX];
    tl_options_default(algo, options);
    (void)printf("%s: %s\n\n", algo->name, algo->summary);
    print_wrapped(algo->description, "");
    (void)printf("\nOrigin: %s\n", algo->origin);
    if (algo->differs != NULL) {
        char line[4096];
        (void)snprintf(line, sizeof line, "Differs from the original in: %s", algo->differs);
        print_wrapped(line, "");
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
        (void)printf("Memory: not measured: %s\n", tl_status_text(footprint.status));
    }
    describe_embedded(record_bytes, &besides);
    if (footprint.status == TL_OK && footprint.horizon_ticks == TL_DEADLINE_MAX) {
        (void)printf("Horizon: none\n");
    } else if (footprint.status == TL_OK) {
        (void)printf("Horizon: with default options, and no delay above %" PRIu64
                     " announced, %" PRIu64 " ticks\n",
                     FOOTPRINT_SPREAD_TICKS, footprint.horizon_ticks);
    }
    struct tl_precision precision = tl_algo_precision(algo, options, FOOTPRINT_SPREAD_TICKS);
    (void)printf("Precision: with default options, a delay of %" PRIu64
                 " ticks fires at most %" PRIu64 " early and %" PRIu64 " late\n",
                 FOOTPRINT_SPREAD_TICKS, precision.early_ticks, precision.late_ticks);
    (void)printf("Promises:\n");
    size_t rows = 0;
    const struct tl_capability_row *row = tl_capabilities(&rows);
    for (size_t i = 0; i < rows; i++) {
        if ((algo->capabilities & row[i].bit) != 0) {
            (void)printf("  %s: %s\n", row[i].word, row[i].text);
        }
    }
    if (tl_option_count(algo) == 0) {
        (void)printf("Options: none\n");
        return;
    }
    (void)printf("Options (NAME:option=value:...):\n");
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        describe_option(&algo->options[i]);
    }
}

/* --- the commands ---------------------------------------------------------------------------- */

static void take_name(void *at, const char *word, struct argp_state *state)
{
    struct list_arguments *arguments = at;
    if (arguments->name != NULL) {
        argp_error(state, "one structure at a time");
    }
    arguments->name = word;
}

static void complete_describe(void *at, struct argp_state *state)
{
    const struct list_arguments *arguments = at;
    if (arguments->name == NULL) {
        argp_error(state, "which structure? `timerlab list` shows them");
    }
}

#define PLUGIN_ROW                                                                                 \
    OPTION_ROW_PLUGIN(struct list_arguments, "Also the structure in this shared object")

static int run_list(void *at, int argc, char **argv)
{
    const struct list_arguments *arguments = at;
    const struct catalog *catalog = &arguments->structures.catalog;
    (void)argc;
    (void)argv;
    if (arguments->format == FORMAT_JSON) {
        list_json(catalog);
    } else if (arguments->format == FORMAT_MD) {
        list_markdown(catalog);
        list_fronts_markdown();
    } else {
        list_table(catalog);
        list_fronts();
    }
    return EXIT_OK;
}

int command_list(int argc, char **argv)
{
    static const struct option_row options[] = {
        {{"format", 0, "table|json|md", 0, "How to print it (table)", 0},
         OPTION_WORD,
         OPTION_AT(struct list_arguments, format)},
        PLUGIN_ROW,
        OPTION_ROW_END,
    };
    static const struct command_line syntax = {
        .options = options,
        .form = "",
        .text = "The structures, their capabilities and cost, and the bytes that they take, "
                "measured with 65,536 timers.",
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
    if (front != NULL) {
        describe_front(front);
        return EXIT_OK;
    }
    const struct catalog_entry *entry =
        catalog_find(&arguments->structures.catalog, arguments->name, &error);
    if (entry == NULL) {
        command_complain(&error);
        return EXIT_USAGE;
    }
    describe(entry);
    return EXIT_OK;
}

int command_describe(int argc, char **argv)
{
    static const struct option_row options[] = {PLUGIN_ROW, OPTION_ROW_END};
    static const struct command_line syntax = {
        .options = options,
        .form = "NAME",
        .text = "One structure: where it comes from, how it works, what it promises, its options.",
        .take_word = take_name,
        .complete = complete_describe,
    };
    struct list_arguments arguments = {0};
    return command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures,
                                  run_describe);
}
