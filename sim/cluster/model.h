/* model.h: the inside of the model, shared by the files that each see to one part of it. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "random.h"
#include "registry.h"
#include "simulate_cluster.h"

#include <stdlib.h>

/* The state of a timer in the table. FREE: the place is unused. */
enum record { FREE, PLANNED, PENDING, DUE, OWNED, READY, FLIGHT, GONE };

/* The purpose of a timer's event. */
enum due_for { FOR_NOTHING, FOR_COMMIT, FOR_STOP, FOR_DUE, FOR_RETRY, FOR_LEASE };

/* A pending timer. Small, because there may be 10^8: with the structure's bytes (16, mostly) two
 * fit in a cache line. */
struct cluster_timer {
    uint64_t deadline_us; /* of a place that is FREE: the next such place */
    uint32_t serial : 24; /* grows when the place is another timer's */
    uint32_t token : 8;   /* of its lease */
    uint8_t copies;       /* in queue and hands, and such as wait for a retry */
    uint8_t attempts;     /* calls that failed */
    uint16_t record : 3;  /* enum record */
    uint16_t event : 3;   /* enum due_for */
    uint16_t path : 2;    /* enum cluster_path: the last in their order that it has come by */
    uint16_t cause : 3;   /* enum cluster_cause: of its last fault */
    uint16_t called : 1;  /* carried out */
    uint16_t stopped : 1;
    uint16_t dead : 1;
    uint16_t overdue : 1; /* counted as such */
};
_Static_assert(sizeof(struct cluster_timer) == 16 && CLUSTER_CAUSES <= 8 && CLUSTER_PATHS <= 4,
               "a timer is 16 bytes");

/* A timer, as the table's lists have it: its place may have become another's. */
struct timer_entry {
    uint32_t timer;
    uint32_t serial;
};

/* A timer in the queue or in hands, which keeps its place meanwhile. */
struct timer_copy {
    uint32_t timer;
    uint8_t path;  /* enum cluster_path */
    uint8_t cause; /* of a call that is not the first */
    uint8_t token;
    bool heard; /* carried out, unless a reply was lost */
    uint64_t at_us;
};

/* A queue that grows as it must; its items are of one size. */
struct cluster_ring {
    void *items;
    size_t first;
    size_t count;
    size_t room; /* a power of two */
};

struct cluster_node {
    bool up;
    uint64_t cut_until_us;   /* does not reach the store */
    uint64_t pause_until_us; /* stands still */
    int64_t offset_us;       /* of its clock */
};

struct scheduler {
    uint8_t step;
    uint8_t part;    /* of the due timers, which it is about to claim */
    uint64_t second; /* the second that it fetches */
    uint64_t next_poll_us;
    struct cluster_ring held; /* copies */
    bool full;                /* the last look left something */
    uint64_t version;         /* of the claims that it has seen */
};

struct executor_slot {
    struct timer_copy copy;
    uint32_t host;
    uint8_t step;
    bool busy;
    bool failed;
    bool later; /* the service has asked for that */
};

/* Events in addition to the timers' own; each kind has a range of ids. */
enum range {
    EVENT_ARRIVAL,
    EVENT_REAP,
    EVENT_SCAN,
    EVENT_OUTAGE,
    EVENT_HALT,
    EVENT_SLOW,
    EVENT_POLL,  /* one a scheduler: to look, or the end of a step */
    EVENT_SLOT,  /* one a slot */
    EVENT_CRASH, /* one a node, and so on */
    EVENT_PAUSE,
    EVENT_CUT,
    EVENT_STEP,
    RANGES
};

#define NO_PLACE UINT32_MAX

/* Partitions of the due timers, where schedulers claim one at a time; else there is one. */
enum { DUE_PARTS = 8 };

struct cluster {
    const struct cluster_request *request;
    const struct cluster_protocol *protocol;
    uint32_t steps; /* that it does, as bits */
    const double *p;
    struct cluster_outcome *outcome;
    struct error *error;
    bool failed;

