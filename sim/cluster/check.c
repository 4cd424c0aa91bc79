/*
 * States are plain bytes, kept once each in the order in which they are reached, with where they
 * came from: the first state that loses a timer ends a shortest run that does.
 */
#include "check.h"

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of a timer in the table. */
enum record { ABSENT, PENDING, READY, FLIGHT, GONE };

struct check_timer {
    uint8_t record;
    uint8_t stage;  /* enum check_stage, the furthest */
    uint8_t queued; /* how many times it is in the queue */
    uint8_t token;
    uint8_t calls;
    uint8_t acks;
    uint8_t late;
};

struct scheduler {
    uint8_t step; /* the next; 0: idle */
    uint8_t second;
    uint8_t held; /* timers, a bit each */
    uint8_t scanning;
};

struct executor {
    uint8_t step;
    uint8_t timer;
    uint8_t token;
};

struct check_state {
    uint8_t second;  /* of the clock on the wall */
    uint8_t clock;   /* the next second to be fetched */
    uint8_t scan;    /* the next one of the second pass */
    uint8_t crashes; /* that happened */
    uint8_t outruns;
    uint8_t laters;                   /* calls that were answered so */
    uint8_t lists;                    /* handed out, a bit each: timer i is in list i */
    uint8_t owners[CHECK_SCHEDULERS]; /* of ids, which have partition i each: scheduler + 1 */
    struct check_timer timers[CHECK_TIMERS];
    struct scheduler schedulers[CHECK_SCHEDULERS];
    struct executor executors[CHECK_EXECUTORS];
};

struct check_node {
    struct check_state state;
    struct check_step step; /* that led here */
    uint32_t from;
};

struct search {
    const struct cluster_protocol *protocol;
    const struct check_faults *faults;
    struct check_node *nodes;
    size_t count;
    size_t room;
    uint32_t *table;   /* of hashes, twice the room: index of a node, plus 1 */
    uint32_t at;       /* the node that is being expanded */
    size_t successors; /* by steps that are no faults */
};

static const struct check_case cases[] = {
    {"none", {0}},
    {"late", {.late = true}},
    {"crash", {.crashes = 1}},
    {"crash+late", {.crashes = 1, .late = true}},
    {"outrun", {.outruns = 1}},
    {"2 crashes+outrun+late", {.crashes = 2, .outruns = 1, .late = true}},
    {"scan", {.scan = true}},
    {"scan+crash", {.scan = true, .crashes = 1}},
    {"scan+crash+late", {.scan = true, .crashes = 1, .late = true}},
    {"later", {.laters = 1}},
    {"later+crash+outrun", {.laters = 1, .crashes = 1, .outruns = 1}},
};

const struct check_case *check_cases(size_t *count)
{
    *count = sizeof cases / sizeof cases[0];
    return cases;
}

const char *check_action_word(unsigned action)
{
    static const char *const words[] = {"insert", "delay",   "tick",   "crash",
                                        "scan",   "recover", "outrun", "ask-later"};
    return action < CLUSTER_STEPS ? cluster_step_word((enum cluster_step)action)
                                  : words[action - CLUSTER_STEPS];
}

void check_step_text(const struct check_step *step, char *text, size_t bytes)
{
    static const char *const actors[CHECK_ACTORS] = {
        "planner", "time", "scheduler 1", "scheduler 2", "executor 1", "executor 2", "recovery"};
    static const char *const timers[] = {"", " timer 1", " timer 2", " timer 1, 2"};
    (void)snprintf(text, bytes, "%s: %s%s", actors[step->actor], check_action_word(step->action),
                   timers[step->timers & 3u]);
}

/* --- the states seen so far ------------------------------------------------------------------ */

static uint64_t hash_of(const struct check_state *state)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof *state; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return hash ^ hash >> 29;
}

