/*
 * Each thread has ids of its own and visits them in turn. A generation of a timer begins with a
 * start and ends with a stop or an expiry; only then does the next one begin. So at the end each id
 * must have fired as often as it was started and not stopped.
 *
 * Callbacks act as a server's do, on the advancing thread. Some restart their own timer at once (a
 * heartbeat, a retry); some stop a timer of any thread (a connection that is closed under its
 * request), one of those that their threads never restart, so that the stopped generation is known;
 * and all start, move and stop timers of the advancing thread alone, for which it is known whether
 * they are pending.
 *
 * The check of a single call depends on the tick that the advancing thread has announced when the
 * call is over: it announces each before it begins. If that is before the deadline, a stop must
 * have found the timer pending.
 */
#include "concurrent.h"

#include "child.h"
#include "clock.h"
#include "due.h"
#include "histogram.h"
#include "memory.h"
#include "random.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEAR_TICKS = 20,     /* shortest and longest delay of timers that are to expire */
    FAR_TICKS = 1 << 20, /* the delay of timers that are stopped long before */
    THREADS_MAX = 1024,
    MARGIN_TICKS =
        4, /* an announced tick has not been processed yet, and a start may come after it */
    OWN_TIMERS = 64, /* of the advancing thread: few, so that callbacks meet at them */
};

/* The thread's next operation on a timer. */
enum intent { BEGIN, RESTART, STOP, AWAIT };

/* A timer, as its thread sees it. */
struct timer_state {
    uint64_t begun;    /* lives so far */
    uint64_t stopped;  /* of those, ended by a stop */
    uint64_t deadline; /* of the latest start */
    uint64_t due;      /* ... the latest that it can be: not before the clock at that start */
    uint64_t closings; /* when it began */
    enum intent intent;
};

/* What both sides know of a timer. */
struct shared {
    _Atomic uint64_t fired;
    _Atomic uint64_t again;    /* lives begun by its own callback; counted before `fired` */
    _Atomic uint64_t closed;   /* lives ended by another's callback */
    _Atomic uint64_t closings; /* odd while a callback is about to stop it */
    _Atomic uint64_t deadline; /* the latest that was asked for */
};

/* A timer of the advancing thread. */
struct advancer_timer {
    bool pending;
    uint64_t deadline;
    uint64_t started_at; /* in a callback of the advance to that tick */
};

/* That one thread has found. */
struct thread_faults {
    uint64_t count;
    char first[192];
};

struct thread_run;

struct worker {
    struct thread_run *run;
    pthread_t thread;
    uint32_t first_id;
    struct random random;
    struct timer_state *lives;
    struct concurrent_counts counts;
    struct histogram *call_cycles;
    struct thread_faults faults;
};

struct thread_run {
    const struct concurrent_plan *plan;
    void *self;
    struct worker *workers;
    struct shared *shared; /* by id */
    _Atomic uint64_t now;  /* the tick that has been announced */
    _Atomic unsigned at_work;
    uint64_t fired_total; /* of the advancing thread, like the next members */
    struct random random;
    struct advancer_timer own[OWN_TIMERS];
    uint32_t own_first_id;
    uint32_t own_at; /* the next timer */
    bool settling;   /* callbacks do nothing more */
    struct concurrent_counts inside;
    uint64_t early_ticks; /* the most that is declared for the delays in use */
    uint64_t late_ticks;
    struct thread_faults faults;
    _Atomic int signal; /* 0: wait; 1: begin; -1: go home */
};

/* Every fourth timer restarts itself, and other threads may stop the one after it. */
static bool begins_again(uint32_t id)
{
    return id % 4 == 0;
}

static bool may_be_closed(uint32_t id)
{
    return id % 4 == 1;
}

/* From 0 to bound - 1. */
static uint32_t draw(struct random *random, uint32_t bound)
{
    return (uint32_t)((random_bits(random) >> 32) * bound >> 32);
}

static void note_fault(struct thread_faults *faults, const char *what, uint32_t id)
{
    if (faults->count++ == 0) {
        (void)snprintf(faults->first, sizeof faults->first, "timer %u: %s", (unsigned)id, what);
    }
}

/* --- a thread that starts and stops ---------------------------------------------------------- */

