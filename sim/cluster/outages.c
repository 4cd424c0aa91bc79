/* Faults: each comes after a random time, and again some time after it is over. */
#include "model.h"

static void again_after(struct cluster *cluster, uint32_t id, double mean_s)
{
    if (mean_s > 0) {
        event_after(cluster, id, random_exponential(&cluster->faults, mean_s));
    }
}

/* A sum of uniform ones is normal enough, and exact everywhere. */
static double about_normal(struct random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += random_unit(random);
    }
    return sum;
}

void outages_begin(struct cluster *cluster)
{
    const double *p = cluster->p;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        again_after(cluster, cluster->range[EVENT_CRASH] + n, p[PAR_CRASH_EVERY]);
        again_after(cluster, cluster->range[EVENT_PAUSE] + n, p[PAR_PAUSE_EVERY]);
        again_after(cluster, cluster->range[EVENT_CUT] + n, p[PAR_CUT_EVERY]);
    }
    for (uint32_t s = 0; s < cluster->scheduler_count; s++) {
        cluster->nodes[s].offset_us =
            (int64_t)(about_normal(&cluster->faults) * p[PAR_OFFSET_MS] * 1e3);
        again_after(cluster, cluster->range[EVENT_STEP] + s, p[PAR_STEP_EVERY]);
    }
    if (p[PAR_OUTAGE_EVERY] > 0 && p[PAR_OUTAGE_S] > 0) {
        event_at(cluster, cluster->range[EVENT_OUTAGE], us_of(p[PAR_OUTAGE_EVERY]));
    }
    if (p[PAR_SLOW_EVERY] > 0 && p[PAR_SLOW_S] > 0) {
        event_at(cluster, cluster->range[EVENT_SLOW], us_of(p[PAR_SLOW_EVERY]));
    }
    if (p[PAR_HALT_AT] > 0 && p[PAR_HALT_S] > 0) {
        event_at(cluster, cluster->range[EVENT_HALT], us_of(p[PAR_HALT_AT]));
    }
}

/* From here on it is counted how long it takes until all is as before. */
static void begin_drain(struct cluster *cluster)
{
    cluster->drain_since_us = cluster->overdue > cluster->overdue_before ? cluster->now_us : 0;
}

static void toggle_outage(struct cluster *cluster)
{
    cluster->outage = !cluster->outage;
    if (cluster->outage) {
        cluster->overdue_before = cluster->overdue;
    } else {
        begin_drain(cluster);
    }
    event_after(cluster, cluster->range[EVENT_OUTAGE],
                cluster->p[cluster->outage ? PAR_OUTAGE_S : PAR_OUTAGE_EVERY]);
}

static void toggle_halt(struct cluster *cluster)
{
    cluster->halted = !cluster->halted;
    if (cluster->halted) {
        cluster->overdue_before = cluster->overdue;
        event_after(cluster, cluster->range[EVENT_HALT], cluster->p[PAR_HALT_S]);
    } else {
        cluster->halt_since_us = cluster->now_us;
        begin_drain(cluster);
    }
}

static void crash_or_restart(struct cluster *cluster, uint32_t number)
{
    const double *p = cluster->p;
    struct cluster_node *node = &cluster->nodes[number];
    uint32_t id = cluster->range[EVENT_CRASH] + number;
    bool schedules = number < cluster->scheduler_count;
    if (node->up) {
        cluster->outcome->crashes++;
        node->up = false;
        if (schedules) {
            scheduler_crash(cluster, number);
        } else {
            host_crash(cluster, number - cluster->scheduler_count);
        }
        event_after(cluster, id, p[PAR_RESTART_S]);
        return;
    }
    node->up = true;
    if (!schedules) {
        host_comes(cluster, number - cluster->scheduler_count);
    } else {
        event_at(cluster, cluster->range[EVENT_POLL] + number, cluster->now_us);
    }
    again_after(cluster, id, p[PAR_CRASH_EVERY]);
}

/* A node is away, or was, for some time: both come by the same event. */
static void leave_or_return(struct cluster *cluster, uint32_t number, uint32_t id,
                            uint64_t *until_us, double every_s, double length_s)
{
    if (*until_us != 0 && *until_us <= cluster->now_us) {
        *until_us = 0;
        again_after(cluster, id, every_s);
        if (number >= cluster->scheduler_count) {
            host_comes(cluster, number - cluster->scheduler_count);
        }
    } else {
        *until_us = cluster->now_us + us_of(length_s);
        event_at(cluster, id, *until_us);
        if (number >= cluster->scheduler_count) {
            host_goes(cluster, number - cluster->scheduler_count);
        }
    }
}

enum cluster_cause cause_of_slowness(const struct cluster *cluster, uint32_t timer)
{
    uint32_t each = (uint32_t)cluster->p[PAR_SLOTS];
    for (uint32_t host = 0; host < cluster->host_count; host++) {
        bool cut = cluster->nodes[cluster->scheduler_count + host].cut_until_us > cluster->now_us;
        for (uint32_t i = host * each; cut && i < (host + 1) * each; i++) {
            if (cluster->slots[i].busy && cluster->slots[i].copy.timer == timer) {
                return CLUSTER_CAUSE_PARTITION;
            }
        }
    }
    return CLUSTER_CAUSE_OUTRUN;
}

void outage_event(struct cluster *cluster, enum range range, uint32_t number)
{
    const double *p = cluster->p;
    uint32_t id = cluster->range[range] + number;
    struct cluster_node *node = &cluster->nodes[number];
    switch (range) {
    case EVENT_OUTAGE:
        toggle_outage(cluster);
        break;
    case EVENT_HALT:
        toggle_halt(cluster);
        break;
    case EVENT_SLOW:
        cluster->slow = !cluster->slow;
        event_after(cluster, id, p[cluster->slow ? PAR_SLOW_S : PAR_SLOW_EVERY]);
        break;
    case EVENT_CRASH:
        crash_or_restart(cluster, number);
        break;
    case EVENT_PAUSE:
        leave_or_return(cluster, number, id, &node->pause_until_us, p[PAR_PAUSE_EVERY],
                        p[PAR_PAUSE_S]);
        break;
    case EVENT_CUT:
        leave_or_return(cluster, number, id, &node->cut_until_us, p[PAR_CUT_EVERY], p[PAR_CUT_S]);
        break;
    default: /* EVENT_STEP: to the other side next time */
        node->offset_us = node->offset_us > (int64_t)(p[PAR_STEP_S] * 5e5)
                              ? node->offset_us - (int64_t)(p[PAR_STEP_S] * 1e6)
                              : node->offset_us + (int64_t)(p[PAR_STEP_S] * 1e6);
        again_after(cluster, id, p[PAR_STEP_EVERY]);
        break;
    }
}
