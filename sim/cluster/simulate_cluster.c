/*
 * The loop: the structure says when the next event is, hands over all of that microsecond, and they
 * are done in the order of their ids, so that the order in which a structure fires within a tick
 * changes nothing.
 */
#include "model.h"

#include "memory.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

const char *const cluster_path_names[CLUSTER_PATHS] = {"first", "retried", "recovered", "scanned"};

/* --- events ----------------------------------------------------------------------------------- */

void event_at(struct cluster *cluster, uint32_t id, uint64_t at_us)
{
    enum tl_status status = cluster->algo->start(cluster->events, id, at_us);
    if (status != TL_OK && !cluster->failed) {
        cluster->failed = true;
        (void)error_set(cluster->error, "%s: %s", cluster->algo->name, tl_status_text(status));
    }
}

void event_cancel(struct cluster *cluster, uint32_t id)
{
    (void)cluster->algo->stop(cluster->events, id);
}

void timer_event(struct cluster *cluster, uint32_t timer, enum due_for what, uint64_t at_us)
{
    timer_at(cluster, timer)->event = what & 7u;
    event_at(cluster, cluster->range[RANGES] + timer, at_us);
}

void timer_event_cancel(struct cluster *cluster, uint32_t timer)
{
    if (timer_at(cluster, timer)->event != FOR_NOTHING) {
        timer_at(cluster, timer)->event = FOR_NOTHING;
        event_cancel(cluster, cluster->range[RANGES] + timer);
    }
}

static void keep_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct cluster *cluster = ctx;
    (void)now;
    MEMORY_REACH(cluster->fired, cluster->fired_room, cluster->fired_count);
    cluster->fired[cluster->fired_count++] = id;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a;
    uint32_t second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

/* --- lists ------------------------------------------------------------------------------------ */

void ring_grow(struct cluster *cluster, struct cluster_ring *ring, size_t item_bytes)
{
    const struct tl_allocator *allocator = &cluster->memory.allocator;
    size_t room = ring->room == 0 ? 64 : ring->room * 2;
    char *items = memory_made(allocator->resize(
        allocator->ctx, ring->items, ring->room * item_bytes, room * item_bytes, sizeof(void *)));
    /* What went on at the beginning goes on after the old end. */
    memcpy(items + ring->room * item_bytes, items, ring->first * item_bytes);
    ring->items = items;
    ring->room = room;
}

static void ring_free(struct cluster *cluster, struct cluster_ring *ring, size_t item_bytes)
{
    const struct tl_allocator *allocator = &cluster->memory.allocator;
    (void)allocator->resize(allocator->ctx, ring->items, ring->room * item_bytes, 0,
                            sizeof(void *));
}

/* --- the timers' records ---------------------------------------------------------------------- */

/* Addresses are taken for all at once, and memory as they are used: nothing has to move, and pages
 * come zeroed. */
static void records_open(struct cluster *cluster)
{
    struct tl_records *records = &cluster->records;
    uint64_t timers = cluster->request->timers;
    cluster->timers_most = timers < UINT32_MAX - cluster->range[RANGES]
                               ? (uint32_t)timers
                               : UINT32_MAX - 1 - cluster->range[RANGES];
    records->stride_bytes = sizeof(struct cluster_timer) + cluster->algo->embedded_bytes;
    records->offset_bytes = sizeof(struct cluster_timer);
    cluster->records_bytes =
        ((size_t)cluster->range[RANGES] + cluster->timers_most) * records->stride_bytes;
    void *base = mmap(NULL, cluster->records_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        memory_end();
    }
    (void)madvise(base, cluster->records_bytes, MADV_HUGEPAGE);
    records->base = base;
    cluster->timers = (char *)base + cluster->range[RANGES] * records->stride_bytes;
}

bool make_room(struct cluster *cluster)
{
    uint64_t room = (uint64_t)cluster->timers_room + cluster->timers_room / 8 + 1024;
    if (cluster->timers_room == cluster->timers_most) {
        return error_set(cluster->error, "more than %" PRIu32 " timers at a time",
                         cluster->timers_most);
    }
    cluster->timers_room = room < cluster->timers_most ? (uint32_t)room : cluster->timers_most;
    enum tl_status status =
        cluster->algo->reserve(cluster->events, cluster->range[RANGES] + cluster->timers_room);
    return status == TL_OK ||
           error_set(cluster->error, "%s: %s", cluster->algo->name, tl_status_text(status));
}

