/* Random operations for a structure and a model of its original, side by side. */
#include "original.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
#ifdef __SANITIZE_ADDRESS__
    SEEDS = 60,
#else
    SEEDS = 300,
#endif
    SEEDS_TO_DIFFER = 3000, /* some habits show rarely; the first difference is enough */
    FIRED_MAX = 4096,       /* in one advance */
    WHY_BYTES = 400,
};

/* Every other delay of a callback's start is short; and this many starts in one advance are
 * enough. */
#define CALLED_MAX 200u

/* The expiries of one side in an advance. */
struct fired {
    uint32_t ids[FIRED_MAX];
    uint32_t count;
};

struct run {
    const struct original_case *wanted;
    struct stand stand; /* the structure */
    void *model;
    uint64_t seed;
    uint32_t arming[2][ORIGINAL_IDS]; /* expiries of each timer, on each side */
    struct fired fired[2];
    char why[WHY_BYTES]; /* the first difference; empty: none yet */
};

enum side { STRUCTURE, MODEL };

/* A callback's view: the same for both sides. */
struct side_of_run {
    struct run *run;
    enum side side;
};

static uint64_t draw(struct run *run)
{
    return test_draw(&run->stand.random);
}

static uint32_t ids_of(const struct original_case *wanted)
{
    return wanted->ids > 0 ? wanted->ids : 24;
}

/* A deadline, of a delay of any magnitude, out of 64 random bits. */
static uint64_t deadline_of(const struct run *run, uint64_t bits)
{
    const struct original_case *wanted = run->wanted;
    uint32_t most = wanted->delay_bits > 0 ? wanted->delay_bits : 14;
    uint32_t width = (uint32_t)(bits % most) + 1;
    uint64_t delay = (bits >> 8) & ((UINT64_C(1) << width) - 1);
    if (!wanted->future_only && bits >> 60 == 0) {
        return run->stand.clock - (run->stand.clock < delay % 8 ? run->stand.clock : delay % 8);
    }
    uint64_t deadline = run->stand.clock + delay + wanted->future_only;
    if (wanted->batch_ticks > 0) {
        deadline += wanted->batch_ticks - 1;
        deadline -= deadline % wanted->batch_ticks;
    }
    return deadline;
}

