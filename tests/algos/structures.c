/*
 * Every registered structure, in both builds and with several option settings, checked against the
 * contract and its descriptor.
 *
 * The first half drives it with random operations, along with a model that is obviously right: an
 * array of due ticks. The model knows for every expiry whether it may happen, and after every
 * advance whether one is missing. The second half drives it along with ordered-list, and compares
 * the expiries, tick by tick.
 *
 * A failure names the structure, the options, the seed and the step.
 */
#include "plugin.h"
#include "stand.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS          96u
#define STEPS        500u
#define SEEDS        24u
#define MEMORY_LIMIT ((uint64_t)32 << 20) /* options that need more are not tried */

/* --- the current test, for messages ---------------------------------------------------------- */

static struct {
    const struct tl_algo *algo;
    const char *build;
    TL_OPTION_VALUES(options);
    uint64_t seed;
    uint32_t step;
} subject;

_Noreturn static void complain(int line, const char *what)
{
    char options[256];
    (void)tl_options_format(subject.algo, subject.options, true, options, sizeof options);
    fail_msg("line %d: %s (%s):%s, seed %" PRIu64 ", step %" PRIu32 ": %s", line,
             subject.algo->name, subject.build, options, subject.seed, subject.step, what);
    abort();
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            complain(__LINE__, #condition);                                                        \
        }                                                                                          \
    } while (0)

static bool has(uint32_t capability)
{
    return (subject.algo->capabilities & capability) != 0;
}

static uint64_t below(uint64_t *state, uint64_t bound)
{
    return test_draw(state) % bound;
}

/* --- an allocator that fails on request
 * -------------------------------------------------------- */

struct failing {
    struct tl_memory memory; /* on top: counts */
    struct tl_allocator gate;
    bool closed;         /* every request fails */
    uint64_t until_fail; /* requests that still succeed; UINT64_MAX: all */
};

static void *failing_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    struct failing *failing = ctx;
    if (new_bytes > old_bytes) {
        if (failing->closed || failing->until_fail == 0) {
            return NULL;
        }
        if (failing->until_fail != UINT64_MAX) {
            failing->until_fail--;
        }
    }
    const struct tl_allocator *heap = tl_system_allocator();
    return heap->resize(heap->ctx, ptr, old_bytes, new_bytes, align);
}

static void failing_open(struct failing *failing)
{
    failing->gate = (struct tl_allocator){failing, failing_resize};
    failing->closed = false;
    failing->until_fail = UINT64_MAX;
    tl_counting_allocator(&failing->memory, &failing->gate);
    failing->memory.limit_bytes = MEMORY_LIMIT;
}

/* --- the model ------------------------------------------------------------------------------- */

struct model {
    void *self;
    struct failing memory;
    uint64_t random;
    uint32_t capacity;
    uint64_t clock;
    uint64_t serial;
    uint64_t count;
    uint64_t fence;     /* serials from here on were started inside the running advance */
    uint64_t fired;     /* in the running advance */
    uint64_t fired_all; /* in all */
    uint64_t last_due;
    uint64_t last_serial;
    struct timer {
        bool pending;
        bool at_once; /* its deadline was not after the clock, and precision allows no wait */
        uint64_t due;
        uint64_t serial;
        struct tl_precision precision;
    } timers[2 * IDS];
};

static uint64_t some_deadline(struct model *m)
{
    uint64_t delay;
    switch (below(&m->random, 10)) {
    case 0:
        return m->clock - below(&m->random, m->clock < 40 ? m->clock + 1 : 40);
    case 1:
        return TL_DEADLINE_MAX - below(&m->random, 3);
    case 2:
        delay = below(&m->random, UINT64_C(1) << below(&m->random, 41));
        break;
    case 3:
        delay = below(&m->random, 5000);
        break;
    case 4:
    case 5:
        delay = below(&m->random, 200);
        break;
    default:
        delay = below(&m->random, 12);
        break;
    }
    return m->clock + delay < TL_DEADLINE_MAX ? m->clock + delay : TL_DEADLINE_MAX;
}