/* --- the store -------------------------------------------------------------------------------- */

/* Syncs of a shard follow one another; writes before the begin of one are part of it. */
static uint64_t sync_end(struct cluster *cluster, uint32_t shard, uint64_t from_us)
{
    const double *p = cluster->p;
    if (from_us > cluster->sync_begin_us[shard] || cluster->sync_end_us[shard] == 0) {
        bool busy = p[PAR_STALL_SHARE] > 0 && random_unit(&cluster->stores) < p[PAR_STALL_SHARE];
        double length_ms = p[busy ? PAR_STALL_MS : PAR_SYNC_MS];
        uint64_t begin_us =
            from_us > cluster->sync_end_us[shard] ? from_us : cluster->sync_end_us[shard];
        cluster->sync_begin_us[shard] = begin_us;
        cluster->sync_end_us[shard] = begin_us + us_of(length_ms / 1e3);
        cluster->outcome->syncs++;
    }
    return cluster->sync_end_us[shard];
}

uint64_t store_us(struct cluster *cluster, uint32_t shard, const struct cluster_node *node,
                  bool writes)
{
    const double *p = cluster->p;
    uint64_t trip_us = 0;
    cluster->outcome->store_operations++;
    if (p[PAR_STORE_MS] > 0) {
        double trip_s = random_lognormal_of(&cluster->stores, &cluster->trip_s);
        trip_us = us_of(cluster->slow ? trip_s * p[PAR_SLOW_FACTOR] : trip_s);
    }
    uint64_t there_us = cluster->now_us + trip_us / 2;
    if (node != NULL && node->cut_until_us > there_us) {
        there_us = node->cut_until_us;
    }
    if (writes && p[PAR_SYNC_MS] > 0) {
        there_us = sync_end(cluster, shard % (uint32_t)p[PAR_SHARDS], there_us);
    }
    return there_us - cluster->now_us + trip_us / 2;
}

/* --- the books -------------------------------------------------------------------------------- */

static void release_timer(struct cluster *cluster, uint32_t number)
{
    struct cluster_outcome *outcome = cluster->outcome;
    struct cluster_timer *timer = timer_at(cluster, number);
    timer_event_cancel(cluster, number);
    if (timer->called) {
        outcome->books.fired++;
    } else if (timer->stopped) {
        outcome->books.stopped++;
    } else if (timer->dead) {
        outcome->books.dead++;
    } else {
        outcome->books.lost++;
        outcome->lost[timer->cause]++;
    }
    if (timer->overdue) {
        no_longer_overdue(cluster);
    }
    timer->record = FREE;
    cluster->live--;
    timer->deadline_us = cluster->free_place;
    cluster->free_place = number;
}

void settle(struct cluster *cluster, uint32_t number)
{
    struct cluster_timer *timer = timer_at(cluster, number);
    bool scanned = cluster->protocol->scanned && cluster->p[PAR_SCAN] > 0;
    if (timer->copies > 0 || timer->record == FREE) {
        return;
    }
    if (timer->record != GONE && (cluster_protocol_leases(cluster->protocol) || scanned)) {
        return;
    }
    release_timer(cluster, number);
}

