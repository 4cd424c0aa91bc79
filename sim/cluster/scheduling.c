/*
 * How due timers get into the queue: schedulers poll and do the steps of their protocol; recovery
 * brings back timers of failed holders.
 */
#include "model.h"

/* --- into the queue --------------------------------------------------------------------------- */

static void put_copy(struct cluster *cluster, struct timer_copy copy)
{
    queue_changes(cluster);
    copy.at_us = cluster->now_us;
    copies_push(cluster, &cluster->queue, copy);
    if (cluster->queue.count > cluster->outcome->queue_most) {
        cluster->outcome->queue_most = cluster->queue.count;
    }
}

static struct timer_copy copy_of(struct cluster *cluster, uint32_t number, enum cluster_cause cause)
{
    struct cluster_timer *timer = timer_at(cluster, number);
    timer->copies++;
    return (struct timer_copy){.timer = number, .path = timer->path, .cause = (uint8_t)cause};
}

static void enqueue(struct cluster *cluster, uint32_t number, enum cluster_cause cause)
{
    if (timer_at(cluster, number)->copies < UINT8_MAX) {
        put_copy(cluster, copy_of(cluster, number, cause));
        feed_slots(cluster);
    }
}

/* --- due timers ------------------------------------------------------------------------------- */

static bool is_divided(const struct cluster *cluster)
{
    return does(cluster, CLUSTER_CLAIM_PART) || does(cluster, CLUSTER_LOAD) ||
           does(cluster, CLUSTER_CLAIM_OWN);
}

static struct cluster_ring *due_with(struct cluster *cluster, uint32_t number)
{
    return &cluster->due[is_divided(cluster) ? number % DUE_PARTS : 0];
}

/* A scheduler that has moved the clock past a second, but not read it yet, finds later timers of
 * that second, too. */
static bool join_fetch(struct cluster *cluster, uint32_t number)
{
    const struct cluster_timer *timer = timer_at(cluster, number);
    uint64_t second = timer->deadline_us / us_of(cluster->p[PAR_TICK_S]);
    for (uint32_t s = 0; s < cluster->scheduler_count; s++) {
        struct scheduler *scheduler = &cluster->schedulers[s];
        if (scheduler->step == 2 && scheduler->second == second) { /* the fetch is on its way */
            copies_push(cluster, &scheduler->held,
                        copy_of(cluster, number, (enum cluster_cause)timer->cause));
            return true;
        }
    }
    return false;
}

/* It is shown to the schedulers. A seed's bucket that was fetched already is not looked at again,
 * but by the second pass. */
void timer_due(struct cluster *cluster, uint32_t number)
{
    struct cluster_timer *timer = timer_at(cluster, number);
    const struct timer_entry entry = entry_of(cluster, number);
    cluster->overdue++;
    timer->overdue = true;
    timer->record = DUE;
    bool behind = does(cluster, CLUSTER_MOVE_CLOCK) &&
                  timer->deadline_us / us_of(cluster->p[PAR_TICK_S]) < cluster->clock;
    if (cluster->protocol->scanned && cluster->p[PAR_SCAN] > 0) {
        entries_push(cluster, &cluster->behind, entry);
    }
    if (!behind) {
        entries_push(cluster, due_with(cluster, number), entry);
    } else if (!join_fetch(cluster, number)) {
        timer->cause = CLUSTER_CAUSE_LATE;
        settle(cluster, number);
    }
}

/* --- a scheduler's steps ---------------------------------------------------------------------- */

static uint64_t local_us(const struct cluster *cluster, uint32_t number)
{
    int64_t offset = does(cluster, CLUSTER_LEASE) ? 0 : cluster->nodes[number].offset_us;
    return (uint64_t)((int64_t)cluster->now_us + offset);
}

/* Drop stopped timers from the head; returns whether a due one is left. */
static bool has_due(struct cluster *cluster, struct cluster_ring *due)
{
    while (due->count > 0) {
        const struct cluster_timer *timer = timer_of(cluster, entries_at(due, 0));
        if (timer != NULL && (timer->record == DUE)) {
            return true;
        }
        ring_drop(due);
    }
    return false;
}

