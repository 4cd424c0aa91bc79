/*
 * kv-wheel: a hashed timing wheel kept in an ordered store of keys and values, so that its timers
 * outlive the process.
 *
 *   ordered   T due id             -> generation     one bucket, which is the whole table
 *   hashed    T slot due id        -> generation     slot = due mod 10^8
 *   list      H slot*P + id mod P  -> generation     the head of one of a slot's P lists
 *             R generation         -> id, due, next, stopped
 *   all       O number             -> id, due, generation     moved to the outbox, to be fired
 *             M                    -> sequence, capacity, layout, partitions
 *
 * Behind a timer's value stands its deadline where that had passed when it was started.
 *
 * The store gives the order; a node for each id, in memory, says under which key the timer is, and
 * whether a record is still meant. There is no other index: a start is a put, a stop a removal, and
 * what is due is read from the first key on. All of it belongs to a transaction, which is committed
 * as the options say; but never while a batch of timers is being fired.
 *
 * What is due is taken from the store a batch at a time and fired from memory:
 *
 *   at-least   take, fire, remove, commit      crash: what was fired since the last commit, again
 *   at-most    take, remove, commit, fire      crash: what was committed and not fired, never
 *   outbox     take, move to O, commit, fire, remove from O
 *                                              crash: what was in O, again and in the same order,
 *                                              before all else
 *
 * A failure of the store ends the transaction. What it held is known from the nodes: the next
 * commit writes the whole table anew. Until it succeeds no timer is started, and those that are due
 * are fired from memory with at-least, and wait with the others, which must not fire what cannot be
 * recorded. Where it was anything else than a full disk nothing is tried again: a failed fsync may
 * say so only once.
 *
 * `first` is a key that no timer comes before. Every search begins there: in RocksDB one from the
 * beginning would pass over all that was ever removed.
 *
 * Invariants
 *   - timer id is pending if and only if its node's due is not IDLE; `count` is how many are
 *   - TAKEN are those in the batch under way, and those in an outbox that was recovered
 *   - the others have one record each in the store, of that due tick and generation; with
 *     layout=list there may be more, which are then flagged or belong to no node
 *   - no record of theirs comes before `first`; it is the first record's if `first_is_exact`
 *
 * Complexity: start, stop, expire O(log n) of the store's; a tick that fires nothing O(1). With
 * layout=list start O(log n), a stop leaves its record, and expire walks the list.
 * Bad at: everything but outliving the process; 10 to 1000 times what a wheel in memory takes.
 */
#include "kv.h"

#include "check.h"
#include "store.h"
#include "walk.h"

#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The reference design's: one-second buckets, 3.17 years of them. */
#define SLOTS UINT64_C(100000000)

#define IDLE  UINT64_MAX
#define TAKEN (UINT64_MAX - 1)

enum { TAG_HEAD = 'H', TAG_META = 'M', TAG_OUTBOX = 'O', TAG_TASK = 'R', TAG_TIMER = 'T' };

/* The rows of the option table. */
enum { OPT_PATH, OPT_ENGINE, OPT_LAYOUT, OPT_DELIVERY, OPT_SYNC, OPT_BATCH, OPT_WINDOW, OPT_PARTS };
enum { ENGINE_LMDB, ENGINE_SQLITE, ENGINE_ROCKSDB };
enum { LAYOUT_ORDERED, LAYOUT_HASHED, LAYOUT_LIST };
enum { AT_LEAST, AT_MOST, OUTBOX };
enum { SYNC_GROUP, SYNC_ALWAYS, SYNC_NONE };

struct node {
    uint64_t due; /* the tick by which it is filed, IDLE or TAKEN */
    uint64_t generation;
};

/* A timer that was taken from the store. */
struct entry {
    uint64_t due;
    uint64_t generation;
    uint64_t number; /* in the outbox */
    uint32_t id;
};

struct kv_wheel {
    struct tl_counters counters;
    const struct tl_allocator *allocator;
    struct node *nodes;
    uint32_t capacity;
    uint64_t count;
    uint64_t clock;
    /* the store */
    const struct kv_engine *engine;
    struct kv_store *store;
    const char *path; /* NULL: the folder is a temporary one */
    char temporary[256];
    int folder_fd;       /* locked */
    bool is_recovered;   /* or was empty */
    enum tl_status lost; /* not TL_OK: the store is behind the nodes, and why */
    char failure[512];
    /* options */
    int64_t layout;
    int64_t delivery;
    int64_t policy;
    uint64_t window_ticks;
    uint64_t partitions;
    uint32_t batch_max;
    /* sequence numbers and what is not committed of them */
    uint64_t sequence;
    uint64_t durable_sequence;
    uint64_t uncommitted;
    uint64_t uncommitted_since; /* the clock at the first of them */
    uint64_t written_bytes;
    uint64_t syncs;
    /* where the first timer may be */
    uint64_t first_due;
    uint32_t first_id;
    bool first_is_exact;
    /* what was taken to be fired */
    struct entry *batch;
    uint32_t batch_count;
    bool is_firing;
    uint64_t outbox_number; /* the last one given */
    uint64_t outbox_left;   /* records in the outbox that no batch under way is of */
};

#define NODES_FIRST 0
#define NODE_ARRAY  struct kv_wheel
#include "node_array.h"

#define STRUCTURE struct kv_wheel
#include "structure.h"

/* --- records --------------------------------------------------------------------------------- */

/* Appends the last `bytes` bytes of a number, the highest first. */
static inline void append(uint8_t *to, size_t *used, uint64_t number, unsigned bytes)
{
    uint64_t big = htobe64(number << (64 - 8 * bytes));
    memcpy(to + *used, &big, bytes);
    *used += bytes;
}

static inline uint64_t number_at(const uint8_t *from, unsigned bytes)
{
    uint64_t big = 0;
    memcpy(&big, from, bytes);
    return be64toh(big) >> (64 - 8 * bytes);
}

static inline struct kv_record tagged(int tag)
{
    struct kv_record record;
    record.key[0] = (uint8_t)tag;
    record.key_bytes = 1;
    record.value_bytes = 0;
    return record;
}

static inline struct kv_record numbered(int tag, uint64_t number)
{
    struct kv_record record = tagged(tag);
    append(record.key, &record.key_bytes, number, 8);
    return record;
}

static inline void add(struct kv_record *record, uint64_t number, unsigned bytes)
{
    append(record->value, &record->value_bytes, number, bytes);
}

/* A record of layouts ordered and hashed. */
static inline struct kv_record keyed(const struct kv_wheel *wheel, uint64_t due, uint32_t id)
{
    struct kv_record record = tagged(TAG_TIMER);
    if (wheel->layout == LAYOUT_HASHED) {
        append(record.key, &record.key_bytes, due % SLOTS, 4);
    }
    append(record.key, &record.key_bytes, due, 8);
    append(record.key, &record.key_bytes, id, 4);
    return record;
}

