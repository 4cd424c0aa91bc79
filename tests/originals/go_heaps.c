/*
 * go-heap compared with the timers of Go's runtime: runtime/time.go of Go 1.25, modify, stop,
 * maybeAdd, cleanHead, adjust, check, run, updateHeap, deleteMin, siftUp, siftDown and initHeap,
 * for timers that call a function. Not modelled: locks, periods, channels, other processors' heaps,
 * preemption, that a tick of 0 means none.
 */
#include "original.h"

#include <stdio.h>

enum habit {
    RUNS_IN_THE_SAME = 1, /* a timer started by a callback when already due is run by the same
                           * check */
};

enum { IN_HEAP = 1, MODIFIED = 2, ZOMBIE = 4 };

struct timer_when {
    uint32_t timer;
    uint64_t when;
};

struct timers {
    uint32_t habits;
    uint64_t now;
    struct timer_when heap[ORIGINAL_IDS];
    int size;
    int len; /* the copy that is taken when the lock is given back */
    int zombies;
    uint64_t min_when_modified; /* TL_NEVER: none */
    uint64_t when[ORIGINAL_IDS];
    uint32_t state[ORIGINAL_IDS];
    bool active[ORIGINAL_IDS];
    bool checking;
    uint32_t later[4096]; /* starts that wait for the check to be over */
    uint32_t later_count;
    bool waits[ORIGINAL_IDS];
};

static void open_timers(void *self, uint64_t now, uint32_t habits)
{
    struct timers *ts = self;
    ts->habits = habits;
    ts->now = now;
    ts->min_when_modified = TL_NEVER;
}

static void sift_up(struct timers *ts, int i)
{
    struct timer_when tw = ts->heap[i];
    while (i > 0) {
        int p = (i - 1) / 4;
        if (tw.when >= ts->heap[p].when) {
            break;
        }
        ts->heap[i] = ts->heap[p];
        i = p;
    }
    ts->heap[i] = tw;
}

static void sift_down(struct timers *ts, int i)
{
    struct timer_when tw = ts->heap[i];
    for (;;) {
        uint64_t w = tw.when;
        int c = -1;
        for (int j = i * 4 + 1; j <= i * 4 + 4 && j < ts->size; j++) {
            if (ts->heap[j].when < w) {
                w = ts->heap[j].when;
                c = j;
            }
        }
        if (c < 0) {
            break;
        }
        ts->heap[i] = ts->heap[c];
        i = c;
    }
    ts->heap[i] = tw;
}

static void delete_min(struct timers *ts)
{
    ts->size--;
    if (ts->size > 0) {
        ts->heap[0] = ts->heap[ts->size];
        sift_down(ts, 0);
    } else {
        ts->min_when_modified = TL_NEVER;
    }
}

static bool update_heap(struct timers *ts)
{
    uint32_t t = ts->heap[0].timer;
    if ((ts->state[t] & ZOMBIE) != 0) {
        ts->state[t] = 0;
        ts->zombies--;
        delete_min(ts);
        return true;
    }
    if ((ts->state[t] & MODIFIED) != 0) {
        ts->state[t] &= ~(uint32_t)MODIFIED;
        ts->heap[0].when = ts->when[t];
        sift_down(ts, 0);
        return true;
    }
    return false;
}

static void clean_head(struct timers *ts)
{
    while (ts->size > 0) {
        uint32_t last = ts->heap[ts->size - 1].timer;
        if ((ts->state[last] & ZOMBIE) != 0) {
            ts->state[last] = 0;
            ts->zombies--;
            ts->size--;
            continue;
        }
        if ((ts->state[ts->heap[0].timer] & (MODIFIED | ZOMBIE)) == 0 || !update_heap(ts)) {
            return;
        }
    }
}

static void modify(struct timers *ts, uint32_t t, uint64_t when)
{
    ts->active[t] = true;
    ts->when[t] = when;
    if ((ts->state[t] & IN_HEAP) != 0) {
        if ((ts->state[t] & ZOMBIE) != 0) {
            ts->zombies--;
        }
        ts->state[t] = IN_HEAP | MODIFIED;
        if (when < ts->min_when_modified) {
            ts->min_when_modified = when;
        }
        return;
    }
    clean_head(ts);
    ts->state[t] = IN_HEAP;
    ts->heap[ts->size] = (struct timer_when){t, when};
    sift_up(ts, ts->size++);
    ts->len = ts->size;
}

