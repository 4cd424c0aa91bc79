/* workloads.c: each workload compared with its own arithmetic. An exact timekeeper observes the
 * trace, and its counts must agree with the model's and with the parameters. Every structure
 * replays every workload. */
#include "gen_expect.h"

#include "gen.h"
#include "simulate.h"
#include "stand.h"
#include "trace.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- a trace in memory ----------------------------------------------------------------------- */

struct operation {
    uint64_t tick;
    uint64_t delay;
    uint32_t id;
    bool start;
    bool recorded; /* not of the warm-up */
    bool pending;  /* the timer was, before the operation */
    struct trace_cause cause;
};

enum { KINDS_MAX = 5 };

enum { RETRANSMIT, DELAYED_ACK, KEEPALIVE, SYN_ACK, TIME_WAIT }; /* tcp's */

struct tally {
    uint64_t starts;
    uint64_t restarts;
    uint64_t stops;
    uint64_t caused_starts; /* of these, reactions */
    uint64_t caused_stops;
    uint64_t expiries;
    uint64_t pending_warm; /* when the warm-up ends */
    uint64_t pending_end;
    double pending_ticks; /* timers times ticks */
};

struct timeline {
    const struct gen_workload *workload;
    struct trace_header header;
    json_t *origin;
    struct operation *operations;
    size_t count;
    uint32_t kinds;
    uint32_t places; /* beyond every timer's */
    struct tally tally[KINDS_MAX];
    uint64_t window_ticks;
    uint64_t busiest; /* expiries in one tick of the window */
    uint64_t busiest_tick;
};

static void read_operations(struct timeline *timeline)
{
    struct error error;
    struct trace_reader *reader = trace_reader_open(path, &error);
    assert_non_null(reader);
    timeline->header = *trace_reader_header(reader);
    timeline->origin = json_loads(timeline->header.origin, 0, NULL);
    assert_non_null(timeline->origin);
    timeline->operations = calloc(timeline->header.events + 1, sizeof *timeline->operations);
    assert_non_null(timeline->operations);
    struct trace_block block;
    int got;
    while ((got = trace_reader_next(reader, &block, &error)) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++) {
                const struct trace_record *record = &block.records[i];
                static const struct trace_cause outside = {.basis = TRACE_EXTERNAL};
                bool start = record->op == TRACE_START;
                timeline->operations[timeline->count++] = (struct operation){
                    .tick = group->tick,
                    .delay = start ? record->deadline - group->tick : 0,
                    .id = record->id,
                    .start = start,
                    .recorded = group->tick >= timeline->header.warmup_end_tick,
                    .cause = block.causes != NULL ? block.causes[i] : outside,
                };
            }
        }
    }
    assert_int_equal(got, 0);
    trace_reader_close(reader);
}

/* Name the timers by their places in the model, which give connection and kind. */
static void put_in_places(struct timeline *timeline, const uint64_t *places)
{
    for (uint32_t id = 0; id < timeline->header.ids; id++) {
        timeline->places =
            places[id] >= timeline->places ? (uint32_t)places[id] + 1 : timeline->places;
    }
    for (size_t i = 0; i < timeline->count; i++) {
        struct operation *operation = &timeline->operations[i];
        operation->id = (uint32_t)places[operation->id];
        if (operation->cause.basis != TRACE_EXTERNAL) {
            operation->cause.id = (uint32_t)places[operation->cause.id];
        }
    }
}

/* The exact timekeeper. */
struct keeper {
    struct timeline *timeline;
    uint64_t *due; /* 0: not pending */
    uint64_t *started;
    bool *spent;        /* expired: a late structure may still hold it */
    uint64_t *expiries; /* by tick of the window */
};

/* The timer is pending no more from `ended` on. */
static void keep_end(struct keeper *keeper, uint32_t id, uint64_t ended)
{
    struct tally *tally = &keeper->timeline->tally[id % keeper->timeline->kinds];
    uint64_t from = keeper->timeline->header.warmup_end_tick;
    from = from > keeper->started[id] ? from : keeper->started[id];
    tally->pending_ticks += ended > from ? (double)(ended - from) : 0;
    keeper->due[id] = 0;
}

static void keep_expiry(struct keeper *keeper, uint32_t id)
{
    uint64_t due = keeper->due[id];
    assert_true(due >= keeper->timeline->header.warmup_end_tick);
    keeper->timeline->tally[id % keeper->timeline->kinds].expiries++;
    uint64_t at = ++keeper->expiries[due - keeper->timeline->header.warmup_end_tick];
    if (at > keeper->timeline->busiest) {
        keeper->timeline->busiest = at;
        keeper->timeline->busiest_tick = due - keeper->timeline->header.warmup_end_tick;
    }
    keep_end(keeper, id, due);
    keeper->spent[id] = true;
}

/* Reactions are at their cause's tick, before its timer is started again. External operations use
 * no expired timer, except in an attack, and for TCP's retransmission and delayed ACK, which their
 * connection reuses. */
static void keep_cause(struct keeper *keeper, const struct operation *operation)
{
    const struct timeline *timeline = keeper->timeline;
    uint32_t kind = operation->id % timeline->kinds;
    struct tally *tally = &keeper->timeline->tally[kind];
    if (operation->cause.basis != TRACE_EXTERNAL) {
        assert_true(operation->recorded);
        assert_int_equal(keeper->due[operation->cause.id], operation->tick);
        tally->caused_starts += operation->start;
        tally->caused_stops += !operation->start;
        return;
    }
    const char *name = timeline->workload->name;
    bool lasts = kind <= DELAYED_ACK;
    if (strcmp(name, "adversary") != 0 && !(strcmp(name, "tcp") == 0 && lasts)) {
        uint64_t due = keeper->due[operation->id];
        assert_false(keeper->spent[operation->id] || (due != 0 && due <= operation->tick));
    }
}

static void keep_operation(struct keeper *keeper, struct operation *operation)
{
    uint32_t id = operation->id;
    struct tally *tally = &keeper->timeline->tally[id % keeper->timeline->kinds];
    bool caused = operation->cause.basis != TRACE_EXTERNAL;
    keep_cause(keeper, operation);
    if (keeper->due[id] != 0 && keeper->due[id] <= operation->tick) {
        keep_expiry(keeper, id);
    }
    operation->pending = keeper->due[id] != 0;
    keeper->spent[id] = caused && !operation->start;
    if (!operation->start) {
        assert_true(operation->recorded && operation->pending);
        tally->stops++;
        keep_end(keeper, id, operation->tick);
        return;
    }
    assert_true(operation->delay > 0);
    if (operation->recorded) {
        tally->starts++;
        tally->restarts += operation->pending;
    } else {
        assert_false(operation->pending);
        tally->pending_warm++;
    }
    if (operation->pending) {
        keep_end(keeper, id, operation->tick);
    }
    keeper->due[id] = operation->tick + operation->delay;
    keeper->started[id] = operation->tick;
}

static void expect_pending(const struct timeline *timeline)
{
    const json_t *counts = json_object_get(timeline->origin, "counts");
    for (uint32_t k = 0; k < timeline->kinds; k++) {
        const char *kind = timeline->workload->kinds[k];
        const json_t *warm = json_object_get(counts, "pending_at_warmup_end");
        const json_t *end = json_object_get(counts, "pending_at_end");
        assert_int_equal(json_integer_value(json_object_get(warm, kind)),
                         timeline->tally[k].pending_warm);
        assert_int_equal(json_integer_value(json_object_get(end, kind)),
                         timeline->tally[k].pending_end);
    }
}

/* Generate a trace, and check operations that no model makes: a stop of an idle timer, a start
 * without delay, anything but the pending timers' starts in the warm-up, a reaction at another tick
 * than its cause's expiry. */
