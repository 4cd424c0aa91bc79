#include "closed_loop.h"

#include "due.h"
#include "memory.h"

#include <stdlib.h>

/* Events and nodes are numbered from 1; 0 is none. */
#define NO_EVENT 0u
#define NO_NODE  0u

/* A replay of 10 million timers has 10 million of these. */
struct timer {
    uint64_t last : 63; /* the last operation on it that was carried out */
    uint64_t pending : 1;
    uint64_t due;       /* by its last start */
    uint32_t last_node; /* of the reactions to its expiry: a ring in the order of the stream */
} __attribute__((packed, aligned(4)));

/* A reaction that is set aside. */
struct node {
    const struct stream_reaction *reaction;
    uint32_t next;
};

/* A postponed reaction. */
struct held {
    const struct stream_reaction *reaction;
    uint64_t nominal; /* the due tick of its cause when that fired */
};

struct closed_loop {
    struct closed_loop_plan plan;
    uint32_t ids;
    struct timer *timers;
    uint64_t *nominal; /* by id: the due tick that a fixed rate counts from, if the loop has
                          postponed the real one; otherwise 0; NULL: all 0 */
    struct node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    uint32_t free_node;
    struct held *held;
    size_t held_count;
    size_t held_capacity;
    size_t next; /* the stream's first reaction that is not set aside */
};

/* --- memory ---------------------------------------------------------------------------------- */

static uint32_t take_node(struct closed_loop *loop)
{
    uint32_t at = loop->free_node;
    if (at != NO_NODE) {
        loop->free_node = loop->nodes[at].next;
        return at;
    }
    at = ++loop->node_count;
    MEMORY_REACH(loop->nodes, loop->node_capacity, at);
    return at;
}

static void give_node(struct closed_loop *loop, uint32_t at)
{
    loop->nodes[at].next = loop->free_node;
    loop->free_node = at;
}

static void hold_back(struct closed_loop *loop, const struct stream_reaction *reaction,
                      uint64_t nominal)
{
    MEMORY_REACH(loop->held, loop->held_capacity, loop->held_count);
    loop->held[loop->held_count++] = (struct held){.reaction = reaction, .nominal = nominal};
}

/* --- a timer's reactions --------------------------------------------------------------------- */

static void append(struct closed_loop *loop, struct timer *cause, uint32_t at)
{
    uint32_t last = cause->last_node != NO_NODE ? cause->last_node : at;
    uint32_t first = loop->nodes[last].next;
    loop->nodes[last].next = at;
    loop->nodes[at].next = last != at ? first : at;
    cause->last_node = at;
}

static uint32_t unlink_first(struct closed_loop *loop, struct timer *cause)
{
    uint32_t at = loop->nodes[cause->last_node].next;
    loop->nodes[cause->last_node].next = loop->nodes[at].next;
    cause->last_node = at != cause->last_node ? cause->last_node : NO_NODE;
    return at;
}

/* Return the arming of the first reaction; UINT64_MAX: there is none. */
static uint64_t first_arming(const struct closed_loop *loop, const struct timer *cause)
{
    return cause->last_node != NO_NODE
               ? loop->nodes[loop->nodes[cause->last_node].next].reaction->arming
               : UINT64_MAX;
}

/* --- carrying out ---------------------------------------------------------------------------- */

/* Record a start; `nominal` is its due tick, or, for a fixed rate, its deadline. */
static void note_due(struct closed_loop *loop, uint32_t id, uint64_t due, uint64_t nominal)
{
    loop->timers[id].due = due;
    if (loop->nominal == NULL && nominal != due) {
        loop->nominal = memory_table(loop->ids, sizeof *loop->nominal);
    }
    if (loop->nominal != NULL) {
        uint64_t kept = nominal != due ? nominal : 0;
        /* Reading an untouched page takes no memory. */
        if (loop->nominal[id] != kept) {
            loop->nominal[id] = kept;
        }
    }
}

static uint64_t nominal_of(const struct closed_loop *loop, uint32_t id)
{
    bool postponed = loop->nominal != NULL && loop->nominal[id] != 0;
    return postponed ? loop->nominal[id] : loop->timers[id].due;
}

/* Record an operation that is carried out, and drop the reactions to earlier armings of its timer.
 * The ring is in the order of the stream, and so are the armings. The reactions to a start that was
 * dropped stay until then: that arming never fires. */
static void note_done(struct closed_loop *loop, uint32_t id, uint64_t event, bool start)
{
    struct timer *timer = &loop->timers[id];
    timer->last = event & INT64_MAX;
    timer->pending = start;
    while (first_arming(loop, timer) < event) {
        give_node(loop, unlink_first(loop, timer));
    }
}

