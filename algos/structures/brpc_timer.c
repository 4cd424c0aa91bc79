/*
 * brpc-timer: the timer thread of brpc: starts append to hashed buckets, and advance moves them to
 * a heap.
 *
 *   buckets   0   task 7 (due 40) -> task 2 (due 90, left)     nearest 40
 *             1   (empty)
 *             ...                                                        nearest of all: 25
 *   heap      task 4 (due 25)
 *             task 1 (due 31)   task 9 (due 60, left) ...
 *   current   id 0: task 7   id 3: task 4   id 5: none ...
 *
 * start(5, 20) takes a new task from the pool, puts it at the front of a bucket's list, and makes
 * it the `current` task of id 5; the bucket's nearest tick becomes 20. stop(0) only clears
 * `current`: task 7 stays in its list, and is `left`. A restart leaves the old task in the same
 * way. So a start is a few writes and a stop is one. advance(20) comes at the nearest tick: it
 * empties the buckets, drops the left tasks and puts the others into the heap; then it fires task 5
 * from there.
 *
 * A task that is left in the heap stays until its time, or until a sweep: when the heap has twice
 * as many tasks as after the last sweep, and at least `sweep`. An advance before the nearest tick
 * does nothing, except every `wakeup` ticks if that option is set. In brpc, threads share the
 * buckets; here, ids do. A timer that a callback starts when already due is held back from the
 * buckets until the advance ends.
 *
 * The pool doubles and never shrinks. If memory for that is missing, all left tasks are dropped at
 * once. Then there is a task for each id, and one for the timer that fires, so that no start fails.
 *
 * Invariants
 *   - every pending timer has one task, `current`, in a bucket, in the heap, or held back by a
 *     running advance; all other tasks there are left, and the rest of the pool is free
 *   - no task of the heap is before its parent; no pending timer is due before `nearest`
 *
 * Complexity: start and stop O(1), a tick O(1), expiry O(log n) of all tasks, as is each task that
 * moves from a bucket to the heap. Use it where many threads start and stop timers that rarely
 * fire. Bad at: memory, if most timers are stopped long before their time, because their tasks
 * remain; an advance that empties a full bucket.
 *
 * Source: apache/brpc, src/bthread/timer_thread.cpp (August 2026): Bucket::schedule, consume_tasks,
 * unschedule, run.
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BUCKETS_MAX  1024
#define CAPACITY_MAX (UINT32_C(1) << 30)
#define ROOM_MAX     (UINT32_C(1) << 31)
#define NONE         UINT32_MAX
#define SWEEP_NEVER  INT64_MAX

struct timer_options {
    uint32_t buckets;
    uint64_t sweep;
    uint64_t wakeup;
};

/* By id. */
struct node {
    uint32_t task; /* the current one, or NONE */
};

struct task {
    uint64_t run_time;
    uint32_t id;
    uint32_t next; /* in its bucket, among those held back, or in the pool */
};

struct bucket {
    uint64_t nearest; /* TL_NEVER: it is empty */
    uint32_t head;
};

struct brpc_timer {
    struct node *nodes AND_RECORDS;
    struct task *tasks;
    uint32_t *heap; /* of tasks, in the same block after them, as many as those */
    uint32_t bucket_count;
    uint32_t room; /* tasks that there are */
    uint32_t free_head;
    uint32_t held_head;
    uint32_t heap_count;
    uint32_t capacity;
    uint64_t sweep_min;
    uint64_t swept; /* tasks of the heap after the last sweep, or fewer since */
    uint64_t nearest;
    uint64_t wakeup_ticks; /* it sleeps no longer than that; 0: as long as there is to wait */
    uint64_t wakes_at;     /* if no nearer task comes */
    bool woken;            /* a nearer task has come */
    bool firing;
    uint64_t count;
    uint64_t clock;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    struct bucket buckets[]; /* bucket_count */
};

#define NODES_FIRST            0u
#define STRUCTURE              struct brpc_timer
#define STRUCTURE_BYTES(timer) (sizeof *(timer) + (timer)->bucket_count * sizeof(struct bucket))
#include "node_array.h"