/* What a timer's record says, of any layout. */
struct task {
    uint64_t due;
    uint64_t deadline; /* as it was given: earlier where it had passed by then */
    uint64_t generation;
    uint64_t next; /* layout=list: the generation of the next one; 0: none */
    uint32_t id;
    bool is_stopped;
};

static struct task task_of_keyed(const struct kv_record *record)
{
    const uint8_t *end = record->key + record->key_bytes;
    struct task task = {.due = number_at(end - 12, 8),
                        .generation = number_at(record->value, 8),
                        .id = (uint32_t)number_at(end - 4, 4)};
    task.deadline = record->value_bytes > 8 ? number_at(record->value + 8, 8) : task.due;
    return task;
}

static struct task task_of_listed(const struct kv_record *record)
{
    const uint8_t *value = record->value;
    struct task task = {.due = number_at(value + 4, 8),
                        .generation = number_at(record->key + 1, 8),
                        .next = number_at(value + 12, 8),
                        .id = (uint32_t)number_at(value, 4),
                        .is_stopped = value[20] != 0};
    task.deadline = record->value_bytes > 21 ? number_at(value + 21, 8) : task.due;
    return task;
}

static struct kv_record listed(const struct task *task)
{
    struct kv_record record = numbered(TAG_TASK, task->generation);
    add(&record, task->id, 4);
    add(&record, task->due, 8);
    add(&record, task->next, 8);
    add(&record, task->is_stopped, 1);
    if (task->deadline != task->due) {
        add(&record, task->deadline, 8);
    }
    return record;
}

static struct kv_record outbox_record(const struct entry *entry)
{
    struct kv_record record = numbered(TAG_OUTBOX, entry->number);
    add(&record, entry->id, 4);
    add(&record, entry->due, 8);
    add(&record, entry->generation, 8);
    return record;
}

static struct entry entry_of_outbox(const struct kv_record *record)
{
    return (struct entry){.number = number_at(record->key + 1, 8),
                          .id = (uint32_t)number_at(record->value, 4),
                          .due = number_at(record->value + 4, 8),
                          .generation = number_at(record->value + 12, 8)};
}

/* --- the store ------------------------------------------------------------------------------- */

static inline bool is_waiting(const struct node *node)
{
    return node->due < TAKEN;
}

/* Whether a record is that of a timer that waits in the store. */
static inline bool is_meant(const struct kv_wheel *wheel, const struct task *task)
{
    const struct node *node = &wheel->nodes[task->id];
    return node->due == task->due && node->generation == task->generation;
}

static enum tl_status put(struct kv_wheel *wheel, const struct kv_record *record)
{
    TL_COUNT(wheel, moves, 1);
    return wheel->engine->put(wheel->store, record);
}

static enum tl_status erase(struct kv_wheel *wheel, const struct kv_record *record)
{
    TL_COUNT(wheel, moves, 1);
    return wheel->engine->remove(wheel->store, record);
}

static enum tl_status seek(struct kv_wheel *wheel, const struct kv_record *from, kv_visit_fn visit,
                           void *ctx)
{
    return wheel->engine->seek(wheel->store, from, visit, ctx);
}

static enum tl_status get(struct kv_wheel *wheel, struct kv_record *record)
{
    TL_COUNT(wheel, slots, 1);
    return wheel->engine->get(wheel->store, record);
}

static const char *folder_of(const struct kv_wheel *wheel)
{
    return wheel->path != NULL ? wheel->path : wheel->temporary;
}

static void set_failure(struct kv_wheel *wheel, const char *words)
{
    (void)snprintf(wheel->failure, sizeof wheel->failure, "%s: %s", folder_of(wheel), words);
}

/* The transaction is gone. */
static void lose(struct kv_wheel *wheel, enum tl_status status)
{
    wheel->engine->abandon(wheel->store);
    wheel->lost = status;
    wheel->first_is_exact = false;
    set_failure(wheel, wheel->store->failure);
}

/* --- layout=list ----------------------------------------------------------------------------- */

static struct kv_record head_key(const struct kv_wheel *wheel, uint64_t tick, uint64_t part)
{
    return numbered(TAG_HEAD, tick % SLOTS * wheel->partitions + part);
}

/* *generation is 0 where the list is empty. */
static enum tl_status get_head(struct kv_wheel *wheel, uint64_t tick, uint64_t part,
                               uint64_t *generation)
{
    struct kv_record head = head_key(wheel, tick, part);
    enum tl_status status = get(wheel, &head);
    *generation = status == TL_OK ? number_at(head.value, 8) : 0;
    return status == TL_IDLE ? TL_OK : status;
}

static enum tl_status put_head(struct kv_wheel *wheel, uint64_t tick, uint64_t part,
                               uint64_t generation)
{
    struct kv_record head = head_key(wheel, tick, part);
    if (generation == 0) {
        return erase(wheel, &head);
    }
    add(&head, generation, 8);
    return put(wheel, &head);
}

static enum tl_status get_task(struct kv_wheel *wheel, uint64_t generation, struct task *task)
{
    struct kv_record record = numbered(TAG_TASK, generation);
    enum tl_status status = get(wheel, &record);
    if (status == TL_OK) {
        *task = task_of_listed(&record);
    }
    return status == TL_IDLE ? TL_ERR_STORE : status; /* a list ends where it should not */
}

static enum tl_status put_task(struct kv_wheel *wheel, const struct task *task)
{
    struct kv_record record = listed(task);
    return put(wheel, &record);
}

static enum tl_status list_insert(struct kv_wheel *wheel, struct task *task)
{
    uint64_t part = task->id % wheel->partitions;
    enum tl_status status = get_head(wheel, task->due, part, &task->next);
    if (status == TL_OK) {
        status = put_task(wheel, task);
    }
    return status == TL_OK ? put_head(wheel, task->due, part, task->generation) : status;
}

/* Singly linked: it stays where it is, until its list is walked. */
static enum tl_status list_remove(struct kv_wheel *wheel, uint64_t generation)
{
    struct task task;
    enum tl_status status = get_task(wheel, generation, &task);
    task.is_stopped = true;
    return status == TL_OK ? put_task(wheel, &task) : status;
}

/* A walk along the lists of one slot. */
struct list_walk {
    uint64_t tick;
    uint64_t limit; /* of generations that are taken */
    uint32_t max;   /* so many are taken */
    uint64_t until; /* it ends when that generation was removed; 0: at the end */
    bool is_over;
};

/* Hands what is due to the batch. */
static void pick(struct kv_wheel *wheel, struct list_walk *walk, const struct task *task)
{
    TL_COUNT(wheel, compares, 1);
    if (task->due == walk->tick && task->generation <= walk->limit &&
        wheel->batch_count < walk->max) {
        wheel->batch[wheel->batch_count++] =
            (struct entry){.id = task->id, .due = task->due, .generation = task->generation};
        walk->is_over = wheel->batch_count == walk->max;
    }
}

