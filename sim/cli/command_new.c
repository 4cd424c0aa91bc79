/* timerlab new: a structure of one's own begins as a file that works. */
#include "amalgam.h"
#include "build_info.h"
#include "catalog.h"
#include "command.h"
#include "command_option.h"
#include "memory.h"
#include "outfile.h"
#include "registry.h"
#include "source_list.h"
#include "standard_files.h"
#include "starter_texts.h" /* generated from the files in algos/starter/ */
#include "temporary_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name in the starters, which is replaced everywhere. */
#define PLACEHOLDER    "starter"
#define NAME_MAX_CHARS 64

struct starter_file {
    char path[SOURCE_NAME_BYTES + 1]; /* appended to the name, in which dashes become underscores */
    const char *text;
};

struct language {
    const char *word;
    const char *compiler; /* of the one file; NULL: the files are a project of cargo's */
    const char *folder;   /* compiler flags that its files need, after the name; NULL: none */
    size_t file_count;
    const struct starter_file *files; /* the first is the one to edit */
};

static const struct starter_file file_of_c[] = {{".c", text_starter_c}};
static const struct starter_file file_of_cc[] = {{".cc", text_starter_cc_in}};
static const struct starter_file files_of_rust[] = {{"/src/lib.rs", text_starter_rs},
                                                    {"/src/timerlab.rs", text_timerlab_rs},
                                                    {"/Cargo.toml", text_Cargo_toml}};

/* In the order of the help. */
static const struct language languages[] = {
    {"c", "cc -std=c17", NULL, 1, file_of_c},
    {"c++", "c++ -std=c++17 -fvisibility=hidden", NULL, 1, file_of_cc},
    {"rust", NULL, "/src", 3, files_of_rust},
};

struct new_arguments {
    char own_name[NAME_MAX_CHARS + 1]; /* where none is given: my-STRUCTURE */
    const char *name;
    const char *from; /* the structure to copy; NULL: a starter is written */
    const char *dir;
    int language; /* of `languages` */
};

static void take_name(void *at, const char *word, struct argp_state *state)
{
    struct new_arguments *arguments = at;
    if (arguments->name != NULL) {
        argp_error(state, "one name at a time");
    }
    arguments->name = word;
}

/* The structure to copy, as catalog_find; only a built-in one has a source. */
static const struct tl_algo *find_original(const char *name, struct error *error)
{
    struct catalog catalog = {0};
    catalog_init(&catalog);
    const struct tl_entry *entry =
        catalog_find(&catalog, name, error) != NULL ? tl_registry_find(name) : NULL;
    if (entry == NULL && strchr(name, '(') != NULL) {
        (void)error_set(error, "%s cannot be copied: name the structure within", name);
    }
    catalog_free(&catalog);
    return entry != NULL ? entry->timed : NULL;
}

static void complete(void *at, struct argp_state *state)
{
    struct new_arguments *arguments = at;
    struct error error;
    if (arguments->name == NULL && arguments->from != NULL) {
        (void)snprintf(arguments->own_name, sizeof arguments->own_name, "my-%s", arguments->from);
        arguments->name = arguments->own_name;
    }
    if (arguments->from != NULL && find_original(arguments->from, &error) == NULL) {
        argp_error(state, "--from '%s': %s", arguments->from, error.text);
    } else if (arguments->name == NULL) {
        argp_error(state, "which name? As in `timerlab new my-wheel`");
    } else if (!tl_name_is_well_formed(arguments->name) ||
               strlen(arguments->name) > NAME_MAX_CHARS) {
        argp_error(state,
                   "'%s': a structure's name is lower-case words joined by dashes, at most %d "
                   "characters, as in my-wheel",
                   arguments->name, NAME_MAX_CHARS);
    } else if (tl_registry_find(arguments->name) != NULL) {
        argp_error(state, "'%s' is the name of a built-in structure; choose another",
                   arguments->name);
    } else if (arguments->from != NULL && arguments->language != 0) {
        argp_error(state, "--from copies the C of a built-in structure: omit --language");
    }
}

static const struct option_row options[] = {
    {{"from", 'f', "STRUCTURE", 0,
      "Copies a built-in structure instead, for a variant of it: a folder with its source and the "
      "parts that it includes. NAME is my-STRUCTURE by default",
      0},
     OPTION_TEXT,
     OPTION_AT(struct new_arguments, from)},
    {{"output", 'o', "DIR", 0, "Folder for the file (.); made if it is missing", 0},
     OPTION_TEXT,
     OPTION_AT(struct new_arguments, dir)},
    {{"language", 'l', "c|c++|rust", 0,
      "A structure from the ground up, in C (the default) or, a folder for cargo, in Rust; or one "
      "that wraps existing intrusive code, in C++",
      0},
     OPTION_WORD,
     OPTION_AT(struct new_arguments, language)},
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "NAME\n--from STRUCTURE [NAME]",
    .text =
        "Writes NAME.c (dashes become underscores), or another language's: a timer structure "
        "that compiles and is right, with every hook explained. Prints the two commands that "
        "build it, with the "
        "flags of the built-in structures, and check it; of a copy also the one that compares it "
        "with its original. `timerlab new NAME | sh -e` runs them."
        "\vExit status: 0 written, 1 not written, 2 usage. A file that exists is never "
        "overwritten.",
    .take_word = take_name,
    .complete = complete,
};

