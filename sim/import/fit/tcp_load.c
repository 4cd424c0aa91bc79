#include "tcp_load.h"

#include "growing_array.h"
#include "tcp_measure.h"

#include <math.h>
#include <stdlib.h>

/* A limit is seen where so many lives, and such a share of them, end with it. */
#define LIMIT_LIVES   20
#define LIMIT_SHARE   0.05

/* A request whose timer would be due as it is, is not in a recording: up to this share are missing.
 */
#define LIMIT_MISSING 0.07

/* Fewer requests than this are what some page needs, and no limit. */
#define LIMIT_LEAST   10

/* A timer of a server runs late by up to this share. */
#define IDLE_LATENESS 0.02

/* Of the gaps, or lives, so many may lie beyond a limit: there are other reasons. */
#define BEYOND_SHARE  0.01

/* Limits of which fewer of the closes come are not what the load is. */
#define LIMITS_LEAST  0.5

/* Gaps are of two classes if the means of their logarithms are so far apart, and so many standard
 * deviations. */
#define SLOW_TIMES    4
#define SLOW_APART    4

struct life {
    uint64_t first; /* request */
    uint64_t last;
    uint64_t end;
    double log_sum; /* of its gaps */
    uint32_t gaps;
    uint32_t requests;
    bool whole;
    bool ended;
    bool slow;
};

struct gap {
    uint64_t ticks;
    uint32_t life;
};

struct tcp_load {
    struct life *lives;
    uint32_t life_count;
    uint32_t life_room;
    struct gap *gaps;
    uint32_t gap_count;
    uint32_t gap_room;
    uint64_t *sorted;
};

struct tcp_load *tcp_load_create(void)
{
    return calloc(1, sizeof(struct tcp_load));
}

void tcp_load_destroy(struct tcp_load *load)
{
    if (load != NULL) {
        free(load->lives);
        free(load->gaps);
        free(load->sorted);
        free(load);
    }
}

uint32_t tcp_load_begin(struct tcp_load *load, bool whole)
{
    struct life *lives =
        array_reach(load->lives, &load->life_room, load->life_count, sizeof *lives);
    if (lives == NULL) {
        return UINT32_MAX;
    }
    load->lives = lives;
    lives[load->life_count] = (struct life){.whole = whole};
    return load->life_count++;
}

bool tcp_load_request(struct tcp_load *load, uint32_t number, uint64_t tick)
{
    struct life *life = &load->lives[number];
    if (life->requests++ == 0) {
        life->first = tick;
    } else if (tick > life->last) {
        struct gap *gaps = array_reach(load->gaps, &load->gap_room, load->gap_count, sizeof *gaps);
        if (gaps == NULL) {
            return false;
        }
        load->gaps = gaps;
        gaps[load->gap_count++] = (struct gap){.ticks = tick - life->last, .life = number};
        life->log_sum += log((double)(tick - life->last));
        life->gaps++;
    }
    life->last = tick;
    return true;
}

void tcp_load_end(struct tcp_load *load, uint32_t number, uint64_t tick)
{
    load->lives[number].end = tick;
    load->lives[number].ended = true;
}

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

/* How long it was waited for, if the server waited no longer. */
static bool was_idle(const struct tcp_load_found *found, const struct life *life)
{
    double waited = (double)(life->end - life->last);
    return found->idle_ticks > 0 && life->ended && life->requests > 0 &&
           fabs(waited - (double)found->idle_ticks) <=
               IDLE_LATENESS * (double)found->idle_ticks + TCP_AT_ONCE_TICKS;
}

static bool reaches(uint64_t requests, uint64_t limit)
{
    return (double)requests >= (1 - LIMIT_MISSING) * (double)limit;
}

/* The most requests that many lives end with, if hardly any has more. */
static void find_limit(struct tcp_load *load, struct tcp_load_found *found)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < load->life_count; i++) {
        if (load->lives[i].whole && load->lives[i].ended) {
            load->sorted[count++] = load->lives[i].requests;
        }
    }
    if (count == 0) {
        return;
    }
    qsort(load->sorted, count, sizeof *load->sorted, by_value);
    uint64_t most = load->sorted[(uint32_t)((1 - BEYOND_SHARE) * (count - 1))];
    uint32_t with = 0;
    for (uint32_t i = 0; i < count; i++) {
        with += reaches(load->sorted[i], most);
    }
    if (most >= LIMIT_LEAST && with >= LIMIT_LIVES && with >= LIMIT_SHARE * count) {
        found->limit = (uint32_t)most;
    }
}