/* What stays before a gap, or the head where nothing does, goes on to `generation`. */
static enum tl_status close_gap(struct kv_wheel *wheel, const struct list_walk *walk, uint64_t part,
                                struct task *before, uint64_t generation)
{
    before->next = generation;
    return before->generation == 0 ? put_head(wheel, walk->tick, part, generation)
                                   : put_task(wheel, before);
}

/* Takes what is due, and removes what is not meant any more. `before` is the one that stays before
 * `generation`; its own generation is 0 before the list's first. */
static enum tl_status list_walk_part(struct kv_wheel *wheel, struct list_walk *walk, uint64_t part)
{
    struct task before = {.generation = 0};
    struct task task = {.generation = 0};
    bool has_gap = false; /* behind `before` */
    uint64_t generation = 0;
    enum tl_status status = get_head(wheel, walk->tick, part, &generation);
    while (status == TL_OK && generation != 0 && !walk->is_over) {
        status = get_task(wheel, generation, &task);
        if (status == TL_OK && !is_meant(wheel, &task)) {
            struct kv_record gone = numbered(TAG_TASK, generation);
            status = erase(wheel, &gone);
            has_gap = true;
            walk->is_over = generation == walk->until;
        } else if (status == TL_OK) {
            if (has_gap) {
                status = close_gap(wheel, walk, part, &before, generation);
                has_gap = false;
            }
            before = task;
            pick(wheel, walk, &task);
        }
        generation = task.next;
    }
    return status == TL_OK && has_gap ? close_gap(wheel, walk, part, &before, generation) : status;
}

static enum tl_status list_walk(struct kv_wheel *wheel, struct list_walk *walk)
{
    enum tl_status status = TL_OK;
    for (uint64_t part = 0; part < wheel->partitions && status == TL_OK && !walk->is_over; part++) {
        status = list_walk_part(wheel, walk, part);
    }
    return status;
}

/* The earliest tick in the list at that head, or the first that is `tick`; IDLE: nothing is meant.
 */
static enum tl_status list_earliest(struct kv_wheel *wheel, uint64_t generation, uint64_t tick,
                                    uint64_t *due)
{
    enum tl_status status = TL_OK;
    *due = IDLE;
    while (generation != 0 && *due != tick && status == TL_OK) {
        struct task task;
        status = get_task(wheel, generation, &task);
        if (status == TL_OK && is_meant(wheel, &task) && task.due < *due) {
            *due = task.due;
        }
        generation = status == TL_OK ? task.next : 0;
    }
    return status;
}

static bool keep_record(void *ctx, const struct kv_record *record)
{
    *(struct kv_record *)ctx = *record;
    return false;
}

/* --- all layouts ----------------------------------------------------------------------------- */

static enum tl_status insert(struct kv_wheel *wheel, struct task *task)
{
    if (wheel->layout == LAYOUT_LIST) {
        return list_insert(wheel, task);
    }
    struct kv_record record = keyed(wheel, task->due, task->id);
    add(&record, task->generation, 8);
    if (task->deadline != task->due) {
        add(&record, task->deadline, 8);
    }
    return put(wheel, &record);
}

static enum tl_status extract(struct kv_wheel *wheel, uint32_t id, const struct node *node)
{
    if (wheel->layout == LAYOUT_LIST) {
        return list_remove(wheel, node->generation);
    }
    struct kv_record record = keyed(wheel, node->due, id);
    return erase(wheel, &record);
}

/* A search for the first timer, which goes once round the wheel. */
struct search {
    struct kv_wheel *wheel;
    uint64_t turn; /* the tick of slot 0 in the turn that is searched */
    uint64_t end;  /* the slot before which it ends */
    uint64_t due;  /* the earliest so far */
    uint32_t id;
    bool is_found;
    bool has_passed_stale; /* layout=list: lists of which nothing is meant any more */
    enum tl_status status;
};

static bool visit_head(struct search *search, const struct kv_record *record)
{
    struct kv_wheel *wheel = search->wheel;
    uint64_t slot = number_at(record->key + 1, 8) / wheel->partitions;
    uint64_t due = IDLE;
    if (record->key[0] != TAG_HEAD || slot >= search->end) {
        return false;
    }
    search->status = list_earliest(wheel, number_at(record->value, 8), search->turn + slot, &due);
    search->due = due < search->due ? due : search->due;
    search->is_found = due == search->turn + slot;
    search->has_passed_stale |= due == IDLE;
    return search->status == TL_OK && !search->is_found;
}

static bool visit_for_first(void *ctx, const struct kv_record *record)
{
    struct search *search = ctx;
    struct kv_wheel *wheel = search->wheel;
    TL_COUNT(wheel, slots, 1);
    if (wheel->layout == LAYOUT_LIST) {
        return visit_head(search, record);
    }
    if (record->key[0] != TAG_TIMER) {
        return false;
    }
    struct task task = task_of_keyed(record);
    uint64_t slot = wheel->layout == LAYOUT_HASHED ? number_at(record->key + 1, 4) : 0;
    if (slot >= search->end) {
        return false;
    }
    if (task.due < search->due) {
        search->due = task.due;
        search->id = task.id;
    }
    search->is_found = wheel->layout == LAYOUT_ORDERED || task.due == search->turn + slot;
    return !search->is_found;
}

static enum tl_status search_from(struct search *search, uint64_t due, uint32_t id)
{
    struct kv_wheel *wheel = search->wheel;
    struct kv_record from =
        wheel->layout == LAYOUT_LIST ? head_key(wheel, due, 0) : keyed(wheel, due, id);
    enum tl_status status = seek(wheel, &from, visit_for_first, search);
    return status == TL_OK ? search->status : status;
}

/* Removes what is not meant any more from the slots from `from` on to that before `to`, but from no
 * more than there are. */
static enum tl_status sweep(struct kv_wheel *wheel, uint64_t from, uint64_t to)
{
    enum tl_status status = TL_OK;
    to = to - from < SLOTS ? to : from + SLOTS;
    while (status == TL_OK && from < to) {
        struct kv_record head = head_key(wheel, from, 0);
        uint64_t turn = from - from % SLOTS;
        status = seek(wheel, &head, keep_record, &head);
        uint64_t slot = head.key[0] == TAG_HEAD && head.value_bytes > 0
                            ? number_at(head.key + 1, 8) / wheel->partitions
                            : SLOTS;
        from = turn + slot;
        if (status == TL_OK && slot < SLOTS && from < to) {
            struct list_walk walk = {.tick = from};
            status = list_walk(wheel, &walk);
            from++;
        }
    }
    return status;
}

