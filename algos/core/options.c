/* Option strings: "opt=v:opt=v" to values and back, driven by a descriptor's option table. */
#include "guess.h"
#include "number.h"
#include "registry.h"

#include "joined_text.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts that options were given, kept for good: each once. */
struct kept_text {
    struct kept_text *next;
    char text[];
};

static _Atomic(struct kept_text *) kept_texts;

/* NULL: no memory. */
static const char *keep_text(const char *text, size_t length)
{
    struct kept_text *first = atomic_load(&kept_texts);
    for (const struct kept_text *kept = first; kept != NULL; kept = kept->next) {
        if (strlen(kept->text) == length && memcmp(kept->text, text, length) == 0) {
            return kept->text;
        }
    }
    struct kept_text *kept = malloc(sizeof *kept + length + 1);
    if (kept == NULL) {
        return NULL;
    }
    memcpy(kept->text, text, length);
    kept->text[length] = '\0';
    kept->next = first;
    while (!atomic_compare_exchange_weak(&kept_texts, &kept->next, kept)) {
    }
    return kept->text;
}

bool tl_option_set_text(int64_t *value, const char *text)
{
    const char *kept = keep_text(text, strlen(text));
    *value = (int64_t)(intptr_t)kept;
    return kept != NULL;
}

void tl_options_default(const struct tl_algo *algo, int64_t values[TL_OPTIONS_MAX])
{
    size_t count = tl_option_count(algo);
    for (size_t i = 0; i < TL_OPTIONS_MAX; i++) {
        values[i] = i < count ? algo->options[i].default_value : 0;
    }
}

int tl_option_format(const struct tl_option *option, int64_t value, char *text, size_t text_bytes)
{
    if (tl_option_is_text(option)) {
        return snprintf(text, text_bytes, "%s", value != 0 ? tl_option_text(value) : "");
    }
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (c->value == value) {
            return snprintf(text, text_bytes, "%s", c->word);
        }
    }
    return snprintf(text, text_bytes, "%" PRId64, value);
}

int tl_options_format(const struct tl_algo *algo, const int64_t *values, bool all, char *text,
                      size_t text_bytes)
{
    struct text joined = text_in(text, text_bytes);
    for (size_t i = 0; i < tl_option_count(algo); i++) {
        const struct tl_option *option = &algo->options[i];
        bool text_is_absent = tl_option_is_text(option) && values[i] == 0;
        if ((!all && values[i] == option->default_value) || text_is_absent) {
            continue;
        }
        char number[64] = "";
        const char *value = number;
        if (tl_option_is_text(option)) {
            value = tl_option_text(values[i]);
        } else {
            (void)tl_option_format(option, values[i], number, sizeof number);
        }
        text_add(&joined, "%s%s=%s", joined.used > 0 ? ":" : "", option->name, value);
    }
    return (int)joined.used;
}

/* Reads a whole number, negative ones with a minus, that fills [text, text + length). */
static bool parse_number(const char *text, size_t length, int64_t *value)
{
    static const struct tl_number_form whole = {.kind = TL_NUMBER_WHOLE, .to = INT64_MAX};
    char copy[64];
    if (length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    union tl_number number;
    bool minus = copy[0] == '-';
    bool good = tl_number_read(&whole, copy + minus, &number);
    *value = !good ? 0 : minus ? -(int64_t)number.whole : (int64_t)number.whole;
    return good;
}

/* What an option takes, as words: "1 to 512, or auto". */
static void describe_range(const struct tl_option *option, char *text, size_t text_bytes)
{
    struct text range = text_in(text, text_bytes);
    if (tl_option_is_text(option)) {
        text_add(&range, "a text that is not empty");
    }
    if (option->min <= option->max) {
        text_add(&range, "%" PRId64 " to %" PRId64, option->min, option->max);
    }
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        text_add(&range, "%s%s", range.used > 0 ? ", or " : "", c->word);
    }
}

static bool parse_value(const struct tl_option *option, const char *text, size_t length,
                        int64_t *value)
{
    if (tl_option_is_text(option)) {
        const char *kept = length > 0 ? keep_text(text, length) : NULL;
        *value = (int64_t)(intptr_t)kept;
        return kept != NULL;
    }
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if (strlen(c->word) == length && strncmp(c->word, text, length) == 0) {
            *value = c->value;
            return true;
        }
    }
    return parse_number(text, length, value) && option->min <= *value && *value <= option->max;
}

/* The row of an option called [text, text + length); the table's count if there is none. */
static size_t find_option(const struct tl_algo *algo, const char *text, size_t length)
{
    size_t count = tl_option_count(algo);
    for (size_t i = 0; i < count; i++) {
        const char *name = algo->options[i].name;
        if (strlen(name) == length && strncmp(name, text, length) == 0) {
            return i;
        }
    }
    return count;
}

size_t tl_option_row(const struct tl_algo *algo, const char *name)
{
    return find_option(algo, name, strlen(name));
}

static void explain_unknown(const struct tl_algo *algo, const char *text, size_t length, char *why,
                            size_t why_bytes)
{
    char name[64];
    size_t kept = length < sizeof name - 1 ? length : sizeof name - 1;
    memcpy(name, text, kept);
    name[kept] = '\0';
    size_t count = tl_option_count(algo);
    if (count == 0) {
        (void)snprintf(why, why_bytes, "%s has no options (got '%s')", algo->name, name);
        return;
    }
    struct tl_guess guess = {.given = name};
    for (size_t i = 0; i < count; i++) {
        (void)tl_guess_is(&guess, algo->options[i].name);
    }
    (void)snprintf(why, why_bytes, "%s has no option '%s'%s `timerlab describe %s` shows all",
                   algo->name, name, tl_guess_text(&guess), algo->name);
}

enum tl_status tl_options_parse(const struct tl_algo *algo, const char *text,
                                int64_t values[TL_OPTIONS_MAX], char *why, size_t why_bytes)
{
    tl_options_default(algo, values);
    bool given[TL_OPTIONS_MAX] = {false};
    const char *at = text;
    while (*at != '\0') {
        size_t length = strcspn(at, ":");
        size_t name_length = strcspn(at, "=:");
        if (name_length == length) {
            (void)snprintf(why, why_bytes, "'%.*s' is not of the form option=value", (int)length,
                           at);
            return TL_ERR_OPTION;
        }
        size_t row = find_option(algo, at, name_length);
        if (row == tl_option_count(algo)) {
            explain_unknown(algo, at, name_length, why, why_bytes);
            return TL_ERR_OPTION;
        }
        const struct tl_option *option = &algo->options[row];
        if (given[row]) {
            (void)snprintf(why, why_bytes, "%s: %s is given twice", algo->name, option->name);
            return TL_ERR_OPTION;
        }
        given[row] = true;
        const char *value = at + name_length + 1;
        size_t value_length = length - name_length - 1;
        if (!parse_value(option, value, value_length, &values[row])) {
            char range[160];
            describe_range(option, range, sizeof range);
            (void)snprintf(why, why_bytes, "%s: %s=%.*s is not usable; it takes %s", algo->name,
                           option->name, (int)value_length, value, range);
            return TL_ERR_OPTION;
        }
        at += length;
        if (*at == ':') {
            at++;
            if (*at == '\0') {
                (void)snprintf(why, why_bytes, "nothing follows the last ':'");
                return TL_ERR_OPTION;
            }
        }
    }
    return TL_OK;
}