static void observe(struct timeline *timeline, const char *name, uint32_t connections,
                    double seconds, const char *const *settings)
{
    struct error error = {""};
    struct gen_part part = {.workload = gen_find(name, &error), .connections = connections};
    assert_non_null(part.workload);
    gen_parameters_default(part.workload, part.parameters);
    for (; settings != NULL && *settings != NULL; settings++) {
        if (!gen_parameter_set(part.workload, part.parameters, *settings, NULL, &error)) {
            fail_msg("%s", error.text);
        }
    }
    /* Ids are places here, whether used or not. */
    struct gen_names places = {0};
    const struct gen_request request = {.parts = &part,
                                        .part_count = 1,
                                        .seconds = seconds,
                                        .seed = 11,
                                        .whole_parts = 1,
                                        .names = &places};
    struct gen_summary summary;
    if (!gen_trace(&request, path, &summary, &error)) {
        fail_msg("%s", error.text);
    }
    *timeline = (struct timeline){.workload = part.workload};
    read_operations(timeline);
    put_in_places(timeline, places.names);
    free(places.names);
    /* Not always all of the workload's. */
    timeline->kinds = (uint32_t)json_object_size(
        json_object_get(json_object_get(timeline->origin, "counts"), "pending_at_end"));
    assert_in_range(timeline->kinds, 1, KINDS_MAX);
    timeline->window_ticks = timeline->header.end_tick - timeline->header.warmup_end_tick;
    struct keeper keeper = {
        .timeline = timeline,
        .due = calloc(timeline->places, sizeof *keeper.due),
        .started = calloc(timeline->places, sizeof *keeper.started),
        .spent = calloc(timeline->places, sizeof *keeper.spent),
        .expiries = calloc(timeline->window_ticks, sizeof *keeper.expiries),
    };
    assert_true(keeper.due != NULL && keeper.started != NULL && keeper.spent != NULL &&
                keeper.expiries != NULL);
    for (size_t i = 0; i < timeline->count; i++) {
        keep_operation(&keeper, &timeline->operations[i]);
    }
    for (uint32_t id = 0; id < timeline->places; id++) {
        /* The model stops before the end tick, so that timers due there are pending. */
        if (keeper.due[id] != 0 && keeper.due[id] < timeline->header.end_tick) {
            keep_expiry(&keeper, id);
        } else if (keeper.due[id] != 0) {
            timeline->tally[id % timeline->kinds].pending_end++;
            keep_end(&keeper, id, timeline->header.end_tick);
        }
    }
    free(keeper.due);
    free(keeper.started);
    free(keeper.spent);
    free(keeper.expiries);
    expect_pending(timeline);
    uint64_t reactions = 0;
    for (uint32_t k = 0; k < timeline->kinds; k++) {
        reactions += timeline->tally[k].caused_starts + timeline->tally[k].caused_stops;
    }
    assert_int_equal(timeline->header.reactions, reactions);
    assert_true(timeline->header.causes_known);
}

static void forget(struct timeline *timeline)
{
    free(timeline->operations);
    json_decref(timeline->origin);
}

/* The next recorded start of that kind, from *i on; NULL at the end. */
static const struct operation *next_start(const struct timeline *timeline, size_t *i, unsigned kind)
{
    while (*i < timeline->count) {
        const struct operation *operation = &timeline->operations[(*i)++];
        if (operation->start && operation->recorded && operation->id % timeline->kinds == kind) {
            return operation;
        }
    }
    return NULL;
}

/* Recorded starts of that kind with a delay from `min` to `max`. */
static double starts_between(const struct timeline *timeline, unsigned kind, uint64_t min,
                             uint64_t max)
{
    double n = 0;
    size_t i = 0;
    for (const struct operation *start; (start = next_start(timeline, &i, kind)) != NULL;) {
        n += start->delay >= min && start->delay <= max;
    }
    return n;
}

/* The recorded starts' delays of that kind, sorted. */
static uint64_t *sorted_delays(const struct timeline *timeline, unsigned kind, size_t *count)
{
    uint64_t *delays = malloc((timeline->count + 1) * sizeof *delays);
    assert_non_null(delays);
    *count = 0;
    size_t i = 0;
    for (const struct operation *start; (start = next_start(timeline, &i, kind)) != NULL;) {
        delays[(*count)++] = start->delay;
    }
    assert_true(*count > 0);
    qsort(delays, *count, sizeof *delays, compare_ticks);
    return delays;
}

static double quantile(const uint64_t *sorted, size_t count, double share)
{
    return (double)sorted[(size_t)((double)count * share)];
}

/* --- idle ------------------------------------------------------------------------------------ */

static void test_idle(void **state)
{
    (void)state;
    const double n = 20000;
    const double seconds = 30;
    const char *const settings[] = {"rate_per_s=0.05",
                                    "timeout_min_s=20",
                                    "timeout_max_s=60",
                                    "timeouts=3",
                                    "close=0.1",
                                    "trickle=1",
                                    NULL};
    struct timeline timeline;
    observe(&timeline, "idle", (uint32_t)n, seconds, settings);
    /* A slot: with timeout T a packet comes in time with probability q; a connection is a chain of
     * starts, and then a pause. */
    double starts = 0;
    double expiries = 0;
    double closes = 0;
    double open = 0;
    for (unsigned timeout = 20; timeout <= 60; timeout += 20) {
        double q = 1 - exp(-(double)timeout / 20);
        double chain = 1 / (1 - q * 0.9);
        double open_s = chain * 20 * q;
        double cycle_s = open_s + 10;
        starts += chain / cycle_s / 3;
        expiries += chain * (1 - q) / cycle_s / 3;
        closes += chain * q * 0.1 / cycle_s / 3;
        open += open_s / cycle_s / 3;
    }
    const struct tally *idle = &timeline.tally[0];
    expect_close((double)idle->starts, starts * n * seconds, 0.02);
    expect_close((double)idle->expiries, expiries * n * seconds, 0.05);
    expect_close((double)idle->stops, closes * n * seconds, 0.05);
    expect_share((double)idle->pending_warm, n, open);
    expect_close((double)idle->pending_end, (double)idle->pending_warm, 0.02);
    expect_close(idle->pending_ticks, open * n * seconds * 1000, 0.01);
    assert_int_equal(idle->starts - idle->restarts, count_of(timeline.origin, "connects"));
    assert_int_equal(idle->restarts + idle->stops, count_of(timeline.origin, "packets"));
    assert_int_equal(idle->stops, count_of(timeline.origin, "closes"));
    assert_int_equal(idle->expiries, count_of(timeline.origin, "expiries"));
    /* An expiry triggers nothing; the next connection gets a new timer. */
    assert_int_equal(timeline.header.reactions, 0);
    assert_true(timeline.header.ids > n);
    assert_true(timeline.header.ids <= n + (double)idle->expiries);
    assert_true(starts_between(&timeline, 0, 20000, 20000) +
                    starts_between(&timeline, 0, 40000, 40000) +
                    starts_between(&timeline, 0, 60000, 60000) ==
                (double)idle->starts);
    forget(&timeline);
}

/* --- server; gen.c has the other tests of its model ------------------------------------------- */

static void test_server(void **state)
{
    (void)state;
    enum { IDLE, REQUEST, RETRANSMISSION };
    /* Late replies, lost ones, and peers that are given up. */
    const char *const settings[] = {"reply_median_ms=2000", "loss=0.4", "retries=2", NULL};
    struct timeline timeline;
    observe(&timeline, "server", 5000, 30, settings);
    const struct tally *idle = &timeline.tally[IDLE];
    const struct tally *retransmission = &timeline.tally[RETRANSMISSION];
    uint64_t given_up = count_of(timeline.origin, "given_up");
    assert_true(given_up > 0 && count_of(timeline.origin, "request_expiries") > 0);
    assert_int_equal(retransmission->caused_starts, retransmission->expiries - given_up);
    assert_int_equal(idle->caused_starts, 0);
    assert_int_equal(idle->caused_stops, given_up + count_of(timeline.origin, "request_expiries"));
    assert_int_equal(idle->stops - idle->caused_stops, count_of(timeline.origin, "closes"));
    assert_int_equal(timeline.tally[REQUEST].stops - timeline.tally[REQUEST].caused_stops,
                     count_of(timeline.origin, "replies"));
    forget(&timeline);
}

/* --- rpc ------------------------------------------------------------------------------------- */

static void test_rpc(void **state)
{
    (void)state;
    static const struct {
        const char *setting;
        double share;
    } cancelled[] = {{"cancelled=0", 0}, {"cancelled=0.5", 0.5}, {"cancelled=0.999", 0.999}};
    for (unsigned i = 0; i < 3; i++) {
        const char *const settings[] = {cancelled[i].setting,
                                        "timeout_min_s=1",
                                        "timeout_max_s=3",
                                        "timeouts=2",
                                        "reply_sigma=1",
                                        "trickle=1",
                                        NULL};
        struct timeline timeline;
        observe(&timeline, "rpc", 10000, 30, settings);
        const struct tally *request = &timeline.tally[0];
        double ended = (double)(request->stops + request->expiries);
        expect_share((double)request->stops, ended, cancelled[i].share);
        assert_int_equal(request->restarts, 0);
        assert_int_equal(request->stops, count_of(timeline.origin, "replies"));
        assert_int_equal(timeline.header.reactions, 0);
        assert_true((double)timeline.header.ids <= 10000 + (double)request->expiries);
        /* Think 10 s, then wait: for the reply, or for the timeout of 1 or 3 s. */
        double reply_s = 0.02 * exp(0.5) + 0.0005;
        double wait_s = cancelled[i].share * reply_s + (1 - cancelled[i].share) * 2;
        double requests = 10000 * 30 / (10.0005 + wait_s);
        expect_close((double)request->starts, requests, 0.02);
        expect_close(request->pending_ticks, requests * wait_s * 1000, 0.05);
        expect_close((double)request->pending_end, (double)request->pending_warm, 0.3);
        expect_share(starts_between(&timeline, 0, 1000, 1000), (double)request->starts, 0.5);
        expect_share(starts_between(&timeline, 0, 3000, 3000), (double)request->starts, 0.5);
        forget(&timeline);
    }
    /* The median of the replies' times, at a fine tick. */
    const char *const settings[] = {"tick_us=20", "cancelled=1", "reply_median_ms=5", NULL};
    struct timeline timeline;
    observe(&timeline, "rpc", 5000, 10, settings);
    uint64_t *started = calloc(timeline.header.ids, sizeof *started);
    assert_non_null(started);
    double fast = 0;
    double replies = 0;
    for (size_t i = 0; i < timeline.count; i++) {
        const struct operation *operation = &timeline.operations[i];
        if (operation->start) {
            started[operation->id] = operation->tick;
        } else {
            fast += operation->tick - started[operation->id] <= 250;
            replies++;
        }
    }
    expect_share(fast, replies, 0.5);
    free(started);
    forget(&timeline);
}