static void call_start(struct worker *worker, uint32_t id, uint64_t deadline)
{
    struct thread_run *run = worker->run;
    atomic_store(&run->shared[id].deadline, deadline);
    uint64_t begun = clock_cycles();
    enum tl_status status = run->plan->algo->start(run->self, id, deadline);
    histogram_add(worker->call_cycles, clock_cycles() - begun);
    if (status != TL_OK) {
        note_fault(&worker->faults, tl_status_text(status), id);
    }
}

static void begin_life(struct worker *worker, struct timer_state *life, uint32_t id)
{
    const struct concurrent_plan *plan = worker->run->plan;
    bool stopped = draw(&worker->random, 100) < plan->cancelled_percent;
    bool far = stopped && draw(&worker->random, 100) >= plan->racing_percent;
    uint64_t delay = far ? FAR_TICKS : 1 + draw(&worker->random, NEAR_TICKS);
    bool restarted = far && !may_be_closed(id) && draw(&worker->random, 2) == 0;
    life->deadline = atomic_load(&worker->run->now) + delay;
    life->closings = atomic_load(&worker->run->shared[id].closings) & ~UINT64_C(1);
    life->begun++;
    life->intent = !stopped ? AWAIT : restarted ? RESTART : STOP;
    worker->counts.starts++;
    call_start(worker, id, life->deadline);
    /* Between looking at the clock and the start, any time may have passed. */
    uint64_t now = atomic_load(&worker->run->now);
    life->due = due_tick(now, life->deadline);
}

static void end_life(struct worker *worker, struct timer_state *life, uint32_t id)
{
    struct thread_run *run = worker->run;
    uint64_t begun = clock_cycles();
    enum tl_status status = run->plan->algo->stop(run->self, id);
    histogram_add(worker->call_cycles, clock_cycles() - begun);
    uint64_t now = atomic_load(&run->now);
    life->intent = BEGIN;
    if (status == TL_OK) {
        life->stopped++;
        worker->counts.stopped++;
    } else if (status == TL_IDLE) {
        worker->counts.idle++;
        /* It is about to be called back for, if that has not happened yet. */
        life->intent = AWAIT;
        if (due_is_early(now, life->deadline, run->early_ticks) &&
            atomic_load(&run->shared[id].closings) == life->closings) {
            note_fault(&worker->faults, "not pending, though it was started and is not due", id);
        }
    } else {
        note_fault(&worker->faults, tl_status_text(status), id);
    }
}

/* Return the number of expiries that are still due for an id, as its thread sees it. The fired ones
 * are read first, because a start is counted before its expiry. */
static int64_t outstanding(const struct thread_run *run, const struct timer_state *life,
                           uint32_t id)
{
    const struct shared *shared = &run->shared[id];
    uint64_t ended = atomic_load(&shared->fired) + atomic_load(&shared->closed) + life->stopped;
    return (int64_t)(life->begun + atomic_load(&shared->again) - ended);
}

/* Do the next operation on a timer; false: it must wait. */
static bool step(struct worker *worker, uint32_t index)
{
    struct thread_run *run = worker->run;
    struct timer_state *life = &worker->lives[index];
    uint32_t id = worker->first_id + index;
    switch (life->intent) {
    case BEGIN:
        begin_life(worker, life, id);
        return true;
    case RESTART:
        life->deadline = atomic_load(&run->now) + FAR_TICKS;
        life->intent = STOP;
        worker->counts.restarts++;
        call_start(worker, id, life->deadline);
        return true;
    case STOP:
        end_life(worker, life, id);
        return true;
    case AWAIT: {
        uint64_t now = atomic_load(&run->now);
        if (outstanding(run, life, id) <= 0) {
            life->intent = BEGIN;
            return true;
        }
        uint64_t deadline = atomic_load(&run->shared[id].deadline); /* its callback's, perhaps */
        uint64_t due = deadline > life->due ? deadline : life->due;
        if (now > due_last(due, run->late_ticks + MARGIN_TICKS)) {
            note_fault(&worker->faults, "lost: it should have fired long ago", id);
        }
        return false;
    }
    }
    return false;
}

