/*
 * durable: a log for the structure's timers, so that they outlive the process.
 *
 * The structure keeps the timers as without. Starts, stops and expiries are also written to a log
 * (durable/timer_log.h), many operations in one commit. From time to time the pending timers are
 * written to a snapshot (durable/timer_snapshot.h), and the older log is deleted. After a crash the
 * snapshot and the log after it give the pending timers, which are started in an empty structure.
 *
 * No timer fires if its record cannot be written:
 *
 *   at-least   callback, record, commit with others: uncommitted expiries fire once more
 *   at-most    records, commit, callbacks: timers that were not handed out yet are lost
 *
 * So with at-most the structure first hands out all due timers; with at-least each is fired at once.
 * Timers that exceed the budget wait in the front end, as do all due timers while the disk fails; the
 * next advance tries again.
 *
 * With sync=none a commit is a write, and segments, snapshots and names do not wait for the disk
 * either. The kernel has the data, so that they survive the end of the process.
 *
 * Every record needs its place on the disk. A start reserves that of the stop or expiry, so that a
 * full disk refuses starts only.
 */
#include "call_store.h"
#include "front.h"
#include "timer_log.h"
#include "timer_snapshot.h"
#include "walk.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

struct durable_options {
    char path[TL_TEXT_BYTES];
    uint32_t sync;
    uint32_t delivery;
    uint64_t group;
    uint64_t window;
    uint64_t snapshot;
    uint64_t least;
};

enum { SYNC_ALWAYS, SYNC_GROUP, SYNC_NONE };

enum { AT_LEAST, AT_MOST };

#define OWNER     "durable(NAME), a log of format 1"

#define GROUP_MAX (1 << 20)

_Static_assert(LOG_LEAP == 0 || GROUP_MAX < LOG_LEAP, "no number is given twice");

/* Marks in a timer's generation: the structure has fired it, and it is in `due`; with at-most, its
 * expiry is recorded; it was started with a call (also in snapshots). */
#define IS_DUE        (UINT64_C(1) << 63)
#define IS_RECORDED   (UINT64_C(1) << 62)
#define HAS_CALL      (UINT64_C(1) << 61)
#define GENERATION    (HAS_CALL - 1)

/* The most words of an easy start, including those that end its timer. */
#define EASY_WORDS    4u

/* The least number of ids that go into a snapshot for each logged record. They go in groups of
 * SNAPSHOT_IDS, or of a 64th of all ids if that is less, so that the groups cost little. */
#define SNAPSHOT_PACE 8u
#define SNAPSHOT_IDS  256u

struct timer {
    uint64_t deadline;   /* TL_NEVER: not pending */
    uint64_t generation; /* the sequence number of its start, and the marks above */
};

struct durable {
    const struct tl_algo *inner;
    void *self;
    struct timer *timers;
    /* While fewer words wait, an operation only appends a word; so does a start, if the structure
     * refuses none. */
    size_t easy_until;
    size_t easy_start_until;
    uint64_t counted;    /* pending timers */
    uint64_t counted_at; /* at this sequence number */
    struct timer_log log;
    const struct tl_allocator *allocator;
    uint32_t *due; /* timers that the structure fired, in its order; room for every timer */
    uint32_t due_count;
    uint32_t left_over; /* the number of these that were not stopped or restarted since */
    uint32_t capacity;
    uint32_t snapshot_id; /* the next one to be looked at */
    uint64_t now;
    uint64_t waiting_since; /* the clock when the first of the waiting records was made */
    uint64_t window_ticks;
    uint64_t snapshot_percent;
    uint64_t snapshot_least; /* records before the first */
    uint64_t snapshot_from;  /* the newest one's sequence number, begun or tried */
    uint64_t snapshot_seen;  /* the sequence number of the last work for it */
    uint64_t snapshot_at;    /* that of the next */
    uint64_t snapshot_pace;  /* ids for each record */
    uint64_t budget;         /* the rest of the running advance's */
    tl_fire_fn fire;         /* its callback */
    void *fire_ctx;
    size_t group; /* records that make a commit */
    bool at_most;
    bool may_refuse; /* a start for which there is memory */
    bool usable;     /* false: the folder's timers have not been recovered */
    bool found;      /* the folder had files */
    bool advancing;
    struct store store;
    struct calls calls;
    struct snapshot_writer snapshot;
};

static bool is_pending(const struct timer *timer)
{
    return timer->deadline != TL_NEVER;
}

static void set_idle(struct timer *timer)
{
    *timer = (struct timer){.deadline = TL_NEVER};
}

static bool is_due(const struct timer *timer)
{
    return (timer->generation & IS_DUE) != 0;
}

static bool has_call(const struct timer *timer)
{
    return (timer->generation & HAS_CALL) != 0;
}

static bool can_write(const struct durable *durable)
{
    return durable->usable && !durable->store.final;
}

static uint64_t durable_count(const void *self)
{
    const struct durable *durable = self;
    return durable->inner->count(durable->self) + durable->left_over;
}

/* Not called within an advance. */
static uint64_t count_pending(struct durable *durable)
{
    durable->counted = durable_count(durable);
    durable->counted_at = log_sequence(&durable->log);
    return durable->counted;
}

/* An upper bound: a start does not look whether its timer is pending, which would be a cache miss. */
static uint64_t pending_at_most(const struct durable *durable)
{
    return durable->counted + (log_sequence(&durable->log) - durable->counted_at);
}