/* Whether the head of the list is due by this clock, or in this second. */
static bool head_is_due(struct cluster *cluster, const struct scheduler *scheduler,
                        uint64_t clock_us)
{
    struct cluster_ring *due = &cluster->due[scheduler->part];
    if (!has_due(cluster, due)) {
        return false;
    }
    const struct cluster_timer *timer = timer_at(cluster, entries_at(due, 0)->timer);
    return does(cluster, CLUSTER_MOVE_CLOCK)
               ? timer->deadline_us / us_of(cluster->p[PAR_TICK_S]) <= scheduler->second
               : timer->deadline_us <= clock_us;
}

static void take_due(struct cluster *cluster, uint32_t number, enum record record)
{
    struct scheduler *scheduler = &cluster->schedulers[number];
    struct cluster_ring *due = &cluster->due[scheduler->part];
    uint64_t most =
        does(cluster, CLUSTER_MOVE_CLOCK) ? UINT64_MAX : (uint64_t)cluster->p[PAR_BATCH];
    uint64_t clock_us = local_us(cluster, number);
    scheduler->full = false;
    while (scheduler->held.count < most && head_is_due(cluster, scheduler, clock_us)) {
        struct timer_entry entry = entries_pop(due);
        if (due->count > FETCH_AHEAD) {
            fetch_timer(cluster, entries_at(due, FETCH_AHEAD)->timer);
        }
        struct cluster_timer *timer = timer_at(cluster, entry.timer);
        timer->record = record & 7u;
        copies_push(cluster, &scheduler->held,
                    copy_of(cluster, entry.timer, (enum cluster_cause)timer->cause));
    }
    scheduler->full = scheduler->held.count >= most && most != UINT64_MAX;
}

/* Take the timers in the second that it has won, except those stopped before it reads them. */
static void fetch_held(struct cluster *cluster, struct scheduler *scheduler)
{
    for (size_t left = scheduler->held.count; left > 0; left--) {
        struct timer_copy copy = copies_pop(&scheduler->held);
        struct cluster_timer *timer = timer_at(cluster, copy.timer);
        if (timer->record == GONE) {
            timer->copies--;
            settle(cluster, copy.timer);
        } else {
            timer->record = OWNED;
            copies_push(cluster, &scheduler->held, copy);
        }
    }
}

static void push_held(struct cluster *cluster, struct scheduler *scheduler, bool ready)
{
    while (scheduler->held.count > 0) {
        struct timer_copy copy = copies_pop(&scheduler->held);
        struct cluster_timer *timer = timer_at(cluster, copy.timer);
        if (ready) {
            timer->record = READY;
        }
        put_copy(cluster, copy);
    }
    feed_slots(cluster);
}

static void wait_for_poll(struct cluster *cluster, uint32_t number)
{
    struct scheduler *scheduler = &cluster->schedulers[number];
    uint64_t poll_us = us_of(cluster->p[PAR_POLL_S]);
    scheduler->step = 0;
    if (scheduler->next_poll_us <= cluster->now_us) {
        scheduler->next_poll_us +=
            ((cluster->now_us - scheduler->next_poll_us) / poll_us + 1) * poll_us;
    }
    event_at(cluster, cluster->range[EVENT_POLL] + number, scheduler->next_poll_us);
}

static void begin_step(struct cluster *cluster, uint32_t number, enum cluster_step step)
{
    uint64_t takes_us = store_us(cluster, number, &cluster->nodes[number], step != CLUSTER_FETCH);
    event_at(cluster, cluster->range[EVENT_POLL] + number, cluster->now_us + takes_us);
}

/* Whether a node may claim from a partition, or take its id: its own, or one with an expired lock,
 * because its node is gone. */
static bool has_id(const struct cluster *cluster, uint32_t number, unsigned part)
{
    return cluster->id_owner[part] == number && cluster->id_until_us[part] > cluster->now_us;
}

