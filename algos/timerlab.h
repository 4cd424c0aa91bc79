/*
 * timerlab.h: the contract between a timer structure and the programs that drive it.
 *
 * A timer structure answers one question, "which timers are due now?", for very many timers that
 * are started, postponed and stopped, and that sometimes expire. The terms are Varghese and Lauck's
 * ("Hashed and Hierarchical Timing Wheels", SOSP 1987): START_TIMER, STOP_TIMER,
 * PER_TICK_BOOKKEEPING and EXPIRY_PROCESSING are the hooks start, stop and advance, and the
 * callback `fire`.
 *
 *   tick      the unit of time; the caller decides how long it is (a trace records it)
 *   clock     the tick of the last advance (after create: `now` of the configuration)
 *   deadline  the absolute tick at which a timer is to fire
 *   due tick  max(deadline, clock at its start): the tick at which an exact structure fires it
 *   id        the name of a timer: dense, 0 <= id < capacity; a connection's slot or file
 *             descriptor times its kinds of timer. The structure owns the storage and chooses its
 *             layout
 *   horizon   the furthest deadline that a structure accepts
 *   lateness  tick of expiry minus due tick; negative is early
 *
 * A structure is one C file that ends with a constant descriptor. Compiled to a shared object, the
 * file is a plug-in. A structure reads no clock, prints nothing, starts no thread, and never exits.
 * This is a complete one, with the required hooks only:
 *
 *   #include <timerlab.h>
 *
 *   #define IDLE    TL_NEVER
 *   #define EXPIRED (TL_NEVER - 1)
 *
 *   struct scan { const struct tl_allocator *from; uint64_t *due; uint64_t count; uint32_t ids; };
 *
 *   static enum tl_status scan_stop(void *self, uint32_t id) {
 *       struct scan *scan = self;
 *       if (scan->due[id] == IDLE) return TL_IDLE;
 *       scan->due[id] = IDLE;
 *       scan->count--;
 *       return TL_OK;
 *   }
 *   static enum tl_status scan_start(void *self, uint32_t id, uint64_t deadline) {
 *       struct scan *scan = self;
 *       if (scan->due[id] == IDLE) scan->count++;
 *       scan->due[id] = deadline;
 *       return TL_OK;
 *   }
 *   static uint64_t scan_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
 *                                void *ctx) {
 *       struct scan *scan = self;
 *       uint64_t fired = 0;
 *       for (uint32_t id = 0; id < scan->ids; id++) // no callback has started a timer yet
 *           if (scan->due[id] <= now) scan->due[id] = EXPIRED;
 *       for (uint32_t id = 0; id < scan->ids && fired < budget; id++)
 *           if (scan->due[id] == EXPIRED) { scan_stop(scan, id); fired++; fire(ctx, id, now); }
 *       return fired;
 *   }
 *   static uint64_t scan_count(const void *self) { return ((const struct scan *)self)->count; }
 *   static enum tl_status scan_reserve(void *self, uint32_t ids) {
 *       struct scan *scan = self;
 *       if (ids <= scan->ids) return TL_OK;
 *       uint64_t *due = scan->from->resize(scan->from->ctx, scan->due, scan->ids * sizeof *due,
 *                                          ids * sizeof *due, 8);
 *       if (due == NULL) return TL_ERR_NOMEM;
 *       for (scan->due = due; scan->ids < ids; scan->ids++) due[scan->ids] = IDLE;
 *       return TL_OK;
 *   }
 *   static void scan_destroy(void *self) {
 *       struct scan *scan = self;
 *       tl_free(scan->from, scan->due, scan->ids * sizeof *scan->due, 8);
 *       tl_free(scan->from, scan, sizeof *scan, 8);
 *   }
 *   static enum tl_status scan_create(const struct tl_config *config, void **self) {
 *       struct scan *scan = tl_alloc(config->allocator, sizeof *scan, 8);
 *       if (scan == NULL) return TL_ERR_NOMEM;
 *       *scan = (struct scan){.from = config->allocator};
 *       enum tl_status status = scan_reserve(scan, config->capacity);
 *       if (status == TL_OK) *self = scan; else scan_destroy(scan);
 *       return status;
 *   }
 *   TL_ALGO(scan) = {.abi = TL_ABI, .name = "scan", .summary = "every tick looks at every timer",
 *       .origin = "Varghese and Lauck 1987, scheme 1", .description = "Deadlines by id.",
 *       .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n)", .expire = "O(1)"},
 *       .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_SLOW,
 *       .create = scan_create, .destroy = scan_destroy, .reserve = scan_reserve,
 *       .start = scan_start, .stop = scan_stop, .advance = scan_advance, .count = scan_count};
 *
 * `timerlab new` writes a file to start from, with more hooks and with comments. This header needs
 * no other, and compiles as C17 and C++17.
 */