/* The wait that many lives end with, if hardly any gap is longer. */
static void find_idle(struct tcp_load *load, struct tcp_load_found *found)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < load->life_count; i++) {
        const struct life *life = &load->lives[i];
        if (life->ended && life->requests > 0) {
            load->sorted[count++] = life->end - life->last;
        }
    }
    qsort(load->sorted, count, sizeof *load->sorted, by_value);
    uint32_t most = 0;
    uint64_t at = 0;
    for (uint32_t i = 0, k = 0; i < count; i++) {
        while (k < i && (double)load->sorted[k] * (1 + IDLE_LATENESS) < (double)load->sorted[i]) {
            k++;
        }
        if (i - k + 1 > most && load->sorted[i] > TCP_AT_ONCE_TICKS) {
            most = i - k + 1;
            at = load->sorted[k + most / 2];
        }
    }
    uint32_t longer = 0;
    for (uint32_t i = 0; i < load->gap_count; i++) {
        longer += (double)load->gaps[i].ticks > (double)at * (1 + IDLE_LATENESS);
    }
    if (most >= LIMIT_LIVES && most >= LIMIT_SHARE * count &&
        longer <= BEYOND_SHARE * load->gap_count) {
        found->idle_ticks = at;
    }
}

static double mean_log(const struct life *life)
{
    return life->log_sum / life->gaps;
}

/* Whether a life counts. Those that are open when a recording begins are one for each connection,
 * and their clients have been closed least. */
static bool counts(const struct life *life, bool first)
{
    return !first || !life->whole;
}

/* Parts first lives into those below and above a mean logarithm; returns how far the classes' means
 * are apart, 0 if one is empty, and in *share how many are in the upper one. */
static double part_at(const struct tcp_load *load, double limit, double *share, double *deviation)
{
    double lives[2] = {0};
    double sum[2] = {0};
    double squares[2] = {0};
    for (uint32_t i = 0; i < load->life_count; i++) {
        const struct life *life = &load->lives[i];
        if (counts(life, true) && life->gaps > 0) {
            double x = mean_log(life);
            unsigned class = x > limit;
            lives[class]++;
            sum[class] += x;
            squares[class] += x * x;
        }
    }
    *share = 0;
    *deviation = 0;
    if (!(lives[0] > 0) || !(lives[1] > 0)) {
        return 0;
    }
    double means[] = {sum[0] / lives[0], sum[1] / lives[1]};
    double within = squares[0] - sum[0] * means[0] + squares[1] - sum[1] * means[1];
    *share = lives[1] / (lives[0] + lives[1]);
    *deviation = sqrt(within > 0 ? within / (lives[0] + lives[1]) : 0);
    return means[1] - means[0];
}

/* The gaps of one class, of all lives or of the first ones. */
static void collect(const struct tcp_load *load, const struct tcp_load_found *found, bool first,
                    bool slow, struct tcp_load_gaps *gaps)
{
    gaps->count = 0;
    gaps->longer = 0;
    for (uint32_t i = 0; i < load->gap_count; i++) {
        const struct life *life = &load->lives[load->gaps[i].life];
        if (counts(life, first) && life->slow == slow) {
            gaps->ticks[gaps->count++] = load->gaps[i].ticks;
        }
    }
    for (uint32_t i = 0; i < load->life_count; i++) {
        const struct life *life = &load->lives[i];
        gaps->longer += counts(life, first) && life->slow == slow && was_idle(found, life);
    }
    qsort(gaps->ticks, gaps->count, sizeof *gaps->ticks, by_value);
}

/* The gap that half of them are longer than. */
static double median_of(const struct tcp_load_gaps *gaps)
{
    uint32_t middle = (gaps->count + gaps->longer) / 2;
    return gaps->count == 0 ? 0
                            : (double)gaps->ticks[middle < gaps->count ? middle : gaps->count - 1];
}

/* Of the lives of a class that a recording begins with, in how many a gap is seen, so that the
 * class is known: in those whose server does not wait in vain when it begins, and not after their
 * next request. How often it waits in vain is told by what follows a first gap. */
