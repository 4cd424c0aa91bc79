/*
 * tcp: the timers that Linux keeps for TCP connections, with Linux's constants: the parameters, and
 * how connections are when a trace begins. gen_tcp_connection.c has what happens to them then.
 *
 * There are two ways to live. In a steady state connections begin at a random moment of their
 * lives, end with a share of their replies, and come again. With the curves of a window, each
 * opens once and closes at most once, at times that the curves say: so a recording's own load
 * comes and goes. gen_tcp_lives.h has what is drawn from curves.
 *
 * Smooth traffic keeps to the law of gaps. With bursts (gen_traffic.h) a client's activity takes
 * that law's place, and who asks much would close more often, and be in TIME_WAIT instead of
 * asking: the mean would sink. Therefore a connection then lives for a time that does not depend
 * on what it asks, as long as others do in the mean, and what comes while it is closed is left out.
 * A life's end has a request, or the peer vanishes; the others come slower by as much.
 */
#include "gen_tcp_connection.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>

enum {
#define ROW(place, ...)          place,
#define GROUP(place, count, ...) place, place##_LAST = place + (count)-1,
#include "gen_tcp_parameters.h"
#undef ROW
#undef GROUP
    ROWS
};
_Static_assert(ROWS < GEN_PARAMETERS_MAX, "the rows and the end of the table must fit");
_Static_assert(GAP_P100 - GAP_P0 + 1 == TCP_GAP_POINTS &&
                   OPEN_8 - OPEN_1_S + 1 == 2 * TCP_CURVE_KNOTS,
               "a row for each point");

enum { ENDS_SERVER, ENDS_CLIENT, ENDS_BOTH };
static const char *const ends_words[] = {
    [ENDS_SERVER] = "server", [ENDS_CLIENT] = "client", [ENDS_BOTH] = "both", NULL};

enum { WHEEL_EXACT, WHEEL_LINUX };
static const char *const wheel_words[] = {[WHEEL_EXACT] = "exact", [WHEEL_LINUX] = "linux", NULL};

static const struct gen_parameter tcp_parameters[] = {
#define ROW(place, ...)          [place] = {__VA_ARGS__},
#define GROUP(place, count, ...) __VA_ARGS__,
#include "gen_tcp_parameters.h"
#undef ROW
#undef GROUP
    [ROWS] = {0},
};

#define NAME(place, name) [place] = (name),
static const char *const tcp_kinds[] = {TCP_TIMERS(NAME) NULL};
static const char *const tcp_counts[] = {TCP_COUNTS(NAME) NULL};
#undef NAME

/* --- at a random moment of its life ---------------------------------------------------------- */

/* A timer that was started so long ago, if it still runs. */
static void place_running(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind,
                          uint64_t ticks, uint64_t age_ticks)
{
    ticks += visit->tcp->late_ticks;
    if (end != NULL && age_ticks <= ticks) {
        gen_timer_place(&end->timers[kind], visit->now, ticks, age_ticks);
    }
}

/* An end whose peer vanished: what its keepalive timer has seen since. */
static void populate_vanished(const struct tcp_visit *visit, struct tcp_end *end)
{
    const struct tcp *tcp = visit->tcp;
    struct gen_model *model = visit->model;
    uint64_t silence =
        gen_uniform_age(model, tcp->keepalive_ticks + tcp->probes * tcp->probe_interval_ticks);
    struct gen_timer *timer = &end->timers[KIND_KEEPALIVE];
    end->heard_at = visit->now - silence;
    if (silence <= tcp->keepalive_ticks) {
        /* The timer ran already when the peer was last heard, and then once more for the rest. */
        uint64_t ran = gen_uniform_age(model, tcp->keepalive_ticks) - 1;
        if (ran + silence <= tcp->keepalive_ticks) {
            gen_timer_place(timer, visit->now, tcp->keepalive_ticks, ran + silence);
        } else {
            gen_timer_place(timer, visit->now, ran, ran + silence - tcp->keepalive_ticks);
        }
    } else {
        uint64_t probing = silence - tcp->keepalive_ticks - 1;
        end->probes = (uint8_t)(1 + probing / tcp->probe_interval_ticks);
        gen_timer_place(timer, visit->now, tcp->probe_interval_ticks,
                        1 + probing % tcp->probe_interval_ticks);
    }
}