#include "index_heap.h"

static inline bool is_left(const struct brpc_timer *timer, uint32_t task)
{
    return node_at(timer, timer->tasks[task].id)->task != task;
}

static inline void give_back(struct brpc_timer *timer, uint32_t task)
{
    timer->tasks[task].next = timer->free_head;
    timer->free_head = task;
}

/* --- data: the heap --------------------------------------------------------------------------- */

static inline uint64_t heap_key(const struct brpc_timer *timer, uint32_t task)
{
    return timer->tasks[task].run_time;
}

static inline void heap_put(struct brpc_timer *timer, uint32_t place, uint32_t task)
{
    timer->heap[place] = task;
    TL_COUNT(timer, moves, 1);
}

static void heap_push(struct brpc_timer *timer, uint32_t task)
{
    heap_sift(timer, timer->heap_count++, task);
    TL_COUNT(timer, cascades, 1);
}

static uint32_t heap_pop(struct brpc_timer *timer)
{
    uint32_t top = timer->heap[0];
    uint32_t last = timer->heap[--timer->heap_count];
    if (timer->heap_count > 0) {
        heap_sift(timer, 0, last);
    }
    return top;
}

/* Drop the left tasks of the heap, and make it a heap again. */
static void heap_sweep(struct brpc_timer *timer)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timer->heap_count; i++) {
        uint32_t task = timer->heap[i];
        TL_COUNT(timer, compares, 1);
        if (is_left(timer, task)) {
            give_back(timer, task);
        } else {
            timer->heap[kept++] = task;
        }
    }
    timer->heap_count = 0;
    while (timer->heap_count < kept) {
        uint32_t task = timer->heap[timer->heap_count++];
        heap_sift(timer, timer->heap_count - 1, task);
    }
    timer->swept = kept;
}

/* --- data: the buckets ------------------------------------------------------------------------ */

/* The 64-bit finalizer of MurmurHash3, of a number that is all low bits. */
static inline struct bucket *bucket_of(struct brpc_timer *timer, uint32_t id)
{
    uint64_t hash = (uint64_t)id * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return &timer->buckets[(hash ^ hash >> 33) % timer->bucket_count];
}

/* Put a task into its bucket. A task nearer than all others wakes the thread. */
static void schedule(struct brpc_timer *timer, uint32_t index)
{
    struct task *task = &timer->tasks[index];
    struct bucket *bucket = bucket_of(timer, task->id);
    task->next = bucket->head;
    bucket->head = index;
    TL_COUNT(timer, moves, 1);
    if (task->run_time < bucket->nearest) {
        bucket->nearest = task->run_time;
        if (task->run_time < timer->nearest) {
            timer->nearest = task->run_time;
            timer->woken = true;
        }
    }
}

static void hold_back(struct brpc_timer *timer, uint32_t task)
{
    timer->tasks[task].next = timer->held_head;
    timer->held_head = task;
}

/* Empty a list: drop the left tasks, and pass the others to `take`. */
static void tasks_drain(struct brpc_timer *timer, uint32_t *head,
                        void (*take)(struct brpc_timer *timer, uint32_t task))
{
    uint32_t task = *head;
    *head = NONE;
    while (task != NONE) {
        uint32_t next = timer->tasks[task].next;
        TL_COUNT(timer, compares, 1);
        if (is_left(timer, task)) {
            give_back(timer, task);
        } else {
            take(timer, task);
        }
        task = next;
    }
}

/* Move the tasks of the buckets to the heap. */
static void consume_tasks(struct brpc_timer *timer)
{
    for (uint32_t i = 0; i < timer->bucket_count; i++) {
        timer->buckets[i].nearest = TL_NEVER;
        TL_COUNT(timer, slots, 1);
        tasks_drain(timer, &timer->buckets[i].head, heap_push);
    }
}

/* --- data: the pool --------------------------------------------------------------------------- */

static size_t pool_bytes(uint32_t room)
{
    return room * (sizeof(struct task) + sizeof(uint32_t));
}