static void start_one(struct model *m, uint32_t id, uint64_t deadline)
{
    uint64_t allocations = m->memory.memory.allocations;
    enum tl_status status = subject.algo->start(m->self, id, deadline);
    EXPECT(has(TL_CAP_ALLOCATES) || m->memory.memory.allocations == allocations);
    if (status == TL_ERR_HORIZON) {
        EXPECT(!has(TL_CAP_UNLIMITED));
        EXPECT(deadline > m->clock);
        return;
    }
    if (status == TL_ERR_FULL) {
        EXPECT(has(TL_CAP_REFUSES));
        return;
    }
    EXPECT(status == TL_OK);
    struct timer *timer = &m->timers[id];
    m->count += !timer->pending;
    uint64_t due = deadline > m->clock ? deadline : m->clock;
    struct tl_precision precision =
        tl_algo_precision(subject.algo, subject.options, due - m->clock);
    *timer = (struct timer){
        .pending = true,
        .at_once = deadline <= m->clock && precision.late_ticks == 0,
        .due = due,
        .serial = m->serial++,
        .precision = precision,
    };
}

static void stop_one(struct model *m, uint32_t id)
{
    enum tl_status status = subject.algo->stop(m->self, id);
    EXPECT(status == (m->timers[id].pending ? TL_OK : TL_IDLE));
    m->count -= m->timers[id].pending;
    m->timers[id].pending = false;
}

static void start_or_stop(struct model *m, uint32_t id)
{
    if (below(&m->random, 4) == 0) {
        stop_one(m, id);
    } else {
        start_one(m, id, some_deadline(m));
    }
}

static void model_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct model *m = ctx;
    EXPECT(now == m->clock);
    EXPECT(id < m->capacity);
    struct timer *timer = &m->timers[id];
    EXPECT(timer->pending);
    EXPECT(timer->serial < m->fence); /* not started by this advance's callbacks */
    EXPECT(timer->due <= now + timer->precision.early_ticks);
    if (has(TL_CAP_ORDERED) && m->fired > 0) {
        EXPECT(timer->due >= m->last_due);
        EXPECT(!has(TL_CAP_FIFO) || timer->due > m->last_due || timer->serial > m->last_serial);
    }
    m->last_due = timer->due;
    m->last_serial = timer->serial;
    timer->pending = false;
    m->count--;
    m->fired++;
    EXPECT(subject.algo->stop(m->self, id) == TL_IDLE); /* it was unlinked before */
    switch (below(&m->random, 6)) {
    case 0: /* itself, at once */
        start_one(m, id, now - below(&m->random, now > 0 ? 2 : 1));
        break;
    case 1: /* itself, later */
        start_one(m, id, some_deadline(m));
        break;
    case 2: /* others, which may be due in this very advance */
        start_or_stop(m, (uint32_t)below(&m->random, m->capacity));
        start_or_stop(m, (uint32_t)below(&m->random, m->capacity));
        break;
    default:
        break;
    }
    EXPECT(subject.algo->count(m->self) == m->count);
}

/* The tick by which some timer has fired at the latest, if all is right; and whether one is due at
 * once. */
static uint64_t latest_first(const struct model *m)
{
    uint64_t latest = TL_NEVER;
    for (uint32_t id = 0; id < m->capacity; id++) {
        const struct timer *timer = &m->timers[id];
        if (timer->pending) {
            uint64_t last = timer->at_once ? m->clock : timer->due + timer->precision.late_ticks;
            latest = last < latest ? last : latest;
        }
    }
    return latest;
}

static void check_next(const struct model *m)
{
    uint64_t next = subject.algo->next(m->self);
    uint64_t latest = latest_first(m);
    if (m->count == 0) {
        EXPECT(next == TL_NEVER);
    } else if (latest <= m->clock) {
        EXPECT(next <= m->clock);
    } else {
        EXPECT(next <= latest);
        EXPECT(!has(TL_CAP_NEXT_EXACT) || next == latest);
    }
}

