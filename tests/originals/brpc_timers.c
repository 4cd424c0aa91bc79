/*
 * brpc-timer compared with brpc's: src/bthread/timer_thread.cpp of apache/brpc (August 2026),
 * Bucket::schedule and consume_tasks, TimerThread::schedule and unschedule, Task::try_delete and
 * run_and_delete, run. Not modelled: locks and threads, the pool of tasks, and the standard
 * library's order of tasks that are due at one time.
 */
#include "original.h"

#include <stdio.h>

enum habit {
    EMPTIES_AT_ONCE = 1,  /* the thread wakes between two advances, too */
    RUNS_IN_THE_SAME = 2, /* a task scheduled by a callback when already due */
};

enum { BUCKETS = 1, TASKS_MAX = 8192 };
enum { NO_TASK = -1 };

struct task {
    uint32_t id;
    uint64_t run_time;
    bool unscheduled;
};

/* Tasks by number, in the order in which they came. */
struct tasks {
    int at[TASKS_MAX];
    int count;
};

struct timer_thread {
    uint32_t habits;
    size_t sweep_min_size;
    uint64_t max_wakeup; /* 0: no cap on how long the thread sleeps */
    uint64_t wait_until;
    uint64_t now;
    struct task tasks[TASKS_MAX];
    int task_count;
    int task_id[ORIGINAL_IDS]; /* of its last schedule; NO_TASK */
    struct tasks bucket[BUCKETS];
    uint64_t bucket_nearest[BUCKETS];
    struct tasks heap;
    size_t last_sweep_size;
    uint64_t nearest;
    bool signalled;
    bool running;
    struct tasks held;
};

static void open_thread(struct timer_thread *timer, uint64_t now, uint32_t habits, size_t sweep)
{
    timer->habits = habits;
    timer->sweep_min_size = sweep;
    timer->now = now;
    timer->nearest = TL_NEVER;
    timer->wait_until = TL_NEVER;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        timer->task_id[id] = NO_TASK;
    }
    for (uint32_t i = 0; i < BUCKETS; i++) {
        timer->bucket_nearest[i] = TL_NEVER;
    }
}

static void open_never_sweeping(void *self, uint64_t now, uint32_t habits)
{
    open_thread(self, now, habits, SIZE_MAX);
}

static void open_sweeping(void *self, uint64_t now, uint32_t habits)
{
    open_thread(self, now, habits, 8);
}

static void open_waking(void *self, uint64_t now, uint32_t habits)
{
    open_thread(self, now, habits, 8);
    ((struct timer_thread *)self)->max_wakeup = 20;
}

static void add(struct tasks *tasks, int task)
{
    assert_true(tasks->count < TASKS_MAX);
    tasks->at[tasks->count++] = task;
}

static void take_out(struct tasks *tasks, int at)
{
    tasks->at[at] = tasks->at[--tasks->count];
}

static bool unschedule(void *self, uint32_t id)
{
    struct timer_thread *timer = self;
    int task = timer->task_id[id];
    timer->task_id[id] = NO_TASK;
    if (task == NO_TASK) {
        return false;
    }
    timer->tasks[task].unscheduled = true;
    return true;
}

static void pull(struct timer_thread *timer)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (int k = 0; k < timer->bucket[i].count; k++) {
            int task = timer->bucket[i].at[k];
            if (!timer->tasks[task].unscheduled) {
                add(&timer->heap, task);
            }
        }
        timer->bucket[i].count = 0;
        timer->bucket_nearest[i] = TL_NEVER;
    }
}

static int first_of(const struct timer_thread *timer)
{
    int first = NO_TASK;
    for (int i = 0; i < timer->heap.count; i++) {
        if (first == NO_TASK || timer->tasks[timer->heap.at[i]].run_time <
                                    timer->tasks[timer->heap.at[first]].run_time) {
            first = i;
        }
    }
    return first;
}

static uint64_t first_run_time(const struct timer_thread *timer)
{
    int first = first_of(timer);
    return first == NO_TASK ? TL_NEVER : timer->tasks[timer->heap.at[first]].run_time;
}

static void sweep(struct timer_thread *timer)
{
    if ((size_t)timer->heap.count < timer->sweep_min_size ||
        (size_t)timer->heap.count < timer->last_sweep_size * 2) {
        return;
    }
    for (int i = 0; i < timer->heap.count;) {
        if (timer->tasks[timer->heap.at[i]].unscheduled) {
            take_out(&timer->heap, i);
        } else {
            i++;
        }
    }
    timer->last_sweep_size = (size_t)timer->heap.count;
}

/* A cycle of the thread, from waking up until it sleeps again; `fire` NULL: no task is ready. */
static void run(struct timer_thread *timer, const struct original_fire *fire)
{
    int left = 10 * (int)ORIGINAL_IDS; /* else, with timers that start themselves, for ever */
    timer->signalled = false;
    for (;;) {
        timer->nearest = TL_NEVER;
        pull(timer);
        sweep(timer);
        bool pull_again = false;
        while (fire != NULL && left > 0 && first_run_time(timer) <= timer->now) {
            if (first_run_time(timer) > timer->nearest) {
                pull_again = true;
                break;
            }
            int first = first_of(timer);
            struct task *task = &timer->tasks[timer->heap.at[first]];
            take_out(&timer->heap, first);
            if (!task->unscheduled) {
                left--;
                timer->task_id[task->id] = NO_TASK;
                fire->call(fire->ctx, task->id);
            }
        }
        if (pull_again) {
            continue;
        }
        if ((size_t)timer->heap.count < timer->last_sweep_size) {
            timer->last_sweep_size = (size_t)timer->heap.count;
        }
        if (first_run_time(timer) <= timer->nearest) {
            timer->nearest = first_run_time(timer);
            timer->wait_until = timer->nearest;
            if (timer->max_wakeup > 0 && timer->heap.count > 0 &&
                timer->nearest > timer->now + timer->max_wakeup) {
                timer->wait_until = timer->now + timer->max_wakeup;
            }
            return;
        }
    }
}

