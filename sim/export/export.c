/* Make the exported files from a source's declarations and the templates. */
#include "amalgam.h"
#include "build_info.h"
#include "export_work.h"
#include "memory.h"
#include "source_list.h"
#include "templates.h" /* generated from the files *.in next to this one */

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PREFIX_MAX_CHARS 64
#define TRIAL_TIMERS     4096

struct export
{
    const struct export_request *request;
    const struct tl_algo *algo;
    const char *prefix;
    struct amalgam amalgam;
    struct value *values;
    size_t value_count;
    size_t value_room;
    struct pool pool;
    struct error *error;
};

bool export_prefix_is_good(const char *prefix)
{
    size_t length = strlen(prefix);
    return length > 0 && length <= PREFIX_MAX_CHARS && islower((unsigned char)prefix[0]) &&
           strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789_") == length &&
           strcmp(prefix, "tl") != 0;
}

/* The structure in a front end, or the structure itself. */
static void base_of(const char *name, char base[SOURCE_NAME_BYTES])
{
    const char *inner = strchr(name, '(');
    name = inner != NULL ? inner + 1 : name;
    (void)snprintf(base, SOURCE_NAME_BYTES, "%.*s", (int)strcspn(name, ")"), name);
}

bool export_is_possible(const struct export_request *request, struct error *error)
{
    const struct contender *contender = request->contender;
    const struct tl_algo *algo = contender->timed;
    const char *name = algo->name;
    bool others = request->intrusive || request->nodes || request->cpp || request->plugin;
    char base[SOURCE_NAME_BYTES];
    char file[SOURCE_NAME_BYTES];
    base_of(name, base);
    if (strchr(name, '(') != NULL && strncmp(name, "durable(", strlen("durable(")) != 0) {
        return error_set(error,
                         "%s cannot be exported: a front end is timerlab's own, but for durable. "
                         "`timerlab export %s` writes the structure that it wraps",
                         name, base);
    }
    if (tl_registry_find(base) == NULL) {
        return error_set(error,
                         "%s cannot be exported: it is a plug-in. Its own source, with timerlab.h, "
                         "is all that a server needs",
                         name);
    }
    if ((algo->capabilities & TL_CAP_DURABLE) != 0 && others) {
        return error_set(error,
                         "%s with --intrusive, --nodes, --cpp or --plugin cannot be exported: what "
                         "keeps its timers on a disk is written as its sources",
                         name);
    }
    if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
        return error_set(
            error,
            "%s cannot be exported: it fires nothing. `timerlab tune` recommends a structure",
            name);
    }
    if (!source_of(base, file)) {
        return error_set(error,
                         "%s cannot be exported: it uses another library, which a server can call "
                         "itself. `timerlab list` shows the cost of those that can be exported",
                         name);
    }
    if (request->intrusive && contender->embedded == NULL) {
        return error_set(error,
                         "%s cannot lie in records of yours: `timerlab describe` says of each "
                         "structure whether it can. Without --intrusive it can be exported",
                         name);
    }
    return true;
}

/* --- text ------------------------------------------------------------------------------------ */

/* Set a value of the templates, without the line ends at its end. "": what `@ifnot` is for. */
static void set(struct export *export, const char *name, const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n') {
        length--;
    }
    MEMORY_REACH(export->values, export->value_room, export->value_count);
    export->values[export->value_count++] =
        (struct value){name, pool_format(&export->pool, "%.*s", (int)length, text)};
}

static void add_piece(struct text *out, const char *at, const char *end)
{
    text_add(out, "%.*s", (int)(end - at), at);
}

/* Return the beginning of the line after the one at `at`; at most `end`. */
static const char *next_line(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return line_end != NULL ? line_end + 1 : end;
}

/* Return the end of the parenthesis at `at`. */
static const char *close_of(const char *at, const char *end)
{
    size_t depth = 0;
    for (; at < end; at++) {
        depth += *at == '(';
        if (*at == ')' && --depth == 0) {
            return at + 1;
        }
    }
    return end;
}