static struct task *pool_new(const struct brpc_timer *timer, uint32_t room)
{
    return tl_alloc(timer->allocator, pool_bytes(room), alignof(struct task));
}

/* Move the pool to the memory of pool_new. Return false, and change nothing, if that is NULL. */
static bool use_pool(struct brpc_timer *timer, struct task *tasks, uint32_t room)
{
    if (tasks == NULL) {
        return false;
    }
    uint32_t *heap = (uint32_t *)(void *)(tasks + room);
    if (timer->tasks != NULL) {
        memcpy(tasks, timer->tasks, timer->room * sizeof *tasks);
        memcpy(heap, timer->heap, timer->heap_count * sizeof *heap);
        tl_free(timer->allocator, timer->tasks, pool_bytes(timer->room), alignof(struct task));
    }
    timer->tasks = tasks;
    timer->heap = heap;
    for (uint32_t task = room; task-- > timer->room;) {
        give_back(timer, task);
    }
    timer->room = room;
    return true;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* Take a free task. There is one, at the latest when all left tasks are dropped. */
static uint32_t take_task(struct brpc_timer *timer)
{
    if (timer->free_head == NONE &&
        (timer->room > ROOM_MAX / 2 ||
         !use_pool(timer, pool_new(timer, 2 * timer->room), 2 * timer->room))) {
        consume_tasks(timer);
        heap_sweep(timer);
        tasks_drain(timer, &timer->held_head, hold_back);
    }
    uint32_t task = timer->free_head;
    timer->free_head = timer->tasks[task].next;
    return task;
}

/* Leave a timer's task. Return false if it has none. */
static bool unschedule(struct brpc_timer *timer, uint32_t id)
{
    if (node_at(timer, id)->task == NONE) {
        return false;
    }
    node_at(timer, id)->task = NONE;
    timer->count--;
    TL_COUNT(timer, moves, 1);
    return true;
}

static enum tl_status timer_start(void *self, uint32_t id, uint64_t deadline)
{
    struct brpc_timer *timer = self;
    (void)unschedule(timer, id);
    uint32_t task = take_task(timer);
    uint64_t run_time = deadline > timer->clock ? deadline : timer->clock;
    timer->tasks[task] = (struct task){.run_time = run_time, .id = id};
    node_at(timer, id)->task = task;
    timer->count++;
    if (timer->firing && deadline <= timer->clock) {
        hold_back(timer, task);
    } else {
        schedule(timer, task);
    }
    return TL_OK;
}

static enum tl_status timer_stop(void *self, uint32_t id)
{
    return unschedule(self, id) ? TL_OK : TL_IDLE;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Fire the due tasks of the heap. */
static uint64_t run_tasks(struct brpc_timer *timer, uint64_t now, uint64_t budget, tl_fire_fn fire,
                          void *ctx)
{
    uint64_t fired = 0;
    while (fired < budget && timer->heap_count > 0 && heap_due(timer, 0) <= now) {
        uint32_t task = heap_pop(timer);
        TL_COUNT(timer, compares, 1);
        if (!is_left(timer, task)) {
            uint32_t id = timer->tasks[task].id;
            (void)unschedule(timer, id);
            fired++;
            fire(ctx, id, now);
        }
        give_back(timer, task);
    }
    return fired;
}

/* TimerThread::run. */
static uint64_t wake(struct brpc_timer *timer, uint64_t now, uint64_t budget, tl_fire_fn fire,
                     void *ctx)
{
    uint64_t fired = 0;
    uint64_t top;
    timer->firing = true;
    timer->woken = false;
    do {
        timer->nearest = TL_NEVER;
        consume_tasks(timer);
        if (timer->heap_count >= timer->sweep_min && timer->heap_count >= 2 * timer->swept) {
            heap_sweep(timer);
        }
        fired += run_tasks(timer, now, budget - fired, fire, ctx);
        timer->swept = timer->heap_count < timer->swept ? timer->heap_count : timer->swept;
        top = timer->heap_count > 0 ? heap_due(timer, 0) : TL_NEVER;
    } while (timer->nearest < top); /* by what callbacks started */
    timer->nearest = top;
    timer->wakes_at = top;
    if (timer->wakeup_ticks > 0 && top > now && top - now > timer->wakeup_ticks &&
        top != TL_NEVER) {
        timer->wakes_at = now + timer->wakeup_ticks;
    }
    timer->woken = false;
    timer->firing = false;
    tasks_drain(timer, &timer->held_head, schedule);
    return fired;
}

static uint64_t timer_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct brpc_timer *timer = self;
    timer->clock = now;
    TL_COUNT(timer, compares, 1);
    return timer->woken || timer->wakes_at <= now ? wake(timer, now, budget, fire, ctx) : 0;
}

static uint64_t timer_next(const void *self)
{
    const struct brpc_timer *timer = self;
    if (timer->count == 0) {
        return TL_NEVER;
    }
    return timer->nearest < timer->wakes_at ? timer->nearest : timer->wakes_at;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status timer_reserve(void *self, uint32_t capacity)
{
    struct brpc_timer *timer = self;
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    for (uint32_t i = 0; timer->tasks == NULL && i < timer->bucket_count; i++) {
        timer->buckets[i] = (struct bucket){.nearest = TL_NEVER, .head = NONE};
    }
    bool grows = capacity + 1 > timer->room;
    struct task *tasks = grows ? pool_new(timer, capacity + 1) : NULL;
    if (grows && tasks == NULL) {
        return TL_ERR_NOMEM;
    }
    enum tl_status status =
        nodes_reserve(timer, capacity, CAPACITY_MAX, (struct node){.task = NONE});
    if (status != TL_OK) {
        tl_free(timer->allocator, tasks, pool_bytes(capacity + 1), alignof(struct task));
    } else if (grows) {
        (void)use_pool(timer, tasks, capacity + 1);
    }
    return status;
}

static void timer_destroy(void *self)
{
    struct brpc_timer *timer = self;
    tl_free(timer->allocator, timer->tasks, pool_bytes(timer->room), alignof(struct task));
    nodes_free(timer);
    structure_free(timer, timer->allocator);
}

static enum tl_status timer_create(const struct tl_config *config, void **self)
{
    const struct timer_options *options = config->options;
    struct brpc_timer empty = {
        .bucket_count = options->buckets,
        .free_head = NONE,
        .held_head = NONE,
        .sweep_min = options->sweep,
        .nearest = TL_NEVER,
        .wakeup_ticks = options->wakeup,
        .wakes_at = TL_NEVER,
        .clock = config->now,
        .allocator = config->allocator,
    };
    return structure_create(config, &empty, timer_reserve, timer_destroy, self);
}

static const struct tl_choice sweep_choices[] = {
    {"never", SWEEP_NEVER,
     "entries that are left in the heap stay until their time, as in earlier versions"},
    {NULL, 0, NULL},
};

static const struct tl_option timer_option_table[] = {
    {"buckets", TL_U32(struct timer_options, buckets), 13, 1, BUCKETS_MAX, NULL,
     "buckets (brpc_timer_num_buckets)"},
    {"sweep", TL_U64(struct timer_options, sweep), 4096, 1, ROOM_MAX, sweep_choices,
     "tasks of the heap from which on it is swept "
     "(brpc_timer_heap_sweep_min_size)"},
    {"wakeup", TL_TICKS(struct timer_options, wakeup), 0, 0, UINT32_MAX, NULL,
     "ticks after which buckets are emptied anyhow "
     "(brpc_timer_max_wakeup_interval_ms); 0: not before there is reason to"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

/* Count the tasks of a list in *tasks, and those that are not left in *live. */
static void tally_list(const struct brpc_timer *timer, uint32_t task, uint64_t *tasks,
                       uint64_t *live)
{
    for (; task != NONE && *tasks <= timer->room; task = timer->tasks[task].next) {
        ++*tasks;
        *live += !is_left(timer, task);
    }
}

static enum tl_status timer_check(const void *self, char *why, size_t why_bytes)
{
    const struct brpc_timer *timer = self;
    uint64_t tasks = timer->heap_count;
    uint64_t live = 0;
    for (uint32_t i = 0; i < timer->heap_count; i++) {
        live += !is_left(timer, timer->heap[i]);
        if (i > 0 && heap_due(timer, i) < heap_due(timer, (i - 1) / 2)) {
            return corrupt(why, why_bytes, "task %" PRIu32 " is below a later one", timer->heap[i]);
        }
    }
    for (uint32_t i = 0; i < timer->bucket_count; i++) {
        tally_list(timer, timer->buckets[i].head, &tasks, &live);
    }
    for (uint32_t task = timer->free_head; task != NONE && tasks <= timer->room;
         task = timer->tasks[task].next) {
        tasks++;
    }
    uint64_t pending = 0;
    for (uint32_t id = 0; id < timer->capacity; id++) {
        uint32_t task = node_at(timer, id)->task;
        pending += task != NONE;
        if (task != NONE && timer->tasks[task].run_time < timer->nearest) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is due before the nearest", id);
        }
    }
    if (tasks != timer->room || live != timer->count || pending != timer->count) {
        return corrupt(why, why_bytes, "%" PRIu64 " tasks, %" PRIu64 " live, %" PRIu64 " pending",
                       tasks, live, pending);
    }
    return TL_OK;
}

static void walk_task(const struct brpc_timer *timer, uint32_t task,
                      const struct tl_visitor *visitor)
{
    const struct task *at = &timer->tasks[task];
    if (is_left(timer, task)) {
        walk_stale(visitor, at->id, at->run_time);
    } else {
        walk_timer(visitor, at->id, at->run_time, 0);
    }
}

static void timer_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct brpc_timer *timer = self;
    walk_part(visitor, "buckets", TL_FORM_WHEEL, 0);
    for (uint32_t i = 0; i < timer->bucket_count; i++) {
        walk_node(visitor, i, TL_NEVER);
        for (uint32_t task = timer->buckets[i].head; task != NONE; task = timer->tasks[task].next) {
            walk_task(timer, task, visitor);
        }
    }
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (uint32_t i = 0; i < timer->heap_count; i++) {
        walk_node(visitor, i, i > 0 ? (i - 1) / 2 : TL_NEVER);
        walk_task(timer, timer->heap[i], visitor);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(brpc_timer) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED |
                    TL_CAP_ALLOCATES,
    .name = "brpc-timer",
    .summary = "buckets that starts go to, and a heap that takes them over; stops leave the task",
    .origin = "brpc, bthread/timer_thread.cpp",
    .description =
        "Each start puts a task into one of some buckets, and a stop leaves it where it is. The "
        "advance at which the nearest tick is reached, or before which a nearer one was started, "
        "empties the buckets into a heap, except for tasks stopped meanwhile, and fires the due "
        "ones. A task that is stopped later stays in the heap until its tick or a sweep. Bad at: "
        "memory when most timers are stopped, since every start takes a task that stays; and the "
        "advance that empties full buckets.",
    .cost = {.start = "O(1)",
             .stop = "O(1)",
             .tick = "O(1)",
             .expire = "O(log n), stopped ones too"},
    OPTIONS(timer_option_table, struct timer_options),
    .create = timer_create,
    .destroy = timer_destroy,
    .reserve = timer_reserve,
    .start = timer_start,
    .stop = timer_stop,
    .advance = timer_advance,
    .next = timer_next,
    .count = nodes_count,
    .counters = nodes_counters,
    .check = timer_check,
    .walk = timer_walk,
    .differs = "a timer's bucket is that of its id, where the original's is that of the thread "
               "that starts it; the thread that a nearer task wakes empties the buckets at the "
               "next advance, not at once; a timer that a callback starts already due waits for "
               "the next advance, where the original empties the buckets again and runs it; stop "
               "of the timer that fires finds it idle, where the original says that it is running.",
};