static void schedule(struct timer_thread *timer, int task)
{
    uint32_t i = timer->tasks[task].id % BUCKETS;
    uint64_t run_time = timer->tasks[task].run_time;
    add(&timer->bucket[i], task);
    if (run_time < timer->bucket_nearest[i]) {
        timer->bucket_nearest[i] = run_time;
        if (run_time < timer->nearest) {
            timer->nearest = run_time;
            timer->signalled = true;
            if ((timer->habits & EMPTIES_AT_ONCE) != 0 && !timer->running) {
                run(timer, NULL);
            }
        }
    }
}

static bool start(void *self, uint32_t id, uint64_t deadline)
{
    struct timer_thread *timer = self;
    (void)unschedule(timer, id);
    assert_true(timer->task_count < TASKS_MAX);
    int task = timer->task_count++;
    timer->tasks[task] =
        (struct task){.id = id, .run_time = deadline > timer->now ? deadline : timer->now};
    timer->task_id[id] = task;
    if (timer->running && deadline <= timer->now && (timer->habits & RUNS_IN_THE_SAME) == 0) {
        add(&timer->held, task);
    } else {
        schedule(timer, task);
    }
    return true;
}

static void advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct timer_thread *timer = self;
    timer->now = now;
    if (!timer->signalled && timer->wait_until > now) {
        return;
    }
    timer->running = true;
    run(timer, fire);
    timer->signalled = false;
    timer->running = false;
    for (int i = timer->held.count; i-- > 0;) {
        if (!timer->tasks[timer->held.at[i]].unscheduled) {
            schedule(timer, timer->held.at[i]);
        }
    }
    timer->held.count = 0;
}

/* When the thread wakes up; not for unscheduled tasks alone, for which timerlab's drivers do not
 * wake. */
static uint64_t next(void *self)
{
    struct timer_thread *timer = self;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (timer->task_id[id] != NO_TASK) {
            return timer->nearest < timer->wait_until ? timer->nearest : timer->wait_until;
        }
    }
    return TL_NEVER;
}

/* --- the inside
 * -------------------------------------------------------------------------------- */

struct shown {
    int tasks[2]; /* in the buckets, in the heap */
    int part;
};

static void on_part(void *ctx, const struct tl_part *part)
{
    ((struct shown *)ctx)->part = part->form == TL_FORM_TREE;
}

static void on_cell(void *ctx, const struct tl_cell *cell)
{
    (void)ctx;
    (void)cell;
}

static void on_timer(void *ctx, const struct tl_held *held)
{
    struct shown *shown = ctx;
    (void)held;
    shown->tasks[shown->part]++;
}

/* How many tasks there are, unscheduled ones too. */
static bool inside(void *self, const struct tl_algo *algo, const void *structure, char *why,
                   size_t why_bytes)
{
    struct timer_thread *timer = self;
    struct shown shown = {.part = 0};
    int in_buckets = 0;
    for (uint32_t i = 0; i < BUCKETS; i++) {
        in_buckets += timer->bucket[i].count;
    }
    algo->walk(structure, &(struct tl_visitor){&shown, on_part, on_cell, on_timer});
    if (shown.tasks[0] != in_buckets || shown.tasks[1] != timer->heap.count) {
        (void)snprintf(why, why_bytes,
                       "%d tasks are in buckets and %d in the heap, the original's %d and %d",
                       shown.tasks[0], shown.tasks[1], in_buckets, timer->heap.count);
        return false;
    }
    return true;
}

#define BRPC(opens)                                                                                \
    {                                                                                              \
        .follows = "brpc's timer_thread.cpp", .bytes = sizeof(struct timer_thread),                \
        .open = (opens), .start = start, .stop = unschedule, .advance = advance, .next = next,     \
        .inside = inside,                                                                          \
    }

static const struct original never_sweeping = BRPC(open_never_sweeping);
static const struct original sweeping = BRPC(open_sweeping);
static const struct original waking = BRPC(open_waking);

static const struct original_case cases[] = {
    {.original = &waking,
     .structure = "brpc-timer",
     .options = "buckets=2:sweep=8:wakeup=20",
     .ids = 64,
     .next = ORIGINAL_NEXT_SAME},
    {.original = &never_sweeping,
     .structure = "brpc-timer",
     .options = "sweep=never",
     .next = ORIGINAL_NEXT_SAME},
    {.original = &sweeping,
     .structure = "brpc-timer",
     .options = "buckets=1:sweep=8",
     .next = ORIGINAL_NEXT_SAME},
    {.original = &sweeping,
     .structure = "brpc-timer",
     .options = "buckets=1:sweep=8",
     .ids = 64,
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 8,
     .step_ticks = 3,
     .operations = 2000},
    {.original = &sweeping,
     .structure = "brpc-timer",
     .options = "buckets=1:sweep=8",
     .ids = 64,
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 30,
     .clock = 1 << 20,
     .batch_ticks = 50},
};

static void brpc_timer_is_brpcs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        original_agrees(&cases[i]);
    }
}

static void brpc_timer_empties_its_buckets_later(void **state)
{
    (void)state;
    original_differs(&cases[0], EMPTIES_AT_ONCE, "empties the buckets at the next advance");
    original_differs(&cases[0], RUNS_IN_THE_SAME,
                     "a timer that a callback starts already due waits for the next advance");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brpc_timer_is_brpcs),
        cmocka_unit_test(brpc_timer_empties_its_buckets_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
