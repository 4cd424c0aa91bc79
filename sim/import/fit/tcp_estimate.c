#include "tcp_estimate.h"

#include "gen_tcp_lives.h"
#include "growing_array.h"
#include "tcp_load.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the wheel's levels whose delays are 512 ticks to 4,095. */
#define WHEEL_SLOT 64

struct numbers {
    uint64_t *items;
    uint32_t count;
    uint32_t room;
};

/* What is known of a timer so far. */
struct past {
    uint64_t start; /* tick of the last one */
    uint64_t delay;
    uint64_t request; /* tick of the last request; UINT64_MAX: none since it was cancelled */
    uint64_t gap;     /* to that; 0: none */
    uint32_t life;    /* of tcp_load.h */
    bool seen;
    bool pending; /* the last start has not been judged */
    bool caused;
    bool moved;    /* the last start found it pending */
    bool moves;    /* the last start moved another at once */
    bool connects; /* its last start, but for repetitions, was a SYN's */
    bool first;    /* it was the first since a cancel, or at all */
};

struct tcp_estimate {
    struct past *pasts[TCP_KINDS];
    uint32_t past_room[TCP_KINDS];
    uint32_t timers[TCP_KINDS]; /* distinct */
    bool out_of_memory;

    struct numbers starts[TCP_KINDS]; /* delays of all */
    struct numbers gaps;
    struct numbers pairs;      /* gaps of a connection, each with the one behind it */
    struct numbers rests;      /* delays of keepalive timers that their firing starts again */
    struct numbers syns;       /* ticks */
    struct numbers handshakes; /* likewise: SYN-ACKs that were acknowledged */
    struct numbers closings;   /* of write timers */
    struct numbers waits;      /* TIME_WAITs */
    struct numbers keepalives; /* delays, as they stood at last */
    struct numbers fin_waits;  /* delays */
    uint64_t fin_waits_moved;  /* of a keepalive timer that was pending */
    struct tcp_load *load;
    struct numbers requests; /* ticks */
    uint64_t resent;
    uint64_t syn_resent;
    uint64_t keepalive_reset; /* that were set a second time at once */
    uint64_t syn_ticks;       /* what a SYN's timeout is at least */

    /* In the end. */
    struct tcp_load_found found;
    double tick_ms;
    double seconds;
    double connections;
    double first;
    double opened;
    double closed;
    double limited;     /* those that a limit closes, and that open again at once */
    double opened_else; /* otherwise */
    double closed_else;
    double pace;
    double again;
    double kept;
    double probe; /* of the keepalive time */
    double delack;
    double quick;
    unsigned ends; /* 0 server, 1 client, 2 both, as the workload's words */
    double gap_ms[TCP_GAP_POINTS];
    double first_gap_ms[TCP_GAP_POINTS]; /* before clients that the server closed ask in between */
    double open_knots[2 * TCP_CURVE_KNOTS];
    double close_knots[2 * TCP_CURVE_KNOTS];
    double keepalive; /* ends with it, of a connection */
    double keepalive_ms;
    double keepalive_default;
    double keepalive_set;
    double rtt_ms;
    double rto_initial_ms;
    double fin_wait2_ms;
    double time_wait_ms;
    double delack_ms;
};

struct tcp_estimate *tcp_estimate_create(void)
{
    struct tcp_estimate *estimate = calloc(1, sizeof *estimate);
    struct tcp_load *load = tcp_load_create();
    if (estimate == NULL || load == NULL) {
        free(estimate);
        tcp_load_destroy(load);
        return NULL;
    }
    estimate->load = load;
    return estimate;
}

void tcp_estimate_destroy(struct tcp_estimate *estimate)
{
    if (estimate == NULL) {
        return;
    }
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        free(estimate->pasts[kind]);
        free(estimate->starts[kind].items);
    }
    free(estimate->gaps.items);
    free(estimate->pairs.items);
    free(estimate->rests.items);
    free(estimate->requests.items);
    free(estimate->syns.items);
    free(estimate->handshakes.items);
    free(estimate->closings.items);
    free(estimate->waits.items);
    free(estimate->keepalives.items);
    free(estimate->fin_waits.items);
    tcp_load_destroy(estimate->load);
    free(estimate);
}

static void append(struct tcp_estimate *estimate, struct numbers *numbers, uint64_t item)
{
    uint64_t *items =
        array_reach(numbers->items, &numbers->room, numbers->count, sizeof *numbers->items);
    if (items == NULL) {
        estimate->out_of_memory = true;
        return;
    }
    numbers->items = items;
    items[numbers->count++] = item;
}

/* --- what the recording says ------------------------------------------------------------------ */