static void differ(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Notes the first difference. */
static void differ(struct run *run, const char *format, ...)
{
    va_list arguments;
    if (run->why[0] != '\0') {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(run->why, sizeof run->why, format, arguments);
    va_end(arguments);
}

static bool start_on(struct run *run, enum side side, uint32_t id, uint64_t deadline)
{
    return side == MODEL ? run->wanted->original->start(run->model, id, deadline)
                         : stand_try_start(&run->stand, id, deadline) == TL_OK;
}

static bool stop_on(struct run *run, enum side side, uint32_t id)
{
    return side == MODEL ? run->wanted->original->stop(run->model, id)
                         : stand_stop(&run->stand, id) == TL_OK;
}

/* The callback of both sides. Its actions depend on the timer and on how often it has fired; it
 * starts other timers only if both sides fire in the same order. */
static void on_fire(void *ctx, uint32_t id)
{
    struct side_of_run *at = ctx;
    struct run *run = at->run;
    struct fired *fired = &run->fired[at->side];
    if (fired->count < FIRED_MAX) {
        fired->ids[fired->count++] = id;
    }
    uint32_t arming = run->arming[at->side][id]++;
    uint64_t bits = test_mix(run->seed ^ (uint64_t)id << 40 ^ (uint64_t)arming << 8);
    if (run->wanted->quiet || fired->count > CALLED_MAX) {
        return;
    }
    uint32_t other = run->wanted->ordered ? (uint32_t)(test_mix(bits) % ids_of(run->wanted)) : id;
    switch (bits >> 58 & 3) {
    case 0:
        (void)start_on(run, at->side, other, deadline_of(run, test_mix(bits + 1)));
        break;
    case 1:
        (void)start_on(run, at->side, id, deadline_of(run, test_mix(bits + 2)));
        break;
    case 2:
        (void)stop_on(run, at->side, other);
        break;
    default:
        break;
    }
}

static void on_structure_fire(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    on_fire(s->ctx, id);
}

static int by_id(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void advance_both(struct run *run, uint64_t now)
{
    struct side_of_run structure = {run, STRUCTURE};
    struct side_of_run model = {run, MODEL};
    struct original_fire fire = {&model, on_fire};
    run->stand.ctx = &structure;
    run->fired[STRUCTURE].count = 0;
    run->fired[MODEL].count = 0;
    (void)stand_advance(&run->stand, now);
    run->wanted->original->advance(run->model, now, &fire);
    for (size_t side = 0; !run->wanted->ordered && side < 2; side++) {
        qsort(run->fired[side].ids, run->fired[side].count, sizeof(uint32_t), by_id);
    }
    uint32_t ours = run->fired[STRUCTURE].count;
    uint32_t theirs = run->fired[MODEL].count;
    for (uint32_t i = 0; i < ours || i < theirs; i++) {
        if (i >= ours || i >= theirs || run->fired[STRUCTURE].ids[i] != run->fired[MODEL].ids[i]) {
            differ(run,
                   "an advance to tick %" PRIu64 " fires %" PRIu32 " timers, the original %" PRIu32
                   "; number %" PRIu32 " is timer %" PRId64 ", the original's %" PRId64,
                   now, ours, theirs, i + 1,
                   i < ours ? (int64_t)run->fired[STRUCTURE].ids[i] : (int64_t)-1,
                   i < theirs ? (int64_t)run->fired[MODEL].ids[i] : (int64_t)-1);
            return;
        }
    }
}

static void compare_next(struct run *run)
{
    const struct original *original = run->wanted->original;
    if (run->wanted->next == ORIGINAL_NEXT_ANY) {
        return;
    }
    uint64_t ours = stand_next(&run->stand);
    uint64_t theirs = original->next(run->model);
    /* At or before the clock is the same: at once. */
    ours = ours > run->stand.clock ? ours : run->stand.clock;
    theirs = theirs > run->stand.clock ? theirs : run->stand.clock;
    if ((ours > theirs && run->wanted->next != ORIGINAL_NEXT_AFTER) ||
        (ours < theirs && run->wanted->next != ORIGINAL_NEXT_BEFORE)) {
        differ(run, "at tick %" PRIu64 ", next is %" PRIu64 ", the original's %" PRIu64,
               run->stand.clock, ours, theirs);
    }
}

/* Where both sides have each timer. */
static void compare_places(struct run *run)
{
    struct place places[ORIGINAL_IDS];
    places_find(run->stand.algo, run->stand.self, places, ORIGINAL_IDS);
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        struct place theirs = places[id];
        struct place ours = places[id];
        run->wanted->original->place(run->model, id, &theirs);
        if (ours.pending != theirs.pending ||
            (ours.pending && (ours.level != theirs.level || ours.slot != theirs.slot))) {
            differ(run,
                   "at tick %" PRIu64 ", timer %" PRIu32 " is %s, level %u, slot %" PRIu64
                   "; in the original %s, level %u, slot %" PRIu64,
                   run->stand.clock, id, ours.pending ? "pending" : "idle", ours.level, ours.slot,
                   theirs.pending ? "pending" : "idle", theirs.level, theirs.slot);
            return;
        }
    }
}

/* One operation on both sides. */
static void step(struct run *run)
{
    uint64_t what = draw(run);
    uint32_t id = (uint32_t)(draw(run) % ids_of(run->wanted));
    if (what % 8 < 4) {
        uint64_t deadline = deadline_of(run, draw(run));
        bool ours = start_on(run, STRUCTURE, id, deadline);
        bool theirs = start_on(run, MODEL, id, deadline);
        if (ours != theirs) {
            differ(run,
                   "at tick %" PRIu64 ", a start for %" PRIu64 " is %s, not so by the original",
                   run->stand.clock, deadline, ours ? "taken" : "refused");
        }
    } else if (what % 8 < 5) {
        bool ours = stop_on(run, STRUCTURE, id);
        bool theirs = stop_on(run, MODEL, id);
        if (ours != theirs) {
            differ(run,
                   "at tick %" PRIu64 ", stop of timer %" PRIu32
                   " finds it %s, not so the original",
                   run->stand.clock, id, ours ? "pending" : "idle");
        }
    } else {
        /* As far as a delay, or a few ticks, or to where there is work next. */
        uint64_t ticks = deadline_of(run, draw(run) | UINT64_C(1) << 60) - run->stand.clock;
        if (what >> 32 & 1) {
            ticks = 1 + ticks % 8;
        } else if ((what >> 33 & 1) && run->wanted->original->next != NULL) {
            uint64_t next = run->wanted->original->next(run->model);
            ticks = next > run->stand.clock && next < TL_NEVER ? next - run->stand.clock : ticks;
        }
        if (run->wanted->step_ticks > 0 && ticks > run->wanted->step_ticks) {
            ticks = 1 + ticks % run->wanted->step_ticks;
        }
        ticks = run->wanted->step_ticks > 0 && ticks == 0 ? 1 : ticks;
        advance_both(run, run->stand.clock + ticks);
    }
    compare_next(run);
    if (run->wanted->original->place != NULL) {
        compare_places(run);
    }
    if (run->wanted->original->inside != NULL) {
        char why[WHY_BYTES / 2] = "";
        if (!run->wanted->original->inside(run->model, run->stand.algo, run->stand.self, why,
                                           sizeof why)) {
            differ(run, "at tick %" PRIu64 ": %s", run->stand.clock, why);
        }
    }
}

/* Runs a stream up to the first difference, which is then in `run->why`. */
static void compare(struct run *run, const struct original_case *wanted, uint32_t habits,
                    uint64_t seed)
{
    *run = (struct run){.wanted = wanted, .seed = test_mix(seed)};
    stand_open(&run->stand, wanted->structure, wanted->options, .capacity = ORIGINAL_IDS,
               .now = wanted->clock);
    run->stand.on_expiry = on_structure_fire;
    run->stand.random = seed;
    run->model = calloc(1, wanted->original->bytes);
    assert_non_null(run->model);
    wanted->original->open(run->model, wanted->clock, habits);
    uint32_t operations = wanted->operations > 0 ? wanted->operations : 400;
    for (uint32_t i = 0; i < operations && run->why[0] == '\0'; i++) {
        step(run);
    }
    stand_close(&run->stand);
    if (wanted->original->close != NULL) {
        wanted->original->close(run->model);
    }
    free(run->model);
}

void original_agrees(const struct original_case *wanted)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct run run;
        compare(&run, wanted, wanted->habits, seed);
        if (run.why[0] != '\0') {
            fail_msg("%s:%s beside %s, seed %" PRIu64 ": %s", wanted->structure, wanted->options,
                     wanted->original->follows, seed, run.why);
        }
    }
}

