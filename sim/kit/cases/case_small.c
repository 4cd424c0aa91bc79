/*
 * Case: every sequence of starts, stops, advances and actions of callbacks up to a length, on two or
 * three timers with a few delays.
 *
 * The search is over states. The structure's memory comes from an arena at fixed addresses, so the
 * arena and the model are the whole state, which is saved and restored by copying; sequences that
 * lead to the same state are continued once. At the end of each sequence all timers must fire.
 *
 *     start 0 in 1 --- advance by 1 --- ...
 *          |      \--- start 1 in 1 --- ...
 *          |       \-- stop 0 --------- (as at the beginning, except for stale entries)
 *          + ...
 *
 * Sequences of one operation come first, then those of two, and so on while there is time. This is
 * explicit-state model checking, as in Holzmann's SPIN, of the code itself.
 */
#include "kit_cases.h"
#include "kit_script.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { TIMERS_MOST = 3, LEAVES = 4, DEPTH_MOST = 12, DELAYS_MOST = 12, STEPS_MOST = 8 };

/* The arena is copied at every step: a structure that needs more is not searched. */
#define ARENA_BYTES ((size_t)1 << 20)
#define FRESH       0xa5

/* States that are remembered, a power of two; with more, some are searched again. */
#define KNOWN       ((size_t)1 << 20)

/* --- the arena ------------------------------------------------------------------------------- */

struct arena {
    unsigned char *bytes;
    size_t used;
    struct kit_guard *guard; /* counts the requests */
    struct tl_allocator allocator;
};

static void *arena_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    struct arena *arena = ctx;
    if (new_bytes == 0 || new_bytes <= old_bytes) {
        return new_bytes == 0 ? NULL : ptr;
    }
    arena->guard->allocations++;
    size_t at = (arena->used + align - 1) / align * align;
    if (new_bytes > ARENA_BYTES || at > ARENA_BYTES - new_bytes) {
        arena->guard->refused++;
        return NULL;
    }
    arena->used = at + new_bytes;
    memset(arena->bytes + at, FRESH, new_bytes);
    if (ptr != NULL) {
        memcpy(arena->bytes + at, ptr, old_bytes);
    }
    return arena->bytes + at;
}

/* --- states ---------------------------------------------------------------------------------- */

/* The action of a timer's next callback. */
struct reaction {
    enum kit_op_kind kind; /* KIT_OP_INSPECT: none */
    uint32_t other;
    uint64_t ticks;
};

/* Numbers that the operations are made of. */
struct alphabet {
    uint32_t timers;
    size_t delay_count;
    uint64_t delays[DELAYS_MOST];
    size_t step_count;
    uint64_t steps[STEPS_MOST];
    size_t reaction_count; /* the number of delays that callbacks use */
};

/* All that an operation may change, saved at each depth. */
struct moment {
    struct kit_subject subject;
    struct kit_timer timers[TIMERS_MOST];
    struct kit_urge urges[LEAVES];
    uint32_t winners[2 * LEAVES];
    struct reaction reactions[TIMERS_MOST];
    uint32_t named;
    uint32_t log_count;
    size_t used;
    unsigned char *bytes;
};

struct search {
    struct alphabet alphabet;
    struct kit_subject subject;
    struct arena arena;
    struct reaction reactions[TIMERS_MOST];
    uint32_t named; /* timers from this one on are unused, and so interchangeable */
    struct moment moments[DEPTH_MOST + 1];
    uint64_t *known; /* hashes of states and their remaining operations; 0: none */
    struct script_time time;
    uint64_t states;
    uint64_t sequences;
};

static void react(struct kit_subject *subject, uint32_t id)
{
    struct search *search = subject->on_fire_ctx;
    struct reaction reaction = search->reactions[id];
    search->reactions[id].kind = KIT_OP_INSPECT;
    if (reaction.kind == KIT_OP_START) {
        (void)subject_start(subject, reaction.other, subject->clock + reaction.ticks);
    } else if (reaction.kind == KIT_OP_STOP) {
        (void)subject_stop(subject, reaction.other);
    }
}

