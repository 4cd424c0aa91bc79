#include "command_option.h"

#include "guess.h"
#include "memory.h"
#include "progress.h"
#include "standard_files.h"
#include "terminal.h"

#include <stdlib.h>
#include <string.h>

/* Rows without a letter get these keys, beyond all letters. */
#define KEY_FIRST 256
/* As of the table of commands; argp itself has but -?. */
#define KEY_HELP  'h'

void command_complain(const struct error *error)
{
    standard_files_tell("%s: %s\n", program_invocation_short_name, error->text);
}

int command_fail(const struct error *error)
{
    command_complain(error);
    return EXIT_FAULT;
}

struct reading {
    const struct command_line *line;
    void *arguments;
    bool *given;     /* by row */
    FILE *errors;    /* stderr, while argp speaks to `say` instead */
    char said[4096]; /* of a line, so far */
};

static bool is_last(const struct option_row *row)
{
    return row->option.name == NULL && row->option.doc == NULL;
}

static int key_of(const struct command_line *line, const struct option_row *row)
{
    return row->option.name == NULL ? 0 /* a heading */
           : row->option.key != 0   ? row->option.key
                                    : KEY_FIRST + (int)(row - line->options);
}

static void refuse(const struct option_row *row, const char *text, struct argp_state *state)
{
    char option[64];
    char why[512];
    (void)snprintf(option, sizeof option, "--%s", row->option.name);
    (void)tl_number_refuse(&row->number, option, text, why, sizeof why);
    argp_error(state, "%s", why);
}

static void take_number(const struct option_row *row, const char *text, char *to,
                        struct argp_state *state)
{
    union tl_number number = {0};
    if (!tl_number_read(&row->number, text, &number)) {
        refuse(row, text, state);
    }
    uint32_t narrow = (uint32_t)number.whole;
    memcpy(to, row->bytes == sizeof narrow ? (const void *)&narrow : &number, row->bytes);
}

size_t option_ranges(const struct option_row *row, const char *text, struct tl_range *ranges,
                     struct argp_state *state)
{
    size_t count = tl_ranges_read(&row->number, text, ranges);
    if (count == 0) {
        refuse(row, text, state);
    }
    return count;
}

static void take_choice(const struct option_row *row, const char *text, char *to,
                        struct argp_state *state)
{
    char all[256] = "";
    const char *word = row->words != NULL ? row->words : row->option.arg;
    for (int i = 0; *word != '\0'; i++) {
        size_t length = strcspn(word, "|");
        if (strlen(text) == length && strncmp(text, word, length) == 0) {
            memcpy(to, &i, sizeof i);
            return;
        }
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, "%s%.*s",
                       i == 0                 ? ""
                       : word[length] == '\0' ? " or "
                                              : ", ",
                       (int)length, word);
        word += length + (word[length] == '|');
    }
    argp_error(state, "--%s takes %s, not '%s'", row->option.name, all, text);
}

static void load_plugin(struct catalog *catalog, const char *text, struct argp_state *state)
{
    struct error error;
    enum plug_in_found found = catalog_add_plugin(catalog, text, &error);
    if (found == PLUG_IN_REFUSED) {
        argp_failure(state, EXIT_USAGE, 0, "%s", error.text);
    } else if (found == PLUG_IN_FAILED) {
        command_complain(&error);
    }
}

/* An empty value is often a variable of a shell that was not set. Only an option has a name. */
static void refuse_empty(const struct option_row *row, const char *text, struct argp_state *state)
{
    if (text[0] == '\0' && row->option.name != NULL) {
        argp_error(state, "--%s takes %s, not ''", row->option.name, row->option.arg);
    } else if (text[0] == '\0') {
        argp_error(state, "an argument is empty");
    }
}

