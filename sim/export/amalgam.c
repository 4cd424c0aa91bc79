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

#define CONDITIONS_MAX 16

struct item_name {
    struct piece name;
    size_t item;
    bool defines; /* not only declares */
};

struct embedded {
    const char *file;
    const char *text;
};

struct piece piece_of(const char *text)
{
    return (struct piece){text, strlen(text)};
}

bool piece_equals(struct piece a, struct piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

bool piece_is(struct piece piece, const char *word)
{
    return piece_equals(piece, piece_of(word));
}

/* Return the embedded file of this name; of an empty text if there is none. */
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
    return embedded_find(piece_of(file)).text;
}

/* --- words of C ------------------------------------------------------------------------------ */

bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Return the end of the comment at `at`, or `end`. */
static const char *comment_end(const char *at, const char *end)
{
    for (const char *c = at + 2; c + 1 < end; c++) {
        if (c[0] == '*' && c[1] == '/') {
            return c + 2;
        }
    }
    return end;
}

static bool is_comment(const char *at, const char *end)
{
    return end - at >= 2 && at[0] == '/' && at[1] == '*';
}

enum token_kind token_next(const char **at, const char *end, struct piece *token)
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

/* --- includes and conditions ----------------------------------------------------------------- */

/* The value of a condition; TRUTH_OPEN: the compiler decides. */
enum truth { TRUTH_NO, TRUTH_YES, TRUTH_OPEN };

struct macro {
    char name[64];
    long value; /* 0 if it is not a number */
};

struct reading {
    FILE *out;
    struct macro *macros;
    size_t macro_count;
    struct error *error;
};

/* The first character of a line with the name of the following file. */
#define FILE_MARK '\001'

static struct macro *macro_find(const struct reading *reading, struct piece name)
{
    for (size_t i = 0; i < reading->macro_count; i++) {
        if (piece_is(name, reading->macros[i].name)) {
            return &reading->macros[i];
        }
    }
    return NULL;
}

static void macro_add(struct reading *reading, struct piece name, long value)
{
    struct macro *macro = macro_find(reading, name);
    if (macro == NULL) {
        reading->macros =
            memory_resize(reading->macros, reading->macro_count + 1, sizeof *reading->macros);
        macro = &reading->macros[reading->macro_count++];
        (void)snprintf(macro->name, sizeof macro->name, "%.*s", (int)name.length, name.at);
    }
    macro->value = value;
}

static enum truth name_is_defined(const struct reading *reading, struct piece name)
{
    if (name.length > 2 && memcmp(name.at, "__", 2) == 0 && !piece_is(name, "__cplusplus")) {
        return TRUTH_OPEN;
    }
    return macro_find(reading, name) != NULL ? TRUTH_YES : TRUTH_NO;
}

/* Evaluate a condition in one of two forms: defined(NAME), joined by &&, or NAME > NUMBER. */
static enum truth evaluate(const struct reading *reading, const char *at, const char *end)
{
    enum truth all = TRUTH_YES;
    struct piece token;
    while (token_next(&at, end, &token) != TOKEN_END) {
        enum truth one = TRUTH_OPEN;
        if (piece_is(token, "defined")) {
            (void)token_next(&at, end, &token);
            (void)token_next(&at, end, &token);
            one = name_is_defined(reading, token);
        } else if (token.at[0] == '&' || token.at[0] == ')') {
            continue;
        } else {
            const struct macro *macro = macro_find(reading, token);
            if (macro != NULL && token_next(&at, end, &token) == TOKEN_SIGN &&
                piece_is(token, ">") && token_next(&at, end, &token) == TOKEN_NUMBER) {
                one = macro->value > strtol(token.at, NULL, 0) ? TRUTH_YES : TRUTH_NO;
            }
        }
        if (one == TRUTH_NO) {
            return TRUTH_NO;
        }
        all = one == TRUTH_OPEN ? TRUTH_OPEN : all;
    }
    return all;
}

static bool read_file(struct reading *reading, const char *file);