/* While the store is behind: from the nodes. */
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
    struct search search = {.wheel = wheel,
                            .turn = wheel->first_due - wheel->first_due % SLOTS,
                            .end = SLOTS,
                            .due = IDLE};
    enum tl_status status = TL_OK;
    if (wheel->lost == TL_OK) {
        status = search_from(&search, wheel->first_due, wheel->first_id);
        if (status == TL_OK && !search.is_found && wheel->layout != LAYOUT_ORDERED) {
            search.turn += SLOTS;
            search.end = wheel->first_due % SLOTS;
            status = search_from(&search, 0, 0);
        }
    }
    if (status == TL_OK && search.has_passed_stale) {
        status = sweep(wheel, wheel->first_due, search.due);
    }
    if (status != TL_OK) {
        lose(wheel, status);
    }
    if (wheel->lost != TL_OK) {
        search.due = earliest_node(wheel);
        search.id = 0;
    }
    wheel->first_due = search.due;
    wheel->first_id = search.id;
    wheel->first_is_exact = true;
    return search.due;
}

/* --- the transaction ------------------------------------------------------------------------- */

static enum tl_status put_meta(struct kv_wheel *wheel)
{
    struct kv_record meta = tagged(TAG_META);
    add(&meta, wheel->sequence, 8);
    add(&meta, wheel->capacity, 4);
    add(&meta, (uint64_t)wheel->layout, 1);
    add(&meta, wheel->partitions, 4);
    return put(wheel, &meta);
}

static bool count_outbox(void *ctx, const struct kv_record *record)
{
    *(uint64_t *)ctx += record->key[0] == TAG_OUTBOX;
    return record->key[0] == TAG_OUTBOX;
}

/* Whether what the outbox holds is still to be fired. */
static bool is_to_be_fired(const struct kv_wheel *wheel, const struct entry *entry)
{
    const struct node *node = &wheel->nodes[entry->id];
    return node->due == TAKEN && node->generation == entry->generation;
}

/* All but what the outbox holds and has not fired: what has fired may have been started again, and
 * would be there twice. */
static enum tl_status erase_all(struct kv_wheel *wheel)
{
    struct kv_record found = tagged(0);
    enum tl_status status = TL_OK;
    while (status == TL_OK) {
        struct kv_record from = found;
        found.key_bytes = 0;
        status = seek(wheel, &from, keep_record, &found);
        if (status != TL_OK || found.key_bytes == 0) {
            break;
        }
        struct entry entry = {0};
        if (found.key[0] == TAG_OUTBOX) {
            entry = entry_of_outbox(&found);
        }
        if (found.key[0] == TAG_OUTBOX && is_to_be_fired(wheel, &entry)) {
            found = numbered(TAG_OUTBOX, entry.number + 1);
        } else {
            status = erase(wheel, &found);
        }
    }
    return status;
}

/* Writes all that waits anew, after a transaction was lost. What the outbox holds is what it held
 * at the last commit, less what was fired since. */
static enum tl_status write_anew(struct kv_wheel *wheel)
{
    enum tl_status status = erase_all(wheel);
    for (uint32_t id = 0; id < wheel->capacity && status == TL_OK; id++) {
        const struct node *node = &wheel->nodes[id];
        if (is_waiting(node)) {
            struct task task = {
                .id = id, .due = node->due, .deadline = node->due, .generation = node->generation};
            status = insert(wheel, &task);
        }
    }
    struct kv_record from = numbered(TAG_OUTBOX, 0);
    wheel->outbox_left = 0;
    return status == TL_OK ? seek(wheel, &from, count_outbox, &wheel->outbox_left) : status;
}

/* What this thread has handed to files; 0 where the system does not say. */
static uint64_t thread_written_bytes(void)
{
    char text[256] = "";
    int fd = open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t bytes = read(fd, text, sizeof text - 1);
        text[bytes > 0 ? bytes : 0] = '\0';
        (void)close(fd);
    }
    const char *word = strstr(text, "wchar: ");
    return word != NULL ? strtoull(word + strlen("wchar: "), NULL, 10) : 0;
}

static enum tl_status commit(struct kv_wheel *wheel)
{
    enum tl_status status = wheel->lost;
    uint64_t before_bytes = thread_written_bytes();
    if (status == TL_ERR_DISK_FULL || status == TL_ERR_NOMEM) {
        status = write_anew(wheel);
    }
    if (status == TL_OK) {
        status = put_meta(wheel);
    }
    if (status == TL_OK) {
        status = wheel->engine->commit(wheel->store);
    }
    if (status != TL_OK) {
        if (wheel->lost != TL_ERR_STORE) {
            lose(wheel, status);
        }
        wheel->uncommitted_since = wheel->clock;
        return status;
    }
    wheel->written_bytes += thread_written_bytes() - before_bytes;
    wheel->syncs += wheel->policy != SYNC_NONE;
    wheel->lost = TL_OK;
    wheel->durable_sequence = wheel->sequence;
    wheel->uncommitted = 0;
    return TL_OK;
}

static void note_operations(struct kv_wheel *wheel, uint64_t operations)
{
    if (wheel->uncommitted == 0) {
        wheel->uncommitted_since = wheel->clock;
    }
    wheel->uncommitted += operations;
}

/* Commits if it is time to. */
static enum tl_status commit_in_time(struct kv_wheel *wheel)
{
    bool is_time = wheel->policy == SYNC_ALWAYS || wheel->uncommitted >= wheel->batch_max ||
                   wheel->clock - wheel->uncommitted_since >= wheel->window_ticks;
    bool has_work = wheel->uncommitted > 0 || wheel->lost != TL_OK;
    return has_work && is_time && !wheel->is_firing ? commit(wheel) : TL_OK;
}

/* --- start and stop -------------------------------------------------------------------------- */

struct outbox_search {
    uint64_t generation;
    struct kv_record found;
};

static bool visit_outbox(void *ctx, const struct kv_record *record)
{
    struct outbox_search *search = ctx;
    if (record->key[0] == TAG_OUTBOX && entry_of_outbox(record).generation == search->generation) {
        search->found = *record;
    }
    return record->key[0] == TAG_OUTBOX && search->found.key_bytes == 0;
}

/* Takes a timer out of the store. What is in the batch under way is removed with that; what is in
 * an outbox that was recovered, and not fired since, has its record there. */
static enum tl_status take_out(struct kv_wheel *wheel, uint32_t id)
{
    const struct node *node = &wheel->nodes[id];
    if (is_waiting(node)) {
        return extract(wheel, id, node);
    }
    if (node->due == IDLE || wheel->outbox_left == 0) {
        return TL_OK;
    }
    uint64_t of_batch = wheel->is_firing ? wheel->batch[wheel->batch_count - 1].number : 0;
    struct outbox_search search = {.generation = node->generation, .found = {.key_bytes = 0}};
    struct kv_record from = numbered(TAG_OUTBOX, 0);
    enum tl_status status = seek(wheel, &from, visit_outbox, &search);
    if (status != TL_OK || search.found.key_bytes == 0 ||
        number_at(search.found.key + 1, 8) <= of_batch) {
        return status;
    }
    wheel->outbox_left--;
    return erase(wheel, &search.found);
}