static bool may_join(const struct cluster *cluster, uint32_t number, unsigned part)
{
    bool is_its = part % cluster->scheduler_count == number;
    bool ended = cluster->id_until_us[part] <= cluster->now_us;
    return has_id(cluster, number, part) || (ended && (is_its || cluster->id_until_us[part] > 0));
}

/* The next partition, from one of its own on, that has something due and that it may have. */
static bool find_part(struct cluster *cluster, uint32_t number)
{
    struct scheduler *scheduler = &cluster->schedulers[number];
    for (unsigned i = 0; i < DUE_PARTS; i++) {
        scheduler->part = (uint8_t)((number + i) % DUE_PARTS);
        if ((!does(cluster, CLUSTER_JOIN) || may_join(cluster, number, scheduler->part)) &&
            head_is_due(cluster, scheduler, local_us(cluster, number))) {
            return true;
        }
    }
    return false;
}

/* The steps that are about one partition; whether its own is to be done once more. */
static bool end_part_step(struct cluster *cluster, uint32_t number, enum cluster_step step)
{
    struct scheduler *scheduler = &cluster->schedulers[number];
    unsigned part = scheduler->part;
    if (step == CLUSTER_JOIN) {
        if (may_join(cluster, number, part)) {
            bool is_its = part % cluster->scheduler_count == number;
            if (is_its || !has_id(cluster, number, part)) { /* another's is not renewed */
                cluster->id_until_us[part] = cluster->now_us + us_of(cluster->p[PAR_DETECT_S]);
            }
            cluster->id_owner[part] = number;
        }
        return false;
    }
    if (step == CLUSTER_HAND_OUT) {
        for (scheduler->part = 0; scheduler->part < DUE_PARTS; scheduler->part++) {
            bool is_due = head_is_due(cluster, scheduler, local_us(cluster, number));
            cluster->lists |= (uint32_t)is_due << scheduler->part;
        }
        scheduler->part = 0;
        return false;
    }
    if (step == CLUSTER_LOAD && cluster->lists == 0) {
        return false;
    }
    if (step == CLUSTER_LOAD) {
        for (part = number % DUE_PARTS; (cluster->lists >> part & 1) == 0;) {
            part = (part + 1) % DUE_PARTS;
        }
        cluster->lists &= ~(1u << part);
        scheduler->part = (uint8_t)part;
    }
    if (step != CLUSTER_CLAIM_OWN || has_id(cluster, number, part)) {
        take_due(cluster, number, READY);
        if (step == CLUSTER_LOAD) {
            cluster->lists |= (uint32_t)scheduler->full << part;
            scheduler->full = false;
        } else {
            scheduler->full = scheduler->held.count > 0; /* there may be other partitions */
        }
        push_held(cluster, scheduler, true);
    }
    return step == CLUSTER_LOAD && cluster->lists != 0;
}

/* Whether there is anything to begin with. */
static bool looks(struct cluster *cluster, uint32_t number)
{
    struct scheduler *scheduler = &cluster->schedulers[number];
    uint64_t clock_us = local_us(cluster, number);
    if (cluster->halted) {
        return false;
    }
    cluster->outcome->store_operations++;
    if (does(cluster, CLUSTER_MOVE_CLOCK)) {
        uint64_t tick_us = us_of(cluster->p[PAR_TICK_S]);
        scheduler->second = cluster->clock;
        return (cluster->clock + 1) * tick_us <= clock_us;
    }
    if (does(cluster, CLUSTER_CLAIM) && scheduler->version != cluster->version) {
        scheduler->version = cluster->version; /* another was faster: it sleeps */
        return false;
    }
    if (does(cluster, CLUSTER_LOAD) && cluster->lists != 0) {
        return true;
    }
    return is_divided(cluster) ? find_part(cluster, number)
                               : head_is_due(cluster, scheduler, clock_us);
}

static void poll_store(struct cluster *cluster, uint32_t number)
{
    if (!looks(cluster, number)) {
        cluster->outcome->wasted++;
        wait_for_poll(cluster, number);
        return;
    }
    cluster->schedulers[number].step = 1;
    begin_step(cluster, number, cluster->protocol->schedule[0]);
}

