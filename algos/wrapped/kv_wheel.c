/*
 * kv-wheel: timers in an ordered store of keys and values, by due tick, so that they outlive the
 * process.
 *
 *   kv.h          the store, LMDB: kv_lmdb.c
 *   kv_table.h    its records
 *   this file     moving timers in and out, the transaction, the delivery
 *
 * The store gives the order. A node for each id, in memory, has the timer's key, and shows whether a
 * record is up to date. There is no other index: a start is a put, a stop a removal, and due timers
 * are read from the first key on. All of it belongs to a transaction, which is committed as the
 * options demand, but never while a batch of timers is being fired.
 *
 * Due timers are taken from the store a batch at a time and fired from memory:
 *
 *   at-least   take, fire, remove, commit      crash: timers fired since the last commit fire again
 *   at-most    take, remove, commit, fire      crash: timers committed but not fired never fire
 *
 * A failure of the store ends the transaction. Its content is known from the nodes: the next commit,
 * `retry` ticks later or by sync, writes the whole table again. Until it succeeds no timer is
 * started. Due timers fire from memory with at-least, and wait with at-most, which must not fire a
 * timer before that is recorded. Only a full disk is tried again: a failed fsync may be reported only
 * once.
 *
 * Invariants
 *   - timer id is pending if and only if its node's due is not IDLE; `count` is how many are
 *   - TAKEN are those in the batch under way
 *   - the others have one record each in the store, of that due tick and generation
 *   - no record of theirs comes before `first`; it is the first record's if `first_is_exact`
 *
 * Complexity: start, stop, expire O(log n) of the store's; a tick that fires nothing O(1).
 * Bad at: everything but outliving the process; 10 to 1000 times the time of a wheel in memory.
 */
#include "kv_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct kv_options {
    char path[TL_TEXT_BYTES];
    uint32_t delivery;
    uint32_t sync;
    uint32_t batch;
    uint64_t window;
    uint64_t retry;
};
enum { AT_LEAST, AT_MOST };
enum { SYNC_GROUP, SYNC_ALWAYS, SYNC_NONE };

/* Each opening adds this to the sequence number: more than the number of uncommitted operations can
 * be, so that no number is used twice. A faulty structure, for tests, has 0. */
#ifndef KV_LEAP
#define KV_LEAP (UINT64_C(1) << 32)
#endif

/* --- into the table and out of it; every search begins at `first` ------------------------------ */

/* Visitor: keep the first record. */
static bool keep_record(void *ctx, const struct kv_record *record)
{
    *(struct kv_record *)ctx = *record;
    return false;
}

static enum tl_status insert(struct kv_wheel *wheel, struct task *task)
{
    struct kv_record record = keyed(task->due, task->id);
    add(&record, task->generation, 8);
    add_deadline(&record, task);
    return put(wheel, &record);
}

static enum tl_status erase_call(struct kv_wheel *wheel, uint32_t id, uint64_t generation)
{
    struct kv_record key = call_key(id, generation);
    return (generation & HAS_CALL) != 0 ? erase(wheel, &key) : TL_OK;
}

static enum tl_status extract(struct kv_wheel *wheel, uint32_t id, const struct node *node)
{
    enum tl_status status = erase_call(wheel, id, node->generation);
    if (status != TL_OK) {
        return status;
    }
    struct kv_record record = keyed(node->due, id);
    return erase(wheel, &record);
}

/* The first due tick from the nodes, after a transaction was lost. */
static uint64_t earliest_node(const struct kv_wheel *wheel)
{
    uint64_t due = IDLE;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = &wheel->nodes[id];
        due = is_waiting(node) && node->due < due ? node->due : due;
    }
    return due;
}

/* The tick of the first timer in the store; IDLE: there is none. */
static uint64_t find_first(struct kv_wheel *wheel)
{
    if (wheel->count == 0) {
        return IDLE;
    }
    if (wheel->first_is_exact) {
        return wheel->first_due;
    }
    struct task first = {.due = IDLE};
    if (wheel->lost == TL_OK) {
        struct kv_record from = keyed(wheel->first_due, wheel->first_id);
        struct kv_record found = tagged(0);
        TL_COUNT(wheel, slots, 1);
        enum tl_status status = kv_seek(wheel->store, &from, keep_record, &found);
        if (status != TL_OK) {
            lose(wheel, status);
        } else if (found.key[0] == TAG_TIMER) {
            first = task_of_keyed(&found);
        }
    }
    if (wheel->lost != TL_OK) {
        first.due = earliest_node(wheel);
    }
    wheel->first_due = first.due;
    wheel->first_id = first.id;
    wheel->first_is_exact = true;
    return first.due;
}

/* --- due timers ------------------------------------------------------------------------------ */

/* The progress of an advance, and its limits. */
struct taking {
    struct kv_wheel *wheel;
    uint64_t due; /* from this key on */
    uint32_t id;
    uint64_t now;
    uint64_t limit; /* of generations: timers started by callbacks have later ones */
    uint32_t max;
};