/* --- tcp ------------------------------------------------------------------------------------- */

/* Both ends of connections without losses: the operations of Linux on each timer, counted. */
static void test_tcp_rules(void **state)
{
    (void)state;
    const char *const settings[] = {"ends=both",     "vanish=0",  "requests=20", "rate_per_s=1.4",
                                    "keepalive=0.5", "trickle=1", NULL};
    struct timeline timeline;
    observe(&timeline, "tcp", 5000, 120, settings);
    double connects = (double)count_of(timeline.origin, "connects");
    double requests = (double)count_of(timeline.origin, "requests");
    double closes = (double)count_of(timeline.origin, "time_waits");
    assert_true(connects > 1000 && requests > 20 * connects * 0.5);
    /* An ACK stops nothing: only closes do, both ends; and no expiry has anything to send. */
    const struct tally *retransmit = &timeline.tally[RETRANSMIT];
    assert_true((double)retransmit->stops == 2 * closes);
    assert_int_equal(retransmit->caused_starts + retransmit->caused_stops, 0);
    assert_int_equal(retransmit->expiries, count_of(timeline.origin, "idle_expiries"));
    assert_int_equal(count_of(timeline.origin, "retransmissions"), 0);
    /* Every SYN has 1 s; a request and its reply 200 ms, and a part of a tick for the round trip.
     * The handshake's counts only at the client. */
    assert_true(starts_between(&timeline, RETRANSMIT, 1000, 1000) == connects);
    expect_close(starts_between(&timeline, RETRANSMIT, 200, 200), connects, 0.02);
    double moved = (double)count_of(timeline.origin, "unchanged_starts");
    assert_true(starts_between(&timeline, RETRANSMIT, 200, 201) + moved > 2 * requests);
    assert_true(starts_between(&timeline, RETRANSMIT, 200, 201) <= 2 * requests + 2 * closes);
    /* The handshake's ACK stops the SYN-ACK's. */
    const struct tally *syn_ack = &timeline.tally[SYN_ACK];
    assert_true(starts_between(&timeline, SYN_ACK, 1000, 1000) == (double)syn_ack->starts);
    expect_close((double)syn_ack->starts, connects, 0.001);
    expect_close((double)syn_ack->stops, connects, 0.001);
    assert_int_equal(syn_ack->expiries, 0);
    /* 40 ms; a connection's first request is acknowledged at once. The FIN is not, and the close
     * stops that timer and that of the request before. */
    const struct tally *delayed = &timeline.tally[DELAYED_ACK];
    assert_true(starts_between(&timeline, DELAYED_ACK, 40, 40) == (double)delayed->starts);
    expect_close((double)delayed->starts, requests - connects + closes, 0.02);
    assert_in_range(delayed->stops, (uint64_t)closes, (uint64_t)(2 * closes));
    /* FIN_WAIT2 restarts it if it is pending, at half of the closes; at the others it starts. */
    const struct tally *keepalive = &timeline.tally[KEEPALIVE];
    assert_true(starts_between(&timeline, KEEPALIVE, 60000, 60000) == closes);
    expect_share((double)keepalive->restarts, closes, 0.5);
    assert_int_equal(keepalive->expiries, keepalive->caused_starts);
    /* TIME_WAIT always expires, a minute later. */
    const struct tally *time_wait = &timeline.tally[TIME_WAIT];
    assert_true(starts_between(&timeline, TIME_WAIT, 60000, 60000) == (double)time_wait->starts);
    assert_true((double)time_wait->starts == closes);
    assert_int_equal(time_wait->stops + time_wait->restarts, 0);
    expect_close((double)time_wait->expiries, closes, 0.1);
    expect_close((double)time_wait->pending_end, (double)time_wait->pending_warm, 0.1);
    /* As in recordings, most timers that end, expire. */
    double ended =
        (double)(retransmit->expiries + retransmit->stops + delayed->expiries + delayed->stops);
    assert_true((double)(retransmit->expiries + delayed->expiries) > 0.9 * ended);
    forget(&timeline);
}

/* Lost data is sent again by the timer of its sender. Requests are so far apart that it has come by
 * then. */
static void test_tcp_loss(void **state)
{
    (void)state;
    const double loss = 0.1;
    const char *const settings[] = {"ends=both",      "loss=0.1",  "vanish=0", "keepalive=0",
                                    "rate_per_s=0.1", "trickle=1", NULL};
    struct timeline timeline;
    observe(&timeline, "tcp", 20000, 60, settings);
    expect_share((double)count_of(timeline.origin, "losses"),
                 (double)count_of(timeline.origin, "transmissions"), loss);
    const struct tally *retransmit = &timeline.tally[RETRANSMIT];
    const struct tally *syn_ack = &timeline.tally[SYN_ACK];
    assert_true(retransmit->caused_starts > 1000 && syn_ack->caused_starts > 10);
    assert_int_equal(retransmit->caused_starts + syn_ack->caused_starts,
                     count_of(timeline.origin, "retransmissions"));
    assert_int_equal(retransmit->expiries, count_of(timeline.origin, "idle_expiries") +
                                               retransmit->caused_starts +
                                               count_of(timeline.origin, "given_up"));
    assert_int_equal(retransmit->caused_stops, 0);
    /* The client repeats a lost SYN, and one with a lost answer. */
    double connects = (double)count_of(timeline.origin, "connects");
    double syns = starts_between(&timeline, RETRANSMIT, 1000, 1000);
    expect_close(syns, connects * (1 + 2 * loss / (1 - loss)), 0.05);
    /* A request that is lost is repeated by its client; a reply by the server, and its client
     * repeats the request as well; for an ACK that is lost, the server repeats the reply, until
     * that and its ACK arrive. */
    double arrive = (1 - loss) * (1 - loss);
    double repeated = (double)retransmit->caused_starts - (syns - connects);
    expect_close(repeated,
                 (double)count_of(timeline.origin, "requests") *
                     (3 * loss / (1 - loss) + loss / arrive),
                 0.1);
    forget(&timeline);
}

/* Each timeout of an unanswered request is twice the one before, except the first, which sends a
 * probe; after `retries` of them the connection is given up. */
static void test_tcp_nothing_arrives(void **state)
{
    (void)state;
    /* All is lost, from the first SYN: it is repeated four times after 1 s each, then after 2 and
     * 4 s, and given up 11 s after the first one. */
    const double n = 2000;
    const char *const settings[] = {"ends=both", "loss=1",        "vanish=0", "requests=1",
                                    "retries=2", "time_wait_s=1", NULL};
    struct timeline timeline;
    observe(&timeline, "tcp", (uint32_t)n, 240, settings);
    const double cycles = n * 240 / 12.0;
    expect_close(starts_between(&timeline, RETRANSMIT, 1000, 1000), 5 * cycles, 0.1);
    expect_close(starts_between(&timeline, RETRANSMIT, 2000, 2000), cycles, 0.1);
    expect_close(starts_between(&timeline, RETRANSMIT, 4000, 4000), cycles, 0.1);
    assert_true(starts_between(&timeline, RETRANSMIT, 4001, UINT64_MAX) == 0);
    assert_int_equal(count_of(timeline.origin, "acks"), 0);
    assert_int_equal(timeline.tally[SYN_ACK].starts, 0);
    expect_close((double)count_of(timeline.origin, "given_up"), cycles, 0.1);
    forget(&timeline);
}

static void test_tcp_vanished(void **state)
{
    (void)state;
    /* Connections of a second with peers that all vanish: 7200 s, then nine intervals of 75 s, and
     * the end: in 7878 s once each. */
    const double n = 2000;
    const char *const settings[] = {"tick_us=10000",
                                    "vanish=1",
                                    "requests=1",
                                    "rate_per_s=1",
                                    "keepalive=1",
                                    "keepalive_s=7200",
                                    "trickle=1",
                                    "keepalive_interval_s=75",
                                    NULL};
    struct timeline timeline;
    observe(&timeline, "tcp", (uint32_t)n, 7878, settings);
    expect_close((double)count_of(timeline.origin, "dropped"), n, 0.05);
    expect_close((double)count_of(timeline.origin, "probes"), 9 * n, 0.05);
    expect_close(starts_between(&timeline, KEEPALIVE, 7500, 7500), 9 * n, 0.05);
    expect_close(starts_between(&timeline, KEEPALIVE, 720000, 720000), n, 0.05);
    /* Once each for the rest of a silence since the last message, then from probe to probe: the
     * rest of the silence ends at a tick of its own. */
    const struct tally *keepalive = &timeline.tally[KEEPALIVE];
    assert_int_equal(keepalive->caused_starts + count_of(timeline.origin, "dropped"),
                     keepalive->expiries);
    size_t i = 0;
    for (const struct operation *start; (start = next_start(&timeline, &i, KEEPALIVE)) != NULL;) {
        bool rest = start->delay != 7500 && start->delay != 720000;
        bool absolute = start->cause.basis == TRACE_ABSOLUTE;
        assert_true(absolute == rest || start->cause.basis == TRACE_EXTERNAL);
    }
    forget(&timeline);
}

