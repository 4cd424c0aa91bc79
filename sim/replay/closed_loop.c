#include "closed_loop.h"

#include "due.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* Events are numbered from 1 here: 0 is none. */
#define NO_EVENT 0u
#define NO_NODE  UINT32_MAX

/* Touched by two causes at one tick. */
#define MANY     UINT32_MAX

struct timer {
    uint64_t stream_start;  /* the stream's last start of it; NO_EVENT too if that was dropped */
    uint64_t stream_tick;   /* when that was */
    uint64_t stream_former; /* the last one before that tick, likewise */
    uint64_t last;          /* the latest operation on it that was carried out */
    uint64_t due;           /* as it was last started */
    uint64_t nominal;       /* what a fixed rate counts from: due, but for the delays of the loop */
    uint64_t touched_tick;  /* when reactions to others last touched it */
    uint32_t touched_by;    /* then: the cause, or MANY */
    uint32_t first_node;    /* reactions to its firing, in the order of the stream */
    uint32_t last_node;
    bool pending;
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
    struct trace_cause cause;
};

/* A node that is held back, and its place in the stream. */
struct held {
    uint64_t event;
    uint32_t node;
};

struct closed_loop {
    struct closed_loop_plan plan;
    struct timer *timers;
    struct node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    uint32_t free_node;
    struct held *held;
    size_t held_count;
    size_t held_capacity;
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
    MEMORY_REACH(loop->nodes, loop->node_capacity, loop->node_count);
    return loop->node_count++;
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

/* --- dropping -------------------------------------------------------------------------------- */

/* Takes the first reaction that waits for a timer out of its list. */
static uint32_t unlink_first(struct closed_loop *loop, struct timer *cause)
{
    uint32_t at = cause->first_node;
    cause->first_node = loop->nodes[at].next;
    if (cause->first_node == NO_NODE) {
        cause->last_node = NO_NODE;
    }
    return at;
}

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
        if (timer->stream_start == node.event) {
            timer->stream_start = NO_EVENT;
        } else if (timer->stream_former == node.event) {
            timer->stream_former = NO_EVENT;
        }
        /* Those before belong to starts that still may be. */
        uint32_t *link = &timer->first_node;
        uint32_t before = NO_NODE;
        while (*link != NO_NODE && loop->nodes[*link].arming < node.event) {
            before = *link;
            link = &loop->nodes[*link].next;
        }
        while (*link != NO_NODE && loop->nodes[*link].arming == node.event) {
            uint32_t waiting = *link;
            *link = loop->nodes[waiting].next;
            loop->nodes[waiting].next = dropped;
            dropped = waiting;
        }
        if (*link == NO_NODE) {
            timer->last_node = before;
        }
    }
}

static void drop(struct closed_loop *loop, uint32_t at)
{
    loop->nodes[at].next = NO_NODE;
    drop_chain(loop, at);
}

/* --- carrying out ---------------------------------------------------------------------------- */