static bool visit_to_take(void *ctx, const struct kv_record *record)
{
    struct taking *taking = ctx;
    struct kv_wheel *wheel = taking->wheel;
    TL_COUNT(wheel, slots, 1);
    TL_COUNT(wheel, compares, 1);
    if (record->key[0] != TAG_TIMER) {
        return false;
    }
    struct task task = task_of_keyed(record);
    if (task.due > taking->now) {
        return false;
    }
    if ((task.generation & ~HAS_CALL) > taking->limit) {
        return true; /* of a later advance */
    }
    wheel->batch[wheel->batch_count++] = task;
    taking->due = task.due;
    taking->id = task.id;
    return wheel->batch_count < taking->max;
}

/* Take timers of one tick, in no order. */
static void take_from_nodes(const struct taking *taking)
{
    struct kv_wheel *wheel = taking->wheel;
    for (uint32_t id = 0; id < wheel->capacity && wheel->batch_count < taking->max; id++) {
        const struct node *node = &wheel->nodes[id];
        if (node->due == taking->due && (node->generation & ~HAS_CALL) <= taking->limit) {
            wheel->batch[wheel->batch_count++] = task_of_node(wheel, id);
        }
    }
}

/* Fill the batch with due timers. */
static enum tl_status take(struct taking *taking)
{
    struct kv_wheel *wheel = taking->wheel;
    enum tl_status status = TL_OK;
    wheel->batch_count = 0;
    if (wheel->lost != TL_OK) {
        take_from_nodes(taking);
    } else {
        struct kv_record from = keyed(taking->due, taking->id);
        status = kv_seek(wheel->store, &from, visit_to_take, taking);
    }
    for (uint32_t i = 0; i < wheel->batch_count; i++) {
        wheel->nodes[wheel->batch[i].id].due = TAKEN;
    }
    wheel->first_is_exact = wheel->first_is_exact && wheel->batch_count == 0;
    return status;
}

/* Remove the batch from the store, except records that a callback has written again. */
static enum tl_status drop(struct kv_wheel *wheel)
{
    enum tl_status status = TL_OK;
    for (uint32_t i = 0; i < wheel->batch_count && status == TL_OK; i++) {
        const struct task *task = &wheel->batch[i];
        if (wheel->nodes[task->id].due != task->due) {
            struct kv_record record = keyed(task->due, task->id);
            status = erase(wheel, &record);
        }
    }
    return status;
}

/* --- the transaction ------------------------------------------------------------------------- */

static enum tl_status put_meta(struct kv_wheel *wheel)
{
    struct kv_record meta = tagged(TAG_META);
    add(&meta, wheel->sequence, 8);
    add(&meta, wheel->capacity, 4);
    return put(wheel, &meta);
}

/* Remove all records but the calls, which are not in memory. */
static enum tl_status erase_all(struct kv_wheel *wheel)
{
    struct kv_record found = tagged(TAG_CALL + 1);
    enum tl_status status = TL_OK;
    while (status == TL_OK) {
        struct kv_record from = found;
        found.key_bytes = 0;
        status = kv_seek(wheel->store, &from, keep_record, &found);
        if (status != TL_OK || found.key_bytes == 0) {
            break;
        }
        status = erase(wheel, &found);
    }
    return status;
}

/* Write all waiting timers again, after a transaction was lost. */
static enum tl_status write_again(struct kv_wheel *wheel)
{
    enum tl_status status = erase_all(wheel);
    for (uint32_t id = 0; id < wheel->capacity && status == TL_OK; id++) {
        if (is_waiting(&wheel->nodes[id])) {
            struct task task = task_of_node(wheel, id);
            status = insert(wheel, &task);
        }
    }
    return status;
}

/* Write the calls of a lost transaction again. */
static enum tl_status put_kept(struct kv_wheel *wheel)
{
    enum tl_status status = TL_OK;
    for (const struct kept_call *kept = wheel->kept; kept != NULL && status == TL_OK;
         kept = kept->next) {
        struct kv_record key = call_key(kept->id, kept->generation);
        status = kv_put(wheel->store, &key, kept->data, kept->bytes);
    }
    return status;
}

static void forget_kept(struct kv_wheel *wheel, const struct kept_call *until)
{
    while (wheel->kept != until) {
        struct kept_call *kept = wheel->kept;
        wheel->kept = kept->next;
        tl_free(wheel->allocator, kept, sizeof *kept + kept->bytes, alignof(struct kept_call));
    }
}

/* Return the bytes that this thread has written to files; 0: the system does not count them. The file
 * is opened once for a thread, because that costs a large part of a commit without sync. */