static void lower_first(struct kv_wheel *wheel, uint64_t due, uint32_t id)
{
    bool is_before = due < wheel->first_due || (due == wheel->first_due && id < wheel->first_id);
    bool is_only = wheel->count == 0 && wheel->layout != LAYOUT_LIST; /* where lists may be left */
    if (is_before || is_only) {
        wheel->first_due = due;
        wheel->first_id = id;
        wheel->first_is_exact = true;
    }
}

static enum tl_status refusal(enum tl_status status)
{
    return status == TL_ERR_DISK_FULL ? TL_ERR_DISK_FULL : TL_ERR_STORE;
}

static enum tl_status kv_start(void *self, uint32_t id, uint64_t deadline)
{
    struct kv_wheel *wheel = self;
    if (!wheel->is_recovered || wheel->lost != TL_OK) {
        return refusal(wheel->lost);
    }
    struct node before = wheel->nodes[id];
    struct task task = {.id = id,
                        .due = deadline > wheel->clock ? deadline : wheel->clock,
                        .deadline = deadline,
                        .generation = wheel->sequence + 1};
    enum tl_status status = take_out(wheel, id);
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
        wheel->lost = TL_OK; /* nothing but this, which never was */
    }
    wheel->first_is_exact = wheel->first_is_exact && status == TL_OK;
    return status == TL_OK ? TL_OK : refusal(status);
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
    (void)commit_in_time(wheel); /* it does not fire any more; whether that is durable says sync */
    return TL_OK;
}

/* --- advance --------------------------------------------------------------------------------- */

/* Where an advance is, and what it may take. */
struct taking {
    struct kv_wheel *wheel;
    uint64_t due; /* from this key on */
    uint32_t id;
    uint64_t now;
    uint64_t turn;
    uint64_t limit; /* of generations: what callbacks start has later ones */
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
    uint64_t tick =
        wheel->layout == LAYOUT_HASHED ? taking->turn + number_at(record->key + 1, 4) : task.due;
    if (tick > taking->now) {
        return false;
    }
    if (task.due != tick || task.generation > taking->limit) {
        return true; /* of a later turn, or of a later advance */
    }
    wheel->batch[wheel->batch_count++] =
        (struct entry){.id = task.id, .due = task.due, .generation = task.generation};
    taking->due = task.due;
    taking->id = task.id;
    return wheel->batch_count < taking->max;
}

/* All of one tick, in no order, until there are enough. */
static void take_from_nodes(const struct taking *taking)
{
    struct kv_wheel *wheel = taking->wheel;
    for (uint32_t id = 0; id < wheel->capacity && wheel->batch_count < taking->max; id++) {
        const struct node *node = &wheel->nodes[id];
        if (node->due == taking->due && node->generation <= taking->limit) {
            wheel->batch[wheel->batch_count++] =
                (struct entry){.id = id, .due = node->due, .generation = node->generation};
        }
    }
}

/* Fills the batch with what is due. */
static enum tl_status take(struct taking *taking)
{
    struct kv_wheel *wheel = taking->wheel;
    enum tl_status status = TL_OK;
    wheel->batch_count = 0;
    if (wheel->lost != TL_OK) {
        take_from_nodes(taking);
    } else if (wheel->layout == LAYOUT_LIST) {
        struct list_walk walk = {.tick = taking->due, .limit = taking->limit, .max = taking->max};
        status = list_walk(wheel, &walk);
    } else {
        taking->turn = taking->due - taking->due % SLOTS;
        struct kv_record from = keyed(wheel, taking->due, taking->id);
        status = seek(wheel, &from, visit_to_take, taking);
    }
    for (uint32_t i = 0; i < wheel->batch_count; i++) {
        wheel->nodes[wheel->batch[i].id].due = TAKEN;
    }
    wheel->first_is_exact = wheel->first_is_exact && wheel->batch_count == 0;
    return status;
}

/* Removes the batch from the store, but for a record that a callback has written over. */
static enum tl_status drop(struct kv_wheel *wheel)
{
    enum tl_status status = TL_OK;
    if (wheel->layout == LAYOUT_LIST) {
        const struct entry *last = &wheel->batch[wheel->batch_count - 1];
        struct list_walk walk = {.tick = last->due, .until = last->generation};
        return list_walk(wheel, &walk);
    }
    for (uint32_t i = 0; i < wheel->batch_count && status == TL_OK; i++) {
        const struct entry *entry = &wheel->batch[i];
        if (wheel->nodes[entry->id].due != entry->due) {
            struct kv_record record = keyed(wheel, entry->due, entry->id);
            status = erase(wheel, &record);
        }
    }
    return status;
}

static enum tl_status put_outbox(struct kv_wheel *wheel)
{
    enum tl_status status = TL_OK;
    for (uint32_t i = 0; i < wheel->batch_count && status == TL_OK; i++) {
        wheel->batch[i].number = ++wheel->outbox_number;
        struct kv_record record = outbox_record(&wheel->batch[i]);
        status = put(wheel, &record);
    }
    return status;
}

static enum tl_status drop_outbox(struct kv_wheel *wheel)
{
    enum tl_status status = TL_OK;
    for (uint32_t i = 0; i < wheel->batch_count && status == TL_OK; i++) {
        struct kv_record record = numbered(TAG_OUTBOX, wheel->batch[i].number);
        status = erase(wheel, &record);
    }
    return status;
}

/* Before the callbacks: what at-most and outbox must have on record by then. */
static enum tl_status record_before(struct kv_wheel *wheel)
{
    if (wheel->delivery == AT_LEAST) {
        return TL_OK;
    }
    enum tl_status status = wheel->lost;
    if (status == TL_OK) {
        status = drop(wheel);
    }
    if (status == TL_OK && wheel->delivery == OUTBOX) {
        status = put_outbox(wheel);
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
        const struct entry *entry = &wheel->batch[i];
        struct node *node = &wheel->nodes[entry->id];
        if (node->due == TAKEN && node->generation == entry->generation) {
            node->due = IDLE;
            wheel->count--;
            wheel->sequence++;
            fired++;
            fire(ctx, entry->id, now);
        }
    }
    wheel->is_firing = false;
    note_operations(wheel, fired);
    return fired;
}

/* After the callbacks. */
static void record_after(struct kv_wheel *wheel, bool is_outbox)
{
    enum tl_status status = TL_OK;
    if (wheel->lost == TL_OK) {
        status = is_outbox ? drop_outbox(wheel) : wheel->delivery == AT_LEAST ? drop(wheel) : TL_OK;
    }
    if (status != TL_OK) {
        lose(wheel, status);
    }
    wheel->batch_count = 0;
    (void)commit_in_time(wheel);
}

static bool visit_outbox_to_take(void *ctx, const struct kv_record *record)
{
    struct taking *taking = ctx;
    struct kv_wheel *wheel = taking->wheel;
    if (record->key[0] != TAG_OUTBOX || wheel->batch_count == taking->max) {
        return false;
    }
    wheel->batch[wheel->batch_count++] = entry_of_outbox(record);
    return true;
}

