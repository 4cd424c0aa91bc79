/* Executors: slots that take copies from the queue, call the user's service, and end the timer. */
#include "model.h"

static const struct cluster_node *node_of(const struct cluster *cluster,
                                          const struct executor_slot *slot)
{
    return &cluster->nodes[cluster->scheduler_count + slot->host];
}

static void slot_at(struct cluster *cluster, struct executor_slot *slot, uint64_t at_us)
{
    event_at(cluster, cluster->range[EVENT_SLOT] + (uint32_t)(slot - cluster->slots), at_us);
}

/* --- the call --------------------------------------------------------------------------------- */

static double service_s(struct cluster *cluster)
{
    const double *p = cluster->p;
    double typical_s = p[PAR_SERVICE_MS] / 1e3;
    if (p[PAR_SERVICE] == 1) {
        return random_exponential(&cluster->services, typical_s);
    }
    if (p[PAR_SERVICE] == 2 || typical_s <= 0) {
        return typical_s;
    }
    return random_lognormal_of(&cluster->services, &cluster->service_s);
}

static void begin_call(struct cluster *cluster, struct executor_slot *slot)
{
    const double *p = cluster->p;
    double takes_s = service_s(cluster);
    slot->failed =
        cluster->outage || (p[PAR_FAILURE] > 0 && random_unit(&cluster->services) < p[PAR_FAILURE]);
    slot->later = does(cluster, CLUSTER_LATER) && p[PAR_LATER] > 0 &&
                  random_unit(&cluster->services) < p[PAR_LATER];
    slot->copy.heard =
        p[PAR_REPLY_LOST] <= 0 || random_unit(&cluster->services) >= p[PAR_REPLY_LOST];
    if (takes_s > p[PAR_TIMEOUT_S]) {
        takes_s = p[PAR_TIMEOUT_S]; /* it is done all the same, but without a reply */
        slot->copy.heard = false;
    }
    slot_at(cluster, slot, cluster->now_us + us_of(takes_s));
}

void no_longer_overdue(struct cluster *cluster)
{
    cluster->overdue--;
    if (cluster->drain_since_us > 0 && !cluster->outage && !cluster->halted &&
        cluster->overdue <= cluster->overdue_before) {
        double drained_s = (double)(cluster->now_us - cluster->drain_since_us) / 1e6;
        if (drained_s > cluster->outcome->drain_s) {
            cluster->outcome->drain_s = drained_s;
        }
        cluster->drain_since_us = 0;
    }
}

static void carried_out(struct cluster *cluster, const struct timer_copy *copy)
{
    struct cluster_outcome *outcome = cluster->outcome;
    struct cluster_timer *timer = timer_at(cluster, copy->timer);
    outcome->calls++;
    outcome->digest =
        (outcome->digest ^ (copy->timer + cluster->now_us * 31)) * UINT64_C(1099511628211);
    if (timer->called) {
        /* A first copy that comes second was slower than what replaced it. */
        outcome
            ->duplicates[copy->path == CLUSTER_PATH_FIRST ? CLUSTER_CAUSE_OUTRUN : copy->cause]++;
    } else {
        bool early = cluster->now_us < timer->deadline_us;
        outcome->early += early;
        histogram_add(&outcome->lateness_us[copy->path],
                      early ? 0 : cluster->now_us - timer->deadline_us);
    }
    if (timer->overdue) {
        timer->overdue = false;
        no_longer_overdue(cluster);
    }
    timer->called = true;
}