/* The slot of a state in the table, or the empty one that it would have. */
static size_t slot_of(const struct search *search, const struct check_state *state)
{
    const size_t mask = search->room * 2 - 1; /* the room is a power of two */
    size_t slot = hash_of(state) & mask;
    while (search->table[slot] != 0 &&
           memcmp(&search->nodes[search->table[slot] - 1].state, state, sizeof *state) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static void grow_states(struct search *search)
{
    if (search->count < search->room) {
        return;
    }
    size_t room = search->room == 0 ? 4096 : search->room * 2;
    if (room > UINT32_MAX / 2) {
        memory_end();
    }
    search->nodes = memory_resize(search->nodes, room, sizeof *search->nodes);
    free(search->table);
    search->table = memory_new(room * 2, sizeof *search->table);
    search->room = room;
    for (size_t i = 0; i < search->count; i++) {
        search->table[slot_of(search, &search->nodes[i].state)] = (uint32_t)i + 1;
    }
}

/* Add a state that is reached by a step, unless it is known. */
static void reach_state(struct search *search, const struct check_state *state, unsigned actor,
                        unsigned action, unsigned timers)
{
    const struct check_step step = {(uint8_t)actor, (uint8_t)action, (uint8_t)timers,
                                    state->second};
    search->successors +=
        action != CHECK_CRASH && action != CHECK_OUTRUN && action != CHECK_ASK_LATER;
    grow_states(search);
    size_t slot = slot_of(search, state);
    if (search->table[slot] == 0) {
        search->nodes[search->count] = (struct check_node){*state, step, search->at};
        search->table[slot] = (uint32_t)++search->count;
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

static unsigned deadline_of(unsigned timer)
{
    return 1 + timer;
}

static void come_to(struct check_timer *timer, enum check_stage stage)
{
    if (stage > timer->stage) {
        timer->stage = (uint8_t)stage;
    }
}

/* Whether it is neither in hand nor in a queue. A lease is its latest holder's alone. */
static bool is_abandoned(const struct search *search, const struct check_state *state,
                         unsigned timer)
{
    bool leased = cluster_protocol_leases(search->protocol);
    for (unsigned s = 0; s < CHECK_SCHEDULERS; s++) {
        if ((state->schedulers[s].held >> timer & 1) != 0) {
            return false;
        }
    }
    for (unsigned e = 0; e < CHECK_EXECUTORS; e++) {
        const struct executor *executor = &state->executors[e];
        if (executor->step > 0 && executor->timer == timer &&
            (!leased || executor->token == state->timers[timer].token)) {
            return false;
        }
    }
    return state->timers[timer].queued == 0;
}

/* The timers that are pending and due, as a bit each. */
static uint8_t due(const struct check_state *state)
{
    unsigned found = 0;
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        if (state->timers[i].record == PENDING && deadline_of(i) <= state->second) {
            found |= 1u << i;
        }
    }
    return (uint8_t)found;
}

static void mark_timers(struct check_state *state, uint8_t timers, enum record record)
{
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        if ((timers >> i & 1) != 0) {
            state->timers[i].record = (uint8_t)record;
            come_to(&state->timers[i], CHECK_STAGE_HAND);
        }
    }
}

static void push_timers(struct check_state *state, uint8_t timers)
{
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        if ((timers >> i & 1) != 0) {
            state->timers[i].queued++;
            come_to(&state->timers[i], CHECK_STAGE_QUEUE);
        }
    }
}

static void claim_timers(struct check_state *state, uint8_t timers)
{
    mark_timers(state, timers, READY);
    push_timers(state, timers);
}

/* A scheduler's step that is about one list or partition: each that it may be about, apart. True:
 * this was such a step. */
static bool schedule_part(struct search *search, const struct check_state *before, unsigned number,
                          enum cluster_step step)
{
    const uint8_t any = due(before);
    const struct scheduler *scheduler = &before->schedulers[number];
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        struct check_state after = *before;
        struct scheduler *own = &after.schedulers[number];
        uint8_t bit = (uint8_t)(1u << i);
        bool can = false;
        switch (step) {
        case CLUSTER_CLAIM_PART:
            can = (any & bit) != 0;
            claim_timers(&after, any & bit);
            break;
        case CLUSTER_HAND_OUT: /* all of them at once */
            can = i == 0 && (any | before->lists) != 0;
            after.lists = (uint8_t)(any | before->lists);
            bit = any;
            own->step = 1;
            break;
        case CLUSTER_LOAD: /* who finds none has nothing to do */
            can = (before->lists & bit) != 0 || (before->lists == 0 && i == 0);
            bit = before->lists & bit;
            after.lists = (uint8_t)(before->lists & ~bit);
            claim_timers(&after, any & bit);
            *own = (struct scheduler){0};
            break;
        case CLUSTER_JOIN: /* its own, or a free one */
            can = (any & bit) != 0 && (before->owners[i] == 0 || before->owners[i] == number + 1);
            after.owners[i] = (uint8_t)(number + 1);
            *own = (struct scheduler){.step = 1, .second = (uint8_t)i};
            break;
        case CLUSTER_CLAIM_OWN:
            can = i == scheduler->second;
            bit = before->owners[i] == number + 1 ? any & bit : 0;
            claim_timers(&after, bit);
            *own = (struct scheduler){0};
            break;
        default:
            return false;
        }
        if (can) {
            reach_state(search, &after, CHECK_SCHEDULER + number, step, bit);
        }
    }
    return true;
}