static uint64_t thread_written_bytes(struct kv_wheel *wheel)
{
    char text[256] = "";
    pid_t thread = gettid();
    if (wheel->io_thread != thread) {
        if (wheel->io_fd >= 0) {
            (void)close(wheel->io_fd);
        }
        wheel->io_fd = open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
        wheel->io_thread = thread;
    }
    ssize_t bytes = wheel->io_fd >= 0 ? pread(wheel->io_fd, text, sizeof text - 1, 0) : 0;
    text[bytes > 0 ? bytes : 0] = '\0';
    const char *word = strstr(text, "wchar: ");
    return word != NULL ? strtoull(word + strlen("wchar: "), NULL, 10) : 0;
}

static enum tl_status commit_meta(struct kv_wheel *wheel)
{
    enum tl_status status = put_meta(wheel);
    return status == TL_OK ? kv_commit(wheel->store) : status;
}

/* Report the lost operations, and the next attempt. */
static void note_lost(struct kv_wheel *wheel, enum tl_status status)
{
    if (wheel->lost != TL_ERR_STORE) {
        lose(wheel, status);
    }
    wheel->tried_at = wheel->clock;
    size_t used = strlen(wheel->failure);
    if (wheel->lost != TL_ERR_STORE) {
        (void)snprintf(wheel->failure + used, sizeof wheel->failure - used,
                       "; %" PRIu64 " operations wait in memory, and are tried again after %" PRIu64
                       " ticks or by sync",
                       wheel->uncommitted, wheel->retry_ticks);
    }
}

/* After a transaction was lost, a small one first tests for room: the whole table takes long. */
static enum tl_status commit(struct kv_wheel *wheel)
{
    enum tl_status status = wheel->lost;
    uint64_t before_bytes = thread_written_bytes(wheel);
    if (status == TL_ERR_DISK_FULL || status == TL_ERR_NOMEM) {
        status = commit_meta(wheel);
        status = status == TL_OK ? write_again(wheel) : status;
        status = status == TL_OK ? put_kept(wheel) : status;
    }
    status = status == TL_OK ? commit_meta(wheel) : status;
    if (status != TL_OK) {
        note_lost(wheel, status);
        return status;
    }
    wheel->failure[0] = '\0';
    wheel->written_bytes += thread_written_bytes(wheel) - before_bytes;
    wheel->syncs += wheel->policy != SYNC_NONE;
    wheel->lost = TL_OK;
    wheel->durable_sequence = wheel->sequence;
    wheel->uncommitted = 0;
    forget_kept(wheel, NULL);
    return TL_OK;
}

static void note_operations(struct kv_wheel *wheel, uint64_t operations)
{
    if (wheel->uncommitted == 0) {
        wheel->uncommitted_since = wheel->clock;
    }
    wheel->uncommitted += operations;
}

/* Commit if the options demand it; after a failure only after `retry_ticks`. */
static enum tl_status commit_in_time(struct kv_wheel *wheel)
{
    bool is_time = wheel->policy == SYNC_ALWAYS || wheel->uncommitted >= wheel->batch_max ||
                   wheel->clock - wheel->uncommitted_since >= wheel->window_ticks;
    bool has_work = wheel->uncommitted > 0;
    if (wheel->lost != TL_OK) {
        is_time = wheel->clock - wheel->tried_at >= wheel->retry_ticks;
        has_work = wheel->lost != TL_ERR_STORE;
    }
    return has_work && is_time && !wheel->is_firing ? commit(wheel) : TL_OK;
}

/* --- start and stop -------------------------------------------------------------------------- */

/* Take a timer out of the store. Those in the batch are removed with it. */
static enum tl_status take_out(struct kv_wheel *wheel, uint32_t id)
{
    const struct node *node = &wheel->nodes[id];
    return is_waiting(node) ? extract(wheel, id, node) : TL_OK;
}
static void lower_first(struct kv_wheel *wheel, uint64_t due, uint32_t id)
{
    bool is_before = due < wheel->first_due || (due == wheel->first_due && id < wheel->first_id);
    if (is_before || wheel->count == 0) {
        wheel->first_due = due;
        wheel->first_id = id;
        wheel->first_is_exact = true;
    }
}

static enum tl_status refusal(enum tl_status status)
{
    return status == TL_ERR_DISK_FULL ? TL_ERR_DISK_FULL : TL_ERR_STORE;
}

static enum tl_status put_call(struct kv_wheel *wheel, const struct task *task,
                               const struct tl_call *call)
{
    size_t name = strlen(call->service) + 1;
    struct kv_record key = call_key(task->id, task->generation);
    struct kept_call *kept =
        tl_alloc(wheel->allocator, sizeof *kept + name + call->bytes, alignof(struct kept_call));
    if (kept == NULL) {
        return TL_ERR_NOMEM;
    }
    *kept = (struct kept_call){wheel->kept, task->generation, name + call->bytes, task->id};
    wheel->kept = kept;
    memcpy(kept->data, call->service, name);
    if (call->bytes > 0) {
        memcpy(kept->data + name, call->payload, call->bytes);
    }
    return kv_put(wheel->store, &key, kept->data, kept->bytes);
}