    /* Events. */
    const struct tl_algo *algo;
    void *events;
    struct tl_memory memory; /* of the structure, the timers and the queues */
    uint64_t now_us;
    uint32_t range[RANGES + 1]; /* where each begins; after the last, the timers */
    uint32_t *fired;
    size_t fired_count;
    size_t fired_room;

    /* Timers, each in a record, next to the structure's bytes if it can embed them. Records of the
     * other events come first. */
    struct tl_records records;
    size_t records_bytes;
    char *timers;         /* the record of the first */
    uint32_t timers_used; /* places that were ever in use */
    uint32_t timers_room; /* that the structure knows of */
    uint32_t timers_most;
    uint32_t free_place; /* the one that was given back last; NO_PLACE: none */
    uint64_t live;
    uint64_t overdue;
    uint64_t lead_us; /* timers are shown this early to schedulers, as their clocks differ */

    struct cluster_ring due[DUE_PARTS]; /* entries: in the table, by deadline */
    uint32_t lists;                     /* partitions that were handed out, a bit each */
    uint32_t id_owner[DUE_PARTS];       /* of each partition's id, the scheduler, */
    uint64_t id_until_us[DUE_PARTS];    /* and when its lock ends; 0: it has had none */
    struct cluster_ring behind;         /* entries for the second pass, by deadline */
    struct cluster_ring expired;        /* entries: leases, for the next look */
    struct cluster_ring queue;          /* copies */
    uint64_t queue_changed_us;

    uint64_t version;        /* of the claims: who has not seen the last one waits once more */
    uint64_t clock;          /* the next second to be fetched, in ticks */
    uint64_t *sync_begin_us; /* of each shard, the last sync that was asked for */
    uint64_t *sync_end_us;

    struct cluster_node *nodes; /* schedulers, then hosts */
    uint32_t node_count;
    uint32_t scheduler_count;
    uint32_t host_count;
    struct scheduler *schedulers;
    struct executor_slot *slots;
    uint32_t slot_count;
    uint32_t *idle; /* slots of hosts that are up */
    uint32_t idle_count;

    bool outage;
    bool slow;
    bool halted;
    uint64_t overdue_before; /* when the outage began */
    uint64_t drain_since_us; /* 0: nothing drains */
    uint64_t halt_since_us;

    bool planned_all;
    struct random arrivals;
    struct random services;
    struct random faults;
    struct random stores;
    struct random_lognormal_table trip_s;    /* to the store and back */
    struct random_lognormal_table service_s; /* of a call, if it is log-normal */
};

/* --- simulate_cluster.c ----------------------------------------------------------------------- */

static inline uint64_t us_of(double seconds)
{
    return (uint64_t)(seconds * 1e6 + 0.5);
}

static inline bool does(const struct cluster *cluster, enum cluster_step step)
{
    return (cluster->steps >> step & 1) != 0;
}

/* Starts an event, or moves it. */
void event_at(struct cluster *cluster, uint32_t id, uint64_t at_us);
void event_cancel(struct cluster *cluster, uint32_t id);
static inline void event_after(struct cluster *cluster, uint32_t id, double seconds)
{
    event_at(cluster, id, cluster->now_us + us_of(seconds));
}
void timer_event(struct cluster *cluster, uint32_t timer, enum due_for what, uint64_t at_us);
void timer_event_cancel(struct cluster *cluster, uint32_t timer);

/* Room for more timers; false, with the error set: there is none. */
bool make_room(struct cluster *cluster);

/* Makes room for one more. */
void ring_grow(struct cluster *cluster, struct cluster_ring *ring, size_t item_bytes);

static inline void ring_drop(struct cluster_ring *ring)
{
    ring->first = (ring->first + 1) & (ring->room - 1);
    ring->count--;
}