/* `nominal`: the due tick of its cause when that fired. */
static void carry_out(struct closed_loop *loop, const struct stream_reaction *reaction,
                      uint64_t nominal, uint64_t now, bool inside)
{
    if (reaction->event < loop->timers[reaction->id].last) {
        return; /* superseded */
    }
    uint64_t from = reaction->basis == TRACE_FIXED_RATE ? nominal
                    : reaction->basis == TRACE_ABSOLUTE ? reaction->tick
                                                        : now;
    struct stream_operation operation = stream_reaction_at(reaction, from);
    operation.tick = now;
    operation.inside = inside;
    note_done(loop, reaction->id, reaction->event, reaction->op == TRACE_START);
    if (reaction->op == TRACE_START) {
        uint64_t due = due_in_replay(now, operation.deadline);
        note_due(loop, reaction->id, due,
                 reaction->basis == TRACE_FIXED_RATE ? operation.deadline : due);
    }
    loop->plan.carry(loop->plan.ctx, &operation);
}

/* Return whether neither another reaction nor an expiry touches the timer at tick `now`. */
static bool is_alone(const struct closed_loop *loop, const struct stream_reaction *reaction,
                     uint64_t now)
{
    return loop->plan.exact && loop->timers[reaction->id].due != now && !reaction->contended;
}

void closed_loop_fired(struct closed_loop *loop, uint32_t id, uint64_t now)
{
    struct timer *cause = &loop->timers[id];
    if (!cause->pending) {
        return; /* a fault of the structure */
    }
    cause->pending = false;
    /* Carrying them out changes the due tick and the list. */
    const uint64_t nominal = nominal_of(loop, id);
    struct timer fired = {.last_node = NO_NODE};
    while (first_arming(loop, cause) == cause->last) {
        append(loop, &fired, unlink_first(loop, cause));
    }
    while (fired.last_node != NO_NODE) {
        uint32_t at = unlink_first(loop, &fired);
        const struct stream_reaction *reaction = loop->nodes[at].reaction;
        give_node(loop, at);
        if (reaction->id == id || is_alone(loop, reaction, now)) {
            carry_out(loop, reaction, nominal, now, true);
        } else {
            hold_back(loop, reaction, nominal);
        }
    }
}

/* In the order of the stream. */
static int by_place(const void *a, const void *b)
{
    const struct held *left = a;
    const struct held *right = b;
    return (left->reaction > right->reaction) - (left->reaction < right->reaction);
}

void closed_loop_advanced(struct closed_loop *loop, uint64_t now)
{
    if (loop->held_count > 1) {
        qsort(loop->held, loop->held_count, sizeof *loop->held, by_place);
    }
    for (size_t i = 0; i < loop->held_count; i++) {
        carry_out(loop, loop->held[i].reaction, loop->held[i].nominal, now, false);
    }
    loop->held_count = 0;
}

bool closed_loop_external(struct closed_loop *loop, const struct stream_operation *operation)
{
    uint64_t event = operation->event + 1;
    if (event < loop->timers[operation->id].last) {
        return false;
    }
    note_done(loop, operation->id, event, operation->op == TRACE_START);
    if (operation->op == TRACE_START) {
        uint64_t due = due_in_replay(operation->tick, operation->deadline);
        note_due(loop, operation->id, due, due);
    }
    return true;
}

/* --- putting aside --------------------------------------------------------------------------- */

static void put_aside(struct closed_loop *loop, const struct stream_reaction *reaction)
{
    struct timer *cause = &loop->timers[reaction->cause];
    if (reaction->arming == NO_EVENT || reaction->arming < cause->last) {
        return; /* it comes too late */
    }
    if (closed_loop_waits(loop, reaction)) { /* its cause has fired already */
        hold_back(loop, reaction, nominal_of(loop, reaction->cause));
        return;
    }
    uint32_t at = take_node(loop);
    loop->nodes[at] = (struct node){.reaction = reaction};
    append(loop, cause, at);
}

void closed_loop_advancing(struct closed_loop *loop, uint64_t now)
{
    const struct stream *stream = loop->plan.stream;
    while (loop->next < stream->reaction_count && stream->reactions[loop->next].tick <= now) {
        put_aside(loop, &stream->reactions[loop->next++]);
    }
}

/* --- beginning and end ----------------------------------------------------------------------- */

struct closed_loop *closed_loop_open(const struct closed_loop_plan *plan)
{
    struct closed_loop *loop = memory_new(1, sizeof *loop);
    loop->plan = *plan;
    loop->ids = plan->stream->header.ids;
    loop->timers = memory_table(loop->ids, sizeof *loop->timers);
    return loop;
}

bool closed_loop_waits(const struct closed_loop *loop, const struct stream_reaction *reaction)
{
    const struct timer *cause = &loop->timers[reaction->cause];
    return reaction->arming == cause->last && !cause->pending;
}

void closed_loop_fetch(const struct closed_loop *loop, uint32_t id)
{
    __builtin_prefetch(&loop->timers[id], 1);
}

void closed_loop_close(struct closed_loop *loop)
{
    if (loop != NULL) {
        memory_table_free(loop->timers, loop->ids, sizeof *loop->timers);
        memory_table_free(loop->nominal, loop->ids, sizeof *loop->nominal);
        free(loop->nodes);
        free(loop->held);
        free(loop);
    }
}
