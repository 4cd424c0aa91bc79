#include "text_file.h"

#include "memory.h"
#include "standard_streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_file_read(const char *path, struct error *error)
{
    bool standard = is_standard_stream(path);
    FILE *file = standard ? stdin : memory_unless_short(fopen(path, "rb"));
    if (file == NULL) {
        (void)error_set(error, "%s: cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    char *text = memory_bytes(TEXT_FILE_BYTES_MAX + 1);
    size_t bytes = fread(text, 1, TEXT_FILE_BYTES_MAX + 1, file);
    int why = ferror(file) != 0 ? errno : 0;
    if (!standard) {
        (void)fclose(file);
    }
    if (why != 0) {
        (void)error_set(error, "%s: cannot be read: %s", path, strerror(why));
    } else if (memchr(text, '\0', bytes) != NULL) {
        (void)error_set(error, "%s: it holds a zero byte, and so is no text", path);
    } else if (bytes > TEXT_FILE_BYTES_MAX) {
        (void)error_set(error, "%s: it is longer than 1 MiB; is this the right file?", path);
    } else {
        text[bytes] = '\0';
        return text;
    }
    free(text);
    return NULL;
}