/* A gap as it is met at any moment, and no longer than the server waits. */
static double meet_gap(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    const struct tcp_connection *connection = visit->connection;
    struct random *random = &visit->model->random;
    double times = connection->slow ? tcp->slow_times : 1;
    double gap = times * tcp_gap_met(&tcp->gaps, connection->part, random);
    const double limit = fmin(tcp->close_idle_ticks, tcp->gap_most_ticks);
    /* Met by the time that it is waited for. */
    while (gap > limit && random_unit(random) * gap >= limit) {
        gap = times * tcp_gap_met(&tcp->gaps, connection->part, random);
    }
    return fmin(gap, tcp->gap_most_ticks);
}

/* How many a connection has had that is met at any moment: past the first ones, if there is no
 * limit. */
static uint32_t requests_so_far(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    if (tcp->close_requests == UINT32_MAX) {
        return UINT32_MAX / 2;
    }
    double stays = tcp->window ? 1 : (1 - tcp->close) * (1 - tcp->vanish);
    double u = random_unit(&visit->model->random);
    double limit = tcp->close_requests;
    double had =
        stays < 1 - 1e-9
            ? random_log(1 - u * (1 - random_exp(limit * random_log(stays)))) / random_log(stays)
            : u * limit;
    return had < limit ? (uint32_t)had : tcp->close_requests - 1;
}

/* Between two requests, and as old as it may be; GEN_TICKS_MAX: as old as you like. */
static void populate_idle(const struct tcp_visit *visit, double mean_life_ticks)
{
    const struct tcp *tcp = visit->tcp;
    struct gen_model *model = visit->model;
    struct tcp_connection *connection = visit->connection;
    const bool smooth = tcp->traffic.smooth;
    uint64_t gap = smooth ? gen_whole_ticks(meet_gap(visit)) : 0;
    uint64_t since = smooth ? gen_uniform_age(model, gap) : visit->now - connection->request_at;
    uint64_t age = mean_life_ticks < (double)GEN_TICKS_MAX
                       ? gen_exponential(model, mean_life_ticks)
                       : gen_uniform_age(model, tcp->keepalive_ticks);
    if (age < since && !smooth) {
        since = age; /* before, there was none */
    } else if (age < since && !tcp->window) {
        age = since;
    }
    connection->state = STATE_IDLE;
    connection->requests = requests_so_far(visit);
    connection->request_at = visit->now - since;
    connection->event_at = smooth ? visit->now - since + gap
                                  : gen_next_request(model, &tcp->traffic, &connection->activity,
                                                     visit->now - 1, visit->number);
    tcp_close_if_idle(visit, connection->request_at);
    if (!smooth && !tcp->window) {
        connection->close_at = visit->now + gen_exponential(model, mean_life_ticks);
    }
    if (connection->close_at <= connection->event_at) {
        connection->silent = false;
        connection->event_at =
            connection->close_at > visit->now ? connection->close_at : visit->now;
    }
    for (uint32_t i = 0; i < tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->heard_at = visit->now - since;
        end->unseen = tcp_is_unseen(visit);
        end->quick = connection->quick_again;
        end->estimate = (struct gen_rtt){.smoothed_ticks = connection->rtt_ticks};
        end->measured = true;
        place_running(visit, end, KIND_RETRANSMIT, tcp_rto(tcp, end, 0), since);
        if (end->keepalive) {
            /* It has expired every keepalive time, more or less. */
            place_running(visit, end, KIND_KEEPALIVE, tcp->keepalive_ticks,
                          1 + (age - 1) % tcp->keepalive_ticks);
        }
    }
    place_running(visit, visit->server, KIND_DELAYED_ACK, connection->delack_ticks, since);
}