/* The next step of a scheduler. */
static void schedule_step(struct search *search, const struct check_state *before, unsigned number)
{
    const struct cluster_protocol *protocol = search->protocol;
    struct check_state after = *before;
    struct scheduler *scheduler = &after.schedulers[number];
    enum cluster_step step = protocol->schedule[scheduler->step];
    uint8_t touched = 0;
    bool ended = false;
    if (schedule_part(search, before, number, step)) {
        return;
    }
    switch (step) {
    case CLUSTER_MOVE_CLOCK:
        if (before->clock > before->second) {
            return;
        }
        scheduler->second = after.clock++;
        break;
    case CLUSTER_FETCH:
        for (unsigned i = 0; i < CHECK_TIMERS; i++) {
            if (before->timers[i].record == PENDING && deadline_of(i) == scheduler->second) {
                scheduler->held = (uint8_t)(scheduler->held | 1u << i);
            }
        }
        touched = scheduler->held;
        ended = touched == 0;
        break;
    case CLUSTER_REMOVE:
        touched = scheduler->held;
        mark_timers(&after, touched, GONE);
        break;
    case CLUSTER_PUSH:
        touched = scheduler->held;
        push_timers(&after, touched);
        scheduler->held = 0;
        break;
    case CLUSTER_CLAIM:
        touched = due(before);
        if (touched == 0) {
            return;
        }
        claim_timers(&after, touched);
        break;
    default:
        return;
    }
    scheduler->step++;
    if (ended || protocol->schedule[scheduler->step] == CLUSTER_END) {
        after.scan =
            (uint8_t)(after.scan + (scheduler->scanning && scheduler->second == after.scan));
        *scheduler = (struct scheduler){0};
    }
    reach_state(search, &after, CHECK_SCHEDULER + number, step, touched);
}

static void scan_second(struct search *search, const struct check_state *before, unsigned number,
                        unsigned second)
{
    struct check_state after = *before;
    after.schedulers[number] =
        (struct scheduler){.step = 1, .second = (uint8_t)second, .scanning = 1};
    reach_state(search, &after, CHECK_SCHEDULER + number, CHECK_SCAN, 0);
}

/* The second pass takes each second that the clock has passed and for which no insert is left; its
 * place moves when it is done. It also comes back for timers that are still in the table and
 * abandoned. One pass at a time. */
static void begin_scan(struct search *search, const struct check_state *before, unsigned number)
{
    if (!search->faults->scan || !search->protocol->scanned ||
        before->schedulers[number].step > 0) {
        return;
    }
    for (unsigned s = 0; s < CHECK_SCHEDULERS; s++) {
        if (before->schedulers[s].scanning != 0) {
            return;
        }
    }
    bool complete = before->scan < before->clock;
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        unsigned deadline = deadline_of(i);
        if (before->timers[i].record == ABSENT && deadline <= before->scan) {
            complete = false;
        } else if (before->timers[i].record == PENDING && deadline < before->scan &&
                   is_abandoned(search, before, i)) {
            scan_second(search, before, number, deadline);
        }
    }
    if (complete) {
        scan_second(search, before, number, before->scan);
    }
}

static void take_step(struct search *search, const struct check_state *before, unsigned number)
{
    enum cluster_step step = search->protocol->execute[0];
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        if (before->timers[i].queued == 0) {
            continue;
        }
        struct check_state after = *before;
        struct executor *executor = &after.executors[number];
        struct check_timer *timer = &after.timers[i];
        timer->queued--;
        if (step == CLUSTER_TAKE || timer->record == READY) {
            *executor = (struct executor){.step = 1, .timer = (uint8_t)i};
            come_to(timer, CHECK_STAGE_TAKEN);
        }
        if (step == CLUSTER_LEASE && timer->record == READY) {
            timer->record = FLIGHT;
            executor->token = ++timer->token;
        }
        reach_state(search, &after, CHECK_EXECUTOR + number, step, 1u << i);
    }
}