/* A client's connections ask together, and the mean number of requests of a connection is the
 * parameter, in bursts or singly. */
static void test_tcp_lives(void **state)
{
    (void)state;
    for (unsigned bursts = 0; bursts < 2; bursts++) {
        const char *const settings[] = {bursts ? "trickle=0.2" : "trickle=1",
                                        "requests=10",
                                        "time_wait_s=5",
                                        "together=1",
                                        "hot=1",
                                        NULL};
        struct timeline timeline;
        observe(&timeline, "tcp", 20000, 100, settings);
        expect_close((double)count_of(timeline.origin, "requests"),
                     (double)count_of(timeline.origin, "connects") * 10, 0.2);
        forget(&timeline);
    }
}

/* A steady state from the first second on: as many starts in the first fifth as in the last. */
static void test_tcp_steady(void **state)
{
    (void)state;
    static const char *const settings[] = {"trickle=1", NULL};
    double first = 0;
    double last = 0;
    struct timeline timeline;
    observe(&timeline, "tcp", 20000, 50, settings);
    for (size_t i = 0; i < timeline.count; i++) {
        const struct operation *operation = &timeline.operations[i];
        if (operation->recorded && operation->start) {
            uint64_t tick = operation->tick - timeline.header.warmup_end_tick;
            first += tick < timeline.window_ticks / 5;
            last += tick >= timeline.window_ticks / 5 * 4;
        }
    }
    expect_close(first, last, 0.03);
    forget(&timeline);
}

/* At each end, with many losses and short connections: `observe` checks operations that no model
 * makes. */
static void test_tcp_all_ends(void **state)
{
    (void)state;
    static const char *const ends[] = {"ends=server", "ends=client", "ends=both"};
    for (unsigned i = 0; i < 3; i++) {
        const char *const settings[] = {
            ends[i],     "loss=0.1",   "vanish=0.2",    "retries=2",        "time_wait_s=4",
            "rtt_ms=50", "requests=4", "keepalive_s=2", "close_client=0.5", "rate_per_s=0.5",
            NULL};
        struct timeline timeline;
        observe(&timeline, "tcp", 3000, 16, settings);
        assert_true(count_of(timeline.origin, "given_up") > 0 &&
                    count_of(timeline.origin, "dropped") > 0);
        assert_true(count_of(timeline.origin, "time_waits") > 1000);
        forget(&timeline);
    }
}

/* --- quic ------------------------------------------------------------------------------------ */

enum { PTO, QUIC_IDLE };

static void test_quic(void **state)
{
    (void)state;
    const double n = 10000;
    const double seconds = 30;
    const char *const settings[] = {"rtt_median_ms=100", "rtt_sigma=0", "jitter=0", "trickle=1",
                                    NULL};
    struct timeline timeline;
    observe(&timeline, "quic", (uint32_t)n, seconds, settings);
    const struct tally *pto = &timeline.tally[PTO];
    const struct tally *idle = &timeline.tally[QUIC_IDLE];
    assert_int_equal(pto->starts, count_of(timeline.origin, "packets") +
                                      count_of(timeline.origin, "probes") +
                                      count_of(timeline.origin, "connects"));
    assert_int_equal(pto->expiries - count_of(timeline.origin, "probes"), 0);
    assert_int_equal(pto->caused_starts, count_of(timeline.origin, "probes"));
    assert_int_equal(idle->caused_starts + idle->caused_stops, 0);
    assert_int_equal(idle->starts, count_of(timeline.origin, "requests") +
                                       count_of(timeline.origin, "acks") +
                                       count_of(timeline.origin, "connects"));
    assert_int_equal(idle->expiries, count_of(timeline.origin, "idle_expiries"));
    expect_close((double)count_of(timeline.origin, "packets"),
                 10 * (double)count_of(timeline.origin, "requests"), 0.01);
    expect_share((double)count_of(timeline.origin, "losses"),
                 (double)(count_of(timeline.origin, "flights") +
                          count_of(timeline.origin, "probes") +
                          count_of(timeline.origin, "connects")),
                 0.01);
    /* srtt + max(4 rttvar, 1 ms) + 25 ms: rttvar is 50 at the first sample, and loses a quarter
     * with each further one; in the end 1 ms stands. Before the first sample: three times 333. */
    double first = starts_between(&timeline, PTO, 325, 325);
    double second = starts_between(&timeline, PTO, 275, 275);
    double third = starts_between(&timeline, PTO, 238, 238); /* 237.5 */
    assert_true(first > 0 && second > 0 && third > 0);
    expect_close(second, first * (1 - exp(-3)), 0.12); /* else no request came within 30 s */
    assert_true(starts_between(&timeline, PTO, 1, 125) == 0);
    assert_true(starts_between(&timeline, PTO, 999, 999) >
                0.98 * (double)count_of(timeline.origin, "connects"));
    /* Doubling: the first probe after each loss at the end of a flight. */
    assert_true(starts_between(&timeline, PTO, 2 * 126, 2 * 126) +
                    starts_between(&timeline, PTO, 2 * 144, 2 * 650) >
                0);
    /* Open connections: each wait for a request ends with one, or after 30 s with a pause. */
    double q = 1 - exp(-3);
    double busy_s = 0.109 + 0.01 * (0.15);
    double wait_s = 10 * q + busy_s + (1 - q) * 10.1;
    expect_close((double)count_of(timeline.origin, "requests"), n * seconds * q / wait_s, 0.03);
    expect_close((double)idle->expiries, n * seconds * (1 - q) / wait_s, 0.06);
    expect_close((double)idle->pending_end, (double)idle->pending_warm, 0.02);
    forget(&timeline);

    /* Nothing is acknowledged: 999 ms, doubled until the idle timer ends it. */
    const char *const lost[] = {"loss=1", "rate_per_s=1000", "pause_s=1", NULL};
    observe(&timeline, "quic", 1000, 620, lost);
    assert_int_equal(count_of(timeline.origin, "acks"), 0);
    double starts = starts_between(&timeline, PTO, 999, 999);
    for (uint64_t timeout = 1998; timeout <= 15984; timeout *= 2) {
        expect_close(starts_between(&timeline, PTO, timeout, timeout), starts, 0.1);
    }
    /* 1, 2, 4, 8 s are over before 30 s, and the fifth timer is stopped. Other timeouts have only
     * those that were connected when it began. */
    assert_true(starts_between(&timeline, PTO, 16000, UINT64_MAX) <= 1000);
    expect_close((double)timeline.tally[PTO].stops,
                 (double)count_of(timeline.origin, "idle_expiries"), 0.001);
    assert_int_equal(timeline.tally[PTO].caused_stops, timeline.tally[PTO].stops);
    forget(&timeline);
}

/* --- server and quic ------------------------------------------------------------------------- */

/* An ACK at the very tick of its timer's expiry is external all the same, and finds the timers that
 * the expiry has started. */
static void test_ack_at_expiry(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *rtt;
        unsigned kind;
    } cases[] = {{"server", "rtt_median_ms=200", 2}, {"quic", "rtt_median_ms=999", PTO}};
    for (unsigned i = 0; i < 2; i++) {
        const char *const settings[] = {"loss=0", "rtt_sigma=0", cases[i].rtt,
                                        strcmp(cases[i].name, "server") == 0 ? NULL : "jitter=0",
                                        NULL};
        struct timeline timeline;
        observe(&timeline, cases[i].name, 2000, 60, settings);
        const struct tally *timer = &timeline.tally[cases[i].kind];
        assert_true(timer->caused_starts > 0);
        assert_int_equal(timer->caused_starts, timer->expiries);
        assert_int_equal(timer->stops - timer->caused_stops, count_of(timeline.origin, "acks"));
        forget(&timeline);
    }
}

/* --- heartbeat ------------------------------------------------------------------------------- */

