/*
 * durable(binary-heap) as a plug-in, wrong in what a crash shows and nothing else: this file is
 * compiled once for each DURABLE_... below, with the front end's own sources
 * (wrong/CMakeLists.txt).
 *
 *   right               nothing is wrong
 *   fires-first         at-most: fires before it commits
 *   forgets-folder      no fsync of the folder: a new segment's name is not safe
 *   forgets-sync        no fdatasync: what is acknowledged is not on the disk
 *   acknowledges-early  says of everything that it is durable
 *   names-again         after a crash it gives numbers that it had given before
 *   forgets-calls       no fdatasync of the calls: the log names what is not on the disk
 *   loses-calls         a restart keeps no call
 *   mixes-calls         a timer has its neighbour's call
 *   miscounts           after a recovery it counts one timer too many
 *   short-deadlines     keeps 32 bits of a deadline
 *   recovers-few        recovers the timers that create made room for, and no other
 */
#undef TL_IN_TREE /* the sources' own descriptors keep their names; the plug-in's is here */
#include "front_durable.c"

extern const struct tl_algo tl_algo_binary_heap;

/* In place of fsync or fdatasync, as the build says. */
int forgets(int fd);

int forgets(int fd)
{
    (void)fd;
    return 0;
}

/* Of the last structure that was made. */
static uint32_t capacity_given;
static uint64_t miscounted;

static enum tl_status create(const struct tl_config *config, void **self)
{
    capacity_given = config->capacity;
    miscounted = 0;
    struct durable_options own = *(const struct durable_options *)config->options;
#if defined(DURABLE_FIRES_FIRST)
    own.delivery = AT_LEAST;
#endif
    return tl_front_durable.create(&tl_algo_binary_heap, &own, config, self);
}

static void destroy(void *self)
{
    tl_front_durable.hooks.destroy(self);
}

static enum tl_status reserve(void *self, uint32_t capacity)
{
    return tl_front_durable.hooks.reserve(self, capacity);
}

static enum tl_status start(void *self, uint32_t id, uint64_t deadline)
{
#if defined(DURABLE_SHORT_DEADLINES)
    deadline = (uint32_t)deadline;
#endif
    return tl_front_durable.hooks.start(self, id, deadline);
}

static enum tl_status start_call(void *self, uint32_t id, uint64_t deadline,
                                 const struct tl_call *call)
{
#if defined(DURABLE_LOSES_CALLS)
    struct tl_call found;
    if (tl_front_durable.hooks.call(self, id, &found) == TL_OK) {
        return start(self, id, deadline);
    }
#endif
    return tl_front_durable.hooks.start_call(self, id, deadline, call);
}

static enum tl_status call(void *self, uint32_t id, struct tl_call *out)
{
#if defined(DURABLE_MIXES_CALLS)
    id ^= 1;
#endif
    return tl_front_durable.hooks.call(self, id, out);
}

static enum tl_status stop(void *self, uint32_t id)
{
    return tl_front_durable.hooks.stop(self, id);
}

static uint64_t advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    return tl_front_durable.hooks.advance(self, now, budget, fire, ctx);
}

static uint64_t count(const void *self)
{
    return tl_front_durable.hooks.count(self) + miscounted;
}

static enum tl_status sync_all(void *self, uint64_t *durable_sequence)
{
    return tl_front_durable.hooks.sync(self, durable_sequence);
}

#if defined(DURABLE_RECOVERS_FEW)
static struct {
    tl_adopt_fn adopt;
    void *ctx;
} asked;

static void adopt_few(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    (void)ctx;
    if (id < capacity_given) {
        asked.adopt(asked.ctx, id, deadline, generation);
    }
}
#endif

static enum tl_status recover(void *self, tl_adopt_fn adopt, void *ctx)
{
#if defined(DURABLE_RECOVERS_FEW)
    asked.adopt = adopt;
    asked.ctx = ctx;
    adopt = adopt_few;
#endif
    enum tl_status status = tl_front_durable.hooks.recover(self, adopt, ctx);
#if defined(DURABLE_MISCOUNTS)
    miscounted = tl_front_durable.hooks.count(self) > 0;
#endif
    return status;
}

static void durability(const void *self, struct tl_durability *out)
{
    tl_front_durable.hooks.durability(self, out);
#if defined(DURABLE_ACKNOWLEDGES_EARLY)
    out->durable_sequence = out->sequence;
#endif
}

TL_ALGO(durable) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_DURABLE,
    .name = DURABLE_NAME,
    .summary = "a durable binary heap, wrong in one way or right",
    .origin = "our own",
    .description = "For the tests of what crashes show.",
    .cost = {"O(log n)", "O(log n)", "O(1)", "O(log n)"},
    .options = durable_option_table,
    .options_bytes = sizeof(struct durable_options),
    .create = create,
    .destroy = destroy,
    .reserve = reserve,
    .start = start,
    .stop = stop,
    .advance = advance,
    .count = count,
    .sync = sync_all,
    .recover = recover,
    .durability = durability,
    .start_call = start_call,
    .call = call,
};