/* The service does not do it, and asks to be called again later. */
static void answer_later(struct search *search, const struct check_state *before, unsigned number)
{
    struct check_state after = *before;
    uint8_t step = after.executors[number].step++;
    if (search->protocol->execute[step] == CLUSTER_CALL &&
        search->protocol->execute[step + 1] == CLUSTER_LATER &&
        before->laters < search->faults->laters) {
        after.laters++;
        reach_state(search, &after, CHECK_EXECUTOR + number, CHECK_ASK_LATER,
                    1u << before->executors[number].timer);
    }
}

static void execute_step(struct search *search, const struct check_state *before, unsigned number)
{
    if (before->executors[number].step == 0) {
        take_step(search, before, number);
        return;
    }
    answer_later(search, before, number);
    struct check_state after = *before;
    struct executor *executor = &after.executors[number];
    struct check_timer *timer = &after.timers[executor->timer];
    enum cluster_step step = search->protocol->execute[executor->step];
    uint8_t touched = (uint8_t)(1u << executor->timer);
    bool accepted = false;
    switch (step) {
    case CLUSTER_CALL:
        timer->calls++;
        come_to(timer, CHECK_STAGE_CALLED);
        if (search->protocol->execute[executor->step + 1] == CLUSTER_LATER) {
            executor->step++; /* it was not asked for */
        }
        break;
    case CLUSTER_LATER:
        if (timer->record == FLIGHT && timer->token == executor->token) {
            timer->record = PENDING;
        }
        executor->step = CLUSTER_STEPS_MAX - 2; /* the last one: it ends */
        break;
    case CLUSTER_ACK:
        accepted = timer->record == FLIGHT && timer->token == executor->token;
        break;
    default: /* CLUSTER_DELETE */
        accepted = timer->record != GONE;
        break;
    }
    if (accepted) {
        timer->record = GONE;
        timer->acks++;
        come_to(timer, CHECK_STAGE_ENDED);
    }
    executor->step++;
    if (search->protocol->execute[executor->step] == CLUSTER_END) {
        *executor = (struct executor){0};
    }
    reach_state(search, &after, CHECK_EXECUTOR + number, step, touched);
}

static void recover_timers(struct search *search, const struct check_state *before)
{
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        if (before->timers[i].record != FLIGHT) {
            continue;
        }
        bool abandoned = is_abandoned(search, before, i);
        if (!abandoned && before->outruns == search->faults->outruns) {
            continue;
        }
        struct check_state after = *before;
        struct check_timer *timer = &after.timers[i];
        after.outruns = (uint8_t)(after.outruns + !abandoned);
        timer->queued++;
        timer->record = READY;
        reach_state(search, &after, CHECK_RECOVERY, abandoned ? CHECK_RECOVER : CHECK_OUTRUN,
                    1u << i);
    }
}

/* --- planner, time, crashes ------------------------------------------------------------------ */

static void plan_step(struct search *search, const struct check_state *before)
{
    bool all_in_time = true;
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        const struct check_timer *timer = &before->timers[i];
        if (timer->record != ABSENT) {
            continue;
        }
        all_in_time = all_in_time && (timer->late != 0 || deadline_of(i) > before->second + 1u);
        struct check_state after = *before;
        after.timers[i].record = PENDING;
        reach_state(search, &after, CHECK_PLANNER, CHECK_INSERT, 1u << i);
        if (search->faults->late && i == CHECK_TIMERS - 1 && timer->late == 0) {
            after = *before;
            after.timers[i].late = 1;
            reach_state(search, &after, CHECK_PLANNER, CHECK_DELAY, 1u << i);
        }
    }
    if (before->second < CHECK_LAST && all_in_time) {
        struct check_state after = *before;
        after.second++;
        reach_state(search, &after, CHECK_TIME, CHECK_TICK, 0);
    }
}

static void crash_step(struct search *search, const struct check_state *before)
{
    if (before->crashes == search->faults->crashes) {
        return;
    }
    for (unsigned s = 0; s < CHECK_SCHEDULERS; s++) {
        struct check_state after = *before;
        if (before->schedulers[s].step == 0) {
            continue;
        }
        after.crashes++;
        after.schedulers[s] = (struct scheduler){0};
        reach_state(search, &after, CHECK_SCHEDULER + s, CHECK_CRASH, before->schedulers[s].held);
    }
    for (unsigned e = 0; e < CHECK_EXECUTORS; e++) {
        if (before->executors[e].step == 0) {
            continue;
        }
        struct check_state after = *before;
        after.crashes++;
        after.executors[e] = (struct executor){0};
        reach_state(search, &after, CHECK_EXECUTOR + e, CHECK_CRASH,
                    1u << before->executors[e].timer);
    }
}