static enum tl_status start_with(struct kv_wheel *wheel, uint32_t id, uint64_t deadline,
                                 const struct tl_call *call)
{
    const struct kept_call *kept = wheel->kept;
    if (!wheel->is_recovered || wheel->lost != TL_OK) {
        return refusal(wheel->lost);
    }
    struct node before = wheel->nodes[id];
    struct task task = {.id = id,
                        .due = deadline > wheel->clock ? deadline : wheel->clock,
                        .deadline = deadline,
                        .generation = (wheel->sequence + 1) | (call != NULL ? HAS_CALL : 0)};
    enum tl_status status = take_out(wheel, id);
    if (status == TL_OK && call != NULL) {
        status = put_call(wheel, &task, call);
    }
    if (status == TL_OK) {
        status = insert(wheel, &task);
    }
    if (status != TL_OK) {
        lose(wheel, status);
    } else {
        if (before.due == wheel->first_due) {
            wheel->first_is_exact = false;
        }
        lower_first(wheel, task.due, id);
        wheel->nodes[id] = (struct node){task.due, task.generation};
        wheel->count += before.due == IDLE;
        wheel->sequence++;
        note_operations(wheel, 1);
        status = commit_in_time(wheel);
        if (status != TL_OK) {
            wheel->nodes[id] = before;
            wheel->count -= before.due == IDLE;
            wheel->sequence--;
            wheel->uncommitted--;
        }
    }
    if (status != TL_OK && wheel->lost != TL_ERR_STORE && wheel->uncommitted == 0) {
        wheel->lost = TL_OK; /* only this start was lost */
    }
    wheel->first_is_exact = wheel->first_is_exact && status == TL_OK;
    if (status != TL_OK) {
        forget_kept(wheel, kept);
    }
    return status == TL_OK ? TL_OK : refusal(status);
}

static enum tl_status kv_start(void *self, uint32_t id, uint64_t deadline)
{
    return start_with(self, id, deadline, NULL);
}

static enum tl_status kv_start_call(void *self, uint32_t id, uint64_t deadline,
                                    const struct tl_call *call)
{
    bool fits = strlen(call->service) <= TL_SERVICE_MAX && call->bytes <= TL_PAYLOAD_MAX;
    return fits ? start_with(self, id, deadline, call) : TL_ERR_CAPACITY;
}

/* A call that is not committed is read from memory: the store may have lost it. */
static enum tl_status kv_call(void *self, uint32_t id, struct tl_call *out)
{
    struct kv_wheel *wheel = self;
    uint64_t generation = wheel->nodes[id].generation;
    const struct kept_call *kept = wheel->kept;
    struct kv_record key = call_key(id, generation);
    const void *data = NULL;
    size_t bytes = 0;
    enum tl_status status = TL_OK;
    if ((generation & HAS_CALL) == 0) {
        return TL_IDLE;
    }
    while (kept != NULL && kept->generation != generation) {
        kept = kept->next;
    }
    if (kept != NULL) {
        data = kept->data;
        bytes = kept->bytes;
    } else {
        status = kv_get(wheel->store, &key, &data, &bytes);
    }
    size_t name = status == TL_OK ? strnlen(data, bytes) + 1 : 0;
    if (name == 0 || name > bytes) {
        return TL_ERR_STORE;
    }
    *out = (struct tl_call){data, (const char *)data + name, bytes - name};
    return TL_OK;
}

static enum tl_status kv_stop(void *self, uint32_t id)
{
    struct kv_wheel *wheel = self;
    if (!wheel->is_recovered) {
        return TL_ERR_STORE;
    }
    struct node *node = &wheel->nodes[id];
    if (node->due == IDLE) {
        return TL_IDLE;
    }
    enum tl_status status = wheel->lost == TL_OK ? take_out(wheel, id) : TL_OK;
    if (status != TL_OK) {
        lose(wheel, status);
    }
    if (node->due == wheel->first_due) {
        wheel->first_is_exact = false;
    }
    node->due = IDLE;
    wheel->count--;
    wheel->sequence++;
    note_operations(wheel, 1);
    (void)commit_in_time(
        wheel); /* it does not fire any more; sync reports whether that is durable */
    return TL_OK;
}

/* --- advance --------------------------------------------------------------------------------- */

/* Before the callbacks: with at-most, commit the removal. */
static enum tl_status record_before(struct kv_wheel *wheel)
{
    if (wheel->delivery == AT_LEAST) {
        return TL_OK;
    }
    enum tl_status status = wheel->lost;
    if (status == TL_OK) {
        status = drop(wheel);
    }
    return status == TL_OK ? commit(wheel) : status;
}

static void give_back(struct kv_wheel *wheel)
{
    for (uint32_t i = 0; i < wheel->batch_count; i++) {
        wheel->nodes[wheel->batch[i].id].due = wheel->batch[i].due;
    }
}

