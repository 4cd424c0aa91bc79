/* From the contract's declarations in C to the same in Rust. */
#include "rust.h"
#include "amalgam.h"
#include "build_info.h"
#include "timerlab.h"

#include <string.h>

#define TYPE_BYTES 512

static const char top[] =
    "// timerlab.rs: timerlab.h in Rust, by the same names, made from it by timerlab " BUILD_VERSION
    ".\n"
    "// Not to be edited: another version of the contract makes another. The header begins:\n"
    "//\n";

static const char uses[] = "#![allow(non_camel_case_types, dead_code, unused_imports)]\n"
                           "\n"
                           "use std::os::raw::{c_char, c_void};\n";

static const char bottom[] = "\n"
                             "// A descriptor is constant, and what it points to as well.\n"
                             "unsafe impl Sync for tl_algo {}\n";

struct reading {
    FILE *out;
    const char *at;
    const char *end;
    bool optional; /* functions may be missing: NULL */
    struct error *error;
};

static bool not_known(struct reading *reading, struct piece word)
{
    return error_set(reading->error, "timerlab.h: '%.*s' has no form in Rust", (int)word.length,
                     word.at);
}

/* Whether the next token is that one, which is then passed. */
static bool take(struct reading *reading, const char *word)
{
    const char *at = reading->at;
    struct piece token;
    (void)token_next(&at, reading->end, &token);
    if (!piece_is(token, word)) {
        return false;
    }
    reading->at = at;
    return true;
}

static struct piece take_word(struct reading *reading)
{
    struct piece token = {reading->at, 0};
    (void)token_next(&reading->at, reading->end, &token);
    return token;
}

/* --- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *in_c;
    const char *in_rust;
} base_types[] = {
    {"void", "c_void"},  {"char", "c_char"},  {"bool", "bool"},    {"int64_t", "i64"},
    {"uint32_t", "u32"}, {"uint64_t", "u64"}, {"size_t", "usize"},
};

static void append(char type[TYPE_BYTES], const char *text, size_t length)
{
    size_t before = strlen(type);
    if (before + length < TYPE_BYTES) {
        memcpy(type + before, text, length);
        type[before + length] = '\0';
    }
}

/* A type up to its name: `const struct tl_config *`. */
static bool read_type(struct reading *reading, char type[TYPE_BYTES])
{
    bool constant = take(reading, "const");
    bool tag = take(reading, "struct") || take(reading, "enum");
    struct piece word = take_word(reading);
    const char *base = NULL;
    for (size_t i = 0; !tag && i < sizeof base_types / sizeof base_types[0]; i++) {
        base = piece_is(word, base_types[i].in_c) ? base_types[i].in_rust : base;
    }
    if (base == NULL && strncmp(word.at, "tl_", 3) != 0) {
        return not_known(reading, word);
    }
    /* The last star is the outermost. */
    char stars[64] = "";
    while (take(reading, "*")) {
        char inner[64];
        (void)memcpy(inner, stars, sizeof inner);
        (void)snprintf(stars, sizeof stars, "%s%.48s", constant ? "*const " : "*mut ", inner);
        constant = false;
    }
    type[0] = '\0';
    append(type, stars, strlen(stars));
    append(type, base != NULL ? base : word.at, base != NULL ? strlen(base) : word.length);
    return true;
}

/* A declaration without its semicolon, of a parameter, a member or a typedef: its type, and its
 * name. */
static bool read_declarator(struct reading *reading, char type[TYPE_BYTES], struct piece *name)
{
    char result[TYPE_BYTES];
    if (!read_type(reading, result)) {
        return false;
    }
    if (!take(reading, "(")) {
        *name = take_word(reading);
        (void)memcpy(type, result, TYPE_BYTES);
        return true;
    }
    if (!take(reading, "*")) {
        return not_known(reading, take_word(reading));
    }
    *name = take_word(reading);
    (void)snprintf(type, TYPE_BYTES, "%sunsafe extern \"C\" fn(",
                   reading->optional ? "Option<" : "");
    bool good = take(reading, ")") && take(reading, "(");
    for (const char *separator = ""; good && !take(reading, ")"); separator = ", ") {
        char parameter[TYPE_BYTES];
        struct piece parameter_name;
        good = reading->at < reading->end;
        (void)take(reading, ",");
        /* of a parameter that is itself a function, the contract has a typedef */
        good = good && read_declarator(reading, parameter, &parameter_name);
        append(type, separator, strlen(separator));
        if (good && piece_is(parameter_name, "self")) {
            append(type, "this", strlen("this"));
        } else if (good) {
            append(type, parameter_name.at, parameter_name.length);
        }
        append(type, ": ", 2);
        append(type, parameter, good ? strlen(parameter) : 0);
    }
    append(type, ")", 1);
    if (strcmp(result, "c_void") != 0) {
        append(type, " -> ", 4);
        append(type, result, strlen(result));
    }
    append(type, ">", reading->optional ? 1 : 0);
    return good || not_known(reading, *name);
}