/* The lease of a node's id ends although the node has only been slow. */
static void take_id(struct search *search, const struct check_state *before)
{
    for (unsigned i = 0; i < CHECK_SCHEDULERS && before->outruns < search->faults->outruns; i++) {
        unsigned owner = before->owners[i];
        if (owner == 0 || before->schedulers[owner - 1].step == 0 ||
            before->schedulers[owner - 1].second != i) {
            continue;
        }
        struct check_state after = *before;
        after.outruns++;
        after.owners[i] = 0;
        reach_state(search, &after, CHECK_RECOVERY, CHECK_OUTRUN, 1u << i);
    }
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Whether an end has lost a timer. */
static bool end_loses(const struct check_end *end)
{
    bool lost = false;
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        lost = lost || end->calls[i] == 0;
    }
    return lost;
}

static int compare_ends(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct check_end));
}

void check_result_count(struct check_result *result)
{
    size_t kept = 0;
    if (result->end_count > 0) {
        qsort(result->ends, result->end_count, sizeof *result->ends, compare_ends);
    }
    result->lost_ends = 0;
    result->most_calls = 0;
    result->most_acks = 0;
    for (size_t i = 0; i < result->end_count; i++) {
        if (kept > 0 && compare_ends(&result->ends[kept - 1], &result->ends[i]) == 0) {
            continue;
        }
        const struct check_end *end = &result->ends[kept];
        result->ends[kept++] = result->ends[i];
        result->lost_ends += end_loses(end);
        for (unsigned t = 0; t < CHECK_TIMERS; t++) {
            result->most_calls =
                end->calls[t] > result->most_calls ? end->calls[t] : result->most_calls;
            result->most_acks = end->acks[t] > result->most_acks ? end->acks[t] : result->most_acks;
        }
    }
    result->end_count = kept;
}

static struct check_end end_of(const struct check_state *state)
{
    struct check_end end = {.crashes = state->crashes, .outruns = state->outruns};
    for (unsigned i = 0; i < CHECK_TIMERS; i++) {
        end.stage[i] = state->timers[i].stage;
        end.calls[i] = state->timers[i].calls;
        end.acks[i] = state->timers[i].acks;
        end.late |= state->timers[i].late;
    }
    return end;
}

static void keep_run(const struct search *search, uint32_t last, struct check_result *result)
{
    size_t count = 0;
    for (uint32_t at = last; at != 0; at = search->nodes[at].from) {
        count++;
    }
    result->run_count = count < CHECK_RUN_MAX ? count : CHECK_RUN_MAX;
    for (uint32_t at = last; at != 0; at = search->nodes[at].from) {
        count--;
        if (count < CHECK_RUN_MAX) {
            result->run[count] = search->nodes[at].step;
        }
    }
}

static void keep_end(const struct search *search, struct check_result *result, size_t *room)
{
    MEMORY_REACH(result->ends, *room, result->end_count);
    struct check_end end = end_of(&search->nodes[search->at].state);
    if (end_loses(&end) && result->run_count == 0) {
        keep_run(search, search->at, result);
    }
    result->ends[result->end_count++] = end;
}

void check_search(const struct cluster_protocol *protocol, const struct check_faults *faults,
                  struct check_result *result)
{
    struct search search = {.protocol = protocol, .faults = faults};
    const struct check_state begin = {0};
    size_t room = 0;
    *result = (struct check_result){0};
    reach_state(&search, &begin, 0, 0, 0);
    for (uint32_t at = 0; at < search.count; at++) {
        const struct check_state state = search.nodes[at].state;
        search.at = at;
        search.successors = 0;
        plan_step(&search, &state);
        for (unsigned s = 0; s < CHECK_SCHEDULERS; s++) {
            schedule_step(&search, &state, s);
            begin_scan(&search, &state, s);
        }
        for (unsigned e = 0; e < CHECK_EXECUTORS; e++) {
            execute_step(&search, &state, e);
        }
        recover_timers(&search, &state);
        crash_step(&search, &state);
        take_id(&search, &state);
        if (search.successors == 0) {
            keep_end(&search, result, &room);
        }
    }
    result->states = search.count;
    free(search.nodes);
    free(search.table);
    check_result_count(result);
}
