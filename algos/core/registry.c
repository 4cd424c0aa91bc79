/*
 * The registry: built from the list in algos/structures/CMakeLists.txt, by way of the generated
 * file registry_list.h, which holds one line for each structure: TL_REGISTER(symbol), or
 * TL_REGISTER_WRAPPED(symbol) if another library's.
 */
#include "registry.h"

#include "joined_text.h"

#include <stdio.h>
#include <string.h>

#define TL_REGISTER(symbol)                                                                        \
    extern const struct tl_algo tl_algo_##symbol;                                                  \
    extern const struct tl_algo tl_counted_##symbol;                                               \
    extern const struct tl_algo tl_embedded_##symbol;
#define TL_REGISTER_WRAPPED(symbol)                                                                \
    extern const struct tl_algo tl_algo_##symbol;                                                  \
    extern const struct tl_algo tl_counted_##symbol;
#include "registry_list.h"
#undef TL_REGISTER
#undef TL_REGISTER_WRAPPED

static const struct tl_entry entries[] = {
#define TL_REGISTER(symbol)         {&tl_algo_##symbol, &tl_counted_##symbol, &tl_embedded_##symbol},
#define TL_REGISTER_WRAPPED(symbol) {&tl_algo_##symbol, &tl_counted_##symbol, NULL},
#include "registry_list.h"
#undef TL_REGISTER
#undef TL_REGISTER_WRAPPED
};

size_t tl_registry_count(void)
{
    return sizeof entries / sizeof entries[0];
}

const struct tl_entry *tl_registry_at(size_t index)
{
    return index < tl_registry_count() ? &entries[index] : NULL;
}

