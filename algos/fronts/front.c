/*
 * Front ends and structures, put together.
 *
 * `create` and `precision` do not get the descriptor that they are called through. So each composition
 * takes a slot, and each slot has two functions of its own, with its number.
 */
#include "front.h"

#include "registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A front end with its structure. */
struct composition {
    struct tl_algo algo; /* the descriptor of the whole */
    const struct tl_algo *inner;
    const struct tl_front *front;
    size_t own_bytes; /* of the front end's values, after which those of the structure begin */
    struct tl_option options[TL_OPTIONS_MAX + 1];
    char name[96];
    char summary[256];
    char origin[256];
    char description[4096];
};

static struct composition *slots[TL_COMPOSITIONS_MAX];

/* One file each. */
extern const struct tl_front tl_front_locked;
extern const struct tl_front tl_front_handoff;
extern const struct tl_front tl_front_sharded;
extern const struct tl_front tl_front_lazy;
extern const struct tl_front tl_front_durable;

static const struct tl_front *const fronts[] = {
    &tl_front_locked, &tl_front_handoff, &tl_front_sharded, &tl_front_lazy, &tl_front_durable};

const struct tl_front *const *tl_fronts(size_t *count)
{
    *count = sizeof fronts / sizeof fronts[0];
    return fronts;
}

const struct tl_front *tl_front_find(const char *name)
{
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++) {
        if (strcmp(fronts[i]->name, name) == 0) {
            return fronts[i];
        }
    }
    return NULL;
}

/* --- a slot's own hooks ---------------------------------------------------------------------- */

static enum tl_status create_in(size_t slot, const struct tl_config *config, void **self)
{
    const struct composition *whole = slots[slot];
    struct tl_config below = *config;
    below.options = (const char *)config->options + whole->own_bytes;
    return whole->front->create(whole->inner, config->options, &below, self);
}

static struct tl_precision precision_in(size_t slot, const void *options, uint64_t delay_ticks)
{
    const struct composition *whole = slots[slot];
    const void *below = (const char *)options + whole->own_bytes;
    return whole->front->precision != NULL
               ? whole->front->precision(whole->inner, options, below, delay_ticks)
               : tl_algo_precision(whole->inner, below, delay_ticks);
}

