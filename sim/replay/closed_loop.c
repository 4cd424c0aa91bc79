#include "closed_loop.h"

#include "due.h"
#include "memory.h"

#include <stdlib.h>

/* Events, and nodes, are numbered from 1 here: 0 is none. */
#define NO_EVENT 0u
#define NO_NODE  0u

/* There are many of these: a replay of 10 million timers has 10 million. */
struct timer {
    uint64_t last : 63; /* the latest operation on it that was carried out */
    uint64_t pending : 1;
    uint64_t due;        /* as it was last started */
    uint32_t first_node; /* reactions to its expiry, in the order of the stream */
} __attribute__((packed, aligned(4)));

/* A reaction that has been put aside. */
struct node {
    const struct stream_reaction *reaction;
    uint64_t nominal; /* of its cause, once that has fired */
    uint32_t next;
    uint32_t last; /* of the first node of a timer: the last one */
};

/* A node that is held back, and its place in the stream. */
struct held {
    uint64_t event;
    uint32_t node;
};

struct closed_loop {
    struct closed_loop_plan plan;
    uint32_t ids;
    struct timer *timers;
    uint64_t *nominal; /* of each timer the due tick that a fixed rate counts from, where delays of
                          the loop have postponed the real one; 0: they have not; NULL: of none */
    uint8_t *dropped;  /* a bit for each event: a reaction that will not be; NULL: of none */
    struct node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    uint32_t free_node;
    struct held *held;
    size_t held_count;
    size_t held_capacity;
    size_t next; /* the stream's first reaction that has not been put aside */
    uint64_t reactions;
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

static void hold_back(struct closed_loop *loop, uint32_t at)
{
    MEMORY_REACH(loop->held, loop->held_capacity, loop->held_count);
    loop->held[loop->held_count++] =
        (struct held){.event = loop->nodes[at].reaction->event, .node = at};
}

/* --- a timer's reactions --------------------------------------------------------------------- */

static void append(struct closed_loop *loop, struct timer *cause, uint32_t at)
{
    uint32_t first = cause->first_node;
    if (first == NO_NODE) {
        cause->first_node = at;
    } else {
        loop->nodes[loop->nodes[first].last].next = at;
    }
    loop->nodes[cause->first_node].last = at;
}

/* Takes the first one out of the list. */
static uint32_t unlink_first(struct closed_loop *loop, struct timer *cause)
{
    uint32_t at = cause->first_node;
    cause->first_node = loop->nodes[at].next;
    if (cause->first_node != NO_NODE) {
        loop->nodes[cause->first_node].last = loop->nodes[at].last;
    }
    return at;
}

/* --- dropping -------------------------------------------------------------------------------- */

/* Takes the reactions that belong to starts before `arming` from their cause's list to `dropped`:
 * the list is in the order of the stream, and so are their armings. */
static void collect_before(struct closed_loop *loop, struct timer *cause, uint64_t arming,
                           uint32_t *dropped)
{
    while (cause->first_node != NO_NODE &&
           loop->nodes[cause->first_node].reaction->arming < arming) {
        uint32_t at = unlink_first(loop, cause);
        loop->nodes[at].next = *dropped;
        *dropped = at;
    }
}

/* What belongs to a start that was dropped comes to nothing, too, when its turn comes. */
static void forget_start(struct closed_loop *loop, uint64_t event)
{
    if (loop->dropped == NULL) {
        loop->dropped = memory_new(loop->plan.stream->header.events / 8 + 1, 1);
    }
    loop->dropped[event / 8] |= (uint8_t)(1U << event % 8);
}

static bool is_forgotten(const struct closed_loop *loop, uint64_t event)
{
    return loop->dropped != NULL && ((unsigned)loop->dropped[event / 8] >> event % 8 & 1U) != 0;
}

/* Drops a chain of reactions, and with each start the reactions to the firing that will not be. */
static void drop_chain(struct closed_loop *loop, uint32_t dropped)
{
    while (dropped != NO_NODE) {
        uint32_t at = dropped;
        const struct stream_reaction *reaction = loop->nodes[at].reaction;
        dropped = loop->nodes[at].next;
        give_node(loop, at);
        if (reaction->op != TRACE_START) {
            continue;
        }
        struct timer *timer = &loop->timers[reaction->id];
        forget_start(loop, reaction->event);
        /* Those before belong to starts that still may be. */
        uint32_t first = timer->first_node;
        uint32_t last = first != NO_NODE ? loop->nodes[first].last : NO_NODE;
        uint32_t before = NO_NODE;
        uint32_t at_event = first;
        while (at_event != NO_NODE && loop->nodes[at_event].reaction->arming < reaction->event) {
            before = at_event;
            at_event = loop->nodes[at_event].next;
        }
        while (at_event != NO_NODE && loop->nodes[at_event].reaction->arming == reaction->event) {
            uint32_t waiting = at_event;
            at_event = loop->nodes[waiting].next;
            loop->nodes[waiting].next = dropped;
            dropped = waiting;
        }
        if (before != NO_NODE) {
            loop->nodes[before].next = at_event;
        } else {
            timer->first_node = at_event;
        }
        if (timer->first_node != NO_NODE) {
            loop->nodes[timer->first_node].last = at_event != NO_NODE ? last : before;
        }
    }
}

static void drop(struct closed_loop *loop, uint32_t at)
{
    loop->nodes[at].next = NO_NODE;
    drop_chain(loop, at);
}

/* --- carrying out ---------------------------------------------------------------------------- */

/* Notes a start; `nominal` is its due tick, or, of a fixed rate, its deadline. */
static void note_due(struct closed_loop *loop, uint32_t id, uint64_t due, uint64_t nominal)
{
    loop->timers[id].due = due;
    if (loop->nominal == NULL && nominal != due) {
        loop->nominal = memory_table(loop->ids, sizeof *loop->nominal);
    }
    if (loop->nominal != NULL) {
        uint64_t kept = nominal != due ? nominal : 0;
        /* Reading a page that was never written to takes no memory. */
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

/* Notes an operation that is done to a timer now. */
static void note_done(struct closed_loop *loop, uint32_t id, uint64_t event, bool start)
{
    struct timer *timer = &loop->timers[id];
    uint32_t dropped = NO_NODE;
    timer->last = event & INT64_MAX;
    timer->pending = start;
    collect_before(loop, timer, event, &dropped);
    drop_chain(loop, dropped);
}

static void carry_out(struct closed_loop *loop, uint32_t at, uint64_t now, bool inside)
{
    const struct stream_reaction *reaction = loop->nodes[at].reaction;
    uint64_t nominal = loop->nodes[at].nominal;
    if (reaction->event < loop->timers[reaction->id].last) {
        drop(loop, at);
        return;
    }
    give_node(loop, at);
    struct loop_operation operation = {.event = reaction->event - 1,
                                       .id = reaction->id,
                                       .op = (enum trace_op)reaction->op,
                                       .cause = reaction->cause,
                                       .inside = inside};
    note_done(loop, reaction->id, reaction->event, reaction->op == TRACE_START);
    if (reaction->op == TRACE_START) {
        uint64_t from = reaction->basis == TRACE_FIXED_DELAY  ? now
                        : reaction->basis == TRACE_FIXED_RATE ? nominal
                                                              : reaction->tick;
        operation.deadline = due_deadline(from, reaction->delay_ticks);
        uint64_t due = due_in_replay(now, operation.deadline);
        note_due(loop, reaction->id, due,
                 reaction->basis == TRACE_FIXED_RATE ? operation.deadline : due);
    }
    loop->reactions++;
    loop->plan.carry(loop->plan.ctx, &operation, now);
}

/* Whether a reaction at tick `now` meets neither another one, nor the expiry of its timer. */
static bool is_alone(const struct closed_loop *loop, const struct stream_reaction *reaction,
                     uint64_t now)
{
    return loop->plan.exact && loop->timers[reaction->id].due != now && !reaction->contended;
}

void closed_loop_fired(struct closed_loop *loop, uint32_t id, uint64_t now)
{
    struct timer *cause = &loop->timers[id];
    if (!cause->pending) {
        return; /* the structure is wrong */
    }
    cause->pending = false;
    /* First taken out, for what they do to the list. */
    uint32_t first = cause->first_node;
    uint32_t last = NO_NODE;
    while (cause->first_node != NO_NODE &&
           loop->nodes[cause->first_node].reaction->arming == cause->last) {
        last = unlink_first(loop, cause);
        loop->nodes[last].nominal = nominal_of(loop, id);
    }
    if (last == NO_NODE) {
        return;
    }
    loop->nodes[last].next = NO_NODE;
    for (uint32_t at = first; at != NO_NODE;) {
        const struct stream_reaction *reaction = loop->nodes[at].reaction;
        uint32_t next = loop->nodes[at].next;
        if (reaction->id == id || is_alone(loop, reaction, now)) {
            carry_out(loop, at, now, true);
        } else {
            hold_back(loop, at);
        }
        at = next;
    }
}

static int by_event(const void *a, const void *b)
{
    const struct held *left = a;
    const struct held *right = b;
    return (left->event > right->event) - (left->event < right->event);
}

void closed_loop_advanced(struct closed_loop *loop, uint64_t now)
{
    if (loop->held_count == 0) {
        return;
    }
    qsort(loop->held, loop->held_count, sizeof *loop->held, by_event);
    for (size_t i = 0; i < loop->held_count; i++) {
        carry_out(loop, loop->held[i].node, now, false);
    }
    loop->held_count = 0;
}

bool closed_loop_external(struct closed_loop *loop, uint64_t event, uint64_t now,
                          const struct trace_record *record)
{
    event++;
    if (event < loop->timers[record->id].last) {
        return false;
    }
    note_done(loop, record->id, event, record->op == TRACE_START);
    if (record->op == TRACE_START) {
        uint64_t due = due_in_replay(now, record->deadline);
        note_due(loop, record->id, due, due);
    }
    return true;
}

/* --- putting aside --------------------------------------------------------------------------- */

static void put_aside(struct closed_loop *loop, const struct stream_reaction *reaction)
{
    struct timer *cause = &loop->timers[reaction->cause];
    uint32_t at = take_node(loop);
    loop->nodes[at] = (struct node){
        .reaction = reaction, .nominal = nominal_of(loop, reaction->cause), .next = NO_NODE};
    if (reaction->arming == NO_EVENT || reaction->arming < cause->last ||
        is_forgotten(loop, reaction->arming)) {
        drop(loop, at);
    } else if (closed_loop_waits(loop, reaction)) {
        hold_back(loop, at); /* it has fired already */
    } else {
        append(loop, cause, at);
    }
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

uint64_t closed_loop_reactions(const struct closed_loop *loop)
{
    return loop->reactions;
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
        free(loop->dropped);
        free(loop->nodes);
        free(loop->held);
        free(loop);
    }
}