#ifndef TIMERLAB_H
#define TIMERLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract: 1 until release 1.0. After that it is raised when a structure
 * compiled against an older header would misbehave. A plug-in with another number is refused. */
#define TL_ABI          1u

/* The largest deadline that a structure gets. */
#define TL_DEADLINE_MAX (UINT64_C(1) << 63)

/* `next` returns it if no timer is pending. */
#define TL_NEVER        UINT64_MAX

/* A budget without a limit. */
#define TL_NO_BUDGET    UINT64_MAX

/* --- status ---------------------------------------------------------------------------------- */

/* The one table of codes and texts. */
#define TL_STATUS_MAP(X)                                                                           \
    X(TL_OK, "ok")                                                                                 \
    X(TL_IDLE, "the timer was not pending")                                                        \
    X(TL_ERR_HORIZON, "the deadline is beyond the structure's horizon")                            \
    X(TL_ERR_NOMEM, "out of memory")                                                               \
    X(TL_ERR_CAPACITY, "more timers than the structure can name")                                  \
    X(TL_ERR_OPTION, "an option's value is not usable")                                            \
    X(TL_ERR_DESCRIPTOR, "the descriptor is incomplete or contradicts itself")                     \
    X(TL_ERR_CORRUPT, "an invariant of the structure does not hold")                               \
    X(TL_ERR_UNAVAILABLE, "a library that the structure wraps is not installed")                   \
    X(TL_ERR_FULL, "as many timers are pending as the structure takes")                            \
    X(TL_ERR_STORE, "the files on disk cannot be read or written")                                 \
    X(TL_ERR_DISK_FULL, "no room on the disk for one more timer")

enum tl_status {
#define TL_STATUS_ENUM(code, text) code,
    TL_STATUS_MAP(TL_STATUS_ENUM)
#undef TL_STATUS_ENUM
};

/* --- memory ---------------------------------------------------------------------------------- */

/*
 * All of a structure's memory comes from here, so that bytes and allocations are counted in the
 * same way for all. One function, as realloc with explicit sizes:
 *
 *   ptr == NULL      returns new_bytes of memory aligned to `align` (a power of two), not zeroed
 *   new_bytes == 0   frees ptr and returns NULL
 *   otherwise        resizes, keeps the first min(old, new) bytes, may move
 *
 * On failure it returns NULL and ptr stays valid and unchanged. old_bytes and align must be the
 * values of the block's last allocation. Not thread-safe.
 */
struct tl_allocator {
    void *ctx;
    void *(*resize)(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align);
};

static inline void *tl_alloc(const struct tl_allocator *allocator, size_t bytes, size_t align)
{
    return allocator->resize(allocator->ctx, NULL, 0, bytes, align);
}

static inline void tl_free(const struct tl_allocator *allocator, void *ptr, size_t bytes,
                           size_t align)
{
    if (ptr != NULL) {
        (void)allocator->resize(allocator->ctx, ptr, bytes, 0, align);
    }
}

/* --- options --------------------------------------------------------------------------------- */

