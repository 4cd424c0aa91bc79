/*
 * timerlab.h: the contract between a timer structure and everything that drives it.
 *
 * A timer structure answers one question, "which timers are due now?", for very many timers that
 * are started, pushed back, stopped, and sometimes expire. The words are Varghese and Lauck's
 * ("Hashed and Hierarchical Timing Wheels", SOSP 1987): START_TIMER, STOP_TIMER,
 * PER_TICK_BOOKKEEPING and EXPIRY_PROCESSING are the hooks start, stop, advance and the fire
 * callback.
 *
 *   tick      the unit of time; what it lasts is the caller's business (a trace says it)
 *   clock     the tick of the last advance (after create: the `now` of the configuration)
 *   deadline  the absolute tick at which a timer is to fire
 *   due tick  max(deadline, clock at its start): the tick at which an exact structure fires it
 *   id        names a timer: dense, 0 <= id < capacity; a connection's slot or file descriptor
 *             times its kinds of timer. The structure owns all storage and lays it out as it likes
 *   horizon   the furthest deadline that a structure takes
 *   lateness  tick of firing minus due tick; negative is early
 *
 * A structure is one C file that fills in one constant `struct tl_algo` and ends with
 *
 *     TL_ALGO(my_wheel) = { .abi = TL_ABI, .name = "my-wheel", ... };
 *
 * Compiled to a shared object, that file is a plug-in. The header stands alone, and compiles as
 * C17 and C++17. A structure reads no clock, prints nothing, starts no thread, and never exits.
 */
#ifndef TIMERLAB_H
#define TIMERLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract: 1 until release 1.0. Raised after it when a structure compiled
 * against an older header would misbehave. A plug-in with another number is refused. */
#define TL_ABI          1u

/* Every deadline handed to a structure is at most this. */
#define TL_DEADLINE_MAX (UINT64_C(1) << 63)

/* What `next` answers when no timer is pending. */
#define TL_NEVER        UINT64_MAX

/* A budget that bounds nothing. */
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
    X(TL_ERR_STORE, "what is kept on disk cannot be read or written")                              \
    X(TL_ERR_DISK_FULL, "no room on the disk for one timer more")

enum tl_status {
#define TL_STATUS_ENUM(code, text) code,
    TL_STATUS_MAP(TL_STATUS_ENUM)
#undef TL_STATUS_ENUM
};

/* --- memory ---------------------------------------------------------------------------------- */

/*
 * All of a structure's memory comes from here, so that bytes and allocations are counted by one
 * hand for all. One function, in the manner of realloc with the sizes spelled out:
 *
 *   ptr == NULL      returns new_bytes of memory aligned to `align` (a power of two), not zeroed
 *   new_bytes == 0   frees ptr and returns NULL
 *   otherwise        resizes, keeps the first min(old, new) bytes, may move
 *
 * On failure it returns NULL and ptr stays valid and unchanged. old_bytes and align must be what
 * the block was last given. Not thread-safe.
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

/* --- what a structure promises --------------------------------------------------------------- */

/* Capabilities: promises that hold for every value of every option. Drivers choose by these, never
 * by name, and the tests hold a structure to each that it declares. */
#define TL_CAPABILITY_MAP(X)                                                                       \
    X(TL_CAP_ORDERED, 0, "ordered", "within one advance, timers fire in order of due tick")        \
    X(TL_CAP_FIFO, 1, "fifo", "timers with the same due tick fire in the order of their starts")   \
    X(TL_CAP_EXACT, 2, "exact", "never early, never late, with every option")                      \
    X(TL_CAP_NEXT, 3, "next", "says the tick at which advance next has work")                      \
    X(TL_CAP_NEXT_EXACT, 4, "next-exact", "and that tick is the next firing, not a lower bound")   \
    X(TL_CAP_BUDGET, 5, "budget", "advance stops at the budget; the rest follow in the next")      \
    X(TL_CAP_UNLIMITED, 6, "unlimited", "no horizon: every deadline up to 2^63 is taken")          \
    X(TL_CAP_ALLOCATES, 7, "allocates", "hooks other than create and reserve may allocate")        \
    X(TL_CAP_BASELINE, 8, "baseline", "a yardstick, not a contender: `all` leaves it out")         \
    X(TL_CAP_FIRES_NOTHING, 9, "fires-nothing", "keeps no timers: measures the harness itself")    \
    X(TL_CAP_SLOW, 10, "slow", "an operation is linear in the timers: for small runs")             \
    X(TL_CAP_REFUSES, 11, "refuses", "start may refuse a timer when it is full: back-pressure")    \
    X(TL_CAP_OWN_MEMORY, 12, "own-memory", "a library beneath takes memory that is not counted")   \
    X(TL_CAP_DURABLE, 13, "durable", "what it acknowledged outlives the process, in its `path`")

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

