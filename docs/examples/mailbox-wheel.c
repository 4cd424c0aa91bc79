/*
 * mailbox-wheel: a timer structure that many threads call without a lock; a plug-in.
 *
 *   cc -std=c17 -O2 -shared -fPIC mailbox-wheel.c -o mailbox-wheel.so
 *   timerlab check --plugin ./mailbox-wheel.so -a mailbox-wheel
 *   timerlab threads --plugin ./mailbox-wheel.so -a mailbox-wheel
 *
 * Ids are distributed over shards. Each shard has a hashed wheel, which only the advancing thread
 * touches, and a mailbox, a Treiber stack of messages from the threads that start timers:
 *
 *   thread A  start(5, 70): word of 5 = 70, fresh; message "5" --+
 *   thread B  stop(9):      word of 9 = idle                     +--> mailbox --> wheel
 *   thread C  start(5, 30): word of 5 = 30, fresh; message "5" --+
 *   advance   empties the mailbox: word of 5 = 30, not fresh; files 5 in slot 30
 *
 * The state of a timer is one word, so that a start, a stop and an expiry each take effect in one
 * atomic instruction. A message only says "read the word of this timer": it may arrive twice, or
 * after a stop. A timer that is fresh is not fired; its message is read by the next advance. A stop
 * leaves the entry in the wheel; the advance that visits its slot removes it.
 *
 * A shard has as many messages as ids. If more starts than that come between two advances, the
 * shard is marked as overflowed, and the next advance reads all its words instead.
 *
 * Use it if many threads start and stop timers and one thread advances at every tick; it has no
 * `next`.
 */
#include <timerlab.h>

#include <stdalign.h>
#include <stdatomic.h>

#define NONE          UINT32_MAX
#define IDLE          UINT64_MAX  /* a word: the timer is not pending */
#define FRESH         UINT64_C(1) /* bit of a word: the advancing thread has not read it */
#define DEADLINE_LAST ((UINT64_C(1) << 63) - 2)

enum { SHARDS = 4, SLOTS = 256, DUE = SHARDS * SLOTS, LISTS };

/* A timer, and the message with the same number, which may be about any timer of the shard. */
struct timer {
    _Atomic uint64_t word; /* IDLE, or the deadline times 2 and FRESH */
    uint32_t next;         /* in its list; only for the advancing thread, like `prev` and `list` */
    uint32_t prev;
    uint32_t list; /* NONE: in no list */
    _Atomic uint32_t message_next;
    uint32_t message_id;
};

struct list {
    uint32_t first;
    uint32_t last;
};

/* Each on cache lines of its own. */
struct shard {
    alignas(64) _Atomic uint32_t mailbox; /* the newest message */
    _Atomic uint64_t unused;              /* a stack of messages: how many were taken, the top */
    _Atomic bool overflowed;
    _Atomic uint64_t pending;
};

struct wheel {
    struct shard shards[SHARDS]; /* of a timer: id modulo SHARDS */
    struct list lists[LISTS];    /* the slots of each shard, and the due timers */
    const struct tl_allocator *allocator;
    struct timer *timers;
    uint32_t capacity;
    _Atomic uint64_t clock;
};

/* --- messages -------------------------------------------------------------------------------- */

/* The count in the upper half of `unused` changes with every message taken. Without it, a thread
 * that has read `message_next` would not notice that the same message was taken and put back, with
 * another one below it. */
static uint32_t take_message(const struct wheel *wheel, struct shard *shard)
{
    uint64_t top = atomic_load(&shard->unused);
    while ((uint32_t)top != NONE) {
        uint32_t next = atomic_load(&wheel->timers[(uint32_t)top].message_next);
        uint64_t taken = ((top >> 32) + 1) << 32 | next;
        if (atomic_compare_exchange_weak(&shard->unused, &top, taken)) {
            return (uint32_t)top;
        }
    }
    return NONE;
}

static void give_back_message(const struct wheel *wheel, struct shard *shard, uint32_t message)
{
    uint64_t top = atomic_load(&shard->unused);
    uint64_t given = 0;
    do {
        atomic_store(&wheel->timers[message].message_next, (uint32_t)top);
        given = (top >> 32) << 32 | message;
    } while (!atomic_compare_exchange_weak(&shard->unused, &top, given));
}

