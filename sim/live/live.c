#include "live.h"

#include "due.h"
#include "memory.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* A structure with a horizon gets this much more than the timeout. */
#define LAG_MAX_NS UINT64_C(10000000000)

struct live_run {
    const struct live_plan *plan;
    const struct live_clock *clock;
    struct live_result *result;
    void *self;
    uint64_t *timeout_ends_ns; /* by connection */
    struct random random;
    uint64_t tick; /* of the last advance */
    uint64_t armed_ns;
    uint64_t begun_ns; /* when it began to be driven */
    uint64_t syncs;    /* that the structure has counted */
    uint64_t commit_ended_ns;
    struct service *service; /* NULL: callbacks take no time of their own */
};

/* Ticks are counted when they are over, so a deadline is rounded up: never early. */
static uint64_t deadline_of(const struct live_plan *plan, uint64_t end_ns)
{
    return (end_ns + plan->tick_ns - 1) / plan->tick_ns;
}

static bool start_timeout(struct live_run *run, uint32_t connection, uint64_t end_ns)
{
    const struct live_plan *plan = run->plan;
    run->timeout_ends_ns[connection] = end_ns;
    enum tl_status status = plan->algo->start(run->self, connection, deadline_of(plan, end_ns));
    if (status != TL_OK && run->result->fault[0] == '\0') {
        (void)snprintf(run->result->fault, sizeof run->result->fault, "connection %u: %s",
                       (unsigned)connection, tl_status_text(status));
    }
    return status == TL_OK;
}

/* After an operation: whether it has waited for the disk. */
static void note_commits(struct live_run *run)
{
    const struct tl_algo *algo = run->plan->algo;
    if (algo->durability == NULL) {
        return;
    }
    struct tl_durability durability;
    algo->durability(run->self, &durability);
    if (durability.syncs > run->syncs) {
        run->commit_ended_ns = run->clock->now_ns(run->clock->ctx);
        run->result->commits += durability.syncs - run->syncs;
        run->syncs = durability.syncs;
    }
}

/* Twice the time has passed, in which the loop did not come round. */
static bool is_over(const struct live_run *run)
{
    const struct live_plan *plan = run->plan;
    uint64_t passed_ns = run->clock->now_ns(run->clock->ctx) - run->begun_ns;
    if (plan->progress != NULL) {
        plan->progress(plan->progress_ctx, passed_ns);
    }
    return passed_ns > 2 * plan->duration_ns;
}

/* In a callback: an advance with many of them comes to an end in any case. */
static void spend_service_time(struct live_run *run)
{
    const struct live_clock *clock = run->clock;
    if (run->service == NULL || is_over(run)) {
        return;
    }
    uint64_t ns = service_advanced(run->service, 0, 1);
    if (clock->spend != NULL) {
        clock->spend(clock->ctx, ns);
        return;
    }
    uint64_t begun_ns = clock->now_ns(clock->ctx);
    while (clock->now_ns(clock->ctx) - begun_ns < ns) {
    }
}

/* A connection was silent for too long, and another takes its place, inside the callback as in a
 * server. */
static void on_fire(void *ctx, uint32_t connection, uint64_t tick)
{
    (void)tick;
    struct live_run *run = ctx;
    struct live_result *result = run->result;
    uint64_t now_ns = run->clock->now_ns(run->clock->ctx);
    uint64_t end_ns = run->timeout_ends_ns[connection];
    result->fired++;
    result->early += now_ns < end_ns ? 1 : 0;
    histogram_add(&result->lateness_ns, now_ns < end_ns ? 0 : now_ns - end_ns);
    if (run->commit_ended_ns > deadline_of(run->plan, end_ns) * run->plan->tick_ns) {
        histogram_add(&result->waited_ns, now_ns - end_ns);
    }
    (void)start_timeout(run, connection, now_ns + run->plan->timeout_ns);
    spend_service_time(run);
}

