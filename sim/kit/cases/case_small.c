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
#include "kit_play.h"
#include "kit_script.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { TIMERS_MOST = 3, LEAVES = 4, DEPTH_MOST = 12, OPERATIONS_MOST = 96 };

/* The arena is copied at every step: a structure that needs more is not searched. */
#define ARENA_BYTES ((size_t)1 << 20)
#define FRESH       0xa5

/* Of a copy of the state: the arena, and the model before it. */
#define MODEL_BYTES ((size_t)1 << 16)
#define COPY_BYTES  (MODEL_BYTES + ARENA_BYTES)

/* States that are remembered, a power of two; with more, some are searched again. */
#define KNOWN       ((size_t)1 << 20)

/* The part of the state that is not reached by pointers. */
struct state {
    struct kit_subject subject;
    struct kit_op reactions[TIMERS_MOST]; /* of each timer's next callback; KIT_OP_INSPECT: none */
    uint32_t named; /* timers from this one on are unused, and so interchangeable */
    size_t used;    /* bytes of the arena */
};

struct search {
    struct state state;
    uint32_t timers;
    struct kit_op operations[OPERATIONS_MOST]; /* to make sequences of */
    size_t operation_count;
    unsigned char *arena;
    struct tl_allocator allocator;
    unsigned char *copies; /* one for each depth */
    uint64_t *known;       /* hashes of states and their remaining operations; 0: none */
    struct script_time time;
    uint64_t states;
    uint64_t sequences;
};

/* --- states ---------------------------------------------------------------------------------- */

static void *arena_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    struct search *search = ctx;
    struct kit_guard *guard = &search->state.subject.guard;
    if (new_bytes == 0 || new_bytes <= old_bytes) {
        return new_bytes == 0 ? NULL : ptr;
    }
    guard->allocations++;
    size_t at = (search->state.used + align - 1) / align * align;
    if (new_bytes > ARENA_BYTES || at > ARENA_BYTES - new_bytes) {
        guard->refused++;
        return NULL;
    }
    search->state.used = at + new_bytes;
    memset(search->arena + at, FRESH, new_bytes);
    if (ptr != NULL) {
        memcpy(search->arena + at, ptr, old_bytes);
    }
    return search->arena + at;
}

static void react(struct kit_subject *subject, uint32_t id)
{
    struct search *search = subject->on_fire_ctx;
    struct kit_op reaction = search->state.reactions[id];
    search->state.reactions[id].kind = KIT_OP_INSPECT;
    if (reaction.kind != KIT_OP_INSPECT) {
        reaction = kit_op_taken_out(&reaction);
        kit_do(subject, &reaction);
    }
}

/* Save everything that an operation may change, or restore it. */
static void copy_state(struct search *search, unsigned depth, bool saves)
{
    struct kit_subject *subject = &search->state.subject;
    const struct {
        void *at;
        size_t bytes;
    } parts[] = {
        {&search->state, sizeof search->state},
        {subject->timers, search->timers * sizeof *subject->timers},
        {subject->winners, 2 * LEAVES * sizeof *subject->winners},
        {&subject->witness->log.count, sizeof subject->witness->log.count},
    };
    unsigned char *copy = search->copies + depth * COPY_BYTES;
    size_t used = 0;
    for (size_t i = 0; i < LENGTH(parts); used += parts[i++].bytes) {
        memcpy(saves ? copy + used : parts[i].at, saves ? parts[i].at : copy + used,
               parts[i].bytes);
    }
    copy += MODEL_BYTES;
    memcpy(saves ? copy : search->arena, saves ? search->arena : copy, search->state.used);
}