/* The kind of an option, and the type of the member that holds its value. */
enum tl_option_kind {
    TL_OPTION_U32,    /* uint32_t */
    TL_OPTION_U64,    /* uint64_t */
    TL_OPTION_TICKS,  /* uint64_t, a length of time in ticks */
    TL_OPTION_BYTES,  /* uint64_t, written as 4096, 64M or 1.5GiB */
    TL_OPTION_CHOICE, /* uint32_t, the value of one of the choices */
    TL_OPTION_TEXT,   /* char[TL_TEXT_BYTES]; "" unless it is given */
    TL_OPTION_REAL    /* double */
};

/* A text, such as a path, with its terminating zero. */
#define TL_TEXT_BYTES    1024u

/* The largest struct of options. */
#define TL_OPTIONS_BYTES 2048u

/* A word that an option accepts. */
struct tl_choice {
    const char *word; /* NULL ends a table of choices */
    uint64_t value;
    const char *help;
};

/*
 * One option. A structure declares a struct with a member for each of its options, and a table of
 * them that ends with {0}. `create` receives that struct, filled in and checked against the table:
 *
 *   struct my_options {
 *       uint32_t slots;
 *       uint64_t tick;
 *   };
 *
 *   static const struct tl_option my_option_table[] = {
 *       {"slots", TL_U32(struct my_options, slots), 512, 1, 65536, NULL, "slots of the wheel"},
 *       {"tick", TL_TICKS(struct my_options, tick), 1, 1, 1000, NULL, "ticks per slot"},
 *       {0},
 *   };
 */
struct tl_option {
    const char *name;
    enum tl_option_kind kind;
    size_t offset;        /* of the member; TL_U32 and its siblings give kind and offset */
    double default_value; /* exact up to 2^53; a text has none */
    double min;           /* numbers from min to max are accepted; unused for choices and texts */
    double max;
    const struct tl_choice *choices; /* words accepted in addition to numbers; may be NULL */
    const char *help;
};

/* Kind and offset of an option. A member of another size does not compile. */
#define TL_MEMBER(type, member, bytes)                                                             \
    (offsetof(type, member) + 0 * sizeof(char[sizeof(((type *)0)->member) == (bytes) ? 1 : -1]))
#define TL_U32(type, member)    TL_OPTION_U32, TL_MEMBER(type, member, 4)
#define TL_U64(type, member)    TL_OPTION_U64, TL_MEMBER(type, member, 8)
#define TL_TICKS(type, member)  TL_OPTION_TICKS, TL_MEMBER(type, member, 8)
#define TL_BYTES(type, member)  TL_OPTION_BYTES, TL_MEMBER(type, member, 8)
#define TL_CHOICE(type, member) TL_OPTION_CHOICE, TL_MEMBER(type, member, 4)
#define TL_TEXT(type, member)   TL_OPTION_TEXT, TL_MEMBER(type, member, TL_TEXT_BYTES)
#define TL_REAL(type, member)   TL_OPTION_REAL, TL_MEMBER(type, member, 8)

/* --- promises -------------------------------------------------------------------------------- */

/* Capabilities: promises that hold for every value of every option. Drivers choose by these, never
 * by name, and the tests verify each promise that a structure declares. */
#define TL_CAPABILITY_MAP(X)                                                                       \
    X(TL_CAP_ORDERED, 0, "ordered", "within one advance, timers fire in order of due tick")        \
    X(TL_CAP_FIFO, 1, "fifo", "timers with the same due tick fire in the order of their starts")   \
    X(TL_CAP_EXACT, 2, "exact", "never early, never late, with every option")                      \
    X(TL_CAP_NEXT, 3, "next", "returns the tick at which advance next has work")                   \
    X(TL_CAP_NEXT_EXACT, 4, "next-exact", "and that tick is the next expiry, not a lower bound")   \
    X(TL_CAP_BUDGET, 5, "budget", "advance stops at the budget; the next one fires the rest")      \
    X(TL_CAP_UNLIMITED, 6, "unlimited", "no horizon: every deadline up to 2^63 is accepted")       \
    X(TL_CAP_ALLOCATES, 7, "allocates", "hooks other than create and reserve may allocate")        \
    X(TL_CAP_BASELINE, 8, "baseline", "a yardstick, not a contender: `all` omits it")              \
    X(TL_CAP_FIRES_NOTHING, 9, "fires-nothing", "keeps no timers: measures the harness itself")    \
    X(TL_CAP_SLOW, 10, "slow", "an operation is linear in the timers: for small runs")             \
    X(TL_CAP_REFUSES, 11, "refuses", "start may refuse a timer when it is full: back-pressure")    \
    X(TL_CAP_OWN_MEMORY, 12, "own-memory",                                                         \
      "a wrapped library allocates memory that is not counted")                                    \
    X(TL_CAP_DURABLE, 13, "durable", "acknowledged operations outlive the process, in its `path`") \
    X(TL_CAP_CONCURRENT, 14, "concurrent", "many threads may call start, stop and count at once")