static double chance_of_gap(const struct tcp_load *load, const struct tcp_load_found *found,
                            bool slow)
{
    double sum = 0;
    double gaps = 0;
    double later = 0;
    double vain = 0;
    for (uint32_t i = 0; i < load->life_count; i++) {
        const struct life *life = &load->lives[i];
        if (life->gaps > 0 && life->slow == slow) {
            sum += (double)(life->last - life->first);
            gaps += life->gaps;
            later += life->gaps - 1;
            vain += was_idle(found, life);
        }
    }
    if (!(gaps > 0) || !(vain > 0)) {
        return 1;
    }
    double in_vain = vain / (vain + later);
    double asked = (1 - in_vain) * sum / gaps;
    return asked / (asked + in_vain * (double)found->idle_ticks) * (1 - in_vain);
}

/* Whether there are two classes of gaps, and which of the lives are of the longer ones. Without
 * limits, `gap_kept` says as much. */
static void find_slow(struct tcp_load *load, struct tcp_load_found *found)
{
    double best = 0;
    double limit = 0;
    double least = INFINITY;
    double most = -INFINITY;
    for (uint32_t i = 0; i < load->life_count; i++) {
        if (counts(&load->lives[i], true) && load->lives[i].gaps > 0) {
            least = fmin(least, mean_log(&load->lives[i]));
            most = fmax(most, mean_log(&load->lives[i]));
        }
    }
    const unsigned steps = 100;
    double share;
    double deviation;
    for (unsigned i = 1; i < steps && most > least; i++) {
        double at = least + (most - least) * i / steps;
        double apart = part_at(load, at, &share, &deviation);
        double between = share * (1 - share) * apart * apart;
        if (between > best) {
            best = between;
            limit = at;
        }
    }
    double apart = part_at(load, limit, &share, &deviation);
    if (apart < log(SLOW_TIMES) || apart < SLOW_APART * deviation) {
        return;
    }
    double seen[2] = {0};
    for (uint32_t i = 0; i < load->life_count; i++) {
        struct life *life = &load->lives[i];
        life->slow = life->gaps > 0 && mean_log(life) > limit;
        seen[life->slow] += counts(life, true) && life->gaps > 0;
        /* Without any gap: it waited for longer than most of the others ever do. */
        life->slow |= life->gaps == 0 && was_idle(found, life);
    }
    double medians[2];
    double all[2];
    for (unsigned slow = 0; slow < 2; slow++) {
        all[slow] = seen[slow] / chance_of_gap(load, found, slow);
        collect(load, found, true, slow, &found->first);
        medians[slow] = median_of(&found->first);
    }
    found->slow = all[1] / (all[0] + all[1]);
    found->slow_times = medians[0] > 0 && medians[1] > medians[0] ? medians[1] / medians[0] : 1;
}

bool tcp_load_finish(struct tcp_load *load, uint64_t end_tick, struct tcp_load_found *found)
{
    *found = (struct tcp_load_found){.slow_times = 1};
    size_t room = (size_t)load->gap_count + load->life_count + 1;
    load->sorted = malloc(2 * room * sizeof *load->sorted);
    if (load->sorted == NULL) {
        return false;
    }
    found->all.ticks = load->sorted;
    found->first.ticks = load->sorted + room;
    uint64_t singles = 0;
    for (uint32_t i = 0; i < load->life_count; i++) {
        struct life *life = &load->lives[i];
        found->lives += life->ended;
        singles += life->ended && life->requests <= 1;
        life->end = life->ended ? life->end : end_tick;
    }
    found->singles = found->lives > 0 ? (double)singles / (double)found->lives : 0;
    find_limit(load, found);
    find_idle(load, found);
    uint64_t limited = 0;
    uint64_t whole = 0;
    for (uint32_t i = 0; i < load->life_count; i++) {
        const struct life *life = &load->lives[i];
        whole += life->whole && life->ended;
        limited +=
            life->whole && life->ended &&
            ((found->limit > 0 && reaches(life->requests, found->limit)) || was_idle(found, life));
    }
    found->by_limits = whole > 0 ? (double)limited / (double)whole : 0;
    if (found->by_limits < LIMITS_LEAST) {
        found->limit = 0;
        found->idle_ticks = 0;
        found->by_limits = 0;
    } else {
        find_slow(load, found);
    }
    collect(load, found, false, false, &found->all);
    collect(load, found, true, false, &found->first);
    return true;
}