/* Add the text of an item without counters, which timed code has not: the member, statements that
 * count or copy it, and TL_COUNT as the first operand of a comma. */
static void add_code(struct text *out, struct piece code)
{
    static const char count[] = "TL_COUNT(";
    const char *end = code.at + code.length;
    for (const char *at = code.at, *next; at < end; at = next) {
        next = next_line(at, end);
        const char *call = memmem(at, (size_t)(next - at), count, strlen(count));
        if (call != NULL && call == at + strspn(at, " ")) {
            next = next_line(close_of(call, end), end);
        } else if (call != NULL) {
            add_piece(out, at, call);
            next = close_of(call, end);
            next += strspn(next, ", ");
        } else if (memmem(at, (size_t)(next - at), "struct tl_counters counters;", 28) == NULL &&
                   memmem(at, (size_t)(next - at), "->counters = ", 13) == NULL) {
            add_piece(out, at, next);
        }
    }
}

/* Add the text of an item of the contract, without comments and empty lines: they are for
 * implementers. */
static void add_contract(struct text *out, struct piece code, bool records)
{
    static const char member[] = "struct tl_records *records;";
    const char *end = code.at + code.length;
    for (const char *at = code.at, *next; at < end; at = next) {
        next = next_line(at, end);
        const char *comment = memmem(at, (size_t)(next - at), "/*", 2);
        const char *last = comment != NULL ? comment : next - 1;
        next = comment != NULL ? next_line(strstr(comment, "*/"), end) : next;
        while (last > at && last[-1] == ' ') {
            last--;
        }
        bool omitted = !records && memmem(at, (size_t)(last - at), member, strlen(member)) != NULL;
        if (last > at && !omitted) {
            add_piece(out, at, last);
            text_add(out, "\n");
        }
    }
}

/* --- items as they are written --------------------------------------------------------------- */

static bool is_contract(const struct item *item)
{
    return strcmp(item->file, "timerlab.h") == 0;
}

/* Add the standalone comments before an item in its file that were not added yet; of those that
 * begin a section, only the last. */
static void add_comments(struct text *out, struct amalgam *amalgam, const struct item *item)
{
    static const char section[] = "/* --- ";
    struct item *last = NULL; /* section */
    for (struct item *at = amalgam->items; at < item; at++) {
        if (at->kind == ITEM_COMMENT && strcmp(at->file, item->file) == 0 &&
            strncmp(at->text.at, section, strlen(section)) == 0) {
            last = at;
        }
    }
    for (struct item *at = amalgam->items; at < item; at++) {
        if (at->kind == ITEM_COMMENT && strcmp(at->file, item->file) == 0 && !at->omitted) {
            at->omitted = true;
            if (at == last || strncmp(at->text.at, section, strlen(section)) != 0) {
                text_add(out, "\n%.*s", (int)at->text.length, at->text.at);
            }
        }
    }
}

/* Which of the kept items are written: those of the structure and its parts, */
enum wanted {
    WANTED_CODE,    /* no others */
    WANTED_BODY,    /* with standalone comments, and those of the contract */
    WANTED_RECORDS, /* the same, with the contract's records */
};

/* Return the kept items in their order, each section with its comment if any of its items is kept. */
static const char *kept_text(struct pool *pool, struct amalgam *amalgam, enum wanted wanted)
{
    struct text out = {.pool = pool};
    for (size_t i = 0; i < amalgam->count; i++) {
        const struct item *item = &amalgam->items[i];
        const struct item *before = i > 0 ? item - 1 : item;
        if (!item->kept || (is_contract(item) && wanted == WANTED_CODE)) {
            continue;
        }
        if (wanted != WANTED_CODE && !is_contract(item)) {
            add_comments(&out, amalgam, item);
        }
        bool together = item->kind == ITEM_MACRO && item->comment.length == 0 &&
                        before->kind == ITEM_MACRO && before->kept;
        text_add(&out, together ? "" : "\n");
        if (is_contract(item)) {
            add_contract(&out, item->text, wanted == WANTED_RECORDS);
        } else {
            add_piece(&out, item->comment.at, item->comment.at + item->comment.length);
            add_code(&out, item->text);
        }
    }
    return text_end(&out);
}