static uint64_t fire_batch(struct kv_wheel *wheel, uint64_t now, tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    wheel->is_firing = true;
    for (uint32_t i = 0; i < wheel->batch_count; i++) {
        const struct task *task = &wheel->batch[i];
        struct node *node = &wheel->nodes[task->id];
        if (is_to_be_fired(wheel, task)) {
            node->due = IDLE;
            wheel->count--;
            wheel->sequence++;
            fired++;
            fire(ctx, task->id, now);
        }
    }
    wheel->is_firing = false;
    note_operations(wheel, fired);
    return fired;
}

/* After the callbacks: remove the calls and, with at-least, the timers. */
static void record_after(struct kv_wheel *wheel)
{
    bool is_lost = wheel->lost != TL_OK;
    enum tl_status status = !is_lost && wheel->delivery == AT_LEAST ? drop(wheel) : TL_OK;
    for (uint32_t i = 0; i < wheel->batch_count && status == TL_OK && !is_lost; i++) {
        status = erase_call(wheel, wheel->batch[i].id, wheel->batch[i].generation);
    }
    if (status != TL_OK) {
        lose(wheel, status);
    }
    wheel->batch_count = 0;
    (void)commit_in_time(wheel);
}

static uint32_t batch_room(const struct kv_wheel *wheel, uint64_t budget, uint64_t fired)
{
    return budget - fired < wheel->batch_max ? (uint32_t)(budget - fired) : wheel->batch_max;
}

/* Take a batch and fire it. Return the number of expiries: 0 only if no more are due in this turn, or
 * the store has failed. */
static uint64_t fire_some(struct taking *taking, tl_fire_fn fire, void *ctx)
{
    struct kv_wheel *wheel = taking->wheel;
    enum tl_status status = take(taking);
    if (status == TL_OK && wheel->batch_count == 0) {
        return 0;
    }
    if (status == TL_OK) {
        status = record_before(wheel);
    }
    if (status != TL_OK) {
        give_back(wheel);
        lose(wheel, status);
        return 0;
    }
    uint64_t fired = fire_batch(wheel, taking->now, fire, ctx);
    record_after(wheel);
    return fired;
}

static uint64_t kv_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct kv_wheel *wheel = self;
    wheel->clock = now;
    (void)commit_in_time(wheel);
    struct taking taking = {.wheel = wheel, .now = now, .limit = wheel->sequence};
    uint64_t fired = 0;
    for (bool has_begun = false; fired < budget; has_begun = true) {
        enum tl_status lost = wheel->lost;
        uint64_t due = find_first(wheel);
        bool is_the_same = has_begun && due <= taking.due && lost == wheel->lost;
        bool may_fire = wheel->lost == TL_OK || wheel->delivery == AT_LEAST;
        if (due > now || is_the_same || !may_fire) {
            break;
        }
        taking.due = due;
        taking.id = wheel->first_id;
        uint64_t more = 1;
        while (more > 0 && fired < budget) {
            taking.max = batch_room(wheel, budget, fired);
            more = fire_some(&taking, fire, ctx);
            fired += more;
        }
    }
    return fired;
}

static uint64_t kv_next(const void *self)
{
    struct kv_wheel *wheel = (struct kv_wheel *)self; /* it caches the first timer */
    return find_first(wheel);
}

/* --- durability ------------------------------------------------------------------------------ */

static enum tl_status kv_sync(void *self, uint64_t *durable_sequence)
{
    struct kv_wheel *wheel = self;
    enum tl_status status = TL_OK;
    if (wheel->is_recovered && (wheel->uncommitted > 0 || wheel->lost != TL_OK)) {
        status = commit(wheel);
    }
    *durable_sequence = wheel->durable_sequence;
    return status == TL_OK ? TL_OK : TL_ERR_STORE;
}

static void kv_durability(const void *self, struct tl_durability *out)
{
    const struct kv_wheel *wheel = self;
    *out = (struct tl_durability){
        .sequence = wheel->sequence,
        .durable_sequence = wheel->durable_sequence,
        .bytes_durable = wheel->store != NULL ? kv_bytes(wheel->store) : 0,
        .bytes_written = wheel->written_bytes,
        .syncs = wheel->syncs,
        .failure = wheel->failure[0] != '\0' ? wheel->failure : NULL,
    };
}

struct recovery {
    struct kv_wheel *wheel;
    tl_adopt_fn adopt;
    void *ctx;
    enum tl_status status;
};

static bool visit_to_adopt(void *ctx, const struct kv_record *record)
{
    struct recovery *recovery = ctx;
    struct kv_wheel *wheel = recovery->wheel;
    if (record->key[0] != TAG_TIMER) {
        return true;
    }
    struct task task = task_of_keyed(record);
    if (task.id >= wheel->capacity || wheel->nodes[task.id].due != IDLE ||
        (task.generation & ~HAS_CALL) > wheel->sequence || task.due > TL_DEADLINE_MAX) {
        recovery->status = TL_ERR_STORE;
        set_failure(wheel, "a timer is there twice, or is not of this table");
        return false;
    }
    wheel->nodes[task.id] = (struct node){task.due, task.generation};
    wheel->count++;
    recovery->adopt(recovery->ctx, task.id, task.deadline, task.generation & ~HAS_CALL);
    return true;
}