static void advance_to(struct model *m, uint64_t now, uint64_t budget)
{
    uint64_t next = 0;
    if (has(TL_CAP_NEXT)) {
        check_next(m);
        next = subject.algo->next(m->self);
    }
    uint64_t allocations = m->memory.memory.allocations;
    m->clock = now;
    m->fence = m->serial;
    m->fired = 0;
    uint64_t fired = subject.algo->advance(m->self, now, budget, model_fire, m);
    EXPECT(fired == m->fired);
    EXPECT(fired <= budget);
    EXPECT(has(TL_CAP_ALLOCATES) || m->memory.memory.allocations == allocations);
    m->fired_all += fired;
    for (uint32_t id = 0; fired < budget && id < m->capacity; id++) {
        const struct timer *timer = &m->timers[id];
        if (timer->pending && timer->serial < m->fence) {
            EXPECT(!timer->at_once);
            EXPECT(timer->due + timer->precision.late_ticks > now);
        }
    }
    if (has(TL_CAP_NEXT)) {
        EXPECT(now >= next || fired == 0);
        if (now == next && fired == 0 && budget > 0) {
            EXPECT(subject.algo->next(m->self) > next);
        }
        check_next(m);
    }
}

static void check_state(const struct model *m)
{
    char why[256] = "";
    if (subject.algo->check != NULL && subject.algo->check(m->self, why, sizeof why) != TL_OK) {
        complain(__LINE__, why);
    }
    EXPECT(subject.algo->count(m->self) == m->count);
}

static void grow(struct model *m, uint32_t capacity)
{
    enum tl_status status = subject.algo->reserve(m->self, capacity);
    if (m->memory.closed && status != TL_OK) {
        EXPECT(status == TL_ERR_NOMEM);
        return;
    }
    EXPECT(status == TL_OK);
    m->capacity = capacity > m->capacity ? capacity : m->capacity;
}

static uint64_t some_tick(struct model *m)
{
    uint64_t now = m->clock;
    switch (below(&m->random, 12)) {
    case 0:
        break;
    case 1:
        now += below(&m->random, UINT64_C(1) << below(&m->random, 41));
        break;
    case 2:
    case 3:
        now += below(&m->random, 60);
        break;
    case 4:
        now += below(&m->random, 1500);
        break;
    case 5:
    case 6:
        if (has(TL_CAP_NEXT)) {
            uint64_t next = subject.algo->next(m->self);
            if (next != TL_NEVER && next > now && next - now < UINT64_C(1) << 42) {
                now = next;
            }
            break;
        }
        now++;
        break;
    default:
        now++;
        break;
    }
    return now;
}

static void one_step(struct model *m)
{
    uint64_t kind = below(&m->random, 16);
    if (m->capacity == 0 || kind == 0) {
        grow(m, (uint32_t)below(&m->random, m->capacity < IDS ? IDS : 2 * IDS) + 1);
    } else if (kind == 1) {
        check_state(m);
    } else if (kind == 2 && has(TL_CAP_ALLOCATES)) {
        /* start must not fail for want of memory: by turns there is none */
        m->memory.closed = !m->memory.closed;
    } else if (kind < 9) {
        start_or_stop(m, (uint32_t)below(&m->random, m->capacity));
    } else {
        static const uint64_t budgets[] = {0, 1, 1, 3, 10, 10};
        uint64_t budget = TL_NO_BUDGET;
        if (has(TL_CAP_BUDGET) && below(&m->random, 2) == 0) {
            budget = budgets[below(&m->random, sizeof budgets / sizeof budgets[0])];
        }
        advance_to(m, some_tick(m), budget);
    }
}

/* Stops what callbacks would go on restarting, and lets the rest fire to the last. */
static void drain(struct model *m)
{
    for (uint32_t id = 0; id < m->capacity; id += 2) {
        stop_one(m, id);
    }
    m->memory.closed = false;
    uint64_t end = m->clock > TL_DEADLINE_MAX ? m->clock : TL_DEADLINE_MAX;
    /* Deadlines end at 2^63, so the callbacks' starts come to be due at once from here on, and
     * every advance lets most of them go. */
    for (int i = 0; i < 200 && m->count > 0; i++) {
        for (uint32_t id = 0; id < m->capacity; id++) {
            const struct timer *timer = &m->timers[id];
            uint64_t late = timer->precision.late_ticks;
            uint64_t last =
                (timer->pending && timer->due > TL_DEADLINE_MAX ? timer->due : TL_DEADLINE_MAX) +
                late;
            end = last > end ? last : end;
        }
        advance_to(m, end, TL_NO_BUDGET);
        for (uint32_t id = 0; id < m->capacity; id += 3) {
            stop_one(m, id);
        }
    }
    EXPECT(m->count == 0);
    check_state(m);
}