/* --- the structure --------------------------------------------------------------------------- */

/* The last is for timers in the caller's records. Of create, destroy and reserve, all others run
 * after creation. */
static const char *const hooks[] = {"create",  "destroy", "reserve", "start", "stop",
                                    "advance", "next",    "count",   "moved"};
enum { HOOKS = sizeof hooks / sizeof hooks[0], HOOKS_AFTER_CREATION = 3 };

/* Return the bytes needed in addition to the nodes of `capacity` timers; UINT64_MAX: refused. */
static uint64_t bytes_besides_nodes(const struct contender *contender, uint32_t capacity)
{
    const struct tl_algo *algo = contender->embedded;
    struct tl_memory memory;
    uint64_t bytes = UINT64_MAX;
    struct tl_records records = {memory_new(capacity, algo->embedded_bytes), algo->embedded_bytes,
                                 0};
    tl_counting_allocator(&memory, tl_system_allocator());
    const struct tl_config config = {.capacity = capacity,
                                     .options = contender->options,
                                     .allocator = &memory.allocator,
                                     .records = &records};
    void *self = NULL;
    if (algo->create(&config, &self) == TL_OK) {
        bytes = memory.bytes;
        algo->destroy(self);
    }
    free(records.base);
    return bytes;
}

/* Check that nodes can be separate: the structure keeps nothing else for each timer, and does not
 * use the capacity, which is 1, after creation. */
static bool nodes_are_possible(struct export *export)
{
    const struct contender *contender = export->request->contender;
    for (size_t i = HOOKS_AFTER_CREATION; i < HOOKS; i++) {
        (void)amalgam_keep(&export->amalgam, amalgam_hook(&export->amalgam, hooks[i]));
    }
    const char *text = kept_text(&export->pool, &export->amalgam, WANTED_CODE);
    amalgam_keep_none(&export->amalgam);
    if (code_has(text, "->", "capacity") || code_has(text, ".", "capacity") ||
        bytes_besides_nodes(contender, 1) != bytes_besides_nodes(contender, TRIAL_TIMERS)) {
        return error_set(export->error,
                         "%s keeps more by the number of a timer than its node, so nodes cannot "
                         "lie anywhere. Without --nodes it can be exported",
                         contender->timed->name);
    }
    return true;
}

/* Read the structure's source, and keep all that its hooks need. */
static bool read_structure(struct export *export)
{
    /* Names of the header and the templates. */
    static const char *const elsewhere[] = {
        "TL_DEADLINE_MAX", "TL_NEVER",   "TL_NO_BUDGET", "tl_status",     "tl_fire_fn",
        "tl_allocator",    "tl_records", "TL_COUNT",     "TL_STATUS_MAP", "tl_counters"};
    struct amalgam *amalgam = &export->amalgam;
    bool intrusive = export->request->intrusive;
    char file[SOURCE_NAME_BYTES];
    (void)source_of(export->algo->name, file);
    amalgam_read(amalgam, file, intrusive);
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        struct text text = {.pool = &export->pool};
        add_contract(&text, amalgam_omit(amalgam, elsewhere[i])->text, true);
        set(export, elsewhere[i], text_end(&text));
    }
    if (export->request->nodes && !nodes_are_possible(export)) {
        return false;
    }
    for (size_t i = 0; i < (intrusive ? HOOKS : HOOKS - 1); i++) {
        struct piece name = amalgam_hook(amalgam, hooks[i]);
        (void)amalgam_keep(amalgam, name);
        set(export, hooks[i], pool_format(&export->pool, "%.*s", (int)name.length, name.at));
    }
    amalgam_keep_conditions(amalgam);
    return true;
}