/* Check that each pending timer has its call; remove the calls of others. */
static enum tl_status recover_calls(struct kv_wheel *wheel)
{
    uint64_t missing = 0;
    enum tl_status status = TL_OK;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        missing += is_waiting(&wheel->nodes[id]) && (wheel->nodes[id].generation & HAS_CALL) != 0;
    }
    for (struct kv_record key = tagged(TAG_CALL); status == TL_OK;) {
        struct kv_record from = key;
        key.key_bytes = 0;
        status = kv_seek(wheel->store, &from, keep_record, &key);
        if (status != TL_OK || key.key_bytes == 0 || key.key[0] != TAG_CALL) {
            break;
        }
        uint32_t id = (uint32_t)number_at(key.key + 1, 4);
        uint64_t generation = number_at(key.key + 5, 8);
        bool is_live = id < wheel->capacity && is_waiting(&wheel->nodes[id]) &&
                       wheel->nodes[id].generation == generation;
        missing -= is_live;
        status = is_live ? TL_OK : erase(wheel, &key);
        key = call_key(id, generation + 1);
    }
    if (status == TL_OK && missing > 0) {
        set_failure(wheel, "the call of a timer is missing");
        status = TL_ERR_STORE;
    }
    return status;
}

static enum tl_status kv_reserve(void *self, uint32_t capacity);

/* Continue with numbers above all used ones. If the disk is full, the first commit with room stores
 * that, and no timer is started before. */
static enum tl_status begin_numbers(struct kv_wheel *wheel)
{
    wheel->sequence += KV_LEAP;
    enum tl_status status = commit(wheel);
    return status == TL_ERR_DISK_FULL ? TL_OK : status;
}

static enum tl_status kv_recover(void *self, tl_adopt_fn adopt, void *ctx)
{
    struct kv_wheel *wheel = self;
    if (wheel->is_recovered) {
        return TL_OK; /* a new store */
    }
    if (wheel->store == NULL || wheel->failure[0] != '\0') {
        return TL_ERR_STORE; /* it could not be opened */
    }
    struct kv_record meta = tagged(TAG_META);
    enum tl_status status = get(wheel, &meta);
    if (status == TL_OK) {
        status = kv_reserve(wheel, (uint32_t)number_at(meta.value + 8, 4));
    }
    struct recovery recovery = {.wheel = wheel, .adopt = adopt, .ctx = ctx};
    struct kv_record from = tagged(0);
    if (status == TL_OK) {
        status = kv_seek(wheel->store, &from, visit_to_adopt, &recovery);
    }
    status = status == TL_OK ? recovery.status : status;
    status = status == TL_OK ? recover_calls(wheel) : status;
    status = status == TL_OK ? begin_numbers(wheel) : status;
    if (status == TL_ERR_STORE && wheel->failure[0] == '\0') {
        set_failure(wheel, kv_failure(wheel->store));
    }
    wheel->is_recovered = status == TL_OK;
    return status;
}

/* --- check ----------------------------------------------------------------------------------- */

struct audit {
    struct kv_wheel *wheel;
    uint64_t met;      /* waiting timers, by their records */
    const char *fault; /* NULL: none */
};

static bool visit_to_audit(void *ctx, const struct kv_record *record)
{
    struct audit *audit = ctx;
    struct kv_wheel *wheel = audit->wheel;
    if (record->key[0] != TAG_TIMER) {
        return true;
    }
    struct task task = task_of_keyed(record);
    bool is_known = task.id < wheel->capacity && is_meant(wheel, &task);
    audit->met += is_known;
    audit->fault = !is_known                     ? "a record is no timer's"
                   : task.due < wheel->first_due ? "a record comes before the first"
                                                 : NULL;
    return audit->fault == NULL;
}

static enum tl_status kv_check(const void *self, char *why, size_t why_bytes)
{
    struct kv_wheel *wheel = (struct kv_wheel *)self; /* reading begins a transaction */
    uint64_t waiting = 0;
    uint64_t pending = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        waiting += is_waiting(&wheel->nodes[id]);
        pending += wheel->nodes[id].due != IDLE;
    }
    if (pending != wheel->count) {
        return corrupt(why, why_bytes, "%" PRIu64 " timers pending, %" PRIu64 " counted", pending,
                       wheel->count);
    }
    if (wheel->lost != TL_OK || !wheel->is_recovered) {
        return TL_OK;
    }
    struct audit audit = {.wheel = wheel};
    struct kv_record from = tagged(0);
    if (kv_seek(wheel->store, &from, visit_to_audit, &audit) != TL_OK) {
        audit.fault = kv_failure(wheel->store);
    }
    if (audit.fault == NULL && (audit.met != waiting)) {
        audit.fault = "a timer has no record";
    }
    return audit.fault == NULL ? TL_OK : corrupt(why, why_bytes, "%s", audit.fault);
}