static void equip(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    const double *p = visit->model->parameters;
    struct gen_model *model = visit->model;
    struct tcp_connection *connection = visit->connection;
    connection->rtt_ticks =
        (float)(tcp->rtt_sigma > 0
                    ? random_lognormal(&model->random, tcp->rtt_median_ticks, tcp->rtt_sigma)
                    : tcp->rtt_median_ticks);
    connection->delack_ticks = (uint32_t)gen_whole_ticks(
        gen_per_ms(model) *
        (p[DELACK_MIN_MS] + (p[DELACK_MAX_MS] - p[DELACK_MIN_MS]) * random_unit(&model->random)));
    connection->part = (uint8_t)tcp_gap_part(&tcp->gaps, &model->random);
    connection->slow = tcp->slow_share > 0 && gen_chance(model, tcp->slow_share);
    connection->paced = tcp->pacing > 0 && gen_chance(model, tcp->pacing);
    connection->quick_again = (uint8_t)tcp->quick_again_least;
    if (tcp->quick_again_count > 1) {
        connection->quick_again += (uint8_t)(tcp->quick_again_count * random_unit(&model->random));
    }
    connection->close_at = GEN_NEVER;
    connection->return_at = GEN_NEVER;
    connection->client_closes = tcp_closes_at_client(visit);
    if (!tcp->traffic.smooth) {
        uint64_t age = gen_activity_place(model, &tcp->traffic, &connection->activity, visit->now,
                                          visit->number, tcp->traffic.busy_ticks);
        connection->request_at = visit->now - age;
    }
}

/* A share of the connections has keepalive, and one of those that begin with Linux's silence are
 * given another. */
static void give_keepalive(const struct tcp_visit *visit, double share, double set)
{
    visit->connection->keepalive_set = (float)set;
    bool has = share >= 1 || gen_chance(visit->model, share);
    bool both = gen_chance(visit->model, visit->tcp->keepalive_client);
    if (visit->server != NULL) {
        visit->server->keepalive = has;
    }
    if (visit->client != NULL) {
        visit->client->keepalive = has && both;
    }
}

/* The mean times that a slot spends in a cycle, in ticks. */
struct cycle {
    double idle;
    double vanished;
    double time_wait;
    double pause;
};

static void place_time_wait(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    uint64_t age = gen_uniform_age(visit->model, tcp->time_wait_ticks);
    struct tcp_end *closer = tcp_closer_of(visit);
    if (closer != NULL) {
        gen_timer_place(&closer->timers[KIND_TIME_WAIT], visit->now,
                        tcp->time_wait_ticks + tcp->late_ticks, age);
    } else {
        visit->connection->event_at = visit->now - age + tcp->time_wait_ticks;
    }
}

static double whole_of(const struct cycle *cycle)
{
    return cycle->idle + cycle->vanished + cycle->time_wait + cycle->pause;
}

/* Of a connection whose gaps are so many times as long as the law's. */
static struct cycle cycle_of(const struct tcp *tcp, double times)
{
    double longer = 0;
    const double limit = fmin(tcp->close_idle_ticks, tcp->gap_most_ticks);
    double wait = limit < HUGE_VAL ? times * tcp_gaps_waited(&tcp->gaps, limit / times, &longer)
                                   : times * tcp->gap_ticks;
    double by_silence = tcp->close_idle_ticks < tcp->gap_most_ticks ? longer : 0;
    double ends = tcp->close + tcp->vanish + by_silence;
    double waits = ends > 1e-12 ? 1 / ends : 1e12;
    if (tcp->close_requests < UINT32_MAX) {
        waits *= 1 - random_exp(tcp->close_requests * random_log(ends < 1 ? 1 - ends : 1e-9));
    }
    double vanished = tcp->vanish * waits;
    return (struct cycle){
        .idle = tcp->traffic.smooth ? wait * waits : tcp->life_ticks,
        .vanished = vanished * tcp->keepalive_share *
                    (double)(tcp->keepalive_ticks + tcp->probes * tcp->probe_interval_ticks),
        .time_wait = (1 - vanished) * (double)tcp->time_wait_ticks,
        .pause = tcp->pause_ticks,
    };
}