/* --- comments -------------------------------------------------------------------------------- */

/* The lines of a comment in C, or of several, each behind `lead`. */
static void write_comment(FILE *out, struct piece comment, const char *lead)
{
    const char *at = comment.at;
    const char *end = comment.at + comment.length;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *next = line_end != NULL ? line_end + 1 : end;
        const char *to = line_end != NULL ? line_end : end;
        at += strspn(at, " ");
        bool opens = strncmp(at, "/*", 2) == 0;
        at += opens ? 2 : 0;
        at += !opens && *at == '*' && strncmp(at, "*/", 2) != 0 ? 1 : 0;
        at += *at == ' ' ? 1 : 0;
        bool closes = to >= at + 2 && strncmp(to - 2, "*/", 2) == 0;
        to -= closes ? 2 : 0;
        while (to > at && to[-1] == ' ') {
            to--;
        }
        if (to > at) {
            (void)fprintf(out, "%s %.*s\n", lead, (int)(to - at), at);
        } else if (!opens && !closes) {
            (void)fprintf(out, "%s\n", lead);
        }
        at = next;
    }
}

/* The comments from here to the next token; or, `same_line`, the one that begins on this line. */
static struct piece take_comments(struct reading *reading, bool same_line)
{
    const char *at = reading->at + strspn(reading->at, same_line ? " " : " \n");
    const char *behind = at;
    if (same_line && strncmp(at, "/*", 2) == 0) {
        behind = strstr(at, "*/") + 2;
    }
    while (!same_line && strncmp(behind + strspn(behind, " \n"), "/*", 2) == 0) {
        behind = strstr(behind, "*/") + 2;
    }
    reading->at = behind;
    return (struct piece){at, (size_t)(behind - at)};
}

/* --- declarations ---------------------------------------------------------------------------- */

/* struct NAME { members }; from behind `struct`. */
static bool write_struct(struct reading *reading)
{
    struct piece name = take_word(reading);
    if (!take(reading, "{")) {
        return not_known(reading, name);
    }
    reading->optional = piece_is(name, "tl_algo");
    (void)fprintf(reading->out, "#[repr(C)]\n%spub struct %.*s {\n",
                  reading->optional ? "" : "#[derive(Clone, Copy)]\n", (int)name.length, name.at);
    while (!take(reading, "}")) {
        char type[TYPE_BYTES];
        struct piece member;
        struct piece before = take_comments(reading, false);
        if (!read_declarator(reading, type, &member) || !take(reading, ";")) {
            return not_known(reading, name);
        }
        write_comment(reading->out, before, "    ///");
        write_comment(reading->out, take_comments(reading, true), "    ///");
        (void)fprintf(reading->out, "    pub %.*s: %s,\n", (int)member.length, member.at, type);
    }
    (void)fputs("}\n", reading->out);
    return true;
}

static bool write_function_type(struct reading *reading)
{
    char type[TYPE_BYTES];
    struct piece name;
    reading->optional = false;
    if (!read_declarator(reading, type, &name)) {
        return false;
    }
    (void)fprintf(reading->out, "pub type %.*s = %s;\n", (int)name.length, name.at, type);
    return true;
}

/* One of several values, or bits that are or-ed. */
struct enumerator {
    const char *name;
    unsigned value;
    const char *text;
};

static void write_enum(FILE *out, const char *name, const struct enumerator *rows, size_t count)
{
    (void)fprintf(out, "#[repr(C)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum %s {\n",
                  name);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "    /// %s\n    %s = %u,\n", rows[i].text, rows[i].name, rows[i].value);
    }
    (void)fprintf(out, "}\npub use %s::*;\n", name);
}

static void write_bits(FILE *out, const struct enumerator *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "/// %s\npub const %s: u32 = 0x%x;\n", rows[i].text, rows[i].name,
                      rows[i].value);
    }
}