enum tl_capability {
#define TL_CAPABILITY_ENUM(code, bit, word, text) code = 1u << (bit),
    TL_CAPABILITY_MAP(TL_CAPABILITY_ENUM)
#undef TL_CAPABILITY_ENUM
};

/* How far from its due tick a timer may fire. Enforced by the oracle. */
struct tl_precision {
    uint64_t early_ticks; /* at most this much before */
    uint64_t late_ticks;  /* at most this much after */
};

/* Complexity, as in the source. n: timers, k: timers that fire, slots, levels. */
struct tl_cost {
    const char *start;
    const char *stop;
    const char *tick; /* an advance by one tick that fires nothing */
    const char *expire;
};

/* Work done, counted; deterministic. */
struct tl_counters {
    uint64_t compares; /* deadlines (or rounds) looked at */
    uint64_t moves;    /* writes of a timer to another place: filed, sifted, unlinked */
    uint64_t slots;    /* slots, buckets or bitmap words visited by advance and next */
    uint64_t cascades; /* timers moved because time passed */
};

/* Add the counts of a part, or of another structure. */
static inline void tl_counters_add(struct tl_counters *sum, const struct tl_counters *more)
{
    sum->compares += more->compares;
    sum->moves += more->moves;
    sum->slots += more->slots;
    sum->cascades += more->cascades;
}

/* --- the inside of a structure --------------------------------------------------------------- */

/*
 * A structure consists of parts (a level of wheels, a heap, a queue of buckets), which have cells
 * (slots, entries of a heap), which hold timers. `walk` visits them in this order:
 *
 *   part    level 1, a wheel of 3 cells, 1 tick each
 *   cell      0, ticks 3 to 3, the hand
 *   cell      1, ticks 4 to 4, queued
 *   timer       id 7
 *   cell      2, ticks 5 to 5
 *   part    delay queue, a tree
 *   cell      0, ticks 4 to 4, "level 1, slot 1"
 */

/* How the cells of a part are connected. */
#define TL_FORM_MAP(X)                                                                             \
    X(TL_FORM_LIST, "list", "one after the other; the first one is processed next")                \
    X(TL_FORM_WHEEL, "wheel", "slots in a row, often a ring with a moving hand")                   \
    X(TL_FORM_TREE, "tree", "each but the root has a parent")

enum tl_form {
#define TL_FORM_ENUM(code, word, text) code,
    TL_FORM_MAP(TL_FORM_ENUM)
#undef TL_FORM_ENUM
};

/* Marks of a cell, or of a timer in it; or-ed. */
#define TL_MARK_MAP(X)                                                                             \
    X(TL_MARK_HAND, 0, "hand", "cell: the clock is here")                                          \
    X(TL_MARK_QUEUED, 1, "queued", "cell: waits in a queue of cells for its time")                 \
    X(TL_MARK_FLAGGED, 2, "flagged", "cell: its bit is set in a bitmap of occupied cells")         \
    X(TL_MARK_STALE, 3, "stale", "timer: remains of a stop or restart, not pending here")

enum tl_mark {
#define TL_MARK_ENUM(code, bit, word, text) code = 1u << (bit),
    TL_MARK_MAP(TL_MARK_ENUM)
#undef TL_MARK_ENUM
};

struct tl_part {
    const char *name; /* "level 2", "heap", "delay queue"; valid during the call */
    enum tl_form form;
    uint64_t cell_ticks; /* the length of a cell in ticks; 0: cells have none */
};