static bool stop(void *self, uint32_t t)
{
    struct timers *ts = self;
    bool pending = ts->active[t];
    ts->waits[t] = false;
    ts->active[t] = false;
    if ((ts->state[t] & IN_HEAP) != 0) {
        if ((ts->state[t] & ZOMBIE) == 0) {
            ts->zombies++;
        }
        ts->state[t] |= MODIFIED | ZOMBIE;
    }
    return pending;
}

static bool start(void *self, uint32_t t, uint64_t deadline)
{
    struct timers *ts = self;
    uint64_t when = deadline > ts->now ? deadline : ts->now;
    if (ts->checking && deadline <= ts->now && (ts->habits & RUNS_IN_THE_SAME) == 0) {
        bool again = ts->waits[t];
        for (uint32_t i = 0; i < ts->later_count; i++) {
            again |= ts->later[i] == t; /* keeps its turn */
        }
        (void)stop(ts, t);
        if (!again) {
            assert_true(ts->later_count < sizeof ts->later / sizeof ts->later[0]);
            ts->later[ts->later_count++] = t;
        }
        ts->waits[t] = true;
        ts->active[t] = true;
        return true;
    }
    ts->waits[t] = false;
    modify(ts, t, when);
    return true;
}

static void adjust(struct timers *ts, uint64_t now, bool force)
{
    if (!force && ts->min_when_modified > now) {
        return;
    }
    ts->min_when_modified = TL_NEVER;
    bool changed = false;
    for (int i = 0; i < ts->size; i++) {
        uint32_t t = ts->heap[i].timer;
        if ((ts->state[t] & ZOMBIE) != 0) {
            ts->zombies--;
            ts->state[t] = 0;
            ts->heap[i] = ts->heap[ts->size - 1];
            ts->size--;
            i--;
            changed = true;
        } else if ((ts->state[t] & MODIFIED) != 0) {
            ts->heap[i].when = ts->when[t];
            ts->state[t] &= ~(uint32_t)MODIFIED;
            changed = true;
        }
    }
    for (int i = (ts->size - 2) / 4; changed && ts->size > 1 && i >= 0; i--) {
        sift_down(ts, i);
    }
}

static uint64_t wake_time(const struct timers *ts)
{
    uint64_t when = ts->size > 0 ? ts->heap[0].when : TL_NEVER;
    return ts->min_when_modified < when ? ts->min_when_modified : when;
}

/* Runs the first timer. False: there is none that is ready. */
static bool run(struct timers *ts, uint64_t now, const struct original_fire *fire)
{
    for (;;) {
        if (ts->size == 0) {
            return false;
        }
        uint32_t t = ts->heap[0].timer;
        if ((ts->state[t] & (MODIFIED | ZOMBIE)) == 0 && ts->heap[0].when > now) {
            return false;
        }
        if (update_heap(ts)) {
            continue;
        }
        ts->state[t] |= MODIFIED | ZOMBIE;
        ts->zombies++;
        ts->active[t] = false;
        (void)update_heap(ts);
        ts->len = ts->size;
        fire->call(fire->ctx, t);
        return true;
    }
}

static void check(void *self, uint64_t now, const struct original_fire *fire)
{
    struct timers *ts = self;
    uint64_t next = wake_time(ts);
    int left = 10 * (int)ORIGINAL_IDS; /* else, with timers that start themselves, for ever */
    ts->now = now;
    if (next == TL_NEVER || (now < next && ts->zombies <= ts->len / 4)) {
        return;
    }
    ts->checking = true;
    ts->later_count = 0;
    if (ts->size > 0) {
        adjust(ts, now, false);
        while (left-- > 0 && run(ts, now, fire)) {
        }
        if (ts->zombies > ts->len / 4) {
            adjust(ts, now, true);
        }
    }
    ts->len = ts->size;
    ts->checking = false;
    for (uint32_t i = 0; i < ts->later_count; i++) {
        uint32_t t = ts->later[i];
        if (ts->waits[t]) {
            ts->waits[t] = false;
            modify(ts, t, now);
        }
    }
}