void original_differs(const struct original_case *wanted, uint32_t habit, const char *words)
{
    const struct tl_entry *entry = tl_registry_find(wanted->structure);
    assert_non_null(entry);
    if (entry->timed->differs == NULL || strstr(entry->timed->differs, words) == NULL) {
        fail_msg("%s does not list this difference: \"%s\"", wanted->structure, words);
    }
    for (uint64_t seed = 1; seed <= SEEDS_TO_DIFFER; seed++) {
        struct run run;
        compare(&run, wanted, wanted->habits | habit, seed);
        if (run.why[0] != '\0') {
            return;
        }
    }
    fail_msg("%s:%s says that it differs in \"%s\", but does in no stream", wanted->structure,
             wanted->options, words);
}

static void on_part(void *ctx, const struct tl_part *part)
{
    struct year *year = ctx;
    year->is_year = part->form == TL_FORM_WHEEL;
    year->day_ticks = year->is_year ? part->cell_ticks : year->day_ticks;
}

static void on_cell(void *ctx, const struct tl_cell *cell)
{
    (void)cell;
    struct year *year = ctx;
    year->days += year->is_year;
}

static void on_timer(void *ctx, const struct tl_held *held)
{
    (void)ctx;
    (void)held;
}

struct year year_of(const struct tl_algo *algo, const void *structure)
{
    struct year year = {false, 0, 0};
    struct tl_visitor visitor = {&year, on_part, on_cell, on_timer};
    algo->walk(structure, &visitor);
    return year;
}