static void drained_of_halt(struct cluster *cluster)
{
    uint64_t tick_us = us_of(cluster->p[PAR_TICK_S]);
    if (cluster->halt_since_us > 0 && !cluster->halted &&
        (cluster->clock + 2) * tick_us > cluster->now_us) {
        cluster->outcome->halt_drain_s = (double)(cluster->now_us - cluster->halt_since_us) / 1e6;
        cluster->halt_since_us = 0;
    }
}

/* Apply the effect of a finished step. */
static void end_step(struct cluster *cluster, uint32_t number)
{
    struct scheduler *scheduler = &cluster->schedulers[number];
    enum cluster_step step = cluster->protocol->schedule[scheduler->step - 1];
    switch (step) {
    case CLUSTER_MOVE_CLOCK:
        if (cluster->clock != scheduler->second) { /* another was faster */
            cluster->outcome->wasted++;
            wait_for_poll(cluster, number);
            return;
        }
        cluster->clock++;
        take_due(cluster, number, DUE); /* they will not be read again */
        drained_of_halt(cluster);
        break;
    case CLUSTER_FETCH:
        fetch_held(cluster, scheduler);
        break;
    case CLUSTER_REMOVE:
        for (size_t i = 0; i < scheduler->held.count; i++) {
            timer_at(cluster, copies_at(&scheduler->held, i)->timer)->record = GONE;
        }
        break;
    case CLUSTER_CLAIM:
        take_due(cluster, number, READY);
        cluster->version += scheduler->held.count > 0;
        scheduler->version = cluster->version;
        push_held(cluster, scheduler, true);
        break;
    case CLUSTER_CLAIM_PART:
    case CLUSTER_HAND_OUT:
    case CLUSTER_LOAD:
    case CLUSTER_JOIN:
    case CLUSTER_CLAIM_OWN:
        if (end_part_step(cluster, number, step)) {
            begin_step(cluster, number, step);
            return;
        }
        break;
    case CLUSTER_PUSH:
        push_held(cluster, scheduler, false);
        break;
    default:
        break;
    }
    bool empty = scheduler->held.count == 0 && step == CLUSTER_FETCH;
    enum cluster_step next = cluster->protocol->schedule[scheduler->step];
    if (next != CLUSTER_END && !empty) {
        scheduler->step++;
        begin_step(cluster, number, next);
    } else if (scheduler->full) {
        scheduler->step = 0;
        poll_store(cluster, number);
    } else {
        wait_for_poll(cluster, number);
    }
}

void scheduler_event(struct cluster *cluster, uint32_t number)
{
    const struct cluster_node *node = &cluster->nodes[number];
    uint64_t until =
        node->pause_until_us > node->cut_until_us ? node->pause_until_us : node->cut_until_us;
    if (until > cluster->now_us) {
        event_at(cluster, cluster->range[EVENT_POLL] + number, until);
    } else if (cluster->schedulers[number].step == 0) {
        poll_store(cluster, number);
    } else {
        end_step(cluster, number);
    }
}

void scheduler_crash(struct cluster *cluster, uint32_t number)
{
    struct scheduler *scheduler = &cluster->schedulers[number];
    while (scheduler->held.count > 0) {
        struct timer_copy copy = copies_pop(&scheduler->held);
        drop_copy(cluster, &copy, CLUSTER_CAUSE_CRASH);
    }
    scheduler->step = 0;
    scheduler->full = false;
    event_cancel(cluster, cluster->range[EVENT_POLL] + number);
}

void scheduling_begin(struct cluster *cluster)
{
    for (uint32_t s = 0; s < cluster->scheduler_count; s++) {
        cluster->schedulers[s].next_poll_us =
            (uint64_t)(random_unit(&cluster->faults) * cluster->p[PAR_POLL_S] * 1e6);
        event_at(cluster, cluster->range[EVENT_POLL] + s, cluster->schedulers[s].next_poll_us);
    }
    if (cluster_protocol_leases(cluster->protocol) && cluster->p[PAR_REAP_S] > 0) {
        event_at(cluster, cluster->range[EVENT_REAP], us_of(cluster->p[PAR_REAP_S]));
    }
    if (cluster->protocol->scanned && cluster->p[PAR_SCAN] > 0) {
        event_at(cluster, cluster->range[EVENT_SCAN], us_of(cluster->p[PAR_SCAN_EVERY]));
    }
}

