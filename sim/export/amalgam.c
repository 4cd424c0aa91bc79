/* Includes, conditions, declarations, and the references between them. This reads only the format
 * of the sources in this repository, not any C: declarations begin in the first column, and
 * declarations made by a macro at file level are known by name only. */
#include "amalgam.h"

#include "memory.h"
#include "sources.h" /* generated from the files in algos/ */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item_name {
    struct piece name;
    size_t item;
};

struct embedded {
    const char *file;
    const char *text;
};

static bool piece_equals(struct piece a, struct piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static bool piece_is(struct piece piece, const char *word)
{
    return piece_equals(piece, (struct piece){word, strlen(word)});
}

static bool piece_begins(struct piece piece, const char *begin)
{
    size_t length = strlen(begin);
    return piece.length >= length && memcmp(piece.at, begin, length) == 0;
}

/* Return the embedded file of this name; of no text if there is none. */
static struct embedded embedded_find(struct piece file)
{
    static const struct embedded files[] = {
#define ROW(file, text) {file, text},
        EMBEDDED_FILES(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (piece_is(file, files[i].file)) {
            return files[i];
        }
    }
    return (struct embedded){"", NULL};
}

const char *embedded_source(const char *file)
{
    return embedded_find((struct piece){file, strlen(file)}).text;
}

/* --- words of C ------------------------------------------------------------------------------ */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_QUOTED, TOKEN_SIGN };

bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Return the end of the comment at `at`, or `end`. */
static const char *comment_end(const char *at, const char *end)
{
    const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
    return close != NULL ? close + 2 : end;
}

static bool is_comment(const char *at, const char *end)
{
    return end - at >= 2 && at[0] == '/' && at[1] == '*';
}

/* Read the next token at *at, and move *at after it; skip blanks and comments. */
static enum token_kind token_next(const char **at, const char *end, struct piece *token)
{
    const char *c = *at;
    while (c < end && (isspace((unsigned char)*c) || *c == '\\' || is_comment(c, end))) {
        c = is_comment(c, end) ? comment_end(c, end) : c + 1;
    }
    enum token_kind kind = TOKEN_SIGN;
    const char *begin = c;
    if (c >= end) {
        kind = TOKEN_END;
    } else if (is_word_char(*c)) {
        kind = isdigit((unsigned char)*c) ? TOKEN_NUMBER : TOKEN_WORD;
        while (c < end && (is_word_char(*c) || (kind == TOKEN_NUMBER && *c == '.'))) {
            c++;
        }
    } else if (*c == '"' || *c == '\'') {
        kind = TOKEN_QUOTED;
        for (c++; c < end && *c != *begin; c++) {
            c += *c == '\\';
        }
        c++;
    } else {
        c += end - c >= 2 && c[0] == '-' && c[1] == '>' ? 2 : 1;
    }
    c = c < end ? c : end;
    *token = (struct piece){begin, (size_t)(c - begin)};
    *at = c;
    return kind;
}

bool code_has(const char *text, const char *before, const char *word)
{
    const char *end = text + strlen(text);
    struct piece last = {text, 0};
    for (struct piece token; token_next(&text, end, &token) != TOKEN_END; last = token) {
        if (piece_is(token, word) && (before == NULL || piece_is(last, before))) {
            return true;
        }
    }
    return false;
}

/* --- includes and conditions ----------------------------------------------------------------- */

/* The first character of a line with the name of the following file. */
#define FILE_MARK '\001'

/* The value of a condition; TRUTH_OPEN: the compiler decides. */
enum truth { TRUTH_NO, TRUTH_YES, TRUTH_OPEN };

struct macro {
    struct piece name; /* of length 0: undefined again */
    struct piece value;
};

struct reading {
    FILE *out;
    struct macro *macros;
    size_t macro_count;
};

static struct macro *macro_find(const struct reading *reading, struct piece name)
{
    for (size_t i = 0; i < reading->macro_count; i++) {
        if (piece_equals(name, reading->macros[i].name)) {
            return &reading->macros[i];
        }
    }
    return NULL;
}

static void macro_define(struct reading *reading, struct piece name, struct piece value)
{
    struct macro *macro = macro_find(reading, name);
    if (macro == NULL) {
        reading->macros =
            memory_resize(reading->macros, reading->macro_count + 1, sizeof *reading->macros);
        macro = &reading->macros[reading->macro_count++];
    }
    *macro = (struct macro){name, value};
}

/* Evaluate `NAME`, or `NAME > NUMBER` if that sign follows at *at. */
static enum truth evaluate_name(const struct reading *reading, struct piece name, const char **at,
                                const char *end)
{
    const struct macro *macro = macro_find(reading, name);
    const char *next = *at;
    struct piece token;
    (void)token_next(&next, end, &token);
    if (piece_is(token, ">")) {
        (void)token_next(&next, end, &token);
        *at = next;
        bool greater =
            macro != NULL && strtol(macro->value.at, NULL, 0) > strtol(token.at, NULL, 0);
        return greater ? TRUTH_YES : TRUTH_NO;
    }
    if (piece_begins(name, "__") && !piece_is(name, "__cplusplus")) {
        return TRUTH_OPEN;
    }
    return macro != NULL ? TRUTH_YES : TRUTH_NO;
}

/* Evaluate #ifdef, #ifndef, or #if or #elif of names with `defined` or `>`, joined by &&. #else is
 * true. */
static enum truth evaluate(const struct reading *reading, struct piece line)
{
    const char *at = line.at + 1;
    const char *end = line.at + line.length;
    enum truth all = TRUTH_YES;
    struct piece directive;
    struct piece token;
    enum token_kind kind;
    (void)token_next(&at, end, &directive);
    while ((kind = token_next(&at, end, &token)) != TOKEN_END) {
        if (kind == TOKEN_WORD && !piece_is(token, "defined")) {
            enum truth one = evaluate_name(reading, token, &at, end);
            all = one == TRUTH_NO || all == TRUTH_NO ? TRUTH_NO : one == TRUTH_OPEN ? one : all;
        }
    }
    if (all != TRUTH_OPEN && piece_is(directive, "ifndef")) {
        return all == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
    }
    return all;
}

/* Return the end of the logical line at `at`: a backslash or a comment continues it. */
static const char *directive_end(const char *at)
{
    const char *end = at + strlen(at);
    while (at < end && *at != '\n') {
        if (is_comment(at, end)) {
            at = comment_end(at, end);
        } else {
            at += *at == '\\' && at[1] == '\n' ? 2 : 1;
        }
    }
    return at < end ? at + 1 : end;
}

static void read_file(struct reading *reading, struct piece name);

/* #define, #undef or #include; others are ignored. */
static void read_directive(struct reading *reading, const char *file, struct piece line)
{
    const char *at = line.at + 1;
    const char *end = line.at + line.length;
    struct piece directive;
    struct piece name;
    struct piece value;
    (void)token_next(&at, end, &directive);
    enum token_kind kind = token_next(&at, end, &name);
    if (piece_is(directive, "include")) {
        if (kind == TOKEN_QUOTED) { /* the includes of the C library are found by its words */
            read_file(reading, (struct piece){name.at + 1, name.length - 2});
            (void)fprintf(reading->out, "%c%s\n", FILE_MARK, file);
        }
        return;
    }
    (void)fwrite(line.at, 1, line.length, reading->out);
    if (piece_is(directive, "define")) {
        (void)token_next(&at, end, &value);
        macro_define(reading, name, value);
    } else if (macro_find(reading, name) != NULL) {
        macro_find(reading, name)->name.length = 0;
    }
}

static struct piece read_block(struct reading *reading, const char *file, const char **at,
                               bool counts);

/* Copy those blocks of a condition that are included, from its #if on, up to the #endif. */
static void read_condition(struct reading *reading, const char *file, const char **at,
                           struct piece line, bool counts)
{
    bool taken = false;
    bool open = counts && evaluate(reading, line) == TRUTH_OPEN;
    do {
        if (open) {
            (void)fwrite(line.at, 1, line.length, reading->out);
        }
        bool here = counts && !taken && evaluate(reading, line) != TRUTH_NO;
        taken = !open && (taken || here);
        line = read_block(reading, file, at, here);
    } while (!piece_begins(line, "#endif"));
    if (open) {
        (void)fwrite(line.at, 1, line.length, reading->out);
    }
}

/* Copy the text before the next #elif, #else or #endif, if it `counts`; return that line. */
static struct piece read_block(struct reading *reading, const char *file, const char **at,
                               bool counts)
{
    while (**at != '\0') {
        bool directive = **at == '#';
        const char *end = directive ? directive_end(*at) : *at + strcspn(*at, "\n") + 1;
        struct piece line = {*at, (size_t)(end - *at)};
        *at = end;
        if (piece_begins(line, "#e")) {
            return line;
        }
        if (piece_begins(line, "#if")) {
            read_condition(reading, file, at, line, counts);
        } else if (counts && directive) {
            read_directive(reading, file, line);
        } else if (counts) {
            (void)fwrite(line.at, 1, line.length, reading->out);
        }
    }
    return (struct piece){"#endif", 6};
}

static void read_file(struct reading *reading, struct piece name)
{
    const struct embedded embedded = embedded_find(name);
    const char *at = embedded.text;
    if (at != NULL) {
        (void)fprintf(reading->out, "%c%s\n", FILE_MARK, embedded.file);
        (void)read_block(reading, embedded.file, &at, true);
    }
}

/* --- declarations ---------------------------------------------------------------------------- */

static void declare(struct amalgam *amalgam, struct piece name)
{
    MEMORY_REACH(amalgam->names, amalgam->name_room, amalgam->name_count);
    amalgam->names[amalgam->name_count++] = (struct item_name){name, amalgam->count - 1};
}

/* A declaration being read. */
struct declaration {
    struct amalgam *amalgam;
    size_t depth; /* open brackets of all kinds */
    bool is_typedef;
    bool in_enum;        /* the next words in braces, after each comma, are enumerators */
    bool function;       /* it may end with a body */
    bool named;          /* it declares no more names outside of brackets */
    struct piece before; /* the token before */
};

/* Return whether the token before is a name that a sign after it declares. */
static bool may_be_name(const struct declaration *declaration)
{
    struct piece word = declaration->before;
    return word.length > 0 && is_word_char(word.at[0]) && !piece_is(word, "struct") &&
           !piece_is(word, "union") && !piece_is(word, "enum") && !piece_is(word, "__attribute__");
}

static void take_word(struct declaration *declaration, struct piece word)
{
    bool first = piece_is(declaration->before, "{") || piece_is(declaration->before, ",");
    bool pointer = declaration->is_typedef && piece_is(declaration->before, "*");
    if (declaration->depth == 0) {
        declaration->is_typedef |= piece_is(word, "typedef");
        declaration->in_enum |= piece_is(word, "enum");
    } else if (declaration->depth == 1 && declaration->in_enum && first) {
        declare(declaration->amalgam, word);
    } else if (declaration->depth == 1 && pointer && !declaration->named) {
        declare(declaration->amalgam, word); /* typedef int (*word)(...) */
        declaration->named = true;
    }
}

/* Return true at the end of the declaration. */
static bool take_sign(struct declaration *declaration, char sign)
{
    bool outside = declaration->depth == 0;
    if (outside && !declaration->named && strchr("([{=;", sign) != NULL &&
        may_be_name(declaration) && !(declaration->is_typedef && sign == '(')) {
        declare(declaration->amalgam, declaration->before);
        declaration->function = sign == '(';
        declaration->named = sign != '{'; /* after the body of a struct, another name may follow */
    }
    declaration->in_enum = declaration->in_enum && (!outside || sign == '{');
    declaration->depth += strchr("([{", sign) != NULL;
    declaration->depth -= strchr(")]}", sign) != NULL;
    return declaration->depth == 0 &&
           (sign == ';' || (sign == '}' && declaration->function && !outside));
}

/* Add the names of a declaration; return its end, after the semicolon or body. */
static const char *read_declaration(struct amalgam *amalgam, const char *at, const char *end)
{
    struct declaration declaration = {.amalgam = amalgam, .before = {at, 0}};
    struct piece token;
    enum token_kind kind;
    while ((kind = token_next(&at, end, &token)) != TOKEN_END) {
        if (token.at[0] == '#' && token.at[-1] == '\n') {
            at = directive_end(token.at);
        } else if (kind == TOKEN_WORD) {
            take_word(&declaration, token);
        } else if (kind == TOKEN_SIGN && take_sign(&declaration, token.at[0])) {
            break;
        }
        declaration.before = token;
    }
    return at;
}

/* --- items ----------------------------------------------------------------------------------- */

/* The end of the line, or of the one in which its comment ends. */
static const char *line_end(const char *at, const char *end)
{
    while (at < end && *at != '\n') {
        at = is_comment(at, end) ? comment_end(at, end) : at + 1;
    }
    return at < end ? at + 1 : end;
}

static void item_add(struct amalgam *amalgam, struct item item)
{
    MEMORY_REACH(amalgam->items, amalgam->room, amalgam->count);
    amalgam->items[amalgam->count++] = item;
}

/* Add the declaration or the directive at `at`; return its end. */
static const char *read_item(struct amalgam *amalgam, struct item item, const char *at,
                             const char *end)
{
    const char *after = at + 1;
    struct piece word = {at, 0};
    item.kind = ITEM_CODE;
    if (*at == '#') {
        (void)token_next(&after, end, &word);
        item.kind =
            piece_is(word, "define") || piece_is(word, "undef") ? ITEM_MACRO : ITEM_CONDITION;
        (void)token_next(&after, end, &word);
    }
    item_add(amalgam, item);
    if (item.kind == ITEM_MACRO) {
        declare(amalgam, word);
    }
    after = *at == '#' ? directive_end(at) : line_end(read_declaration(amalgam, at, end), end);
    amalgam->items[amalgam->count - 1].text = (struct piece){at, (size_t)(after - at)};
    return after;
}

static void read_items(struct amalgam *amalgam)
{
    const char *at = amalgam->text;
    const char *end = at + strlen(at);
    struct item item = {.file = "", .comment = {at, 0}};
    while (at < end) {
        const char *after = line_end(at, end);
        if (*at == '\n' || *at == FILE_MARK) {
            if (item.comment.length > 0) { /* it belongs to no declaration */
                item_add(amalgam, (struct item){.file = item.file, .text = item.comment});
                item.comment.length = 0;
            }
            if (*at == FILE_MARK) {
                item.file = embedded_find((struct piece){at + 1, (size_t)(after - at - 2)}).file;
            }
        } else if (is_comment(at, end)) {
            const char *begin = item.comment.length > 0 ? item.comment.at : at;
            item.comment = (struct piece){begin, (size_t)(after - begin)};
        } else {
            after = read_item(amalgam, item, at, end);
            item.comment.length = 0;
        }
        at = after;
    }
}

static int by_name(const void *a, const void *b)
{
    struct piece first = ((const struct item_name *)a)->name;
    struct piece second = ((const struct item_name *)b)->name;
    if (first.length != second.length) {
        return first.length < second.length ? -1 : 1;
    }
    return memcmp(first.at, second.at, first.length);
}

void amalgam_read(struct amalgam *amalgam, const char *file, bool intrusive)
{
    static const struct piece embedded = {"TL_EMBEDDED", 11};
    *amalgam = (struct amalgam){0};
    size_t bytes = 0;
    struct reading reading = {.out = memory_stream(&amalgam->text, &bytes)};
    if (intrusive) {
        macro_define(&reading, embedded, (struct piece){"", 0});
    }
    read_file(&reading, (struct piece){file, strlen(file)});
    free(reading.macros);
    memory_stream_close(reading.out);
    read_items(amalgam);
    qsort(amalgam->names, amalgam->name_count, sizeof *amalgam->names, by_name);
}

void amalgam_free(struct amalgam *amalgam)
{
    free(amalgam->text);
    free(amalgam->items);
    free(amalgam->names);
    *amalgam = (struct amalgam){0};
}

/* --- references ------------------------------------------------------------------------------ */

/* The rows of a name; count 0: none. */
struct rows {
    const struct item_name *first;
    size_t count;
};

static struct rows names_find(const struct amalgam *amalgam, struct piece name)
{
    const struct item_name wanted = {.name = name};
    const struct item_name *end = amalgam->names + amalgam->name_count;
    struct rows rows = {.count = 0};
    rows.first = bsearch(&wanted, amalgam->names, amalgam->name_count, sizeof wanted, by_name);
    while (rows.first != NULL && rows.first > amalgam->names &&
           by_name(rows.first - 1, &wanted) == 0) {
        rows.first--;
    }
    while (rows.first != NULL && rows.first + rows.count < end &&
           by_name(rows.first + rows.count, &wanted) == 0) {
        rows.count++;
    }
    return rows;
}

static void keep_item(struct amalgam *amalgam, struct item *item)
{
    if (item->kept || item->omitted) {
        return;
    }
    item->kept = true;
    const char *at = item->text.at;
    const char *end = at + item->text.length;
    struct piece before = {at, 0};
    struct piece token;
    for (enum token_kind kind; (kind = token_next(&at, end, &token)) != TOKEN_END; before = token) {
        if (kind == TOKEN_WORD && !piece_is(before, ".") && !piece_is(before, "->")) {
            (void)amalgam_keep(amalgam, token);
        }
    }
}

bool amalgam_keep(struct amalgam *amalgam, struct piece name)
{
    struct rows rows = names_find(amalgam, name);
    for (size_t i = 0; i < rows.count; i++) {
        keep_item(amalgam, &amalgam->items[rows.first[i].item]);
    }
    return rows.count > 0;
}

void amalgam_keep_none(struct amalgam *amalgam)
{
    for (size_t i = 0; i < amalgam->count; i++) {
        amalgam->items[i].kept = false;
    }
}

void amalgam_keep_conditions(struct amalgam *amalgam)
{
    for (size_t first = 0; first < amalgam->count; first++) {
        if (!piece_begins(amalgam->items[first].text, "#if")) {
            continue;
        }
        size_t last = first;
        bool any = false;
        for (; !piece_begins(amalgam->items[last].text, "#endif"); last++) {
            any |= amalgam->items[last].kept;
        }
        for (size_t i = first; any && i <= last; i++) {
            amalgam->items[i].kept |= amalgam->items[i].kind == ITEM_CONDITION;
        }
    }
}

const struct item *amalgam_omit(struct amalgam *amalgam, const char *name)
{
    struct rows rows = names_find(amalgam, (struct piece){name, strlen(name)});
    struct item *item = NULL;
    for (size_t i = 0; i < rows.count; i++) {
        item = &amalgam->items[rows.first[i].item];
        item->omitted = true;
    }
    return item;
}

/* Return the last word of the value of a designated member; length 0: not in this text. */
static struct piece member_of(struct piece text, const char *member)
{
    const char *at = text.at;
    const char *end = at + text.length;
    struct piece value = {at, 0};
    struct piece before = value;
    for (struct piece token; value.length == 0 && token_next(&at, end, &token) != TOKEN_END;
         before = token) {
        bool found = piece_is(before, ".") && piece_is(token, member);
        while (found && token_next(&at, end, &token) != TOKEN_END && !piece_is(token, ",")) {
            value = is_word_char(token.at[0]) ? token : value;
        }
    }
    return value;
}

struct piece amalgam_hook(const struct amalgam *amalgam, const char *hook)
{
    const struct item *descriptor = amalgam->items;
    while (!piece_begins(descriptor->text, "TL_ALGO(")) {
        descriptor++;
    }
    struct piece name = member_of(descriptor->text, hook);
    const char *at = descriptor->text.at;
    const char *end = at + descriptor->text.length;
    struct piece token;
    while (name.length == 0 && token_next(&at, end, &token) != TOKEN_END) {
        struct rows rows = names_find(amalgam, token); /* of a macro, such as HEAP_HOOKS */
        for (size_t i = 0; name.length == 0 && i < rows.count; i++) {
            const struct item *item = &amalgam->items[rows.first[i].item];
            name = item->kind == ITEM_MACRO ? member_of(item->text, hook) : name;
        }
    }
    return name;
}
