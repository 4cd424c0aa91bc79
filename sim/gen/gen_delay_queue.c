/*
 * delay-queue: jobs that run in hours or days: an unpaid order is cancelled, a reminder is sent, a
 * campaign begins. Many are cancelled before, because the order is paid. A campaign is an instant,
 * such as 20:00:00 of every day, at which very many jobs are due.
 *
 * A slot holds one job after the other. Ordinary jobs have log-uniform delays: as many between one
 * hour and two as between one day and two. Those of a campaign are filed at any time since the one
 * before. The model begins in its steady state, which has a closed form: simulating days in order
 * to record seconds would be a waste.
 */
#include "gen_model.h"

enum {
    TICK_US = GEN_TICK_US,
    DELAY_MIN_S,
    DELAY_MAX_S,
    CANCELLED,
    PAUSE_S,
    CAMPAIGN,
    CAMPAIGN_AT_S,
    CAMPAIGN_PERIOD_S,
};

static const struct tl_option delay_queue_parameters[] = {
    GEN_TICK_US_ROWS(100000, "chosen"),
    GEN_REAL(DELAY_MIN_S, "delay_min_s", 1800, 0.001, 1e8,
             "ordinary jobs' delays: log-uniform from this",
             "chosen: an unpaid order is held for half an hour"),
    GEN_REAL(DELAY_MAX_S, "delay_max_s", 604800, 0.001, 1e8, "to this", "chosen: a week"),
    GEN_REAL(CANCELLED, "cancelled", 0.5, 0, 1,
             "share of ordinary jobs that are cancelled, at any time before they are due",
             "chosen"),
    GEN_REAL(PAUSE_S, "pause_s", 60, 0.001, 1e8,
             "mean time from the end of an ordinary job to the next in its slot", "chosen"),
    GEN_REAL(CAMPAIGN, "campaign", 0.1, 0, 1, "share of slots with jobs of a campaign", "chosen"),
    GEN_REAL(CAMPAIGN_AT_S, "campaign_at_s", 5, 0, 1e8,
             "when the first campaign begins, after the warm-up", "chosen"),
    GEN_REAL(CAMPAIGN_PERIOD_S, "campaign_period_s", 86400, 0.001, 1e8,
             "time from one campaign to the next", "daily at 20:00:00"),
    {0},
};

enum { KIND_JOB, KINDS };
static const char *const delay_queue_kinds[] = {[KIND_JOB] = "job", NULL};

#define DELAY_QUEUE_COUNTS(X)                                                                      \
    X(COUNT_JOBS, "jobs")                                                                          \
    X(COUNT_CANCELS, "cancels")                                                                    \
    X(COUNT_EXPIRIES, "expiries")                                                                  \
    X(COUNT_CAMPAIGN_JOBS, "campaign_jobs")                                                        \
    X(COUNT_CAMPAIGN_EXPIRIES, "campaign_expiries")
enum { DELAY_QUEUE_COUNTS(GEN_PLACE) };
static const char *const delay_queue_counts[] = {DELAY_QUEUE_COUNTS(GEN_NAME) NULL};

struct slot {
    struct gen_timer timers[KINDS];
    uint64_t event_at; /* pending: the job is cancelled; otherwise: the next job */
    bool campaign;
};

struct delay_queue {
    double delay_min_ticks;
    double delay_max_ticks;
    double log_spread; /* of the longest delay to the shortest */
    double pause_ticks;
    uint64_t campaign_tick; /* the last before the model begins */
    uint64_t campaign_period_ticks;
};

/* Return the ticks until a job with this delay is cancelled, if it exists for `share` of it. */
static uint64_t cancel_after(double share, uint64_t delay_ticks)
{
    return 1 + (uint64_t)(share * (double)(delay_ticks - 1));
}

static void start_job(struct gen_model *model, uint64_t now, struct slot *slot)
{
    const struct delay_queue *queue = model->state;
    if (slot->campaign) {
        model->counts[COUNT_CAMPAIGN_JOBS]++;
        uint64_t period = queue->campaign_period_ticks;
        uint64_t since = (now - queue->campaign_tick) % period;
        gen_timer_start(model, now, &slot->timers[KIND_JOB], period - since);
        slot->event_at = GEN_NEVER;
        return;
    }
    model->counts[COUNT_JOBS]++;
    uint64_t delay = gen_whole_ticks(queue->delay_min_ticks *
                                     random_exp(queue->log_spread * random_unit(&model->random)));
    gen_timer_start(model, now, &slot->timers[KIND_JOB], delay);
    slot->event_at = GEN_NEVER;
    if (delay > 1 && gen_chance(model, model->parameters[CANCELLED])) {
        slot->event_at = now + cancel_after(random_unit(&model->random), delay);
    }
}

