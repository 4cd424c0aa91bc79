/*
 * kv_table.h: the records of kv-wheel's store, and access to them.
 *
 *   T due id           -> generation
 *   C id generation    -> service's name, 00, payload
 *   M                  -> sequence, capacity
 *
 * A timer's value ends with its deadline if that had passed at its start.
 *
 * Internal to kv_wheel.c.
 */
#ifndef ALGOS_KV_TABLE_H
#define ALGOS_KV_TABLE_H

#include "kv.h"
#include "store.h"

#include <endian.h>
#include <sys/types.h>

/* The reference design's: one-second buckets, 3.17 years of them. */
#define SLOTS    UINT64_C(100000000)

/* In a generation: the timer has a call. */
#define HAS_CALL (UINT64_C(1) << 63)

#define IDLE     UINT64_MAX
#define TAKEN    (UINT64_MAX - 1)

enum { TAG_CALL = 'C', TAG_META = 'M', TAG_TIMER = 'T' };

struct node {
    uint64_t due; /* the tick by which it is filed, IDLE or TAKEN */
    uint64_t generation;
};

/* A timer's record. */
struct task {
    uint64_t due;
    uint64_t deadline; /* as it was given: earlier where it had passed by then */
    uint64_t generation;
    uint32_t id;
};

/* A call that is not committed, to write it again if the transaction is lost. */
struct kept_call {
    struct kept_call *next;
    uint64_t generation;
    size_t bytes;
    uint32_t id;
    unsigned char data[];
};

struct kv_wheel {
    struct tl_counters counters;
    const struct tl_allocator *allocator;
    struct node *nodes;
    uint32_t capacity;
    uint64_t count;
    uint64_t clock;
    /* the store */
    struct kv_store *store;
    char temporary[256];
    struct store folder;
    bool is_recovered;   /* or was empty */
    enum tl_status lost; /* not TL_OK: the store lacks changes of the nodes; the reason */
    char failure[512];
    int io_fd; /* /proc/thread-self/io of io_thread */
    /* options */
    uint32_t delivery;
    uint32_t policy;
    uint64_t window_ticks;
    uint64_t retry_ticks;
    uint32_t batch_max;
    pid_t io_thread;
    /* sequence numbers, and uncommitted operations */
    uint64_t sequence;
    uint64_t durable_sequence;
    uint64_t uncommitted;
    uint64_t uncommitted_since; /* the clock at the first of them */
    uint64_t tried_at;          /* the clock at the last commit that failed */
    struct kept_call *kept;     /* calls of the operations that are not committed */
    uint64_t written_bytes;
    uint64_t syncs;
    /* where the first timer may be */
    uint64_t first_due;
    uint32_t first_id;
    bool first_is_exact;
    /* timers taken to be fired */
    struct task *batch;
    uint32_t batch_count;
    bool is_firing;
};

#define NODES_FIRST 0
#define STRUCTURE   struct kv_wheel
#include "node_array.h"

/* --- records --------------------------------------------------------------------------------- */

/* Append the last `bytes` bytes of a number, the highest first. */
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

static inline void add(struct kv_record *record, uint64_t number, unsigned bytes)
{
    append(record->value, &record->value_bytes, number, bytes);
}

/* A timer's record. */
static inline struct kv_record keyed(uint64_t due, uint32_t id)
{
    struct kv_record record = tagged(TAG_TIMER);
    append(record.key, &record.key_bytes, due, 8);
    append(record.key, &record.key_bytes, id, 4);
    return record;
}

static inline struct kv_record call_key(uint32_t id, uint64_t generation)
{
    struct kv_record record = tagged(TAG_CALL);
    append(record.key, &record.key_bytes, id, 4);
    append(record.key, &record.key_bytes, generation, 8);
    return record;
}

/* Append the deadline, unless it is the due tick. */
static void add_deadline(struct kv_record *record, const struct task *task)
{
    if (task->deadline != task->due) {
        add(record, task->deadline, 8);
    }
}

static uint64_t deadline_after(const struct kv_record *record, size_t bytes, uint64_t due)
{
    return record->value_bytes > bytes ? number_at(record->value + bytes, 8) : due;
}

static struct task task_of_keyed(const struct kv_record *record)
{
    const uint8_t *end = record->key + record->key_bytes;
    struct task task = {.due = number_at(end - 12, 8),
                        .generation = number_at(record->value, 8),
                        .id = (uint32_t)number_at(end - 4, 4)};
    task.deadline = deadline_after(record, 8, task.due);
    return task;
}

/* The record of a waiting timer from memory: its deadline is the due tick. */
static struct task task_of_node(const struct kv_wheel *wheel, uint32_t id)
{
    const struct node *node = &wheel->nodes[id];
    return (struct task){
        .id = id, .due = node->due, .deadline = node->due, .generation = node->generation};
}

/* --- the store ------------------------------------------------------------------------------- */

static inline bool is_waiting(const struct node *node)
{
    return node->due < TAKEN;
}

/* Whether a record is up to date. */
static inline bool is_meant(const struct kv_wheel *wheel, const struct task *task)
{
    const struct node *node = &wheel->nodes[task->id];
    return node->due == task->due && node->generation == task->generation;
}

/* Whether a timer of the batch is still to be fired. */
static bool is_to_be_fired(const struct kv_wheel *wheel, const struct task *task)
{
    const struct node *node = &wheel->nodes[task->id];
    return node->due == TAKEN && node->generation == task->generation;
}

static enum tl_status put(struct kv_wheel *wheel, const struct kv_record *record)
{
    TL_COUNT(wheel, moves, 1);
    return kv_put(wheel->store, record, record->value, record->value_bytes);
}

static enum tl_status erase(struct kv_wheel *wheel, const struct kv_record *record)
{
    TL_COUNT(wheel, moves, 1);
    return kv_remove(wheel->store, record);
}

static enum tl_status get(struct kv_wheel *wheel, struct kv_record *record)
{
    const void *value = NULL;
    TL_COUNT(wheel, slots, 1);
    enum tl_status status = kv_get(wheel->store, record, &value, &record->value_bytes);
    if (status == TL_OK && record->value_bytes > KV_VALUE_BYTES) {
        return TL_ERR_STORE;
    }
    if (status == TL_OK) {
        memcpy(record->value, value, record->value_bytes);
    }
    return status;
}

static const char *folder_of(const struct kv_wheel *wheel)
{
    return wheel->folder.path[0] != '\0' ? wheel->folder.path : wheel->temporary;
}

static void set_failure(struct kv_wheel *wheel, const char *words)
{
    (void)snprintf(wheel->failure, sizeof wheel->failure, "%.300s: %s", folder_of(wheel), words);
}

/* Note that the transaction is lost. */
static void lose(struct kv_wheel *wheel, enum tl_status status)
{
    kv_abandon(wheel->store);
    wheel->lost = status;
    wheel->first_is_exact = false;
    set_failure(wheel, kv_failure(wheel->store));
}

#endif
