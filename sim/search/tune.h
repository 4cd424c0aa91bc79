/*
 * tune.h: which structure, with which options, for this trace.
 *
 *   count    every structure with its default options is replayed once, checked and counted; then
 *            options are varied one at a time, from what was best, as long as the counts get better
 *   time     the best of each structure is timed, a run or two each; what is far behind is left out
 *   refine   the options of the first few are varied once more, now by the clock, which knows of
 *            caches
 *   final    the first few are run side by side, some rounds, which say how sure it is
 *
 * Of a long trace only the beginning of its timed window, behind all of its warm-up, is searched
 * with; the final runs have all of it.
 *
 * Counts come first because they are free of noise, the same everywhere, and one replay is enough;
 * but a structure is chosen by time. What differs by less than TUNE_PRACTICAL is one answer:
 * options that gain no more are left as they were, and round numbers go before others. What breaks
 * a limit is left out, and says which one it was; what would do the least if timers might be later
 * is run side by side with the best, and named. If timers may be late, the best is also replayed by
 * a loop that polls as seldom as that allows; it is named if it wakes up less often.
 *
 * Who fires fewer timers, or leaves operations undone that their firings cause, does less: work and
 * time are those for as many operations and firings as an exact structure has of the trace.
 * Nothing here knows a structure by name: what there is to vary stands in its table of options.
 */
#ifndef SIM_TUNE_H
#define SIM_TUNE_H

#include "catalog.h"
#include "error.h"
#include "judge.h"
#include "replay.h"
#include "results.h"
#include "tolerance.h"
#include "trace_info.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A difference, as a share, that does not matter in practice: who is not shown to take longer by
 * more than that is as good, and the answer is the smallest, the one that wakes up least often, or
 * at last the plainest of these. */
#define TUNE_PRACTICAL 0.05

/* What a structure must keep to. */
struct tune_limits {
    uint64_t late_ticks;  /* so late after its due tick it may promise to fire timers as the trace
                             has them */
    uint64_t early_ticks; /* so early */
    bool exact;           /* neither, whatever the trace */
    uint64_t bytes;       /* the most memory at any time; UINT64_MAX: any */
    uint64_t stall_ns;    /* the longest single advance, median of the runs; UINT64_MAX: any */
    double wakeups_per_s; /* in the trace's own time; infinite: any */
};

struct tune_request {
    const char *trace_path;
    const struct contender_list *structures; /* each with the options to begin with */
    bool vary;                               /* the options; false: take them as they are */
    struct tune_limits limits;
    struct replay_drive drive;
    bool by_counts;        /* choose by counts alone: no times are taken */
    double budget_seconds; /* about how long it may take; the counting of defaults is always done */
    const struct tl_algo *floor;
    double timeout_seconds;       /* of one pass while searching: what takes longer is out */
    double final_timeout_seconds; /* of one pass of those that are left */
    uint64_t memory_limit_bytes;
    void (*tell)(void *ctx, const char *what); /* at the begin of each stage; may be NULL */
    void *tell_ctx;
};

/* How far a candidate came. */
#define TUNE_STAGE_MAP(X)                                                                          \
    X(TUNE_COUNTED, "counted")                                                                     \
    X(TUNE_TIMED, "timed")                                                                         \
    X(TUNE_FINAL, "final")

enum tune_stage {
#define TUNE_STAGE_ENUM(code, word) code,
    TUNE_STAGE_MAP(TUNE_STAGE_ENUM)
#undef TUNE_STAGE_ENUM
};

/* One structure with options. */
struct tune_candidate {
    struct contender contender;
    size_t structure; /* which of the request's it is */
    enum tune_stage stage;
    bool counted;      /* the figures below are there */
    bool too_slow;     /* not counted, because it took too long */
    uint64_t events;   /* carried out in the window: of the trace, or of its beginning */
    char why_not[200]; /* the limit that it breaks, or why it could not be judged; "": none */
    bool only_late;    /* it breaks that for lateness alone, and no other */
    double done;       /* operations carried out and timers fired in the window: their share of
                          what an exact structure has of both */
    double cost;       /* work per operation by the counts; NAN if it does not count */
    struct firing firing;
    uint64_t early_promise; /* at most, for delays as the trace has them */
    uint64_t late_promise;
    uint64_t bytes_peak;
    double bytes_per_timer;
    uint64_t wakeups;
    double wakeups_per_s; /* in the trace's time */
    struct tl_counters work;
    double ns;            /* of the processor's time per operation: of its final runs the median, of
                             the few before the least; NAN: not timed */
    double *ns_per_event; /* of each run of its last stage, in the order of the rounds */
    size_t run_count;
    double stall_ns; /* NAN: not measured */
};

/* Whether it was counted, and breaks no limit. */
bool tune_candidate_fits(const struct tune_candidate *candidate);

/* How the winner is known to be better than the second. */
#define TUNE_CERTAINTY_MAP(X)                                                                      \
    X(TUNE_ALONE, "alone", "nothing else keeps to the limits")                                     \
    X(TUNE_COUNTED_ONLY, "counts", "judged by counts alone: no times were taken")                  \
    X(TUNE_SURE, "sure", "faster in runs side by side, beyond their spread")                       \
    X(TUNE_TIED, "tied", "not shown to be slower by 5 % and more; chosen for what else it costs")

enum tune_certainty {
#define TUNE_CERTAINTY_ENUM(code, word, text) code,
    TUNE_CERTAINTY_MAP(TUNE_CERTAINTY_ENUM)
#undef TUNE_CERTAINTY_ENUM
};

/* Another loop around the best structure. */
struct tune_loop {
    struct replay_drive drive;
    double wakeups_per_s; /* in the trace's time */
    uint64_t lateness_max_ticks;
};

struct tune_result {
    struct trace_info info;
    uint64_t tick_ns;
    uint64_t ids;
    bool open_loop;       /* it does not say what a firing causes */
    double trace_seconds; /* that its timed window lasts, in its own time */
    struct tune_candidate *candidates;
    size_t candidate_count;
    const struct tune_candidate *best;   /* NULL: nothing keeps to the limits */
    const struct tune_candidate *second; /* NULL: there is no other */
    enum tune_certainty certainty;
    bool judged;                        /* both were timed side by side: */
    struct judgement difference;        /* how much longer the second takes than the best */
    char tie_break[64];                 /* TUNE_TIED: what decided */
    const struct tune_candidate *later; /* does less, or is faster, and only late; NULL: none */
    bool later_judged;                  /* it was timed beside the best: */
    struct judgement later_difference;  /* how much longer it takes than the best: less */
    struct tune_loop
        loop; /* wakes up less often than by `sleep`, and keeps to the limit on lateness */
    bool loop_found;
    uint64_t search_events; /* operations of the window that were searched with */
    bool wrong;             /* a structure was wrong, or crashed */
    bool out_of_time;       /* the budget ended the search before it was through */
};

/* Searches. False with `error` set if the trace cannot be read, or memory or processes fail; that
 * nothing keeps to the limits is a result. */
bool tune(const struct tune_request *request, struct tune_result *result, struct error *error);

void tune_result_free(struct tune_result *result);

/* The answer in words and numbers, then a table of what was tried. */
void tune_write_text(const struct tune_request *request, const struct tune_result *result,
                     FILE *stream);

/* The same as a JSON object, which the caller owns; takes no reference to `context`. */
json_t *tune_json(const struct tune_request *request, const struct tune_result *result,
                  const json_t *context);

#endif
