#include "closed_loop.h"

#include "due.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* Events, and nodes, are numbered from 1 here: 0 is none. */
#define NO_EVENT   0u
#define NO_NODE    0u
#define EVENT_BITS 63
#define EVENT_MASK ((UINT64_C(1) << EVENT_BITS) - 1)

/* Of the reactions that touch a timer at one tick: there are none yet, or they have two causes. */
#define NOTHING    UINT64_MAX
#define MANY       (UINT64_MAX - 1)

/* There are many of these: a replay of 10 million timers has 10 million. Values that last a tick,
 * or that only some replays need, are stored elsewhere. */
struct timer {
    uint64_t stream : EVENT_BITS; /* the stream's last start of it; NO_EVENT too if that was
                                     dropped; with is_touched the place of its `touched` */
    uint64_t is_touched : 1;
    uint64_t last : EVENT_BITS; /* the latest operation on it that was carried out */
    uint64_t pending : 1;
    uint64_t due;        /* as it was last started */
    uint32_t first_node; /* reactions to its expiry, in the order of the stream */
} __attribute__((packed, aligned(4)));

/* A timer that the stream starts, or that reactions touch, at the stream's tick. */
struct touched {
    uint64_t start;  /* the stream's last start of it, as in `timer` */
    uint64_t former; /* the last one before this tick, likewise */
    uint64_t by;     /* the cause of the reactions that touch it, MANY or NOTHING */
    uint32_t id;
};

/* A reaction that has been put aside. */
struct node {
    uint64_t event;
    uint64_t arming; /* the start of its cause that it belongs to */
    uint64_t tick;   /* in the stream */
    uint64_t delay_ticks;
    uint64_t nominal; /* of its cause, once that has fired */
    uint32_t id;
    uint32_t op;
    uint32_t next;
    uint32_t last; /* of the first node of a timer: the last one */
    struct trace_cause cause;
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
    struct node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    uint32_t free_node;
    struct held *held;
    size_t held_count;
    size_t held_capacity;
    struct touched *touched; /* at stream_tick */
    size_t touched_count;
    size_t touched_capacity;
    uint64_t stream_tick;
    uint64_t reactions;

    /* The stream, up to the first operation that has not been put aside. */
    struct trace_reader *reader;
    struct trace_block block;
    size_t group;
    bool at_end;
    bool failed;
    struct error error;
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
    loop->held[loop->held_count++] = (struct held){.event = loop->nodes[at].event, .node = at};
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
    while (cause->first_node != NO_NODE && loop->nodes[cause->first_node].arming < arming) {
        uint32_t at = unlink_first(loop, cause);
        loop->nodes[at].next = *dropped;
        *dropped = at;
    }
}

/* What the stream has of a start is gone: a reaction that was dropped. */
static void forget_start(struct closed_loop *loop, struct timer *timer, uint64_t event)
{
    if (!timer->is_touched) {
        timer->stream = timer->stream == event ? NO_EVENT : timer->stream;
        return;
    }
    struct touched *touched = &loop->touched[timer->stream];
    touched->start = touched->start == event ? NO_EVENT : touched->start;
    touched->former = touched->former == event ? NO_EVENT : touched->former;
}