/* Complexity, as the source states it. n: timers, k: timers that fire, slots, levels. */
struct tl_cost {
    const char *start;
    const char *stop;
    const char *tick; /* an advance by one tick that fires nothing */
    const char *expire;
};

/* Work done, counted; deterministic: the same operations give the same counts on any machine. */
struct tl_counters {
    uint64_t compares; /* deadlines (or rounds) looked at to decide something */
    uint64_t moves;    /* times a timer was written to a new place: filed, sifted, unlinked */
    uint64_t slots;    /* slots, buckets or bitmap words visited by advance and next */
    uint64_t cascades; /* timers moved because time passed, without being started or firing */
};

/* Adds what has been counted elsewhere: by a part of the structure, or by another. */
static inline void tl_counters_add(struct tl_counters *sum, const struct tl_counters *more)
{
    sum->compares += more->compares;
    sum->moves += more->moves;
    sum->slots += more->slots;
    sum->cascades += more->cascades;
}

/* --- what a structure looks like inside ------------------------------------------------------ */

/*
 * A structure shows its inside as parts (a level of wheels, a heap, a queue of buckets), which
 * have cells (slots, entries of a heap), which hold timers. It is walked in that order:
 *
 *   part    level 1, a wheel of 3 cells, 1 tick each
 *   cell      0, ticks 3 to 3, the hand
 *   cell      1, ticks 4 to 4, queued
 *   timer       id 7
 *   cell      2, ticks 5 to 5
 *   part    delay queue, a tree
 *   cell      0, ticks 4 to 4, "level 1, slot 1"
 */

/* How the cells of a part hang together. */
#define TL_FORM_MAP(X)                                                                             \
    X(TL_FORM_LIST, "list", "one after the other, the first one next to be looked at")             \
    X(TL_FORM_WHEEL, "wheel", "slots in a row, often a ring that a hand goes round")               \
    X(TL_FORM_TREE, "tree", "each but the root hangs from another")

enum tl_form {
#define TL_FORM_ENUM(code, word, text) code,
    TL_FORM_MAP(TL_FORM_ENUM)
#undef TL_FORM_ENUM
};

/* What is particular about a cell, or about a timer in it; or-ed. */
#define TL_MARK_MAP(X)                                                                             \
    X(TL_MARK_HAND, 0, "hand", "cell: where the clock stands")                                     \
    X(TL_MARK_QUEUED, 1, "queued", "cell: waits in a queue of cells for its time")                 \
    X(TL_MARK_FLAGGED, 2, "flagged", "cell: its bit is set in a bitmap of occupied cells")         \
    X(TL_MARK_STALE, 3, "stale", "timer: left behind by a stop or restart, not pending here")

enum tl_mark {
#define TL_MARK_ENUM(code, bit, word, text) code = 1u << (bit),
    TL_MARK_MAP(TL_MARK_ENUM)
#undef TL_MARK_ENUM
};

struct tl_part {
    const char *name; /* "level 2", "heap", "delay queue"; valid during the call */
    enum tl_form form;
    uint64_t cell_ticks; /* ticks that one cell stands for; 0: cells do not stand for time */
};

struct tl_cell {
    uint64_t index;     /* in its part, from 0: each cell has another */
    uint64_t parent;    /* TL_FORM_TREE: the index of the cell that it hangs from, which may be
                           shown later; TL_NEVER: the root */
    uint64_t from;      /* the first and the last tick that it stands for, as the clock stands; */
    uint64_t to;        /* TL_NEVER, twice: for none */
    uint32_t marks;     /* enum tl_mark */
    const char *refers; /* the cell of another part that it stands for, in words; NULL: none.
                           Valid during the call */
};