/* #define, #undef or #include; `line` is the whole directive. */
static bool read_directive(struct reading *reading, const char *file, struct piece word,
                           const char *at, struct piece line)
{
    const char *end = line.at + line.length;
    struct piece name;
    if (piece_is(word, "include")) {
        enum token_kind kind = token_next(&at, end, &name);
        if (kind != TOKEN_QUOTED) {
            return true; /* the includes of the C library are found by its words */
        }
        char path[128];
        (void)snprintf(path, sizeof path, "%.*s", (int)name.length - 2, name.at + 1);
        if (!read_file(reading, path)) {
            return false;
        }
        (void)fprintf(reading->out, "%c%s\n", FILE_MARK, file);
        return true;
    }
    (void)fwrite(line.at, 1, line.length, reading->out);
    if (piece_is(word, "define")) {
        (void)token_next(&at, end, &name);
        struct piece value;
        bool number = token_next(&at, end, &value) == TOKEN_NUMBER;
        macro_add(reading, name, number ? strtol(value.at, NULL, 0) : 0);
    }
    if (piece_is(word, "undef")) {
        (void)token_next(&at, end, &name);
        struct macro *macro = macro_find(reading, name);
        if (macro != NULL) {
            macro->name[0] = '\0';
        }
    }
    return true;
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

/* An #if with its branches. */
struct condition {
    enum truth now; /* of the present branch */
    bool taken;     /* a branch was taken */
    bool outer;     /* the text around it is included */
};

/* The open conditions in a file. */
struct conditions {
    struct condition open[CONDITIONS_MAX];
    size_t depth;
    bool counts; /* the text here is included */
};

static bool opens_condition(struct piece word)
{
    return piece_is(word, "if") || piece_is(word, "ifdef") || piece_is(word, "ifndef");
}

/* Evaluate an #if, #ifdef, #ifndef or #elif; `at` is after that word. */
static enum truth ask(const struct reading *reading, struct piece word, const char *at,
                      const char *end)
{
    struct piece name;
    if (piece_is(word, "if") || piece_is(word, "elif")) {
        return evaluate(reading, at, end);
    }
    (void)token_next(&at, end, &name);
    enum truth truth = name_is_defined(reading, name);
    if (truth == TRUTH_OPEN || piece_is(word, "ifdef")) {
        return truth;
    }
    return truth == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
}

/* Process a line of a condition. Return false if it has a form not used in the sources. */
static bool take_condition(struct reading *reading, struct conditions *conditions,
                           struct piece word, const char *at, struct piece line)
{
    const char *end = line.at + line.length;
    bool opens = opens_condition(word);
    if (opens ? conditions->depth == CONDITIONS_MAX : conditions->depth == 0) {
        return false;
    }
    conditions->depth += opens;
    struct condition *condition = &conditions->open[conditions->depth - 1];
    bool open = condition->now == TRUTH_OPEN;
    if (opens) {
        *condition = (struct condition){.outer = conditions->counts};
        condition->now = ask(reading, word, at, end);
        condition->taken = condition->now == TRUTH_YES;
        open = condition->now == TRUTH_OPEN;
    } else if (piece_is(word, "elif")) {
        if (open) {
            return false;
        }
        condition->now = condition->taken ? TRUTH_NO : ask(reading, word, at, end);
        condition->taken |= condition->now == TRUTH_YES;
    } else if (piece_is(word, "else") && !open) {
        condition->now = condition->taken ? TRUTH_NO : TRUTH_YES;
    }
    if (open && condition->outer) {
        (void)fwrite(line.at, 1, line.length, reading->out);
    }
    bool closes = piece_is(word, "endif");
    conditions->counts = condition->outer && (closes || condition->now != TRUTH_NO);
    conditions->depth -= closes;
    return true;
}

static bool read_file(struct reading *reading, const char *file)
{
    const char *text = embedded_source(file);
    if (text == NULL) {
        return error_set(reading->error, "%s is not among the sources of the structures", file);
    }
    (void)fprintf(reading->out, "%c%s\n", FILE_MARK, file);
    struct conditions conditions = {.counts = true};
    bool good = true;
    while (good && *text != '\0') {
        const char *at = text + strspn(text, " ");
        const char *end = *at == '#' ? directive_end(text) : text + strcspn(text, "\n") + 1;
        struct piece line = {text, (size_t)(end - text)};
        struct piece word = {text, 0};
        text = end;
        if (*at == '#') {
            at++;
            (void)token_next(&at, end, &word);
        }
        if (opens_condition(word) || piece_is(word, "elif") || piece_is(word, "else") ||
            piece_is(word, "endif")) {
            good = take_condition(reading, &conditions, word, at, line) ||
                   error_set(reading->error, "%s: conditions that cannot be followed: %.*s", file,
                             (int)line.length - 1, line.at);
        } else if (conditions.counts && word.length > 0) {
            good = read_directive(reading, file, word, at, line);
        } else if (conditions.counts) {
            (void)fwrite(line.at, 1, line.length, reading->out);
        }
    }
    return good;
}

/* --- items ----------------------------------------------------------------------------------- */

static struct item *item_add(struct amalgam *amalgam, enum item_kind kind, const char *file)
{
    MEMORY_REACH(amalgam->items, amalgam->room, amalgam->count);
    struct item *item = &amalgam->items[amalgam->count++];
    *item = (struct item){.kind = kind, .file = file};
    return item;
}

static void name_add(struct amalgam *amalgam, struct piece name, bool defines)
{
    MEMORY_REACH(amalgam->names, amalgam->name_room, amalgam->name_count);
    amalgam->names[amalgam->name_count++] = (struct item_name){name, amalgam->count - 1, defines};
}

/* A declaration being read. Names of members and parameters are ignored, those of enumerators are
 * not. */
struct declaration {
    struct amalgam *amalgam;
    const char *end;
    size_t depth;
    bool is_typedef;
    bool is_tag;     /* the previous word was struct, union or enum */
    bool in_enum;    /* the open braces are an enum's, or will be */
    bool enumerator; /* the next word is an enumerator */
    bool named;      /* the declared name was found */
    bool attribute;  /* the parentheses are an attribute's */
    bool function;
    struct piece last;    /* the previous word, outside of parentheses */
    struct piece pointer; /* of a typedef: the name in (*name) */
    struct piece before;  /* the previous token */
};

static void declare(struct declaration *declaration, struct piece name, bool defines)
{
    declaration->named = true;
    name_add(declaration->amalgam, name, defines);
}

static void take_open(struct declaration *declaration, char sign)
{
    bool outside = declaration->depth == 0;
    bool unnamed = outside && !declaration->named && !declaration->is_typedef;
    if (unnamed && sign == '(' && !declaration->attribute && declaration->last.length > 0) {
        declaration->function = true;
        declare(declaration, declaration->last, false);
    } else if (unnamed && sign == '[') {
        declare(declaration, declaration->last, true);
    }
    declaration->in_enum = declaration->in_enum && (sign == '{' || !outside);
    declaration->enumerator = declaration->in_enum && outside;
    declaration->depth++;
}

/* Return true at the end of a function. */
static bool take_close(struct declaration *declaration, char sign)
{
    declaration->depth--;
    declaration->attribute = declaration->attribute && declaration->depth > 0;
    declaration->in_enum = declaration->in_enum && declaration->depth > 0;
    if (sign != '}' || declaration->depth > 0 || !declaration->function) {
        return false;
    }
    declaration->amalgam->names[declaration->amalgam->name_count - 1].defines = true;
    return true;
}

/* A word after struct, union or enum, which may declare the type. `at` is after it. */
static void take_tag(struct declaration *declaration, struct piece name, const char *at)
{
    struct piece next;
    (void)token_next(&at, declaration->end, &next);
    bool body = piece_is(next, "{");
    bool forward = declaration->depth == 0 && piece_is(next, ";");
    bool named = declaration->named;
    if (body || forward) {
        declare(declaration, name, body);
    }
    declaration->named = named || forward; /* with a body, another name may follow */
    declaration->in_enum = declaration->in_enum && body;
}

static void take_word(struct declaration *declaration, struct piece word, const char *at)
{
    bool tag = piece_is(word, "struct") || piece_is(word, "union") || piece_is(word, "enum");
    if (tag) {
        declaration->in_enum = declaration->depth == 0 && piece_is(word, "enum");
    } else if (declaration->is_tag) {
        take_tag(declaration, word, at);
    } else if (piece_is(word, "typedef")) {
        declaration->is_typedef = true;
    } else if (piece_is(word, "__attribute__")) {
        declaration->attribute = true;
    } else if (declaration->in_enum && declaration->depth == 1 && declaration->enumerator) {
        bool named = declaration->named;
        declare(declaration, word, true);
        declaration->named = named;
        declaration->enumerator = false;
    } else if (declaration->depth == 0) {
        declaration->last = word;
    } else if (declaration->depth == 1 && declaration->is_typedef &&
               piece_is(declaration->before, "*") && declaration->pointer.length == 0) {
        declaration->pointer = word;
    }
    declaration->is_tag = tag;
}

/* Return true at the end of the declaration. */
static bool take_sign(struct declaration *declaration, char sign)
{
    bool unnamed = declaration->depth == 0 && !declaration->named;
    bool over = sign == ';' && declaration->depth == 0;
    if (strchr("([{", sign) != NULL) {
        take_open(declaration, sign);
    } else if (strchr(")]}", sign) != NULL) {
        over = take_close(declaration, sign);
    } else if (over && unnamed && declaration->last.length > 0 && !declaration->is_tag) {
        bool pointer = declaration->is_typedef && declaration->pointer.length > 0;
        declare(declaration, pointer ? declaration->pointer : declaration->last, true);
    } else if (sign == '=' && unnamed) {
        declare(declaration, declaration->last, true);
    } else if (sign == ',' && declaration->in_enum && declaration->depth == 1) {
        declaration->enumerator = true;
    }
    declaration->is_tag = false;
    return over;
}

/* Add the names of a declaration; return its end, after the semicolon or body. */
static const char *read_declaration(struct amalgam *amalgam, const char *at, const char *end)
{
    const char *begin = at;
    struct declaration declaration = {
        .amalgam = amalgam, .end = end, .last = {at, 0}, .pointer = {at, 0}, .before = {at, 0}};
    struct piece token;
    enum token_kind kind;
    bool over = false;
    while (!over && (kind = token_next(&at, end, &token)) != TOKEN_END) {
        char sign = token.at[0];
        if (sign == '#' && token.at > begin && token.at[-1] == '\n') {
            at = directive_end(token.at);
        } else if (kind == TOKEN_WORD) {
            take_word(&declaration, token, at);
        } else if (kind == TOKEN_SIGN) {
            over = take_sign(&declaration, sign);
        }
        declaration.before = token;
    }
    return at;
}

/* The end of the line, or of the one in which its comment ends. */
static const char *line_end(const char *at, const char *end)
{
    while (at < end && *at != '\n') {
        at = is_comment(at, end) ? comment_end(at, end) : at + 1;
    }
    return at < end ? at + 1 : end;
}

/* The open conditions between declarations. */
struct open_conditions {
    size_t items[CONDITIONS_MAX]; /* of each #if */
    size_t depth;
};

/* Add the declaration or the directive at `at`; return its end. */
static const char *read_item(struct amalgam *amalgam, const char *at, const char *end,
                             const char *file, struct open_conditions *open)
{
    const char *after = at + 1;
    struct piece word;
    (void)token_next(&after, end, &word);
    bool directive = *at == '#';
    bool defines = directive && piece_is(word, "define");
    bool macro = defines || (directive && piece_is(word, "undef"));
    struct item *item = item_add(amalgam,
                                 macro       ? ITEM_MACRO
                                 : directive ? ITEM_CONDITION
                                             : ITEM_CODE,
                                 file);
    size_t index = amalgam->count - 1;
    if (macro) {
        (void)token_next(&after, end, &word);
        name_add(amalgam, word, defines);
        after = directive_end(at);
    } else if (directive) {
        after = directive_end(at);
        if (word.at[0] == 'i' && open->depth < CONDITIONS_MAX) {
            open->items[open->depth++] = index;
        }
        item->condition = open->depth > 0 ? open->items[open->depth - 1] : index;
        open->depth -= piece_is(word, "endif") && open->depth > 0;
    } else {
        after = line_end(read_declaration(amalgam, at, end), end);
    }
    amalgam->items[index].text = (struct piece){at, (size_t)(after - at)};
    return after;
}

static void read_items(struct amalgam *amalgam)
{
    const char *at = amalgam->text;
    const char *end = at + strlen(at);
    const char *file = "";
    struct piece comment = {at, 0};
    struct open_conditions open = {.depth = 0};
    while (at < end) {
        if (*at == '\n' || *at == FILE_MARK) {
            if (comment.length > 0) { /* it belongs to no declaration */
                item_add(amalgam, ITEM_COMMENT, file)->text = comment;
                comment.length = 0;
            }
            const char *after = line_end(at, end);
            if (*at == FILE_MARK) {
                file = embedded_find((struct piece){at + 1, (size_t)(after - at - 2)}).file;
            }
            at = after;
        } else if (is_comment(at, end)) {
            const char *begin = comment.length > 0 ? comment.at : at;
            at = line_end(at, end);
            comment = (struct piece){begin, (size_t)(at - begin)};
        } else {
            at = read_item(amalgam, at, end, file, &open);
            amalgam->items[amalgam->count - 1].comment = comment;
            comment.length = 0;
        }
    }
}

static int by_name(const void *a, const void *b)
{
    const struct item_name *first = a;
    const struct item_name *second = b;
    size_t common =
        first->name.length < second->name.length ? first->name.length : second->name.length;
    int order = memcmp(first->name.at, second->name.at, common);
    if (order == 0) {
        order = (first->name.length > common) - (second->name.length > common);
    }
    return order != 0 ? order : (first->item > second->item) - (first->item < second->item);
}

/* --- references ------------------------------------------------------------------------------ */

/* Return the index of the first row of that name, or of the next one. */
static size_t names_find(const struct amalgam *amalgam, struct piece name)
{
    struct item_name wanted = {.name = name};
    size_t low = 0;
    size_t high = amalgam->name_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_name(&amalgam->names[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool names_equal(const struct amalgam *amalgam, size_t row, struct piece name)
{
    return row < amalgam->name_count && piece_equals(amalgam->names[row].name, name);
}

/* Return whether a function-like macro has a parameter of that name. */
static bool is_parameter(const struct item *macro, struct piece name)
{
    const char *at = macro->text.at;
    const char *end = at + macro->text.length;
    struct piece token;
    for (int word = 0; word < 3; word++) { /* #, define, its name */
        (void)token_next(&at, end, &token);
    }
    while (*at == '(' || *at == ',') {
        at++;
        (void)token_next(&at, end, &token);
        if (piece_equals(token, name)) {
            return true;
        }
    }
    return false;
}

static void keep_item(struct amalgam *amalgam, size_t index)
{
    struct item *item = &amalgam->items[index];
    if (item->kept) {
        return;
    }
    item->kept = true;
    const char *at = item->text.at;
    const char *end = at + item->text.length;
    struct piece token;
    struct piece before = {at, 0};
    enum token_kind kind;
    while ((kind = token_next(&at, end, &token)) != TOKEN_END) {
        bool member = piece_is(before, ".") || piece_is(before, "->");
        bool own = item->kind == ITEM_MACRO && is_parameter(item, token);
        if (kind == TOKEN_WORD && !member && !own) {
            (void)amalgam_keep(amalgam, token);
        }
        before = token;
    }
}

bool amalgam_keep(struct amalgam *amalgam, struct piece name)
{
    size_t first = names_find(amalgam, name);
    for (size_t row = first; names_equal(amalgam, row, name); row++) {
        keep_item(amalgam, amalgam->names[row].item);
    }
    return names_equal(amalgam, first, name);
}

void amalgam_keep_none(struct amalgam *amalgam)
{
    for (size_t i = 0; i < amalgam->count; i++) {
        amalgam->items[i].kept = false;
    }
}

/* Return whether all names in the item that are declared here are kept. */
static bool refers_to_kept(const struct amalgam *amalgam, const struct item *item)
{
    const char *at = item->text.at;
    const char *end = at + item->text.length;
    struct piece token;
    enum token_kind kind;
    while ((kind = token_next(&at, end, &token)) != TOKEN_END) {
        size_t row = names_find(amalgam, token);
        if (kind == TOKEN_WORD && names_equal(amalgam, row, token) &&
            !amalgam->items[amalgam->names[row].item].kept) {
            return false;
        }
    }
    return true;
}

void amalgam_keep_around(struct amalgam *amalgam)
{
    for (size_t i = 0; i < amalgam->count; i++) {
        struct item *item = &amalgam->items[i];
        const char *at = item->text.at;
        struct piece first;
        struct piece second;
        (void)token_next(&at, item->text.at + item->text.length, &first);
        (void)token_next(&at, item->text.at + item->text.length, &second);
        /* only a name that a macro declares */
        bool bare = item->kind == ITEM_CODE && piece_is(second, ";");
        bool assertion = piece_is(first, "_Static_assert") || piece_is(first, "static_assert");
        if ((bare || assertion) && refers_to_kept(amalgam, item)) {
            item->kept = true;
        }
    }
    for (size_t i = 0; i < amalgam->count; i++) {
        if (amalgam->items[i].kind != ITEM_CONDITION || amalgam->items[i].condition != i) {
            continue;
        }
        bool any = false;
        size_t last = i;
        for (size_t j = i + 1; j < amalgam->count; j++) {
            if (amalgam->items[j].kind == ITEM_CONDITION && amalgam->items[j].condition == i) {
                last = j;
            }
        }
        for (size_t j = i + 1; j < last; j++) {
            any |= amalgam->items[j].kind != ITEM_CONDITION && amalgam->items[j].kept;
        }
        for (size_t j = i; j <= last; j++) {
            if (amalgam->items[j].kind == ITEM_CONDITION && amalgam->items[j].condition == i) {
                amalgam->items[j].kept = any;
            }
        }
    }
}

const struct item *amalgam_find(const struct amalgam *amalgam, const char *name)
{
    struct piece piece = piece_of(name);
    for (size_t row = names_find(amalgam, piece); names_equal(amalgam, row, piece); row++) {
        if (amalgam->names[row].defines) {
            return &amalgam->items[amalgam->names[row].item];
        }
    }
    return NULL;
}

struct piece amalgam_member(struct piece descriptor, const char *member)
{
    const char *at = descriptor.at;
    const char *end = at + descriptor.length;
    struct piece before = {at, 0};
    struct piece token;
    enum token_kind kind;
    size_t depth = 0;
    while ((kind = token_next(&at, end, &token)) != TOKEN_END) {
        depth += piece_is(token, "{");
        depth -= piece_is(token, "}");
        if (kind == TOKEN_WORD && depth <= 1 && piece_is(before, ".") && piece_is(token, member)) {
            struct piece last = {at, 0};
            while (token_next(&at, end, &token) != TOKEN_END && !piece_is(token, ",")) {
                last = is_word_char(token.at[0]) ? token : last;
            }
            return last;
        }
        before = token;
    }
    return (struct piece){descriptor.at, 0};
}

void amalgam_free(struct amalgam *amalgam)
{
    free(amalgam->text);
    free(amalgam->items);
    free(amalgam->names);
    *amalgam = (struct amalgam){0};
}

bool amalgam_read(struct amalgam *amalgam, const char *file, const char *const *defined,
                  struct error *error)
{
    *amalgam = (struct amalgam){0};
    size_t bytes = 0;
    struct reading reading = {.out = memory_stream(&amalgam->text, &bytes), .error = error};
    for (size_t i = 0; defined[i] != NULL; i++) {
        macro_add(&reading, piece_of(defined[i]), 1);
    }
    bool good = read_file(&reading, file);
    free(reading.macros);
    memory_stream_close(reading.out);
    if (good) {
        read_items(amalgam);
        qsort(amalgam->names, amalgam->name_count, sizeof *amalgam->names, by_name);
    } else {
        amalgam_free(amalgam);
    }
    return good;
}