static void test_heartbeat(void **state)
{
    (void)state;
    const double n = 10000;
    struct timeline timeline;
    observe(&timeline, "heartbeat", (uint32_t)n, 120, NULL);
    const struct tally *beat = &timeline.tally[0];
    double rate = 0;
    for (unsigned period = 20; period <= 60; period += 10) {
        rate += 1.0 / period / 5;
        expect_close(starts_between(&timeline, 0, period * 1000, period * 1000),
                     n / 5 * 120 / period, 0.1);
    }
    expect_close((double)beat->starts, n * 120 * rate, 0.02);
    assert_int_equal(beat->starts, beat->expiries);
    assert_int_equal(beat->stops + beat->restarts, 0);
    assert_int_equal(beat->caused_starts, beat->starts);
    assert_int_equal(beat->pending_warm, n);
    assert_int_equal(beat->pending_end, n);
    assert_true(timeline.busiest < 12); /* 0.35 a tick */
    forget(&timeline);

    const char *const aligned[] = {"phases=aligned", NULL};
    observe(&timeline, "heartbeat", (uint32_t)n, 120, aligned);
    assert_int_equal(timeline.busiest, n);
    assert_int_equal(timeline.busiest_tick, 60000);
    forget(&timeline);

    const char *const jitter[] = {"jitter=0.1", "periods=1", NULL};
    observe(&timeline, "heartbeat", (uint32_t)n, 120, jitter);
    size_t count;
    uint64_t *delays = sorted_delays(&timeline, 0, &count);
    assert_in_range(delays[0], 18000, 18010);
    assert_in_range(delays[count - 1], 21990, 22000);
    expect_close(quantile(delays, count, 0.5), 20000, 0.005);
    free(delays);
    forget(&timeline);
}

/* The base of a delay makes no difference to an exact structure: the same operations. */
static void test_rearm(void **state)
{
    (void)state;
    static const char *const names[] = {"heartbeat", "hold", "phold"};
    static const char *const words[] = {"rearm=delay", "rearm=rate", "rearm=absolute"};
    for (unsigned w = 0; w < 3; w++) {
        struct timeline first;
        observe(&first, names[w], 500, 60, NULL);
        for (unsigned k = 0; k < 3; k++) {
            const char *const settings[] = {words[k], NULL};
            struct timeline timeline;
            observe(&timeline, names[w], 500, 60, settings);
            assert_int_equal(timeline.count, first.count);
            assert_true(timeline.header.reactions > 0);
            assert_int_equal(timeline.header.reactions, timeline.tally[0].starts);
            for (size_t i = 0; i < timeline.count; i++) {
                const struct operation *operation = &timeline.operations[i];
                const struct operation *same = &first.operations[i];
                assert_int_equal(operation->tick, same->tick);
                assert_int_equal(operation->id, same->id);
                assert_int_equal(operation->delay, same->delay);
                assert_int_equal(operation->cause.id, same->cause.id);
                assert_int_equal(operation->cause.basis,
                                 operation->recorded ? TRACE_FIXED_DELAY + k : TRACE_EXTERNAL);
            }
            forget(&timeline);
        }
        forget(&first);
    }
}

/* --- delay-queue ----------------------------------------------------------------------------- */

static void test_delay_queue(void **state)
{
    (void)state;
    const double n = 20000;
    struct timeline timeline;
    observe(&timeline, "delay-queue", (uint32_t)n, 10, NULL);
    /* The campaign: a tenth of the slots, less those with a job that is not filed yet, at one
     * instant. */
    expect_share((double)timeline.busiest, n, 0.1);
    assert_int_equal(timeline.busiest_tick, 50);
    assert_true(timeline.header.max_delay_ticks > 6000000 &&
                timeline.header.max_delay_ticks <= 6048000);
    assert_int_equal(timeline.header.reactions, 0);
    forget(&timeline);

    /* Half an hour to four hours, watched for a day: a campaign every six hours. */
    const char *const settings[] = {"tick_us=1e6", "delay_max_s=14400", "campaign_at_s=20000",
                                    "campaign_period_s=21600", NULL};
    observe(&timeline, "delay-queue", (uint32_t)n, 86400, settings);
    double campaign = (double)count_of(timeline.origin, "campaign_expiries");
    expect_close(campaign, 4 * n / 10, 0.1);
    expect_close((double)count_of(timeline.origin, "campaign_jobs"), campaign, 0.05);
    assert_true((double)timeline.busiest >= n / 10 * 0.9);
    assert_true(timeline.busiest_tick % 21600 == 20000);
    /* Ordinary jobs: half of them cancelled after half the time on average. */
    double jobs = (double)count_of(timeline.origin, "jobs");
    double ended =
        (double)(count_of(timeline.origin, "cancels") + count_of(timeline.origin, "expiries"));
    expect_close((double)count_of(timeline.origin, "cancels") / ended, 0.5, 0.02);
    double mean_s = (14400 - 1800) / log(8);
    expect_close(jobs, 0.9 * n * 86400 / (0.75 * mean_s + 60), 0.03);
    expect_close((double)timeline.tally[0].pending_end, (double)timeline.tally[0].pending_warm,
                 0.1);
    /* Log-uniform: a third each from 1,800 to 3,600 to 7,200 to 14,400 s. */
    double first = starts_between(&timeline, 0, 1801, 3600);
    expect_share(first, jobs, 1 / 3.0 + 0.0005); /* and a few campaign jobs, which are rare there */
    forget(&timeline);
}

/* --- retry ----------------------------------------------------------------------------------- */

static void test_retry(void **state)
{
    (void)state;
    const char *const settings[] = {"failure=0.3",     "multiplier=2", "jitter=none", "attempts=6",
                                    "backoff_max_s=4", "trickle=1",    NULL};
    struct timeline timeline;
    observe(&timeline, "retry", 20000, 60, settings);
    double first = starts_between(&timeline, 0, 1000, 1000);
    expect_share(first, (double)count_of(timeline.origin, "calls"), 0.3);
    expect_close(starts_between(&timeline, 0, 2000, 2000), 0.3 * first, 0.05);
    /* The third, fourth and fifth backoff are all as long as it may be. */
    expect_close(starts_between(&timeline, 0, 4000, 4000), (0.09 + 0.027 + 0.0081) * first, 0.05);
    expect_close((double)count_of(timeline.origin, "given_up"), 0.00243 * first, 0.5);
    assert_int_equal(timeline.tally[0].expiries, count_of(timeline.origin, "retries"));
    assert_int_equal(timeline.tally[0].stops, 0);
    /* The first backoff follows a call, every other one the one before. */
    assert_true((double)(timeline.tally[0].starts - timeline.tally[0].caused_starts) == first);
    /* A cycle: 10 s, and the backoffs. */
    double cycle_s = 10 + 0.3 * 1 + 0.09 * 2 + (0.027 + 0.0081 + 0.00243) * 4;
    expect_close((double)count_of(timeline.origin, "calls"), 20000 * 60 / cycle_s, 0.02);
    expect_close((double)timeline.tally[0].pending_end, (double)timeline.tally[0].pending_warm,
                 0.1);
    forget(&timeline);

    static const struct {
        const char *setting;
        double least_ms;
        double most_ms;
    } jitters[] = {
        {"jitter=full", 0, 1000}, {"jitter=equal", 500, 1000}, {"jitter=proportional", 800, 1200}};
    for (unsigned i = 0; i < 3; i++) {
        const char *const jitter[] = {jitters[i].setting, "multiplier=1", "failure=0.5",
                                      "cancelled=0.25", NULL};
        observe(&timeline, "retry", 10000, 30, jitter);
        size_t count;
        uint64_t *delays = sorted_delays(&timeline, 0, &count);
        double width = jitters[i].most_ms - jitters[i].least_ms;
        assert_true((double)delays[0] >= jitters[i].least_ms);
        assert_true((double)delays[count - 1] <= jitters[i].most_ms);
        for (unsigned q = 1; q < 10; q++) {
            expect_close(quantile(delays, count, q / 10.0), jitters[i].least_ms + width * q / 10,
                         0.08);
        }
        const struct tally *backoff = &timeline.tally[0];
        expect_share((double)backoff->stops, (double)(backoff->stops + backoff->expiries), 0.25);
        assert_int_equal(backoff->caused_stops, 0); /* the caller loses interest */
        free(delays);
        forget(&timeline);
    }

    /* Calls fail only in an outage from 5 to 8 s, and are then tried again. */
    const char *const outage[] = {"failure=0",    "outage_s=3", "outage_at_s=5",
                                  "rate_per_s=1", "trickle=1",  NULL};
    observe(&timeline, "retry", 10000, 20, outage);
    size_t i = 0;
    for (const struct operation *start; (start = next_start(&timeline, &i, 0)) != NULL;) {
        uint64_t tick = start->tick - timeline.header.warmup_end_tick;
        assert_in_range(tick, 5000, 7999);
    }
    assert_true(timeline.tally[0].starts > 9000);
    assert_int_equal(timeline.tally[0].pending_warm, 0);
    forget(&timeline);
}

/* --- hold, phold ----------------------------------------------------------------------------- */

static double pareto_cut(double x, double alpha, double ratio, double least)
{
    return (1 - pow(least / x, alpha)) / (1 - pow(ratio, -alpha));
}