/* --- snapshots ------------------------------------------------------------------------------- */

/* Return the number of records between snapshots. */
static uint64_t snapshot_distance(const struct durable *durable)
{
    uint64_t records = pending_at_most(durable) / 100 * durable->snapshot_percent;
    return records > durable->snapshot_least ? records : durable->snapshot_least;
}

/* The next attempt is after as many records again. */
static void give_snapshot_up(struct durable *durable)
{
    snapshot_abandon(&durable->snapshot);
    durable->snapshot_from = log_sequence(&durable->log);
}

static void finish_snapshot(struct durable *durable)
{
    uint64_t from = durable->snapshot.unfinished.from;
    if (calls_sync(&durable->calls) != TL_OK || log_sync(&durable->log) != TL_OK ||
        snapshot_finish(&durable->snapshot, log_sequence(&durable->log)) != TL_OK) {
        give_snapshot_up(durable);
        return;
    }
    calls_end_file(&durable->calls);
    uint64_t live = count_pending(durable);
    (void)log_drop(&durable->log, from, log_words_for(live) + snapshot_distance(durable), live);
}

/* Write the timers of the next `ids` ids, or fewer if the table ends. */
static enum tl_status write_down(struct durable *durable, uint64_t ids)
{
    struct snapshot_writer *writer = &durable->snapshot;
    uint32_t id = durable->snapshot_id;
    uint32_t end = ids < durable->capacity - id ? id + (uint32_t)ids : durable->capacity;
    enum tl_status status = TL_OK;
    while (id < end && status == TL_OK) {
        unsigned at = writer->in_run;
        for (; id < end && at < SNAPSHOT_RUN && status == TL_OK; id++) {
            const struct timer *timer = &durable->timers[id];
            struct snapshot_timer written = {id, timer->deadline,
                                             timer->generation & (GENERATION | HAS_CALL)};
            if (is_pending(timer) && has_call(timer)) {
                status = calls_move(&durable->calls, id);
            }
            at = snapshot_put(writer, at, written, is_pending(timer));
        }
        writer->in_run = at;
        status = status == TL_OK && at == SNAPSHOT_RUN ? snapshot_end_run(writer) : status;
    }
    durable->snapshot_id = id;
    return status;
}

/* Write the part of a snapshot that corresponds to the records since the last call. */
static void work_for_snapshot(struct durable *durable)
{
    struct timer_log *log = &durable->log;
    if (!snapshot_is_open(&durable->snapshot)) {
        (void)count_pending(durable);
        uint64_t records = log_sequence(log) - durable->snapshot_from;
        uint64_t distance = snapshot_distance(durable);
        if (records < distance) {
            /* The distance may shrink meanwhile. */
            durable->snapshot_at = log_sequence(log) + (distance - records) / 8 + 1;
            return;
        }
        durable->snapshot_from = log_sequence(log);
        durable->snapshot_seen = log_sequence(log);
        durable->snapshot_id = 0;
        durable->snapshot_pace = SNAPSHOT_PACE + 4 * (uint64_t)durable->capacity / distance;
        if (calls_begin_file(&durable->calls) != TL_OK ||
            snapshot_begin(&durable->snapshot, log_sequence(log)) != TL_OK) {
            return;
        }
    }
    uint64_t at_once =
        durable->capacity / 64 < SNAPSHOT_IDS ? durable->capacity / 64 : SNAPSHOT_IDS;
    durable->snapshot_at = log_sequence(log) + at_once / durable->snapshot_pace + 1;
    uint64_t ids = (log_sequence(log) - durable->snapshot_seen) * durable->snapshot_pace;
    durable->snapshot_seen = log_sequence(log);
    if (write_down(durable, ids) != TL_OK) {
        give_snapshot_up(durable);
        return;
    }
    if (durable->snapshot_id == durable->capacity) {
        finish_snapshot(durable);
    }
}

/* --- the log --------------------------------------------------------------------------------- */

static void set_easy(struct durable *durable, size_t words)
{
    durable->easy_until = words;
    durable->easy_start_until = durable->may_refuse || durable->left_over > 0 ? 0 : words;
}

/* Commit; the next record is the first of another commit. */
static enum tl_status commit(struct durable *durable)
{
    set_easy(durable, 0);
    enum tl_status status = calls_sync(&durable->calls);
    return status == TL_OK ? log_commit(&durable->log) : status;
}

/* Return the place after the next record and, if it `starts` a timer, those that end all timers. */
static uint64_t end_of_all(const struct durable *durable, bool starts)
{
    uint64_t pending = pending_at_most(durable) + durable->advancing + 1;
    return log_place(&durable->log) + LOG_MOST_WORDS + (starts ? log_words_for(pending) : 0);
}

/* Make room for a record and, if it `starts` a timer, for those that end all timers. A record that
 * ends a timer has had its room since the start. */
static enum tl_status make_ready(struct durable *durable, bool starts)
{
    if (!durable->usable) {
        return durable->store.failure[0] != '\0'
                   ? TL_ERR_STORE
                   : store_fail(&durable->store, "%s: holds timers that have not been recovered",
                                durable->store.path);
    }
    struct timer_log *log = &durable->log;
    if (log_is_full(log)) {
        enum tl_status status = commit(durable);
        if (status != TL_OK) {
            return status;
        }
    }
    if (durable->store.final) {
        return TL_ERR_STORE;
    }
    /* The files of a temporary folder are created by the first write. */
    bool is_there = durable->store.path[0] != '\0' || log->segment_count > 0;
    uint64_t end = end_of_all(durable, starts);
    if (end > log->room && !durable->advancing) {
        (void)count_pending(durable);
        end = end_of_all(durable, starts);
    }
    return end > log->room && is_there ? log_make_room(log, end, pending_at_most(durable) + 1)
                                       : TL_OK;
}