/* --- values of the templates ----------------------------------------------------------------- */

static void set_flag(struct export *export, const char *name, bool flag)
{
    set(export, name, flag ? "yes" : "");
}

/* The statuses that the code returns, with their texts. */
static void set_statuses(struct export *export, const char *code)
{
    static const struct {
        const char *name;
        enum tl_status code;
        const char *text;
    } rows[] = {
#define ROW(code, text) {#code, code, text},
        TL_STATUS_MAP(ROW)
#undef ROW
    };
    struct text out = {.pool = &export->pool};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (code_has(code, NULL, rows[i].name)) {
            text_add(&out, "    %s = %d, /* %s */\n", rows[i].name, (int)rows[i].code,
                     rows[i].text);
        }
    }
    set(export, "statuses", text_end(&out));
}

/* The options as a constant of the structure's own struct, with its members in the table's order. */
static void set_options(struct export *export)
{
    const struct tl_algo *algo = export->algo;
    const void *given = export->request->contender->options;
    struct text members = {.pool = &export->pool};
    struct text values = {.pool = &export->pool};
    char text[256];
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        const struct tl_option *option = &algo->options[i];
        bool is_narrow = option->kind == TL_OPTION_U32 || option->kind == TL_OPTION_CHOICE;
        char name[64];
        symbol_of(option->name, name, sizeof name);
        (void)tl_option_format(option, given, text, sizeof text);
        text_add(&members, "        %s %s;\n", is_narrow ? "uint32_t" : "uint64_t", name);
        text_add(&values, "        .%s = %" PRIu64 "u%s, /* %s: %s */\n", name,
                 tl_option_number(option, given), is_narrow ? "" : "ll", text, option->help);
    }
    bool any = tl_option_count(algo) > 0;
    (void)tl_options_format(algo, given, true, text, sizeof text);
    set(export, "options", any ? text : "none");
    set(export, "option_members", text_end(&members));
    set(export, "option_values", text_end(&values));
}

static void set_precision(struct export *export)
{
    const void *options = export->request->contender->options;
    struct tl_precision near = tl_algo_precision(export->algo, options, 1);
    struct tl_precision far = tl_algo_precision(export->algo, options, UINT64_C(1000000));
    bool exact = near.early_ticks + near.late_ticks + far.early_ticks + far.late_ticks == 0;
    set(export, "exactness",
        exact ? "exact: never early, never late"
              : pool_format(&export->pool,
                            "early by up to %" PRIu64 " ticks, late by up to %" PRIu64
                            "; of a delay of a million, %" PRIu64 " and %" PRIu64,
                            near.early_ticks, near.late_ticks, far.early_ticks, far.late_ticks));
}

static void set_promises(struct export *export)
{
    static const struct {
        uint32_t bit;
        const char *code;
        const char *word;
    } rows[] = {
#define ROW(code, bit, word, text) {code, #code, word},
        TL_CAPABILITY_MAP(ROW)
#undef ROW
    };
    struct text words = {.pool = &export->pool};
    struct text codes = {.pool = &export->pool};
    size_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((export->algo->capabilities & rows[i].bit) != 0) {
            text_add(&words, "%s%s", count > 0 ? ", " : "", rows[i].word);
            text_add(&codes, "%s%s", count++ > 0 ? " | " : "", rows[i].code);
        }
    }
    text_add(&codes, "%s", count > 0 ? "" : "0");
    set(export, "promises", text_end(&words));
    set(export, "capabilities", text_end(&codes));
}

