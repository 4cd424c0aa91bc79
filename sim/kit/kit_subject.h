/*
 * kit_subject.h: the judge. A subject is a structure with a model: for every timer its due tick, the
 * window in which it may fire, and how it last ended. Each function calls the hook of the same name,
 * compares the result with the model, and does not return if they differ.
 *
 * The model follows the structure where the contract leaves a choice (when inside its window a timer
 * fires; which due timers a budget leaves over; their order, if none is promised), so that the same
 * judge serves exact and coarse structures.
 */
#ifndef SIM_KIT_SUBJECT_H
#define SIM_KIT_SUBJECT_H

#include "kit.h"
#include "kit_guard.h"

#include <stdnoreturn.h>

/* --- the witness ----------------------------------------------------------------------------- */

#define KIT_HOOK_MAP(X)                                                                            \
    X(KIT_HOOK_NONE, "no hook")                                                                    \
    X(KIT_HOOK_CREATE, "create")                                                                   \
    X(KIT_HOOK_DESTROY, "destroy")                                                                 \
    X(KIT_HOOK_RESERVE, "reserve")                                                                 \
    X(KIT_HOOK_START, "start")                                                                     \
    X(KIT_HOOK_STOP, "stop")                                                                       \
    X(KIT_HOOK_ADVANCE, "advance")                                                                 \
    X(KIT_HOOK_NEXT, "next")                                                                       \
    X(KIT_HOOK_COUNT, "count")                                                                     \
    X(KIT_HOOK_COUNTERS, "counters")                                                               \
    X(KIT_HOOK_CHECK, "check")                                                                     \
    X(KIT_HOOK_WALK, "walk")                                                                       \
    X(KIT_HOOK_PRECISION, "precision")                                                             \
    X(KIT_HOOK_MOVED, "moved")

enum kit_hook {
#define KIT_HOOK_ENUM(code, word) code,
    KIT_HOOK_MAP(KIT_HOOK_ENUM)
#undef KIT_HOOK_ENUM
};

/* Return the hook's name, "no hook" for anything else. */
const char *kit_hook_word(enum kit_hook hook);

/* State of a run, in memory shared with the parent process, which reads it after the child has
 * ended in any way. */
struct kit_witness {
    enum fault_kind fault;
    char message[1024];
    bool unavailable; /* create returned TL_ERR_UNAVAILABLE */
    bool hangs;       /* a hook did not return */
    bool cut_short;   /* it used up its time, though every hook returned */
    /* the hook under way */
    volatile uint64_t hooks; /* called so far */
    enum kit_hook hook;
    uint64_t hook_id;
    uint64_t hook_tick;
    uint64_t clock;
    TL_OPTION_VALUES(options);
    const struct tl_algo *timed; /* the build of the target; another one is that with counters */
    uint64_t operations;
    struct kit_coverage coverage;
    uint64_t seed;  /* of the fuzzer's session under way */
    size_t done;    /* operations of the trace that were begun */
    bool repeating; /* operations need not be logged */
    uint64_t inspections;
    /* ends the run; does not return */
    void (*give_up)(struct kit_witness *witness);
    struct kit_log log; /* last: its operations are not cleared between runs */
};

/* The part that is cleared between runs. */
#define KIT_WITNESS_CLEARED (offsetof(struct kit_witness, log) + offsetof(struct kit_log, ops))