static void advance(struct live_run *run)
{
    const struct live_plan *plan = run->plan;
    uint64_t begun_ns = run->clock->now_ns(run->clock->ctx);
    uint64_t tick = begun_ns / plan->tick_ns;
    if (tick > run->tick || plan->drive == LIVE_OWN) {
        run->tick = tick;
        (void)plan->algo->advance(run->self, tick, TL_NO_BUDGET, on_fire, run);
        histogram_add(&run->result->advance_ns, run->clock->now_ns(run->clock->ctx) - begun_ns);
        note_commits(run);
    }
}

/* The longest time between the structure's clock and a start. */
static uint64_t longest_lag_ns(const struct live_plan *plan)
{
    const uint64_t most_ns = UINT64_C(1000000000000000);
    uint64_t each_ns = plan->callbacks.service_ns;
    return LAG_MAX_NS +
           (each_ns < most_ns / plan->connections ? each_ns * plan->connections : most_ns);
}

/* As many restarts as the rate says that there should have been by now. */
static void serve_traffic(struct live_run *run)
{
    const struct live_plan *plan = run->plan;
    uint64_t now_ns = run->clock->now_ns(run->clock->ctx);
    uint64_t wanted = (uint64_t)((double)now_ns * 1e-9 * (double)plan->restarts_per_second);
    while (run->result->restarts < wanted) {
        /* The time of a start may grow with the connections, so the end is checked in any case. */
        if (run->result->restarts % 256 == 0 && is_over(run)) {
            return;
        }
        uint32_t connection =
            (uint32_t)((random_bits(&run->random) >> 32) * plan->connections >> 32);
        (void)start_timeout(run, connection, now_ns + plan->timeout_ns);
        note_commits(run);
        run->result->restarts++;
    }
}

/* Set the next wakeup, if it has changed. */
static bool set_wakeup(struct live_run *run)
{
    const struct live_plan *plan = run->plan;
    if (plan->drive == LIVE_OWN) {
        return true;
    }
    uint64_t next = plan->drive == LIVE_POLL ? run->tick + 1 : plan->algo->next(run->self);
    next = next <= run->tick ? run->tick + 1 : next;
    uint64_t at_ns = next > LIVE_NEVER / plan->tick_ns ? LIVE_NEVER : next * plan->tick_ns;
    if (at_ns == run->armed_ns) {
        return true;
    }
    run->armed_ns = at_ns;
    run->result->arms++;
    return run->clock->arm(run->clock->ctx, at_ns);
}

static uint64_t processor_ns(void)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static bool drive(struct live_run *run)
{
    struct live_result *result = run->result;
    uint64_t begun_ns = run->clock->now_ns(run->clock->ctx);
    uint64_t now_ns = begun_ns;
    run->begun_ns = begun_ns;
    uint64_t used_ns = processor_ns();
    note_commits(run);
    result->commits = 0; /* those of the first starts */
    while (now_ns - begun_ns < run->plan->duration_ns && result->fault[0] == '\0') {
        if (run->plan->progress != NULL) {
            run->plan->progress(run->plan->progress_ctx, now_ns - begun_ns);
        }
        unsigned causes = set_wakeup(run) ? run->clock->wait(run->clock->ctx) : 0;
        if (causes == 0) {
            return false;
        }
        uint64_t fired = result->fired;
        advance(run);
        if ((causes & LIVE_TIMER) != 0) {
            run->armed_ns = LIVE_NEVER;
            result->timer_wakeups++;
            result->idle_wakeups += result->fired == fired ? 1 : 0;
        } else {
            result->traffic_wakeups++;
        }
        if ((causes & LIVE_TRAFFIC) != 0) {
            serve_traffic(run);
        }
        now_ns = run->clock->now_ns(run->clock->ctx);
    }
    result->elapsed_ns = now_ns - begun_ns;
    result->processor_ns = processor_ns() - used_ns;
    return true;
}

/* What wakes by itself may have ended, and not have been waited for yet. */
static bool is_owed(const struct live_run *run)
{
    for (uint32_t c = 0; c < run->plan->connections; c++) {
        if (run->tick > deadline_of(run->plan, run->timeout_ends_ns[c])) {
            return true;
        }
    }
    return false;
}