/* Return a hash of the state, never 0. Of serials, only the order belongs to it. */
static uint64_t state_number(const struct search *search, unsigned left)
{
    const struct kit_subject *subject = &search->state.subject;
    struct {
        uint64_t due, limit, fired_at, ahead, reaction, other, ticks;
    } timers[TIMERS_MOST];
    memset(timers, 0, sizeof timers);
    for (uint32_t i = 0; i < search->timers; i++) {
        const struct kit_timer *timer = &subject->timers[i];
        const struct kit_op *reaction = &search->state.reactions[i];
        bool pending = timer->state == KIT_TIMER_PENDING;
        timers[i].due = pending ? timer->due : 0;
        timers[i].limit = pending ? timer->limit : (uint64_t)timer->state;
        for (uint32_t k = 0; pending && k < search->timers; k++) {
            timers[i].ahead += subject->timers[k].serial < timer->serial;
        }
        timers[i].reaction = (uint64_t)reaction->kind;
        timers[i].other = reaction->other;
        timers[i].ticks = (uint64_t)reaction->ticks;
    }
    uint64_t seed = subject->clock * DEPTH_MOST + left;
    seed = XXH3_64bits_withSeed(timers, sizeof timers, seed);
    return XXH3_64bits_withSeed(search->arena, search->state.used, seed) | 1;
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

static void add_operation(struct search *search, enum kit_op_kind kind, size_t id, size_t other,
                          uint64_t ticks, uint64_t budget)
{
    struct kit_op *op = &search->operations[search->operation_count++];
    *op = kit_op_of(kind, (uint32_t)id);
    op->other = (uint32_t)other;
    op->ticks = (int64_t)ticks;
    op->budget = budget;
}

/* Return the first two boundaries of the structure: its first numeric options and their product. */
static void find_boundaries(const struct kit_run *run, uint64_t *slot, uint64_t *edge)
{
    *slot = 0;
    *edge = 0;
    for (size_t i = 0; i < tl_option_count(run->algo); i++) {
        uint64_t value = tl_option_number(&run->algo->options[i], run->options);
        if (value > 1 && value <= 70000 && *slot == 0) {
            *slot = value;
        } else if (value > 1 && value <= 70000 && *edge == 0) {
            *edge = *slot * value;
        }
    }
    *slot = *slot > 0 ? *slot : 64;
    *edge = *edge > *slot ? *edge : *slot * *slot;
}

/* Choose delays and steps around two boundaries, for three timers or, fewer of them, for two. */
static void choose_operations(struct search *search, const struct kit_run *run, bool wide)
{
    uint64_t slot;
    uint64_t edge;
    find_boundaries(run, &slot, &edge);
    const uint64_t delays[] = {0,        1,        slot,     edge,        slot - 1,
                               slot + 1, edge - 1, edge + 1, 7 * edge + 3};
    const uint64_t steps[] = {1, 0, slot, slot - 1, edge, 8 * edge};
    size_t starts = wide ? LENGTH(delays) : 4;
    size_t reactions = wide ? 4 : 3; /* of the delays */
    size_t advances = wide ? LENGTH(steps) : 3;
    size_t budgets = (run->algo->capabilities & TL_CAP_BUDGET) != 0 ? 2 : 1;
    search->timers = wide ? 3 : 2;
    search->operation_count = 0;
    for (size_t i = 0; i < search->timers * starts; i++) {
        add_operation(search, KIT_OP_START, i / starts, 0, delays[i % starts], 0);
    }
    for (size_t id = 0; id < search->timers; id++) {
        add_operation(search, KIT_OP_STOP, id, 0, 0, 0);
    }
    for (size_t i = 0; i < budgets * advances; i++) {
        add_operation(search, KIT_OP_ADVANCE, 0, 0, steps[i % advances],
                      i < advances ? TL_NO_BUDGET : 1);
    }
    for (size_t i = 0; i < search->timers * search->timers; i++) {
        size_t id = i / search->timers;
        size_t other = i % search->timers;
        if (id != other) {
            add_operation(search, KIT_OP_WHEN_STOP, id, other, 0, 0);
        }
        for (size_t k = 0; k < reactions; k++) {
            add_operation(search, KIT_OP_WHEN_START, id, other, delays[k], 0);
        }
    }
}

/* Execute an operation; false if it would be senseless, or the same as another one. */
static bool do_operation(struct search *search, const struct kit_op *op)
{
    struct state *state = &search->state;
    if (op->kind == KIT_OP_WHEN_START || op->kind == KIT_OP_WHEN_STOP) {
        bool acts = state->subject.timers[op->id].state == KIT_TIMER_PENDING &&
                    state->reactions[op->id].kind == KIT_OP_INSPECT;
        state->reactions[op->id] = acts ? *op : state->reactions[op->id];
        return acts;
    }
    if (op->kind == KIT_OP_START && op->id >= state->named) {
        if (op->id > state->named) {
            return false;
        }
        state->named += state->named + 1 < search->timers;
    }
    kit_do(&state->subject, op);
    return true;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Try all sequences of `left` more operations. */
static void go_on(struct search *search, unsigned left)
{
    copy_state(search, left, true);
    if (left == 0) {
        search->sequences++;
        subject_drain(&search->state.subject);
        copy_state(search, left, false);
        (void)script_goes_on(&search->time, 4 * search->sequences + 3);
        return;
    }
    for (size_t k = 0; k < search->operation_count && !search->time.is_over; k++) {
        if (do_operation(search, &search->operations[k])) {
            if (is_new(search, left - 1)) {
                go_on(search, left - 1);
            }
            copy_state(search, left, false);
        }
    }
}

/* Whether all memory of the structure is in the arena, so that it can be restored. */
static bool is_all_in_arena(struct search *search, uint64_t heap_before)
{
    struct kit_subject *subject = &search->state.subject;
    enum { MODEL_SLACK = 1024 };
    bool all = kit_heap_bytes() <= heap_before + subject_model_bytes(subject) + MODEL_SLACK;
    copy_state(search, 0, true);
    uint64_t before = kit_heap_bytes();
    for (uint32_t id = 0; id < search->timers; id++) {
        script_start(subject, id, 1 + id);
    }
    all = all && kit_heap_bytes() == before;
    script_advance(subject, subject->clock + 2);
    script_stop(subject, search->timers - 1);
    all = all && kit_heap_bytes() == before;
    if (all) {
        copy_state(search, 0, false);
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
    struct kit_subject *subject = &search->state.subject;
    uint64_t heap_before = kit_heap_bytes();
    search->state.used = 0;
    search->state.named = 0;
    for (uint32_t i = 0; i < TIMERS_MOST; i++) {
        search->state.reactions[i] = kit_op_of(KIT_OP_INSPECT, i);
    }
    subject_init(subject, run->algo, run->options, ARENA_BYTES, run->witness);
    search->allocator = (struct tl_allocator){search, arena_resize};
    subject->allocator = &search->allocator;
    subject->on_fire = react;
    subject->on_fire_ctx = search;
    if (!subject_create(subject, TIMERS_MOST, now, 0)) {
        return false;
    }
    /* The state of a durable structure is partly in its files. */
    if (subject_can(subject, TL_CAP_DURABLE) || !is_all_in_arena(search, heap_before)) {
        subject_destroy(subject);
        return false;
    }
    return true;
}

/* Search under one set of options; return the length of the sequences, 0: none. */
static unsigned explore(struct search *search, struct kit_run *run, bool wide, double share)
{
    choose_operations(search, run, wide);
    if (!open_search(search, run, wide ? 0 : 13)) {
        return 0;
    }
    search->time = script_time(run, share);
    unsigned depth = deepen(search);
    subject_inspect(&search->state.subject);
    subject_destroy(&search->state.subject);
    return depth;
}

void case_small(struct kit_run *run)
{
    struct search *search = memory_new(1, sizeof *search);
    search->arena = memory_made(aligned_alloc(ARENA_BYTES, ARENA_BYTES));
    search->copies = memory_new(DEPTH_MOST + 1, COPY_BYTES);
    search->known = memory_new(KNOWN, sizeof *search->known);
    if (!script_is_default(run)) {
        (void)explore(search, run, run->options[0] % 2 == 0, 0.02);
    } else {
        unsigned wide = explore(search, run, true, 0.3);
        unsigned narrow = explore(search, run, false, 0.3);
        if (wide == 0 && narrow == 0) {
            kit_note(run->witness,
                     "by default its memory is too large to copy at every step, or not from "
                     "the allocator");
        } else {
            kit_note(run->witness,
                     "right for all sequences of %u operations on 3 timers, of %u on 2", wide,
                     narrow);
        }
    }
    run->witness->coverage.states += search->states;
    free(search->known);
    free(search->copies);
    free(search->arena);
    free(search);
}
