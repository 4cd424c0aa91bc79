#include "json_text.h"

#include "memory.h"
#include "standard_files.h"

#include <stdlib.h>

json_t *json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string == NULL) {
        char *plain = NULL;
        size_t bytes = 0;
        FILE *memory = memory_stream(&plain, &bytes);
        standard_files_say(memory, text);
        memory_stream_close(memory);
        string = json_string(plain);
        free(plain);
    }
    return string;
}
