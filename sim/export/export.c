/* Make the exported files from a source's declarations and the templates. */
#include "export.h"
#include "amalgam.h"
#include "build_info.h"
#include "export_durable.h"
#include "memory.h"
#include "outfile.h"
#include "source_list.h"
#include "templates.h" /* generated from the files *.in next to this one */

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_MAX_CHARS 64

/* The replacement of @name@ in a template, and the value of `@if name`. */
struct value {
    const char *name;
    char *text;
    bool given;
};

struct export
{
    const struct export_request *request;
    const struct tl_algo *algo;
    char prefix[PREFIX_MAX_CHARS + 1];
    struct amalgam amalgam;
    struct piece descriptor;
    struct value *values;
    size_t value_count;
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
static void base_of(const char *name, char *base, size_t bytes)
{
    const char *inner = strchr(name, '(');
    name = inner != NULL ? inner + 1 : name;
    (void)snprintf(base, bytes, "%.*s", (int)strcspn(name, ")"), name);
}

static bool is_possible(const struct contender *contender, bool intrusive, bool others,
                        struct error *error)
{
    const struct tl_algo *algo = contender->timed;
    const char *name = algo->name;
    const char *inner = strchr(name, '(');
    bool is_durable = (algo->capabilities & TL_CAP_DURABLE) != 0;
    char base[SOURCE_NAME_BYTES];
    char file[SOURCE_NAME_BYTES];
    if (inner != NULL && strncmp(name, "durable(", strlen("durable(")) != 0) {
        return error_set(error,
                         "%s cannot be exported: a front end is timerlab's own, but for durable. "
                         "`timerlab export %.*s` writes the structure that it wraps",
                         name, (int)strcspn(inner + 1, ")"), inner + 1);
    }
    base_of(name, base, sizeof base);
    const struct tl_entry *built_in = tl_registry_find(base);
    if (built_in == NULL) {
        return error_set(error,
                         "%s cannot be exported: it is a plug-in. Its own source, with timerlab.h, "
                         "is all that a server needs",
                         name);
    }
    if (is_durable && (intrusive || others)) {
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
    if (intrusive && contender->embedded == NULL) {
        return error_set(error,
                         "%s cannot lie in records of yours: `timerlab describe` says of each "
                         "structure whether it can. Without --intrusive it can be exported",
                         name);
    }
    return true;
}

bool export_is_possible(const struct contender *contender, bool intrusive, struct error *error)
{
    return is_possible(contender, intrusive, false, error);
}

/* --- nodes ----------------------------------------------------------------------------------- */

#define TRIAL_TIMERS 4096

static void *trial_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    size_t *held_bytes = ctx;
    void *block = NULL;
    if (new_bytes > 0) {
        block = memory_made(aligned_alloc(align, (new_bytes + align - 1) / align * align));
        if (ptr != NULL) {
            memcpy(block, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
        }
    }
    free(ptr);
    *held_bytes += new_bytes - old_bytes;
    return block;
}

/* Return the bytes needed in addition to the nodes of `capacity` timers; SIZE_MAX: refused. */
static size_t bytes_besides_nodes(const struct contender *contender, uint32_t capacity)
{
    const struct tl_algo *algo = contender->embedded;
    size_t held_bytes = 0;
    size_t bytes = SIZE_MAX;
    const struct tl_allocator allocator = {&held_bytes, trial_resize};
    struct tl_records records = {memory_new(capacity, algo->embedded_bytes), algo->embedded_bytes,
                                 0};
    const struct tl_config config = {.capacity = capacity,
                                     .options = contender->options,
                                     .allocator = &allocator,
                                     .records = &records};
    void *self = NULL;
    if (algo->create(&config, &self) == TL_OK) {
        bytes = held_bytes;
        algo->destroy(self);
    }
    free(records.base);
    return bytes;
}

/* --- text ------------------------------------------------------------------------------------ */

/* A growing text, closed by text_take. */
struct text_out {
    FILE *stream;
    char *text;
    size_t bytes;
};

static void text_open(struct text_out *out)
{
    *out = (struct text_out){0};
    out->stream = memory_stream(&out->text, &out->bytes);
}

/* Return the text without line ends at its end. */
static char *text_take(struct text_out *out)
{
    memory_stream_close(out->stream);
    while (out->bytes > 0 && out->text[out->bytes - 1] == '\n') {
        out->text[--out->bytes] = '\0';
    }
    return out->text;
}

static void set_given(struct export *export, const char *name, char *text, bool given)
{
    export->values = memory_resize(export->values, export->value_count + 1, sizeof *export->values);
    export->values[export->value_count++] =
        (struct value){.name = name, .text = text, .given = given};
}

static void set(struct export *export, const char *name, const char *text)
{
    set_given(export, name, memory_copy(text), text[0] != '\0');
}

static void set_flag(struct export *export, const char *name, bool given)
{
    set_given(export, name, memory_copy(""), given);
}

static void set_number(struct export *export, const char *name, uint64_t number)
{
    set_given(export, name, memory_format("%" PRIu64, number), true);
}

static const struct value *value_find(const struct export *export, struct piece name)
{
    for (size_t i = 0; i < export->value_count; i++) {
        if (piece_is(name, export->values[i].name)) {
            return &export->values[i];
        }
    }
    return NULL;
}

/* --- items as they are written --------------------------------------------------------------- */

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

/* Return the beginning of the line after the one at `at`; at most `end`. */
static const char *next_line(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return line_end != NULL ? line_end + 1 : end;
}

/* Return whether the line is absent from timed code: a counter, or a statement that counts or
 * copies it. Set *next to the line after it. */
static bool is_counter_line(const char *line, const char *end, const char **next)
{
    static const char count[] = "TL_COUNT(";
    static const char member[] = "struct tl_counters counters;";
    static const char handed_on[] = "->counters = ";
    const char *at = line + strspn(line, " ");
    const char *rest = NULL;
    if (strncmp(at, count, strlen(count)) == 0) {
        rest = close_of(at, end) + 1; /* and the semicolon */
    } else if (strncmp(at, member, strlen(member)) == 0) {
        rest = at + strlen(member);
    } else {
        rest = memmem(at, (size_t)(next_line(at, end) - at), handed_on, strlen(handed_on));
    }
    if (rest == NULL || rest >= end) {
        return false;
    }
    *next = next_line(rest, end);
    return true;
}

/* Write the item without counters. Comments and empty lines of the contract are omitted: they are
 * for implementers. */
static void write_item(FILE *out, const struct item *item, bool comments, bool records)
{
    const char *at = item->text.at;
    const char *end = at + item->text.length;
    while (at < end) {
        const char *next = next_line(at, end);
        const char *blank = at + strspn(at, " ");
        if (is_counter_line(at, end, &next)) {
            at = next;
            continue;
        }
        if (!comments) {
            const char *comment = memmem(at, (size_t)(next - at), "/*", 2);
            if (comment != NULL) {
                const char *close = strstr(comment, "*/") + 2;
                next = next_line(close, end);
                const char *code = comment;
                while (code > at && code[-1] == ' ') {
                    code--;
                }
                if (code > at) {
                    (void)fprintf(out, "%.*s\n", (int)(code - at), at);
                }
                at = next;
                continue;
            }
            bool member = strncmp(blank, "const struct tl_records *records;", 33) == 0;
            if ((member && !records) || *blank == '\n') {
                at = next;
                continue;
            }
        }
        /* the first operand of a comma */
        const char *count = memmem(at, (size_t)(next - at), "TL_COUNT(", 9);
        if (count != NULL) {
            (void)fwrite(at, 1, (size_t)(count - at), out);
            at = close_of(count, end);
            at += strspn(at, ", ");
            continue;
        }
        (void)fwrite(at, 1, (size_t)(next - at), out);
        at = next;
    }
}

/* Return whether the item is in the header or the templates. */
static bool is_of_header(const struct amalgam *amalgam, const struct item *item)
{
    static const char *const names[] = {"TL_DEADLINE_MAX", "TL_NEVER",   "TL_NO_BUDGET",
                                        "tl_status",       "tl_fire_fn", "tl_allocator",
                                        "tl_records",      "TL_COUNT",   "TL_STATUS_MAP",
                                        "TL_STATUS_ENUM",  "tl_counters"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (amalgam_find(amalgam, names[i]) == item) {
            return true;
        }
    }
    return false;
}

static bool is_contract(const struct item *item)
{
    return strcmp(item->file, "timerlab.h") == 0;
}

/* A comment that begins a section. */
static bool is_section(const struct item *item)
{
    return item->text.length > 8 && strncmp(item->text.at, "/* --- ", 7) == 0;
}

/* Write the standalone comments before item `index` in its file that were not written yet; of the
 * section comments, only the last. */
static void write_comments(FILE *out, struct amalgam *amalgam, size_t index)
{
    const struct item *item = &amalgam->items[index];
    size_t section = index;
    for (size_t i = index; i-- > 0 && section == index;) {
        const struct item *comment = &amalgam->items[i];
        if (comment->kind == ITEM_COMMENT && is_section(comment) &&
            strcmp(comment->file, item->file) == 0) {
            section = i;
        }
    }
    for (size_t i = 0; i < index; i++) {
        struct item *comment = &amalgam->items[i];
        if (comment->kind == ITEM_COMMENT && !comment->kept &&
            strcmp(comment->file, item->file) == 0) {
            comment->kept = true;
            if (!is_section(comment) || i == section) {
                (void)fprintf(out, "\n%.*s", (int)comment->text.length, comment->text.at);
            }
        }
    }
}

/* A choice among the kept items. */
struct wanted {
    const char *file; /* only this file's, without standalone comments; NULL: all */
    bool contract;    /* also those of timerlab.h */
    bool records;     /* also its tl_records */
};

/* Return the kept items in their order, each section with its comment if any of its items is
 * kept. */
static char *kept_text(struct amalgam *amalgam, struct wanted wanted)
{
    struct text_out out;
    text_open(&out);
    for (size_t i = 0; i < amalgam->count; i++) {
        const struct item *item = &amalgam->items[i];
        if (!item->kept || item->kind == ITEM_COMMENT ||
            (wanted.file != NULL && strcmp(item->file, wanted.file) != 0) ||
            (!wanted.contract && is_contract(item)) || is_of_header(amalgam, item)) {
            continue;
        }
        if (wanted.file == NULL && !is_contract(item)) {
            write_comments(out.stream, amalgam, i);
        }
        const struct item *before = i > 0 ? item - 1 : NULL;
        bool together = item->kind == ITEM_MACRO && item->comment.length == 0 && before != NULL &&
                        before->kind == ITEM_MACRO && before->kept;
        if (!together) {
            (void)fputc('\n', out.stream);
        }
        if (item->comment.length > 0 && !is_contract(item)) {
            (void)fwrite(item->comment.at, 1, item->comment.length, out.stream);
        }
        write_item(out.stream, item, !is_contract(item), wanted.records);
    }
    return text_take(&out);
}

/* Return whether a kept item contains one of the words. */
static bool is_used(const struct amalgam *amalgam, const char *const *words)
{
    for (size_t i = 0; i < amalgam->count; i++) {
        const struct item *item = &amalgam->items[i];
        const char *at = item->text.at;
        const char *end = at + item->text.length;
        struct piece token;
        while (item->kept && !is_of_header(amalgam, item) &&
               token_next(&at, end, &token) != TOKEN_END) {
            for (size_t w = 0; words[w] != NULL; w++) {
                if (piece_is(token, words[w])) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* --- values of the templates ----------------------------------------------------------------- */

static const char *const hooks[] = {"create", "destroy", "reserve", "start",
                                    "stop",   "advance", "next",    "count"};

/* Return the function of a hook. The descriptor names it, or a macro in it, such as HEAP_HOOKS. */
static struct piece hook_of(const struct export *export, const char *hook)
{
    struct piece name = amalgam_member(export->descriptor, hook);
    const char *end = export->descriptor.at + export->descriptor.length;
    for (size_t i = 0; name.length == 0 && i < export->amalgam.count; i++) {
        const struct item *item = &export->amalgam.items[i];
        const char *macro_at = item->text.at;
        const char *at = export->descriptor.at;
        struct piece macro = {macro_at, 0};
        struct piece token;
        for (int skipped = 0; skipped < 3 && item->kind == ITEM_MACRO;
             skipped++) { /* #define NAME */
            (void)token_next(&macro_at, item->text.at + item->text.length, &macro);
        }
        while (macro.length > 0 && name.length == 0 && token_next(&at, end, &token) != TOKEN_END) {
            if (piece_equals(token, macro)) {
                name = amalgam_member(item->text, hook);
            }
        }
    }
    return name;
}

static bool keep_hook(struct export *export, const char *hook, bool optional)
{
    struct piece name = hook_of(export, hook);
    if (name.length == 0) {
        return optional || error_set(export->error, "%s: no hook %s", export->algo->name, hook);
    }
    if (!amalgam_keep(&export->amalgam, name)) {
        return error_set(export->error, "%s: %.*s is not found", export->algo->name,
                         (int)name.length, name.at);
    }
    set_given(export, hook, memory_copy_part(name.at, name.length), true);
    return true;
}

/* Return whether the hooks that run after creation use the capacity, which is 1 for separate
 * nodes. */
static bool uses_capacity(struct export *export)
{
    static const char *const running[] = {"start", "stop", "advance", "next", "count", "moved"};
    bool uses = false;
    amalgam_keep_none(&export->amalgam);
    for (size_t i = 0; i < sizeof running / sizeof running[0]; i++) {
        (void)amalgam_keep(&export->amalgam, hook_of(export, running[i]));
    }
    for (size_t i = 0; !uses && i < export->amalgam.count; i++) {
        const struct item *item = &export->amalgam.items[i];
        const char *at = item->text.at;
        struct piece token;
        struct piece before = {at, 0};
        while (item->kept && !uses &&
               token_next(&at, item->text.at + item->text.length, &token) != TOKEN_END) {
            uses = piece_is(token, "capacity") && (piece_is(before, "->") || piece_is(before, "."));
            before = token;
        }
    }
    return uses;
}

/* Check that nodes can be separate: the structure keeps nothing else for each timer. */
static bool nodes_are_possible(struct export *export)
{
    const struct contender *contender = export->request->contender;
    if (uses_capacity(export) ||
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
    static const char *const embedded[] = {"TL_EMBEDDED", NULL};
    static const char *const plain[] = {NULL};
    static const char *const types[] = {"tl_config", "tl_status"};
    bool intrusive = export->request->intrusive;
    char file[SOURCE_NAME_BYTES];
    (void)source_of(export->algo->name, file);
    if (!amalgam_read(&export->amalgam, file, intrusive ? embedded : plain, export->error)) {
        return false;
    }
    for (size_t i = 0; i < export->amalgam.count; i++) {
        struct piece text = export->amalgam.items[i].text;
        if (text.length > 8 && strncmp(text.at, "TL_ALGO(", 8) == 0) {
            export->descriptor = text;
        }
    }
    bool good = !export->request->nodes || nodes_are_possible(export);
    amalgam_keep_none(&export->amalgam);
    for (size_t i = 0; good && i < sizeof hooks / sizeof hooks[0]; i++) {
        good = keep_hook(export, hooks[i], strcmp(hooks[i], "next") == 0);
    }
    good = good && (!intrusive || keep_hook(export, "moved", false));
    for (size_t i = 0; good && i < sizeof types / sizeof types[0]; i++) {
        (void)amalgam_keep(&export->amalgam, piece_of(types[i]));
    }
    if (good) {
        amalgam_keep_around(&export->amalgam);
    }
    return good;
}

/* The statuses that the kept code returns, with their texts. */
static void set_statuses(struct export *export)
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
    struct text_out out;
    text_open(&out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words[] = {rows[i].name, NULL};
        if (is_used(&export->amalgam, words)) {
            (void)fprintf(out.stream, "    %s = %d, /* %s */\n", rows[i].name, (int)rows[i].code,
                          rows[i].text);
        }
    }
    set_given(export, "statuses", text_take(&out), true);
}

static void set_includes(struct export *export)
{
    static const char *const align[] = {"alignof", "alignas", NULL};
    static const char *const memory[] = {"memcpy", "memset", "memmove", "memcmp", NULL};
    struct text_out out;
    text_open(&out);
    if (is_used(&export->amalgam, align)) {
        (void)fputs("#include <stdalign.h>\n", out.stream);
    }
    if (is_used(&export->amalgam, memory)) {
        (void)fputs("#include <string.h>\n", out.stream);
    }
    set_given(export, "includes", text_take(&out), true);
}

/* Write the member of an option, or its value, in the order of the table, which is that of the
 * structure's own struct. */
static void write_option(FILE *stream, const struct tl_option *option, const void *values,
                         bool is_member)
{
    char word[TL_TEXT_BYTES];
    char name[64];
    (void)tl_option_format(option, values, word, sizeof word);
    symbol_of(option->name, name, sizeof name);
    bool is_narrow = option->kind == TL_OPTION_U32 || option->kind == TL_OPTION_CHOICE;
    if (is_member) {
        (void)fprintf(stream, "        %s %s;\n", is_narrow ? "uint32_t" : "uint64_t", name);
    } else {
        (void)fprintf(stream, "        .%s = %" PRIu64 "u%s, /* %s: %s */\n", name,
                      tl_option_number(option, values), is_narrow ? "" : "ll", word, option->help);
    }
}

static void set_options(struct export *export)
{
    const struct tl_algo *algo = export->algo;
    const void *values = export->request->contender->options;
    struct text_out out;
    text_open(&out);
    (void)fputs("    static const struct {\n", out.stream);
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        write_option(out.stream, &algo->options[i], values, true);
    }
    (void)fputs("    } options = {\n", out.stream);
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        write_option(out.stream, &algo->options[i], values, false);
    }
    (void)fputs("    };", out.stream);
    char all[256];
    (void)tl_options_format(algo, export->request->contender->options, true, all, sizeof all);
    set_given(export, "option_values", text_take(&out), true);
    set_given(export, "options", memory_copy(all[0] != '\0' ? all : "none"),
              tl_option_count(algo) > 0);
}

static void set_precision(struct export *export)
{
    const void *options = export->request->contender->options;
    struct tl_precision near = tl_algo_precision(export->algo, options, 1);
    struct tl_precision far = tl_algo_precision(export->algo, options, UINT64_C(1000000));
    char text[256];
    if (near.early_ticks == 0 && near.late_ticks == 0 && far.early_ticks == 0 &&
        far.late_ticks == 0) {
        set(export, "exactness", "exact: never early, never late");
        return;
    }
    (void)snprintf(text, sizeof text,
                   "early by up to %" PRIu64 " ticks, late by up to %" PRIu64
                   "; of a delay of a million, %" PRIu64 " and %" PRIu64,
                   near.early_ticks, near.late_ticks, far.early_ticks, far.late_ticks);
    set(export, "exactness", text);
}

static void set_promises(struct export *export)
{
    uint32_t capabilities = export->algo->capabilities;
    size_t count = 0;
    const struct tl_capability_row *rows = tl_capabilities(&count);
    struct text_out words;
    struct text_out codes;
    text_open(&words);
    text_open(&codes);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if ((capabilities & rows[i].bit) == 0) {
            continue;
        }
        (void)fprintf(words.stream, "%s%s", any ? ", " : "", rows[i].word);
        any = true;
    }
    const char *separator = "";
#define ROW(code, bit, word, text)                                                                 \
    if ((capabilities & (code)) != 0) {                                                            \
        (void)fprintf(codes.stream, "%s%s", separator, #code);                                     \
        separator = " | ";                                                                         \
    }
    TL_CAPABILITY_MAP(ROW)
#undef ROW
    if (separator[0] == '\0') {
        (void)fputc('0', codes.stream);
    }
    set_given(export, "promises", text_take(&words), true);
    set_given(export, "capabilities", text_take(&codes), true);
}

/* The lines of a text, each with " * " before it. */
static void set_comment(struct export *export, const char *name, const char *text)
{
    struct text_out out;
    text_open(&out);
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        (void)fprintf(out.stream, " *%s%.*s\n", length > 0 ? " " : "", (int)length, text);
        text += length + (text[length] == '\n');
    }
    set_given(export, name, text_take(&out), true);
}

static bool set_heap(struct export *export)
{
    static const char *const plain[] = {NULL};
    struct amalgam heap;
    if (!amalgam_read(&heap, "memory.c", plain, export->error)) {
        return false;
    }
    (void)amalgam_keep(&heap, piece_of("system_resize"));
    char *text = kept_text(&heap, (struct wanted){.file = "memory.c"});
    amalgam_free(&heap);
    set_given(export, "heap", text, true);
    return true;
}

/* The code of the precision hook, for the plug-in. */
static void set_precision_code(struct export *export)
{
    struct piece hook = hook_of(export, "precision");
    if (hook.length == 0) {
        return;
    }
    amalgam_keep_none(&export->amalgam);
    (void)amalgam_keep(&export->amalgam, hook);
    amalgam_keep_around(&export->amalgam);
    set_flag(export, "precision", true);
    set_given(export, "precision_code", kept_text(&export->amalgam, (struct wanted){0}), true);
    set_given(export, "precision_hook", memory_copy_part(hook.at, hook.length), true);
}

/* The comment on top of the structure's file. */
static void set_essay(struct export *export)
{
    struct text_out out;
    text_open(&out);
    for (size_t i = 0; i < export->amalgam.count; i++) {
        struct item *item = &export->amalgam.items[i];
        if (item->kind == ITEM_COMMENT) {
            item->kept = true;
            (void)fwrite(item->text.at, 1, item->text.length, out.stream);
            break;
        }
    }
    set_given(export, "essay", text_take(&out), true);
}

static bool set_all(struct export *export)
{
    const struct export_request *request = export->request;
    const struct tl_algo *algo = export->algo;
    uint32_t capabilities = algo->capabilities;
    size_t node_bytes = request->intrusive ? request->contender->embedded->embedded_bytes : 0;
    char refusals[256];
    (void)snprintf(refusals, sizeof refusals, "%s%s",
                   (capabilities & TL_CAP_UNLIMITED) != 0
                       ? "Every deadline is accepted."
                       : "A deadline too far ahead is refused, and nothing changes.",
                   (capabilities & TL_CAP_REFUSES) != 0 ? " So is a timer too many." : "");
    char plugin[PREFIX_MAX_CHARS + 16];
    (void)snprintf(plugin, sizeof plugin, "%s-exported", export->prefix);
    for (char *c = plugin; *c != '\0'; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    set_essay(export);
    set_statuses(export);
    set_includes(export);
    set_options(export);
    set_precision(export);
    set_promises(export);
    set_comment(export, "licence", embedded_source("LICENSE"));
    set(export, "prefix", export->prefix);
    set(export, "name", algo->name);
    set(export, "summary", algo->summary);
    set(export, "origin", algo->origin);
    set(export, "version", BUILD_VERSION);
    set(export, "command", request->command);
    set(export, "plugin_name", plugin);
    set(export, "refusals", refusals);
    set(export, "cost_start", algo->cost.start);
    set(export, "cost_stop", algo->cost.stop);
    set(export, "cost_tick", algo->cost.tick);
    set(export, "cost_expire", algo->cost.expire);
    set_flag(export, "intrusive", request->intrusive);
    set_number(export, "node_bytes", node_bytes);
    set_number(export, "node_words", node_bytes / sizeof(uint64_t));
    set(export, "next_is",
        (capabilities & TL_CAP_NEXT_EXACT) != 0 ? "the next expiry" : "it may fire nothing");
    set(export, "budget",
        (capabilities & TL_CAP_BUDGET) != 0
            ? "At most `budget` expire; the others\n * follow in the next calls."
            : "`budget` is ignored.");
    set_given(export, "body",
              kept_text(&export->amalgam,
                        (struct wanted){.contract = true, .records = request->intrusive}),
              true);
    return set_heap(export);
}

/* --- templates ------------------------------------------------------------------------------- */

/* Return the filled template: `@if name` and `@ifnot name` up to `@end` (not nested), `@item name`,
 * and @name@ anywhere. */
static char *fill_template(const struct export *export, const char *template)
{
    struct text_out out;
    text_open(&out);
    bool shown = true;
    while (*template != '\0') {
        const char *end = strchr(template, '\n') + 1;
        const char *at = template;
        const char *words = template + 1;
        struct piece word;
        struct piece name;
        template = end;
        (void)token_next(&words, end, &word);
        if (at[0] == '@' && piece_is(word, "end")) {
            shown = true;
            continue;
        }
        if (at[0] == '@' && (piece_is(word, "if") || piece_is(word, "ifnot"))) {
            (void)token_next(&words, end, &name);
            const struct value *value = value_find(export, name);
            shown = (value != NULL && value->given) == piece_is(word, "if");
            continue;
        }
        if (!shown) {
            continue;
        }
        if (at[0] == '@' && piece_is(word, "item")) {
            char text[64];
            (void)token_next(&words, end, &name);
            (void)snprintf(text, sizeof text, "%.*s", (int)name.length, name.at);
            write_item(out.stream, amalgam_find(&export->amalgam, text), false, true);
            continue;
        }
        while (at < end) {
            const char *close = *at == '@' ? memchr(at + 1, '@', (size_t)(end - at - 1)) : NULL;
            const struct value *value =
                close != NULL ? value_find(export, (struct piece){at + 1, (size_t)(close - at - 1)})
                              : NULL;
            if (value != NULL) {
                (void)fputs(value->text, out.stream);
                at = close + 1;
            } else {
                (void)fputc(*at++, out.stream);
            }
        }
    }
    return text_take(&out);
}

/* Return whether a text contains that word. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == text || !is_word_char(at[-1])) && !is_word_char(at[length])) {
            return true;
        }
    }
    return false;
}

/* The new prefix of public names. */
struct renaming {
    const char *prefix;
    char upper[PREFIX_MAX_CHARS + 1];
    const char *texts[2]; /* all texts with public names */
};

/* Return whether an internal name would equal a public one: it begins with the prefix, and exists
 * with tl_ instead. */
static bool is_in_the_way(const struct renaming *renaming, const char *word, size_t length)
{
    size_t prefix_length = strlen(renaming->prefix);
    bool lower = strncmp(word, renaming->prefix, prefix_length) == 0;
    bool upper = strncmp(word, renaming->upper, prefix_length) == 0;
    if ((!lower && !upper) || length <= prefix_length + 1 || word[prefix_length] != '_') {
        return false;
    }
    char outside[256];
    (void)snprintf(outside, sizeof outside, "%s%.*s", lower ? "tl" : "TL",
                   (int)(length - prefix_length), word + prefix_length);
    return has_word(renaming->texts[0], outside) || has_word(renaming->texts[1], outside);
}

/* Write a text with the prefix instead of tl_ and TL_, an underscore after conflicting names, and
 * at most one empty line in a row. */
static void write_renamed(FILE *stream, const struct renaming *renaming, const char *text)
{
    size_t line_ends = 0;
    while (*text != '\0') {
        size_t length = 0;
        while (is_word_char(text[length])) {
            length++;
        }
        line_ends = *text == '\n' ? line_ends + 1 : 0;
        if (length == 0 && line_ends < 3) {
            (void)fputc(*text, stream);
        } else if (strncmp(text, "tl_", 3) == 0 || strncmp(text, "TL_", 3) == 0) {
            (void)fprintf(stream, "%s%.*s", *text == 't' ? renaming->prefix : renaming->upper,
                          (int)length - 2, text + 2);
        } else if (length > 0) {
            (void)fprintf(stream, "%.*s%s", (int)length, text,
                          is_in_the_way(renaming, text, length) ? "_" : "");
        }
        text += length > 0 ? length : 1;
    }
    (void)fputc('\n', stream);
}

/* The files, with their templates. */
enum part { PART_HEADER, PART_SOURCE, PART_CPP, PART_NODES, PART_PLUGIN, PART_COUNT };

static const struct {
    const char *ending;
    const char *template;
} parts[PART_COUNT] = {
    [PART_HEADER] = {".h", text_timers_h_in},        [PART_SOURCE] = {".c", text_timers_c_in},
    [PART_CPP] = {".hpp", text_timers_hpp_in},       [PART_NODES] = {"_nodes.h", text_nodes_h_in},
    [PART_PLUGIN] = {"_plugin.c", text_plugin_c_in},
};

static bool is_asked_for(const struct export_request *request, enum part part)
{
    bool asked[PART_COUNT] = {[PART_HEADER] = true,
                              [PART_SOURCE] = true,
                              [PART_CPP] = request->cpp,
                              [PART_NODES] = request->nodes,
                              [PART_PLUGIN] = request->plugin};
    return asked[part];
}

static bool write_file(const struct export *export, struct outfile *file, enum part part,
                       char *const texts[PART_COUNT])
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s%s", export->request->folder, export->prefix,
                          parts[part].ending);
    if (length < 0 || (size_t)length >= sizeof path) {
        return error_set(export->error, "the path of the folder is too long");
    }
    if (!outfile_open(file, path, export->error)) {
        return false;
    }
    if (part == PART_PLUGIN) { /* it has both the contract's names and these */
        (void)fprintf(file->stream, "%s\n", texts[part]);
        return true;
    }
    struct renaming renaming = {.prefix = export->prefix,
                                .texts = {texts[PART_HEADER], texts[PART_SOURCE]}};
    for (size_t i = 0; export->prefix[i] != '\0'; i++) {
        renaming.upper[i] = (char)toupper((unsigned char)export->prefix[i]);
    }
    write_renamed(file->stream, &renaming, texts[part]);
    return true;
}

static bool make_texts(struct export *export, char *texts[PART_COUNT])
{
    if (!read_structure(export) || !set_all(export)) {
        return false;
    }
    for (int part = 0; part < PART_COUNT; part++) {
        if (part == PART_PLUGIN) {
            set_precision_code(export);
        }
        texts[part] = fill_template(export, parts[part].template);
    }
    return true;
}

bool export_write(const struct export_request *request, struct error *error)
{
    if (!is_possible(request->contender, request->intrusive,
                     request->nodes || request->cpp || request->plugin, error)) {
        return false;
    }
    struct export export = {.request = request, .algo = request->contender->timed, .error = error};
    if (request->prefix != NULL) {
        (void)snprintf(export.prefix, sizeof export.prefix, "%s", request->prefix);
    } else {
        symbol_of(export.algo->name, export.prefix, sizeof export.prefix);
    }
    if ((export.algo->capabilities & TL_CAP_DURABLE) != 0) {
        char symbol[PREFIX_MAX_CHARS + 1];
        base_of(export.algo->name, symbol, sizeof symbol);
        symbol_of(symbol, symbol, sizeof symbol);
        return export_write_durable(request, request->prefix != NULL ? export.prefix : "timers",
                                    symbol, error);
    }
    char *texts[PART_COUNT] = {NULL};
    struct outfile files[PART_COUNT] = {0};
    bool good = make_texts(&export, texts) && folder_make(request->folder, error);
    for (enum part part = 0; good && part < PART_COUNT; part++) {
        if (is_asked_for(request, part)) {
            good = write_file(&export, &files[part], part, texts);
        }
    }
    for (enum part part = 0; part < PART_COUNT; part++) {
        if (good && is_asked_for(request, part)) {
            good = outfile_commit(&files[part], error);
        } else {
            outfile_abort(&files[part]);
        }
        free(texts[part]);
    }
    for (size_t i = 0; i < export.value_count; i++) {
        free(export.values[i].text);
    }
    free(export.values);
    amalgam_free(&export.amalgam);
    return good;
}