/* For both kinds of items: the item at an index, push, pop. */
#define RING_OF(name, type)                                                                        \
    static inline type *name##_at(const struct cluster_ring *ring, size_t index)                   \
    {                                                                                              \
        return (type *)ring->items + ((ring->first + index) & (ring->room - 1));                   \
    }                                                                                              \
    static inline void name##_push(struct cluster *cluster, struct cluster_ring *ring, type item)  \
    {                                                                                              \
        if (ring->count == ring->room) {                                                           \
            ring_grow(cluster, ring, sizeof item);                                                 \
        }                                                                                          \
        *name##_at(ring, ring->count++) = item;                                                    \
    }                                                                                              \
    static inline type name##_pop(struct cluster_ring *ring)                                       \
    {                                                                                              \
        type item = *name##_at(ring, 0);                                                           \
        ring_drop(ring);                                                                           \
        return item;                                                                               \
    }

RING_OF(copies, struct timer_copy)
RING_OF(entries, struct timer_entry)

/* Before the queue's length changes: for how long it had the old one. */
static inline void queue_changes(struct cluster *cluster)
{
    cluster->outcome->queue_s +=
        (double)cluster->queue.count * (double)(cluster->now_us - cluster->queue_changed_us) / 1e6;
    cluster->queue_changed_us = cluster->now_us;
}

static inline struct cluster_timer *timer_at(const struct cluster *cluster, uint32_t number)
{
    void *at = cluster->timers + number * cluster->records.stride_bytes;
    return at;
}

static inline struct timer_entry entry_of(const struct cluster *cluster, uint32_t timer)
{
    return (struct timer_entry){timer, timer_at(cluster, timer)->serial};
}

/* The timer of an entry, NULL if its place is another's by now. */
static inline struct cluster_timer *timer_of(const struct cluster *cluster,
                                             const struct timer_entry *entry)
{
    struct cluster_timer *timer = timer_at(cluster, entry->timer);
    return timer->serial == entry->serial && timer->record != FREE ? timer : NULL;
}

/* Timers lie where chance has put them; one that is used soon is fetched before. */
enum { FETCH_AHEAD = 8 };

static inline void fetch_timer(const struct cluster *cluster, uint32_t timer)
{
    __builtin_prefetch(timer_at(cluster, timer), 1);
}

/* How long a request to the store takes from now; one that writes waits for a sync. */
uint64_t store_us(struct cluster *cluster, uint32_t shard, const struct cluster_node *node,
                  bool writes);

/* A timer of which nothing is left to be seen is put into the books; one that only a fault can have
 * left so is lost. */
void settle(struct cluster *cluster, uint32_t timer);

/* A copy is gone, by that cause. */
void drop_copy(struct cluster *cluster, const struct timer_copy *copy, enum cluster_cause cause);

/* One timer fewer is late. */
void no_longer_overdue(struct cluster *cluster);

/* --- planner.c -------------------------------------------------------------------------------- */

void planner_arrive(struct cluster *cluster);

/* --- scheduling.c ----------------------------------------------------------------------------- */

void scheduling_begin(struct cluster *cluster);
void scheduler_event(struct cluster *cluster, uint32_t number);
void scheduler_crash(struct cluster *cluster, uint32_t number);
void timer_due(struct cluster *cluster, uint32_t timer);
void timer_lease_ends(struct cluster *cluster, uint32_t timer);
void timer_retry(struct cluster *cluster, uint32_t timer);
void reap(struct cluster *cluster);
void scan(struct cluster *cluster);

/* It has come by that path, too. */
static inline void came_by(struct cluster_timer *timer, enum cluster_path path)
{
    timer->path = (path > timer->path ? path : timer->path) & 3u;
}

/* --- executing.c ------------------------------------------------------------------------------ */

void executing_begin(struct cluster *cluster);
void feed_slots(struct cluster *cluster);
void slot_event(struct cluster *cluster, uint32_t number);
void host_crash(struct cluster *cluster, uint32_t host);
/* Its idle slots cannot be used until it comes back. */
void host_goes(struct cluster *cluster, uint32_t host);
void host_comes(struct cluster *cluster, uint32_t host);

/* --- outages.c -------------------------------------------------------------------------------- */

void outages_begin(struct cluster *cluster);
void outage_event(struct cluster *cluster, enum range range, uint32_t number);

/* Return the fault of the holder of a timer that is too slow. */
enum cluster_cause cause_of_slowness(const struct cluster *cluster, uint32_t timer);

#endif
