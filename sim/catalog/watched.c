#include "watched.h"

#include "child.h"
#include "plug_in.h"

static const struct tl_algo *real;
static struct tl_algo stand_in;

/* A function of that name which calls the hook; `arguments` in parentheses, as declared and as
 * passed. */
#define WATCH(type, hook, declared, passed)                                                        \
    static type watched_##hook declared                                                            \
    {                                                                                              \
        static const char word[16] = #hook;                                                        \
        child_enter(word);                                                                         \
        type value = real->hook passed;                                                            \
        child_leave();                                                                             \
        return value;                                                                              \
    }
#define WATCH_VOID(hook, declared, passed)                                                         \
    static void watched_##hook declared                                                            \
    {                                                                                              \
        static const char word[16] = #hook;                                                        \
        child_enter(word);                                                                         \
        real->hook passed;                                                                         \
        child_leave();                                                                             \
    }

WATCH(struct tl_precision, precision, (const void *options, uint64_t delay_ticks),
      (options, delay_ticks))
WATCH(enum tl_status, create, (const struct tl_config *config, void **self), (config, self))
WATCH_VOID(destroy, (void *self), (self))
WATCH(enum tl_status, reserve, (void *self, uint32_t capacity), (self, capacity))
WATCH(enum tl_status, start, (void *self, uint32_t id, uint64_t deadline), (self, id, deadline))
WATCH(enum tl_status, stop, (void *self, uint32_t id), (self, id))
WATCH(uint64_t, advance, (void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx),
      (self, now, budget, fire, ctx))
WATCH(uint64_t, next, (const void *self), (self))
WATCH(uint64_t, count, (const void *self), (self))
WATCH_VOID(counters, (const void *self, struct tl_counters *out), (self, out))
WATCH(enum tl_status, check, (const void *self, char *why, size_t why_bytes),
      (self, why, why_bytes))
WATCH_VOID(walk, (const void *self, const struct tl_visitor *visitor), (self, visitor))
WATCH_VOID(moved, (void *self, const struct tl_records *records), (self, records))
WATCH(enum tl_status, sync, (void *self, uint64_t *durable_sequence), (self, durable_sequence))
WATCH(enum tl_status, recover, (void *self, tl_adopt_fn adopt, void *ctx), (self, adopt, ctx))
WATCH_VOID(durability, (const void *self, struct tl_durability *out), (self, out))
WATCH(enum tl_status, start_call,
      (void *self, uint32_t id, uint64_t deadline, const struct tl_call *call),
      (self, id, deadline, call))
WATCH(enum tl_status, call, (void *self, uint32_t id, struct tl_call *out), (self, id, out))

const struct tl_algo *watched(const struct tl_algo *algo)
{
    real = algo;
    stand_in = *algo;
#define TAKE(hook) stand_in.hook = algo->hook != NULL ? watched_##hook : NULL;
    PLUG_IN_HOOKS(TAKE)
#undef TAKE
    return &stand_in;
}
