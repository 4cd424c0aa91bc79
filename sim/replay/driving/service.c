#include "service.h"

#include "due.h"
#include "memory.h"
#include "random.h"

#include <stdlib.h>

enum { DRAWS = 4096 };

struct service {
    uint64_t tick_ns;
    uint64_t end_tick;
    uint64_t round;      /* tick of the last one */
    uint64_t ended_tick; /* when its last callback ends */
    uint64_t ended_ns;   /* offset in that tick */
    uint64_t served;     /* callbacks so far */
    uint64_t period;     /* of the series of service times */
    uint64_t sums_ns[];  /* sums of the first 0 .. period of them */
};

/* Write the sums of the midpoint quantiles of DRAWS equal parts, shuffled: their mean is the
 * distribution's, and the series is reproducible. */
static void draw_exponential(uint64_t *sums_ns, uint64_t mean_ns)
{
    struct random random;
    double quantiles[DRAWS] = {0};
    double sum = 0;
    random_seed(&random, 1);
    for (size_t i = 0; i < DRAWS; i++) {
        size_t other = random_bits(&random) % (i + 1);
        quantiles[i] = quantiles[other];
        quantiles[other] = -random_log(1 - ((double)i + 0.5) / DRAWS);
        sum += -random_log(1 - ((double)i + 0.5) / DRAWS);
    }
    double so_far = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        so_far += quantiles[i];
        sums_ns[i + 1] = (uint64_t)(so_far / sum * DRAWS * (double)mean_ns + 0.5);
    }
}

struct service *service_open(const struct replay_drive *drive, uint64_t tick_ns, uint64_t end_tick)
{
    if (drive->service_ns == 0) {
        return NULL;
    }
    uint64_t period = drive->service_varies ? DRAWS : 1;
    struct service *service =
        memory_bytes(sizeof *service + (size_t)(period + 1) * sizeof service->sums_ns[0]);
    *service = (struct service){.tick_ns = tick_ns, .end_tick = end_tick, .period = period};
    service->sums_ns[0] = 0;
    service->sums_ns[1] = drive->service_ns;
    if (drive->service_varies) {
        draw_exponential(service->sums_ns, drive->service_ns);
    }
    return service;
}

void service_close(struct service *service)
{
    free(service);
}

/* The sums may wrap; their difference does not. */
static uint64_t busy_ns(const struct service *service, uint64_t count)
{
    const uint64_t *sums = service->sums_ns;
    uint64_t period = service->period;
    uint64_t to = service->served + count;
    return (to / period - service->served / period) * sums[period] + sums[to % period] -
           sums[service->served % period];
}

/* Return the tick at which `count` callbacks of a round at `tick` have ended; *ns: the offset in
 * it. */
static uint64_t stands(const struct service *service, uint64_t tick, uint64_t count, uint64_t *ns)
{
    bool waited = service->ended_tick < tick;
    uint64_t busy = busy_ns(service, count);
    uint64_t rest = (waited ? 0 : service->ended_ns) + busy % service->tick_ns;
    *ns = rest % service->tick_ns;
    return due_add(waited ? tick : service->ended_tick,
                   busy / service->tick_ns + rest / service->tick_ns);
}

uint64_t service_begins(const struct service *service, uint64_t tick, uint64_t fired)
{
    uint64_t ns;
    return stands(service, tick, fired, &ns);
}

uint64_t service_advanced(struct service *service, uint64_t tick, uint64_t fired)
{
    uint64_t busy = busy_ns(service, fired);
    service->ended_tick = stands(service, tick, fired, &service->ended_ns);
    service->served += fired;
    service->round = tick;
    return busy;
}

uint64_t service_free(const struct service *service)
{
    uint64_t soonest = service->round + 1;
    uint64_t ended = service->ended_tick;
    if (ended > service->end_tick) {
        ended = service->end_tick;
    }
    return ended > soonest ? ended : soonest;
}

uint64_t service_chance(const struct service *service, const struct replay_drive *drive,
                        uint64_t end_tick, uint64_t tick)
{
    if (service == NULL) {
        return drive_chance(drive, end_tick, tick);
    }
    if (tick <= service->round) {
        return service->round;
    }
    uint64_t first = service_free(service);
    if (tick > first) {
        return drive_chance(drive, end_tick, tick);
    }
    /* A poll missed while the loop was busy is made when it is free. */
    uint64_t missed = drive_chance(drive, end_tick, service->round + 1);
    return missed <= first ? drive_awake(drive, end_tick, first)
                           : drive_chance(drive, end_tick, first);
}

uint64_t service_applies(const struct service *service, uint64_t tick)
{
    if (service->round >= tick) {
        return service->round;
    }
    uint64_t first = service_free(service);
    return first > tick ? first : tick;
}