/* Otherwise "-" would be a file or a folder of that name. */
static void refuse_stream(const struct option_row *row, const char *text, struct argp_state *state)
{
    const char *takes = row->option.arg;
    bool file = strncmp(takes, "FILE", 4) == 0;
    if (strcmp(text, "-") == 0 &&
        (file || strncmp(takes, "DIR", 3) == 0 || strncmp(takes, "FOLDER", 6) == 0)) {
        argp_error(state, "--%s takes a %s, not '-'; name one", row->option.name,
                   file ? "file" : "folder");
    }
}

static void take_value(struct reading *reading, const struct option_row *row, char *text,
                       struct argp_state *state)
{
    const bool set = true;
    char *to = (char *)reading->arguments + row->at;
    switch (row->kind) {
    case OPTION_OWN:
        row->take(reading->arguments, row, text, state);
        break;
    case OPTION_TEXT:
        refuse_stream(row, text, state);
        /* fall through */
    case OPTION_STREAM:
        refuse_empty(row, text, state);
        memcpy(to, (const void *)&text, sizeof text);
        break;
    case OPTION_FLAG:
        memcpy(to, &set, sizeof set);
        break;
    case OPTION_NUMBER:
        take_number(row, text, to, state);
        break;
    case OPTION_WORD:
        take_choice(row, text, to, state);
        break;
    case OPTION_LIST:
        refuse_empty(row, text, state);
        word_list_append((struct word_list *)(void *)to, text);
        break;
    case OPTION_PLUGIN:
        load_plugin((struct catalog *)(void *)to, text, state);
        break;
    case OPTION_PROGRESS:
        progress_set_mode(PROGRESS_ALWAYS);
        break;
    case OPTION_WIDE:
        terminal_set_wide();
        break;
    }
}

static void take_option(struct reading *reading, const struct option_row *row, char *text,
                        struct argp_state *state)
{
    bool *given = &reading->given[row - reading->line->options];
    bool repeats = row->repeats || row->kind == OPTION_LIST || row->kind == OPTION_PLUGIN;
    if (*given && text != NULL && !repeats) {
        argp_error(state, "--%s is given twice", row->option.name);
    }
    *given = true;
    take_value(reading, row, text, state);
}

static void take_word(struct reading *reading, char *word, struct argp_state *state)
{
    const struct option_row *place = reading->line->places;
    for (unsigned i = 0; i < state->arg_num && place->kind == OPTION_STREAM; i++) {
        place++;
    }
    if (place->kind == OPTION_OWN) {
        argp_error(state, reading->line->excess, word);
    } else {
        take_value(reading, place, word, state);
    }
}

/* Adds the nearest option to what getopt says of an unknown one. */
static void suggest_option(struct reading *reading)
{
    static const char unknown[] = "unrecognized option '--";
    char *name = strstr(reading->said, unknown);
    if (name == NULL) {
        return;
    }
    name += strlen(unknown);
    char given[64];
    (void)snprintf(given, sizeof given, "%.*s", (int)strcspn(name, "='"), name);
    struct tl_guess guess = {.given = given};
    for (const struct option_row *row = reading->line->options; !is_last(row); row++) {
        if (row->option.name != NULL) {
            (void)tl_guess_is(&guess, row->option.name);
        }
    }
    if (guess.nearest != NULL) {
        size_t used = strlen(reading->said);
        (void)snprintf(reading->said + used, sizeof reading->said - used, "; did you mean '--%s'?",
                       guess.nearest);
    }
}

/* What argp and getopt say repeats words of the command line, which may hold anything. A line comes
 * in pieces, and its end at the end of one; only where argp says whom to ask has it broken the
 * line. */
static ssize_t say(void *cookie, const char *text, size_t bytes)
{
    struct reading *reading = cookie;
    bool ends = bytes > 0 && text[bytes - 1] == '\n';
    size_t used = strlen(reading->said);
    (void)snprintf(reading->said + used, sizeof reading->said - used, "%.*s", (int)(bytes - ends),
                   text);
    if (strncmp(reading->said, "Try `", strlen("Try `")) == 0) {
        for (char *at = reading->said; (at = strchr(at, '\n')) != NULL;) {
            *at = ' ';
        }
    }
    if (ends) {
        suggest_option(reading);
        FILE *own = stderr;
        stderr = reading->errors;
        standard_files_tell("%s\n", reading->said);
        stderr = own;
        reading->said[0] = '\0';
    }
    return (ssize_t)bytes;
}