/* Nearly every record only needs its place in the buffer: it is neither the first nor the last of a
 * commit, there is room for it and for the end of its timer, and no snapshot work is due. Count how
 * many such records can follow. */
static void count_easy(struct durable *durable)
{
    const struct timer_log *log = &durable->log;
    set_easy(durable, 0);
    uint64_t waiting = log_waiting(log);
    if (waiting == 0 || !can_write(durable)) {
        return;
    }
    uint64_t easy = durable->group > waiting + 1 ? durable->group - waiting - 1 : 0;
    uint64_t end = end_of_all(durable, true);
    uint64_t room = log->room > end ? (log->room - end) / EASY_WORDS : 0;
    easy = room < easy ? room : easy;
    if (!durable->advancing) {
        uint64_t next = log_sequence(log) + 1;
        uint64_t quiet = durable->snapshot_at > next ? durable->snapshot_at - next : 0;
        easy = quiet < easy ? quiet : easy;
    }
    size_t left = log->frame_end - log->used;
    set_easy(durable, log->used + (easy < left ? (size_t)easy : left));
}

static inline bool is_easy(const struct durable *durable)
{
    return __builtin_expect(durable->log.used < durable->easy_until, 1);
}

/* `of`: a start's deadline, else the timer's generation with its marks. */
static void append(struct durable *durable, enum log_op op, uint32_t id, uint64_t of)
{
    if (log_waiting(&durable->log) == 0) {
        durable->waiting_since = durable->now;
    }
    log_append(&durable->log, op, id, op == LOG_START ? of : of & GENERATION);
}

/* Append an operation, and commit a full group; if that fails the operation is taken back. */
static enum tl_status append_to_group(struct durable *durable, enum log_op op, uint32_t id,
                                      uint64_t of)
{
    struct log_mark mark = log_mark(&durable->log);
    append(durable, op, id, of);
    if (log_waiting(&durable->log) < durable->group) {
        return TL_OK;
    }
    enum tl_status status = commit(durable);
    if (status != TL_OK) {
        log_take_back(&durable->log, mark);
    }
    return status;
}

/* After an operation that was not easy. */
static void settle(struct durable *durable)
{
    if (!durable->advancing && log_sequence(&durable->log) >= durable->snapshot_at) {
        work_for_snapshot(durable);
    }
    count_easy(durable);
}

/* --- hooks ----------------------------------------------------------------------------------- */

/* Restore the timer in the structure. */
static void undo_start(struct durable *durable, uint32_t id)
{
    const struct timer *timer = &durable->timers[id];
    if (is_pending(timer) && !is_due(timer)) {
        (void)durable->inner->start(durable->self, id, timer->deadline);
    } else {
        (void)durable->inner->stop(durable->self, id);
    }
}

static inline void set_pending(struct durable *durable, uint32_t id, uint64_t deadline,
                               uint64_t sequence)
{
    durable->timers[id] = (struct timer){.deadline = deadline, .generation = sequence};
}

/* A start that is not easy, or may be refused. */
static __attribute__((noinline)) enum tl_status start_apart(struct durable *durable, uint32_t id,
                                                            uint64_t deadline)
{
    bool easy = is_easy(durable) && log_reaches(&durable->log, deadline);
    enum tl_status status = easy ? TL_OK : make_ready(durable, true);
    if (status == TL_OK) {
        status = durable->inner->start(durable->self, id, deadline);
    }
    if (status != TL_OK) {
        return status;
    }
    if (easy) {
        (void)log_append_word(&durable->log, LOG_START, id, deadline);
    } else {
        status = append_to_group(durable, LOG_START, id, deadline);
        if (status != TL_OK) {
            undo_start(durable, id);
            return status;
        }
    }
    durable->left_over -= is_due(&durable->timers[id]);
    set_pending(durable, id, deadline, log_sequence(&durable->log));
    if (!easy) {
        settle(durable);
    }
    return TL_OK;
}

/* The structure is called last, as a tail call. */
static enum tl_status durable_start(void *self, uint32_t id, uint64_t deadline)
{
    struct durable *durable = self;
    bool easy = __builtin_expect(durable->log.used < durable->easy_start_until, 1);
    if (!easy || !log_reaches(&durable->log, deadline)) {
        return start_apart(durable, id, deadline);
    }
    uint64_t sequence = log_append_word(&durable->log, LOG_START, id, deadline);
    set_pending(durable, id, deadline, sequence);
    return durable->inner->start(durable->self, id, deadline);
}

/* A stop that is not easy, or of a timer that the structure has fired. */
static __attribute__((noinline)) enum tl_status stop_apart(struct durable *durable, uint32_t id)
{
    struct timer *timer = &durable->timers[id];
    if ((timer->generation & IS_RECORDED) == 0 &&
        (make_ready(durable, false) != TL_OK ||
         append_to_group(durable, LOG_STOP, id, timer->generation) != TL_OK)) {
        return TL_ERR_STORE;
    }
    if (is_due(timer)) {
        durable->left_over--;
    } else {
        (void)durable->inner->stop(durable->self, id);
    }
    set_idle(timer);
    settle(durable);
    return TL_OK;
}