/* enum NAME, from behind `enum`: its rows are a table of the header. */
static bool write_rows(struct reading *reading)
{
#define VALUE(code, text)          {#code, code, text},
#define FORM(code, word, text)     {#code, code, text},
#define BIT(code, bit, word, text) {#code, code, text},
    static const struct enumerator statuses[] = {TL_STATUS_MAP(VALUE)};
    static const struct enumerator forms[] = {TL_FORM_MAP(FORM)};
    static const struct enumerator capabilities[] = {TL_CAPABILITY_MAP(BIT)};
    static const struct enumerator marks[] = {TL_MARK_MAP(BIT)};
#undef BIT
#undef FORM
#undef VALUE
    struct piece name = take_word(reading);
    if (piece_is(name, "tl_status")) {
        write_enum(reading->out, "tl_status", statuses, sizeof statuses / sizeof statuses[0]);
    } else if (piece_is(name, "tl_form")) {
        write_enum(reading->out, "tl_form", forms, sizeof forms / sizeof forms[0]);
    } else if (piece_is(name, "tl_capability")) {
        write_bits(reading->out, capabilities, sizeof capabilities / sizeof capabilities[0]);
    } else if (piece_is(name, "tl_mark")) {
        write_bits(reading->out, marks, sizeof marks / sizeof marks[0]);
    } else {
        return not_known(reading, name);
    }
    return true;
}

/* #define NAME VALUE, from behind `define`; only of numbers. */
static void write_constant(struct reading *reading, struct piece comment)
{
    struct piece name = take_word(reading);
    struct piece token;
    char value[TYPE_BYTES] = "";
    bool wide = false;
    bool number = *reading->at != '('; /* no parameters */
    while (number && token_next(&reading->at, reading->end, &token) != TOKEN_END) {
        if (piece_is(token, "UINT64_C") || piece_is(token, "UINT64_MAX")) {
            wide = true;
            append(value, "u64::MAX", piece_is(token, "UINT64_MAX") ? strlen("u64::MAX") : 0);
        } else if (strchr("0123456789", token.at[0]) != NULL) {
            size_t suffix = token.at[token.length - 1] == 'u';
            append(value, token.at, token.length - suffix);
        } else if (piece_is(token, "<")) {
            append(value, value[0] != '\0' && value[strlen(value) - 1] == '<' ? "< " : " <", 2);
        } else {
            number = number && strchr("()", token.at[0]) != NULL;
        }
    }
    if (number && value[0] != '\0') {
        (void)fputc('\n', reading->out);
        write_comment(reading->out, comment, "///");
        (void)fprintf(reading->out, "pub const %.*s: %s = %s;\n", (int)name.length, name.at,
                      wide ? "u64" : "u32", value);
    }
}

static bool write_item(struct reading *reading, const struct item *item)
{
    reading->at = item->text.at;
    reading->end = item->text.at + item->text.length;
    if (item->kind == ITEM_COMMENT) {
        (void)fputc('\n', reading->out);
        write_comment(reading->out, item->text, "//");
        return true;
    }
    if (item->kind == ITEM_MACRO && take(reading, "#") && take(reading, "define")) {
        write_constant(reading, item->comment);
        return true;
    }
    if (item->kind != ITEM_CODE) {
        return true;
    }
    bool structure = take(reading, "struct");
    bool enumeration = !structure && take(reading, "enum");
    bool function = !structure && !enumeration && take(reading, "typedef");
    if (!structure && !enumeration && !function) {
        return true;
    }
    (void)fputc('\n', reading->out);
    write_comment(reading->out, item->comment, "///");
    return structure     ? write_struct(reading)
           : enumeration ? write_rows(reading)
                         : write_function_type(reading);
}

bool rust_write_contract(FILE *stream, struct error *error)
{
    static const char *const plain[] = {NULL};
    struct amalgam header;
    struct reading reading = {.out = stream, .error = error};
    if (!amalgam_read(&header, "timerlab.h", plain, error)) {
        return false;
    }
    const char *text = embedded_source("timerlab.h");
    (void)fputs(top, stream);
    write_comment(stream, (struct piece){text, (size_t)(strstr(text, "*/") + 2 - text)}, "//");
    (void)fputs(uses, stream);
    bool good = true;
    for (size_t i = 0; good && i < header.count; i++) {
        good = write_item(&reading, &header.items[i]);
    }
    (void)fputs(bottom, stream);
    amalgam_free(&header);
    return good;
}