/* Values of an option that are worth a try: its default, its words, its least, some small ones. */
static uint64_t some_value(const struct tl_option *option, uint64_t *random)
{
    static const uint64_t small[] = {1, 2, 3, 7, 8, 20, 100, 1000, 70000};
    size_t words = 0;
    while (option->choices != NULL && option->choices[words].word != NULL) {
        words++;
    }
    uint64_t pick = below(random, 8);
    if (words > 0 && (pick < 3 || !tl_option_is_number(option))) {
        return option->choices[below(random, words)].value;
    }
    if (pick == 0) {
        return (uint64_t)option->default_value;
    }
    uint64_t least = (uint64_t)option->min;
    uint64_t most = (uint64_t)option->max;
    uint64_t value = small[below(random, sizeof small / sizeof small[0])];
    value = value < least ? least : value;
    return value > most ? most : value;
}

/* The defaults for the first seeds, then random ones. */
static void some_options(uint64_t *random)
{
    tl_options_default(subject.algo, subject.options);
    for (size_t i = 0; subject.seed >= 3 && i < tl_option_count(subject.algo); i++) {
        const struct tl_option *option = &subject.algo->options[i];
        tl_option_set_number(option, subject.options, some_value(option, random));
    }
}

static uint64_t some_clock(uint64_t *random)
{
    static const uint64_t clocks[] = {
        0, 0, 1, 19, 1000, (UINT64_C(1) << 32) - 7, UINT64_C(1) << 62};
    return clocks[below(random, sizeof clocks / sizeof clocks[0])];
}

/* TL_ERR_NOMEM, TL_ERR_OPTION: these options are not for this machine, or for none. */
static enum tl_status open_subject(struct failing *memory, uint32_t capacity, uint64_t now,
                                   uint64_t max_delay_ticks, void **self)
{
    struct tl_config config = {
        .capacity = capacity,
        .now = now,
        .max_delay_ticks = max_delay_ticks,
        .options = subject.options,
        .allocator = &memory->memory.allocator,
    };
    return subject.algo->create(&config, self);
}

/* The files named on the command line; without any, the built-in structures are tested. */
static char **plugin_files;
static int plugin_count;

static void for_each_seed(const struct tl_algo *algo, const char *build, void (*test)(void),
                          uint32_t seeds)
{
    subject.algo = algo;
    subject.build = build;
    for (subject.seed = 0; subject.seed < seeds; subject.seed++) {
        subject.step = 0;
        test();
    }
}