/* A call that failed, or of which nothing was heard: it is tried again later, or given up. */
static void failed(struct cluster *cluster, const struct timer_copy *copy, bool unheard)
{
    const double *p = cluster->p;
    struct cluster_timer *timer = timer_at(cluster, copy->timer);
    bool leased = cluster_protocol_leases(cluster->protocol);
    bool stale = leased && (timer->record != FLIGHT || timer->token != copy->token);
    cluster->outcome->store_operations++;
    if (stale || timer->event == FOR_RETRY) {
        drop_copy(cluster, copy, (enum cluster_cause)timer->cause);
        return;
    }
    if (unheard || !timer->called) { /* else it stays as it was when it was carried out */
        timer->cause = unheard ? CLUSTER_CAUSE_REPLY : CLUSTER_CAUSE_OTHER;
    }
    came_by(timer, CLUSTER_PATH_RETRIED);
    if (++timer->attempts >= p[PAR_ATTEMPTS]) {
        timer->dead = true;
        timer->record = GONE;
        timer_event_cancel(cluster, copy->timer);
        drop_copy(cluster, copy, (enum cluster_cause)timer->cause);
        return;
    }
    double wait_s = p[PAR_RETRY_S];
    for (unsigned k = 1; k < timer->attempts && wait_s < p[PAR_RETRY_CAP]; k++) {
        wait_s *= p[PAR_RETRY_FACTOR];
    }
    wait_s = wait_s < p[PAR_RETRY_CAP] ? wait_s : p[PAR_RETRY_CAP];
    cluster->outcome->backoff_s += wait_s;
    if (leased) {
        timer->record = PENDING;
    }
    timer_event(cluster, copy->timer, FOR_RETRY, cluster->now_us + us_of(wait_s));
}

/* --- a slot ----------------------------------------------------------------------------------- */

static void end_timer(struct cluster *cluster, const struct timer_copy *copy)
{
    struct cluster_timer *timer = timer_at(cluster, copy->timer);
    if (timer->event == FOR_RETRY) {
        timer->copies--; /* the one that waited */
    }
    timer->record = GONE;
    timer_event_cancel(cluster, copy->timer);
}

/* Who is away takes nothing from the queue. */
static bool is_away(const struct cluster *cluster, const struct cluster_node *node)
{
    return !node->up || node->cut_until_us > cluster->now_us ||
           node->pause_until_us > cluster->now_us;
}

static void leave_slot(struct cluster *cluster, struct executor_slot *slot)
{
    slot->busy = false;
    if (!is_away(cluster, node_of(cluster, slot))) {
        cluster->idle[cluster->idle_count++] = (uint32_t)(slot - cluster->slots);
    }
}

/* Begins the slot's step; false: it was the last one. */
static bool begin_step(struct cluster *cluster, struct executor_slot *slot)
{
    enum cluster_step step = cluster->protocol->execute[slot->step];
    if (step == CLUSTER_END) {
        return false;
    }
    if (step == CLUSTER_CALL) {
        begin_call(cluster, slot);
    } else {
        slot_at(cluster, slot,
                cluster->now_us +
                    store_us(cluster, slot->copy.timer, node_of(cluster, slot), true));
    }
    return true;
}

/* Ends it; false: the copy has gone another way. */
static bool end_step(struct cluster *cluster, struct executor_slot *slot)
{
    struct cluster_timer *timer = timer_at(cluster, slot->copy.timer);
    switch (cluster->protocol->execute[slot->step]) {
    case CLUSTER_CALL:
        cluster->outcome->attempts++;
        if (!slot->failed && slot->later && slot->copy.heard) {
            break; /* on to that step */
        }
        if (!slot->failed) {
            carried_out(cluster, &slot->copy);
        }
        if (slot->failed || !slot->copy.heard) {
            failed(cluster, &slot->copy, !slot->failed);
            return false;
        }
        if (cluster->protocol->execute[slot->step + 1] == CLUSTER_LATER) {
            slot->step++; /* it was not asked for */
        }
        break;
    case CLUSTER_LATER: /* it waits in the table, like one that is tried again */
        if (timer->record == FLIGHT && timer->token == slot->copy.token &&
            timer->event != FOR_RETRY) {
            timer->record = PENDING;
            came_by(timer, CLUSTER_PATH_RETRIED);
            timer_event(cluster, slot->copy.timer, FOR_RETRY,
                        cluster->now_us + us_of(cluster->p[PAR_LATER_S]));
        } else {
            drop_copy(cluster, &slot->copy, (enum cluster_cause)timer->cause);
        }
        return false;
    case CLUSTER_ACK:
        if (timer->record == FLIGHT && timer->token == slot->copy.token) {
            end_timer(cluster, &slot->copy);
        }
        break;
    case CLUSTER_DELETE:
        end_timer(cluster, &slot->copy);
        break;
    default: /* taken when it left the queue */
        break;
    }
    slot->step++;
    return true;
}

