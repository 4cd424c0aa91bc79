/*
 * lease: locks that a holder renews after a third of their term. A holder that dies renews no more:
 * its lease expires, and the next holder takes the lock. docs/internals/recipes.md adds it to a copy
 * of the sources, as an example of a workload.
 */
#include "gen_model.h"

enum { TICK_US = GEN_TICK_US, TERM_S, DIES };

static const struct tl_option lease_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(TERM_S, "term_s", 15, 0.01, 86400, "term of a lease",
             "leader election of Kubernetes' client-go: 15 s"),
    GEN_REAL(DIES, "dies", 0.01, 0, 1, "probability that a holder dies before a renewal", "chosen"),
    [DIES + 1] = {0},
};

enum { KIND_LEASE, KINDS };
static const char *const lease_kinds[] = {[KIND_LEASE] = "lease", NULL};

enum { COUNT_RENEWALS, COUNT_EXPIRIES };
static const char *const lease_counts[] = {
    [COUNT_RENEWALS] = "renewals", [COUNT_EXPIRIES] = "expiries", NULL};

/* The timers come first: the model finds what is pending there. */
struct lock {
    struct gen_timer timers[KINDS];
    uint64_t renews_at; /* GEN_NEVER: its holder is dead */
};

static uint64_t term_ticks(const struct gen_model *model, double parts)
{
    return gen_whole_ticks(model->parameters[TERM_S] * gen_per_second(model) / parts);
}

static void hold(struct gen_model *model, uint64_t now, struct lock *lock)
{
    gen_timer_start(model, now, &lock->timers[KIND_LEASE], term_ticks(model, 1));
    lock->renews_at = now + term_ticks(model, 3);
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    struct lock *lock = record;
    if (gen_timer_expires(model, &lock->timers[KIND_LEASE], now)) {
        model->counts[COUNT_EXPIRIES]++;
        hold(model, now, lock); /* a reaction: the expiry gives the lock to the next holder */
    } else if (lock->renews_at == now && gen_chance(model, model->parameters[DIES])) {
        lock->renews_at = GEN_NEVER;
    } else if (lock->renews_at == now) {
        model->counts[COUNT_RENEWALS]++;
        hold(model, now, lock);
    }
}

/* All holders live at first. */
static void place(struct gen_model *model, void *record)
{
    struct lock *lock = record;
    uint64_t third = term_ticks(model, 3);
    uint64_t age = gen_uniform_age(model, third);
    gen_timer_place(&lock->timers[KIND_LEASE], GEN_EPOCH, term_ticks(model, 1), age);
    lock->renews_at = GEN_EPOCH - age + third;
}

/* After four terms as many are dead as ever. */
static bool create(struct gen_model *model)
{
    model->warmup_end = GEN_EPOCH + 4 * term_ticks(model, 1);
    model->event_at = offsetof(struct lock, renews_at);
    gen_model_begin(model, sizeof(struct lock), GEN_EPOCH, term_ticks(model, 1));
    return true;
}

const struct gen_workload gen_lease = {
    .name = "lease",
    .summary = "locks that their holders renew after a third of the term",
    .stresses = "restarts of timers that hardly ever expire, all with one delay",
    .resembles = "leader election, distributed locks, service registries",
    .parameters = lease_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = lease_kinds,
    .counts = lease_counts,
    .create = create,
    .place = place,
    .visit = visit,
};