/* The call is written to its file before the start to the log. If the start fails, it is garbage. */
static enum tl_status durable_start_call(void *self, uint32_t id, uint64_t deadline,
                                         const struct tl_call *call)
{
    struct durable *durable = self;
    struct calls *calls = &durable->calls;
    uint64_t place = calls_has(calls, id) ? calls->places[id] : 0;
    enum tl_status status = make_ready(durable, true);
    if (status == TL_OK) {
        status = calls_add(calls, durable->capacity, id, log_sequence(&durable->log) + 1, call);
    }
    if (status != TL_OK) {
        return status;
    }
    status = durable->inner->start(durable->self, id, deadline);
    if (status == TL_OK) {
        struct log_mark mark = log_mark(&durable->log);
        log_append_call(&durable->log, deadline);
        status = append_to_group(durable, LOG_START, id, deadline);
        if (status != TL_OK) {
            log_take_back(&durable->log, mark);
            undo_start(durable, id);
        }
    }
    if (status != TL_OK) {
        calls->places[id] = place;
        return status;
    }
    durable->left_over -= is_due(&durable->timers[id]);
    set_pending(durable, id, deadline, log_sequence(&durable->log) | HAS_CALL);
    settle(durable);
    return TL_OK;
}

static enum tl_status durable_call(void *self, uint32_t id, struct tl_call *out)
{
    struct durable *durable = self;
    return has_call(&durable->timers[id]) ? calls_read(&durable->calls, id, out) : TL_IDLE;
}

static enum tl_status durable_stop(void *self, uint32_t id)
{
    struct durable *durable = self;
    struct timer *timer = &durable->timers[id];
    if (!is_pending(timer)) {
        return TL_IDLE;
    }
    if (!is_easy(durable) || is_due(timer)) {
        return stop_apart(durable, id);
    }
    (void)log_append_word(&durable->log, LOG_STOP, id, timer->generation & GENERATION);
    timer->deadline = TL_NEVER;
    return durable->inner->stop(durable->self, id);
}

/* Keep the timers of `due`, from `from` on, that were not stopped or restarted. */
static void keep_left_over(struct durable *durable, uint32_t from)
{
    uint32_t kept = durable->due_count - from;
    if (kept != durable->left_over) {
        kept = 0;
        for (uint32_t i = from; i < durable->due_count; i++) {
            if (is_due(&durable->timers[durable->due[i]])) {
                durable->due[kept++] = durable->due[i];
            }
        }
    } else if (from > 0) {
        memmove(durable->due, durable->due + from, kept * sizeof *durable->due);
    }
    durable->due_count = kept;
}

/* Whether there is room for the record of one more expiry. */
static bool can_fire(struct durable *durable)
{
    return is_easy(durable) || make_ready(durable, false) == TL_OK;
}

/* Callback, then record. The timer is not marked as due. Always inline in the structure's callback. */
static inline __attribute__((always_inline)) void fire_one(struct durable *durable, uint32_t id)
{
    struct timer *timer = &durable->timers[id];
    uint64_t generation = timer->generation;
    timer->deadline = TL_NEVER;
    durable->budget--;
    durable->fire(durable->fire_ctx, id, durable->now);
    if (is_easy(durable)) {
        (void)log_append_word(&durable->log, LOG_FIRE, id, generation & GENERATION);
    } else {
        append(durable, LOG_FIRE, id, generation);
        settle(durable);
    }
}

/* The structure's callback. */
static void hand_out(void *ctx, uint32_t id, uint64_t now)
{
    struct durable *durable = ctx;
    (void)now;
    /* No timer overtakes waiting ones. */
    if (durable->due_count == 0 && !durable->at_most && durable->budget > 0 && can_fire(durable)) {
        fire_one(durable, id);
    } else {
        durable->timers[id].generation |= IS_DUE;
        durable->due[durable->due_count++] = id;
        durable->left_over++;
        durable->easy_start_until = 0; /* a start must check whether its timer is one of these */
    }
}

/* Fire timers of `due` from *at on, within the limits of budget and disk; *at is then the end. */
static void fire_at_least(struct durable *durable, uint32_t *at)
{
    for (; *at < durable->due_count && durable->budget > 0; ++*at) {
        uint32_t id = durable->due[*at];
        if (!is_due(&durable->timers[id])) {
            continue;
        }
        if (!can_fire(durable)) {
            break;
        }
        durable->timers[id].generation &= ~IS_DUE;
        durable->left_over--;
        fire_one(durable, id);
    }
}

/* Record up to `most` expiries, or fewer if the log is full, from `at` on; *span is their length in
 * `due`. */
static enum tl_status record_expiries(struct durable *durable, uint32_t at, uint64_t most,
                                      uint32_t *span)
{
    uint64_t recorded = 0;
    for (*span = 0; at + *span < durable->due_count; ++*span) {
        uint32_t id = durable->due[at + *span];
        struct timer *timer = &durable->timers[id];
        if (!is_due(timer)) {
            continue;
        }
        if (log_is_full(&durable->log) || recorded == most) {
            break;
        }
        enum tl_status status = make_ready(durable, false);
        if (status != TL_OK) {
            return status;
        }
        append(durable, LOG_FIRE, id, timer->generation);
        timer->generation |= IS_RECORDED;
        recorded++;
    }
    return commit(durable);
}