static error_t parse_argument(int key, char *text, struct argp_state *state)
{
    struct reading *reading = state->input;
    const struct command_line *line = reading->line;
    if (key == ARGP_KEY_ARG && line->take_word != NULL) {
        line->take_word(reading->arguments, text, state);
        return 0;
    }
    if (key == ARGP_KEY_ARG && line->places[0].kind != OPTION_OWN) {
        take_word(reading, text, state);
        return 0;
    }
    if (key == ARGP_KEY_END) {
        if (line->needed != NULL && state->arg_num == 0) {
            argp_error(state, "%s", line->needed);
        }
        if (line->complete != NULL) {
            line->complete(reading->arguments, state);
        }
        return 0;
    }
    if (key == KEY_HELP) {
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    }
    for (const struct option_row *row = line->options; key > 0 && !is_last(row); row++) {
        if (key == key_of(line, row)) {
            take_option(reading, row, text, state);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

/* --- examples -------------------------------------------------------------------------------- */

/* For each command, lines that a user can copy and run, in an order in which later ones can use the
 * output of earlier ones. The help and the manual pages end with them; the tests run them. */
static const struct {
    const char *command;
    const char *lines;
} examples[] = {
    {"timerlab list", "  timerlab list\n"},
    {"timerlab describe", "  timerlab describe hier-wheel\n"},
    {"timerlab show", "  timerlab show hier-wheel:slots=3 'start a 2; start b 4; advance 3'\n"},
    {"timerlab record", "  timerlab record -o my.rec -- memcached -p 21211\n"},
    {"timerlab trace gen", "  timerlab trace gen server -n 100k --seconds 10 -o my.trace\n"
                           "  timerlab trace gen rpc -n 10k -o - | timerlab trace info -\n"},
    {"timerlab trace import",
     "  timerlab trace import ftrace my.txt.zst -o kernel.trace\n"
     "  timerlab trace import access-log access.log --idle 60 -o web.trace\n"},
    {"timerlab trace scale", "  timerlab trace scale my.trace -n 1m -o million.trace\n"},
    {"timerlab trace info", "  timerlab trace info my.trace --plot pictures\n"},
    {"timerlab trace head", "  timerlab trace head my.trace -n 20\n"},
    {"timerlab trace dump", "  timerlab trace dump my.trace >my.csv\n"},
    {"timerlab trace validate", "  timerlab trace validate my.trace\n"},
    {"timerlab sim", "  timerlab sim my.trace -a all --latency -o results/mine\n"
                     "  timerlab sim my.trace kernel.trace -a binary-heap,hier-wheel\n"},
    {"timerlab-mpi sim", "  mpirun -n 4 timerlab-mpi sim my.trace -a hier-wheel\n"},
    {"timerlab sweep", "  timerlab sweep rpc -a binary-heap,hier-wheel -n 1k,10k -o swept\n"},
    {"timerlab compare", "  timerlab compare --by algo --base hier-wheel results/mine\n"
                         "  timerlab compare results/before results/after\n"},
    {"timerlab tune", "  timerlab tune my.trace --max-lateness 5ms --max-bytes 64MB\n"},
    {"timerlab export", "  timerlab export hier-wheel --prefix timers -o src\n"},
    {"timerlab predict", "  timerlab predict ftrace my.txt.zst\n"},
    {"timerlab live", "  timerlab live -a binary-heap,hier-wheel -n 1k --rate 200 --timeout 5\n"},
    {"timerlab threads",
     "  timerlab threads -a 'locked(hier-wheel),sharded(hier-wheel)' --threads 2\n"},
    {"timerlab cluster check", "  timerlab cluster check lease\n"},
    {"timerlab cluster sim", "  timerlab cluster sim lease -o cluster\n"},
    {"timerlab cluster run", "  timerlab cluster run lease --kills 20 -o killed\n"},
    {"timerlab new", "  timerlab new my-wheel -o my\n"},
    {"timerlab check", "  timerlab check -a hier-wheel:slots=3 --seconds 5\n"},
    {"timerlab-bench", "  timerlab-bench -n 10k --benchmark_filter=^hold/.*heap --plain-rows\n"
                       "  timerlab-bench -n 1k,1m --benchmark_filter=^restart/.*heap/\n"},
    {"timerlab report", "  timerlab report results/mine\n"},
};

/* The lines for the command with this full name, such as "timerlab sim"; NULL if there are none. */
static const char *examples_of(const char *command)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        if (strcmp(examples[i].command, command) == 0) {
            return examples[i].lines;
        }
    }
    return NULL;
}

/* --- the whole line -------------------------------------------------------------------------- */

void command_line_read(const struct command_line *line, int argc, char **argv, void *arguments)
{
    size_t count = 0;
    while (!is_last(&line->options[count])) {
        count++;
    }
    struct argp_option *options = memory_new(count + 2, sizeof *options);
    struct reading reading = {
        line, arguments, .given = memory_new(count + 1, sizeof *reading.given), .errors = stderr};
    FILE *said = memory_made(fopencookie(&reading, "w", (cookie_io_functions_t){.write = say}));
    for (size_t i = 0; i < count; i++) {
        options[i] = line->options[i].option;
        options[i].key = key_of(line, &line->options[i]);
    }
    options[count] = (struct argp_option){.key = KEY_HELP, .flags = OPTION_HIDDEN};
    const char *lines = examples_of(argv[0]);
    const char *before = strchr(line->text, '\v') != NULL ? "\n\n" : "\v";
    char *text = lines == NULL ? memory_copy(line->text)
                               : memory_format("%s%sExamples:\n%s", line->text, before, lines);
    const struct argp parser = {
        .options = options, .parser = parse_argument, .args_doc = line->form, .doc = text};
    (void)setvbuf(said, NULL, _IONBF, 0);
    stderr = said;
    error_t failed = argp_parse(&parser, argc, argv, line->flags, NULL, &reading);
    stderr = reading.errors;
    if (failed) { /* all else has ended the program */
        memory_end();
    }
    (void)fclose(said);
    free(text);
    free(options);
    free(reading.given);
}

void word_list_append(struct word_list *list, const char *text)
{
    list->items = memory_resize((void *)list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = text;
}

void command_structures_find(struct command_structures *structures, structure_select select,
                             const char *how, struct argp_state *state)
{
    struct error error;
    if (structures->selections.count == 0) {
        argp_error(state, "which structures? %s", how);
    }
    for (size_t i = 0; i < structures->selections.count; i++) {
        if (!select(&structures->catalog, structures->selections.items[i], &structures->contenders,
                    &error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", error.text);
        }
    }
    if (structures->catalog.missing != NULL) {
        (void)error_set(&error, "%s: no such structure, while a plug-in is missing",
                        structures->catalog.missing);
        command_complain(&error);
    }
    if (structures->contenders.count == 0 && structures->catalog.failed) {
        exit(EXIT_FAULT);
    }
}

int command_structures_run(const struct command_line *line, int argc, char **argv, void *arguments,
                           struct command_structures *structures,
                           int (*run)(void *arguments, int argc, char **argv))
{
    catalog_init(&structures->catalog);
    command_line_read(line, argc, argv, arguments);
    int status = run(arguments, argc, argv);
    /* A structure that could not be loaded is a missing row. */
    status = status == EXIT_OK && structures->catalog.failed ? EXIT_FAULT : status;
    contender_list_free(&structures->contenders);
    free((void *)structures->selections.items);
    catalog_free(&structures->catalog);
    return status;
}