/* It wakes up for zombies alone, for which timerlab's drivers do not. */
static uint64_t next(void *self)
{
    struct timers *ts = self;
    bool any = false;
    for (uint32_t t = 0; t < ORIGINAL_IDS; t++) {
        any |= ts->active[t];
    }
    return any ? wake_time(ts) : TL_NEVER;
}

/* --- the inside
 * -------------------------------------------------------------------------------- */

struct shown {
    const struct timers *ts;
    int size;
    int zombies;
    bool stale; /* the cell has shown the tick of its place */
    bool same;
};

static void on_part(void *ctx, const struct tl_part *part)
{
    (void)ctx;
    (void)part;
}

static void end_cell(struct shown *shown)
{
    if (shown->size > 0 && shown->size <= shown->ts->size) {
        uint32_t t = shown->ts->heap[shown->size - 1].timer;
        shown->same &= shown->stale == ((shown->ts->state[t] & MODIFIED) != 0);
    }
}

static void on_cell(void *ctx, const struct tl_cell *cell)
{
    struct shown *shown = ctx;
    end_cell(shown);
    shown->same &= cell->index == (uint64_t)shown->size;
    shown->size++;
    shown->stale = false;
    shown->zombies++; /* unless a timer follows */
}

static void on_timer(void *ctx, const struct tl_held *held)
{
    struct shown *shown = ctx;
    if (shown->size > shown->ts->size) {
        return;
    }
    const struct timer_when *tw = &shown->ts->heap[shown->size - 1];
    bool stale = (held->marks & TL_MARK_STALE) != 0;
    shown->stale |= stale;
    shown->zombies -= !stale;
    shown->same &=
        held->id == tw->timer && held->at == (stale ? tw->when : shown->ts->when[tw->timer]);
}

/* The heap, entry by entry, with the marked timers. */
static bool inside(void *self, const struct tl_algo *algo, const void *structure, char *why,
                   size_t why_bytes)
{
    struct timers *ts = self;
    struct shown shown = {.ts = ts, .same = true};
    algo->walk(structure, &(struct tl_visitor){&shown, on_part, on_cell, on_timer});
    end_cell(&shown);
    if (!shown.same || shown.size != ts->size || shown.zombies != ts->zombies) {
        (void)snprintf(
            why, why_bytes, "the heap has %d entries, %d of zombies, the original's %d and %d%s",
            shown.size, shown.zombies, ts->size, ts->zombies, shown.same ? "" : ", and others");
        return false;
    }
    return true;
}

static const struct original go = {
    .follows = "Go's runtime/time.go",
    .bytes = sizeof(struct timers),
    .open = open_timers,
    .start = start,
    .stop = stop,
    .advance = check,
    .next = next,
    .inside = inside,
};

static const struct original_case cases[] = {
    {.original = &go,
     .structure = "go-heap",
     .options = "",
     .ordered = true,
     .next = ORIGINAL_NEXT_SAME},
    {.original = &go,
     .structure = "go-heap",
     .options = "",
     .ordered = true,
     .next = ORIGINAL_NEXT_SAME,
     .ids = 64,
     .delay_bits = 8,
     .step_ticks = 4,
     .operations = 2000},
    {.original = &go,
     .structure = "go-heap",
     .options = "",
     .ordered = true,
     .next = ORIGINAL_NEXT_SAME,
     .ids = 64,
     .delay_bits = 30,
     .clock = 77,
     .batch_ticks = 50},
};

static void go_heap_is_gos(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        original_agrees(&cases[i]);
    }
}

static void go_heap_holds_back_what_is_due(void **state)
{
    (void)state;
    original_differs(&cases[0], RUNS_IN_THE_SAME,
                     "a timer that a callback starts already due waits for the next advance");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(go_heap_is_gos),
        cmocka_unit_test(go_heap_holds_back_what_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