struct tl_cell {
    uint64_t index;     /* in its part, from 0, unique */
    uint64_t parent;    /* TL_FORM_TREE: the index of its parent, which may be shown later;
                           TL_NEVER: the root */
    uint64_t from;      /* the first and the last tick of the cell at the current clock; */
    uint64_t to;        /* TL_NEVER, both: none */
    uint32_t marks;     /* enum tl_mark */
    const char *refers; /* the cell of another part that it refers to, in words; NULL: none.
                           Valid during the call */
};

struct tl_held {
    uint32_t id;
    uint32_t marks;  /* enum tl_mark */
    uint64_t at;     /* the tick under which it is filed; TL_NEVER: the structure stores none */
    uint64_t rounds; /* full turns left */
};

/* `walk` calls `cell` after its part, and `timer` after its cell. All three are set. */
struct tl_visitor {
    void *ctx;
    void (*part)(void *ctx, const struct tl_part *part);
    void (*cell)(void *ctx, const struct tl_cell *cell);
    void (*timer)(void *ctx, const struct tl_held *held);
};

/* Called for each expired timer, after it has stopped being pending. It may call start and stop for
 * any timer of the same structure, `id` included, and count, which no longer includes `id`; no
 * other hook. */
typedef void (*tl_fire_fn)(void *ctx, uint32_t id, uint64_t now);

/* --- durable structures ---------------------------------------------------------------------- */

/*
 * A durable structure (TL_CAP_DURABLE) keeps its timers in a folder, named by its text option
 * `path`; without one, in temporary files, which are deleted when it is destroyed. Only one
 * structure at a time uses a folder.
 *
 * Every accepted start, every stop of a pending timer and every expiry takes the next sequence
 * number, from 1; an expiry, depending on the structure, before its callback or after. An operation
 * is *acknowledged* after the durable sequence has passed its number: the caller must not rely on
 * it before. The structure's options say whether an acknowledged operation survives only the end of
 * the process (kill -9), or also the loss of power.
 *
 * A timer's *generation* is the sequence number of its start. (id, generation) names one start
 * forever: a structure that repeats an expiry after a crash repeats it under the same name, and no
 * name is used twice. After `recover`, numbers continue above all earlier ones, durable or not.
 *
 * Start and stop may fail with TL_ERR_STORE, start also with TL_ERR_DISK_FULL: nothing changed. A
 * full disk does not make a stop fail.
 *
 * A timer started by `start_call` has a *call*: the work of its callback, which is stored,
 * recovered and returned with it. `start` gives it none. */

/* The longest name and payload, in bytes. */
#define TL_SERVICE_MAX 255u
#define TL_PAYLOAD_MAX 65536u

struct tl_call {
    const char *service; /* the name of a service; "" is one */
    const void *payload; /* parameters, opaque to the structure */
    size_t bytes;
};

/* Called by `recover` for each timer that is pending. */
typedef void (*tl_adopt_fn)(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation);

/* The state of a durable structure, and its cost since create. */
struct tl_durability {
    uint64_t sequence;         /* the last number used, by this process or an earlier one */
    uint64_t durable_sequence; /* all operations up to this one are acknowledged */
    uint64_t bytes_durable;    /* of its files, mapped parts included */
    uint64_t bytes_written;    /* written to the files */
    uint64_t syncs;            /* times it waited for the disk */
    const char *failure;       /* the last failure, in words, with file and place; NULL: none.
                                  Valid until the next hook */
};

/* --- concurrent structures ------------------------------------------------------------------- */