/* Set the remark on a run without faults, how far it got for example. The last call counts. */
void kit_note(struct kit_witness *witness, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Report a fault and end the run. */
noreturn void kit_fail(struct kit_witness *witness, enum fault_kind fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- the caller's records -------------------------------------------------------------------- */

/* A table of caller's records that contain a structure's timers, watched like memory of a guard: the
 * caller's bytes in them must not change, nor the records of ids beyond the capacity, and nothing may
 * access the former place of a table that has moved. Treat as opaque but for `guard` and `given`;
 * all zero is none. */
struct kit_records {
    struct kit_guard guard;  /* of the table */
    struct tl_records given; /* to structures */
    size_t timer_bytes;
    size_t least_stride_bytes;
    uint32_t room; /* records in the table */
    unsigned moves;
};

/* Make a table of at least one record, for timers of `timer_bytes`, with guards as `place` says.
 * Damage is reported to `report` with `ctx`. False if there is no memory. */
bool kit_records_init(struct kit_records *records, const struct kit_records_layout *layout,
                      size_t timer_bytes, uint32_t room, enum kit_guard_place place,
                      kit_guard_report_fn report, void *ctx);

/* Move the timers to another table of at least `room` records, at times with a larger stride. False
 * if there is no memory. */
bool kit_records_move(struct kit_records *records, uint32_t room);

/* Check all bytes that do not belong to the timers of a structure with this capacity. */
void kit_records_check(struct kit_records *records, uint32_t capacity);

/* Free it; harmless on an empty one. */
void kit_records_release(struct kit_records *records);

/* --- the subject ----------------------------------------------------------------------------- */

enum kit_timer_state { KIT_TIMER_NEW, KIT_TIMER_PENDING, KIT_TIMER_FIRED, KIT_TIMER_STOPPED };

struct kit_timer {
    uint64_t due;
    uint64_t deadline;   /* the argument of start */
    uint64_t started_at; /* the clock then */
    uint64_t early;      /* ticks that it may be early */
    uint64_t limit;      /* the last tick at which it may fire */
    uint64_t serial;     /* of its start */
    uint64_t fired_at;
    uint64_t filed_under; /* the earliest due tick since it last fired: a structure that processes
                             restarts and stops late may still keep it there */
    enum kit_timer_state state;
    uint32_t last_action; /* of its callback, for kit_play.c; 0: none */
};

#define KIT_NO_TIMER UINT32_MAX

struct traffic;

struct kit_subject {
    const struct tl_algo *algo;
    struct kit_witness *witness;
    TL_OPTION_VALUES(options);
    TL_OPTION_VALUES(given); /* to create, and overwritten when it has returned */
    void *self;
    uint32_t instance; /* its number in the witness's log */
    struct kit_guard guard;
    struct kit_records_layout layout;     /* settable before create: where its timers are */
    struct kit_records records;           /* used if they are in the caller's records */
    struct tl_records passed;             /* passed to create and moved, then overwritten */
    const struct tl_allocator *allocator; /* settable; NULL: the guard's */
    uint32_t capacity;
    uint32_t usable; /* ids at hand in `timers` */
    uint64_t clock;
    uint64_t pending;
    uint64_t serial; /* starts so far */
    struct kit_timer *timers;
    /* Which pending timer must fire first: a tournament. Each leaf is a timer, each inner node names
     * the more urgent of its two children. The root is 1, the children of k are 2k and 2k + 1. */
    uint32_t *winners;
    uint32_t leaves; /* a power of two; 0: none */
    /* the advance under way */
    bool advancing;
    uint32_t firing; /* inside a callback: the timer */
    uint64_t budget;
    uint64_t fired;
    uint64_t first_serial_inside; /* the first serial that its callbacks give */
    uint64_t last_due;
    uint64_t last_serial;
    uint64_t next_bound; /* the result of next before it */
    /* a number that depends on id, tick and order of all expiries */
    uint64_t fired_hash;
    /* the callback of the caller; may be NULL */
    void (*on_fire)(struct kit_subject *subject, uint32_t id);
    void *on_fire_ctx;
    struct traffic *traffic; /* of a case (kit_script.h), freed with the subject; or NULL */
};

/* Note the hook that is about to be called, in case it does not return. For callers of hooks that
 * have no function here. */
void kit_enter(struct kit_subject *subject, enum kit_hook hook, uint64_t id, uint64_t tick);

/* Ready a subject and its guard; subject_create then makes the structure, to be ended with
 * subject_destroy. False, and the subject is free: the options do not go together, need more memory
 * than is allowed, or are unavailable, which the witness notes. */
void subject_init(struct kit_subject *subject, const struct tl_algo *algo, const void *options,
                  uint64_t limit_bytes, struct kit_witness *witness);
bool subject_create(struct kit_subject *subject, uint32_t capacity, uint64_t now,
                    uint64_t max_delay_ticks);

/* Destroy the structure; fail if memory is leaked or damaged. */
void subject_destroy(struct kit_subject *subject);

/* Free the model and the guard without the structure. Harmless on one that is free. */
void subject_discard(struct kit_subject *subject);

/* Grant this number of further requests for memory (UINT64_MAX: all) up to a size (0: any). */
void subject_allow(struct kit_subject *subject, uint64_t grants, int64_t largest_bytes);

/* Return false if the guard refused memory, which changes nothing. A table of records that is too
 * small is moved first. */
bool subject_reserve(struct kit_subject *subject, uint32_t capacity);

/* Move the records, if there are any. */
void subject_move(struct kit_subject *subject);

/* Return TL_OK, TL_ERR_HORIZON or TL_ERR_FULL. */
enum tl_status subject_start(struct kit_subject *subject, uint32_t id, uint64_t deadline);

/* Return TL_OK or TL_IDLE. */
enum tl_status subject_stop(struct kit_subject *subject, uint32_t id);

/* Return the number of expired timers. Calls next before, if the structure has it. A structure
 * without the capability gets no budget. */
uint64_t subject_advance(struct kit_subject *subject, uint64_t now, uint64_t budget);

/* Return the result of next; only for structures with TL_CAP_NEXT. */
uint64_t subject_next(struct kit_subject *subject);

/* Check the guards of the structure's memory and of the caller's. */
void subject_check_memory(struct kit_subject *subject);

/* Call the structure's check, check the guards, and compare its walk with the model. */
void subject_inspect(struct kit_subject *subject);

/* Advance until every pending timer must have fired, first by next where there is one. */
void subject_drain(struct kit_subject *subject);

/* Return the pending timer that must fire first; KIT_NO_TIMER if none is pending. O(1), so that the
 * judge can ask after every operation on a million timers. */
uint32_t subject_first(const struct kit_subject *subject);

/* Return the memory that the model has from malloc. */
uint64_t subject_model_bytes(const struct kit_subject *subject);

/* Whether the structure has all of these capabilities. */
bool subject_can(const struct kit_subject *subject, uint32_t capabilities);

/* Return the next number of a splitmix64 generator. */
uint64_t kit_random(uint64_t *state);

/* --- a contract case ------------------------------------------------------------------------- */

/* A case under way. */
struct kit_run {
    const struct kit_target *target;
    const struct kit_case *contract_case;
    uint64_t limit_bytes;
    double patience_seconds; /* as in kit_limits */
    struct kit_witness *witness;
    const struct tl_algo *algo;       /* the build that the case is about */
    struct kit_records_layout layout; /* where its timers lie */
    enum kit_guard_place place;       /* where its memory lies; with pages, one subject at a time */
    TL_OPTION_VALUES(options);        /* the values that it is run under just now */
};

/* Run the case under the target's options and, unless they are pinned, under others in range. */
void kit_run_case(struct kit_run *run);

#endif