/* Records, commit, then callbacks. */
static void fire_at_most(struct durable *durable, uint32_t *at)
{
    while (*at < durable->due_count && durable->budget > 0) {
        uint32_t span;
        if (log_is_full(&durable->log) && commit(durable) != TL_OK) {
            break;
        }
        struct log_mark mark = log_mark(&durable->log);
        if (record_expiries(durable, *at, durable->budget, &span) != TL_OK) {
            log_take_back(&durable->log, mark);
            for (uint32_t i = 0; i < span; i++) {
                durable->timers[durable->due[*at + i]].generation &= ~IS_RECORDED;
            }
            break;
        }
        for (uint32_t end = *at + span; *at < end; ++*at) {
            uint32_t id = durable->due[*at];
            struct timer *timer = &durable->timers[id];
            if (is_due(timer)) {
                *timer = (struct timer){TL_NEVER, timer->generation & HAS_CALL};
                durable->left_over--;
                durable->budget--;
                durable->fire(durable->fire_ctx, id, durable->now);
            }
        }
    }
}

static uint64_t durable_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct durable *durable = self;
    durable->now = now;
    if (!can_write(durable)) {
        return 0;
    }
    durable->advancing = true;
    durable->budget = budget;
    durable->fire = fire;
    durable->fire_ctx = ctx;
    keep_left_over(durable, 0);
    (void)durable->inner->advance(durable->self, now, TL_NO_BUDGET, hand_out, durable);
    uint32_t at = 0;
    if (durable->at_most) {
        fire_at_most(durable, &at);
    } else {
        fire_at_least(durable, &at);
    }
    keep_left_over(durable, at);
    durable->advancing = false;
    bool over = now - durable->waiting_since >= durable->window_ticks;
    uint64_t waiting = log_waiting(&durable->log);
    if (waiting > 0 && (over || waiting >= durable->group)) {
        (void)commit(durable);
    }
    settle(durable);
    return budget - durable->budget;
}

static uint64_t durable_next(const void *self)
{
    const struct durable *durable = self;
    return durable->left_over > 0 ? durable->now : durable->inner->next(durable->self);
}

static void durable_counters(const void *self, struct tl_counters *out)
{
    const struct durable *durable = self;
    durable->inner->counters(durable->self, out);
}

static enum tl_status durable_check(const void *self, char *why, size_t why_bytes)
{
    const struct durable *durable = self;
    uint64_t pending = 0;
    for (uint32_t id = 0; id < durable->capacity; id++) {
        pending += is_pending(&durable->timers[id]);
    }
    uint64_t inside = durable->inner->count(durable->self);
    uint64_t due = durable->left_over;
    if (inside + due != pending || pending_at_most(durable) < pending) {
        (void)snprintf(
            why, why_bytes,
            "%llu timers are pending, at most %llu; the structure has %llu, and %llu are due",
            (unsigned long long)pending, (unsigned long long)pending_at_most(durable),
            (unsigned long long)inside, (unsigned long long)due);
        return TL_ERR_CORRUPT;
    }
    return durable->inner->check != NULL ? durable->inner->check(durable->self, why, why_bytes)
                                         : TL_OK;
}

/* Show the structure, and then the timers that wait for the budget or the disk. */
static void durable_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct durable *durable = self;
    durable->inner->walk(durable->self, visitor);
    if (durable->due_count == 0) {
        return;
    }
    walk_part(visitor, "due", TL_FORM_LIST, 0);
    uint64_t shown = 0;
    for (uint32_t i = 0; i < durable->due_count; i++) {
        uint32_t id = durable->due[i];
        if (is_due(&durable->timers[id])) {
            walk_node(visitor, shown++, TL_NEVER);
            walk_timer(visitor, id, durable->timers[id].deadline, 0);
        }
    }
}

static enum tl_status durable_sync(void *self, uint64_t *durable_sequence)
{
    struct durable *durable = self;
    enum tl_status status = !durable->usable                 ? TL_ERR_STORE
                            : log_waiting(&durable->log) > 0 ? commit(durable)
                            : durable->store.final           ? TL_ERR_STORE
                                                             : TL_OK;
    *durable_sequence = durable->log.written;
    return status == TL_OK ? TL_OK : TL_ERR_STORE;
}

static void durable_durability(const void *self, struct tl_durability *out)
{
    const struct durable *durable = self;
    *out = (struct tl_durability){
        .sequence = log_sequence(&durable->log),
        .durable_sequence = durable->log.written,
        .bytes_durable = durable->log.bytes + snapshot_bytes(&durable->snapshot),
        .bytes_written = durable->store.bytes_written,
        .syncs = durable->store.syncs,
        .failure = durable->store.failure[0] != '\0' ? durable->store.failure : NULL,
    };
}

/* --- create, reserve, destroy ---------------------------------------------------------------- */

static size_t bytes_for(uint32_t capacity)
{
    return (size_t)capacity * (sizeof(struct timer) + sizeof(uint32_t));
}

/* Make room for the timers below `capacity` and for `due`: in one block, which gets huge pages sooner
 * than two. */