/* Runs `test` for each structure that keeps timers, in both builds, and each seed. */
static void for_each_subject(void (*test)(void), uint32_t seeds)
{
    for (size_t i = 0; plugin_count == 0 && i < tl_registry_count(); i++) {
        const struct tl_entry *entry = tl_registry_at(i);
        if ((entry->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0 &&
            test_is_available(entry->timed)) {
            for_each_seed(entry->timed, "timed", test, seeds);
            for_each_seed(entry->counted, "counted", test, seeds);
        }
    }
    for (int i = 0; i < plugin_count; i++) {
        char why[1024] = "";
        struct tl_plugin *plugin = tl_plugin_open(plugin_files[i], why, sizeof why);
        if (plugin == NULL) {
            fail_msg("%s", why);
        }
        for_each_seed(tl_plugin_algo(plugin), "plug-in", test, seeds);
        tl_plugin_close(plugin);
    }
}

static void random_operations(void)
{
    struct model m = {.random = subject.seed};
    failing_open(&m.memory);
    some_options(&m.random);
    m.clock = some_clock(&m.random);
    m.capacity = below(&m.random, 3) == 0 ? 0 : (uint32_t)below(&m.random, IDS) + 1;
    uint64_t announced = below(&m.random, 2) == 0 ? 0 : below(&m.random, 10000) + 1;
    enum tl_status status = open_subject(&m.memory, m.capacity, m.clock, announced, &m.self);
    if (status != TL_OK) {
        EXPECT(status == TL_ERR_NOMEM || status == TL_ERR_OPTION);
        EXPECT(subject.seed >= 3); /* the defaults work */
        EXPECT(m.memory.memory.bytes == 0);
        return;
    }
    if (announced > 0 && m.capacity > 0 && subject.seed < 3) {
        start_one(&m, 0, m.clock + announced); /* with the defaults, announced delays are
                                                * accepted */
        EXPECT(m.timers[0].pending);
    }
    check_state(&m);
    for (subject.step = 1; subject.step <= STEPS; subject.step++) {
        one_step(&m);
    }
    if (below(&m.random, 4) != 0) { /* else it is destroyed with timers pending */
        drain(&m);
    }
    if (subject.algo->counters != NULL && strcmp(subject.build, "counted") == 0) {
        struct tl_counters counters = {0};
        subject.algo->counters(m.self, &counters);
        EXPECT(counters.moves >= m.fired_all);
    }
    subject.algo->destroy(m.self);
    EXPECT(m.memory.memory.bytes == 0);
}

static void structures_keep_the_contract(void **state)
{
    (void)state;
    for_each_subject(random_operations, SEEDS);
}

/* --- failing memory -------------------------------------------------------------------------- */

static void count_firing(void *ctx, uint32_t id, uint64_t now)
{
    (void)id;
    (void)now;
    ++*(uint64_t *)ctx;
}

/* create and reserve with each of their allocations failing in turn. */
static void failing_memory(void)
{
    tl_options_default(subject.algo, subject.options);
    struct failing memory;
    void *self = NULL;
    enum tl_status status = TL_ERR_NOMEM;
    for (uint64_t k = 0; status != TL_OK; k++) {
        subject.step = (uint32_t)k;
        EXPECT(k < 100);
        failing_open(&memory);
        memory.until_fail = k;
        status = open_subject(&memory, 8, 5, 100, &self);
        EXPECT(status == TL_OK || status == TL_ERR_NOMEM);
        EXPECT(status == TL_OK || memory.memory.bytes == 0);
    }
    for (uint32_t id = 0; id < 8; id++) {
        EXPECT(subject.algo->start(self, id, 10 + 5 * id) == TL_OK);
    }
    status = TL_ERR_NOMEM;
    for (uint64_t k = 0; status != TL_OK; k++) {
        subject.step = (uint32_t)k;
        EXPECT(k < 100);
        uint64_t bytes = memory.memory.bytes;
        memory.until_fail = k;
        status = subject.algo->reserve(self, 100000);
        EXPECT(status == TL_OK || status == TL_ERR_NOMEM);
        EXPECT(status == TL_OK || memory.memory.bytes == bytes);
        char why[256] = "";
        EXPECT(subject.algo->check == NULL || subject.algo->check(self, why, sizeof why) == TL_OK);
        EXPECT(subject.algo->count(self) == 8);
    }
    memory.closed = true;
    EXPECT(subject.algo->reserve(self, 50) == TL_OK); /* never shrinks, so asks for nothing */
    EXPECT(subject.algo->start(self, 99999, 60) == TL_OK);
    EXPECT(subject.algo->reserve(self, UINT32_MAX) != TL_OK);
    uint64_t late_ticks = 0;
    for (uint64_t delay = 0; delay <= 55; delay++) {
        uint64_t late = tl_algo_precision(subject.algo, subject.options, delay).late_ticks;
        late_ticks = late > late_ticks ? late : late_ticks;
    }
    uint64_t fired = 0;
    uint64_t end = 100 + late_ticks;
    EXPECT(subject.algo->advance(self, end, TL_NO_BUDGET, count_firing, &fired) == 9);
    EXPECT(fired == 9);
    subject.algo->destroy(self);
    EXPECT(memory.memory.bytes == 0);
}

static void structures_survive_failing_memory(void **state)
{
    (void)state;
    for_each_subject(failing_memory, 1);
}

/* --- compared with ordered-list -------------------------------------------------------------- */

/* One of the two structures of a pair, and its expiries in the running advance. */
struct side {
    const struct tl_algo *algo;
    void *self;
    uint64_t seed;
    uint32_t starts[IDS]; /* of each id: a restart's delay follows from it, not from the order */
    uint32_t fired[4 * IDS];
    size_t fired_count;
};

/* The delay of the n-th start of an id: the same on both sides. */
static uint64_t delay_of(uint64_t seed, uint32_t id, uint32_t n)
{
    uint64_t random = seed ^ (uint64_t)id << 32 ^ n;
    uint64_t reach = UINT64_C(1) << below(&random, 16);
    return below(&random, reach);
}

static void side_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct side *side = ctx;
    EXPECT(side->fired_count < sizeof side->fired / sizeof side->fired[0]);
    side->fired[side->fired_count++] = id;
    uint32_t n = ++side->starts[id];
    if (n % 4 != 0) {
        enum tl_status status =
            side->algo->start(side->self, id, now + delay_of(side->seed, id, n));
        EXPECT(status == TL_OK);
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void compare_advance(struct side *side, struct side *reference, uint64_t now)
{
    side->fired_count = 0;
    reference->fired_count = 0;
    (void)side->algo->advance(side->self, now, TL_NO_BUDGET, side_fire, side);
    (void)reference->algo->advance(reference->self, now, TL_NO_BUDGET, side_fire, reference);
    EXPECT(side->fired_count == reference->fired_count);
    if (!has(TL_CAP_FIFO)) {
        qsort(side->fired, side->fired_count, sizeof side->fired[0], by_number);
        qsort(reference->fired, reference->fired_count, sizeof reference->fired[0], by_number);
    }
    EXPECT(memcmp(side->fired, reference->fired, side->fired_count * sizeof side->fired[0]) == 0);
    EXPECT(side->algo->count(side->self) == reference->algo->count(reference->self));
}

static bool is_exact_here(void)
{
    for (uint64_t delay = 0; delay < UINT64_C(1) << 20; delay = 3 * delay + 1) {
        struct tl_precision p = tl_algo_precision(subject.algo, subject.options, delay);
        if (p.early_ticks != 0 || p.late_ticks != 0) {
            return false;
        }
    }
    return true;
}

static void same_as_the_reference(void)
{
    uint64_t random = ~subject.seed;
    struct failing memory;
    failing_open(&memory);
    some_options(&random);
    struct side side = {.algo = subject.algo, .seed = subject.seed};
    struct side reference = {.algo = tl_registry_find("ordered-list")->timed, .seed = subject.seed};
    uint64_t now = some_clock(&random);
    uint64_t longest = 1 << 16;
    if (!is_exact_here() || open_subject(&memory, IDS, now, longest, &side.self) != TL_OK) {
        return;
    }
    struct tl_config config = {.capacity = IDS, .now = now, .allocator = &memory.memory.allocator};
    EXPECT(reference.algo->create(&config, &reference.self) == TL_OK);
    /* A horizon that these options make shorter would only change the operations. */
    bool reaches = subject.algo->start(side.self, 0, now + longest) == TL_OK;
    (void)subject.algo->stop(side.self, 0);
    for (subject.step = 1; reaches && subject.step <= STEPS; subject.step++) {
        uint32_t id = (uint32_t)below(&random, IDS);
        uint64_t kind = below(&random, 8);
        if (kind < 4) {
            uint32_t n = ++side.starts[id];
            reference.starts[id] = n;
            uint64_t deadline = now + delay_of(subject.seed, id, n);
            EXPECT(side.algo->start(side.self, id, deadline) == TL_OK);
            EXPECT(reference.algo->start(reference.self, id, deadline) == TL_OK);
        } else if (kind == 4) {
            EXPECT(side.algo->stop(side.self, id) == reference.algo->stop(reference.self, id));
        } else {
            now += kind == 5 ? delay_of(subject.seed, id, subject.step) : kind - 5;
            compare_advance(&side, &reference, now);
        }
    }
    side.algo->destroy(side.self);
    reference.algo->destroy(reference.self);
    EXPECT(memory.memory.bytes == 0);
}

static void structures_fire_what_the_reference_fires(void **state)
{
    (void)state;
    for_each_subject(same_as_the_reference, SEEDS);
}

int main(int argc, char **argv)
{
    plugin_files = argv + 1;
    plugin_count = argc - 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_keep_the_contract),
        cmocka_unit_test(structures_survive_failing_memory),
        cmocka_unit_test(structures_fire_what_the_reference_fires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