/* The licence, each line with " * " before it. */
static void set_licence(struct export *export)
{
    struct text out = {.pool = &export->pool};
    for (const char *text = embedded_source("LICENSE"); *text != '\0';) {
        size_t length = strcspn(text, "\n");
        text_add(&out, " *%s%.*s\n", length > 0 ? " " : "", (int)length, text);
        text += length + 1;
    }
    set(export, "licence", text_end(&out));
}

static void set_heap(struct export *export)
{
    struct amalgam heap;
    amalgam_read(&heap, "memory.c", false);
    (void)amalgam_keep(&heap, (struct piece){"system_resize", strlen("system_resize")});
    set(export, "heap", kept_text(&export->pool, &heap, WANTED_CODE));
    amalgam_free(&heap);
}

/* The code of the precision hook, for the plug-in. */
static void set_precision_code(struct export *export)
{
    struct piece hook = amalgam_hook(&export->amalgam, "precision");
    amalgam_keep_none(&export->amalgam);
    (void)amalgam_keep(&export->amalgam, hook);
    amalgam_keep_conditions(&export->amalgam);
    set(export, "precision_code", kept_text(&export->pool, &export->amalgam, WANTED_CODE));
    set(export, "precision_hook", pool_format(&export->pool, "%.*s", (int)hook.length, hook.at));
}

/* The comment on top of the structure's file. */
static void set_essay(struct export *export)
{
    struct item *item = export->amalgam.items;
    while (item->kind != ITEM_COMMENT) {
        item++;
    }
    item->omitted = true;
    set(export, "essay", pool_format(&export->pool, "%.*s", (int)item->text.length, item->text.at));
}

static void set_code(struct export *export)
{
    bool intrusive = export->request->intrusive;
    set_essay(export);
    const char *code =
        kept_text(&export->pool, &export->amalgam, intrusive ? WANTED_RECORDS : WANTED_BODY);
    size_t node_bytes = intrusive ? export->request->contender->embedded->embedded_bytes : 0;
    set(export, "body", code);
    set_statuses(export, code);
    set_flag(export, "uses_align",
             code_has(code, NULL, "alignof") || code_has(code, NULL, "alignas"));
    set_flag(export, "uses_string",
             code_has(code, NULL, "memcpy") || code_has(code, NULL, "memset") ||
                 code_has(code, NULL, "memmove") || code_has(code, NULL, "memcmp"));
    set_flag(export, "intrusive", intrusive);
    set(export, "node_bytes", pool_format(&export->pool, "%zu", node_bytes));
    set(export, "node_words", pool_format(&export->pool, "%zu", node_bytes / sizeof(uint64_t)));
    set_precision_code(export);
    set_heap(export);
}