static enum tl_status grow(struct durable *durable, uint32_t capacity)
{
    if (capacity <= durable->capacity || capacity > LOG_IDS) {
        return capacity > LOG_IDS ? TL_ERR_CAPACITY : TL_OK;
    }
    const struct tl_allocator *allocator = durable->allocator;
    uint32_t before = durable->capacity;
    enum tl_status status = log_reserve(&durable->log, capacity);
    status = status == TL_OK ? calls_grow(&durable->calls, capacity) : status;
    if (status != TL_OK) {
        return status;
    }
    struct timer *timers = tl_alloc(allocator, bytes_for(capacity), alignof(struct timer));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    uint32_t *due = (uint32_t *)(void *)(timers + capacity);
    if (before > 0) {
        memcpy(timers, durable->timers, before * sizeof *timers);
        memcpy(due, durable->due, durable->due_count * sizeof *due);
    }
    for (uint32_t id = before; id < capacity; id++) {
        set_idle(&timers[id]);
    }
    tl_free(allocator, durable->timers, bytes_for(before), alignof(struct timer));
    durable->due = due;
    durable->timers = timers;
    durable->capacity = capacity;
    return TL_OK;
}

static enum tl_status durable_reserve(void *self, uint32_t capacity)
{
    struct durable *durable = self;
    if (capacity > LOG_IDS) {
        return TL_ERR_CAPACITY;
    }
    enum tl_status status = durable->inner->reserve(durable->self, capacity);
    return status == TL_OK ? grow(durable, capacity) : status;
}

/* List both kinds of files. The caller releases the lists in any case. */
static enum tl_status list_files(struct durable *durable, struct store_numbers *logs,
                                 struct store_numbers *snapshots)
{
    enum tl_status status = store_list(&durable->store, STORE_LOG, durable->allocator, logs);
    return status == TL_OK
               ? store_list(&durable->store, STORE_SNAPSHOT, durable->allocator, snapshots)
               : status;
}

/* Open the folder, and create the first segment if there is none. `recover` reports a failure, because
 * it can return a text. */
static enum tl_status open_folder(struct durable *durable)
{
    if (durable->store.path[0] == '\0') {
        durable->usable = true;
        return TL_OK;
    }
    struct store_numbers logs = {0};
    struct store_numbers snapshots = {0};
    enum tl_status status = store_open(&durable->store);
    if (status == TL_OK) {
        status = list_files(durable, &logs, &snapshots);
    }
    durable->found = logs.count > 0 || snapshots.count > 0 || durable->store.is_owned;
    store_numbers_release(&logs, durable->allocator);
    store_numbers_release(&snapshots, durable->allocator);
    if (status == TL_OK && !durable->found) {
        store_remove_unfinished(&durable->store);
        status = log_make_room(&durable->log, 1, 0);
        status = status == TL_OK ? store_set_owner(&durable->store) : status;
        durable->usable = status == TL_OK;
    }
    return status == TL_ERR_NOMEM ? TL_ERR_NOMEM : TL_OK;
}

static void free_all(struct durable *durable)
{
    const struct tl_allocator *allocator = durable->allocator;
    if (durable->snapshot.store != NULL) {
        snapshot_destroy(&durable->snapshot);
    }
    if (durable->log.store != NULL) {
        log_destroy(&durable->log);
    }
    calls_destroy(&durable->calls);
    store_close(&durable->store);
    tl_free(allocator, durable->timers, bytes_for(durable->capacity), alignof(struct timer));
    tl_free(allocator, durable, sizeof *durable, alignof(struct durable));
}

static enum tl_status durable_create(const struct tl_algo *inner, const void *given,
                                     const struct tl_config *config, void **self)
{
    const struct durable_options *own = given;
    struct durable *durable = tl_alloc(config->allocator, sizeof *durable, alignof(struct durable));
    if (durable == NULL) {
        return TL_ERR_NOMEM;
    }
    *durable = (struct durable){
        .inner = inner,
        .allocator = config->allocator,
        .now = config->now,
        .window_ticks = own->window,
        .snapshot_percent = own->snapshot,
        .snapshot_least = own->least,
        .group = own->sync == SYNC_ALWAYS ? 1 : (size_t)own->group,
        .at_most = own->delivery == AT_MOST,
        .may_refuse =
            (inner->capabilities & (TL_CAP_UNLIMITED | TL_CAP_REFUSES)) != TL_CAP_UNLIMITED,
    };
    store_init(&durable->store, own->path, own->sync != SYNC_NONE, OWNER);
    calls_init(&durable->calls, &durable->store, config->allocator);
    enum tl_status status = log_create(&durable->log, &durable->store, config->allocator,
                                       (size_t)own->group, durable->snapshot_least);
    status = status != TL_OK
                 ? status
                 : snapshot_create(&durable->snapshot, &durable->store, config->allocator);
    status = status != TL_OK ? status : log_reserve(&durable->log, config->capacity);
    status = status != TL_OK ? status : grow(durable, config->capacity);
    status = status != TL_OK ? status : open_folder(durable);
    status = status != TL_OK ? status : inner->create(config, &durable->self);
    if (status != TL_OK) {
        free_all(durable);
        return status;
    }
    *self = durable;
    return TL_OK;
}

static void durable_destroy(void *self)
{
    struct durable *durable = self;
    if (durable->store.path[0] != '\0' && can_write(durable) &&
        calls_sync(&durable->calls) == TL_OK) {
        (void)log_sync(&durable->log);
    }
    durable->inner->destroy(durable->self);
    free_all(durable);
}