static void *run_thread(void *arg)
{
    struct worker *worker = arg;
    struct thread_run *run = worker->run;
    const struct concurrent_plan *plan = run->plan;
    int signal = 0;
    while ((signal = atomic_load(&run->signal)) == 0) {
        (void)sched_yield();
    }
    if (signal < 0) {
        return NULL;
    }
    uint32_t index = 0;
    uint64_t waits = 0; /* timers in a row that had to be waited for */
    while (worker->counts.starts + worker->counts.restarts + worker->counts.stopped +
                   worker->counts.idle <
               plan->operations &&
           worker->faults.count == 0) {
        waits = step(worker, index) ? 0 : waits + 1;
        index = index + 1 < plan->timers ? index + 1 : 0;
        if (index % 1024 == 0) {
            child_alive();
        }
        if (waits > 0 && waits % plan->timers == 0) {
            (void)sched_yield();
        }
    }
    for (index = 0; index < plan->timers; index++) {
        if (worker->lives[index].intent == RESTART || worker->lives[index].intent == STOP) {
            end_life(worker, &worker->lives[index], worker->first_id + index);
        }
    }
    (void)atomic_fetch_sub(&run->at_work, 1);
    return NULL;
}

/* --- the one that advances ------------------------------------------------------------------- */

/* A start from a callback. */
static void start_inside(struct thread_run *run, uint32_t id, uint64_t deadline)
{
    enum tl_status status = run->plan->algo->start(run->self, id, deadline);
    if (status != TL_OK) {
        note_fault(&run->faults, tl_status_text(status), id);
    }
}

/* Its own timer, once more. */
static void begin_again(struct thread_run *run, uint32_t id, uint64_t now)
{
    uint64_t deadline = now + 1 + draw(&run->random, NEAR_TICKS);
    struct shared *shared = &run->shared[id];
    (void)atomic_fetch_add(&shared->again, 1);
    atomic_store(&shared->deadline, deadline);
    run->inside.starts++;
    start_inside(run, id, deadline);
}

/* Stops a timer of some thread, which may be doing the same. */
static void close_another(struct thread_run *run)
{
    uint32_t id = draw(&run->random, run->own_first_id);
    if (!may_be_closed(id)) {
        return;
    }
    struct shared *shared = &run->shared[id];
    (void)atomic_fetch_add(&shared->closings, 1);
    if (run->plan->algo->stop(run->self, id) == TL_OK) {
        (void)atomic_fetch_add(&shared->closed, 1);
        run->inside.stopped++;
    } else {
        run->inside.idle++;
    }
    (void)atomic_fetch_add(&shared->closings, 1);
}

/* Starts, moves or stops one of the advancing thread's timers. */
static void act_on_own(struct thread_run *run, uint64_t now)
{
    struct advancer_timer *own = &run->own[run->own_at];
    uint32_t id = run->own_first_id + run->own_at;
    run->own_at = (run->own_at + 1) % OWN_TIMERS;
    if (draw(&run->random, 3) == 0) {
        enum tl_status status = run->plan->algo->stop(run->self, id);
        if (status != (own->pending ? TL_OK : TL_IDLE)) {
            note_fault(&run->faults, "its state changed when it was stopped in a callback", id);
        }
        run->inside.stopped += own->pending;
        run->inside.idle += !own->pending;
        own->pending = false;
        return;
    }
    run->inside.restarts += own->pending;
    run->inside.starts += !own->pending;
    *own = (struct advancer_timer){
        .pending = true,
        .deadline = now + draw(&run->random, NEAR_TICKS + 1),
        .started_at = now,
    };
    start_inside(run, id, own->deadline);
}

static void fired_own(struct thread_run *run, struct advancer_timer *own, uint32_t id, uint64_t now)
{
    if (!own->pending) {
        note_fault(&run->faults, "fired twice, or though a callback had stopped it", id);
    } else if (own->started_at == now) {
        note_fault(&run->faults, "fired in the advance in which a callback started it", id);
    } else if (due_is_early(now, own->deadline, run->early_ticks)) {
        note_fault(&run->faults, "fired before its time", id);
    }
    own->pending = false;
}