/* Drops a chain of reactions, and with each start the reactions to the firing that will not be. */
static void drop_chain(struct closed_loop *loop, uint32_t dropped)
{
    while (dropped != NO_NODE) {
        uint32_t at = dropped;
        const struct node node = loop->nodes[at];
        dropped = node.next;
        give_node(loop, at);
        if (node.op != TRACE_START) {
            continue;
        }
        struct timer *timer = &loop->timers[node.id];
        forget_start(loop, timer, node.event);
        /* Those before belong to starts that still may be. */
        uint32_t first = timer->first_node;
        uint32_t last = first != NO_NODE ? loop->nodes[first].last : NO_NODE;
        uint32_t before = NO_NODE;
        uint32_t at_event = first;
        while (at_event != NO_NODE && loop->nodes[at_event].arming < node.event) {
            before = at_event;
            at_event = loop->nodes[at_event].next;
        }
        while (at_event != NO_NODE && loop->nodes[at_event].arming == node.event) {
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
        loop->nominal = memory_new(loop->ids, sizeof *loop->nominal);
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
    timer->last = event & EVENT_MASK;
    timer->pending = start;
    collect_before(loop, timer, event, &dropped);
    drop_chain(loop, dropped);
}

static void carry_out(struct closed_loop *loop, uint32_t at, uint64_t now, bool inside)
{
    const struct node node = loop->nodes[at];
    if (loop->failed || node.event < loop->timers[node.id].last) {
        drop(loop, at);
        return;
    }
    give_node(loop, at);
    struct loop_operation operation = {.event = node.event - 1,
                                       .id = node.id,
                                       .op = (enum trace_op)node.op,
                                       .cause = node.cause.id,
                                       .inside = inside};
    note_done(loop, node.id, node.event, node.op == TRACE_START);
    if (node.op == TRACE_START) {
        uint64_t from = node.cause.basis == TRACE_FIXED_DELAY  ? now
                        : node.cause.basis == TRACE_FIXED_RATE ? node.nominal
                                                               : node.tick;
        operation.deadline = due_deadline(from, node.delay_ticks);
        uint64_t due = due_in_replay(now, operation.deadline);
        note_due(loop, node.id, due,
                 node.cause.basis == TRACE_FIXED_RATE ? operation.deadline : due);
    }
    loop->reactions++;
    loop->plan.carry(loop->plan.ctx, &operation, now);
}

/* Whether a reaction at tick `now` on this timer does not meet another one, or its expiry. */
static bool is_alone(const struct closed_loop *loop, const struct timer *target, uint64_t now)
{
    return loop->plan.exact && target->due != now &&
           (!target->is_touched || loop->stream_tick != now ||
            loop->touched[target->stream].by != MANY);
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
    while (cause->first_node != NO_NODE && loop->nodes[cause->first_node].arming == cause->last) {
        last = unlink_first(loop, cause);
        loop->nodes[last].nominal = nominal_of(loop, id);
    }
    if (last == NO_NODE) {
        return;
    }
    loop->nodes[last].next = NO_NODE;
    for (uint32_t at = first; at != NO_NODE;) {
        const struct node *node = &loop->nodes[at];
        uint32_t next = node->next;
        if (node->id == id || is_alone(loop, &loop->timers[node->id], now)) {
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

/* The stream goes on to another tick. */
static void go_to_tick(struct closed_loop *loop, uint64_t tick)
{
    for (size_t i = 0; i < loop->touched_count; i++) {
        struct timer *timer = &loop->timers[loop->touched[i].id];
        timer->stream = loop->touched[i].start & EVENT_MASK;
        timer->is_touched = false;
    }
    loop->touched_count = 0;
    loop->stream_tick = tick;
}

static struct touched *touch(struct closed_loop *loop, uint32_t id)
{
    struct timer *timer = &loop->timers[id];
    if (!timer->is_touched) {
        MEMORY_REACH(loop->touched, loop->touched_capacity, loop->touched_count);
        loop->touched[loop->touched_count] = (struct touched){
            .start = timer->stream, .former = timer->stream, .by = NOTHING, .id = id};
        timer->stream = loop->touched_count++ & EVENT_MASK;
        timer->is_touched = true;
    }
    return &loop->touched[timer->stream];
}

static void put_aside(struct closed_loop *loop, uint64_t tick, uint64_t event,
                      const struct trace_record *record, const struct trace_cause *cause)
{
    struct timer *causing = &loop->timers[cause->id];
    /* What is started at this tick fires at the next at the earliest. */
    uint64_t arming = causing->is_touched ? loop->touched[causing->stream].former : causing->stream;
    bool start = record->op == TRACE_START;
    struct touched *touched = touch(loop, record->id);
    touched->by = touched->by == NOTHING || touched->by == cause->id ? cause->id : MANY;
    if (start) {
        touched->start = event;
    }
    uint32_t at = take_node(loop);
    loop->nodes[at] = (struct node){.event = event,
                                    .arming = arming,
                                    .tick = tick,
                                    .delay_ticks = start ? record->deadline - tick : 0,
                                    .nominal = nominal_of(loop, cause->id),
                                    .id = record->id,
                                    .op = record->op,
                                    .next = NO_NODE,
                                    .cause = *cause};
    if (arming == NO_EVENT || arming < causing->last) {
        drop(loop, at);
    } else if (arming == causing->last && !causing->pending) {
        hold_back(loop, at); /* it has fired already */
    } else {
        append(loop, causing, at);
    }
}

static void next_block(struct closed_loop *loop)
{
    int got = trace_reader_next(loop->reader, &loop->block, &loop->error);
    loop->at_end = got != 1;
    loop->failed = loop->failed || got < 0;
    loop->group = 0;
}

void closed_loop_advancing(struct closed_loop *loop, uint64_t now)
{
    while (!loop->at_end && !loop->failed && loop->block.groups[loop->group].tick <= now) {
        const struct trace_group *group = &loop->block.groups[loop->group];
        if (group->tick != loop->stream_tick) {
            go_to_tick(loop, group->tick);
        }
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            const struct trace_record *record = &loop->block.records[i];
            uint64_t event = loop->block.first_event + i + 1;
            if (loop->block.causes != NULL && loop->block.causes[i].basis != TRACE_EXTERNAL) {
                put_aside(loop, group->tick, event, record, &loop->block.causes[i]);
            } else if (record->op == TRACE_START) {
                touch(loop, record->id)->start = event;
            }
        }
        if (++loop->group == loop->block.group_count) {
            next_block(loop);
        }
    }
}

/* --- beginning and end ----------------------------------------------------------------------- */

struct closed_loop *closed_loop_open(const struct closed_loop_plan *plan, struct error *error)
{
    struct closed_loop *loop = memory_new(1, sizeof *loop);
    loop->plan = *plan;
    loop->reader = trace_reader_open(plan->trace_path, error);
    if (loop->reader == NULL) {
        closed_loop_close(loop);
        return NULL;
    }
    loop->ids = trace_reader_header(loop->reader)->ids;
    loop->timers = memory_new(loop->ids, sizeof *loop->timers);
    next_block(loop);
    return loop;
}

uint64_t closed_loop_reactions(const struct closed_loop *loop)
{
    return loop->reactions;
}

bool closed_loop_failed(const struct closed_loop *loop, struct error *error)
{
    if (loop->failed) {
        *error = loop->error;
    }
    return loop->failed;
}

void closed_loop_close(struct closed_loop *loop)
{
    if (loop != NULL) {
        trace_reader_close(loop->reader);
        free(loop->timers);
        free(loop->nominal);
        free(loop->nodes);
        free(loop->held);
        free(loop->touched);
        free(loop);
    }
}
