/*
 * kit_subject.h: the judge. A subject is a structure with a model beside it: for every timer its
 * due tick, the window in which it may fire, and how it last ended. Each function calls the hook
 * of the same name, holds what came back against the model, and does not return if it differs.
 *
 * The model follows the structure where the contract leaves a choice (when inside its window a
 * timer fires; which of several due timers a budget leaves over; their order, if none is
 * promised), so the same judge serves exact and coarse structures.
 */
#ifndef SIM_KIT_SUBJECT_H
#define SIM_KIT_SUBJECT_H

#include "kit.h"
#include "kit_guard.h"
#include "kit_log.h"
#include "kit_records.h"
#include "kit_urgency.h"

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

/* The hook's name, "no hook" for anything else. */
const char *kit_hook_word(enum kit_hook hook);

/* What is known of a run while it goes on; in memory shared with the parent process, which reads
 * it when the child has ended, whatever ended it. */
struct kit_witness {
    enum fault_kind fault;
    char message[1024];
    bool unavailable; /* create said TL_ERR_UNAVAILABLE: there is nothing to check here */
    bool hangs;       /* a hook did not return */
    bool cut_short;   /* its time was over, though every hook returned */
    /* where it is */
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
    size_t done;    /* of a trace that is carried out: operations begun */
    bool repeating; /* what is done is known and need not be noted */
    uint64_t inspections;
    /* ends the run; does not return */
    void (*give_up)(struct kit_witness *witness);
    struct kit_log log; /* last: its operations are not cleared between runs */
};

/* What is cleared between runs. */
#define KIT_WITNESS_CLEARED (offsetof(struct kit_witness, log) + offsetof(struct kit_log, ops))

/* Something worth knowing of a run that found nothing wrong: how far it came,
 * say. The last counts. */
void kit_note(struct kit_witness *witness, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes what is wrong and ends the run. */
noreturn void kit_fail(struct kit_witness *witness, enum fault_kind fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- the subject ----------------------------------------------------------------------------- */

enum kit_timer_state { KIT_TIMER_NEW, KIT_TIMER_PENDING, KIT_TIMER_FIRED, KIT_TIMER_STOPPED };

struct kit_timer {
    uint64_t due;
    uint64_t deadline;   /* as it was given */
    uint64_t started_at; /* the clock then */
    uint64_t early;      /* ticks that it may be early */
    uint64_t limit;      /* the last tick at which it may fire */
    uint64_t serial;     /* of its start */
    uint64_t fired_at;
    uint64_t filed_under; /* the earliest due tick since it fired: where restarts and stops are
                             looked at late, it may still be filed by that */
    enum kit_timer_state state;
};

struct kit_subject {
    const struct tl_algo *algo;
    struct kit_witness *witness;
    TL_OPTION_VALUES(options);
    TL_OPTION_VALUES(given); /* to create, and overwritten when it has returned */
    void *self;
    uint32_t instance; /* its number in the witness's log */
    struct kit_guard guard;
    struct kit_records_layout layout;     /* settable before create: where its timers lie */
    struct kit_records records;           /* of the caller's, where they lie in them */
    struct tl_records told;               /* to create and moved, and overwritten likewise */
    const struct tl_allocator *allocator; /* settable; NULL: the guard's */
    uint32_t capacity;
    uint32_t usable; /* ids at hand in `timers` and `urgency` */
    uint64_t clock;
    uint64_t pending;
    uint64_t serial; /* starts so far */
    struct kit_timer *timers;
    struct kit_urgency urgency; /* which pending timer must fire first */
    /* the advance under way */
    bool advancing;
    uint32_t firing; /* inside a callback: the timer */
    uint64_t budget;
    uint64_t fired;
    uint64_t first_serial_inside; /* of what its callbacks start */
    uint64_t last_due;
    uint64_t last_serial;
    uint64_t next_bound; /* what next said just before */
    /* what all advances fired, as a number that depends on ids, ticks and order */
    uint64_t fired_hash;
    uint64_t calls; /* of hooks that change something */
    /* the caller's part of the callback; may be NULL */
    void (*on_fire)(struct kit_subject *subject, uint32_t id);
    void *on_fire_ctx;
};

/* How create ended where the contract leaves a choice. */
enum kit_opened {
    KIT_OPENED,
    KIT_REFUSED, /* these options do not go together, or need more memory than is allowed */
    KIT_UNAVAILABLE,
};

/* Notes which hook is about to be called, for the case that it never returns. Called by the
 * functions below, and by whoever calls a hook that has none here. */
void kit_enter(struct kit_subject *subject, enum kit_hook hook, uint64_t id, uint64_t tick);

/* Readies a subject and its guard; subject_create then makes the structure. To be ended by
 * subject_destroy or subject_discard. */
void subject_init(struct kit_subject *subject, const struct tl_algo *algo, const void *options,
                  uint64_t limit_bytes, struct kit_witness *witness);
enum kit_opened subject_create(struct kit_subject *subject, uint32_t capacity, uint64_t now,
                               uint64_t max_delay_ticks);

/* Destroys the structure, and fails if memory is left or damaged. */
void subject_destroy(struct kit_subject *subject);

/* Frees the model and the guard of a subject whose structure was not made or is destroyed. */
void subject_discard(struct kit_subject *subject);

/* So many more requests for memory are granted; UINT64_MAX: any number. */
void subject_allow(struct kit_subject *subject, uint64_t grants);

/* Returns false if memory was refused by the guard, which leaves everything as it was. Of records,
 * a table that is too small is moved first. */
bool subject_reserve(struct kit_subject *subject, uint32_t capacity);

/* Moves the records, where there are any. */
void subject_move(struct kit_subject *subject);

/* TL_OK, TL_ERR_HORIZON or TL_ERR_FULL. */
enum tl_status subject_start(struct kit_subject *subject, uint32_t id, uint64_t deadline);

/* TL_OK or TL_IDLE. */
enum tl_status subject_stop(struct kit_subject *subject, uint32_t id);

/* Returns how many fired. Asks next before, where there is one. The budget is ignored for
 * structures that do not promise to keep it. */
uint64_t subject_advance(struct kit_subject *subject, uint64_t now, uint64_t budget);

/* What next says; only for structures with TL_CAP_NEXT. */
uint64_t subject_next(struct kit_subject *subject);

/* Looks at the guards of its memory and of the caller's. */
void subject_check_memory(struct kit_subject *subject);

/* The structure's own check, the guards', and, with walk, whether it agrees about each timer. */
void subject_inspect(struct kit_subject *subject);

/* Drives the clock on until every pending timer must have fired, part of the way by next where
 * there is one. */
void subject_drain(struct kit_subject *subject);

/* What the model has taken by way of malloc. */
uint64_t subject_model_bytes(const struct kit_subject *subject);

/* Whether the structure promises that. */
bool subject_can(const struct kit_subject *subject, uint32_t capabilities);

/* A small generator of the usual kind (splitmix64): the next number after *state. */
uint64_t kit_random(uint64_t *state);

#endif
