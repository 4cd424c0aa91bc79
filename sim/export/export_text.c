/* Templates, and the files made of them. */
#include "export_work.h"

#include "outfolder.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *value_of(const struct value *values, size_t count, const char *name,
                            size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(values[i].name, name, length) == 0 && values[i].name[length] == '\0') {
            return values[i].text;
        }
    }
    return NULL;
}

/* Add the text from `at` to `end`, with each @name@ replaced. */
static void fill_line(struct text *out, const char *at, const char *end, const struct value *values,
                      size_t count)
{
    while (at < end) {
        const char *mark = memchr(at, '@', (size_t)(end - at));
        const char *close = mark != NULL ? memchr(mark + 1, '@', (size_t)(end - mark - 1)) : NULL;
        const char *text =
            close != NULL ? value_of(values, count, mark + 1, (size_t)(close - mark - 1)) : NULL;
        const char *next = text != NULL ? close + 1 : mark != NULL ? mark + 1 : end;
        text_add(out, "%.*s%s", (int)((text != NULL ? mark : next) - at), at,
                 text != NULL ? text : "");
        at = next;
    }
}

const char *template_fill(struct pool *pool, const char *template, const struct value *values,
                          size_t count)
{
    struct text out = {.pool = pool};
    bool shown = true;
    while (*template != '\0') {
        const char *end = strchr(template, '\n') + 1;
        char word[16] = "";
        char name[64] = "";
        (void)sscanf(template, "@%15[a-z] %63[a-z_]", word, name);
        if (strcmp(word, "end") == 0) {
            shown = true;
        } else if (strcmp(word, "if") == 0 || strcmp(word, "ifnot") == 0) {
            const char *text = value_of(values, count, name, strlen(name));
            shown = (text != NULL && text[0] != '\0') == (strcmp(word, "if") == 0);
        } else if (shown) {
            fill_line(&out, template, end, values, count);
        }
        template = end;
    }
    return text_end(&out);
}

const char *upper_case(struct pool *pool, const char *text)
{
    struct text upper = {.pool = pool};
    for (; *text != '\0'; text++) {
        text_add(&upper, "%c", toupper((unsigned char)*text));
    }
    return text_end(&upper);
}

static void write_text(const void *ctx, FILE *stream)
{
    (void)fputs(ctx, stream);
}

bool export_files_write(const char *folder, const struct export_file *files, struct error *error)
{
    static const char *const kinds[] = {NULL};
    struct outfolder out;
    bool done = outfolder_open(&out, folder, error);
    for (; done && files->name != NULL; files++) {
        done = outfolder_write(&out, files->name, write_text, files->text, error);
    }
    done = done && outfolder_commit(&out, kinds, error);
    outfolder_close(&out);
    return done;
}