static void post(struct wheel *wheel, uint32_t id)
{
    struct shard *shard = &wheel->shards[id % SHARDS];
    uint32_t message = take_message(wheel, shard);
    if (message == NONE) {
        atomic_store(&shard->overflowed, true);
        return;
    }
    wheel->timers[message].message_id = id;
    uint32_t newest = atomic_load(&shard->mailbox);
    do {
        atomic_store(&wheel->timers[message].message_next, newest);
    } while (!atomic_compare_exchange_weak(&shard->mailbox, &newest, message));
}

/* --- any thread ------------------------------------------------------------------------------ */

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    struct shard *shard = &wheel->shards[id % SHARDS];
    if (deadline > DEADLINE_LAST) {
        if (deadline > atomic_load(&wheel->clock)) {
            return TL_ERR_HORIZON;
        }
        deadline = 0;
    }
    (void)atomic_fetch_add(&shard->pending, 1); /* before an expiry can subtract it */
    if (atomic_exchange(&wheel->timers[id].word, deadline << 1 | FRESH) != IDLE) {
        (void)atomic_fetch_sub(&shard->pending, 1);
    }
    post(wheel, id);
    return TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    if (atomic_exchange(&wheel->timers[id].word, IDLE) == IDLE) {
        return TL_IDLE;
    }
    (void)atomic_fetch_sub(&wheel->shards[id % SHARDS].pending, 1);
    return TL_OK;
}

static uint64_t wheel_count(const void *self)
{
    const struct wheel *wheel = self;
    uint64_t count = 0;
    for (uint32_t s = 0; s < SHARDS; s++) {
        count += atomic_load(&wheel->shards[s].pending);
    }
    return count;
}

/* --- the advancing thread -------------------------------------------------------------------- */

static void unlink_timer(struct wheel *wheel, struct timer *timer)
{
    if (timer->list == NONE) {
        return;
    }
    struct list *list = &wheel->lists[timer->list];
    *(timer->prev != NONE ? &wheel->timers[timer->prev].next : &list->first) = timer->next;
    *(timer->next != NONE ? &wheel->timers[timer->next].prev : &list->last) = timer->prev;
    timer->list = NONE;
}

static void append_timer(struct wheel *wheel, uint32_t id, uint32_t list_index)
{
    struct timer *timer = &wheel->timers[id];
    struct list *list = &wheel->lists[list_index];
    unlink_timer(wheel, timer);
    timer->list = list_index;
    timer->next = NONE;
    timer->prev = list->last;
    *(list->last != NONE ? &wheel->timers[list->last].next : &list->first) = id;
    list->last = id;
}

static uint32_t slot_of(uint32_t shard, uint64_t tick)
{
    return shard * SLOTS + (uint32_t)(tick % SLOTS);
}

/* Files a fresh timer. A start at the same time makes it fresh again, and sends a message. */
static void read_word(struct wheel *wheel, uint32_t id)
{
    struct timer *timer = &wheel->timers[id];
    uint64_t word = atomic_load(&timer->word);
    while (word != IDLE && (word & FRESH) != 0) {
        if (atomic_compare_exchange_weak(&timer->word, &word, word & ~FRESH)) {
            bool due = word >> 1 <= atomic_load(&wheel->clock);
            uint32_t shard = id % SHARDS;
            append_timer(wheel, id, due ? DUE : slot_of(shard, word >> 1));
            return;
        }
    }
}

/* Reads the messages, the oldest first. The mark is removed before the words are read: a start that
 * comes later sets it again. */
static void empty_mailbox(struct wheel *wheel, uint32_t index)
{
    struct shard *shard = &wheel->shards[index];
    bool all = atomic_exchange(&shard->overflowed, false);
    uint32_t message = atomic_exchange(&shard->mailbox, NONE);
    uint32_t oldest = NONE;
    while (message != NONE) {
        uint32_t next = atomic_load(&wheel->timers[message].message_next);
        atomic_store(&wheel->timers[message].message_next, oldest);
        oldest = message;
        message = next;
    }
    while (oldest != NONE) {
        uint32_t next = atomic_load(&wheel->timers[oldest].message_next);
        uint32_t id = wheel->timers[oldest].message_id;
        give_back_message(wheel, shard, oldest);
        read_word(wheel, id);
        oldest = next;
    }
    for (uint32_t id = index; all && id < wheel->capacity; id += SHARDS) {
        read_word(wheel, id);
    }
}

