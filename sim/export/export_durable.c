/* A durable structure as a folder of its sources, unchanged, with a header and an example. */
#include "amalgam.h"
#include "export_work.h"
#include "source_list.h"
#include "templates.h" /* generated from the files *.in next to this one */

#include <string.h>

/* The definitions with which timerlab compiles each source. */
#define PREAMBLE                                                                                   \
    "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#define TL_IN_TREE\n#define TL_HAVE_LMDB\n"

/* The options, each as {"name", "value"}. */
static const char *given_options(struct pool *pool, const char *text)
{
    struct text given = {.pool = pool};
    while (text[0] != '\0') {
        int name = (int)strcspn(text, "=");
        int value = (int)strcspn(text + name + 1, ":");
        text_add(&given, "{\"%.*s\", \"%.*s\"}, ", name, text, value, text + name + 1);
        text += name + 1 + value;
        text += text[0] == ':';
    }
    return text_end(&given);
}

bool export_write_durable(const struct export_request *request, const char *symbol,
                          struct error *error)
{
    const char *prefix = request->prefix != NULL ? request->prefix : "timers";
    const struct contender *contender = request->contender;
    bool is_front = strchr(contender->timed->name, '(') != NULL;
    const char *loop = strstr(embedded_source("durable-loop.c"), "#include <poll.h>");
    struct pool pool = {0};
    struct source_list list = {.count = 0};
    struct export_file files[SOURCES_MAX + 4] = {{0}};
    source_list_add(&list, pool_format(&pool, "%s.c", symbol));
    source_list_add(&list, is_front ? "front_durable.c" : "kv_lmdb.c");
    source_list_add(&list, "options.c");
    source_list_add(&list, "memory.c");
    source_list_add_included(&list, "");
    size_t count = 0;
    for (; count < list.count; count++) {
        const char *name = list.names[count];
        const char *before = strstr(name, ".c") != NULL ? PREAMBLE : "";
        files[count] =
            (struct export_file){name, pool_format(&pool, "%s%s", before, embedded_source(name))};
    }
    const struct value values[] = {
        {"name", contender->timed->name},
        {"command", request->command},
        {"prefix", prefix},
        {"PREFIX", upper_case(&pool, prefix)},
        {"symbol", symbol},
        {"front", is_front ? "yes" : ""},
        {"given", given_options(&pool, contender->option_text)},
        {"loop", pool_format(&pool, "%.*s", (int)(strstr(loop, "int main(") - loop), loop)},
    };
    const char *const made[][2] = {{pool_format(&pool, "%s.h", prefix), text_durable_h_in},
                                   {pool_format(&pool, "%s.c", prefix), text_durable_c_in},
                                   {"example.c", text_durable_example_c_in}};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        files[count++] = (struct export_file){
            made[i][0], template_fill(&pool, made[i][1], values, sizeof values / sizeof values[0])};
    }
    bool done = export_files_write(request->folder, files, error);
    pool_free(&pool);
    return done;
}
