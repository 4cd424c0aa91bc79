/* Options: "opt=v:opt=v" to a struct of values and back, driven by a table. */
#include "guess.h"
#include "number.h"
#include "registry.h"

#include "joined_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool tl_option_is_number(const struct tl_option *option)
{
    return option->kind != TL_OPTION_CHOICE && option->kind != TL_OPTION_TEXT;
}

static size_t value_bytes(const struct tl_option *option)
{
    switch (option->kind) {
    case TL_OPTION_U32:
    case TL_OPTION_CHOICE:
        return sizeof(uint32_t);
    case TL_OPTION_TEXT:
        return TL_TEXT_BYTES;
    case TL_OPTION_U64:
    case TL_OPTION_TICKS:
    case TL_OPTION_BYTES:
    case TL_OPTION_REAL:
        break;
    }
    return sizeof(uint64_t);
}

bool tl_option_fits(const struct tl_option *option, size_t options_bytes)
{
    size_t bytes = value_bytes(option);
    return option->offset % (option->kind == TL_OPTION_TEXT ? 1 : bytes) == 0 &&
           bytes <= options_bytes && option->offset <= options_bytes - bytes;
}

uint64_t tl_option_number(const struct tl_option *option, const void *values)
{
    const char *at = (const char *)values + option->offset;
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (option->kind == TL_OPTION_TEXT) {
        return 0;
    }
    if (value_bytes(option) == sizeof narrow) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

void tl_option_set_number(const struct tl_option *option, void *values, uint64_t number)
{
    char *at = (char *)values + option->offset;
    uint32_t narrow = (uint32_t)number;
    if (value_bytes(option) == sizeof narrow) {
        memcpy(at, &narrow, sizeof narrow);
    } else {
        memcpy(at, &number, sizeof number);
    }
}

bool tl_option_accepts(const struct tl_option *option, uint64_t number)
{
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (c->value == number) {
            return true;
        }
    }
    return tl_option_is_number(option) && (double)number >= option->min &&
           (double)number <= option->max;
}

static double real_value(const struct tl_option *option, const void *values)
{
    double real;
    memcpy(&real, (const char *)values + option->offset, sizeof real);
    return real;
}

static void set_real(const struct tl_option *option, void *values, double real)
{
    memcpy((char *)values + option->offset, &real, sizeof real);
}

size_t tl_option_count(const struct tl_algo *algo)
{
    size_t count = 0;
    while (algo->options != NULL && algo->options[count].name != NULL) {
        count++;
    }
    return count;
}

const struct tl_option *tl_option_find(const struct tl_option *table, const char *name)
{
    while (table != NULL && table->name != NULL && strcmp(table->name, name) != 0) {
        table++;
    }
    return table != NULL && table->name != NULL ? table : NULL;
}

void tl_table_default(const struct tl_option *table, void *values)
{
    for (const struct tl_option *option = table; option != NULL && option->name != NULL; option++) {
        if (option->kind == TL_OPTION_TEXT) {
            memset((char *)values + option->offset, 0, TL_TEXT_BYTES);
        } else if (option->kind == TL_OPTION_REAL) {
            set_real(option, values, option->default_value);
        } else {
            tl_option_set_number(option, values, (uint64_t)option->default_value);
        }
    }
}

void tl_options_default(const struct tl_algo *algo, void *values)
{
    memset(values, 0, TL_OPTIONS_BYTES);
    tl_table_default(algo->options, values);
}

/* The choice that stands for the value; NULL: none does. */
static const struct tl_choice *choice_of(const struct tl_option *option, const void *values)
{
    const struct tl_choice *choice = option->choices;
    double real = option->kind == TL_OPTION_REAL ? real_value(option, values) : 0;
    uint64_t number =
        option->kind == TL_OPTION_REAL ? (uint64_t)real : tl_option_number(option, values);
    while (choice != NULL && choice->word != NULL && choice->value != number) {
        choice++;
    }
    return choice != NULL && choice->word != NULL ? choice : NULL;
}

int tl_option_format(const struct tl_option *option, const void *values, char *text,
                     size_t text_bytes)
{
    if (option->kind == TL_OPTION_TEXT) {
        return snprintf(text, text_bytes, "%s", (const char *)values + option->offset);
    }
    const struct tl_choice *choice = choice_of(option, values);
    if (choice != NULL) {
        return snprintf(text, text_bytes, "%s", choice->word);
    }
    return option->kind == TL_OPTION_REAL
               ? snprintf(text, text_bytes, "%.15g", real_value(option, values))
               : snprintf(text, text_bytes, "%" PRIu64, tl_option_number(option, values));
}

int tl_options_format(const struct tl_algo *algo, const void *values, bool all, char *text,
                      size_t text_bytes)
{
    TL_OPTION_VALUES(defaults);
    tl_options_default(algo, defaults);
    struct text joined = text_in(text, text_bytes);
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        const struct tl_option *option = &algo->options[i];
        bool is_default = memcmp((const char *)values + option->offset, defaults + option->offset,
                                 value_bytes(option)) == 0;
        if (is_default && (!all || option->kind == TL_OPTION_TEXT)) {
            continue;
        }
        char value[TL_TEXT_BYTES];
        (void)tl_option_format(option, values, value, sizeof value);
        text_add(&joined, "%s%s=%s", joined.used > 0 ? ":" : "", option->name, value);
    }
    return (int)joined.used;
}