/* Notes an operation that is done to a timer now. */
static void note_done(struct closed_loop *loop, uint32_t id, uint64_t event, bool start,
                      uint64_t due, uint64_t nominal)
{
    struct timer *timer = &loop->timers[id];
    uint32_t dropped = NO_NODE;
    timer->last = event;
    timer->pending = start;
    if (start) {
        timer->due = due;
        timer->nominal = nominal;
    }
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
    bool start = node.op == TRACE_START;
    uint64_t nominal = 0;
    if (start) {
        uint64_t from = node.cause.basis == TRACE_FIXED_DELAY  ? now
                        : node.cause.basis == TRACE_FIXED_RATE ? node.nominal
                                                               : node.tick;
        operation.deadline = due_deadline(from, node.delay_ticks);
        nominal = node.cause.basis == TRACE_FIXED_RATE ? operation.deadline
                                                       : due_in_replay(now, operation.deadline);
    }
    note_done(loop, node.id, node.event, start, due_in_replay(now, operation.deadline), nominal);
    loop->reactions++;
    loop->plan.carry(loop->plan.ctx, &operation, now);
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
        loop->nodes[last].nominal = cause->nominal;
    }
    if (last == NO_NODE) {
        return;
    }
    loop->nodes[last].next = NO_NODE;
    for (uint32_t at = first; at != NO_NODE;) {
        const struct node *node = &loop->nodes[at];
        const struct timer *target = &loop->timers[node->id];
        uint32_t next = node->next;
        bool alone = loop->plan.exact && target->due != now &&
                     (target->touched_tick != now || target->touched_by != MANY);
        if (node->id == id || alone) {
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
    uint64_t due = due_in_replay(now, record->deadline);
    note_done(loop, record->id, event, record->op == TRACE_START, due, due);
    return true;
}

/* --- putting aside --------------------------------------------------------------------------- */

static void touch(struct timer *timer, uint64_t tick, uint32_t cause)
{
    if (timer->touched_tick != tick) {
        timer->touched_tick = tick;
        timer->touched_by = cause;
    } else if (timer->touched_by != cause) {
        timer->touched_by = MANY;
    }
}

/* Notes that the stream starts a timer. */
static void note_start(struct timer *timer, uint64_t tick, uint64_t event)
{
    if (timer->stream_tick != tick) {
        timer->stream_former = timer->stream_start;
        timer->stream_tick = tick;
    }
    timer->stream_start = event;
}

static void put_aside(struct closed_loop *loop, uint64_t tick, uint64_t event,
                      const struct trace_record *record, const struct trace_cause *cause)
{
    struct timer *causing = &loop->timers[cause->id];
    struct timer *target = &loop->timers[record->id];
    /* What is started at this tick fires at the next at the earliest. */
    uint64_t arming = causing->stream_tick == tick ? causing->stream_former : causing->stream_start;
    bool start = record->op == TRACE_START;
    if (start) {
        note_start(target, tick, event);
    }
    touch(target, tick, cause->id);
    uint32_t at = take_node(loop);
    loop->nodes[at] = (struct node){.event = event,
                                    .arming = arming,
                                    .tick = tick,
                                    .delay_ticks = start ? record->deadline - tick : 0,
                                    .nominal = causing->nominal,
                                    .id = record->id,
                                    .op = record->op,
                                    .next = NO_NODE,
                                    .cause = *cause};
    if (arming == NO_EVENT || arming < causing->last) {
        drop(loop, at);
    } else if (arming == causing->last && !causing->pending) {
        hold_back(loop, at); /* it has fired already */
    } else if (causing->last_node == NO_NODE) {
        causing->first_node = at;
        causing->last_node = at;
    } else {
        loop->nodes[causing->last_node].next = at;
        causing->last_node = at;
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
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            const struct trace_record *record = &loop->block.records[i];
            uint64_t event = loop->block.first_event + i + 1;
            if (loop->block.causes != NULL && loop->block.causes[i].basis != TRACE_EXTERNAL) {
                put_aside(loop, group->tick, event, record, &loop->block.causes[i]);
            } else if (record->op == TRACE_START) {
                note_start(&loop->timers[record->id], group->tick, event);
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
    loop->free_node = NO_NODE;
    loop->reader = trace_reader_open(plan->trace_path, error);
    if (loop->reader == NULL) {
        closed_loop_close(loop);
        return NULL;
    }
    uint32_t ids = trace_reader_header(loop->reader)->ids;
    loop->timers = memory_new(ids > 0 ? ids : 1, sizeof *loop->timers);
    for (uint32_t id = 0; id < ids; id++) {
        loop->timers[id] = (struct timer){.stream_tick = UINT64_MAX,
                                          .touched_tick = UINT64_MAX,
                                          .first_node = NO_NODE,
                                          .last_node = NO_NODE};
    }
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
        free(loop->nodes);
        free(loop->held);
        free(loop);
    }
}