static void drain(struct live_run *run)
{
    uint64_t end_ns = run->clock->now_ns(run->clock->ctx) + LAG_MAX_NS;
    uint64_t tick = run->tick;
    bool waits = true;
    while (waits && is_owed(run) && run->clock->now_ns(run->clock->ctx) < end_ns) {
        waits = run->clock->wait(run->clock->ctx) != 0;
        advance(run);
        run->tick = tick;
    }
}

/* Whether every connection has its timer, and none should have fired by the last advance. */
static void verify(struct live_run *run)
{
    const struct live_plan *plan = run->plan;
    struct live_result *result = run->result;
    uint64_t count = plan->algo->count(run->self);
    uint64_t late =
        tl_algo_precision(plan->algo, plan->options, plan->timeout_ns / plan->tick_ns).late_ticks;
    for (uint32_t c = 0; c < plan->connections && result->fault[0] == '\0'; c++) {
        uint64_t deadline = deadline_of(plan, run->timeout_ends_ns[c]);
        if (run->tick > due_last(deadline, late)) {
            (void)snprintf(result->fault, sizeof result->fault,
                           "connection %u: due at tick %llu, not fired by tick %llu", (unsigned)c,
                           (unsigned long long)deadline, (unsigned long long)run->tick);
        }
    }
    if (count != plan->connections && result->fault[0] == '\0') {
        (void)snprintf(result->fault, sizeof result->fault, "%llu timers pending of %u connections",
                       (unsigned long long)count, (unsigned)plan->connections);
    }
}

bool live_run(const struct live_plan *plan, const struct live_clock *clock,
              struct live_result *result, struct error *error)
{
    *result = (struct live_result){0};
    if (plan->drive == LIVE_SLEEP && plan->algo->next == NULL) {
        return error_set(error, "%s does not say when to wake next; drive it with poll",
                         plan->algo->name);
    }
    struct live_run run = {.plan = plan, .clock = clock, .result = result, .armed_ns = LIVE_NEVER};
    random_seed(&run.random, plan->seed);
    run.timeout_ends_ns = memory_new(plan->connections, sizeof *run.timeout_ends_ns);
    /* All work of the loop takes time, and makes the structure's clock late. */
    uint64_t begun_ns = clock->now_ns(clock->ctx);
    run.tick = begun_ns / plan->tick_ns;
    struct tl_config config = {.capacity = plan->connections,
                               .now = run.tick,
                               .max_delay_ticks =
                                   (plan->timeout_ns + longest_lag_ns(plan)) / plan->tick_ns + 1,
                               .options = plan->options,
                               .allocator = tl_system_allocator()};
    run.self = plan->made;
    enum tl_status status =
        plan->drive == LIVE_OWN ? TL_OK : plan->algo->create(&config, &run.self);
    if (status != TL_OK) {
        free(run.timeout_ends_ns);
        return error_set(error, "%s: %s", plan->algo->name, tl_status_text(status));
    }
    /* They came one after the other: the timeouts end all along one timeout from now, but for its
     * beginning, when not all of them are started yet. */
    for (uint32_t c = 0; c < plan->connections; c++) {
        double share = 0.05 + 0.95 * (c + 1) / plan->connections;
        (void)start_timeout(&run, c, begun_ns + (uint64_t)((double)plan->timeout_ns * share));
        if (c % 4096 == 0 && plan->progress != NULL) {
            plan->progress(plan->progress_ctx, 0);
        }
    }
    if (plan->ready != NULL) {
        plan->ready(plan->ready_ctx);
    }
    run.service = service_open(&plan->callbacks, plan->tick_ns);
    bool done = drive(&run) || error_set(error, "the kernel's timers failed");
    service_close(run.service);
    run.service = NULL;
    if (done && (plan->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0) {
        if (plan->drive == LIVE_OWN) {
            drain(&run);
        }
        verify(&run);
    }
    if (plan->drive != LIVE_OWN) {
        plan->algo->destroy(run.self);
    }
    free(run.timeout_ends_ns);
    return done;
}