static double share_below(const char *word, double x)
{
    if (strcmp(word, "exponential") == 0) {
        return 1 - exp(-x);
    }
    if (strcmp(word, "uniform") == 0) {
        return fmin(x / 2, 1);
    }
    if (strcmp(word, "biased") == 0) {
        return fmin(fmax((x - 0.9) / 0.2, 0), 1);
    }
    if (strcmp(word, "bimodal") == 0) {
        return 0.9 * fmin(1.5 * x, 1) + 0.1 * fmin(fmax(1.5 * x - 10, 0), 1);
    }
    if (strcmp(word, "triangular") == 0) {
        return fmin(x * x / 2.25, 1);
    }
    double mean = 1.5 / 0.5 * (1 - pow(1e4, -0.5)) / (1 - pow(1e4, -1.5));
    return x * mean < 1 ? 0 : pareto_cut(x, 1.5, 1e4, 1 / mean);
}

static void test_hold(void **state)
{
    (void)state;
    struct error error;
    const struct gen_workload *hold = gen_find("hold", &error);
    const struct tl_choice *words = tl_option_find(hold->parameters, "increments")->choices;
    const double n = 10000;
    for (unsigned w = 0; words[w].word != NULL; w++) {
        char setting[64];
        (void)snprintf(setting, sizeof setting, "increments=%s", words[w].word);
        /* The tick is fine enough for the increments' distribution. */
        const char *const settings[] = {setting, "tick_us=100", NULL};
        struct timeline timeline;
        observe(&timeline, "hold", (uint32_t)n, 20, settings);
        const struct tally *event = &timeline.tally[0];
        assert_int_equal(event->pending_warm, n);
        assert_int_equal(event->pending_end, n);
        assert_int_equal(event->starts, event->expiries);
        assert_int_equal(event->stops + event->restarts, 0);
        assert_int_equal(event->starts, count_of(timeline.origin, "holds"));
        assert_int_equal(event->starts, event->caused_starts);
        bool heavy = strcmp(words[w].word, "pareto") == 0;
        expect_close((double)event->starts, n * 20, heavy ? 0.05 : 0.01);
        /* In the steady state from the beginning: the first second is like the others. */
        double early = 0;
        size_t i = 0;
        for (const struct operation *start; (start = next_start(&timeline, &i, 0)) != NULL;) {
            early += start->tick - timeline.header.warmup_end_tick < 5000;
        }
        expect_close(early, n / 2, heavy ? 0.1 : 0.05);
        static const double xs[] = {0.2, 0.5, 0.65, 0.95, 1, 1.2, 1.4, 1.8, 3, 7, 30};
        for (unsigned k = 0; k < sizeof xs / sizeof xs[0]; k++) {
            double share = share_below(words[w].word, xs[k]);
            double got = starts_between(&timeline, 0, 1, (uint64_t)(xs[k] * 10000));
            expect_close(got / (double)event->starts + 1, share + 1, 0.005);
        }
        forget(&timeline);
    }
}

static void test_phold(void **state)
{
    (void)state;
    const double n = 10000;
    const char *const settings[] = {"lookahead=0.4", "remote=0.3", "idle=2", NULL};
    struct timeline timeline;
    observe(&timeline, "phold", (uint32_t)n, 10, settings);
    const struct tally *event = &timeline.tally[0];
    assert_int_equal(timeline.header.ids, 3 * n);
    assert_int_equal(event->pending_warm, n);
    assert_int_equal(event->pending_end, n);
    assert_int_equal(event->starts, event->expiries);
    assert_int_equal(event->stops + event->restarts, 0);
    expect_close((double)event->starts, n * 10, 0.02);
    expect_share((double)count_of(timeline.origin, "remote"), (double)event->starts, 0.3);
    assert_int_equal(event->starts, event->caused_starts);
    /* A timer is started by itself or by another of its event's. */
    double moved = 0;
    for (size_t i = 0; i < timeline.count; i++) {
        const struct operation *operation = &timeline.operations[i];
        if (operation->recorded) {
            assert_int_equal(operation->id % (uint32_t)n, operation->cause.id % (uint32_t)n);
            moved += operation->id != operation->cause.id;
        }
    }
    assert_true(moved == (double)count_of(timeline.origin, "remote"));
    size_t count;
    uint64_t *delays = sorted_delays(&timeline, 0, &count);
    assert_in_range(delays[0], 400, 402);
    expect_close(quantile(delays, count, 0.5), 400 + 600 * log(2), 0.02);
    free(delays);
    forget(&timeline);
}

/* --- burst ----------------------------------------------------------------------------------- */

static void test_burst(void **state)
{
    (void)state;
    const double n = 20000;
    struct timeline timeline;
    observe(&timeline, "burst", (uint32_t)n, 30, NULL);
    const struct tally *request = &timeline.tally[0];
    expect_share((double)request->stops, (double)(request->stops + request->expiries), 0.9);
    for (size_t i = 0; i < timeline.count; i++) {
        const struct operation *operation = &timeline.operations[i];
        assert_int_equal(operation->tick % 100, operation->start ? 0 : 50);
        assert_true(!operation->start || operation->delay == 1000);
    }
    assert_int_equal(timeline.header.reactions, 0);
    /* A cycle: on average a hundred bursts to wait for (half a one is over when a stop comes, and
     * none when a timer fires), and then the stop or the expiry. */
    double cycle_s = 0.9 * (10 - 0.05 + 0.05) + 0.1 * (10 + 1);
    expect_close((double)request->starts, n * 30 / cycle_s, 0.03);
    expect_close((double)request->pending_end, (double)request->pending_warm, 0.3);
    /* All timers that fire do so a second after their burst. */
    expect_close((double)timeline.busiest, n * 0.1 / cycle_s * 0.1, 0.9);
    assert_int_equal(timeline.busiest_tick % 100, 0);
    forget(&timeline);
}

/* --- adversary ------------------------------------------------------------------------------- */

/* Run a structure through the timeline, tick by tick, until all timers have fired. */
static struct tl_counters drive(const struct timeline *timeline, const char *name,
                                const char *options, uint64_t *worst_cascades)
{
    struct stand s;
    stand_open(&s, name, options, .capacity = timeline->header.ids,
               .max_delay_ticks = timeline->header.max_delay_ticks);
    size_t at = 0;
    *worst_cascades = 0;
    for (uint64_t now = 0; at < timeline->count || stand_count(&s) > 0; now++) {
        struct tl_counters before = stand_counters(&s);
        (void)stand_advance(&s, now);
        uint64_t moved = stand_since(&s, &before).cascades;
        *worst_cascades = moved > *worst_cascades ? moved : *worst_cascades;
        for (; at < timeline->count && timeline->operations[at].tick == now; at++) {
            const struct operation *operation = &timeline->operations[at];
            if (operation->start) {
                stand_start(&s, operation->id, now + operation->delay);
            } else {
                assert_int_equal(stand_stop(&s, operation->id), TL_OK);
            }
        }
    }
    struct tl_counters counters = stand_counters(&s);
    stand_close(&s);
    return counters;
}

static void test_adversary_cascade(void **state)
{
    (void)state;
    const char *const settings[] = {"stream=cascade", "slots=8", "levels=3", NULL};
    struct timeline timeline;
    observe(&timeline, "adversary", 1000, 4, settings);
    uint64_t worst;
    struct tl_counters counters = drive(&timeline, "hier-wheel", "slots=8", &worst);
    /* Every timer moves once at every level, and all of them at once. */
    assert_int_equal(counters.cascades, 3 * timeline.count);
    assert_int_equal(worst, 1000);
    assert_int_equal(timeline.tally[0].stops + timeline.tally[0].restarts, 0);
    assert_int_equal(timeline.header.reactions, 0);
    forget(&timeline);
}

static void test_adversary_same_slot(void **state)
{
    (void)state;
    const char *const settings[] = {"stream=same-slot", "slots=64", "levels=1", "rounds=10", NULL};
    struct timeline timeline;
    observe(&timeline, "adversary", 1000, 4, settings);
    for (size_t i = 0; i < timeline.count; i++) {
        assert_int_equal(timeline.operations[i].tick % 64, 0);
        assert_int_equal(timeline.operations[i].delay % 64, 0);
        assert_in_range(timeline.operations[i].delay, 64, 640);
        /* Late or not, the slot is hit. */
        assert_int_equal(timeline.operations[i].cause.basis,
                         timeline.operations[i].recorded ? TRACE_ABSOLUTE : TRACE_EXTERNAL);
    }
    assert_int_equal(timeline.tally[0].pending_warm, 1000);
    /* One slot is searched at each turn: a timer is passed as often as it has turns to wait. In a
     * wheel of another size, nearly never. */
    uint64_t worst;
    uint64_t hit = drive(&timeline, "round-wheel", "slots=64", &worst).compares;
    uint64_t missed = drive(&timeline, "round-wheel", "slots=1021", &worst).compares;
    assert_true(hit > 3 * missed);
    forget(&timeline);
}