static void set_facts(struct export *export)
{
    const struct tl_algo *algo = export->algo;
    char *plugin = memory_format("%s-exported", export->prefix);
    for (char *c = plugin; *c != '\0'; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    set(export, "plugin_name", plugin);
    free(plugin);
    set(export, "prefix", export->prefix);
    set(export, "name", algo->name);
    set(export, "summary", algo->summary);
    set(export, "origin", algo->origin);
    set(export, "version", BUILD_VERSION);
    set(export, "command", export->request->command);
    set(export, "cost_start", algo->cost.start);
    set(export, "cost_stop", algo->cost.stop);
    set(export, "cost_tick", algo->cost.tick);
    set(export, "cost_expire", algo->cost.expire);
    set(export, "refusals",
        pool_format(&export->pool, "%s%s",
                    (algo->capabilities & TL_CAP_UNLIMITED) != 0
                        ? "Every deadline is accepted."
                        : "A deadline too far ahead is refused, and nothing changes.",
                    (algo->capabilities & TL_CAP_REFUSES) != 0 ? " So is a timer too many." : ""));
    set(export, "next_is",
        (algo->capabilities & TL_CAP_NEXT_EXACT) != 0 ? "the next expiry" : "it may fire nothing");
    set_flag(export, "budget", (algo->capabilities & TL_CAP_BUDGET) != 0);
    set_options(export);
    set_precision(export);
    set_promises(export);
    set_licence(export);
}

/* --- files ----------------------------------------------------------------------------------- */

/* Return whether an internal name would equal a public one: it begins with the prefix, and exists
 * with tl_ instead in the header or the source. */
static bool is_in_the_way(struct export *export, const char *word, size_t length,
                          const char *const texts[2])
{
    size_t prefix_length = strlen(export->prefix);
    if (length <= prefix_length + 1 || word[prefix_length] != '_' ||
        strncasecmp(word, export->prefix, prefix_length) != 0) {
        return false;
    }
    const char *outside =
        pool_format(&export->pool, "%s%.*s", islower((unsigned char)word[0]) ? "tl" : "TL",
                    (int)(length - prefix_length), word + prefix_length);
    return code_has(texts[0], NULL, outside) || code_has(texts[1], NULL, outside);
}

/* Return a text with the prefix instead of tl_ and TL_, an underscore after conflicting names, and
 * at most one empty line in a row. `texts` are the header and the source. */
static const char *renamed(struct export *export, const char *text, const char *const texts[2])
{
    const char *upper = upper_case(&export->pool, export->prefix);
    struct text out = {.pool = &export->pool};
    while (*text != '\0') {
        size_t length = 0;
        while (is_word_char(text[length])) {
            length++;
        }
        if (length == 0) {
            length = 1;
            text_add(&out, "%.*s", strncmp(text, "\n\n\n", 3) != 0, text);
        } else if (strncmp(text, "tl_", 3) == 0 || strncmp(text, "TL_", 3) == 0) {
            text_add(&out, "%s%.*s", *text == 't' ? export->prefix : upper, (int)length - 2,
                     text + 2);
        } else {
            text_add(&out, "%.*s%s", (int)length, text,
                     is_in_the_way(export, text, length, texts) ? "_" : "");
        }
        text += length;
    }
    return text_end(&out);
}

/* Fill the templates that are asked for. */
static bool write_files(struct export *export)
{
    const struct export_request *request = export->request;
    const struct {
        const char *ending;
        const char *template;
        bool asked;
    } parts[] = {
        {".h", text_timers_h_in, true},
        {".c", text_timers_c_in, true},
        {".hpp", text_timers_hpp_in, request->cpp},
        {"_nodes.h", text_nodes_h_in, request->nodes},
        {"_plugin.c", text_plugin_c_in, request->plugin}, /* has the contract's names, too */
    };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    const char *texts[PARTS];
    struct export_file files[PARTS + 1] = {{0}};
    for (size_t i = 0; i < PARTS; i++) {
        texts[i] =
            template_fill(&export->pool, parts[i].template, export->values, export->value_count);
    }
    for (size_t i = 0, count = 0; i < PARTS; i++) {
        if (parts[i].asked) {
            files[count].name = pool_format(&export->pool, "%s%s", export->prefix, parts[i].ending);
            files[count++].text = i == PARTS - 1 ? texts[i] : renamed(export, texts[i], texts);
        }
    }
    return export_files_write(request->folder, files, export->error);
}

bool export_write(const struct export_request *request, struct error *error)
{
    struct export export = {.request = request, .algo = request->contender->timed, .error = error};
    char base[SOURCE_NAME_BYTES];
    if (!export_is_possible(request, error)) {
        return false;
    }
    base_of(export.algo->name, base);
    symbol_of(base, base, sizeof base);
    if ((export.algo->capabilities & TL_CAP_DURABLE) != 0) {
        return export_write_durable(request, base, error);
    }
    export.prefix = request->prefix != NULL ? request->prefix : base;
    bool done = read_structure(&export);
    if (done) {
        set_code(&export);
        set_facts(&export);
        done = write_files(&export);
    }
    free(export.values);
    amalgam_free(&export.amalgam);
    pool_free(&export.pool);
    return done;
}
