#include "gen_tcp_lives.h"

#include "memory.h"

#include <stdlib.h>

const double tcp_gap_shares[TCP_GAP_POINTS] = {0,   0.001, 0.01, 0.03, 0.1,  0.2,  0.3,  0.4,  0.5,
                                               0.6, 0.7,   0.8,  0.9,  0.95, 0.97, 0.98, 0.99, 1};

bool tcp_curve_read(struct tcp_curve *curve, const double *pairs)
{
    *curve = (struct tcp_curve){0};
    for (unsigned i = 0; i < TCP_CURVE_KNOTS; i++) {
        curve->time[i] = pairs[(size_t)2 * i];
        curve->share[i] = pairs[(size_t)2 * i + 1];
        if (curve->share[i] > 0) {
            curve->knots = i + 1;
        }
    }
    for (unsigned i = 1; i < curve->knots; i++) {
        if (curve->time[i] < curve->time[i - 1] || curve->share[i] < curve->share[i - 1]) {
            return false;
        }
    }
    return true;
}

double tcp_curve_time(const struct tcp_curve *curve, double u)
{
    u *= curve->share[curve->knots - 1];
    double time = 0;
    double share = 0;
    for (unsigned i = 0; i < curve->knots; i++) {
        if (u <= curve->share[i] && curve->share[i] > share) {
            return time + (curve->time[i] - time) * (u - share) / (curve->share[i] - share);
        }
        time = curve->time[i];
        share = curve->share[i];
    }
    return time;
}

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a;
    uint64_t other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

/* `count` ticks along a curve, sorted. */
static void draw_times(const struct tcp_curve *curve, double even, struct random *random,
                       double per_second, uint64_t *ticks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        double u = random_unit(random);
        if (random_unit(random) < even) {
            u = (i + 0.5) / count;
        }
        ticks[i] = (uint64_t)(tcp_curve_time(curve, u) * per_second);
    }
    qsort(ticks, count, sizeof *ticks, by_value);
}

/* With a share of the closings, each as likely, at most `most` openings, which it returns. */
static uint32_t open_again(double share, struct random *random, const uint64_t *closes,
                           uint32_t ends, uint64_t *opens, uint32_t most)
{
    uint32_t wanted = (uint32_t)(share * ends + 0.5);
    wanted = wanted < most ? wanted : most;
    uint32_t opened = 0;
    for (uint32_t i = 0; i < ends; i++) {
        if (random_unit(random) * (ends - i) < wanted - opened) {
            opens[opened++] = closes[i];
        }
    }
    return opened;
}

void tcp_lives_assign(const struct tcp_window *window, struct random *random, double per_second,
                      struct tcp_life *lives, uint32_t count)
{
    uint32_t first = window->open.knots > 0 ? (uint32_t)(window->first * count + 0.5) : count;
    uint32_t ends = window->close.knots > 0 ? (uint32_t)(window->ended * count + 0.5) : 0;
    uint64_t *ticks = memory_new((size_t)count + ends + 1, sizeof *ticks);
    uint32_t *open = memory_new((size_t)count + 1, sizeof *open);
    uint64_t *closes = ticks + count;
    draw_times(&window->close, window->close_even, random, per_second, closes, ends);
    uint32_t again = open_again(window->again, random, closes, ends, ticks, count - first);
    draw_times(&window->open, window->open_even, random, per_second, ticks + again,
               count - first - again);
    qsort(ticks, count - first, sizeof *ticks, by_value);
    uint32_t opened = 0;
    uint32_t open_count = 0;
    for (uint32_t end = 0; end <= ends; end++) {
        uint64_t close = end < ends ? closes[end] : UINT64_MAX;
        for (; opened < count; opened++, open_count++) {
            uint64_t at = opened < first ? 0 : ticks[opened - first];
            if (at > close) {
                break;
            }
            lives[opened] = (struct tcp_life){.open = at, .close = UINT64_MAX};
            open[open_count] = opened;
        }
        if (end < ends && open_count > 0) {
            double youngest = window->young * open_count;
            uint32_t among = youngest < 1 ? 1 : (uint32_t)youngest;
            uint32_t at = open_count - 1 - (uint32_t)(random_unit(random) * among);
            lives[open[at]].close = close;
            /* The youngest takes its place: it is one of the youngest, too. */
            open[at] = open[--open_count];
        }
    }
    free(ticks);
    free(open);
}

/* The mean between two points of the law, whose logarithms these are. */
static double mean_between(double low, double high)
{
    double apart = high - low;
    return apart > 1e-9 ? (random_exp(high) - random_exp(low)) / apart : random_exp(low);
}

/* Fills in what gaps up to each point add to the mean, which it returns. */
static double add_up(struct tcp_gaps *gaps)
{
    double sum = 0;
    gaps->mean_share[0] = 0;
    for (unsigned i = 1; i < TCP_GAP_POINTS; i++) {
        sum += (tcp_gap_shares[i] - tcp_gap_shares[i - 1]) *
               mean_between(gaps->log_value[i - 1], gaps->log_value[i]);
        gaps->mean_share[i] = sum;
    }
    return sum;
}