const struct tl_entry *tl_registry_find(const char *name)
{
    for (size_t i = 0; i < tl_registry_count(); i++) {
        if (strcmp(entries[i].timed->name, name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

const struct tl_algo *tl_entry_for_records(const struct tl_entry *entry)
{
    const struct tl_algo *algo = entry->embedded != NULL ? entry->embedded : entry->timed;
    return algo->embedded_bytes > 0 ? algo : NULL;
}

/* --- texts ----------------------------------------------------------------------------------- */

struct status_row {
    const char *name;
    const char *text;
};

static const struct status_row statuses[] = {
#define TL_STATUS_ROW(code, sentence) {#code, sentence},
    TL_STATUS_MAP(TL_STATUS_ROW)
#undef TL_STATUS_ROW
};

static const struct status_row *status_row(enum tl_status status)
{
    static const struct status_row unknown = {"unknown", "an unknown status"};
    size_t index = (size_t)status;
    return index < sizeof statuses / sizeof statuses[0] ? &statuses[index] : &unknown;
}

const char *tl_status_name(enum tl_status status)
{
    return status_row(status)->name;
}

const char *tl_status_text(enum tl_status status)
{
    return status_row(status)->text;
}

bool tl_status_is_refusal(enum tl_status status)
{
    return status == TL_ERR_HORIZON || status == TL_ERR_FULL;
}

const struct tl_capability_row *tl_capabilities(size_t *count)
{
    static const struct tl_capability_row rows[] = {
#define TL_CAPABILITY_ROW(code, bit, word, text) {code, word, text},
        TL_CAPABILITY_MAP(TL_CAPABILITY_ROW)
#undef TL_CAPABILITY_ROW
    };
    *count = sizeof rows / sizeof rows[0];
    return rows;
}

/* --- descriptors ----------------------------------------------------------------------------- */

static void complain(struct text *complaint, const char *what, const char *detail)
{
    text_add(complaint, "%s%s%s", complaint->used > 0 ? "; " : "", what, detail);
}

bool tl_name_is_well_formed(const char *name)
{
    if (name[0] < 'a' || name[0] > 'z') {
        return false;
    }
    for (const char *c = name; *c != '\0'; c++) {
        bool dash = *c == '-' || *c == '_';
        if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || (dash && c[1] != '\0'))) {
            return false;
        }
    }
    return true;
}

/* The same, or "front(structure)", as compositions are called. */
static bool name_is_legal(const char *name)
{
    char part[96];
    const char *open = strchr(name, '(');
    size_t bytes = strlen(name);
    if (open == NULL) {
        return tl_name_is_well_formed(name);
    }
    if (bytes >= sizeof part || name[bytes - 1] != ')') {
        return false;
    }
    memcpy(part, name, bytes);
    part[open - name] = '\0';
    part[bytes - 1] = '\0';
    return tl_name_is_well_formed(part) && tl_name_is_well_formed(part + (open - name) + 1);
}

/* Whether the default, written by its user, is accepted, and the range fits into the member. */
static bool range_is_usable(const struct tl_option *option)
{
    double most = option->kind == TL_OPTION_U32 ? (double)UINT32_MAX : 0x1p63;
    if (option->kind != TL_OPTION_REAL && (option->min < 0 || option->max > most)) {
        return false;
    }
    if (tl_option_is_number(option) && option->min <= option->default_value &&
        option->default_value <= option->max) {
        return true;
    }
    for (const struct tl_choice *c = option->choices; c != NULL && c->word != NULL; c++) {
        if ((double)c->value == option->default_value) {
            return true;
        }
    }
    return option->kind == TL_OPTION_TEXT && option->default_value == 0;
}

static void validate_options(const struct tl_algo *algo, struct text *complaint)
{
    size_t count = tl_option_count(algo);
    if (count > TL_OPTIONS_MAX) {
        complain(complaint, "more options than the contract allows", "");
    }
    if (algo->options_bytes > TL_OPTIONS_BYTES) {
        complain(complaint, "options_bytes is more than TL_OPTIONS_BYTES", "");
    }
    for (size_t i = 0; i < count; i++) {
        const struct tl_option *option = &algo->options[i];
        if (!tl_name_is_well_formed(option->name)) {
            complain(complaint, "an option's name is not made of lower-case words: ", option->name);
        }
        if (option->help == NULL || option->help[0] == '\0') {
            complain(complaint, "no help for the option ", option->name);
        }
        if ((unsigned)option->kind > TL_OPTION_REAL ||
            !tl_option_fits(option, algo->options_bytes)) {
            complain(complaint, "no known type, or not within options_bytes: the option ",
                     option->name);
        } else if (!range_is_usable(option)) {
            complain(complaint,
                     "default out of range, or a range that the member cannot hold, in the option ",
                     option->name);
        }
    }
}

static void validate_durability(const struct tl_algo *algo, struct text *complaint)
{
    bool durable = (algo->capabilities & TL_CAP_DURABLE) != 0;
    const struct {
        const char *field;
        bool present;
    } hooks[] = {
        {"sync", algo->sync != NULL},
        {"recover", algo->recover != NULL},
        {"durability", algo->durability != NULL},
    };
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
        if (hooks[i].present != durable) {
            complain(complaint, "the capability `durable` goes together with the hook ",
                     hooks[i].field);
        }
    }
    const struct tl_option *path = tl_option_find(algo->options, "path");
    if (durable && (path == NULL || path->kind != TL_OPTION_TEXT)) {
        complain(complaint, "the capability `durable` needs a text option `path`", "");
    }
}

enum tl_status tl_algo_validate(const struct tl_algo *algo, char *why, size_t why_bytes)
{
    struct text complaint = text_in(why, why_bytes);
    if (algo->abi != TL_ABI) {
        char detail[64];
        (void)snprintf(detail, sizeof detail, "abi %u where this timerlab has %u",
                       (unsigned)algo->abi, (unsigned)TL_ABI);
        complain(&complaint, detail, "");
        return TL_ERR_DESCRIPTOR; /* nothing after abi can be trusted to be where we look */
    }
    const struct {
        const char *field;
        const char *text;
    } texts[] = {
        {"name", algo->name},
        {"summary", algo->summary},
        {"origin", algo->origin},
        {"description", algo->description},
        {"cost.start", algo->cost.start},
        {"cost.stop", algo->cost.stop},
        {"cost.tick", algo->cost.tick},
        {"cost.expire", algo->cost.expire},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text == NULL || texts[i].text[0] == '\0') {
            complain(&complaint, "missing text: ", texts[i].field);
        }
    }
    if (algo->name != NULL && algo->name[0] != '\0' && !name_is_legal(algo->name)) {
        complain(&complaint, "the name is not lower-case words joined by dashes: ", algo->name);
    }
    const struct {
        const char *field;
        bool present;
    } hooks[] = {
        {"create", algo->create != NULL},   {"destroy", algo->destroy != NULL},
        {"reserve", algo->reserve != NULL}, {"start", algo->start != NULL},
        {"stop", algo->stop != NULL},       {"advance", algo->advance != NULL},
        {"count", algo->count != NULL},
    };
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
        if (!hooks[i].present) {
            complain(&complaint, "missing hook: ", hooks[i].field);
        }
    }
    uint32_t caps = algo->capabilities;
    uint32_t known = 0;
    size_t rows = 0;
    const struct tl_capability_row *row = tl_capabilities(&rows);
    for (size_t i = 0; i < rows; i++) {
        known |= row[i].bit;
    }
    bool exact = (caps & TL_CAP_EXACT) != 0;
    const struct {
        bool broken;
        const char *text;
    } rules[] = {
        {(caps & ~known) != 0, "unknown capability bits"},
        {((caps & TL_CAP_NEXT) != 0) != (algo->next != NULL),
         "the hook next and the capability `next` go together"},
        {(caps & TL_CAP_NEXT_EXACT) != 0 && (caps & TL_CAP_NEXT) == 0,
         "the capability `next-exact` needs `next`"},
        {(caps & TL_CAP_FIFO) != 0 && (caps & TL_CAP_ORDERED) == 0,
         "the capability `fifo` needs `ordered`"},
        {exact && algo->precision != NULL, "the capability `exact` allows no precision hook"},
        {!exact && algo->precision == NULL && (caps & TL_CAP_FIRES_NOTHING) == 0,
         "neither the capability `exact` nor a precision hook"},
        {(algo->embedded_bytes > 0) != (algo->moved != NULL),
         "the hook moved and embedded_bytes go together"},
        {algo->embedded_bytes % TL_EMBEDDED_ALIGN != 0,
         "embedded_bytes is not a multiple of 8, so that a second timer in the same record would "
         "not be aligned"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].broken) {
            complain(&complaint, rules[i].text, "");
        }
    }
    validate_durability(algo, &complaint);
    validate_options(algo, &complaint);
    return complaint.used == 0 ? TL_OK : TL_ERR_DESCRIPTOR;
}

struct tl_precision tl_algo_precision(const struct tl_algo *algo, const void *options,
                                      uint64_t delay_ticks)
{
    if (algo->precision == NULL) {
        return (struct tl_precision){0, 0};
    }
    return algo->precision(options, delay_ticks);
}

bool tl_algo_is_exact(const struct tl_algo *algo, const void *options, uint64_t max_delay_ticks)
{
    return !tl_algo_may_be_early(algo, options, max_delay_ticks) &&
           tl_algo_precision(algo, options, 0).late_ticks == 0 &&
           tl_algo_precision(algo, options, max_delay_ticks).late_ticks == 0;
}

bool tl_algo_may_be_early(const struct tl_algo *algo, const void *options, uint64_t max_delay_ticks)
{
    return tl_algo_precision(algo, options, 0).early_ticks > 0 ||
           tl_algo_precision(algo, options, max_delay_ticks).early_ticks > 0;
}