static uint32_t batch_room(const struct kv_wheel *wheel, uint64_t budget, uint64_t fired)
{
    return budget - fired < wheel->batch_max ? (uint32_t)(budget - fired) : wheel->batch_max;
}

/* What a crash left in the outbox comes before all else. */
static uint64_t empty_outbox(struct kv_wheel *wheel, uint64_t now, uint64_t budget, tl_fire_fn fire,
                             void *ctx)
{
    uint64_t fired = 0;
    while (wheel->outbox_left > 0 && fired < budget && wheel->lost == TL_OK) {
        struct taking taking = {.wheel = wheel, .max = batch_room(wheel, budget, fired)};
        struct kv_record from = numbered(TAG_OUTBOX, 0);
        wheel->batch_count = 0;
        enum tl_status status = seek(wheel, &from, visit_outbox_to_take, &taking);
        if (status != TL_OK) {
            lose(wheel, status);
            break;
        }
        wheel->outbox_left -= wheel->batch_count;
        fired += fire_batch(wheel, now, fire, ctx);
        record_after(wheel, true);
    }
    return fired;
}

/* Takes a batch and fires it. Returns how many fired: 0 only if nothing is due from there on in
 * this turn, or the store has failed. */
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
    record_after(wheel, wheel->delivery == OUTBOX);
    return fired;
}

static uint64_t kv_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct kv_wheel *wheel = self;
    wheel->clock = now;
    (void)commit_in_time(wheel);
    struct taking taking = {.wheel = wheel, .now = now, .limit = wheel->sequence};
    uint64_t fired = empty_outbox(wheel, now, budget, fire, ctx);
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
    struct kv_wheel *wheel = (struct kv_wheel *)self; /* it notes what it has found */
    return wheel->outbox_left > 0 ? wheel->clock : find_first(wheel);
}

/* --- what outlives the process --------------------------------------------------------------- */

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
        .bytes_durable = wheel->engine->bytes(wheel->store),
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

static bool adopt_task(struct recovery *recovery, const struct task *task, uint64_t due)
{
    struct kv_wheel *wheel = recovery->wheel;
    if (task->id >= wheel->capacity || wheel->nodes[task->id].due != IDLE ||
        task->generation > wheel->sequence || task->due > TL_DEADLINE_MAX) {
        recovery->status = TL_ERR_STORE;
        set_failure(wheel, "a timer is there twice, or is not of this table");
        return false;
    }
    wheel->nodes[task->id] = (struct node){due, task->generation};
    wheel->count++;
    recovery->adopt(recovery->ctx, task->id, task->deadline, task->generation);
    return true;
}

static bool visit_to_adopt(void *ctx, const struct kv_record *record)
{
    struct recovery *recovery = ctx;
    struct kv_wheel *wheel = recovery->wheel;
    struct task task;
    switch (record->key[0]) {
    case TAG_TIMER:
        task = task_of_keyed(record);
        return adopt_task(recovery, &task, task.due);
    case TAG_TASK:
        task = task_of_listed(record);
        return task.is_stopped || adopt_task(recovery, &task, task.due);
    case TAG_OUTBOX: {
        struct entry entry = entry_of_outbox(record);
        task = (struct task){.id = entry.id,
                             .due = entry.due,
                             .deadline = entry.due,
                             .generation = entry.generation};
        wheel->outbox_number = entry.number;
        wheel->outbox_left++;
        return adopt_task(recovery, &task, TAKEN);
    }
    default:
        return true;
    }
}

static enum tl_status kv_reserve(void *self, uint32_t capacity);

static enum tl_status kv_recover(void *self, tl_adopt_fn adopt, void *ctx)
{
    struct kv_wheel *wheel = self;
    struct kv_record meta = tagged(TAG_META);
    enum tl_status status = get(wheel, &meta);
    if (status == TL_IDLE) {
        return TL_OK; /* a new store */
    }
    if (status == TL_OK) {
        status = kv_reserve(wheel, (uint32_t)number_at(meta.value + 8, 4));
    }
    struct recovery recovery = {.wheel = wheel, .adopt = adopt, .ctx = ctx};
    struct kv_record from = tagged(0);
    if (status == TL_OK) {
        status = seek(wheel, &from, visit_to_adopt, &recovery);
    }
    status = status == TL_OK ? recovery.status : status;
    if (status == TL_ERR_STORE && wheel->failure[0] == '\0') {
        set_failure(wheel, wheel->store->failure);
    }
    wheel->is_recovered = status == TL_OK;
    return status;
}

/* --- life ------------------------------------------------------------------------------------ */

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
        if (wheel->path != NULL && wheel->is_recovered && wheel->uncommitted > 0) {
            (void)commit(wheel);
        }
        wheel->engine->close(wheel->store);
    }
    if (wheel->temporary[0] != '\0') {
        remove_temporary(wheel);
    }
    if (wheel->folder_fd >= 0) {
        (void)close(wheel->folder_fd);
    }
    tl_free(wheel->allocator, wheel->batch, wheel->batch_max * sizeof *wheel->batch,
            alignof(struct entry));
    nodes_free(wheel);
    structure_free(wheel, wheel->allocator);
}

