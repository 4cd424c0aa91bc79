/* Where the timers come from: made up, or a trace's. */
#include "model.h"

#include "memory.h"
#include "trace.h"

#include <inttypes.h>
#include <string.h>

struct planner {
    /* Of a trace. */
    struct trace_reader *reader;
    struct trace_block block;
    size_t group;
    size_t record;    /* in the group */
    uint32_t *places; /* of each id its timer, and */
    uint32_t *serials;
    double tick_us;
};

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
static uint32_t start(struct cluster *cluster, uint64_t deadline_us, uint64_t stop_us)
{
    uint32_t number = place(cluster);
    if (number == NO_PLACE) {
        return number;
    }
    struct timer *timer = timer_at(cluster, number);
    uint64_t commit_us = cluster->now_us + store_us(cluster, number, NULL, TIME_START, true);
    uint64_t shown_us = deadline_us > cluster->lead_us ? deadline_us - cluster->lead_us : 0;
    *timer = (struct timer){.deadline_us = deadline_us,
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
    return number;
}

void planner_commit(struct cluster *cluster, uint32_t number)
{
    timer_at(cluster, number)->record = PENDING;
    timer_event(cluster, number, FOR_DUE, cluster->now_us);
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

static void make_up(struct cluster *cluster)
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
    uint64_t stop_us = 0;
    if (random_unit(&cluster->arrivals) < p[PAR_CANCELLED]) {
        double share = random_unit(&cluster->arrivals);
        stop_us = cluster->now_us + (uint64_t)(share * (double)(deadline_us > cluster->now_us
                                                                    ? deadline_us - cluster->now_us
                                                                    : 0));
    }
    (void)start(cluster, deadline_us, stop_us);
    cluster->planned_all = cluster->outcome->books.started == cluster->request->timers;
    if (!cluster->planned_all) {
        event_at(cluster, cluster->range[EVENT_ARRIVAL],
                 cluster->now_us +
                     us_of(random_exponential(&cluster->arrivals, 1 / p[PAR_ARRIVALS])));
    }
}

/* --- a trace's ------------------------------------------------------------------------------- */

/* A stop that comes before its timer is in anybody's hands ends it. */
static void stop(struct cluster *cluster, uint32_t id)
{
    struct planner *planner = cluster->planner;
    uint32_t number = planner->places[id];
    if (number == NO_PLACE || timer_at(cluster, number)->serial != planner->serials[id]) {
        return;
    }
    struct timer *timer = timer_at(cluster, number);
    planner->places[id] = NO_PLACE;
    cluster->outcome->store_operations++;
    if (timer->record != PLANNED && timer->record != PENDING && timer->record != DUE) {
        return;
    }
    timer->stopped = true;
    timer->record = GONE;
    if (timer->event != FOR_RETRY) {
        timer_event_cancel(cluster, number);
    }
    settle(cluster, number);
}

/* The tick of the next operation; false: there is none. */
static bool next_operation(struct cluster *cluster, uint64_t *at_us)
{
    struct planner *planner = cluster->planner;
    while (planner->group == planner->block.group_count) {
        int got = trace_reader_next(planner->reader, &planner->block, cluster->error);
        planner->group = 0;
        planner->record = 0;
        if (got <= 0) {
            cluster->failed = got < 0;
            return false;
        }
    }
    *at_us = (uint64_t)((double)planner->block.groups[planner->group].tick * planner->tick_us);
    return true;
}

static void replay(struct cluster *cluster)
{
    struct planner *planner = cluster->planner;
    uint64_t at_us;
    bool more = next_operation(cluster, &at_us);
    while (more && at_us <= cluster->now_us && !cluster->failed &&
           cluster->outcome->books.started < cluster->request->timers) {
        const struct trace_group *group = &planner->block.groups[planner->group];
        const struct trace_record *record = &planner->block.records[group->first + planner->record];
        stop(cluster, record->id);
        if (record->op == TRACE_START) {
            uint64_t deadline_us = (uint64_t)((double)record->deadline * planner->tick_us);
            uint32_t number = start(cluster, deadline_us, 0);
            if (number != NO_PLACE) {
                planner->places[record->id] = number;
                planner->serials[record->id] = timer_at(cluster, number)->serial;
            }
        }
        if (++planner->record == group->count) {
            planner->record = 0;
            planner->group++;
        }
        more = next_operation(cluster, &at_us);
    }
    cluster->planned_all = !more || cluster->outcome->books.started == cluster->request->timers;
    if (!cluster->planned_all) {
        event_at(cluster, cluster->range[EVENT_ARRIVAL], at_us);
    }
}

/* --- */

void planner_arrive(struct cluster *cluster)
{
    if (cluster->planner != NULL) {
        replay(cluster);
    } else {
        make_up(cluster);
    }
    if (cluster->request->progress != NULL && (cluster->outcome->books.started & 0x3fff) == 0) {
        cluster->request->progress(cluster->request->progress_ctx, cluster->outcome->books.started);
    }
}

bool planner_open(struct cluster *cluster)
{
    if (cluster->request->trace == NULL) {
        return true;
    }
    struct planner *planner = memory_new(1, sizeof *planner);
    cluster->planner = planner;
    planner->reader = trace_reader_open(cluster->request->trace, cluster->error);
    if (planner->reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(planner->reader);
    planner->tick_us = (double)header->tick_ns / 1e3;
    planner->places = memory_new((size_t)header->ids + 1, sizeof *planner->places);
    planner->serials = memory_new((size_t)header->ids + 1, sizeof *planner->serials);
    memset(planner->places, 0xff, ((size_t)header->ids + 1) * sizeof *planner->places);
    return true;
}

void planner_close(struct cluster *cluster)
{
    struct planner *planner = cluster->planner;
    if (planner != NULL) {
        if (planner->reader != NULL) {
            trace_reader_close(planner->reader);
        }
        free(planner->places);
        free(planner->serials);
        free(planner);
    }
}