/* Two hexadecimal digits name a slot. clang-format has no stable form for these. */
/* clang-format off */
#define EIGHT(X, high)                                                                             \
    X(high##0) X(high##1) X(high##2) X(high##3) X(high##4) X(high##5) X(high##6) X(high##7)
#define SIXTEEN(X, high)                                                                           \
    EIGHT(X, high)                                                                                 \
    X(high##8) X(high##9) X(high##a) X(high##b) X(high##c) X(high##d) X(high##e) X(high##f)
#define SLOTS(X)                                                                                   \
    SIXTEEN(X, 0x0) SIXTEEN(X, 0x1) SIXTEEN(X, 0x2) SIXTEEN(X, 0x3)                                \
    SIXTEEN(X, 0x4) SIXTEEN(X, 0x5) SIXTEEN(X, 0x6) SIXTEEN(X, 0x7)
/* clang-format on */

#define SLOT_FUNCTIONS(slot)                                                                       \
    static enum tl_status create_##slot(const struct tl_config *config, void **self)               \
    {                                                                                              \
        return create_in(slot, config, self);                                                      \
    }                                                                                              \
    static struct tl_precision precision_##slot(const void *options, uint64_t delay_ticks)         \
    {                                                                                              \
        return precision_in(slot, options, delay_ticks);                                           \
    }
SLOTS(SLOT_FUNCTIONS)

static const struct {
    enum tl_status (*create)(const struct tl_config *config, void **self);
    struct tl_precision (*precision)(const void *options, uint64_t delay_ticks);
} slot_hooks[] = {
#define SLOT_ROW(slot) {create_##slot, precision_##slot},
    SLOTS(SLOT_ROW)
#undef SLOT_ROW
};
_Static_assert(sizeof slot_hooks / sizeof slot_hooks[0] == TL_COMPOSITIONS_MAX,
               "every slot has its hooks");

/* --- putting together ------------------------------------------------------------------------ */

static bool join_options(struct composition *whole, char *why, size_t why_bytes)
{
    size_t count = 0;
    for (const struct tl_option *o = whole->front->options; o != NULL && o->name != NULL; o++) {
        whole->options[count++] = *o;
    }
    whole->own_bytes = (whole->front->options_bytes + 7) / 8 * 8;
    size_t below = tl_option_count(whole->inner);
    size_t bytes = whole->own_bytes + whole->inner->options_bytes;
    if (count + below > TL_OPTIONS_MAX || bytes > TL_OPTIONS_BYTES) {
        (void)snprintf(why, why_bytes,
                       "%s cannot be combined with %s: together they have %zu options of %zu bytes",
                       whole->front->name, whole->inner->name, count + below, bytes);
        return false;
    }
    for (size_t i = 0; i < below; i++) {
        struct tl_option option = whole->inner->options[i];
        if (tl_option_find(whole->front->options, option.name) != NULL) {
            (void)snprintf(why, why_bytes,
                           "%s cannot be combined with %s: both have an option '%s'",
                           whole->front->name, whole->inner->name, option.name);
            return false;
        }
        option.offset += whole->own_bytes;
        whole->options[count++] = option;
    }
    return true;
}

static bool is_composed(const struct tl_algo *algo)
{
    return strchr(algo->name, '(') != NULL;
}

static bool meets_needs(const struct tl_front *front, const struct tl_algo *inner, char *why,
                        size_t why_bytes)
{
    if (is_composed(inner)) {
        (void)snprintf(why, why_bytes, "%s has one already: one front end at a time", inner->name);
        return false;
    }
    size_t rows = 0;
    const struct tl_capability_row *row = tl_capabilities(&rows);
    for (size_t i = 0; i < rows; i++) {
        if ((front->needs & row[i].bit) != 0 && (inner->capabilities & row[i].bit) == 0) {
            (void)snprintf(why, why_bytes,
                           "%s needs a structure that promises `%s` (%s), which %s does not",
                           front->name, row[i].word, row[i].text, inner->name);
            return false;
        }
        if ((front->bars & inner->capabilities & row[i].bit) != 0) {
            (void)snprintf(why, why_bytes, "%s takes no structure that is `%s` (%s), as %s is",
                           front->name, row[i].word, row[i].text, inner->name);
            return false;
        }
    }
    return true;
}

static void describe(struct composition *whole)
{
    const struct tl_front *front = whole->front;
    const struct tl_algo *inner = whole->inner;
    (void)snprintf(whole->name, sizeof whole->name, "%s(%s)", front->name, inner->name);
    (void)snprintf(whole->summary, sizeof whole->summary, "%s: %s", front->summary, inner->summary);
    (void)snprintf(whole->origin, sizeof whole->origin, "%s; %s", front->origin, inner->origin);
    (void)snprintf(whole->description, sizeof whole->description, "%s\n\n%s", front->description,
                   inner->description);
}

const struct tl_algo *tl_front_compose(const struct tl_front *front, const struct tl_algo *inner,
                                       char *why, size_t why_bytes)
{
    if (!meets_needs(front, inner, why, why_bytes)) {
        return NULL;
    }
    size_t slot = 0;
    while (slot < TL_COMPOSITIONS_MAX && slots[slot] != NULL) {
        slot++;
    }
    if (slot == TL_COMPOSITIONS_MAX) {
        (void)snprintf(why, why_bytes, "at most %d composed structures at a time",
                       TL_COMPOSITIONS_MAX / 2);
        return NULL;
    }
    struct composition *whole = calloc(1, sizeof *whole);
    if (whole == NULL) {
        (void)snprintf(why, why_bytes, "out of memory");
        return NULL;
    }
    whole->front = front;
    whole->inner = inner;
    if (!join_options(whole, why, why_bytes)) {
        free(whole);
        return NULL;
    }
    describe(whole);
    const struct tl_algo *hooks = &front->hooks;
    uint32_t capabilities = (inner->capabilities & front->keeps) | front->adds;
    if (hooks->sync == NULL) {
        capabilities &= ~(uint32_t)TL_CAP_DURABLE;
    }
    bool durable = (capabilities & TL_CAP_DURABLE) != 0;
    whole->algo = (struct tl_algo){
        .abi = TL_ABI,
        .capabilities = capabilities,
        .name = whole->name,
        .summary = whole->summary,
        .origin = whole->origin,
        .description = whole->description,
        .cost = inner->cost,
        .options = whole->options,
        .options_bytes = whole->own_bytes + inner->options_bytes,
        .precision = (capabilities & TL_CAP_EXACT) == 0 ? slot_hooks[slot].precision : NULL,
        .create = slot_hooks[slot].create,
        .destroy = hooks->destroy,
        .reserve = hooks->reserve,
        .start = hooks->start,
        .stop = hooks->stop,
        .advance = hooks->advance,
        .next = (capabilities & TL_CAP_NEXT) != 0 ? hooks->next : NULL,
        .count = hooks->count,
        .counters = inner->counters != NULL ? hooks->counters : NULL,
        .check = inner->check != NULL ? hooks->check : NULL,
        .walk = inner->walk != NULL ? hooks->walk : NULL,
        .differs = inner->differs,
        .sync = durable ? hooks->sync : NULL,
        .recover = durable ? hooks->recover : NULL,
        .durability = durable ? hooks->durability : NULL,
        .start_call = durable ? hooks->start_call : NULL,
        .call = durable ? hooks->call : NULL,
    };
    slots[slot] = whole;
    return &whole->algo;
}

static const struct composition *composition_of(const struct tl_algo *algo)
{
    for (size_t i = 0; i < TL_COMPOSITIONS_MAX; i++) {
        if (slots[i] != NULL && slots[i]->algo.create == algo->create) {
            return slots[i];
        }
    }
    return NULL;
}

const struct tl_front *tl_front_of(const struct tl_algo *algo)
{
    const struct composition *whole = composition_of(algo);
    return whole != NULL ? whole->front : NULL;
}

const struct tl_algo *tl_front_inner(const struct tl_algo *algo)
{
    const struct composition *whole = composition_of(algo);
    return whole != NULL ? whole->inner : NULL;
}

void tl_front_release(const struct tl_algo *composed)
{
    for (size_t i = 0; composed != NULL && i < TL_COMPOSITIONS_MAX; i++) {
        if (slots[i] != NULL && &slots[i]->algo == composed) {
            free(slots[i]);
            slots[i] = NULL;
            return;
        }
    }
}
