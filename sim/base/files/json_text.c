#include "json_text.h"

#include "standard_files.h"

#include <math.h>
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

double json_figure(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    char *end = NULL;
    double number = json_is_number(value)             ? json_number_value(value)
                    : text != NULL && text[0] != '\0' ? strtod(text, &end)
                                                      : NAN;
    return end == NULL || *end == '\0' ? number : NAN;
}

const char *json_word(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}
