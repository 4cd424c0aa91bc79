#include "trace_labels.h"

#include "memory.h"
#include "standard_files.h"
#include "standard_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool trace_labels_check(const char *const *paths, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct stat one = {0};
        for (size_t k = 0; k < i; k++) {
            struct stat other = {0};
            bool same = stat(paths[i], &one) == 0 && stat(paths[k], &other) == 0 &&
                        one.st_dev == other.st_dev && one.st_ino == other.st_ino;
            if (same || (is_standard_stream(paths[i]) && is_standard_stream(paths[k]))) {
                return error_set(error, "%s is named twice%s%s; name it once", paths[i],
                                 strcmp(paths[i], paths[k]) == 0 ? "" : ", the other time as ",
                                 strcmp(paths[i], paths[k]) == 0 ? "" : paths[k]);
            }
        }
    }
    return true;
}

/* Return the end of the path with `folders` of its folders, or all of it. */
static const char *tail(const char *path, size_t folders)
{
    const char *at = path + strlen(path);
    for (size_t slashes = 0; at > path && (at[-1] != '/' || slashes++ < folders);) {
        at--;
    }
    return at;
}

/* Return the bytes of the UTF-8 character at `at` if it is harmless everywhere, otherwise 0. */
static size_t plain_bytes(const char *at)
{
    return strchr("%\\<>\"'`|*?", *at) != NULL ? 0 : standard_files_plain(at);
}

/* Copy a text, replacing `/` by `:`, and bytes that are not text or have a meaning in a terminal, a
 * shell, a page or a table by %XX. */
static char *as_label(const char *text)
{
    char *label = memory_bytes(3 * strlen(text) + 1);
    char *to = label;
    for (const char *at = text; *at != '\0';) {
        size_t bytes = plain_bytes(at);
        if (bytes == 0 || (at == text && *at == '-')) {
            to += sprintf(to, "%%%02X", (unsigned)(unsigned char)*at++);
        } else if (*at == '/') {
            *to++ = ':';
            at++;
        } else {
            memcpy(to, at, bytes);
            to += bytes;
            at += bytes;
        }
    }
    *to = '\0';
    return label;
}

char *trace_label(const char *const *paths, size_t count, size_t index)
{
    size_t folders = 0;
    if (is_standard_stream(paths[index])) {
        return memory_copy("standard-input");
    }
    for (size_t i = 0; i < count; i++) {
        while (i != index && tail(paths[index], folders) != paths[index] &&
               strcmp(tail(paths[i], folders), tail(paths[index], folders)) == 0) {
            folders++;
        }
    }
    return as_label(tail(paths[index], folders));
}
