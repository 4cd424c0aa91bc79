/* Tables of results, and the data of one picture. */
#include "pictures_work.h"

#include "csv_table.h"
#include "memory.h"
#include "plots_folder.h"
#include "result_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- tables ---------------------------------------------------------------------------------- */

json_t *picture_table(struct pictures *all)
{
    json_t *table = json_array();
    (void)json_array_append_new(all->kept, table);
    return table;
}

const char *picture_series(struct pictures *all, const json_t *row, const char *options)
{
    const char *set = json_word(row, "set");
    return pool_format(&all->pool, "%s%s%s%s%s", json_word(row, "algo"),
                       options[0] != '\0' ? ":" : "", options, set[0] != '\0' ? "@" : "", set);
}

void picture_table_add(struct pictures *all, json_t *table, json_t *row)
{
    const char *series = picture_series(all, row, json_word(row, "options"));
    (void)json_object_set_new(row, "series", json_string(series));
    (void)json_array_append_new(table, row);
}

json_t *picture_table_read(struct pictures *all, const char *const *folders, size_t count,
                           const char *name)
{
    json_t *rows = picture_table(all);
    for (size_t i = 0; i < count && !all->failed; i++) {
        struct stat info;
        char mark[RESULT_MARK_BYTES];
        const char *path = pool_format(&all->pool, "%s/%s.csv", folders[i], name);
        if (stat(path, &info) != 0 || info.st_size == 0) {
            continue;
        }
        json_t *table = csv_table_read(path, all->error);
        all->failed = table == NULL;
        size_t k = 0;
        json_t *row = NULL;
        json_array_foreach(table, k, row)
        {
            (void)json_object_set_new(row, "set", json_string(result_mark(i, count, mark)));
            picture_table_add(all, rows, json_incref(row));
        }
        json_decref(table);
    }
    return rows;
}

json_t *picture_where(struct pictures *all, const json_t *rows, const char *column,
                      const char *text)
{
    json_t *found = picture_table(all);
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(json_word(row, column), text) == 0) {
            (void)json_array_append(found, row);
        }
    }
    return found;
}

json_t *picture_distinct(struct pictures *all, const json_t *rows, const char *column)
{
    json_t *texts = picture_table(all);
    json_t *seen = json_object();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *text = json_word(json_array_get(rows, i), column);
        if (json_object_get(seen, text) == NULL) {
            (void)json_object_set_new(seen, text, json_true());
            (void)json_array_append_new(texts, json_string(text));
        }
    }
    json_decref(seen);
    return texts;
}

/* --- one picture ----------------------------------------------------------------------------- */

void picture_begin(struct pictures *all, const char *columns)
{
    all->csv = memory_stream(&all->csv_text, &all->csv_bytes);
    all->csv_rows = 0;
    (void)fprintf(all->csv, "%s\n", columns);
}

/* Characters with a meaning in gnuplot's data or lists of words are replaced by ones that look alike. */
void picture_field(struct pictures *all, bool first, const char *text, const char *empty)
{
    static const char characters[] = "\"'\\,";
    static const char *const alike[] = {"”", "’", "∖", "‚"};
    (void)fputs(first ? "" : ",", all->csv);
    for (const char *c = text[0] != '\0' ? text : empty; *c != '\0'; c++) {
        const char *special = strchr(characters, *c);
        if (special != NULL) {
            (void)fputs(alike[special - characters], all->csv);
        } else if ((unsigned char)*c <= ' ' || *c == '\x7f') {
            (void)fputs("\u00a0", all->csv); /* a space that ends no word */
        } else {
            (void)fputc(*c, all->csv);
        }
    }
}

void picture_end_row(struct pictures *all)
{
    (void)fputc('\n', all->csv);
    all->csv_rows++;
}

static void write_csv(const void *ctx, FILE *stream)
{
    const struct pictures *all = ctx;
    (void)fwrite(all->csv_text, 1, all->csv_bytes, stream);
}

void picture_finish(struct pictures *all, const struct picture *picture)
{
    const char *const fields[] = {picture->script,      picture->trace,       picture->settings[0],
                                  picture->settings[1], picture->settings[2], picture->title,
                                  picture->about};
    memory_stream_close(all->csv);
    if (all->csv_rows > 0 && !all->failed) {
        all->failed = !outfolder_write(
            all->out, pool_format(&all->pool, "%s/%s.csv", all->place, picture->name), write_csv,
            all, all->error);
        (void)fputs(picture->name, all->list);
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            (void)fputc(',', all->list);
            csv_write_field(all->list, fields[i] != NULL ? fields[i] : "");
        }
        (void)fputc('\n', all->list);
    }
    free(all->csv_text);
}

const char *picture_word(struct pictures *all, const char *text)
{
    char word[PLOTS_NAME_BYTES];
    plots_name(text, word);
    return pool_format(&all->pool, "%s", word);
}