void drop_copy(struct cluster *cluster, const struct timer_copy *copy, enum cluster_cause cause)
{
    struct cluster_timer *timer = timer_at(cluster, copy->timer);
    timer->cause = cause & 7u;
    timer->copies--;
    settle(cluster, copy->timer);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void timer_fires(struct cluster *cluster, uint32_t number)
{
    struct cluster_timer *timer = timer_at(cluster, number);
    enum due_for what = (enum due_for)timer->event;
    timer->event = FOR_NOTHING;
    switch (what) {
    case FOR_COMMIT:
        timer->record = PENDING;
        timer_event(cluster, number, FOR_DUE, cluster->now_us);
        break;
    case FOR_STOP:
        cluster->outcome->store_operations++;
        timer->stopped = true;
        timer->record = GONE;
        settle(cluster, number);
        break;
    case FOR_DUE:
        timer_due(cluster, number);
        break;
    case FOR_RETRY:
        timer_retry(cluster, number);
        break;
    case FOR_LEASE:
        timer_lease_ends(cluster, number);
        break;
    default: /* cancelled within its own microsecond */
        break;
    }
}

static void happens(struct cluster *cluster, uint32_t id)
{
    cluster->outcome->events++;
    if (id >= cluster->range[RANGES]) {
        timer_fires(cluster, id - cluster->range[RANGES]);
        return;
    }
    int range = RANGES - 1;
    while (id < cluster->range[range]) {
        range--;
    }
    uint32_t number = id - cluster->range[range];
    switch ((enum range)range) {
    case EVENT_ARRIVAL:
        planner_arrive(cluster);
        break;
    case EVENT_REAP:
        reap(cluster);
        break;
    case EVENT_SCAN:
        scan(cluster);
        break;
    case EVENT_POLL:
        if (cluster->nodes[number].up) {
            scheduler_event(cluster, number);
        }
        break;
    case EVENT_SLOT:
        if (cluster->slots[number].busy) {
            slot_event(cluster, number);
        }
        break;
    default:
        outage_event(cluster, (enum range)range, number);
        break;
    }
}

/* Nothing takes so long after the last deadline, but what never ends. */
#define PATIENCE_US UINT64_C(3000000000000)

static void run_events(struct cluster *cluster)
{
    uint64_t last_us = 0;
    while (!cluster->failed && !(cluster->planned_all && cluster->live == 0)) {
        uint64_t next = cluster->algo->next(cluster->events);
        if (next == TL_NEVER || (cluster->planned_all && next > last_us + PATIENCE_US)) {
            break;
        }
        cluster->now_us = next > cluster->now_us ? next : cluster->now_us;
        if (!cluster->planned_all) {
            last_us = cluster->now_us;
        }
        cluster->fired_count = 0;
        (void)cluster->algo->advance(cluster->events, cluster->now_us, TL_NO_BUDGET, keep_fired,
                                     cluster);
        if (cluster->fired_count > 1) {
            qsort(cluster->fired, cluster->fired_count, sizeof *cluster->fired, compare_ids);
        }
        for (size_t i = 0; i < cluster->fired_count; i++) {
            if (i + FETCH_AHEAD < cluster->fired_count &&
                cluster->fired[i + FETCH_AHEAD] >= cluster->range[RANGES]) {
                fetch_timer(cluster, cluster->fired[i + FETCH_AHEAD] - cluster->range[RANGES]);
            }
            happens(cluster, cluster->fired[i]);
        }
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

static bool make_events(struct cluster *cluster)
{
    const uint32_t counts[RANGES] = {[EVENT_ARRIVAL] = 1,
                                     [EVENT_REAP] = 1,
                                     [EVENT_SCAN] = 1,
                                     [EVENT_OUTAGE] = 1,
                                     [EVENT_HALT] = 1,
                                     [EVENT_SLOW] = 1,
                                     [EVENT_POLL] = cluster->scheduler_count,
                                     [EVENT_SLOT] = cluster->slot_count,
                                     [EVENT_CRASH] = cluster->node_count,
                                     [EVENT_PAUSE] = cluster->node_count,
                                     [EVENT_CUT] = cluster->node_count,
                                     [EVENT_STEP] = cluster->scheduler_count};
    for (int range = 0; range < RANGES; range++) {
        cluster->range[range + 1] = cluster->range[range] + counts[range];
    }
    tl_counting_allocator(&cluster->memory, tl_system_allocator());
    records_open(cluster);
    const struct tl_config config = {
        .capacity = cluster->range[RANGES],
        .options = cluster->request->options,
        .allocator = &cluster->memory.allocator,
        .records = cluster->algo->embedded_bytes > 0 ? &cluster->records : NULL};
    enum tl_status status = cluster->algo->create(&config, &cluster->events);
    return status == TL_OK ||
           error_set(cluster->error, "%s: %s", cluster->algo->name, tl_status_text(status));
}

static bool make_cluster(struct cluster *cluster)
{
    const double *p = cluster->p;
    for (int step = 0; step < CLUSTER_STEPS; step++) {
        cluster->steps |=
            (uint32_t)cluster_protocol_does(cluster->protocol, (enum cluster_step)step) << step;
    }
    cluster->scheduler_count = (uint32_t)p[PAR_SCHEDULERS];
    cluster->host_count = (uint32_t)p[PAR_HOSTS];
    cluster->node_count = cluster->scheduler_count + cluster->host_count;
    cluster->slot_count = cluster->host_count * (uint32_t)p[PAR_SLOTS];
    if (!make_events(cluster)) {
        return false;
    }
    cluster->nodes = memory_new(cluster->node_count, sizeof *cluster->nodes);
    cluster->schedulers = memory_new(cluster->scheduler_count, sizeof *cluster->schedulers);
    cluster->slots = memory_new(cluster->slot_count, sizeof *cluster->slots);
    cluster->idle = memory_new(cluster->slot_count, sizeof *cluster->idle);
    cluster->sync_begin_us = memory_new((size_t)p[PAR_SHARDS], sizeof *cluster->sync_begin_us);
    cluster->sync_end_us = memory_new((size_t)p[PAR_SHARDS], sizeof *cluster->sync_end_us);
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        cluster->nodes[n].up = true;
    }
    for (uint32_t i = 0; i < cluster->slot_count; i++) {
        cluster->slots[i].host = i / (uint32_t)p[PAR_SLOTS];
    }
    cluster->free_place = NO_PLACE;
    random_lognormal_make(&cluster->trip_s, p[PAR_STORE_MS] / 1e3, 0.5);
    /* 2.326: the standard normal's percentile 99 */
    random_lognormal_make(&cluster->service_s, p[PAR_SERVICE_MS] / 1e3,
                          p[PAR_SERVICE_MS] > 0 && p[PAR_SERVICE_P99] > p[PAR_SERVICE_MS]
                              ? random_log(p[PAR_SERVICE_P99] / p[PAR_SERVICE_MS]) /
                                    2.3263478740408408
                              : 0);
    random_seed(&cluster->arrivals, cluster->request->seed);
    random_seed(&cluster->services, cluster->request->seed ^ UINT64_C(0x5e41c3));
    random_seed(&cluster->faults, cluster->request->seed ^ UINT64_C(0xfa0175));
    random_seed(&cluster->stores, cluster->request->seed ^ UINT64_C(0x5702e5));
    if (!does(cluster, CLUSTER_LEASE)) {
        cluster->lead_us =
            us_of(6 * p[PAR_OFFSET_MS] / 1e3 + (p[PAR_STEP_EVERY] > 0 ? p[PAR_STEP_S] : 0));
    }
    return true;
}

static void finish(struct cluster *cluster)
{
    struct cluster_outcome *outcome = cluster->outcome;
    for (uint32_t i = 0; i < cluster->timers_used; i++) {
        outcome->books.pending += timer_at(cluster, i)->record != FREE;
    }
    outcome->seconds = (double)cluster->now_us / 1e6;
    outcome->queue_mean = cluster->queue_changed_us > 0
                              ? outcome->queue_s / ((double)cluster->queue_changed_us / 1e6)
                              : 0;
    outcome->bytes_peak =
        cluster->memory.peak_bytes + cluster->timers_room * cluster->records.stride_bytes;
}

static void destroy_cluster(struct cluster *cluster)
{
    for (uint32_t s = 0; cluster->schedulers != NULL && s < cluster->scheduler_count; s++) {
        ring_free(cluster, &cluster->schedulers[s].held, sizeof(struct timer_copy));
    }
    if (cluster->events != NULL) {
        cluster->algo->destroy(cluster->events);
    }
    free(cluster->fired);
    for (unsigned part = 0; part < DUE_PARTS; part++) {
        ring_free(cluster, &cluster->due[part], sizeof(struct timer_entry));
    }
    ring_free(cluster, &cluster->behind, sizeof(struct timer_entry));
    ring_free(cluster, &cluster->expired, sizeof(struct timer_entry));
    ring_free(cluster, &cluster->queue, sizeof(struct timer_copy));
    if (cluster->records.base != NULL) {
        (void)munmap(cluster->records.base, cluster->records_bytes);
    }
    free(cluster->sync_begin_us);
    free(cluster->sync_end_us);
    free(cluster->nodes);
    free(cluster->schedulers);
    free(cluster->slots);
    free(cluster->idle);
}

bool cluster_simulate(const struct cluster_request *request, struct cluster_outcome *outcome,
                      struct error *error)
{
    struct cluster cluster = {.request = request,
                              .protocol = request->protocol,
                              .p = request->parameters,
                              .outcome = outcome,
                              .error = error,
                              .algo = request->algo};
    memset(outcome, 0, sizeof *outcome);
    outcome->digest = UINT64_C(14695981039346656037);
    bool done = make_cluster(&cluster);
    if (done) {
        event_at(&cluster, cluster.range[EVENT_ARRIVAL], 0);
        scheduling_begin(&cluster);
        executing_begin(&cluster);
        outages_begin(&cluster);
        run_events(&cluster);
        finish(&cluster);
        done = !cluster.failed;
    }
    destroy_cluster(&cluster);
    return done;
}