static void populate_steady(struct gen_model *model, uint64_t now)
{
    const struct tcp *tcp = model->state;
    const struct cycle cycles[] = {cycle_of(tcp, 1), cycle_of(tcp, tcp->slow_times)};
    for (uint32_t i = 0; i < model->connections; i++) {
        const struct tcp_visit visit = tcp_visit_of(model, now, i);
        struct tcp_connection *connection = visit.connection;
        equip(&visit);
        give_keepalive(&visit, tcp->keepalive_share, tcp->keepalive_set);
        const struct cycle *cycle = &cycles[connection->slow];
        double u = random_unit(&model->random) * whole_of(cycle);
        bool heeded = false;
        for (uint32_t k = 0; k < tcp->ends; k++) {
            heeded = heeded || visit.ends[k].keepalive;
        }
        connection->event_at = GEN_NEVER;
        if (u < cycle->idle) {
            populate_idle(&visit, cycle->idle);
        } else if (u < cycle->idle + cycle->vanished && heeded) {
            connection->state = STATE_VANISHED;
            for (uint32_t k = 0; k < tcp->ends; k++) {
                if (visit.ends[k].keepalive) {
                    populate_vanished(&visit, &visit.ends[k]);
                }
            }
        } else if (u < cycle->idle + cycle->vanished + cycle->time_wait) {
            connection->state = STATE_TIME_WAIT;
            place_time_wait(&visit);
        } else {
            connection->state = STATE_CLOSED;
            connection->event_at = now - 1 + gen_exponential(model, tcp->pause_ticks);
        }
        tcp_file_next(&visit);
    }
}

static int by_lasting(const void *a, const void *b)
{
    const struct tcp_life *one = a;
    const struct tcp_life *other = b;
    uint64_t one_lasts = one->close - one->open;
    uint64_t other_lasts = other->close - other->open;
    if (one_lasts != other_lasts) {
        return one_lasts > other_lasts ? -1 : 1;
    }
    return one->open < other->open ? -1 : one->open > other->open;
}

/* Those that last longest have keepalive, and of these again those that last longest one that the
 * server sets; the window begins with the trace. */