/* --- create, reserve, destroy ---------------------------------------------------------------- */

static enum tl_status kv_reserve(void *self, uint32_t capacity)
{
    return nodes_reserve(self, capacity, UINT32_MAX, (struct node){IDLE, 0});
}

static void remove_temporary(const struct kv_wheel *wheel)
{
    DIR *folder = opendir(wheel->temporary);
    for (const struct dirent *file; folder != NULL && (file = readdir(folder)) != NULL;) {
        (void)unlinkat(dirfd(folder), file->d_name, 0);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    (void)rmdir(wheel->temporary);
}

static void kv_destroy(void *self)
{
    struct kv_wheel *wheel = self;
    if (wheel->store != NULL) {
        if (wheel->folder.path[0] != '\0' && wheel->is_recovered && wheel->uncommitted > 0) {
            (void)commit(wheel);
        }
        kv_close(wheel->store);
    }
    if (wheel->temporary[0] != '\0') {
        remove_temporary(wheel);
    }
    forget_kept(wheel, NULL);
    store_close(&wheel->folder);
    if (wheel->io_fd >= 0) {
        (void)close(wheel->io_fd);
    }
    tl_free(wheel->allocator, wheel->batch, wheel->batch_max * sizeof *wheel->batch,
            alignof(struct task));
    nodes_free(wheel);
    structure_free(wheel, wheel->allocator);
}

/* Open the store's folder; without a path a temporary one. */
static enum tl_status open_folder(struct kv_wheel *wheel)
{
    if (wheel->folder.path[0] != '\0') {
        return store_open(&wheel->folder);
    }
    int length = snprintf(wheel->temporary, sizeof wheel->temporary, "%s/timerlab-kv-XXXXXX",
                          store_temporary_place());
    if (length >= (int)sizeof wheel->temporary || mkdtemp(wheel->temporary) == NULL) {
        wheel->temporary[0] = '\0';
        return TL_ERR_STORE;
    }
    return TL_OK;
}

/* A new table gets its first record, and the folder its owner, before any start: an owned folder
 * without a table has lost it. */
static enum tl_status begin_table(struct kv_wheel *wheel)
{
    if (wheel->folder.is_owned) {
        return store_fail(&wheel->folder, "%s: its table is missing", folder_of(wheel));
    }
    enum tl_status status = wheel->folder.path[0] != '\0' ? commit_meta(wheel) : TL_OK;
    wheel->is_recovered = status == TL_OK;
    return status;
}

static enum tl_status open_table(struct kv_wheel *wheel)
{
    enum tl_status status = kv_open(folder_of(wheel), wheel->policy != SYNC_NONE,
                                    wheel->folder.path[0] == '\0', &wheel->store);
    if (status == TL_OK && wheel->folder.path[0] != '\0') {
        status = store_sync_folder(&wheel->folder);
    }
    struct kv_record meta = tagged(TAG_META);
    status = status == TL_OK ? get(wheel, &meta) : status;
    if (status == TL_OK) {
        wheel->sequence = number_at(meta.value, 8);
        wheel->durable_sequence = wheel->sequence;
    } else if (status == TL_IDLE) {
        status = begin_table(wheel);
    }
    return status == TL_OK ? store_set_owner(&wheel->folder) : status;
}

/* With a path, recover reports a failure, because it can return a text. */
static enum tl_status open_store(struct kv_wheel *wheel)
{
    enum tl_status status = open_folder(wheel);
    status = status == TL_OK ? open_table(wheel) : status;
    if (status == TL_OK || status == TL_ERR_UNAVAILABLE || status == TL_ERR_NOMEM ||
        wheel->folder.path[0] == '\0') {
        return status;
    }
    if (wheel->folder.failure[0] != '\0') {
        (void)snprintf(wheel->failure, sizeof wheel->failure, "%s", wheel->folder.failure);
    } else {
        set_failure(wheel, wheel->store != NULL ? kv_failure(wheel->store) : "it cannot be opened");
    }
    if (wheel->store != NULL) {
        kv_close(wheel->store);
        wheel->store = NULL;
    }
    wheel->is_recovered = false;
    return TL_OK;
}

static enum tl_status kv_create(const struct tl_config *config, void **self)
{
    const struct kv_options *options = config->options;
    struct kv_wheel empty = {
        .allocator = config->allocator,
        .clock = config->now,
        .io_fd = -1,
        .delivery = options->delivery,
        .policy = options->sync,
        .window_ticks = options->window,
        .retry_ticks = options->retry,
        .batch_max = options->batch,
    };
    store_init(&empty.folder, options->path, empty.policy != SYNC_NONE,
               "kv-wheel, a table of format 1");
    void *made = NULL;
    enum tl_status status = structure_create(config, &empty, kv_reserve, kv_destroy, &made);
    if (status != TL_OK) {
        return status;
    }
    struct kv_wheel *wheel = made;
    wheel->batch =
        tl_alloc(wheel->allocator, wheel->batch_max * sizeof *wheel->batch, alignof(struct task));
    status = wheel->batch != NULL ? open_store(wheel) : TL_ERR_NOMEM;
    if (status != TL_OK) {
        kv_destroy(wheel);
        return status;
    }
    *self = wheel;
    return TL_OK;
}

/* --- descriptor ------------------------------------------------------------------------------ */

#define LACKS(package) " (not in this build, which lacked " package ")"
#ifdef TL_HAVE_LMDB
#define LMDB_NOTE
#else
#define LMDB_NOTE LACKS("liblmdb-dev")
#endif
static const struct tl_choice delivery_words[] = {
    {"at-least", AT_LEAST, "fired, then removed: after a crash perhaps again"},
    {"at-most", AT_MOST, "removed, then fired: after a crash perhaps never"},
    {NULL, 0, NULL}};

static const struct tl_choice sync_words[] = {
    {"group", SYNC_GROUP, "commits concurrent operations together, and waits for the disk"},
    {"always", SYNC_ALWAYS, "the same before each start, stop and advance returns"},
    {"none", SYNC_NONE, "as group, but never waits: a loss of power may take the whole file"},
    {NULL, 0, NULL}};

static const struct tl_option kv_option_table[] = {
    {"path", TL_TEXT(struct kv_options, path), 0, 0, 0, NULL,
     "the folder that holds the store; without it a temporary one"},
    {"delivery", TL_CHOICE(struct kv_options, delivery), AT_LEAST, 0, 0, delivery_words,
     "effect of a crash on timers during their callbacks"},
    {"sync", TL_CHOICE(struct kv_options, sync), SYNC_GROUP, 0, 0, sync_words,
     "when an operation becomes durable"},
    {"batch", TL_U32(struct kv_options, batch), 500, 1, 100000, NULL,
     "operations in a commit, and timers taken to be fired, at most"},
    {"window", TL_TICKS(struct kv_options, window), 10, 0, INT64_C(1) << 40, NULL,
     "ticks after which an advance commits uncommitted operations"},
    {"retry", TL_TICKS(struct kv_options, retry), 1000, 1, INT64_C(1) << 40, NULL,
     "ticks after which a commit is tried again that a full disk refused"},
    {0},
};

TL_ALGO(kv_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES | TL_CAP_BASELINE |
                    TL_CAP_OWN_MEMORY | TL_CAP_DURABLE,
    .name = "kv-wheel",
    .summary = "timers in an ordered store of keys and values, which outlives the process",
    .origin = "a hashed wheel kept in a table, with the order of keys instead of buckets",
    .description =
        "A start is a put and a stop a removal; due timers are read in batches from the table's "
        "first key on. Memory holds the key of each timer, 16 bytes. The store is LMDB's, which is "
        "needed when timerlab is built" LMDB_NOTE
        ", and loaded when a structure is created. delivery= sets the effect of a crash on timers "
        "during their callbacks, sync= that of a crash or power failure on recent operations. "
        "Uncommitted operations are not acknowledged. When the disk is full, starts are refused "
        "and stops are not; due timers fire from memory with delivery=at-least, and wait with the "
        "other values. Writing is tried again every retry= ticks and by sync. A timer that is "
        "written late, when there is space again, gets the tick of its start as its deadline, as "
        "recover reports. The store's map and cache are not counted as memory. Bad at: speed.",
    .differs =
        "a timer fires in its own tick, where `start_time < now` waits for the next; the clock is "
        "the caller's and not a record that schedulers race for, so no crash can fall between "
        "moving it and fetching the due timers; a timer started for a slot that was already "
        "fetched fires in the next advance; a timer leaves the table in the transaction that "
        "delivery= names, not when it is fetched; no second pass for missed timers, which repeats "
        "timers that only wait. One process uses the table; no executors, no queue, no retries. "
        "The design as published loses timers that were fetched but not called when a node ends "
        "(as delivery=at-most does by definition), is late with timers of the current second, and "
        "calls timers twice that are queued for longer than its scan's delay: "
        "docs/reference/kv-wheel.md has the command for each.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = kv_option_table,
    .options_bytes = sizeof(struct kv_options),
    .create = kv_create,
    .destroy = kv_destroy,
    .reserve = kv_reserve,
    .start = kv_start,
    .stop = kv_stop,
    .advance = kv_advance,
    .next = kv_next,
    .count = nodes_count,
    .counters = nodes_counters,
    .check = kv_check,
    .sync = kv_sync,
    .recover = kv_recover,
    .durability = kv_durability,
    .start_call = kv_start_call,
    .call = kv_call,
};