double tcp_gaps_mean(const double *values)
{
    struct tcp_gaps gaps;
    for (unsigned i = 0; i < TCP_GAP_POINTS; i++) {
        gaps.log_value[i] = random_log(values[i]);
    }
    return add_up(&gaps);
}

/* The first point at or behind `u` of what the shares say, at least the second. */
static unsigned point_of(const double *shares, double u)
{
    unsigned i = 1;
    while (i < TCP_GAP_POINTS - 1 && shares[i] < u) {
        i++;
    }
    return i;
}

/* The gap that a share `u` of all are shorter than; *point is the one at or behind it. */
static double gap_at(const struct tcp_gaps *gaps, double u, unsigned *point)
{
    unsigned i = point_of(tcp_gap_shares, u);
    double within = (u - tcp_gap_shares[i - 1]) / (tcp_gap_shares[i] - tcp_gap_shares[i - 1]);
    *point = i;
    return random_exp(gaps->log_value[i - 1] +
                      within * (gaps->log_value[i] - gaps->log_value[i - 1]));
}

/* Of all time, what the shortest gaps take, a share `u` of them. */
static double time_until(const struct tcp_gaps *gaps, double u)
{
    unsigned i;
    double gap = gap_at(gaps, u, &i);
    double low = random_exp(gaps->log_value[i - 1]);
    double high = random_exp(gaps->log_value[i]);
    double within = high > low ? (gap - low) / (high - low) : 1;
    return gaps->mean_share[i - 1] + within * (gaps->mean_share[i] - gaps->mean_share[i - 1]);
}

bool tcp_gaps_make(struct tcp_gaps *gaps, const double *values, double mean, double kept)
{
    for (unsigned i = 0; i < TCP_GAP_POINTS; i++) {
        gaps->log_value[i] = random_log(values[i]);
        if (i > 0 && values[i] < values[i - 1]) {
            return false;
        }
    }
    double sum = add_up(gaps);
    for (unsigned i = 0; i < TCP_GAP_POINTS; i++) {
        gaps->mean_share[i] /= sum;
        gaps->log_value[i] += random_log(mean / sum);
    }
    gaps->kept = kept;
    for (unsigned part = 0; part <= TCP_GAP_PARTS; part++) {
        gaps->time_until[part] = time_until(gaps, (double)part / TCP_GAP_PARTS);
    }
    return true;
}

double tcp_gaps_waited(const struct tcp_gaps *gaps, double most, double *longer)
{
    const double log_most = random_log(most);
    double sum = 0;
    double shorter = 0;
    for (unsigned i = 1; i < TCP_GAP_POINTS && gaps->log_value[i - 1] < log_most; i++) {
        double low = gaps->log_value[i - 1];
        double high = gaps->log_value[i];
        double share = tcp_gap_shares[i] - tcp_gap_shares[i - 1];
        if (high > log_most) {
            share *= (log_most - low) / (high - low);
            high = log_most;
        }
        sum += share * mean_between(low, high);
        shorter += share;
    }
    *longer = shorter < 1 ? 1 - shorter : 0;
    return sum + *longer * most;
}

/* How long the gaps are that a connection draws from its part, of the mean of all. */
static double length_of(const struct tcp_gaps *gaps, unsigned part)
{
    return (gaps->time_until[part + 1] - gaps->time_until[part]) * TCP_GAP_PARTS;
}

unsigned tcp_gap_part(const struct tcp_gaps *gaps, struct random *random)
{
    double left = gaps->kept > 0 ? random_unit(random) * TCP_GAP_PARTS : 0;
    unsigned part = 0;
    while (part < TCP_GAP_PARTS - 1) {
        left -= gaps->kept * length_of(gaps, part) + 1 - gaps->kept;
        if (left < 0) {
            break;
        }
        part++;
    }
    return part;
}

double tcp_gap_draw(const struct tcp_gaps *gaps, unsigned part, struct random *random)
{
    double u = random_unit(random);
    if (gaps->kept > 0 && random_unit(random) < gaps->kept) {
        u = (part + u) / TCP_GAP_PARTS;
    }
    unsigned point;
    return gap_at(gaps, u, &point);
}

double tcp_gap_met(const struct tcp_gaps *gaps, unsigned part, struct random *random)
{
    double u = random_unit(random);
    double own = gaps->kept * length_of(gaps, part);
    if (gaps->kept > 0 && random_unit(random) * (own + 1 - gaps->kept) < own) {
        u = gaps->time_until[part] + u * (gaps->time_until[part + 1] - gaps->time_until[part]);
    }
    unsigned i = point_of(gaps->mean_share, u);
    /* Log-uniform, met by its length: uniform. */
    double low = random_exp(gaps->log_value[i - 1]);
    double high = random_exp(gaps->log_value[i]);
    double time = gaps->mean_share[i] - gaps->mean_share[i - 1];
    return time > 0 ? low + (high - low) * (u - gaps->mean_share[i - 1]) / time : low;
}