static bool populate_window(struct gen_model *model, uint64_t now)
{
    const struct tcp *tcp = model->state;
    const double *p = model->parameters;
    const uint32_t spares = (uint32_t)(p[OPEN_SPARE] * model->connections);
    const uint32_t count = model->connections - spares;
    if (count == 0) {
        return error_set(model->error, "tcp: open_spare leaves no connection");
    }
    const double of_all = (double)model->connections / count;
    struct tcp_window window = {.first = fmin(1, p[OPEN_FIRST] * of_all),
                                .ended = fmin(1, p[CLOSE_ENDED] * of_all),
                                .open_even = p[OPEN_EVEN],
                                .close_even = p[CLOSE_EVEN],
                                .again = p[OPEN_AGAIN],
                                .young = p[CLOSE_YOUNG]};
    if (!tcp_curve_read(&window.open, p + OPEN_1_S) ||
        !tcp_curve_read(&window.close, p + CLOSE_1_S)) {
        return error_set(model->error, "tcp: the knots of open_ or close_ must not go down");
    }
    struct tcp_life *lives = memory_new(count, sizeof *lives);
    tcp_lives_assign(&window, &model->random, gen_per_second(model), lives, count);
    qsort(lives, count, sizeof *lives, by_lasting);
    double first_ticks = p[OPEN_FIRST_S] * gen_per_second(model);
    double with_keepalive = tcp->keepalive_share * count;
    for (uint32_t i = 0; i < count; i++) {
        const struct tcp_visit visit = tcp_visit_of(model, now, i);
        struct tcp_connection *connection = visit.connection;
        equip(&visit);
        give_keepalive(&visit, with_keepalive - i, tcp->keepalive_set * with_keepalive - i);
        connection->close_at =
            lives[i].close == UINT64_MAX ? GEN_NEVER : model->warmup_end + lives[i].close;
        connection->single = lives[i].close != UINT64_MAX && i >= (1 - p[CLOSE_SINGLE]) * count;
        if (lives[i].open == 0 && first_ticks > 0) {
            connection->state = STATE_CLOSED;
            connection->event_at =
                model->warmup_end -
                gen_whole_ticks(first_ticks - p[OPEN_FIRST_OVER_S] * gen_per_second(model) *
                                                  random_unit(&model->random));
        } else if (lives[i].open == 0) {
            populate_idle(&visit, (double)GEN_TICKS_MAX);
        } else {
            connection->state = STATE_CLOSED;
            connection->event_at = model->warmup_end + lives[i].open;
        }
        tcp_file_next(&visit);
    }
    free(lives);
    for (uint32_t i = count; i < model->connections; i++) {
        const struct tcp_visit visit = tcp_visit_of(model, now, i);
        visit.connection->close_at = GEN_NEVER;
        visit.connection->return_at = GEN_NEVER;
        tcp_put_spare(&visit);
    }
    return true;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Gives the ends their places: as many as there are kinds for each. */
static void name_timers(struct gen_model *model)
{
    const struct tcp *tcp = model->state;
    uint32_t place = 0;
    for (uint32_t i = 0; i < model->connections; i++) {
        struct tcp_end *ends = tcp_record_ends(model, i);
        for (uint32_t k = 0; k < tcp->ends * tcp->kinds; k++) {
            ends[k / tcp->kinds].timers[k % tcp->kinds].id = place++;
        }
    }
    model->timer_number = tcp->ends * tcp->kinds * model->connections;
}

/* Reads the knobs of activity. So many requests a second as there are in smooth traffic: of a
 * steady life's, in the mean 1 / (close + vanish - close * vanish) waits, the last ends it. */
static void read_traffic(struct gen_model *model)
{
    const double *p = model->parameters;
    struct tcp *tcp = model->state;
    const double gap = gen_per_second(model) / p[RATE_PER_S];
    double stays = (1 - tcp->close) * (1 - tcp->vanish);
    stays = stays > 1e-9 ? stays : 1e-9;
    double ends = 1 - stays > 1e-12 ? 1 - stays : 1e-12;
    tcp->life_ticks = gap / ends;
    tcp->vanish_life = tcp->vanish / ends;
    double reply_sigma = tcp->reply_sigma;
    double rtt_sigma = tcp->rtt_sigma;
    double again = tcp->loss < 1 ? 2 * tcp->loss / (1 - tcp->loss) * tcp->rto_min_ticks : 0;
    double busy = tcp->reply_median_ticks * random_exp(reply_sigma * reply_sigma / 2) +
                  tcp->rtt_median_ticks * random_exp(rtt_sigma * rtt_sigma / 2) + again;
    double mean = tcp->window ? gap : gap / stays;
    const struct gen_smooth smooth = {.mean_ticks = mean > busy ? mean : busy,
                                      .busy_ticks = busy,
                                      .gap_ticks = mean > 2 * busy ? mean - busy : mean / 2};
    gen_traffic_read(model, ACTIVITY, &smooth, &tcp->traffic);
}

/* The law's values, of which two may be left to those around them. */
static void read_gaps(const double *given, double *gap_ms)
{
    for (unsigned i = 0; i < TCP_GAP_POINTS; i++) {
        unsigned behind = i;
        while (!(given[behind] > 0)) {
            behind++; /* the last one is above 0 */
        }
        gap_ms[i] = given[i];
        if (behind > i) {
            double way = (tcp_gap_shares[i] - tcp_gap_shares[i - 1]) /
                         (tcp_gap_shares[behind] - tcp_gap_shares[i - 1]);
            gap_ms[i] = gap_ms[i - 1] * random_exp(way * random_log(given[behind] / gap_ms[i - 1]));
        }
    }
}

static bool read_parameters(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    const double per_ms = gen_per_ms(model);
    struct tcp *tcp = model->state;
    unsigned ends = (unsigned)p[ENDS];
    if (p[RTO_INITIAL_MS] > p[RTO_MAX_S] * 1000 || p[RTO_MIN_MS] > p[RTO_MAX_S] * 1000) {
        return error_set(model->error, "tcp: rto_initial_ms or rto_min_ms is above rto_max_s");
    }
    if (!gen_ordered(model, OPEN_FIRST_OVER_S, OPEN_FIRST_S, 1) ||
        !gen_ordered(model, DELACK_MIN_MS, DELACK_MAX_MS, 1) ||
        !gen_ordered(model, QUICK_AGAIN_MIN, QUICK_AGAIN_MAX, 1)) {
        return false;
    }
    *tcp = (struct tcp){
        .reply_median_ticks = p[REPLY_MEDIAN_MS] * per_ms,
        .reply_sigma = p[REPLY_SIGMA],
        .close = p[CLOSE],
        .close_asked = p[CLOSE_ASKED],
        .close_client = p[CLOSE_CLIENT],
        .close_requests = p[CLOSE_REQUESTS] >= 1 ? (uint32_t)p[CLOSE_REQUESTS] : UINT32_MAX,
        .close_idle_ticks = p[CLOSE_IDLE_S] > 0 ? p[CLOSE_IDLE_S] * per_second : HUGE_VAL,
        .open_again = p[OPEN_AGAIN],
        .plan_kept = p[PLAN_KEPT],
        .slow_share = p[GAP_SLOW],
        .slow_times = p[GAP_SLOW_TIMES],
        .gap_most_ticks = p[GAP_MOST_S] > 0 ? p[GAP_MOST_S] * per_second : HUGE_VAL,
        .pacing = p[PACING],
        .pacing_bursts = p[PACING_BURSTS],
        .pacing_ticks = gen_whole_ticks(p[PACING_MS] * per_ms),
        .spare = NO_SPARE,
        .vanish = p[VANISH],
        .pause_ticks = p[PAUSE_S] * per_second,
        .rtt_median_ticks = p[RTT_MEDIAN_MS] * per_ms,
        .rtt_sigma = p[RTT_SIGMA],
        .jitter = p[JITTER],
        .loss = p[LOSS],
        .rto_initial_ticks = gen_whole_ticks(p[RTO_INITIAL_MS] * per_ms),
        .rto_min_ticks = p[RTO_MIN_MS] * per_ms,
        .rto_max_ticks = gen_whole_ticks(p[RTO_MAX_S] * per_second),
        .syn_linear = (uint32_t)p[SYN_LINEAR],
        .syn_retries = (uint32_t)p[SYN_RETRIES],
        .retries = (uint32_t)p[RETRIES],
        .quick_acks = (uint32_t)p[QUICK_ACKS],
        .quick_again_least = floor(p[QUICK_AGAIN_MIN]),
        .quick_again_count = floor(p[QUICK_AGAIN_MAX]) - floor(p[QUICK_AGAIN_MIN]) + 1,
        .delack_reply = p[DELACK_REPLY],
        .keepalive_share = p[KEEPALIVE],
        .keepalive_client = p[KEEPALIVE_CLIENT],
        .keepalive_default = p[KEEPALIVE_DEFAULT],
        .keepalive_set = p[KEEPALIVE_SET],
        .keepalive_ticks = gen_whole_ticks(p[KEEPALIVE_S] * per_second),
        .probe_interval_ticks = gen_whole_ticks(p[PROBE_INTERVAL_S] * per_second),
        .probes = (uint32_t)p[PROBES],
        .fin_wait2_ticks = p[FIN_WAIT2_S] > 0 ? gen_whole_ticks(p[FIN_WAIT2_S] * per_second) : 0,
        .time_wait_ticks = gen_whole_ticks(p[TIME_WAIT_S] * per_second),
        .late_ticks = (uint64_t)p[LATE_TICKS],
        .window_ticks = model->seconds * per_second,
        .pace_end = p[PACE_END],
        .server = ends != ENDS_CLIENT,
        .client = ends != ENDS_SERVER,
        .ends = ends == ENDS_BOTH ? 2 : 1,
        .linux_wheel = p[WHEEL] == WHEEL_LINUX,
        .window = p[OPEN_1_S + 2 * TCP_CURVE_KNOTS - 1] > 0 || p[OPEN_FIRST] > 0,
    };
    for (unsigned i = 0; i < TCP_CURVE_KNOTS; i++) {
        tcp->window = tcp->window || p[OPEN_1_S + 2 * i + 1] > 0;
    }
    tcp->ends_bytes = tcp->ends * (uint32_t)sizeof(struct tcp_end);
    /* So many requests a second in the mean of those with shorter and with longer gaps. */
    tcp->gap_ticks = per_second / p[RATE_PER_S];
    if (tcp->slow_share > 0) {
        tcp->gap_ticks *= 1 - tcp->slow_share + tcp->slow_share / tcp->slow_times;
    }
    double gap_ms[TCP_GAP_POINTS];
    read_gaps(p + GAP_P0, gap_ms);
    if (!tcp_gaps_make(&tcp->gaps, gap_ms, tcp->gap_ticks, p[GAP_KEPT])) {
        return error_set(model->error, "tcp: gap_p0 to gap_p100 must not go down");
    }
    read_traffic(model);
    bool ends_itself = tcp->close_requests < UINT32_MAX || tcp->close_idle_ticks < HUGE_VAL ||
                       tcp->slow_share > 0 || tcp->gap_most_ticks < HUGE_VAL;
    if (ends_itself && !tcp->traffic.smooth) {
        return error_set(model->error,
                         "tcp: close_requests, close_idle_s, gap_slow and gap_most_s are of smooth "
                         "traffic: set trickle to 1");
    }
    return tcp->traffic.smooth || !tcp->window || tcp->pace_end == 1 ||
           error_set(model->error, "tcp: bursts have no pace: set pace_end to 1, or trickle to 1");
}

/* The trace's ticks are in phase with the wheel's slots of up to so many. */
#define WHEEL_PHASE_TICKS 64

static bool create(struct gen_model *model)
{
    if (!read_parameters(model)) {
        return false;
    }
    const double *p = model->parameters;
    struct tcp *tcp = model->state;
    /* Some exchanges and connects, until their phases are mixed. */
    double warmup = 3 * ((double)tcp->rto_initial_ticks + tcp->pause_ticks) +
                    10 * (tcp->reply_median_ticks + tcp->rtt_median_ticks);
    if (tcp->window) {
        warmup = fmax(warmup, p[OPEN_FIRST_S] * gen_per_second(model) + 1);
    }
    uint64_t warmup_ticks = gen_whole_ticks(warmup);
    if (tcp->linux_wheel) {
        model->align_ticks = WHEEL_PHASE_TICKS;
        warmup_ticks += WHEEL_PHASE_TICKS - warmup_ticks % WHEEL_PHASE_TICKS;
    }
    model->warmup_end = GEN_EPOCH + warmup_ticks;
    if (!gen_herds_read(model, HERDS, GEN_HERD_ROWS, &tcp->herds)) {
        return false;
    }
    gen_model_begin(model,
                    tcp->ends_bytes + sizeof(struct tcp_connection) +
                        (tcp->plan_kept > 0 ? sizeof(struct tcp_plans) : 0),
                    GEN_EPOCH, tcp->time_wait_ticks);
    if (tcp->pacing == 0) {
        model->kind_count--; /* the last */
    }
    tcp->kinds = model->kind_count;
    name_timers(model);
    if (tcp->window) {
        return populate_window(model, GEN_EPOCH);
    }
    populate_steady(model, GEN_EPOCH);
    return true;
}

extern const struct gen_workload gen_tcp;
const struct gen_workload gen_tcp = {
    .name = "tcp",
    .summary = "Linux's timers of TCP connections: retransmission, delayed ACK, keepalive, "
               "SYN-ACK, TIME_WAIT",
    .stresses = "delays from 40 ms to a minute and hours at once; nearly all that end, expire, and "
                "many do nothing then",
    .resembles = "the kernel of a busy server",
    .parameters = tcp_parameters,
    .max_connections = UINT32_MAX / (2 * KINDS),
    .kinds = tcp_kinds,
    .ids_when_used = true,
    .counts = tcp_counts,
    .state_bytes = sizeof(struct tcp),
    .create = create,
    .simulate = tcp_simulate,
    .pending = tcp_list_pending,
};