static void begin_life(struct tcp_estimate *estimate, struct past *past, bool whole)
{
    past->life = tcp_load_begin(estimate->load, whole);
    estimate->out_of_memory |= past->life == UINT32_MAX;
}

static struct past *past_of(struct tcp_estimate *estimate, const struct tcp_event *event)
{
    struct past **pasts = &estimate->pasts[event->kind];
    uint32_t *room = &estimate->past_room[event->kind];
    uint32_t had = *room;
    struct past *reached = array_reach(*pasts, room, event->id, sizeof **pasts);
    if (reached == NULL) {
        estimate->out_of_memory = true;
        return NULL;
    }
    *pasts = reached;
    if (*room > had) {
        (void)memset(reached + had, 0, (*room - had) * sizeof *reached);
    }
    struct past *past = &reached[event->id];
    if (!past->seen) {
        past->seen = true;
        past->request = UINT64_MAX;
        past->first = true;
        estimate->timers[event->kind]++;
        if (event->kind == TCP_WRITE) {
            begin_life(estimate, past, false);
        }
    }
    return past;
}

/* A write timer's last start, now that it is known what became of it. */
static void judge_write(struct tcp_estimate *estimate, struct past *past, bool fin)
{
    if (!past->pending) {
        return;
    }
    past->pending = false;
    bool syn = past->delay >= estimate->syn_ticks && !past->caused;
    if (past->caused) {
        estimate->syn_resent += past->connects;
        estimate->resent += !past->connects;
    } else if (syn && past->first) {
        past->connects = true;
        append(estimate, &estimate->syns, past->start);
        past->request = UINT64_MAX;
    } else if (!fin) {
        past->connects = false;
        append(estimate, &estimate->requests, past->start);
        estimate->out_of_memory |= !tcp_load_request(estimate->load, past->life, past->start);
        if (past->request != UINT64_MAX && past->start > past->request) {
            uint64_t gap = past->start - past->request;
            append(estimate, &estimate->gaps, gap);
            if (past->gap > 0) {
                append(estimate, &estimate->pairs, past->gap);
                append(estimate, &estimate->pairs, gap);
            }
            past->gap = gap;
        } else {
            past->gap = 0;
        }
        past->request = past->start;
    }
    past->first = false;
}

static void take_write(struct tcp_estimate *estimate, struct past *past,
                       const struct tcp_event *event)
{
    bool ends = event->what == TCP_CANCEL || event->connects;
    bool at_once = event->tick - past->start <= TCP_AT_ONCE_TICKS;
    bool moves = event->what == TCP_MOVE && at_once && !ends;
    /* A request that is moved by its FIN counts as well. */
    judge_write(estimate, past, moves || (ends && at_once && !past->moves));
    past->moves = moves;
    if (ends) {
        append(estimate, &estimate->closings, event->tick);
        tcp_load_end(estimate->load, past->life, event->tick);
        begin_life(estimate, past, true);
        past->request = UINT64_MAX;
        past->first = true;
    }
}

static void take_keepalive(struct tcp_estimate *estimate, struct past *past,
                           const struct tcp_event *event)
{
    if (!past->pending) {
        return;
    }
    past->pending = false;
    bool at_once = event->tick - past->start <= TCP_AT_ONCE_TICKS;
    if (past->caused) {
        /* The rest of a silence, or until the next probe: the trace does not say which. */
        append(estimate, &estimate->rests, past->delay);
        return;
    }
    if (event->what == TCP_CANCEL && at_once) {
        append(estimate, &estimate->fin_waits, past->delay);
        estimate->fin_waits_moved += past->moved;
    } else if (event->what == TCP_MOVE && at_once && event->delay_ticks < past->delay) {
        estimate->keepalive_reset++;
    } else {
        append(estimate, &estimate->keepalives, past->delay);
    }
}

void tcp_estimate_take(void *ctx, const struct tcp_event *event)
{
    struct tcp_estimate *estimate = ctx;
    struct past *past = estimate->out_of_memory ? NULL : past_of(estimate, event);
    if (past == NULL || estimate->out_of_memory) {
        return;
    }
    estimate->syn_ticks = TCP_SYN_TIMEOUT_NS / event->tick_ns;
    bool start = event->what == TCP_START || event->what == TCP_MOVE;
    switch (event->kind) {
    case TCP_WRITE:
        take_write(estimate, past, event);
        break;
    case TCP_KEEPALIVE:
        take_keepalive(estimate, past, event);
        break;
    case TCP_SYN_ACK:
        if (event->what == TCP_CANCEL) {
            append(estimate, &estimate->handshakes, event->tick);
        }
        break;
    case TCP_TIME_WAIT:
        if (event->what == TCP_START) {
            append(estimate, &estimate->waits, event->tick);
        }
        break;
    case TCP_DELACK:
    case TCP_KINDS:
        break;
    }
    if (start) {
        append(estimate, &estimate->starts[event->kind], event->delay_ticks);
        past->start = event->tick;
        past->delay = event->delay_ticks;
        past->caused = event->caused;
        past->moved = event->what == TCP_MOVE;
        past->pending = true;
    }
}