static void test_adversary_horizon(void **state)
{
    (void)state;
    const char *const settings[] = {"stream=horizon", "slots=8", "levels=3", NULL};
    struct timeline timeline;
    observe(&timeline, "adversary", 1000, 5, settings);
    double starts = (double)timeline.tally[0].starts;
    double seen = 0;
    for (uint64_t edge = 8; edge <= 512; edge *= 8) {
        for (uint64_t delay = edge - 1; delay <= edge + 1; delay++) {
            double n = starts_between(&timeline, 0, delay, delay);
            expect_share(n, starts, 1 / 9.0);
            seen += n;
        }
    }
    assert_true(seen == starts);
    assert_int_equal(timeline.header.reactions, timeline.tally[0].starts);
    forget(&timeline);
}

static void test_adversary_order(void **state)
{
    (void)state;
    static const char *const streams[] = {"stream=sorted", "stream=reverse"};
    uint64_t moves[2];
    for (unsigned s = 0; s < 2; s++) {
        const char *const settings[] = {streams[s], "slots=16", "levels=2", NULL};
        struct timeline timeline;
        observe(&timeline, "adversary", 1000, 4, settings);
        uint64_t round_begin = 0;
        for (size_t i = 1; i < timeline.count; i++) {
            const struct operation *a = &timeline.operations[i - 1];
            const struct operation *b = &timeline.operations[i];
            if (b->tick - a->tick > 128) {
                round_begin = b->tick; /* the other half of a round is without starts */
                continue;
            }
            uint64_t before = a->tick + a->delay;
            uint64_t now = b->tick + b->delay;
            assert_true(s == 0 ? now >= before : now <= before);
        }
        assert_true(round_begin > 0);
        uint64_t worst;
        moves[s] = drive(&timeline, "binary-heap", "", &worst).moves;
        forget(&timeline);
    }
    assert_true(moves[1] > moves[0] + moves[0] / 4); /* sifted up to the root every time */
}

static void test_adversary_stale(void **state)
{
    (void)state;
    const char *const settings[] = {"stream=stale", "slots=16", "levels=2", NULL};
    struct timeline timeline;
    observe(&timeline, "adversary", 100, 1, settings);
    const struct tally *timer = &timeline.tally[0];
    assert_int_equal(timer->expiries + timer->stops, 0);
    assert_int_equal(timer->starts, timer->restarts);
    assert_int_equal(timer->starts, 100 * 1000 / 8);
    uint64_t last[100] = {0};
    for (size_t i = 0; i < timeline.count; i++) {
        const struct operation *operation = &timeline.operations[i];
        assert_true(operation->delay == 16 || operation->delay == 256);
        assert_int_not_equal(operation->delay, last[operation->id]);
        last[operation->id] = operation->delay;
    }
    forget(&timeline);
}

static void test_adversary_one_tick(void **state)
{
    (void)state;
    const char *const settings[] = {"stream=one-tick", "slots=16", "levels=2", NULL};
    struct timeline timeline;
    observe(&timeline, "adversary", 1000, 4, settings);
    assert_int_equal(timeline.busiest, 1000);
    size_t count;
    uint64_t *delays = sorted_delays(&timeline, 0, &count);
    assert_in_range(delays[0], 256, 258);
    assert_in_range(delays[count - 1], 509, 511);
    free(delays);
    forget(&timeline);
}

/* --- herds ----------------------------------------------------------------------------------- */

/* Recorded operations from tick `from` of the window to before tick `to`: starts or stops, from
 * outside or not. */
static double operations_between(const struct timeline *timeline, uint64_t from, uint64_t to,
                                 bool start, bool caused)
{
    double n = 0;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct operation *operation = &timeline->operations[i];
        uint64_t at = operation->tick - timeline->header.warmup_end_tick;
        n += operation->recorded && operation->start == start &&
             (operation->cause.basis != TRACE_EXTERNAL) == caused && at >= from && at < to;
    }
    return n;
}

/* Every second deploy is of a third of all connections; these connect again within three seconds,
 * and beat from then on. */
static void test_deploy(void **state)
{
    (void)state;
    const char *const settings[] = {
        "deploy=0.333",   "deploy_at_s=2",  "deploy_every_s=10", "deploy_over_s=3",
        "period_min_s=4", "period_max_s=4", "periods=1",         NULL};
    struct timeline timeline;
    observe(&timeline, "heartbeat", 6000, 18, settings);
    assert_int_equal(timeline.tally[0].stops, count_of(timeline.origin, "deployed"));
    assert_int_equal(timeline.tally[0].caused_stops, 0);
    for (uint64_t at = 2000; at <= 12000; at += 10000) {
        double stops = operations_between(&timeline, at, at + 1, false, false);
        expect_share(stops, 6000, 0.333);
        assert_true(operations_between(&timeline, at, at + 3001, true, false) == stops);
        expect_share(operations_between(&timeline, at, at + 1000, true, false), stops, 1 / 3.0);
        assert_true(operations_between(&timeline, at + 3001, at + 6000, true, false) == 0);
    }
    /* Other connections the second time. */
    double both = 0;
    for (size_t i = 0; i < timeline.count; i++) {
        for (size_t k = i + 1; !timeline.operations[i].start && k < timeline.count; k++) {
            both += !timeline.operations[k].start &&
                    timeline.operations[k].id == timeline.operations[i].id;
        }
    }
    expect_share(both, 6000, 0.333 * 0.333);
    forget(&timeline);
}

/* Half of the peers are silent for two seconds from the third on. If their connection is still
 * open, they replace it then, all at one tick, or spread. */
static void test_storm(void **state)
{
    (void)state;
    for (unsigned jitter = 0; jitter < 2; jitter++) {
        const char *const settings[] = {
            "storm=0.5",      "storm_at_s=3",
            "storm_away_s=2", jitter ? "storm_jitter_s=1" : "storm_jitter_s=0",
            "rate_per_s=2",   "trickle=1",
            "close=0",        NULL};
        struct timeline timeline;
        observe(&timeline, "idle", 10000, 8, settings);
        double back = (double)count_of(timeline.origin, "back");
        expect_share(back, (double)timeline.tally[0].pending_warm, 0.5);
        double at_once = operations_between(&timeline, 5000, 5001, false, false);
        double spread = operations_between(&timeline, 5000, 6001, false, false);
        assert_true(spread == back && (jitter ? at_once < back / 100 : at_once == back));
        expect_close(operations_between(&timeline, 3000, 5000, true, false),
                     operations_between(&timeline, 1000, 3000, true, false) / 2, 0.03);
        /* A client that waits for its peer's packets closes in time. */
        assert_int_equal(timeline.tally[0].stops, count_of(timeline.origin, "back"));
        forget(&timeline);
    }
}

/* For a second nothing arrives, and then everything: unacknowledged replies are sent again
 * meanwhile, since the timeout is 200 ms. */
static void test_freeze(void **state)
{
    (void)state;
    const char *const settings[] = {
        "freeze=1", "freeze_at_s=3", "freeze_ms=1000", "loss=0", "rtt_sigma=0", "trickle=1", NULL};
    struct timeline timeline;
    observe(&timeline, "server", 20000, 6, settings);
    assert_true(operations_between(&timeline, 2000, 3000, true, true) == 0);
    /* A tenth of a request in a second, 30 ms each, and two timeouts within the second. */
    expect_close(operations_between(&timeline, 3000, 4000, true, true), 2 * 20000 * 0.1 * 0.0305,
                 0.5);
    assert_true(operations_between(&timeline, 3000, 4000, true, false) == 0);
    assert_true(operations_between(&timeline, 3000, 4000, false, false) == 0);
    double thaw = operations_between(&timeline, 4000, 4001, true, false);
    double before = operations_between(&timeline, 2000, 3000, true, false);
    assert_true(thaw > before / 4 && thaw < 2 * before);
    forget(&timeline);

    /* Replies that are frozen for longer than the timeout: of all calls there are at the begin,
     * none is answered. */
    const char *const replies[] = {"freeze=1",  "freeze_at_s=2", "freeze_ms=6000", "cancelled=1",
                                   "trickle=1", "rate_per_s=10", "reply_sigma=0",  NULL};
    observe(&timeline, "rpc", 5000, 10, replies);
    double waiting = (double)timeline.tally[0].expiries;
    /* A call takes 20 ms of 120. */
    expect_share(waiting, 5000, 20.0 / 120.5);
    assert_true(timeline.busiest_tick >= 2000 + 4980 && timeline.busiest_tick <= 2000 + 5000);
    assert_true(operations_between(&timeline, 2000, 8000, true, false) == 0);
    expect_share(operations_between(&timeline, 8000, 8001, true, false), 5000, 1);
    forget(&timeline);
}

/* Every herd in every workload that has them, repeatedly, with bursts: `observe` checks operations
 * that no model makes, and the counters follow the parameters. */