static void save_state(const struct search *search, struct moment *moment)
{
    const struct kit_subject *subject = &search->subject;
    moment->subject = *subject;
    memcpy(moment->timers, subject->timers, search->alphabet.timers * sizeof *subject->timers);
    memcpy(moment->urges, subject->urgency.urges, sizeof moment->urges);
    memcpy(moment->winners, subject->urgency.winners, sizeof moment->winners);
    memcpy(moment->reactions, search->reactions, sizeof moment->reactions);
    moment->named = search->named;
    moment->log_count = subject->witness->log.count;
    moment->used = search->arena.used;
    memcpy(moment->bytes, search->arena.bytes, search->arena.used);
}

static void restore_state(struct search *search, const struct moment *moment)
{
    struct kit_subject *subject = &search->subject;
    *subject = moment->subject;
    memcpy(subject->timers, moment->timers, search->alphabet.timers * sizeof *subject->timers);
    memcpy(subject->urgency.urges, moment->urges, sizeof moment->urges);
    memcpy(subject->urgency.winners, moment->winners, sizeof moment->winners);
    memcpy(search->reactions, moment->reactions, sizeof moment->reactions);
    search->named = moment->named;
    subject->witness->log.count = moment->log_count;
    search->arena.used = moment->used;
    memcpy(search->arena.bytes, moment->bytes, moment->used);
}

/* Return a hash of the state, never 0. Of serials, only the order belongs to it. */
static uint64_t state_number(const struct search *search, unsigned left)
{
    const struct kit_subject *subject = &search->subject;
    struct {
        uint64_t due, limit, fired_at, ahead, reaction, other, ticks;
    } timers[TIMERS_MOST];
    memset(timers, 0, sizeof timers);
    for (uint32_t i = 0; i < search->alphabet.timers; i++) {
        const struct kit_timer *timer = &subject->timers[i];
        bool pending = timer->state == KIT_TIMER_PENDING;
        timers[i].due = pending ? timer->due : 0;
        timers[i].limit = pending ? timer->limit : (uint64_t)timer->state;
        for (uint32_t k = 0; pending && k < search->alphabet.timers; k++) {
            timers[i].ahead += subject->timers[k].serial < timer->serial;
        }
        timers[i].reaction = (uint64_t)search->reactions[i].kind;
        timers[i].other = search->reactions[i].other;
        timers[i].ticks = search->reactions[i].ticks;
    }
    uint64_t seed = subject->clock * DEPTH_MOST + left;
    seed = XXH3_64bits_withSeed(timers, sizeof timers, seed);
    return XXH3_64bits_withSeed(search->arena.bytes, search->arena.used, seed) | 1;
}

/* Whether a state with `left` remaining operations is new; remember it. */
static bool is_new(struct search *search, unsigned left)
{
    uint64_t number = state_number(search, left);
    size_t at = number / 2 % KNOWN;
    for (unsigned i = 0; i < 8; i++, at = (at + 1) % KNOWN) {
        if (search->known[at] == number) {
            return false;
        }
        if (search->known[at] == 0) {
            break;
        }
    }
    search->known[at] = number;
    search->states++;
    return true;
}

/* --- the operations -------------------------------------------------------------------------- */

/* The result of executing the `k`th operation of the alphabet. */
enum done { DONE, IDLE, NO_MORE };

static enum done do_start(struct search *search, size_t k)
{
    uint32_t id = (uint32_t)(k / search->alphabet.delay_count);
    if (id > search->named) {
        return IDLE;
    }
    search->named += id == search->named && search->named + 1 < search->alphabet.timers;
    script_start(&search->subject, id, search->alphabet.delays[k % search->alphabet.delay_count]);
    return DONE;
}

static enum done do_advance(struct search *search, size_t k)
{
    struct kit_subject *subject = &search->subject;
    bool budget = k >= search->alphabet.step_count;
    uint64_t step = search->alphabet.steps[k % search->alphabet.step_count];
    if (budget && !subject_can(subject, TL_CAP_BUDGET)) {
        return IDLE;
    }
    subject->witness->operations++;
    (void)subject_advance(subject, due_deadline(subject->clock, step), budget ? 1 : TL_NO_BUDGET);
    return DONE;
}