/* --- what follows from it --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

static void sort(struct numbers *numbers)
{
    if (numbers->count > 0) {
        qsort(numbers->items, numbers->count, sizeof *numbers->items, by_value);
    }
}

/* The most frequent of sorted numbers, and how often it is there; `otherwise` if there are none. */
static uint64_t mode_of(struct numbers *numbers, uint64_t otherwise, uint32_t *times)
{
    sort(numbers);
    uint64_t mode = otherwise;
    *times = 0;
    for (uint32_t i = 0, run = 0; i < numbers->count; i++) {
        run = i > 0 && numbers->items[i] == numbers->items[i - 1] ? run + 1 : 1;
        if (run > *times) {
            *times = run;
            mode = numbers->items[i];
        }
    }
    return mode;
}

/* A delay in ms, without the tick that the wheel adds. */
static double delay_ms(const struct tcp_estimate *estimate, uint64_t ticks)
{
    return (double)(ticks > 1 ? ticks - 1 : 1) * estimate->tick_ms;
}

static double mode_ms(const struct tcp_estimate *estimate, struct numbers *numbers,
                      double otherwise)
{
    uint32_t times;
    uint64_t mode = mode_of(numbers, 0, &times);
    return times >= 3 ? delay_ms(estimate, mode) : otherwise;
}

/* A curve that is off by no more than so many standard deviations of how many of the events between
 * two knots come before a tick, is off by chance: where they are widest, in the middle, that is the
 * limit of Kolmogorov and Smirnov for one time in a hundred. */
#define BY_CHANCE 3.26

/* By how many events a curve is off by chance, at most, where it has a part of so many. */
static double chance_of(double events, double part)
{
    double variance = part > 0 && part < 1 ? events * part * (1 - part) : 0;
    return 1 + BY_CHANCE * sqrt(variance);
}

/* The knots that bend where sorted ticks do: one after the other is put where the curve is furthest
 * from them, as long as that is not by chance. */
static void draw_curve(const struct numbers *ticks, double tick_ms, double *pairs)
{
    double time[TCP_CURVE_KNOTS];
    double share[TCP_CURVE_KNOTS];
    uint32_t count = ticks->count;
    (void)memset(pairs, 0, 2 * TCP_CURVE_KNOTS * sizeof *pairs);
    if (count == 0) {
        return;
    }
    unsigned knots = 2;
    time[0] = (double)ticks->items[0];
    share[0] = 0;
    time[1] = (double)ticks->items[count - 1] + 1;
    share[1] = 1;
    while (knots < TCP_CURVE_KNOTS) {
        double worst = 0;
        double worst_time = 0;
        double worst_share = 0;
        for (uint32_t i = 0, next; i < count; i = next) {
            for (next = i; next < count && ticks->items[next] == ticks->items[i]; next++) {
            }
            /* Before that tick, and behind it. */
            for (unsigned behind = 0; behind < 2; behind++) {
                double at = (double)(ticks->items[i] + behind);
                double real = (double)(behind > 0 ? next : i) / count;
                unsigned k = 1;
                while (k < knots - 1 && at > time[k]) {
                    k++;
                }
                double drawn = share[k - 1] + (at - time[k - 1]) / (time[k] - time[k - 1]) *
                                                  (share[k] - share[k - 1]);
                double between = share[k] - share[k - 1];
                double part = between > 0 ? (drawn - share[k - 1]) / between : 0;
                if (fabs(real - drawn) > worst &&
                    fabs(real - drawn) * count > chance_of(between * count, part)) {
                    worst = fabs(real - drawn);
                    worst_time = at;
                    worst_share = real;
                }
            }
        }
        if (!(worst > 0)) {
            break;
        }
        unsigned place = 1;
        while (place < knots - 1 && time[place] < worst_time) {
            place++;
        }
        (void)memmove(&time[place + 1], &time[place], (knots - place) * sizeof *time);
        (void)memmove(&share[place + 1], &share[place], (knots - place) * sizeof *share);
        time[place] = worst_time;
        share[place] = worst_share;
        knots++;
    }
    for (unsigned i = 0; i < knots; i++) {
        pairs[(size_t)2 * i] = time[i] * tick_ms / 1e3;
        pairs[(size_t)2 * i + 1] = share[i];
    }
}

