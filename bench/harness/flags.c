#include "flags.h"

#include "standard_files.h"

#include <stdio.h>
#include <string.h>

const char *flag_value(const char *flag, int argc, char **argv, int *index)
{
    const char *argument = argv[*index];
    size_t length = strlen(flag);
    if (strncmp(argument, flag, length) != 0 ||
        (argument[length] != '=' && argument[length] != '\0')) {
        return NULL;
    }
    if (argument[length] == '=') {
        return argument + length + 1;
    }
    return *index + 1 < argc ? argv[++*index] : "";
}

static void refuse(const char *program, const char *flag, const struct tl_number_form *form,
                   const char *text)
{
    char why[512];
    (void)tl_number_refuse(form, flag, text, why, sizeof why);
    standard_files_tell("%s: %s\n", program, why);
}

enum flag_found flag_take_number(const char *program, struct flag_number *numbers, int argc,
                                 char **argv, int *index)
{
    const char *text = NULL;
    struct flag_number *number = numbers;
    while (number->flag != NULL && (text = flag_value(number->flag, argc, argv, index)) == NULL) {
        number++;
    }
    if (text == NULL) {
        return FLAG_OTHER;
    }
    if (number->given) {
        standard_files_tell("%s: %s is given twice\n", program, number->flag);
        return FLAG_REFUSED;
    }
    number->given = true;
    if (!tl_number_read(&number->form, text, &number->value)) {
        refuse(program, number->flag, &number->form, text);
        return FLAG_REFUSED;
    }
    return FLAG_TAKEN;
}

size_t flag_ranges(const char *program, const char *flag, const struct tl_number_form *form,
                   const char *text, struct tl_range *ranges)
{
    size_t count = tl_ranges_read(form, text, ranges);
    if (count == 0) {
        refuse(program, flag, form, text);
    }
    return count;
}