/* --- recovery -------------------------------------------------------------------------------- */

/* Make room for an id in the arrays. */
static enum tl_status reach(struct durable *durable, uint32_t id)
{
    if (id < durable->capacity) {
        return TL_OK;
    }
    uint64_t capacity = (uint64_t)id + id / 2 + 1;
    return id >= LOG_IDS ? TL_ERR_CAPACITY
                         : grow(durable, capacity > LOG_IDS ? LOG_IDS : (uint32_t)capacity);
}

static enum tl_status add_timer(void *ctx, const struct snapshot_timer *timer)
{
    struct durable *durable = ctx;
    enum tl_status status = reach(durable, timer->id);
    if (status == TL_OK) {
        durable->timers[timer->id] = (struct timer){timer->deadline, timer->generation};
    }
    return status;
}

static enum tl_status apply(void *ctx, const struct log_operation *operation)
{
    struct durable *durable = ctx;
    enum tl_status status = reach(durable, operation->id);
    if (status != TL_OK) {
        return status;
    }
    struct timer *timer = &durable->timers[operation->id];
    uint64_t generation = timer->generation & GENERATION;
    if (operation->op == LOG_START && operation->sequence >= generation) {
        *timer = (struct timer){operation->deadline,
                                operation->sequence | (operation->has_call ? HAS_CALL : 0)};
    } else if (operation->op != LOG_START && log_ends(operation, generation)) {
        set_idle(timer);
    }
    return TL_OK;
}

static void forget_timers(struct durable *durable)
{
    for (uint32_t id = 0; id < durable->capacity; id++) {
        set_idle(&durable->timers[id]);
    }
}

/* Read the newest complete snapshot, if there is any. */
static enum tl_status read_snapshot(struct durable *durable, const struct store_numbers *snapshots,
                                    uint64_t *upto)
{
    enum tl_status status = TL_OK;
    for (size_t i = snapshots->count; i > 0; i--) {
        status = snapshot_read(&durable->snapshot, snapshots->at[i - 1], upto, add_timer, durable);
        if (status == TL_OK) {
            return TL_OK;
        }
        if (status != TL_ERR_CORRUPT) {
            return status;
        }
        forget_timers(durable);
    }
    return status == TL_OK ? TL_OK : TL_ERR_STORE;
}

/* Read the files into the arrays. */
static enum tl_status read_files(struct durable *durable, const struct store_numbers *logs,
                                 const struct store_numbers *snapshots)
{
    uint64_t upto = 0;
    enum tl_status status = read_snapshot(durable, snapshots, &upto);
    if (status != TL_OK) {
        return status;
    }
    if (logs->count == 0) {
        return store_fail(&durable->store, "%s: its log is missing", durable->store.path);
    }
    status = log_open_segments(&durable->log, logs->at, logs->count);
    if (status == TL_OK) {
        status = log_replay(&durable->log, durable->snapshot.newest.from, upto, apply, durable);
    }
    durable->snapshot_from = durable->snapshot.newest.from;
    return status;
}

static bool is_wanted(void *ctx, uint32_t id, uint64_t generation)
{
    const struct durable *durable = ctx;
    return id < durable->capacity && is_pending(&durable->timers[id]) &&
           durable->timers[id].generation == (generation | HAS_CALL);
}

/* Read the calls. If a timer's call is missing, nothing is recovered. */
static enum tl_status read_calls(struct durable *durable)
{
    enum tl_status status = calls_recover(&durable->calls, durable->capacity, is_wanted, durable);
    for (uint32_t id = 0; id < durable->capacity && status == TL_OK; id++) {
        const struct timer *timer = &durable->timers[id];
        if (is_pending(timer) && has_call(timer) && !calls_has(&durable->calls, id)) {
            status = store_fail(&durable->store, "%s: the call of timer %u is missing",
                                durable->store.path, (unsigned)id);
        }
    }
    return status;
}

/* Start the timers of the arrays in the structure. */
static enum tl_status start_timers(struct durable *durable, tl_adopt_fn adopt, void *ctx)
{
    uint32_t capacity = durable->capacity;
    while (capacity > 0 && !is_pending(&durable->timers[capacity - 1])) {
        capacity--;
    }
    enum tl_status status = durable->inner->reserve(durable->self, capacity);
    for (uint32_t id = 0; id < capacity && status == TL_OK; id++) {
        const struct timer *timer = &durable->timers[id];
        if (is_pending(timer)) {
            status = durable->inner->start(durable->self, id, timer->deadline);
        }
    }
    for (uint32_t id = 0; id < capacity && status == TL_OK; id++) {
        const struct timer *timer = &durable->timers[id];
        if (is_pending(timer)) {
            adopt(ctx, id, timer->deadline, timer->generation & GENERATION);
        }
    }
    return status;
}

/* Remove files that a snapshot has replaced, but a crash has left. */
static void remove_old_snapshots(struct durable *durable, const struct store_numbers *snapshots)
{
    for (size_t i = 0; i < snapshots->count; i++) {
        if (snapshots->at[i] != durable->snapshot.newest.from) {
            char name[STORE_NAME_BYTES];
            store_name(name, STORE_SNAPSHOT, snapshots->at[i], "");
            store_remove(&durable->store, name);
        }
    }
    store_remove_unfinished(&durable->store);
}

/* Make room for the records that end the timers, and continue with unused numbers. If the disk is
 * full, starts are refused until there is room. */
