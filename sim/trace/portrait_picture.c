#include "portrait_picture.h"

#include "outfile.h"
#include "plots_folder.h"
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRIPT "style.gp"
#define PREFIX "portrait-"

static const char *const endings[] = {".svg", ".png"};
#define ENDINGS (sizeof endings / sizeof endings[0])

/* FOLDER/portrait-NAME, with the names of all traces. */
static bool make_stem(const char *const *names, size_t count, const char *folder,
                      char stem[PATH_MAX], struct error *error)
{
    int length = snprintf(stem, PATH_MAX, "%s/" PREFIX "%s%s%s", folder, names[0],
                          count > 1 ? "-beside-" : "", count > 1 ? names[1] : "");
    return (length > 0 && length < PATH_MAX - 16) ||
           error_set(error, "%s: the name is too long", folder);
}

/* Draw in a temporary folder, and rename both pictures when they are complete. */
static bool draw(const char *stem, const char *script, struct error *error)
{
    struct temporary temporary = {0};
    char part[PATH_MAX];
    char data[PATH_MAX];
    (void)snprintf(part, sizeof part, "%.*s", (int)(strrchr(stem, '/') - stem), stem);
    if (!temporary_make_in(&temporary, part)) {
        return error_set(error, "%s.csv could not be drawn: %s", stem, strerror(errno));
    }
    /* With other beginnings gnuplot might take the first character for a pipe. */
    const char *here = stem[0] == '/' || stem[0] == '.' ? "" : "./";
    (void)snprintf(data, sizeof data, "%s%.*s.csv", here, PATH_MAX - 16, stem);
    (void)snprintf(part, sizeof part, "%s%.*s", here, PATH_MAX - 16, temporary.file);
    const char *caption = strrchr(stem, '/') + sizeof("/" PREFIX) - 1;
    const char *words[] = {"gnuplot", "-c", script, "portrait", data, part, caption, NULL};
    (void)setenv("LC_ALL", "C.UTF-8", 1); /* gnuplot warns of other locales */
    struct error why = {"gnuplot failed; it must have the terminals svg and pngcairo"};
    bool good = program_run(words, STDERR_FILENO, &why) == 0;
    for (size_t i = 0; i < ENDINGS; i++) {
        char from[PATH_MAX];
        char to[PATH_MAX];
        (void)snprintf(from, sizeof from, "%.*s%s", PATH_MAX - 8, part, endings[i]);
        (void)snprintf(to, sizeof to, "%.*s%s", PATH_MAX - 8, stem, endings[i]);
        good = good && rename(from, to) == 0;
    }
    temporary_remove(&temporary);
    return good || error_set(error, "%s.csv could not be drawn: %s; Debian has it as gnuplot-nox",
                             stem, why.text);
}

bool portrait_picture(const struct trace_portrait *portraits, const char *const *trace_paths,
                      size_t count, const char *folder, char stem[PATH_MAX], struct error *error)
{
    if (!folder_make(folder, error)) {
        return false;
    }
    char room[PORTRAITS_MAX][PLOTS_NAME_BYTES + 2];
    const char *names[PORTRAITS_MAX] = {room[0], room[1]};
    for (size_t i = 0; i < count && i < PORTRAITS_MAX; i++) {
        plots_name(trace_paths[i], room[i]);
        if (i > 0 && strcmp(names[i], names[0]) == 0) {
            (void)strcat(room[i], "-2");
        }
    }
    char data[PATH_MAX];
    if (!make_stem(names, count, folder, stem, error)) {
        return false;
    }
    (void)snprintf(data, sizeof data, "%.*s.csv", PATH_MAX - 8, stem);
    if (!trace_portrait_write(portraits, names, count, data, error)) {
        return false;
    }
    char script[PATH_MAX];
    struct error why;
    if (!plots_find(SCRIPT, script, &why)) {
        return error_set(error, "%s could not be drawn: %s", data, why.text);
    }
    return draw(stem, script, error);
}