void tl_option_range(const struct tl_option *option, char *text, size_t text_bytes)
{
    struct text range = text_in(text, text_bytes);
    if (option->kind == TL_OPTION_TEXT) {
        text_add(&range, "a text of 1 to %u bytes", TL_TEXT_BYTES - 1);
    } else if (tl_option_is_number(option) && option->min <= option->max) {
        text_add(&range, "%.15g to %.15g", option->min, option->max);
    }
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        text_add(&range, "%s%s", range.used > 0 ? ", or " : "", c->word);
    }
}

bool tl_option_read(const struct tl_option *option, void *values, const char *text)
{
    if (option->kind == TL_OPTION_TEXT) {
        size_t length = strlen(text);
        if (length == 0 || length >= TL_TEXT_BYTES) {
            return false;
        }
        memset((char *)values + option->offset, 0, TL_TEXT_BYTES);
        memcpy((char *)values + option->offset, text, length);
        return true;
    }
    bool is_real = option->kind == TL_OPTION_REAL;
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (strcmp(c->word, text) == 0) {
            if (is_real) {
                set_real(option, values, (double)c->value);
            } else {
                tl_option_set_number(option, values, c->value);
            }
            return true;
        }
    }
    const struct tl_number_form form = {.kind = is_real                           ? TL_NUMBER_REAL
                                                : option->kind == TL_OPTION_BYTES ? TL_NUMBER_BYTES
                                                                                  : TL_NUMBER_WHOLE,
                                        .to = UINT64_MAX,
                                        .least = option->min,
                                        .most = option->max};
    union tl_number number;
    if (!tl_option_is_number(option) || option->max < option->min ||
        !tl_number_read(&form, text, &number)) {
        return false;
    }
    if (is_real) {
        set_real(option, values, number.real);
        return true;
    }
    if ((double)number.whole < option->min || (double)number.whole > option->max) {
        return false;
    }
    tl_option_set_number(option, values, number.whole);
    return true;
}

static bool explain_unknown(const struct tl_option_table *table, const char *name, char *why,
                            size_t why_bytes)
{
    if (table->options == NULL || table->options->name == NULL) {
        (void)snprintf(why, why_bytes, "%s has no %ss (got '%s')", table->owner, table->noun, name);
        return false;
    }
    struct tl_guess guess = {.given = name};
    for (const struct tl_option *option = table->options; option->name != NULL; option++) {
        (void)tl_guess_is(&guess, option->name);
    }
    (void)snprintf(why, why_bytes, "%s has no %s '%s'%s `%s` shows all", table->owner, table->noun,
                   name, tl_guess_text(&guess), table->command);
    return false;
}

/* Copy the characters [from, from + length), or fewer if there is no room. */
static void copy(char *to, size_t room, const char *from, size_t length)
{
    size_t kept = length < room - 1 ? length : room - 1;
    memcpy(to, from, kept);
    to[kept] = '\0';
}

bool tl_setting_read(const struct tl_option_table *table, const char *text, size_t length,
                     uint64_t *given, void *values, char *why, size_t why_bytes)
{
    char name[64];
    char value[TL_TEXT_BYTES + 1];
    const char *equals = memchr(text, '=', length);
    if (equals == NULL) {
        (void)snprintf(why, why_bytes, "'%.*s' is not of the form %s=value", (int)length, text,
                       table->noun);
        return false;
    }
    size_t name_length = (size_t)(equals - text);
    copy(name, sizeof name, text, name_length);
    copy(value, sizeof value, equals + 1, length - name_length - 1);
    const struct tl_option *option = tl_option_find(table->options, name);
    if (option == NULL) {
        return explain_unknown(table, name, why, why_bytes);
    }
    uint64_t bit = UINT64_C(1) << (option - table->options);
    if (given != NULL && (*given & bit) != 0) {
        (void)snprintf(why, why_bytes, "%s: %s is given twice", table->owner, option->name);
        return false;
    }
    if (!tl_option_read(option, values, value)) {
        char range[200];
        tl_option_range(option, range, sizeof range);
        (void)snprintf(why, why_bytes, "%s: %s=%s is not usable; it takes %s", table->owner,
                       option->name, value, range);
        return false;
    }
    if (given != NULL) {
        *given |= bit;
    }
    return true;
}

enum tl_status tl_options_parse(const struct tl_algo *algo, const char *text, void *values,
                                char *why, size_t why_bytes)
{
    char command[128];
    (void)snprintf(command, sizeof command, "timerlab describe %s", algo->name);
    const struct tl_option_table table = {algo->options, algo->name, "option", command};
    uint64_t given = 0;
    tl_options_default(algo, values);
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, ":");
        if (!tl_setting_read(&table, at, length, &given, values, why, why_bytes)) {
            return TL_ERR_OPTION;
        }
        at += length;
        if (*at == ':' && *++at == '\0') {
            (void)snprintf(why, why_bytes, "nothing follows the last ':'");
            return TL_ERR_OPTION;
        }
    }
    return TL_OK;
}