static enum tl_status begin_numbers(struct durable *durable)
{
    struct timer_log *log = &durable->log;
    uint64_t live = count_pending(durable);
    enum tl_status status =
        log_make_room(log, log_place(log) + LOG_MOST_WORDS + log_words_for(live), live);
    if (status == TL_ERR_DISK_FULL && log->room > log_place(log) + LOG_MOST_WORDS) {
        status = TL_OK;
    }
    status = status == TL_OK ? log_leap(log) : status;
    status = status == TL_OK ? store_set_owner(&durable->store) : status;
    durable->snapshot_from += LOG_LEAP;
    (void)count_pending(durable);
    return status;
}

static enum tl_status durable_recover(void *self, tl_adopt_fn adopt, void *ctx)
{
    struct durable *durable = self;
    if (durable->usable) {
        return TL_OK;
    }
    if (!durable->found) {
        return TL_ERR_STORE; /* the folder could not be opened */
    }
    struct store_numbers logs = {0};
    struct store_numbers snapshots = {0};
    enum tl_status status = list_files(durable, &logs, &snapshots);
    status = status == TL_OK ? read_files(durable, &logs, &snapshots) : status;
    status = status == TL_OK ? read_calls(durable) : status;
    status = status == TL_OK ? start_timers(durable, adopt, ctx) : status;
    if (status == TL_OK) {
        remove_old_snapshots(durable, &snapshots);
        status = begin_numbers(durable);
    }
    store_numbers_release(&logs, durable->allocator);
    store_numbers_release(&snapshots, durable->allocator);
    durable->usable = status == TL_OK;
    return status;
}

/* --- the front end --------------------------------------------------------------------------- */

static const struct tl_choice sync_choices[] = {
    {"always", SYNC_ALWAYS, "each start and stop waits for the disk: none is lost, whatever fails"},
    {"group", SYNC_GROUP,
     "many operations share one wait for the disk: no acknowledged operation is lost, whatever "
     "fails"},
    {"none", SYNC_NONE,
     "no wait: acknowledged operations outlive the process; after a power failure the log may be "
     "unreadable"},
    {NULL, 0, NULL},
};

static const struct tl_choice delivery_choices[] = {
    {"at-least", AT_LEAST, "callback, then record: after a crash some fire once more"},
    {"at-most", AT_MOST, "record, then callback: after a crash some never fire"},
    {NULL, 0, NULL},
};

static const struct tl_option durable_option_table[] = {
    {"path", TL_TEXT(struct durable_options, path), 0, 0, 0, NULL,
     "the folder that it keeps its timers in, made if it is not there; without one, files "
     "under $TMPDIR that end with the process"},
    {"sync", TL_CHOICE(struct durable_options, sync), SYNC_GROUP, 0, 0, sync_choices,
     "when it waits for the disk"},
    {"delivery", TL_CHOICE(struct durable_options, delivery), AT_LEAST, 0, 0, delivery_choices,
     "effect of a crash on timers during their callbacks"},
    {"group", TL_U64(struct durable_options, group), 5000, 1, GROUP_MAX, NULL,
     "operations per commit, unless a commit is requested earlier"},
    {"window", TL_TICKS(struct durable_options, window), 10, 0, INT64_C(1) << 40, NULL,
     "an advance commits operations that have waited this many ticks"},
    {"snapshot", TL_U64(struct durable_options, snapshot), 120, 10, 100000, NULL,
     "write a snapshot of the pending timers when the log has this many records for each hundred "
     "of them"},
    {"least", TL_U64(struct durable_options, least), 393216, 16, 1 << 30, NULL,
     "and not before the log has this many records"},
    {0},
};

const struct tl_front tl_front_durable = {
    .name = "durable",
    .summary = "with a log, so that timers outlive the process",
    .origin = "the shape of beanstalkd's binlog, of RocketMQ's TimerLog and of Redis' append-only "
              "file",
    .description =
        "Writes each start, stop and expiry to a log: eight bytes each, many in one commit, with "
        "checksums. From time to time it writes a snapshot of the pending timers, a few with each "
        "operation, and deletes the older log. After a crash it reads both and starts the timers "
        "again. Acknowledged operations survive the end of the process and, unless sync=none, a "
        "loss of power. When the disk is full, starts are refused but stops are not, because a "
        "start reserves the space for the record that ends the timer. A failed fsync is final: "
        "after it no timer starts, stops or fires. Order, and earliness or lateness, are those of "
        "the structure. Bad at: sync=always, where each operation is one wait for the disk.",
    .options = durable_option_table,
    .options_bytes = sizeof(struct durable_options),
    .bars = TL_CAP_DURABLE | TL_CAP_FIRES_NOTHING,
    .keeps = ~(uint32_t)(TL_CAP_DURABLE | TL_CAP_FIRES_NOTHING),
    .adds = TL_CAP_DURABLE,
    .create = durable_create,
    .hooks =
        {
            .destroy = durable_destroy,
            .reserve = durable_reserve,
            .start = durable_start,
            .stop = durable_stop,
            .advance = durable_advance,
            .next = durable_next,
            .count = durable_count,
            .counters = durable_counters,
            .check = durable_check,
            .walk = durable_walk,
            .sync = durable_sync,
            .recover = durable_recover,
            .durability = durable_durability,
            .start_call = durable_start_call,
            .call = durable_call,
        },
};