/* Makes the folder if it is not there, and locks it. */
static enum tl_status open_folder(struct kv_wheel *wheel)
{
    if (wheel->path == NULL) {
        int length = snprintf(wheel->temporary, sizeof wheel->temporary, "%s/timerlab-kv-XXXXXX",
                              store_temporary_place());
        if (length >= (int)sizeof wheel->temporary || mkdtemp(wheel->temporary) == NULL) {
            wheel->temporary[0] = '\0';
            return TL_ERR_STORE;
        }
    } else if (mkdir(wheel->path, 0700) == 0 && !store_sync_parent(wheel->path)) {
        return TL_ERR_STORE;
    }
    wheel->folder_fd = open(folder_of(wheel), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_ours = wheel->folder_fd >= 0 && flock(wheel->folder_fd, LOCK_EX | LOCK_NB) == 0;
    return is_ours ? TL_OK : TL_ERR_STORE;
}

static enum tl_status open_store(struct kv_wheel *wheel)
{
    enum tl_status status = open_folder(wheel);
    if (status == TL_OK) {
        status = wheel->engine->open(folder_of(wheel), wheel->policy != SYNC_NONE,
                                     wheel->path == NULL, &wheel->store);
    }
    if (status == TL_OK && wheel->path != NULL && fsync(wheel->folder_fd) != 0) {
        status = TL_ERR_STORE;
    }
    if (status != TL_OK) {
        return status;
    }
    struct kv_record meta = tagged(TAG_META);
    status = get(wheel, &meta);
    if (status == TL_IDLE) {
        wheel->is_recovered = true;
        return TL_OK;
    }
    if (status == TL_OK && (number_at(meta.value + 12, 1) != (uint64_t)wheel->layout ||
                            number_at(meta.value + 13, 4) != wheel->partitions)) {
        return TL_ERR_OPTION; /* what is there was laid out otherwise */
    }
    wheel->sequence = number_at(meta.value, 8);
    wheel->durable_sequence = wheel->sequence;
    return status;
}

static enum tl_status kv_create(const struct tl_config *config, void **self)
{
    static const struct kv_engine *const engines[] = {[ENGINE_LMDB] = &tl_kv_lmdb,
                                                      [ENGINE_SQLITE] = &tl_kv_sqlite,
                                                      [ENGINE_ROCKSDB] = &tl_kv_rocksdb};
    const int64_t *options = config->options;
    struct kv_wheel empty = {
        .allocator = config->allocator,
        .clock = config->now,
        .engine = engines[options[OPT_ENGINE]],
        .path = tl_option_text(options[OPT_PATH]),
        .folder_fd = -1,
        .layout = options[OPT_LAYOUT],
        .delivery = options[OPT_DELIVERY],
        .policy = options[OPT_SYNC],
        .window_ticks = (uint64_t)options[OPT_WINDOW],
        .partitions = (uint64_t)options[OPT_PARTS],
        .batch_max = (uint32_t)options[OPT_BATCH],
    };
    void *made = NULL;
    enum tl_status status = structure_create(config, &empty, kv_reserve, &made);
    if (status != TL_OK) {
        return status;
    }
    struct kv_wheel *wheel = made;
    wheel->batch =
        tl_alloc(wheel->allocator, wheel->batch_max * sizeof *wheel->batch, alignof(struct entry));
    status = wheel->batch != NULL ? open_store(wheel) : TL_ERR_NOMEM;
    if (status != TL_OK) {
        kv_destroy(wheel);
        return status;
    }
    *self = wheel;
    return TL_OK;
}

/* --- check ----------------------------------------------------------------------------------- */

struct audit {
    struct kv_wheel *wheel;
    uint64_t met;     /* timers that wait, by their records */
    uint64_t chained; /* layout=list: records that lists lead to */
    uint64_t tasks;   /* layout=list: records that there are */
    uint64_t outbox;
    const char *wrong; /* NULL: nothing */
};

static bool audit_task(struct audit *audit, const struct task *task)
{
    struct kv_wheel *wheel = audit->wheel;
    bool is_known = task->id < wheel->capacity && is_meant(wheel, task);
    bool is_stale = wheel->layout == LAYOUT_LIST;
    audit->met += is_known;
    audit->wrong = !is_known && !is_stale         ? "a record is no timer's"
                   : task->due < wheel->first_due ? "a record comes before the first"
                                                  : NULL;
    return audit->wrong == NULL;
}

static void audit_list(struct audit *audit, const struct kv_record *head)
{
    struct kv_wheel *wheel = audit->wheel;
    uint64_t key = number_at(head->key + 1, 8);
    for (uint64_t generation = number_at(head->value, 8); generation != 0;) {
        struct kv_record record = numbered(TAG_TASK, generation);
        if (wheel->engine->get(wheel->store, &record) != TL_OK) {
            audit->wrong = "a list leads to no record";
            return;
        }
        struct task task = task_of_listed(&record);
        if (task.due % SLOTS != key / wheel->partitions ||
            task.id % wheel->partitions != key % wheel->partitions) {
            audit->wrong = "a record is in another's list";
        }
        audit->chained++;
        generation = task.next;
    }
}

static bool visit_to_audit(void *ctx, const struct kv_record *record)
{
    struct audit *audit = ctx;
    struct task task;
    switch (record->key[0]) {
    case TAG_HEAD:
        audit_list(audit, record);
        return audit->wrong == NULL;
    case TAG_OUTBOX:
        audit->outbox++;
        return true;
    case TAG_TASK:
        audit->tasks++;
        task = task_of_listed(record);
        return audit_task(audit, &task);
    case TAG_TIMER:
        task = task_of_keyed(record);
        return audit_task(audit, &task);
    default:
        return true;
    }
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
    if (wheel->engine->seek(wheel->store, &from, visit_to_audit, &audit) != TL_OK) {
        audit.wrong = wheel->store->failure;
    }
    if (audit.wrong == NULL && audit.chained != audit.tasks) {
        audit.wrong = "a record is in no list";
    }
    if (audit.wrong == NULL && (audit.met != waiting || audit.outbox != wheel->outbox_left)) {
        audit.wrong = "a timer has no record";
    }
    return audit.wrong == NULL ? TL_OK : corrupt(why, why_bytes, "%s", audit.wrong);
}

/* --- walk ------------------------------------------------------------------------------------ */

/* What is shown, record by record, in the order of the keys: a part for each list, in the order of
 * its links; else one for the table; and one for the outbox. */
struct showing {
    struct kv_wheel *wheel;
    const struct tl_visitor *visitor;
    int tag;        /* of the part under way; 0: there is none yet */
    uint64_t cells; /* of the part */
};

static void show_record(struct showing *showing, uint32_t id, uint64_t deadline, bool is_pending)
{
    walk_node(showing->visitor, showing->cells++, TL_NEVER);
    if (is_pending) {
        walk_timer(showing->visitor, id, deadline, 0);
    } else {
        walk_stale(showing->visitor, id, deadline);
    }
}

static void show_part(struct showing *showing, const char *name, int tag)
{
    if (tag != showing->tag) {
        walk_part(showing->visitor, name, TL_FORM_LIST, 0);
        showing->cells = 0;
        showing->tag = tag;
    }
}

static void show_task(struct showing *showing, const struct task *task)
{
    show_record(showing, task->id, task->deadline, is_meant(showing->wheel, task));
}

static void show_list(struct showing *showing, const struct kv_record *head)
{
    const struct kv_wheel *wheel = showing->wheel;
    uint64_t key = number_at(head->key + 1, 8);
    uint64_t generation = number_at(head->value, 8);
    char name[64];
    (void)snprintf(name, sizeof name, "slot %" PRIu64 ", list %" PRIu64, key / wheel->partitions,
                   key % wheel->partitions);
    showing->tag = 0; /* each list is a part */
    show_part(showing, name, TAG_HEAD);
    while (generation != 0) {
        struct kv_record record = numbered(TAG_TASK, generation);
        if (wheel->engine->get(wheel->store, &record) != TL_OK) {
            return;
        }
        struct task task = task_of_listed(&record);
        show_task(showing, &task);
        generation = task.next;
    }
}

static bool visit_to_show(void *ctx, const struct kv_record *record)
{
    struct showing *showing = ctx;
    if (record->key[0] == TAG_HEAD) {
        show_list(showing, record);
    } else if (record->key[0] == TAG_OUTBOX) {
        struct entry entry = entry_of_outbox(record);
        show_part(showing, "outbox", TAG_OUTBOX);
        show_record(showing, entry.id, entry.due, is_to_be_fired(showing->wheel, &entry));
    } else if (record->key[0] == TAG_TIMER) {
        struct task task = task_of_keyed(record);
        show_part(showing, "table", TAG_TIMER);
        show_task(showing, &task);
    }
    return true;
}

/* While the store is behind, what memory knows: no deadline but the key's. */
static void show_nodes(struct showing *showing)
{
    const struct kv_wheel *wheel = showing->wheel;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = &wheel->nodes[id];
        if (node->due != IDLE) {
            show_part(showing, "in memory alone", TAG_META);
            show_record(showing, id, is_waiting(node) ? node->due : TL_NEVER, true);
        }
    }
}