static void on_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct thread_run *run = ctx;
    run->fired_total++;
    if (id >= run->own_first_id) {
        fired_own(run, &run->own[id - run->own_first_id], id, now);
    } else if (due_is_early(now, atomic_load(&run->shared[id].deadline), run->early_ticks)) {
        note_fault(&run->faults, "fired before its time", id);
    }
    if (!run->settling) {
        if (id < run->own_first_id && begins_again(id) && draw(&run->random, 2) == 0) {
            begin_again(run, id, now);
        }
        close_another(run);
        act_on_own(run, now);
    }
    if (id < run->own_first_id) {
        (void)atomic_fetch_add(&run->shared[id].fired, 1);
    }
}

static void advance_to(struct thread_run *run, uint64_t tick)
{
    atomic_store(&run->now, tick);
    (void)run->plan->algo->advance(run->self, tick, TL_NO_BUDGET, on_fire, run);
}

/* Advances as long as anybody is at work; returns the tick reached. */
static uint64_t advance_meanwhile(struct thread_run *run)
{
    uint64_t tick = 0;
    uint64_t wake_ns = clock_now_ns();
    while (atomic_load(&run->at_work) > 0) {
        advance_to(run, ++tick);
        if (run->plan->tick_ns == 0) {
            (void)sched_yield();
            continue;
        }
        wake_ns += run->plan->tick_ns;
        struct timespec wake = {.tv_sec = (time_t)(wake_ns / 1000000000),
                                .tv_nsec = (long)(wake_ns % 1000000000)};
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
    return tick;
}

/* Let the remaining timers expire, and balance the counts. */
static void settle(struct thread_run *run, uint64_t tick)
{
    const struct concurrent_plan *plan = run->plan;
    run->settling = true;
    for (uint64_t i = 0; i <= NEAR_TICKS + run->late_ticks && plan->algo->count(run->self) > 0;
         i++) {
        advance_to(run, ++tick);
    }
    if (plan->algo->count(run->self) != 0) {
        note_fault(&run->faults, "still pending when all should have fired", 0);
    }
    for (unsigned t = 0; t < plan->threads; t++) {
        const struct worker *worker = &run->workers[t];
        for (uint32_t i = 0; i < plan->timers; i++) {
            uint32_t id = worker->first_id + i;
            int64_t missing = outstanding(run, &worker->lives[i], id);
            if (missing != 0) {
                note_fault(&run->faults,
                           missing > 0 ? "lost: neither stopped nor fired"
                                       : "fired more often than started",
                           id);
            }
        }
    }
    for (uint32_t i = 0; i < OWN_TIMERS; i++) {
        if (run->own[i].pending) {
            note_fault(&run->faults,
                       "lost: a callback started it, and it has neither been stopped nor fired",
                       run->own_first_id + i);
        }
    }
}

/* --- a run ----------------------------------------------------------------------------------- */

static void free_run(struct thread_run *run)
{
    for (unsigned t = 0; run->workers != NULL && t < run->plan->threads; t++) {
        free(run->workers[t].lives);
        free(run->workers[t].call_cycles);
    }
    free(run->workers);
    free(run->shared);
    if (run->self != NULL) {
        run->plan->algo->destroy(run->self);
    }
}

static bool make_run(struct thread_run *run, struct error *error)
{
    const struct concurrent_plan *plan = run->plan;
    uint64_t ids = (uint64_t)plan->threads * plan->timers + OWN_TIMERS;
    if (plan->threads < 1 || plan->threads > THREADS_MAX || plan->timers < 1 || ids > UINT32_MAX) {
        return error_set(error,
                         "1 to %d threads, and each has at least one timer; together at "
                         "most 2^32 - %d",
                         (int)THREADS_MAX, (int)OWN_TIMERS + 1);
    }
    run->own_first_id = (uint32_t)ids - OWN_TIMERS;
    random_seed(&run->random, plan->seed + plan->threads);
    run->workers = memory_new(plan->threads, sizeof *run->workers);
    run->shared = memory_new(ids, sizeof *run->shared);
    for (unsigned t = 0; t < plan->threads; t++) {
        struct worker *worker = &run->workers[t];
        *worker = (struct worker){.run = run, .first_id = t * plan->timers};
        random_seed(&worker->random, plan->seed + t);
        worker->lives = memory_new(plan->timers, sizeof *worker->lives);
        worker->call_cycles = memory_new(1, sizeof *worker->call_cycles);
    }
    struct tl_config config = {.capacity = (uint32_t)ids,
                               .max_delay_ticks = FAR_TICKS,
                               .options = plan->options,
                               .allocator = tl_system_allocator()};
    enum tl_status status = plan->algo->create(&config, &run->self);
    struct tl_precision far = tl_algo_precision(plan->algo, plan->options, FAR_TICKS);
    run->early_ticks = far.early_ticks;
    for (uint64_t delay = 0; delay <= NEAR_TICKS; delay++) {
        struct tl_precision near = tl_algo_precision(plan->algo, plan->options, delay);
        run->early_ticks =
            near.early_ticks > run->early_ticks ? near.early_ticks : run->early_ticks;
        run->late_ticks = near.late_ticks > run->late_ticks ? near.late_ticks : run->late_ticks;
    }
    return status == TL_OK || error_set(error, "%s: %s", plan->algo->name, tl_status_text(status));
}

static void add_faults(struct concurrent_result *result, const struct thread_faults *faults)
{
    if (result->faults == 0) {
        (void)snprintf(result->fault, sizeof result->fault, "%s", faults->first);
    }
    result->faults += faults->count;
}

static void sum_up(const struct thread_run *run, struct concurrent_result *result)
{
    double ns_per_cycle = clock_ns_per_cycle();
    struct histogram cycles = {0};
    result->fired = run->fired_total;
    result->inside = run->inside;
    for (unsigned t = 0; t < run->plan->threads; t++) {
        const struct worker *worker = &run->workers[t];
        result->counts.starts += worker->counts.starts;
        result->counts.restarts += worker->counts.restarts;
        result->counts.stopped += worker->counts.stopped;
        result->counts.idle += worker->counts.idle;
        histogram_merge(&cycles, worker->call_cycles);
        add_faults(result, &worker->faults);
    }
    /* Faults that a thread detects come first, because an imbalance at the end follows from them. */
    add_faults(result, &run->faults);
    result->call_ns_p50 = (double)histogram_quantile(&cycles, 0.5) * ns_per_cycle;
    result->call_ns_p99 = (double)histogram_quantile(&cycles, 0.99) * ns_per_cycle;
    result->call_ns_p999 = (double)histogram_quantile(&cycles, 0.999) * ns_per_cycle;
    result->call_ns_max = (double)cycles.max * ns_per_cycle;
    uint64_t operations = result->counts.starts + result->counts.restarts + result->counts.stopped +
                          result->counts.idle;
    result->per_second =
        result->elapsed_ns > 0 ? (double)operations * 1e9 / (double)result->elapsed_ns : 0;
}

bool concurrent_run(const struct concurrent_plan *plan, struct concurrent_result *result,
                    struct error *error)
{
    *result = (struct concurrent_result){0};
    struct thread_run run = {.plan = plan};
    bool done = make_run(&run, error);
    if (!done) {
        free_run(&run);
        return false;
    }
    atomic_store(&run.at_work, plan->threads);
    unsigned made = 0;
    while (made < plan->threads &&
           pthread_create(&run.workers[made].thread, NULL, run_thread, &run.workers[made]) == 0) {
        made++;
    }
    if (made < plan->threads) {
        atomic_store(&run.signal, -1);
        for (unsigned t = 0; t < made; t++) {
            (void)pthread_join(run.workers[t].thread, NULL);
        }
        free_run(&run);
        return error_set(error,
                         "only %u of %u threads could be made: out of memory, or a limit on "
                         "threads; try --threads %u",
                         made, plan->threads, made);
    }
    atomic_store(&run.signal, 1);
    uint64_t begun_ns = clock_now_ns();
    result->ticks = advance_meanwhile(&run);
    result->elapsed_ns = clock_now_ns() - begun_ns;
    for (unsigned t = 0; t < plan->threads; t++) {
        (void)pthread_join(run.workers[t].thread, NULL);
    }
    settle(&run, result->ticks);
    sum_up(&run, result);
    free_run(&run);
    return true;
}