static void test_herds_everywhere(void **state)
{
    (void)state;
    static const char *const families[] = {"server", "idle", "rpc", "quic", "heartbeat"};
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        const char *const settings[] = {"deploy=0.5",
                                        "deploy_at_s=1",
                                        "deploy_every_s=4",
                                        "deploy_over_s=2",
                                        "storm=0.5",
                                        "storm_at_s=0",
                                        "storm_every_s=3",
                                        "storm_away_s=0.5",
                                        "storm_jitter_s=1",
                                        "tick_us=2000",
                                        strcmp(families[f], "heartbeat") == 0 ? NULL : "freeze=0.5",
                                        "freeze_every_s=2",
                                        "freeze_ms=700",
                                        NULL};
        struct timeline timeline;
        observe(&timeline, families[f], 3000, 12, settings);
        assert_true(count_of(timeline.origin, "deployed") > 0 &&
                    count_of(timeline.origin, "back") > 0);
        assert_true(operations_between(&timeline, 500, 501, false, false) > 0);
        forget(&timeline);
    }
}

static void test_herd_refusals(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"storm=1", "storm_every_s=1", "storm_every_s is not longer"},
        {"freeze=1", "freeze_every_s=0.5", "freeze_every_s is not longer"}};
    for (unsigned i = 0; i < 2; i++) {
        struct error error = {""};
        struct gen_part part = {.workload = gen_find("idle", &error), .connections = 10};
        gen_parameters_default(part.workload, part.parameters);
        for (unsigned k = 0; k < 2; k++) {
            assert_true(
                gen_parameter_set(part.workload, part.parameters, wrong[i][k], NULL, &error));
        }
        const struct gen_request request = {.parts = &part, .part_count = 1, .seconds = 1};
        struct gen_summary summary;
        assert_false(gen_trace(&request, path, &summary, &error));
        assert_non_null(strstr(error.text, wrong[i][2]));
    }
}

/* --- several in one trace -------------------------------------------------------------------- */

static void test_parts(void **state)
{
    (void)state;
    struct error error = {""};
    struct gen_part parts[3] = {{.workload = gen_find("rpc", &error), .connections = 300},
                                {.workload = gen_find("tcp", &error), .connections = 200},
                                {.workload = gen_find("adversary", &error), .connections = 100}};
    for (unsigned i = 0; i < 3; i++) {
        gen_parameters_default(parts[i].workload, parts[i].parameters);
    }
    /* No request's timer fires, so that none needs another id. */
    assert_true(
        gen_parameter_set(parts[0].workload, parts[0].parameters, "cancelled=1", NULL, &error));
    assert_true(
        gen_parameter_set(parts[1].workload, parts[1].parameters, "rate_per_s=0.5", NULL, &error));
    struct gen_request request = {.parts = parts, .part_count = 3, .seconds = 5, .seed = 11};
    struct gen_summary summary;
    assert_true(gen_trace(&request, path, &summary, &error));
    struct timeline all = {0};
    read_operations(&all);
    /* Of tcp's 1,000 timers only the used ones have ids, after the others'. */
    assert_in_range(all.header.ids, 400 + 200, 400 + 5 * 200 - 1);
    /* The first part is the workload alone, tick by tick. */
    request.part_count = 1;
    assert_true(gen_trace(&request, path, &summary, &error));
    struct timeline alone = {0};
    read_operations(&alone);
    uint64_t shift = all.header.warmup_end_tick - alone.header.warmup_end_tick;
    assert_int_equal(all.header.end_tick - shift, alone.header.end_tick);
    size_t matched = 0;
    uint64_t others = 0;
    for (size_t i = 0; i < all.count; i++) {
        const struct operation *operation = &all.operations[i];
        assert_true(i == 0 || operation->tick >= all.operations[i - 1].tick);
        if (operation->id >= 300) {
            others++;
            continue;
        }
        assert_true(matched < alone.count);
        const struct operation *same = &alone.operations[matched++];
        assert_int_equal(operation->tick - shift, same->tick);
        assert_int_equal(operation->id, same->id);
        assert_int_equal(operation->delay, same->delay);
        assert_int_equal(operation->start, same->start);
    }
    assert_int_equal(matched, alone.count);
    assert_true(others > 0);
    /* The adversary's slots are aligned in the trace, with any other part. */
    assert_int_equal(all.header.warmup_end_tick % 400, 0);
    const json_t *told = json_object_get(all.origin, "parts");
    assert_int_equal(json_array_size(told), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(told, 2), "first_id")), 300);
    parts[1].parameters[GEN_TICK_US] = 10;
    request.part_count = 2;
    assert_false(gen_trace(&request, path, &summary, &error));
    assert_non_null(strstr(error.text, "tcp: a trace has one tick_us"));
    forget(&all);
    forget(&alone);
}

/* --- every structure ------------------------------------------------------------------------- */

static void replay_everywhere(const char *what)
{
    struct error error;
    struct catalog catalog;
    struct contender_list contenders = {0};
    struct simulation simulation;
    bool all_right = false;
    catalog_init(&catalog);
    assert_true(catalog_select(&catalog, "ordered-list,all", &contenders, &error));
    const char *traces[] = {path};
    const struct simulate_request request = {.traces = traces,
                                             .trace_count = 1,
                                             .contenders = &contenders,
                                             .timeout_seconds = 300,
                                             .memory_limit_bytes = UINT64_C(1) << 32};
    if (!simulate(&request, &simulation, &all_right, &error)) {
        fail_msg("%s: %s", what, error.text);
    }
    assert_true(simulation.results.count > 1);
    for (size_t i = 0; i < simulation.results.count; i++) {
        const struct row *row = &simulation.results.rows[i];
        const char *status = row_text(row, COL_STATUS);
        bool right = strcmp(status, "ok") == 0 ||
                     (strcmp(status, "unsupported") == 0 && strlen(row_text(row, COL_REASON)) > 0);
        if (!right) {
            fail_msg("%s: %s is %s: %s", what, row_text(row, COL_ALGO), status,
                     row_text(row, COL_REASON));
        }
    }
    assert_true(all_right);
    const struct entrant *entrants = simulation.entrants;
    for (size_t i = 0; i < simulation.entrant_count; i++) {
        if (entrants[i].compared && entrants[i].check->exact) {
            assert_int_equal(entrants[i].check->named_digest, entrants[0].check->named_digest);
        }
    }
    simulation_free(&simulation);
    contender_list_free(&contenders);
    catalog_free(&catalog);
}

/* Each workload, and each word that it takes. */
static void test_every_structure(void **state)
{
    (void)state;
    size_t count;
    const struct gen_workload *const *all = gen_workloads(&count);
    for (size_t i = 0; i < count; i++) {
        for (const struct tl_option *row = all[i]->parameters; row->name != NULL; row++) {
            /* The structures' default ticks. A tick of 10 ms, so that hours are short enough for
             * structures driven tick by tick. */
            bool defaults = row == all[i]->parameters;
            /* The structures see nothing new in them, and take long. */
            const struct tl_choice *words = SANITIZED ? NULL : row->choices;
            for (size_t word = 0; defaults ? word < 1 : words != NULL && words[word].word != NULL;
                 word++) {
                struct gen_part part = {.workload = all[i], .connections = 200};
                gen_parameters_default(all[i], part.parameters);
                if (part.parameters[GEN_TICK_US] < 10000) {
                    part.parameters[GEN_TICK_US] = 10000;
                }
                if (!defaults) {
                    part.parameters[row - all[i]->parameters] = (double)word;
                }
                const struct gen_request request = {
                    .parts = &part, .part_count = 1, .seconds = 20, .seed = 3};
                struct gen_summary summary;
                struct error error;
                assert_true(gen_trace(&request, path, &summary, &error));
                char what[128];
                (void)snprintf(what, sizeof what, "%s, %s %s", all[i]->name, row->name,
                               defaults ? "" : words[word].word);
                replay_everywhere(what);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: it forks a thousand times, which takes the longer the more memory there is. */
        cmocka_unit_test(test_every_structure),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_server),
        cmocka_unit_test(test_rpc),
        cmocka_unit_test(test_tcp_rules),
        cmocka_unit_test(test_tcp_loss),
        cmocka_unit_test(test_tcp_nothing_arrives),
        cmocka_unit_test(test_tcp_vanished),
        cmocka_unit_test(test_tcp_lives),
        cmocka_unit_test(test_tcp_steady),
        cmocka_unit_test(test_tcp_all_ends),
        cmocka_unit_test(test_quic),
        cmocka_unit_test(test_ack_at_expiry),
        cmocka_unit_test(test_heartbeat),
        cmocka_unit_test(test_rearm),
        cmocka_unit_test(test_delay_queue),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_phold),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_adversary_cascade),
        cmocka_unit_test(test_adversary_same_slot),
        cmocka_unit_test(test_adversary_horizon),
        cmocka_unit_test(test_adversary_order),
        cmocka_unit_test(test_adversary_stale),
        cmocka_unit_test(test_adversary_one_tick),
        cmocka_unit_test(test_deploy),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_herds_everywhere),
        cmocka_unit_test(test_herd_refusals),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