/* Set the action of a pending timer's callback, on itself or another timer. */
static enum done do_react(struct search *search, size_t k)
{
    const struct alphabet *alphabet = &search->alphabet;
    size_t kinds = alphabet->reaction_count + 1;
    uint32_t id = (uint32_t)(k / kinds / alphabet->timers);
    uint32_t other = (uint32_t)(k / kinds % alphabet->timers);
    size_t what = k % kinds;
    if (search->subject.timers[id].state != KIT_TIMER_PENDING ||
        search->reactions[id].kind != KIT_OP_INSPECT || (what == 0 && other == id)) {
        return IDLE;
    }
    search->reactions[id] = (struct reaction){
        .kind = what == 0 ? KIT_OP_STOP : KIT_OP_START,
        .other = other,
        .ticks = what == 0 ? 0 : alphabet->delays[what - 1],
    };
    return DONE;
}

static enum done do_operation(struct search *search, size_t k)
{
    const struct alphabet *alphabet = &search->alphabet;
    size_t starts = alphabet->timers * alphabet->delay_count;
    size_t advances = 2 * alphabet->step_count;
    size_t reactions = (size_t)alphabet->timers * alphabet->timers * (alphabet->reaction_count + 1);
    if (k < starts) {
        return do_start(search, k);
    }
    k -= starts;
    if (k < alphabet->timers) {
        script_stop(&search->subject, (uint32_t)k);
        return DONE;
    }
    k -= alphabet->timers;
    if (k < advances) {
        return do_advance(search, k);
    }
    k -= advances;
    return k < reactions ? do_react(search, k) : NO_MORE;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Try all sequences of `left` more operations. */
static void go_on(struct search *search, unsigned left)
{
    struct moment *moment = &search->moments[left];
    if (left == 0) {
        save_state(search, moment);
        search->sequences++;
        subject_drain(&search->subject);
        restore_state(search, moment);
        (void)script_goes_on(&search->time, 4 * search->sequences + 3);
        return;
    }
    save_state(search, moment);
    enum done done = DONE;
    for (size_t k = 0; done != NO_MORE && !search->time.is_over; k++) {
        done = do_operation(search, k);
        if (done == DONE) {
            if (is_new(search, left - 1)) {
                go_on(search, left - 1);
            }
            restore_state(search, moment);
        }
    }
}

/* Whether all memory of the structure is in the arena, so that it can be restored. */
static bool is_all_in_arena(struct search *search, uint64_t heap_before)
{
    struct kit_subject *subject = &search->subject;
    struct moment *moment = &search->moments[0];
    enum { MODEL_SLACK = 1024 };
    bool all = kit_heap_bytes() <= heap_before + subject_model_bytes(subject) + MODEL_SLACK;
    save_state(search, moment);
    uint64_t before = kit_heap_bytes();
    for (uint32_t id = 0; id < search->alphabet.timers; id++) {
        script_start(subject, id, 1 + id);
    }
    all = all && kit_heap_bytes() == before;
    script_advance(subject, subject->clock + 2);
    script_stop(subject, search->alphabet.timers - 1);
    all = all && kit_heap_bytes() == before;
    if (all) {
        restore_state(search, moment);
    }
    return all;
}

/* Try longer and longer sequences while there is time; return the length of the last. */
static unsigned deepen(struct search *search)
{
    unsigned depth = 0;
    while (!search->time.is_over && depth < DEPTH_MOST) {
        memset(search->known, 0, KNOWN * sizeof *search->known);
        search->sequences = 0;
        go_on(search, depth + 1);
        depth += !search->time.is_over;
    }
    return depth;
}

static bool open_search(struct search *search, struct kit_run *run, uint64_t now)
{
    struct kit_subject *subject = &search->subject;
    uint64_t heap_before = kit_heap_bytes();
    search->arena.used = 0;
    search->named = 0;
    for (uint32_t i = 0; i < TIMERS_MOST; i++) {
        search->reactions[i].kind = KIT_OP_INSPECT;
    }
    subject_init(subject, run->algo, run->options, ARENA_BYTES, run->witness);
    search->arena.guard = &subject->guard;
    search->arena.allocator = (struct tl_allocator){&search->arena, arena_resize};
    subject->allocator = &search->arena.allocator;
    subject->on_fire = react;
    subject->on_fire_ctx = search;
    if (subject_create(subject, TIMERS_MOST, now, 0) != KIT_OPENED) {
        subject_discard(subject);
        return false;
    }
    /* The state of a durable structure is partly in its files. */
    if (subject_can(subject, TL_CAP_DURABLE) || !is_all_in_arena(search, heap_before)) {
        subject_destroy(subject);
        return false;
    }
    return true;
}

/* Choose delays and steps around the first two boundaries of the structure: the product of its
 * first numeric options. */
static void choose_alphabet(struct alphabet *alphabet, const struct kit_run *run, bool wide)
{
    uint64_t slot = 0;
    uint64_t edge = 0;
    for (size_t i = 0; i < tl_option_count(run->algo); i++) {
        uint64_t value = tl_option_number(&run->algo->options[i], run->options);
        if (value > 1 && value <= 70000 && slot == 0) {
            slot = value;
        } else if (value > 1 && value <= 70000 && edge == 0) {
            edge = slot * value;
        }
    }
    slot = slot > 0 ? slot : 64;
    edge = edge > slot ? edge : slot * slot;
    *alphabet = (struct alphabet){.timers = wide ? 3 : 2};
    const uint64_t wide_delays[] = {0,        1,    slot - 1, slot,        slot + 1,
                                    edge - 1, edge, edge + 1, 7 * edge + 3};
    const uint64_t narrow_delays[] = {0, 1, slot, edge};
    const uint64_t *delays = wide ? wide_delays : narrow_delays;
    alphabet->delay_count = wide ? LENGTH(wide_delays) : LENGTH(narrow_delays);
    memcpy(alphabet->delays, delays, alphabet->delay_count * sizeof *delays);
    const uint64_t steps[] = {1, 0, slot, slot - 1, edge, 8 * edge};
    alphabet->step_count = wide ? LENGTH(steps) : 3;
    memcpy(alphabet->steps, steps, alphabet->step_count * sizeof *steps);
    alphabet->reaction_count = wide ? 4 : 3;
}

/* Search under one set of options; return the length of the sequences, 0: none. */
static unsigned explore(struct search *search, struct kit_run *run, bool wide, double share)
{
    choose_alphabet(&search->alphabet, run, wide);
    if (!open_search(search, run, wide ? 0 : 13)) {
        return 0;
    }
    search->time = script_time(run, share);
    unsigned depth = deepen(search);
    subject_inspect(&search->subject);
    subject_destroy(&search->subject);
    return depth;
}

static void search_all(struct kit_run *run, struct search *search, unsigned char *bytes)
{
    search->arena.bytes = bytes;
    for (size_t i = 0; i <= DEPTH_MOST; i++) {
        search->moments[i].bytes = bytes + (i + 1) * ARENA_BYTES;
    }
    if (!script_is_default(run)) {
        (void)explore(search, run, run->options[0] % 2 == 0, 0.02);
        run->witness->coverage.states += search->states;
        return;
    }
    unsigned wide = explore(search, run, true, 0.3);
    unsigned narrow = explore(search, run, false, 0.3);
    run->witness->coverage.states += search->states;
    if (wide == 0 && narrow == 0) {
        kit_note(run->witness,
                 "by default its memory is too large to copy at every step, or not from "
                 "the allocator");
    } else {
        kit_note(run->witness, "right for all sequences of %u operations on 3 timers, of %u on 2",
                 wide, narrow);
    }
}

void case_small(struct kit_run *run)
{
    struct search *search = memory_new(1, sizeof *search);
    unsigned char *bytes = memory_made(aligned_alloc(ARENA_BYTES, (DEPTH_MOST + 2) * ARENA_BYTES));
    uint64_t *known = memory_new(KNOWN, sizeof *known);
    search->known = known;
    search_all(run, search, bytes);
    free(known);
    free(bytes);
    free(search);
}