/*
 * Of a concurrent structure (TL_CAP_CONCURRENT), any number of threads may call start, stop and
 * count at any time, also for the same timer and inside callbacks. Advance and next are called by
 * one thread at a time, which need not be the same one, and not by a callback; starts and stops may
 * run meanwhile. Every other hook is called alone: no other call for this `self` runs. The caller
 * orders these calls, for example by a lock or by joining threads.
 *
 * Each start and stop, and each expiry within an advance, takes effect at one moment between its
 * call and its return (an expiry: between the call of advance and the callback). All results are as
 * if these moments came one after the other. So, in particular:
 *
 *   - A stop that returns TL_OK ends the timer's last start: its callback has not begun, and never
 *     will. One that returns TL_IDLE changes nothing: the timer was not started, was stopped, or has
 *     expired. In the last case its callback may be about to begin, running, or over: a stop waits
 *     for no callback.
 *   - A start that returns TL_OK replaces an earlier start of the timer that has not expired. The
 *     last start expires once, unless a stop or another start ends it.
 *   - An advance fires all timers that are due by its `now` if their start returned before it was
 *     called and no stop or start of the same timer takes effect meanwhile. A timer that another
 *     thread starts during an advance fires in this one or, if it is due, in the next; one that a
 *     callback starts never fires in the same advance.
 *   - The clock at a start is that of the last advance called before the start takes effect.
 *   - `next` takes into account all starts that returned before it was called.
 *   - `count` is exact if no other call runs. Otherwise it differs from the number of pending timers
 *     by at most the number of starts, stops and expiries that overlap it.
 *
 * Memory that a thread wrote before a start is visible to the callback of that start. The allocator
 * is not thread-safe: a concurrent structure that allocates in other hooks than create and reserve
 * must order these calls.
 */

/* --- the descriptor -------------------------------------------------------------------------- */

/* The caller's records, one for each id: for example, a table of connections. Each contains the
 * embedded_bytes of its timer, so that an operation needs no other cache line. Those of timer `id`
 * begin at base + id * stride_bytes + offset_bytes; this address and the stride are multiples of
 * TL_EMBEDDED_ALIGN. */
#define TL_EMBEDDED_ALIGN 8u

struct tl_records {
    void *base;
    size_t stride_bytes;
    size_t offset_bytes;
};

/* The parameters of `create`. Valid during the call only, except `allocator`, which outlives the
 * structure, and the memory of the records. */
struct tl_config {
    uint32_t capacity;        /* ids 0 .. capacity-1 are usable at once; may be 0 */
    uint64_t now;             /* the clock's first value */
    uint64_t max_delay_ticks; /* longest delay the caller announces; 0: unknown */
    const void *options;      /* the structure's struct of options; NULL: it has none */
    const struct tl_allocator *allocator;

    /* Only for a structure with embedded_bytes > 0. Not NULL: its timers are stored in these
     * records, one for each id below the capacity. Their bytes are zero when create, or the reserve
     * for the id, is called; from then on until destroy only the structure writes to them. NULL:
     * the structure allocates memory for them. Either way the same timers fire, in the same order.
     * */
    const struct tl_records *records;
};

/*
 * A timer structure. All hooks take the `self` that create returned. Without TL_CAP_CONCURRENT, one
 * caller at a time for each `self`. Structures share only constant data: while a hook runs, any hook
 * may be called for another `self`, by another thread or inside a callback. Members are required
 * unless marked optional.
 */
struct tl_algo {
    /* --- texts and options --- */
    uint32_t abi;            /* TL_ABI */
    uint32_t capabilities;   /* enum tl_capability, or-ed */
    const char *name;        /* lower-case words joined by dashes */
    const char *summary;     /* one line */
    const char *origin;      /* the paper or system that it follows */
    const char *description; /* a paragraph or more: how it works, its weak points */
    struct tl_cost cost;
    const struct tl_option *options; /* ends with name == NULL; optional */
    size_t options_bytes;            /* of the struct that the table fills in */

    /* Optional; NULL promises 0/0. Return how early and late a timer started with `delay_ticks` may
     * fire with these option values. */
    struct tl_precision (*precision)(const void *options, uint64_t delay_ticks);

    /* --- basic hooks --- */

    /* Create an empty structure for config->capacity timers in *self. TL_ERR_NOMEM, TL_ERR_OPTION
     * (a combination that the table cannot exclude), TL_ERR_CAPACITY, TL_ERR_UNAVAILABLE: *self
     * is not set, and no memory is leaked. */
    enum tl_status (*create)(const struct tl_config *config, void **self);