/* Take the slot's timer. False: it was ended or taken since it was queued. */
static bool take_timer(struct cluster *cluster, struct executor_slot *slot)
{
    struct cluster_timer *timer = timer_at(cluster, slot->copy.timer);
    if (cluster->protocol->execute[0] != CLUSTER_LEASE) {
        return true;
    }
    if (timer->record != READY) {
        timer->copies--;
        settle(cluster, slot->copy.timer);
        return false;
    }
    timer->record = FLIGHT;
    slot->copy.token = ++timer->token;
    timer_event(cluster, slot->copy.timer, FOR_LEASE,
                cluster->now_us + us_of(cluster->p[PAR_LEASE_S]));
    return true;
}

void feed_slots(struct cluster *cluster)
{
    while (cluster->queue.count > 0 && cluster->idle_count > 0) {
        queue_changes(cluster);
        struct executor_slot *slot = &cluster->slots[cluster->idle[cluster->idle_count - 1]];
        slot->copy = copies_pop(&cluster->queue);
        if (cluster->queue.count > FETCH_AHEAD) {
            __builtin_prefetch(copies_at(&cluster->queue, 2 * FETCH_AHEAD));
            fetch_timer(cluster, copies_at(&cluster->queue, FETCH_AHEAD)->timer);
        }
        cluster->outcome->waits++;
        histogram_add(&cluster->outcome->wait_us, cluster->now_us - slot->copy.at_us);
        cluster->outcome->wait_s += (double)(cluster->now_us - slot->copy.at_us) / 1e6;
        if (take_timer(cluster, slot)) {
            cluster->idle_count--;
            slot->busy = true;
            slot->step = 0;
            (void)begin_step(cluster, slot);
        }
    }
}

void executing_begin(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->slot_count; i++) {
        cluster->idle[cluster->idle_count++] = i;
    }
}

void slot_event(struct cluster *cluster, uint32_t number)
{
    struct executor_slot *slot = &cluster->slots[number];
    const struct cluster_node *node = node_of(cluster, slot);
    if (node->pause_until_us > cluster->now_us) {
        slot_at(cluster, slot, node->pause_until_us);
        return;
    }
    if (end_step(cluster, slot)) {
        if (begin_step(cluster, slot)) {
            return;
        }
        timer_at(cluster, slot->copy.timer)->copies--;
        settle(cluster, slot->copy.timer);
    }
    leave_slot(cluster, slot);
    feed_slots(cluster);
}

void host_goes(struct cluster *cluster, uint32_t host)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cluster->idle_count; i++) {
        if (cluster->slots[cluster->idle[i]].host != host) {
            cluster->idle[kept++] = cluster->idle[i];
        }
    }
    cluster->idle_count = kept;
}

void host_crash(struct cluster *cluster, uint32_t host)
{
    uint32_t each = (uint32_t)cluster->p[PAR_SLOTS];
    host_goes(cluster, host);
    for (uint32_t i = host * each; i < (host + 1) * each; i++) {
        struct executor_slot *slot = &cluster->slots[i];
        if (slot->busy) {
            slot->busy = false;
            event_cancel(cluster, cluster->range[EVENT_SLOT] + i);
            drop_copy(cluster, &slot->copy, CLUSTER_CAUSE_CRASH);
        }
    }
}

void host_comes(struct cluster *cluster, uint32_t host)
{
    uint32_t each = (uint32_t)cluster->p[PAR_SLOTS];
    host_goes(cluster, host);
    for (uint32_t i = host * each;
         i < (host + 1) * each &&
         !is_away(cluster, &cluster->nodes[cluster->scheduler_count + host]);
         i++) {
        if (!cluster->slots[i].busy) {
            cluster->idle[cluster->idle_count++] = i;
        }
    }
    feed_slots(cluster);
}