struct tl_held {
    uint32_t id;
    uint32_t marks;  /* enum tl_mark */
    uint64_t at;     /* the tick kept with it, by which it is filed; TL_NEVER: none is kept */
    uint64_t rounds; /* full turns still to wait */
};

/* What `walk` calls: `cell` after its part, `timer` after its cell. All three are set. */
struct tl_visitor {
    void *ctx;
    void (*part)(void *ctx, const struct tl_part *part);
    void (*cell)(void *ctx, const struct tl_cell *cell);
    void (*timer)(void *ctx, const struct tl_held *held);
};

/* Called for each expired timer, which is no longer pending by then. It may call start and stop
 * for any timer of the same structure, `id` included, and count, which already leaves `id` out;
 * no other hook. */
typedef void (*tl_fire_fn)(void *ctx, uint32_t id, uint64_t now);

/* --- what outlives the process --------------------------------------------------------------- */

/*
 * A durable structure (TL_CAP_DURABLE) keeps its timers in a folder, named by its text option
 * `path`; without one, in temporary files of its own, which go when it is destroyed. One structure
 * at a time uses a folder.
 *
 * Every start that was accepted, every stop that found its timer pending and every firing takes the
 * next sequence number, the first one 1; a firing, depending on the structure, before its callback
 * or after. An operation is *acknowledged* once the durable sequence has passed its number: until
 * then nobody may rely on it. In what an acknowledged operation survives, the end of the process
 * (kill -9) or the loss of power too, is for the structure's options to say.
 *
 * A timer's *generation* is the sequence number of its start. (id, generation) names one start for
 * ever: a structure that repeats an expiry after a crash repeats it under the same name, and gives
 * no name twice. After `recover` numbers go on above all that were ever given, durable or not.
 *
 * Start and stop may fail with TL_ERR_STORE, start also with TL_ERR_DISK_FULL: nothing changed. A
 * stop is not refused because the disk is full.
 *
 * A timer that is started by `start_call` has a *call*, which is kept, recovered and handed out
 * with it: what its callback is to do. `start` gives it none. */

/* The longest name and payload, in bytes. */
#define TL_SERVICE_MAX 255u
#define TL_PAYLOAD_MAX 65536u

struct tl_call {
    const char *service; /* the name of a service; "" is one */
    const void *payload; /* parameters, which mean nothing to the structure */
    size_t bytes;
};

/* Called by `recover` for each timer that is pending. */
typedef void (*tl_adopt_fn)(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation);

/* What a durable structure has kept, and what that cost since create. */
struct tl_durability {
    uint64_t sequence;         /* the last number given, by this process or one before it */
    uint64_t durable_sequence; /* all up to this one are acknowledged */
    uint64_t bytes_durable;    /* of its files, and what it has mapped of them */
    uint64_t bytes_written;    /* handed to the disk's files */
    uint64_t syncs;            /* times it waited for the disk */
    const char *failure;       /* what went wrong last, in words, with file and place; NULL: nothing
                                  has. Valid until the next hook */
};

/* --- the descriptor -------------------------------------------------------------------------- */

/* The caller's own records, one for each id: a table of connections, say, which a server reads
 * anyway. In each of them lie the embedded_bytes of its timer, so that an operation waits for no
 * line of memory besides. Those of timer `id` begin at base + id * stride_bytes + offset_bytes, an
 * address that is a multiple of TL_EMBEDDED_ALIGN; so then is the stride. */
#define TL_EMBEDDED_ALIGN 8u

struct tl_records {
    void *base;
    size_t stride_bytes;
    size_t offset_bytes;
};

/* What `create` is told. Valid during the call only, but for `allocator`, which outlives the
 * structure, and for the memory of the records. */
struct tl_config {
    uint32_t capacity;        /* ids 0 .. capacity-1 are usable at once; may be 0 */
    uint64_t now;             /* the clock's first value */
    uint64_t max_delay_ticks; /* longest delay the caller announces; 0: unknown */
    const void *options;      /* the structure's struct of options; NULL: it has none */
    const struct tl_allocator *allocator;

    /* Only handed to a structure with embedded_bytes > 0. Not NULL: its timers lie
     * in these records, of which there is one for each id below the capacity, and their bytes are
     * all zero when create, or the reserve that makes room for the id, is called. From then on
     * until destroy they are the structure's, and nobody else writes to them. NULL: they lie in
     * memory of its own. Either way the same timers fire, in the same order. */
    const struct tl_records *records;
};