    /* Free all memory. Timers may be pending; none fires. */
    void (*destroy)(void *self);

    /* Grow to hold ids 0 .. capacity-1; pending timers stay as they are; never shrink. After TL_OK,
     * start cannot fail for lack of memory for any of these ids, with or without TL_CAP_ALLOCATES.
     * On TL_ERR_NOMEM or TL_ERR_CAPACITY nothing has changed. */
    enum tl_status (*reserve)(void *self, uint32_t capacity);

    /* Start timer `id`, or move it if it is pending (a restart). A deadline that is not after the
     * clock is legal: its delay is 0, and the timer fires in the next advance, or as the precision
     * for a delay of 0 allows. Inside a callback the clock is the `now` of the running advance, and
     * a timer started there never fires in that same advance. TL_ERR_HORIZON: nothing changed; a
     * pending timer keeps its old deadline. At the same clock every deadline before an accepted one
     * is accepted, and a deadline that is not after the clock always is, unless the structure is
     * full. TL_ERR_FULL, only with TL_CAP_REFUSES: the limit of pending timers is reached, whatever
     * the deadline; nothing changed. A structure may count a stopped timer until the tick at which
     * it would have fired at the latest, and the new deadline of a pending timer as one more. It
     * accepts a timer if none is counted. Requires id < capacity and deadline <= TL_DEADLINE_MAX.
     * */
    enum tl_status (*start)(void *self, uint32_t id, uint64_t deadline);

    /* Stop timer `id`. TL_IDLE if it was not pending (never started, fired, or stopped): nothing
     * changed. Requires id < capacity. */
    enum tl_status (*stop)(void *self, uint32_t id);

    /* Move the clock to `now` and call `fire` for every timer that is due by then, each unlinked
     * before its callback. Return the number of expiries. `now` never goes back, may stay, and may
     * jump far ahead, up to TL_DEADLINE_MAX plus the declared lateness. At most `budget` timers
     * fire; the others stay pending and fire in the next calls. With TL_CAP_ORDERED these are not
     * due before the fired ones. A budget of 0 only moves the clock. Callers of a structure without
     * TL_CAP_BUDGET always pass TL_NO_BUDGET. */
    uint64_t (*advance)(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx);

    /* Optional, with TL_CAP_NEXT. Return the tick at which advance next has work: never after the
     * next expiry, possibly before it unless TL_CAP_NEXT_EXACT; at or before the clock if timers
     * are due already; TL_NEVER if no timer is pending. If an advance to that tick fires no timer,
     * `next` grows. A caller sleeps until then, so `next` must skip ticks without work: between a
     * start and its expiry, the number of advances to `next` that fire no timer depends on the
     * structure's slots and levels, not on the delay. A structure that could only return clock + 1
     * leaves `next` NULL and is driven every tick. Not called inside a callback. */
    uint64_t (*next)(const void *self);

    /* Return the number of pending timers. Correct inside a callback, too. */
    uint64_t (*count)(const void *self);

    /* --- hooks to measure and to show --- */

    /* Optional. Return the work counted so far (see TL_COUNT). */
    void (*counters)(const void *self, struct tl_counters *out);

    /* Optional. Verify the invariants, however long that takes. TL_ERR_CORRUPT, with a sentence in
     * `why`, if one is violated. Not called inside a callback. */
    enum tl_status (*check)(const void *self, char *why, size_t why_bytes);

    /* Optional. Show the inside to `visitor`, for step-by-step views: all slots of a wheel, empty
     * ones too, and every pending timer exactly once without TL_MARK_STALE. May be slow. Not called
     * inside a callback. */
    void (*walk)(const void *self, const struct tl_visitor *visitor);

    /* Optional. The visible differences from the original that `origin` names: when and in which
     * order timers fire, results of start and stop, refusals, memory; and omitted behaviour. A few
     * sentences without a subject: "no cap on pending timers; fires at the tick, ...". NULL: no
     * original. */
    const char *differs;

    /* --- timers in the caller's records --- */

