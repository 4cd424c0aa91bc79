#include "json_text.h"

#include "standard_files.h"

#include <stdlib.h>

json_t *json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string == NULL) {
        char *plain = standard_files_line(text);
        string = json_string(plain);
        free(plain);
    }
    return string;
}