/* --- what brings timers back ------------------------------------------------------------------ */

static void end_lease(struct cluster *cluster, uint32_t number)
{
    struct cluster_timer *timer = timer_at(cluster, number);
    enum cluster_cause cause =
        timer->copies > 0 ? cause_of_slowness(cluster, number) : (enum cluster_cause)timer->cause;
    timer->record = READY;
    cluster->outcome->redelivered++;
    came_by(timer, CLUSTER_PATH_RECOVERED);
    enqueue(cluster, number, cause);
}

void timer_lease_ends(struct cluster *cluster, uint32_t number)
{
    if (timer_at(cluster, number)->record != FLIGHT) {
        return;
    }
    if (cluster->p[PAR_REAP_S] > 0) {
        entries_push(cluster, &cluster->expired, entry_of(cluster, number));
    } else {
        end_lease(cluster, number);
    }
}

void reap(struct cluster *cluster)
{
    cluster->outcome->store_operations++;
    while (cluster->expired.count > 0) {
        struct timer_entry entry = entries_pop(&cluster->expired);
        const struct cluster_timer *timer = timer_of(cluster, &entry);
        /* One that was taken again has a lease, which has not ended. */
        if (timer != NULL && timer->record == FLIGHT && timer->event == FOR_NOTHING) {
            end_lease(cluster, entry.timer);
        }
    }
    event_after(cluster, cluster->range[EVENT_REAP], cluster->p[PAR_REAP_S]);
}

/* The wait before a retry is over. By a lease it is in the table, and due again. */
void timer_retry(struct cluster *cluster, uint32_t number)
{
    struct cluster_timer *timer = timer_at(cluster, number);
    timer->copies--;
    if (cluster_protocol_leases(cluster->protocol) && timer->record == PENDING) {
        timer->record = DUE; /* for the next poll */
        entries_push(cluster, due_with(cluster, number), entry_of(cluster, number));
    } else if (timer->record == GONE && cluster_protocol_keeps_record(cluster->protocol)) {
        settle(cluster, number); /* another copy has ended it */
    } else {
        enqueue(cluster, number, (enum cluster_cause)timer->cause);
    }
}

/* Everything that is due for so long and still is in the table. It comes again for it. */
void scan(struct cluster *cluster)
{
    uint64_t behind_us = us_of(cluster->p[PAR_SCAN_DELAY]);
    uint64_t most = (uint64_t)cluster->p[PAR_SCAN_BATCH];
    size_t looked_at = cluster->behind.count;
    cluster->outcome->store_operations++;
    for (size_t i = 0; i < looked_at && most > 0; i++) {
        const struct timer_entry *head = entries_at(&cluster->behind, 0);
        struct cluster_timer *timer = timer_of(cluster, head);
        if (timer != NULL && timer->record != GONE &&
            timer->deadline_us + behind_us > cluster->now_us) {
            break;
        }
        struct timer_entry entry = entries_pop(&cluster->behind);
        if (timer == NULL || timer->record == GONE) {
            continue;
        }
        most--;
        if (timer->event != FOR_RETRY) {
            enum cluster_cause cause =
                timer->copies > 0 ? CLUSTER_CAUSE_SCAN : (enum cluster_cause)timer->cause;
            if (does(cluster, CLUSTER_REMOVE)) {
                timer->record = GONE;
            } else {
                timer->record = OWNED;
            }
            came_by(timer, CLUSTER_PATH_SCANNED);
            enqueue(cluster, entry.timer, cause);
        }
        if (!does(cluster, CLUSTER_REMOVE)) {
            entries_push(cluster, &cluster->behind, entry);
        }
    }
    event_after(cluster, cluster->range[EVENT_SCAN], cluster->p[PAR_SCAN_EVERY]);
}