static void visit_slot(struct wheel *wheel, uint32_t slot, uint64_t now)
{
    uint32_t next = NONE;
    for (uint32_t id = wheel->lists[slot].first; id != NONE; id = next) {
        uint64_t word = atomic_load(&wheel->timers[id].word);
        next = wheel->timers[id].next;
        if (word == IDLE) {
            unlink_timer(wheel, &wheel->timers[id]);
        } else if ((word & FRESH) == 0 && word >> 1 <= now) {
            append_timer(wheel, id, DUE);
        }
    }
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct wheel *wheel = self;
    uint64_t before = atomic_exchange(&wheel->clock, now);
    uint64_t ticks = now - before < SLOTS ? now - before : SLOTS;
    uint64_t fired = 0;
    for (uint32_t s = 0; s < SHARDS; s++) {
        empty_mailbox(wheel, s);
        for (uint64_t tick = 1; tick <= ticks; tick++) {
            visit_slot(wheel, slot_of(s, before + tick), now);
        }
    }
    while (fired < budget && wheel->lists[DUE].first != NONE) {
        uint32_t id = wheel->lists[DUE].first;
        uint64_t word = atomic_load(&wheel->timers[id].word);
        unlink_timer(wheel, &wheel->timers[id]);
        /* IDLE has the bit, too. A stop or start since then makes the exchange fail. */
        if ((word & FRESH) == 0 &&
            atomic_compare_exchange_strong(&wheel->timers[id].word, &word, IDLE)) {
            (void)atomic_fetch_sub(&wheel->shards[id % SHARDS].pending, 1);
            fired++;
            fire(ctx, id, now);
        }
    }
    return fired;
}

/* --- memory and options ---------------------------------------------------------------------- */

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct wheel *wheel = self;
    if (capacity <= wheel->capacity) {
        return TL_OK;
    }
    struct timer *timers = wheel->allocator->resize(
        wheel->allocator->ctx, wheel->timers, wheel->capacity * sizeof *timers,
        capacity * sizeof *timers, alignof(struct timer));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    wheel->timers = timers;
    for (; wheel->capacity < capacity; wheel->capacity++) {
        atomic_init(&timers[wheel->capacity].word, IDLE);
        timers[wheel->capacity].list = NONE;
        give_back_message(wheel, &wheel->shards[wheel->capacity % SHARDS], wheel->capacity);
    }
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct wheel *wheel = self;
    const struct tl_allocator *allocator = wheel->allocator;
    tl_free(allocator, wheel->timers, wheel->capacity * sizeof *wheel->timers,
            alignof(struct timer));
    tl_free(allocator, wheel, sizeof *wheel, alignof(struct wheel));
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct wheel *wheel = tl_alloc(config->allocator, sizeof *wheel, alignof(struct wheel));
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    *wheel = (struct wheel){.allocator = config->allocator, .clock = config->now};
    for (uint32_t s = 0; s < SHARDS; s++) {
        wheel->shards[s] = (struct shard){.mailbox = NONE, .unused = NONE};
    }
    for (uint32_t i = 0; i < LISTS; i++) {
        wheel->lists[i] = (struct list){NONE, NONE};
    }
    if (wheel_reserve(wheel, config->capacity) != TL_OK) {
        wheel_destroy(wheel);
        return TL_ERR_NOMEM;
    }
    *self = wheel;
    return TL_OK;
}

TL_ALGO(mailbox_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_CONCURRENT,
    .name = "mailbox-wheel",
    .summary = "sharded hashed wheels with lock-free mailboxes",
    .origin = "Treiber 1986; Varghese and Lauck 1987, scheme 6",
    .description = "Threads write deadlines into atomic words and post messages to stacks; the "
                   "advancing thread files the timers in hashed wheels.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n/slots)", .expire = "O(1)"},
    .create = wheel_create,
    .destroy = wheel_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .count = wheel_count,
};