static void kv_walk(const void *self, const struct tl_visitor *visitor)
{
    struct kv_wheel *wheel = (struct kv_wheel *)self; /* reading begins a transaction */
    struct showing showing = {.wheel = wheel, .visitor = visitor};
    struct kv_record from = tagged(0);
    if (wheel->lost != TL_OK) {
        show_nodes(&showing);
    } else if (wheel->is_recovered) {
        (void)wheel->engine->seek(wheel->store, &from, visit_to_show, &showing);
    }
}

/* --- descriptor ------------------------------------------------------------------------------ */

#define LACKS(package) " (not in this build, which lacked " package ")"
#ifdef TL_HAVE_LMDB
#define LMDB_NOTE
#else
#define LMDB_NOTE LACKS("liblmdb-dev")
#endif
#ifdef TL_HAVE_SQLITE
#define SQLITE_NOTE
#else
#define SQLITE_NOTE LACKS("libsqlite3-dev")
#endif
#ifdef TL_HAVE_ROCKSDB
#define ROCKSDB_NOTE
#else
#define ROCKSDB_NOTE LACKS("librocksdb-dev")
#endif

static const struct tl_choice engine_words[] = {
    {"lmdb", ENGINE_LMDB, "LMDB: a B+tree in a memory map; no thread, no log" LMDB_NOTE},
    {"sqlite", ENGINE_SQLITE, "SQLite: a B-tree with a write-ahead log" SQLITE_NOTE},
    {"rocksdb", ENGINE_ROCKSDB,
     "RocksDB: a log-structured merge tree; starts threads" ROCKSDB_NOTE},
    {NULL, 0, NULL}};

static const struct tl_choice layout_words[] = {
    {"ordered", LAYOUT_ORDERED, "by due tick"},
    {"hashed", LAYOUT_HASHED, "by slot, due tick mod 10^8, and then by due tick"},
    {"list", LAYOUT_LIST, "for each slot the heads of singly linked lists of records"},
    {NULL, 0, NULL}};

static const struct tl_choice delivery_words[] = {
    {"at-least", AT_LEAST, "fired, then removed: after a crash perhaps again"},
    {"at-most", AT_MOST, "removed, then fired: after a crash perhaps never"},
    {"outbox", OUTBOX, "moved to an outbox, fired, removed: perhaps again, in the same order"},
    {NULL, 0, NULL}};

static const struct tl_choice sync_words[] = {
    {"group", SYNC_GROUP, "commits together what comes together, and waits for the disk"},
    {"always", SYNC_ALWAYS, "the same before each start, stop and advance returns"},
    {"none", SYNC_NONE, "as group, but never waits: a loss of power may take the whole file"},
    {NULL, 0, NULL}};

static const struct tl_option kv_options[] = {
    [OPT_PATH] = {.name = "path",
                  .min = 1,
                  .help = "the folder that holds the store; without it a temporary one"},
    [OPT_ENGINE] = {.name = "engine",
                    .min = 1,
                    .choices = engine_words,
                    .help = "the library that keeps keys and values"},
    [OPT_LAYOUT] = {.name = "layout",
                    .min = 1,
                    .choices = layout_words,
                    .help = "what the keys are"},
    [OPT_DELIVERY] = {.name = "delivery",
                      .default_value = AT_LEAST,
                      .min = 1,
                      .choices = delivery_words,
                      .help = "what a crash does to what is being fired"},
    [OPT_SYNC] = {.name = "sync",
                  .min = 1,
                  .choices = sync_words,
                  .help = "when what is done is durable"},
    [OPT_BATCH] = {.name = "batch",
                   .default_value = 500,
                   .min = 1,
                   .max = 100000,
                   .help = "operations in a commit, and timers taken to be fired, at most"},
    [OPT_WINDOW] = {.name = "window",
                    .default_value = 10,
                    .min = 0,
                    .max = INT64_MAX,
                    .help = "ticks after which an advance commits what is not"},
    [OPT_PARTS] = {.name = "partitions",
                   .default_value = 8,
                   .min = 1,
                   .max = 1024,
                   .help = "layout=list: lists a slot"},
    {NULL, 0, 0, 0, NULL, NULL}};

TL_ALGO(kv_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES | TL_CAP_BASELINE |
                    TL_CAP_OWN_MEMORY | TL_CAP_DURABLE,
    .name = "kv-wheel",
    .summary = "a hashed wheel kept in a store of keys and values, which outlives the process",
    .origin = "a hashed wheel kept in a table",
    .description =
        "A start is a put, a stop a removal, and what is due is read from the table's first key "
        "on, "
        "a batch at a time; memory holds 16 bytes a timer, the key of each. "
        "engine= is LMDB, SQLite or RocksDB, each needed when timerlab is built, and loaded when "
        "it is asked for; RocksDB starts threads of its own. layout=ordered has the due tick in "
        "front of the key; layout=hashed 10^8 slots before it, which shows that hashing buys "
        "nothing in a table that is in order; layout=list the lists of the reference design, in "
        "partitions, in which a stop leaves its record until its slot is due. delivery= says what "
        "a crash does to what is being fired, sync= what a crash or a loss of power leaves. What "
        "was not committed is not acknowledged. When the disk is full starts are refused, stops "
        "are not, and what is due fires from memory with delivery=at-least and waits with the "
        "others. Its memory is not all counted: a map, a cache. Bad at: speed.",
    .differs =
        "what is due in the very tick fires in it, where `start_time < now` waits for the next; "
        "the clock is the caller's and is not a record that schedulers race for, so no crash lies "
        "between moving it and fetching what is due; what is started for a slot that was fetched "
        "already fires in the next advance; a timer leaves the table in the transaction that "
        "delivery= names, not when it is fetched; no second pass for missed timers, which repeats "
        "what only waits. One process has the table; no executors, no queue, no retries. The "
        "design as "
        "published loses what was fetched and not called when a node ends (as delivery=at-most "
        "does, "
        "which says so), is late with what is due in the very second or is filed behind it, and "
        "calls twice what is queued for longer than its scan's delay: docs/kv-wheel.md has the "
        "command for each.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = kv_options,
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
    .walk = kv_walk,
    .sync = kv_sync,
    .recover = kv_recover,
    .durability = kv_durability,
};