/* `old` between `before` and one of `after` becomes `text`. */
struct replacement {
    const char *before;
    const char *old;
    const char *after; /* NULL: anything follows */
    const char *text;
};

static bool is_replaced(const struct replacement *row, const char *at)
{
    size_t before = strlen(row->before);
    size_t old = strlen(row->old);
    return strncmp(at, row->before, before) == 0 && strncmp(at + before, row->old, old) == 0 &&
           (row->after == NULL ||
            (at[before + old] != '\0' && strchr(row->after, at[before + old]) != NULL));
}

/* Write a text under the new name. In a starter the placeholder is `symbol` where it is part of an
 * identifier, and `name` elsewhere. Of a copy only what registers it is renamed, since its text
 * goes on to describe the original. */
static void write_named(FILE *stream, const char *text, const struct new_arguments *arguments,
                        const char *symbol)
{
    char original[SOURCE_NAME_BYTES];
    symbol_of(arguments->from != NULL ? arguments->from : "", original, sizeof original);
    const struct replacement of_starter[] = {{"", PLACEHOLDER, "_)", symbol},
                                             {"", PLACEHOLDER, NULL, arguments->name}};
    const struct replacement of_copy[] = {{"TL_ALGO(", original, ")", symbol},
                                          {".name = \"", arguments->from, "\"", arguments->name}};
    const struct replacement *rows = arguments->from != NULL ? of_copy : of_starter;
    while (*text != '\0') {
        const struct replacement *row = is_replaced(&rows[0], text)   ? &rows[0]
                                        : is_replaced(&rows[1], text) ? &rows[1]
                                                                      : NULL;
        if (row != NULL) {
            (void)fprintf(stream, "%s%s", row->before, row->text);
            text += strlen(row->before) + strlen(row->old);
        } else {
            (void)fputc(*text++, stream);
        }
    }
}

/* Prints a word so that a shell reads it back as it is. */
static void print_quoted(const char *word)
{
    if (strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:=@%") ==
        strlen(word)) {
        (void)fputs(word, stdout);
        return;
    }
    size_t bytes = 1;
    for (const char *c = word; *c != '\0' && bytes > 0; c += bytes) {
        bytes = standard_files_plain(c);
    }
    bool plain = bytes > 0;
    (void)fputs(plain ? "'" : "$'", stdout);
    for (const char *c = word; *c != '\0'; c++) {
        if (!plain && !isalnum((unsigned char)*c)) {
            (void)printf("\\%03o", (unsigned)(unsigned char)*c);
        } else if (*c == '\'') {
            (void)fputs("'\\''", stdout);
        } else {
            (void)putchar(*c);
        }
    }
    (void)putchar('\'');
}

/* Print the flag with which a compiler finds timerlab.h: near this program, installed or in its
 * build folder; otherwise by pkg-config. */
static void print_include_flag(void)
{
    static const char *const places[] = {"/../include", "/include"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < sizeof places / sizeof places[0]; i++) {
        char header[PATH_MAX + 32];
        char real[PATH_MAX];
        *slash = '\0';
        (void)snprintf(header, sizeof header, "%s%s/timerlab.h", program, places[i]);
        bool found = access(header, R_OK) == 0;
        (void)snprintf(header, sizeof header, "%s%s", program, places[i]);
        if (!found || realpath(header, real) == NULL) {
            continue;
        }
        /* where every compiler looks by itself */
        if (strcmp(real, "/usr/include") != 0 && strcmp(real, "/usr/local/include") != 0) {
            (void)fputs(" -I", stdout);
            print_quoted(real);
        }
        return;
    }
    (void)fputs(" $(pkg-config --cflags timerlab)", stdout);
}

