/* A durable structure as a folder of its sources, unchanged, with a header and an example. */
#include "export_durable.h"

#include "amalgam.h"
#include "durable_templates.h" /* generated from durable.h.in and durable.c.in */
#include "memory.h"
#include "outfile.h"
#include "outfolder.h"
#include "source_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 80 };

/* The definitions with which timerlab compiles each source. */
static const char preamble[] = "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n"
                               "#define TL_IN_TREE\n#define TL_HAVE_LMDB\n";

/* The options, each as {"name", "value"}. */
static char *given_options(const char *text)
{
    char *given = memory_format("%s", "");
    while (text[0] != '\0') {
        int name = (int)strcspn(text, "=");
        int value = (int)strcspn(text + name + 1, ":");
        char *more =
            memory_format("%s{\"%.*s\", \"%.*s\"}, ", given, name, text, value, text + name + 1);
        free(given);
        given = more;
        text += name + 1 + value;
        text += text[0] == ':';
    }
    return given;
}

struct word {
    const char *name;
    const char *text;
};

/* Write a template, with each @name@ replaced. */
static void write_template(const char *text, const struct word *words, FILE *stream)
{
    while (text[0] != '\0') {
        size_t plain = strcspn(text, "@");
        (void)fwrite(text, 1, plain, stream);
        text += plain;
        if (text[0] == '@') {
            size_t length = strcspn(text + 1, "@");
            const struct word *word = words;
            while (strlen(word->name) != length || strncmp(word->name, text + 1, length) != 0) {
                word++;
            }
            (void)fputs(word->text, stream);
            text += length + 2;
        }
    }
}

struct writing {
    const char *before;
    const char *text;
    const struct word *words; /* NULL: not a template */
    const char *end;          /* of the text */
    const char *after;
};

static void write_text(const void *ctx, FILE *stream)
{
    const struct writing *writing = ctx;
    (void)fputs(writing->before, stream);
    if (writing->words != NULL) {
        write_template(writing->text, writing->words, stream);
    } else {
        (void)fwrite(writing->text, 1, (size_t)(writing->end - writing->text), stream);
    }
    (void)fputs(writing->after, stream);
}

static bool write_source(struct outfolder *folder, const char *name, struct error *error)
{
    const char *text = embedded_source(name);
    const struct writing writing = {.before = strstr(name, ".c") != NULL ? preamble : "",
                                    .text = text,
                                    .end = text + strlen(text),
                                    .after = ""};
    return outfolder_write(folder, name, write_text, &writing, error);
}

/* docs/examples/durable-loop.c, changed to open this structure. */
static bool write_example(struct outfolder *folder, const char *prefix, struct error *error)
{
    const char *text = strstr(embedded_source("durable-loop.c"), "#include <poll.h>");
    const char *end = strstr(text, "int main(");
    char *head = memory_format(
        "/* Recovers, fires, acknowledges, starts, syncs and answers. */\n#define _GNU_SOURCE\n"
        "#include \"%s.h\"\n\n",
        prefix);
    char *tail = memory_format(
        "int main(int argc, char **argv)\n"
        "{\n"
        "    void *self;\n"
        "    if (argc != 2 || %s_open(argv[1], TIMERS, clock_ms(), &self) != TL_OK) {\n"
        "        (void)fprintf(stderr, \"usage: example FOLDER\\n\");\n"
        "        return 2;\n"
        "    }\n"
        "    (void)setvbuf(stdin, NULL, _IONBF, 0); /* so that poll sees unread input */\n"
        "    run(%s(), self);\n"
        "    %s()->destroy(self);\n"
        "    return 0;\n"
        "}\n",
        prefix, prefix, prefix);
    const struct writing writing = {head, text, NULL, end, tail};
    bool done = outfolder_write(folder, "example.c", write_text, &writing, error);
    free(head);
    free(tail);
    return done;
}

bool export_write_durable(const struct export_request *request, const char *prefix,
                          const char *symbol, struct error *error)
{
    static const char *const kinds[] = {NULL};
    const struct contender *contender = request->contender;
    bool is_front = strchr(contender->timed->name, '(') != NULL;
    struct source_list list = {.count = 0};
    struct outfolder folder = {0};
    char upper[NAME_BYTES];
    char file[NAME_BYTES];
    (void)snprintf(upper, sizeof upper, "%s", prefix);
    for (char *c = upper; *c != '\0'; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    (void)snprintf(file, sizeof file, "%s.c", symbol);
    source_list_add(&list, file);
    source_list_add(&list, is_front ? "front_durable.c" : "kv_lmdb.c");
    source_list_add(&list, "options.c");
    source_list_add(&list, "memory.c");
    source_list_add_included(&list);
    char *given = given_options(contender->option_text);
    char *hooks = memory_format(is_front ? "&tl_front_durable.hooks" : "&tl_algo_%s", symbol);
    char *create = memory_format(is_front ? "tl_front_durable.create(&tl_algo_%s, own, &config, "
                                            "timers)"
                                          : "tl_algo_%s.create(&config, timers)",
                                 symbol);
    char *table =
        memory_format(is_front ? "tl_front_durable.options" : "tl_algo_%s.options", symbol);
    const struct word words[] = {
        {"name", contender->timed->name},
        {"command", request->command},
        {"prefix", prefix},
        {"PREFIX", upper},
        {"symbol", symbol},
        {"front", is_front ? "#include \"front.h\"\n\nextern const struct tl_front "
                             "tl_front_durable;"
                           : ""},
        {"given", given},
        {"hooks", hooks},
        {"table", table},
        {"options", is_front ? "inner" : "own"},
        {"create", create},
    };
    const struct writing header = {"", text_durable_h_in, words, NULL, ""};
    const struct writing body = {"#define _GNU_SOURCE\n", text_durable_c_in, words, NULL, ""};
    bool done = outfolder_open(&folder, request->folder, error);
    for (size_t i = 0; done && i < list.count; i++) {
        done = write_source(&folder, list.names[i], error);
    }
    (void)snprintf(file, sizeof file, "%s.h", prefix);
    done = done && outfolder_write(&folder, file, write_text, &header, error);
    (void)snprintf(file, sizeof file, "%s.c", prefix);
    done = done && outfolder_write(&folder, file, write_text, &body, error) &&
           write_example(&folder, prefix, error) && outfolder_commit(&folder, kinds, error);
    outfolder_close(&folder);
    free(given);
    free(hooks);
    free(create);
    free(table);
    return done;
}
