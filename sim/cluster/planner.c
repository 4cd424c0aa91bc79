/* Where the timers come from. */
#include "model.h"

/* --- places ---------------------------------------------------------------------------------- */

static uint32_t place(struct cluster *cluster)
{
    if (cluster->free_place != NO_PLACE) {
        uint32_t number = cluster->free_place;
        cluster->free_place = (uint32_t)timer_at(cluster, number)->deadline_us;
        return number;
    }
    if (cluster->timers_used == cluster->timers_room) {
        cluster->failed = !make_room(cluster);
        if (cluster->failed) {
            return NO_PLACE;
        }
    }
    return cluster->timers_used++;
}

/* A timer is accepted; stop_us 0: it is not stopped. */
static void accept_timer(struct cluster *cluster, uint64_t deadline_us, uint64_t stop_us)
{
    uint32_t number = place(cluster);
    if (number == NO_PLACE) {
        return;
    }
    struct cluster_timer *timer = timer_at(cluster, number);
    uint64_t commit_us = cluster->now_us + store_us(cluster, number, NULL, true);
    uint64_t shown_us = deadline_us > cluster->lead_us ? deadline_us - cluster->lead_us : 0;
    *timer = (struct cluster_timer){.deadline_us = deadline_us,
                                    .serial = (timer->serial + 1) & 0xffffffu,
                                    .record = PENDING,
                                    .cause = CLUSTER_CAUSE_OTHER};
    cluster->outcome->books.started++;
    cluster->live++;
    if (cluster->live > cluster->outcome->most_live) {
        cluster->outcome->most_live = cluster->live;
    }
    if (stop_us > commit_us && stop_us < shown_us) {
        timer_event(cluster, number, FOR_STOP, stop_us);
    } else if (commit_us < shown_us) {
        timer_event(cluster, number, FOR_DUE, shown_us);
    } else {
        timer->record = PLANNED;
        timer_event(cluster, number, FOR_COMMIT, commit_us);
    }
}

/* --- made up --------------------------------------------------------------------------------- */

static double made_up_delay(struct cluster *cluster)
{
    const double *p = cluster->p;
    double kind = random_unit(&cluster->arrivals);
    double longest = kind < p[PAR_SHORT_SHARE]                         ? p[PAR_SHORT_S]
                     : kind < p[PAR_SHORT_SHARE] + p[PAR_MIDDLE_SHARE] ? p[PAR_MIDDLE_S]
                                                                       : p[PAR_LONG_S];
    return random_unit(&cluster->arrivals) * longest;
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

void planner_arrive(struct cluster *cluster)
{
    const double *p = cluster->p;
    uint64_t deadline_us = cluster->now_us + us_of(made_up_delay(cluster));
    double round = random_unit(&cluster->arrivals);
    if (round < p[PAR_HOUR_SHARE]) {
        deadline_us = round_up(deadline_us, UINT64_C(3600000000));
    } else if (round < p[PAR_HOUR_SHARE] + p[PAR_MINUTE_SHARE]) {
        deadline_us = round_up(deadline_us, 60000000);
    }
    if (p[PAR_SAME_S] > 0) {
        deadline_us = us_of(p[PAR_SAME_S]);
    }
    if (cluster->request->deadlines_us != NULL) {
        deadline_us = cluster->request->deadlines_us[cluster->outcome->books.started];
    }
    uint64_t stop_us = 0;
    if (random_unit(&cluster->arrivals) < p[PAR_CANCELLED]) {
        double share = random_unit(&cluster->arrivals);
        stop_us = cluster->now_us + (uint64_t)(share * (double)(deadline_us > cluster->now_us
                                                                    ? deadline_us - cluster->now_us
                                                                    : 0));
    }
    accept_timer(cluster, deadline_us, stop_us);
    cluster->planned_all = cluster->outcome->books.started == cluster->request->timers;
    if (!cluster->planned_all) {
        event_after(cluster, cluster->range[EVENT_ARRIVAL],
                    random_exponential(&cluster->arrivals, 1 / p[PAR_ARRIVALS]));
    }
    if (cluster->request->progress != NULL && (cluster->outcome->books.started & 0x3fff) == 0) {
        cluster->request->progress(cluster->request->progress_ctx, cluster->outcome->books.started);
    }
}
