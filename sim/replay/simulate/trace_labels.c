#include "trace_labels.h"

#include <string.h>
#include <sys/stat.h>

bool trace_labels_check(const char *const *paths, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct stat one;
        for (size_t k = 0; k < i && stat(paths[i], &one) == 0; k++) {
            struct stat other;
            if (stat(paths[k], &other) == 0 && one.st_dev == other.st_dev &&
                one.st_ino == other.st_ino) {
                return error_set(error, "%s is named twice%s%s; name it once", paths[i],
                                 strcmp(paths[i], paths[k]) == 0 ? "" : ", the other time as ",
                                 strcmp(paths[i], paths[k]) == 0 ? "" : paths[k]);
            }
        }
    }
    return true;
}

/* The end of the path with so many of its folders; all of it, if it has no more. */
static const char *tail(const char *path, size_t folders)
{
    const char *at = path + strlen(path);
    for (size_t slashes = 0; at > path && (at[-1] != '/' || slashes++ < folders);) {
        at--;
    }
    return at;
}

char *trace_label(const char *const *paths, size_t count, size_t index)
{
    size_t folders = 0;
    for (size_t i = 0; i < count; i++) {
        while (i != index && tail(paths[index], folders) != paths[index] &&
               strcmp(tail(paths[i], folders), tail(paths[index], folders)) == 0) {
            folders++;
        }
    }
    char *label = strdup(tail(paths[index], folders));
    if (label == NULL) {
        return NULL;
    }
    for (char *at = strchr(label, '/'); at != NULL; at = strchr(at, '/')) {
        *at = ':'; /* names of files are made of it */
    }
    return label;
}