/* Openings and closings in one order: how many more were open than at the begin, at most. */
static double most_open(const struct numbers *opens, const struct numbers *closes)
{
    int64_t open = 0;
    int64_t most = 0;
    for (uint32_t i = 0, k = 0; i < opens->count; i++) {
        while (k < closes->count && closes->items[k] < opens->items[i]) {
            open--;
            k++;
        }
        open++;
        most = open > most ? open : most;
    }
    return (double)most;
}

/* How many of sorted ticks lie before one. */
static uint32_t count_before(const struct numbers *ticks, double tick)
{
    uint32_t low = 0;
    uint32_t high = ticks->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((double)ticks->items[middle] < tick) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The sum over sorted ticks of how long before `end` each is. */
static double time_until(const struct numbers *ticks, double end)
{
    double sum = 0;
    for (uint32_t i = 0; i < ticks->count && (double)ticks->items[i] < end; i++) {
        sum += end - (double)ticks->items[i];
    }
    return sum;
}

static uint64_t end_tick(const struct tcp_estimate *estimate)
{
    return (uint64_t)(estimate->seconds * 1e3 / estimate->tick_ms);
}

/* How much faster requests come at the window's end than at its begin, if that changes evenly: from
 * their rates on an open connection in its two halves. */
static double measure_pace(struct tcp_estimate *estimate, const struct numbers *opens,
                           const struct numbers *closes)
{
    double end = (double)end_tick(estimate);
    double half = end / 2;
    sort(&estimate->requests);
    double early = count_before(&estimate->requests, half);
    double late = (double)estimate->requests.count - early;
    double early_time = estimate->first * half + time_until(opens, half) - time_until(closes, half);
    double late_time =
        estimate->first * end + time_until(opens, end) - time_until(closes, end) - early_time;
    if (!(early > 0) || !(late > 0) || !(early_time > 0) || !(late_time > 0)) {
        return 1;
    }
    double ratio = late / late_time / (early / early_time);
    double pace = ratio < 3 ? (3 * ratio - 1) / (3 - ratio) : 10;
    return pace < 0.1 ? 0.1 : pace > 10 ? 10 : pace;
}

/* The share of sorted ticks that come within TCP_AT_ONCE_TICKS behind one of `others`, `later`
 * ticks behind.
 */
static double share_behind(const struct numbers *ticks, const struct numbers *others,
                           uint64_t later)
{
    uint32_t behind = 0;
    for (uint32_t i = 0, k = 0; i < ticks->count; i++) {
        uint64_t at = ticks->items[i];
        while (k < others->count && others->items[k] + later + TCP_AT_ONCE_TICKS < at) {
            k++;
        }
        behind += k < others->count && others->items[k] + later <= at;
    }
    return ticks->count > 0 ? (double)behind / ticks->count : 0;
}

/* The share of the closings with which another connection opens at once: more often than some time
 * later, when it does so by chance. */
static double count_again(const struct numbers *opens, const struct numbers *closes)
{
    double at_once = share_behind(opens, closes, 0);
    double chance = share_behind(opens, closes, (uint64_t)25 * TCP_AT_ONCE_TICKS);
    double again = chance < 1 ? (at_once - chance) / (1 - chance) : 0;
    double of_closes = closes->count > 0 ? again * opens->count / closes->count : 0;
    return of_closes < 0.05 ? 0 : fmin(1, of_closes);
}

/* What limits leave, unless that is so little that it may be by chance. */
static double what_matters(double left, double of)
{
    return left < 0.1 * of ? 0 : left;
}

static void count_connections(struct tcp_estimate *estimate)
{
    double syns = (double)estimate->syns.count;
    double taken = (double)estimate->handshakes.count;
    estimate->ends = taken < 0.5 * syns ? 1 : syns < 0.5 * taken ? 0 : 2;
    double sides = estimate->ends == 2 ? 2 : 1;
    sort(&estimate->syns);
    sort(&estimate->handshakes);
    sort(&estimate->closings);
    sort(&estimate->waits);
    const struct numbers *opens = estimate->ends == 1 ? &estimate->syns : &estimate->handshakes;
    const struct numbers *closes = estimate->waits.count * 2.0 * sides >= estimate->closings.count
                                       ? &estimate->waits
                                       : &estimate->closings;
    estimate->opened = (double)opens->count;
    estimate->closed = (double)closes->count / (closes == &estimate->closings ? sides : 1);
    double at_once = (double)estimate->timers[TCP_WRITE] / sides;
    double first = at_once - most_open(opens, closes);
    double all = first + estimate->opened;
    /* Some memory is always used a little later again. */
    estimate->first = first > 0.05 * all ? first : 0;
    estimate->again = count_again(opens, closes);
    const double by_limits = estimate->found.by_limits;
    estimate->limited = estimate->again * by_limits * estimate->closed;
    estimate->opened_else = what_matters(estimate->opened - estimate->limited, estimate->opened);
    estimate->closed_else = what_matters((1 - by_limits) * estimate->closed, estimate->closed);
    estimate->connections = estimate->first + estimate->opened_else;
    /* With limits, it comes of how old connections are. */
    estimate->pace = by_limits > 0 ? 1 : measure_pace(estimate, opens, closes);
    draw_curve(opens, estimate->tick_ms, estimate->open_knots);
    if (estimate->closed_else > 0) {
        draw_curve(closes, estimate->tick_ms, estimate->close_knots);
    }
}

static void count_acks(struct tcp_estimate *estimate, const struct tcp_measure *recorded)
{
    double sides = estimate->ends == 2 ? 2 : 1;
    double requests = (double)estimate->requests.count / sides;
    double fins = estimate->ends == 2 ? estimate->closed : 0;
    double delayed = recorded->value[TCP_DELACK][TCP_STARTS] - fins;
    double missing = requests - delayed;
    estimate->quick = missing > 0 && estimate->opened > 0 ? ceil(missing / estimate->opened) : 0;
    estimate->quick = estimate->quick > 1e6 ? 1e6 : estimate->quick;
    double expected = requests - estimate->quick * estimate->opened;
    double more = requests > 0 ? (delayed - (expected > 0 ? expected : 0)) / requests : 0;
    estimate->delack = more < 0 ? 0 : more > 1 ? 1 : more;
    estimate->delack_ms = mode_ms(estimate, &estimate->starts[TCP_DELACK], 40);
}

static void count_keepalives(struct tcp_estimate *estimate)
{
    const double long_ms = 7200e3;
    double set = 0;
    double by_default = 0;
    for (uint32_t i = 0; i < estimate->keepalives.count; i++) {
        double ms = delay_ms(estimate, estimate->keepalives.items[i]);
        by_default += fabs(ms - long_ms) < 0.001 * long_ms;
        set += 1;
    }
    double reset = (double)estimate->keepalive_reset;
    estimate->keepalive = estimate->opened > 0 ? set / estimate->opened : 0;
    estimate->keepalive_ms = mode_ms(estimate, &estimate->keepalives, long_ms);
    if (by_default > 0 && by_default < set) {
        /* Which is most frequent, then, of the rest? */
        struct numbers rest = {.items = estimate->keepalives.items, .count = 0};
        while (rest.count < estimate->keepalives.count &&
               delay_ms(estimate, rest.items[rest.count]) < 0.999 * long_ms) {
            rest.count++;
        }
        estimate->keepalive_ms = mode_ms(estimate, &rest, long_ms);
    }
    /* Of those that are reset, the second start is among `set`. */
    estimate->keepalive_default =
        set > 0 ? fmin(1, (by_default + (by_default < set ? reset : 0)) / set) : 0;
    estimate->keepalive_set = by_default + reset > 0 ? reset / (by_default + reset) : 0;
    estimate->fin_wait2_ms =
        estimate->fin_waits.count > 0 ? mode_ms(estimate, &estimate->fin_waits, 60e3) : 0;
    estimate->time_wait_ms = mode_ms(estimate, &estimate->starts[TCP_TIME_WAIT], 60e3);
}

/* The interval of probes: what comes after many firings, and is far from the keepalive time. The
 * delay has how late the kernel's wheel was, too, which is less than a slot. */
static double count_probes(struct tcp_estimate *estimate)
{
    const double otherwise = 1.0 / 3;
    double keepalive_ticks = estimate->keepalive_ms / estimate->tick_ms;
    const struct numbers *rests = &estimate->rests;
    sort(&estimate->rests);
    uint32_t below = count_before(rests, 0.6 * keepalive_ticks);
    uint32_t most = 0;
    uint64_t least = 0;
    for (uint32_t i = 0, k = 0; i < below; i++) {
        while (k < below && rests->items[k] < rests->items[i] + WHEEL_SLOT) {
            k++;
        }
        if (k - i > most) {
            most = k - i;
            least = rests->items[i];
        }
    }
    return most >= 10 && most * 2 > below ? (double)(least > 1 ? least - 1 : 1) / keepalive_ticks
                                          : otherwise;
}

/* In which part of the law a gap is. */
static unsigned part_of(const struct numbers *gaps, uint64_t gap)
{
    return (unsigned)((uint64_t)count_before(gaps, (double)gap) * TCP_GAP_PARTS / gaps->count);
}

/* What share of its gaps a connection draws from its own part: two of the same part in a row come
 * of that, or by chance. */
static double count_kept(const struct tcp_estimate *estimate)
{
    const struct numbers *pairs = &estimate->pairs;
    double same = 0;
    double chance = 1.0 / TCP_GAP_PARTS;
    if (pairs->count == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < pairs->count; i += 2) {
        same += part_of(&estimate->gaps, pairs->items[i]) ==
                part_of(&estimate->gaps, pairs->items[i + 1]);
    }
    double more = (2 * same / pairs->count - chance) / (1 - chance);
    return more > 0 ? sqrt(more) : 0;
}

/* How much longer than the server waits the longest gaps are, of which a recording knows only that:
 * these, and the very longest. */
#define LONGER_TIMES  1.2
#define LONGEST_TIMES 1.5

static void draw_gaps(const struct tcp_estimate *estimate, const struct tcp_load_gaps *gaps,
                      double *gap_ms)
{
    uint32_t all = gaps->count + gaps->longer;
    double idle_ticks = (double)estimate->found.idle_ticks;
    for (unsigned i = 0; i < TCP_GAP_POINTS; i++) {
        uint32_t at = (uint32_t)(tcp_gap_shares[i] * (all - 1) + 0.5);
        double longer = idle_ticks * (i + 1 < TCP_GAP_POINTS ? LONGER_TIMES : LONGEST_TIMES);
        gap_ms[i] = (at < gaps->count ? (double)gaps->ticks[at] : longer) * estimate->tick_ms;
    }
}

/* The share of closes that the client begins, if keepalive is the server's alone: then FIN_WAIT2
 * moves a pending timer where the server does. */
static double count_client_closes(const struct tcp_estimate *estimate)
{
    double fin_waits = (double)estimate->fin_waits.count;
    if (!(fin_waits > 0) || !(estimate->keepalive > 0) || estimate->keepalive > 1) {
        return 0;
    }
    double at_server = (double)estimate->fin_waits_moved / fin_waits / estimate->keepalive;
    return at_server < 1 ? 1 - at_server : 0;
}

bool tcp_estimate_finish(struct tcp_estimate *estimate, const struct tcp_measure *recorded,
                         uint64_t tick_ns, struct tcp_knobs *knobs, struct error *error)
{
    if (estimate->out_of_memory) {
        return error_set(error, "out of memory for what a recording says of TCP");
    }
    estimate->tick_ms = (double)tick_ns / 1e6;
    estimate->seconds = recorded->seconds;
    for (uint32_t id = 0; id < estimate->past_room[TCP_WRITE]; id++) {
        judge_write(estimate, &estimate->pasts[TCP_WRITE][id], false);
    }
    for (uint32_t id = 0; id < estimate->past_room[TCP_KEEPALIVE]; id++) {
        struct past *past = &estimate->pasts[TCP_KEEPALIVE][id];
        const struct tcp_event end = {.what = TCP_EXPIRE, .tick = UINT64_MAX};
        take_keepalive(estimate, past, &end);
    }
    if (estimate->gaps.count < TCP_GAP_POINTS) {
        return error_set(error,
                         "%u gaps between requests are too few to fit anything to; record for "
                         "longer, or a busier server",
                         (unsigned)estimate->gaps.count);
    }
    if (!tcp_load_finish(estimate->load, end_tick(estimate), &estimate->found)) {
        return error_set(error, "out of memory for what a recording says of TCP");
    }
    count_connections(estimate);
    if (estimate->connections < 1) {
        return error_set(error, "no connection can be told from the write timers");
    }
    count_acks(estimate, recorded);
    sort(&estimate->keepalives);
    count_keepalives(estimate);
    estimate->probe = count_probes(estimate);
    draw_gaps(estimate, &estimate->found.all, estimate->gap_ms);
    bool first = estimate->limited > 0 && estimate->found.first.count >= TCP_GAP_POINTS;
    draw_gaps(estimate, first ? &estimate->found.first : &estimate->found.all,
              estimate->first_gap_ms);
    sort(&estimate->gaps);
    /* Where there are two classes, that says it all. */
    estimate->kept = estimate->found.slow > 0 ? 0 : count_kept(estimate);
    estimate->rto_initial_ms = mode_ms(estimate, &estimate->starts[TCP_SYN_ACK], 1000);
    uint32_t times;
    uint64_t timeout = mode_of(&estimate->starts[TCP_WRITE], 0, &times);
    double trip = delay_ms(estimate, timeout) - 200 - estimate->tick_ms;
    estimate->rtt_ms = trip > estimate->tick_ms ? trip : 0.05;
    double sent = (double)estimate->requests.count + (double)estimate->resent;
    *knobs = (struct tcp_knobs){
        .tail = 1,
        .middle = 1,
        .low = 1,
        .refill = 16,
        .kept = estimate->kept,
        .again = estimate->again,
        .asked = 1,
        .client = count_client_closes(estimate),
        .single = estimate->found.singles * fmin(1, estimate->closed_else / estimate->connections),
        .slow = estimate->found.slow,
        .slow_times = estimate->found.slow_times,
        .most = estimate->found.idle_ticks > 0 ? LONGEST_TIMES : 0,
        .plan = estimate->limited > 0 ? 1 : 0,
        .pace = estimate->pace,
        .both = estimate->keepalive > 1 ? fmin(1, estimate->keepalive - 1) : 0,
        .quick = 1,
        .delack = 0,
        .young = 1,
        .even = 0,
        .first = 1,
        .loss = (double)estimate->resent / sent};
    return true;
}

/* --- the workload ----------------------------------------------------------------------------- */

static void set(struct gen_part *part, const char *name, double value)
{
    struct error error;
    const struct gen_parameter *row = gen_parameter_find(part->workload, name, &error);
    if (row != NULL) {
        if (row->words == NULL) {
            value = value < row->min ? row->min : value > row->max ? row->max : value;
            /* What a scenario says in few digits is then the very same workload. */
            char digits[32];
            (void)snprintf(digits, sizeof digits, "%.7g", value);
            value = strtod(digits, NULL);
        }
        part->parameters[row - part->workload->parameters] = value;
    }
}

static void set_curve(struct gen_part *part, const char *curve, const double *pairs)
{
    for (unsigned i = 0; i < TCP_CURVE_KNOTS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%s_%u_s", curve, i + 1);
        set(part, name, pairs[(size_t)2 * i]);
        (void)snprintf(name, sizeof name, "%s_%u", curve, i + 1);
        set(part, name, pairs[(size_t)2 * i + 1]);
    }
}

/* The point of the law that a tenth of the gaps lie below. */
#define TENTH       4

/* So many times as much room for them as they need in the mean. */
#define SPARE_TIMES 1.25

void tcp_estimate_part(const struct tcp_estimate *estimate, const struct tcp_knobs *knobs,
                       struct gen_part *part)
{
    struct error error;
    *part = (struct gen_part){.workload = gen_find("tcp", &error)};
    double first = estimate->first * knobs->first;
    /* What closes before the recording, after `ago_s` of them, is in TIME_WAIT, too. */
    double spare = ceil(SPARE_TIMES * estimate->limited * (1 + knobs->ago_s / estimate->seconds));
    double connections = first + estimate->opened_else + spare;
    part->connections = (uint32_t)(connections + 0.5);
    gen_parameters_default(part->workload, part->parameters);
    double gap_ms[TCP_GAP_POINTS];
    const double *counted = knobs->plan > 0 ? estimate->first_gap_ms : estimate->gap_ms;
    for (unsigned i = 0; i < TCP_GAP_POINTS; i++) {
        bool low = tcp_gap_shares[i] < 0.1;
        bool tail = tcp_gap_shares[i] >= 0.9;
        bool middle = tcp_gap_shares[i] >= 0.5 && !tail;
        gap_ms[i] = counted[i] * (tail ? knobs->tail : middle ? knobs->middle : 1);
        if (low) {
            gap_ms[i] = fmin(gap_ms[i] * knobs->low, counted[TENTH]);
        }
        gap_ms[i] = i > 0 && gap_ms[i] < gap_ms[i - 1] ? gap_ms[i - 1] : gap_ms[i];
        char name[32];
        (void)snprintf(name, sizeof name, "gap_p%g", tcp_gap_shares[i] * 100);
        set(part, name, gap_ms[i]);
    }
    set(part, "tick_us", estimate->tick_ms * 1e3);
    set(part, "ends", estimate->ends);
    double as_fast = 1 - knobs->slow + knobs->slow / knobs->slow_times;
    set(part, "rate_per_s", 1e3 / tcp_gaps_mean(gap_ms) * as_fast);
    set(part, "gap_slow", knobs->slow);
    set(part, "gap_slow_times", knobs->slow_times);
    double idle_s = (double)estimate->found.idle_ticks * estimate->tick_ms / 1e3;
    set(part, "gap_most_s", knobs->most * idle_s);
    set(part, "close_requests", estimate->found.limit);
    set(part, "close_idle_s", idle_s);
    set(part, "open_spare", spare / connections);
    set(part, "plan_kept", spare > 0 ? knobs->plan : 0);
    set(part, "gap_kept", knobs->kept);
    set(part, "close_single", knobs->single);
    set(part, "open_first_s", knobs->ago_s);
    set(part, "open_first_over_s", knobs->ago_s * knobs->over);
    set(part, "open_again", knobs->again);
    double least = fmin(1, knobs->refill);
    set(part, "quick_again_min", knobs->refill - knobs->uneven * (knobs->refill - least));
    set(part, "quick_again_max", knobs->refill);
    set(part, "close_asked", knobs->asked);
    set(part, "close_client", knobs->client);
    set(part, "pace_end", knobs->pace);
    set(part, "vanish", 0);
    set(part, "rtt_median_ms", estimate->rtt_ms);
    set(part, "loss", knobs->loss);
    set(part, "rto_initial_ms", estimate->rto_initial_ms);
    set(part, "quick_acks", floor(knobs->quick));
    set(part, "delack_reply", knobs->delack);
    set(part, "delack_min_ms", estimate->delack_ms);
    set(part, "delack_max_ms", estimate->delack_ms);
    double both = estimate->ends == 2 ? knobs->both : 1;
    double sides = estimate->ends == 2 ? 1 + both : 1;
    set(part, "keepalive", fmin(1, estimate->keepalive / sides));
    set(part, "keepalive_client", both);
    set(part, "keepalive_s", estimate->keepalive_ms / 1e3);
    set(part, "keepalive_default", estimate->keepalive_default);
    set(part, "keepalive_set", estimate->keepalive_set);
    set(part, "probe_interval_s", estimate->keepalive_ms * estimate->probe / 1e3);
    set(part, "fin_wait2_s", estimate->fin_wait2_ms / 1e3);
    set(part, "time_wait_s", estimate->time_wait_ms / 1e3);
    set(part, "open_first", first / connections);
    set(part, "open_even", knobs->even);
    set(part, "close_ended", fmin(1, estimate->closed_else / connections));
    set(part, "close_even", knobs->close_even);
    set(part, "close_young", knobs->young);
    set_curve(part, "open", estimate->open_knots);
    set_curve(part, "close", estimate->close_knots);
}

unsigned tcp_estimate_notes(const struct tcp_estimate *estimate,
                            char notes[TCP_ESTIMATE_NOTES][TCP_NOTE_BYTES])
{
    static const char *const ends[] = {"the server's", "the client's", "both"};
    unsigned n = 0;
    (void)snprintf(notes[n++], TCP_NOTE_BYTES,
                   "%.0f connections: %.0f opened, %.0f open at the beginning, %.0f closed; ends "
                   "here: %s; pace at the end %.2f times that at the beginning",
                   estimate->connections, estimate->opened, estimate->first, estimate->closed,
                   ends[estimate->ends], estimate->pace);
    (void)snprintf(notes[n++], TCP_NOTE_BYTES,
                   "%u requests and replies, %" PRIu64 " retransmissions and %" PRIu64
                   " of SYNs, %u gaps",
                   (unsigned)estimate->requests.count, estimate->resent, estimate->syn_resent,
                   (unsigned)estimate->gaps.count);
    (void)snprintf(
        notes[n++], TCP_NOTE_BYTES,
        "%.2f of the closings are followed by an opening at once; %.2f of a connection's "
        "gaps are of its own kind; keepalive probes %.2f s apart",
        estimate->again, estimate->kept, estimate->keepalive_ms * estimate->probe / 1e3);
    (void)snprintf(notes[n++], TCP_NOTE_BYTES,
                   "%.2f of the write timers that were cancelled have one request; the client "
                   "begins %.2f of the closes",
                   estimate->found.singles, count_client_closes(estimate));
    if (estimate->found.by_limits > 0) {
        (void)snprintf(notes[n++], TCP_NOTE_BYTES,
                       "%.2f of the closes come of a limit: %u requests, %.2f s without one (0: "
                       "none)",
                       estimate->found.by_limits, (unsigned)estimate->found.limit,
                       (double)estimate->found.idle_ticks * estimate->tick_ms / 1e3);
    }
    if (estimate->found.slow > 0) {
        (void)snprintf(notes[n++], TCP_NOTE_BYTES,
                       "%.2f of the connections have gaps that are %.1f times as long",
                       estimate->found.slow, estimate->found.slow_times);
    }
    return n;
}