static void print_commands(const struct new_arguments *arguments, const struct language *language,
                           const char *symbol)
{
    char path[PATH_MAX + NAME_MAX_CHARS + 32];
    char object[sizeof path + NAME_MAX_CHARS + 32];
    (void)snprintf(path, sizeof path, "%s/%s", arguments->dir, symbol);
    if (language->compiler == NULL) {
        (void)snprintf(object, sizeof object, "%s/target/release/lib%s.so", path, symbol);
        (void)fputs("cargo build --release --offline --manifest-path ", stdout);
        (void)strcat(path, "/Cargo.toml");
        print_quoted(path);
        /* whatever the environment says */
        (void)fputs(" --target-dir ", stdout);
        (void)snprintf(path, sizeof path, "%s/%s/target", arguments->dir, symbol);
        print_quoted(path);
    } else {
        (void)snprintf(object, sizeof object, "%s/%s.so", arguments->dir, arguments->name);
        /* The flags of the built-in structures, so that a comparison is one of structures. */
        (void)printf("%s %s -shared -fPIC", language->compiler,
                     BUILD_FLAGS[0] != '\0' ? BUILD_FLAGS : "-O2");
        print_include_flag();
        (void)putchar(' ');
        (void)strcat(path, language->files[0].path);
        print_quoted(path);
        (void)fputs(" -o ", stdout);
        print_quoted(object);
    }
    (void)fputs("\ntimerlab check --plugin ", stdout);
    print_quoted(object);
    (void)printf(" -a %s\n", arguments->name);
    if (arguments->from != NULL) {
        (void)fputs("timerlab trace gen server -n 1000 -o - | timerlab sim - --plugin ", stdout);
        print_quoted(object);
        (void)printf(" -a %s,%s\n", arguments->name, arguments->from);
    }
}

/* Write DIR/SYMBOL and the suffix to `path`. */
static bool path_of(const struct new_arguments *arguments, const char *symbol, const char *ending,
                    char path[PATH_MAX], struct error *error)
{
    int length = snprintf(path, PATH_MAX, "%s/%s%s", arguments->dir, symbol, ending);
    return (length >= 0 && length < PATH_MAX) ||
           error_set(error, "the path of the folder is too long");
}

/* Opens all files, none of which is there yet, and writes them. */
static bool write_files(const struct new_arguments *arguments, const struct language *language,
                        const char *symbol, struct outfile *files, struct error *error)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < language->file_count; i++) {
        if (!path_of(arguments, symbol, language->files[i].path, path, error)) {
            return false;
        }
        if (access(path, F_OK) == 0) {
            return error_set(error, "%s exists; it is left as it is. Choose another name or folder",
                             path);
        }
        if (!outfile_open(&files[i], path, error)) {
            return false;
        }
        write_named(files[i].stream, language->files[i].text, arguments, symbol);
    }
    return true;
}

static bool write_all(const struct new_arguments *arguments, const struct language *language,
                      struct error *error)
{
    char symbol[NAME_MAX_CHARS + 1];
    symbol_of(arguments->name, symbol, sizeof symbol);
    char source[PATH_MAX];
    char inner[PATH_MAX];
    if (!path_of(arguments, symbol, language->files[0].path, source, error)) {
        return false;
    }
    if (!folder_make_unless_used(arguments->dir) && errno != EEXIST) {
        return error_set(error, "%s: cannot be made a folder: %s", arguments->dir, strerror(errno));
    }
    struct outfile *files = memory_new(language->file_count, sizeof *files);
    bool good =
        language->folder == NULL ||
        (path_of(arguments, symbol, language->folder, inner, error) && folder_make(inner, error));
    good = good && write_files(arguments, language, symbol, files, error);
    for (size_t i = 0; i < language->file_count; i++) {
        if (good) {
            good = outfile_commit(&files[i], error);
        } else {
            outfile_abort(&files[i]);
        }
    }
    free(files);
    if (good) {
        standard_files_tell("%s is written; these commands build and check it:\n", source);
        print_commands(arguments, language, symbol);
    }
    return good;
}

/* The licence goes with a copy. */
static bool write_copy(const struct new_arguments *arguments, struct error *error)
{
    struct source_list list;
    struct starter_file files[SOURCES_MAX];
    struct language language = {.compiler = languages[0].compiler, .folder = "", .files = files};
    const struct tl_algo *original = find_original(arguments->from, error);
    if (original == NULL || !source_list_of_copy(original, &list, error)) {
        return false;
    }
    source_list_add(&list, "LICENSE");
    for (size_t i = 0; i < list.count; i++) {
        (void)snprintf(files[i].path, sizeof files[i].path, "/%s", list.names[i]);
        files[i].text = embedded_source(list.names[i]);
    }
    symbol_of(arguments->name, files[0].path + 1, NAME_MAX_CHARS + 1);
    (void)strcat(files[0].path, ".c");
    language.file_count = list.count;
    return write_all(arguments, &language, error);
}

int command_new(int argc, char **argv)
{
    struct new_arguments arguments = {.dir = "."};
    struct error error;
    command_line_read(&syntax, argc, argv, &arguments);
    if (arguments.from != NULL ? !write_copy(&arguments, &error)
                               : !write_all(&arguments, &languages[arguments.language], &error)) {
        return command_fail(&error);
    }
    return EXIT_OK;
}