/*
 * A timer structure. All hooks take the `self` that create gave. Single-threaded: one caller at a
 * time for each `self`. What they share is constant: while a hook is at work, any hook may be
 * called for another `self`, by another thread, or by the same one inside a callback. Required
 * unless marked optional.
 */
struct tl_algo {
    uint32_t abi;            /* TL_ABI */
    uint32_t capabilities;   /* enum tl_capability, or-ed */
    const char *name;        /* lower-case words joined by dashes */
    const char *summary;     /* one line */
    const char *origin;      /* the paper or system that it follows */
    const char *description; /* a paragraph or more: how it works, what it is bad at */
    struct tl_cost cost;
    const struct tl_option *options; /* ends with name == NULL; optional */
    size_t options_bytes;            /* of the struct that the table fills in */

    /* Optional; NULL promises 0/0. How early and late a timer started with `delay_ticks` may fire
     * under these option values. */
    struct tl_precision (*precision)(const void *options, uint64_t delay_ticks);

    /* Makes an empty structure, able to hold config->capacity timers, in *self.
     * TL_ERR_NOMEM, TL_ERR_OPTION (a combination that the table cannot rule out),
     * TL_ERR_CAPACITY, TL_ERR_UNAVAILABLE: *self is not set, nothing is leaked. */
    enum tl_status (*create)(const struct tl_config *config, void **self);

    /* Frees everything, pending timers included; fires nothing. */
    void (*destroy)(void *self);

    /* Grows to hold ids 0 .. capacity-1; pending timers stay as they are; never shrinks. After it
     * returned TL_OK, start cannot fail for want of memory for any of these ids, whether or not
     * the structure says TL_CAP_ALLOCATES. On TL_ERR_NOMEM or TL_ERR_CAPACITY nothing has
     * changed. */
    enum tl_status (*reserve)(void *self, uint32_t capacity);

    /* Starts timer `id`, or moves it if it is pending (a restart). A deadline that is not after
     * the clock is legal: its delay counts as 0, and the timer fires in the next advance, but for
     * what the precision for a delay of 0 allows. Inside a callback the clock is the `now` of the
     * running advance, and what is started there never fires in that same advance.
     * TL_ERR_HORIZON: nothing changed, a pending timer keeps its old deadline. At one clock all
     * that is nearer than an accepted deadline is accepted, and a deadline that is not after the
     * clock always is, but for a structure that is full.
     * TL_ERR_FULL, only with TL_CAP_REFUSES: as many timers are pending as the structure takes, or
     * as its options let it, whatever the deadline; nothing changed, as above. A caller learns from
     * that capability that it may happen, and from this status that it did. A structure may count
     * what is no longer pending until the tick at which it would have fired at the latest, and the
     * new deadline of a pending timer as one more. Where none is counted, one is taken.
     * Requires id < capacity and deadline <= TL_DEADLINE_MAX. */
    enum tl_status (*start)(void *self, uint32_t id, uint64_t deadline);

    /* Stops timer `id`. TL_IDLE if it was not pending (never started, fired, or stopped): nothing
     * changed. Requires id < capacity. */
    enum tl_status (*stop)(void *self, uint32_t id);

    /* Moves the clock to `now` and hands every timer that is due by then to `fire`, each unlinked
     * before its callback. Returns how many fired. `now` never goes back, may stay, and may jump
     * far ahead, up to TL_DEADLINE_MAX plus the declared lateness. At most `budget` timers fire;
     * what is left over fires in the next calls, and counts as pending until then. With
     * TL_CAP_ORDERED it is not due before what fired. A budget of 0 moves the clock and fires
     * nothing. Callers of a structure without TL_CAP_BUDGET always pass TL_NO_BUDGET. */
    uint64_t (*advance)(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx);

    /* Optional, with TL_CAP_NEXT. The tick at which advance next has work: never after the next
     * firing, possibly before it unless TL_CAP_NEXT_EXACT; at or before the clock if timers are
     * due already; TL_NEVER if nothing is pending. After an advance to that tick that fires
     * nothing, next has grown. Not called inside a callback. */
    uint64_t (*next)(const void *self);