/* Return the pause before a campaign's next job, which must come before the next campaign. */
static uint64_t campaign_pause(struct gen_model *model)
{
    const struct delay_queue *queue = model->state;
    return gen_uniform_age(model, queue->campaign_period_ticks - 1);
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    const struct delay_queue *queue = model->state;
    struct slot *slot = record;
    if (gen_timer_expires(model, &slot->timers[KIND_JOB], now)) {
        model->counts[slot->campaign ? COUNT_CAMPAIGN_EXPIRIES : COUNT_EXPIRIES]++;
        slot->event_at = now + (slot->campaign ? campaign_pause(model)
                                               : gen_exponential(model, queue->pause_ticks));
    } else if (slot->timers[KIND_JOB].delay_ticks > 0) {
        model->counts[COUNT_CANCELS]++;
        gen_timer_stop(model, now, &slot->timers[KIND_JOB]);
        slot->event_at = now + gen_exponential(model, queue->pause_ticks);
    } else {
        gen_timers_renew(model, slot->timers);
        start_job(model, now, slot);
    }
}

static void place_campaign(struct gen_model *model, uint64_t now, struct slot *slot)
{
    const struct delay_queue *queue = model->state;
    uint64_t period = queue->campaign_period_ticks;
    uint64_t after_last = campaign_pause(model);
    uint64_t created = queue->campaign_tick + after_last;
    slot->campaign = true;
    slot->event_at = created;
    if (created < now) {
        gen_timer_place(&slot->timers[KIND_JOB], now, period - after_last, now - created);
        slot->event_at = GEN_NEVER;
    }
}

/* Jobs that exist at a given moment are length-biased: a log-uniform delay becomes uniform, and
 * cancelled jobs exist half as long. */
static void place_ordinary(struct gen_model *model, uint64_t now, struct slot *slot)
{
    const struct delay_queue *queue = model->state;
    double spread = queue->delay_max_ticks - queue->delay_min_ticks;
    double delay_mean = queue->log_spread > 0 ? spread / queue->log_spread : queue->delay_min_ticks;
    double kept = (1 - model->parameters[CANCELLED]) * delay_mean;
    double cancelled = model->parameters[CANCELLED] * delay_mean / 2;
    double u = random_unit(&model->random) * (kept + cancelled + queue->pause_ticks);
    if (u > kept + cancelled) {
        slot->event_at = now - 1 + gen_exponential(model, queue->pause_ticks);
        return;
    }
    uint64_t delay = gen_whole_ticks(queue->delay_min_ticks + spread * random_unit(&model->random));
    uint64_t life = delay;
    if (u > kept && delay > 1) {
        /* The larger of two draws, again because of the length bias. */
        double a = random_unit(&model->random);
        double b = random_unit(&model->random);
        life = cancel_after(a > b ? a : b, delay);
    }
    uint64_t age = gen_uniform_age(model, life);
    gen_timer_place(&slot->timers[KIND_JOB], now, delay, age);
    slot->event_at = life < delay ? now - age + life : GEN_NEVER;
}

static void place(struct gen_model *model, void *record)
{
    struct slot *slot = record;
    if (gen_chance(model, model->parameters[CAMPAIGN])) {
        place_campaign(model, GEN_EPOCH, slot);
    } else {
        place_ordinary(model, GEN_EPOCH, slot);
    }
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    struct delay_queue *queue = model->state;
    if (!gen_ordered(model, DELAY_MIN_S, DELAY_MAX_S, 1)) {
        return false;
    }
    queue->delay_min_ticks = p[DELAY_MIN_S] * per_second;
    queue->delay_max_ticks = p[DELAY_MAX_S] * per_second;
    queue->log_spread = random_log(p[DELAY_MAX_S] / p[DELAY_MIN_S]);
    queue->pause_ticks = p[PAUSE_S] * per_second;
    queue->campaign_period_ticks = gen_whole_ticks(p[CAMPAIGN_PERIOD_S] * per_second);
    uint64_t at = (uint64_t)(p[CAMPAIGN_AT_S] * per_second);
    if (at >= queue->campaign_period_ticks || queue->campaign_period_ticks < 2) {
        return error_set(model->error, "delay-queue: campaign_period_s must be above campaign_at_s "
                                       "and at least two ticks");
    }
    queue->campaign_tick = GEN_EPOCH + at - queue->campaign_period_ticks;
    model->warmup_end = GEN_EPOCH;
    model->event_at = offsetof(struct slot, event_at);
    gen_model_begin(model, sizeof(struct slot), GEN_EPOCH, gen_whole_ticks(queue->delay_max_ticks));
    return true;
}

const struct gen_workload gen_delay_queue = {
    .name = "delay-queue",
    .summary = "jobs hours and days ahead, a share of them at one instant",
    .stresses = "very long delays, upper levels and overflow; a campaign: thousands at one tick",
    .resembles = "order systems, reminders, campaigns: a message broker's delayed messages",
    .parameters = delay_queue_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = delay_queue_kinds,
    .counts = delay_queue_counts,
    .state_bytes = sizeof(struct delay_queue),
    .create = create,
    .place = place,
    .visit = visit,
};