    /* Optional. The number of bytes of each timer that can be stored in the caller's records, if
     * config->records is given: a multiple of TL_EMBEDDED_ALIGN, so that another timer's can follow
     * in the same record. 0: none. */
    size_t embedded_bytes;

    /* Required with embedded_bytes > 0. The caller has copied the records to another address, or
     * with another stride; the old ones may be freed already. To enlarge a table, the caller moves
     * it, calls this hook, and then reserve. Only for a structure that was given records; not
     * called inside a callback. */
    void (*moved)(void *self, const struct tl_records *records);

    /* --- durable structures --- */

    /* Required with TL_CAP_DURABLE, as are the next two. Make all operations so far durable, and
     * set the durable sequence. TL_ERR_STORE: failed; *durable_sequence is the last durable number.
     * A caller syncs before it waits for `next`. Not called inside a callback. */
    enum tl_status (*sync)(void *self, uint64_t *durable_sequence);

    /* Restore the timers in the folder, reserve for their ids, and call `adopt` for each, which
     * calls no hook. The timers are pending then, and fire in the next advance if they are due.
     * Called once, after create and before any other hook except durability and destroy; an empty
     * folder restores no timer. Without this call the folder stays unchanged, and start and stop
     * fail with TL_ERR_STORE. TL_ERR_STORE: the files are not valid and stay unchanged; durability
     * gives the reason. TL_ERR_NOMEM, TL_ERR_CAPACITY, TL_ERR_HORIZON: likewise. The caller then
     * destroys it. */
    enum tl_status (*recover)(void *self, tl_adopt_fn adopt, void *ctx);

    /* Return the state and the cost. Correct inside a callback, too. */
    void (*durability)(const void *self, struct tl_durability *out);

    /* Optional with TL_CAP_DURABLE, as is the next. Like start, with a call, which is copied.
     * TL_ERR_CAPACITY: the call is too long. TL_ERR_NOMEM: the first call needs memory. */
    enum tl_status (*start_call)(void *self, uint32_t id, uint64_t deadline,
                                 const struct tl_call *call);

    /* Return the call of a pending timer or, inside its callback, of the expired one until that is
     * started again. The memory is the structure's, and valid until the next hook. TL_IDLE: the
     * timer has none. TL_ERR_STORE: it cannot be read. */
    enum tl_status (*call)(void *self, uint32_t id, struct tl_call *out);
};

/*
 * Define the file's descriptor. In a plug-in it is the one exported symbol, `timerlab_algo`. In
 * timerlab's own build each file is compiled without and with counters, and once more for records
 * (TL_EMBEDDED), with different symbols.
 */
#if defined(TL_IN_TREE) && defined(TL_COUNTERS)
#define TL_ALGO_SYMBOL(symbol) tl_counted_##symbol
#elif defined(TL_IN_TREE) && defined(TL_EMBEDDED)
#define TL_ALGO_SYMBOL(symbol) tl_embedded_##symbol
#elif defined(TL_IN_TREE)
#define TL_ALGO_SYMBOL(symbol) tl_algo_##symbol
#else
#define TL_ALGO_SYMBOL(symbol) timerlab_algo
#endif
#if defined(__GNUC__)
#define TL_EXPORT __attribute__((visibility("default")))
#else
#define TL_EXPORT
#endif
#if defined(TL_IN_TREE)
#define TL_ALGO_EXPORT /* found through the registry, not by its symbol */
#else
#define TL_ALGO_EXPORT TL_EXPORT
#endif
#define TL_ALGO(symbol)                                                                            \
    extern TL_ALGO_EXPORT const struct tl_algo TL_ALGO_SYMBOL(symbol);                             \
    const struct tl_algo TL_ALGO_SYMBOL(symbol)

/* TL_COUNT(self, moves, 1) adds to self->counters.moves if counters are compiled in
 * (-DTL_COUNTERS); the timed build has none. */
#ifdef TL_COUNTERS
#define TL_COUNT(self, field, n) ((void)((self)->counters.field += (uint64_t)(n)))
#else
#define TL_COUNT(self, field, n) ((void)0)
#endif

#ifdef __cplusplus
}
#endif

#endif