    /* How many timers are pending. Right inside a callback too. */
    uint64_t (*count)(const void *self);

    /* Optional. The work counted so far (see TL_COUNT). */
    void (*counters)(const void *self, struct tl_counters *out);

    /* Optional. Verifies the structure's invariants, at any cost in time. TL_ERR_CORRUPT, with a
     * sentence in `why`, if one does not hold. Not called inside a callback. */
    enum tl_status (*check)(const void *self, char *why, size_t why_bytes);

    /* Optional. Shows the structure's inside to `visitor`, for step-by-step views:
     * all of a wheel's slots, empty ones too, and every pending timer exactly once without
     * TL_MARK_STALE. Time does not matter. Not called inside a callback. */
    void (*walk)(const void *self, const struct tl_visitor *visitor);

    /* Optional. In what it differs from the original that `origin` names, as far as a
     * caller can notice (when and in which order timers fire, what start and stop answer, what is
     * refused, what is kept), and which of the original's habits are left out. One sentence or a
     * few, each without the subject: "no cap on pending timers; fires at the tick, ...". NULL: it
     * has no original. */
    const char *differs;

    /* Optional. So many bytes of each timer may lie in the caller's records, where
     * config->records says so: a multiple of TL_EMBEDDED_ALIGN, so that another timer's may follow
     * in the same record. 0: none may. */
    size_t embedded_bytes;

    /* Required with embedded_bytes > 0. The records have come to lie elsewhere, or
     * further apart, and what they held has been copied along: from now on they are there, and
     * where they were may be gone. The caller who enlarges his table moves it, calls this, and then
     * reserve. Only for a structure that was given records; not called inside a callback. */
    void (*moved)(void *self, const struct tl_records *records);

    /* Required with TL_CAP_DURABLE, as are the next two. Makes all operations so far
     * durable, and sets the durable sequence. TL_ERR_STORE: it could not, and *durable_sequence is
     * as far as it is. A caller that is about to wait for `next` syncs first. Not called inside a
     * callback. */
    enum tl_status (*sync)(void *self, uint64_t *durable_sequence);

    /* Brings back the timers that its folder holds, reserves for their ids, and calls `adopt` for
     * each, which calls no hook. They are pending then, and fire in the next advance if they are
     * due. Called once, after create and before any other hook but durability and destroy;
     * where there was nothing it brings back nothing. Without it, what a folder holds is left
     * alone, and start and stop fail with TL_ERR_STORE.
     * TL_ERR_STORE: what is there cannot be trusted, and is left as it is; durability says why.
     * TL_ERR_NOMEM, TL_ERR_CAPACITY, TL_ERR_HORIZON: likewise. It is to be destroyed. */
    enum tl_status (*recover)(void *self, tl_adopt_fn adopt, void *ctx);

    /* Says what is durable, and what it cost. Right inside a callback too. */
    void (*durability)(const void *self, struct tl_durability *out);

    /* Optional with TL_CAP_DURABLE, as is the next. Like start, with a call, which is copied.
     * TL_ERR_CAPACITY: it is too long. TL_ERR_NOMEM: the first one needs memory. */
    enum tl_status (*start_call)(void *self, uint32_t id, uint64_t deadline,
                                 const struct tl_call *call);

    /* Fill in the call of a timer that is pending, or, inside its callback, of the one that is
     * firing, as long as that is not started again. It is the structure's, and valid until the next
     * hook. TL_IDLE: the timer has none. TL_ERR_STORE: it cannot be read. */
    enum tl_status (*call)(void *self, uint32_t id, struct tl_call *out);
};

/*
 * Defines the file's descriptor. Outside timerlab's own build it is the one symbol that a plug-in
 * exports, `timerlab_algo`. Inside, each file is compiled without and with counters, and once more
 * to take records (TL_EMBEDDED), and the name keeps these and their fellows apart.
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

/* TL_COUNT(self, moves, 1) adds to self->counters.moves where counters are compiled in
 * (-DTL_COUNTERS), and is nothing where time is measured. */
#ifdef TL_COUNTERS
#define TL_COUNT(self, field, n) ((void)((self)->counters.field += (uint64_t)(n)))
#else
#define TL_COUNT(self, field, n) ((void)0)
#endif

#ifdef __cplusplus
}
#endif

#endif
