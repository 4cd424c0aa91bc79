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
 * Of a long trace only the beginning of its timed window, after all of its warm-up, is searched
 * with; the final runs have all of it, if the budget allows that. Each stage tries only what fits
 * into its share of the budget.
 *
 * Counts come first because they are free of noise, the same everywhere, and one replay is enough;
 * but a structure is chosen by time. What differs by less than TUNE_PRACTICAL is one answer:
 * options that gain no more are left as they were, and round numbers go before others. What breaks
 * a limit is left out, and says which one it was; what would do the least if timers might be later
 * is run side by side with the best, and named. If timers may be late, the best is also replayed by
 * a loop that polls as seldom as that allows, and if they have slack, by one that makes use of it.
 * What wakes up least often is named.
 *
 * Who fires fewer timers, or leaves operations undone that their firings cause, does less: work and
 * time are those for as many operations and firings as an exact structure has of the trace.
 * Nothing here knows a structure by name: what there is to vary stands in its table of options.
 */
#ifndef SIM_TUNE_H
#define SIM_TUNE_H

#include "answer.h"
#include "catalog.h"
#include "error.h"
#include "replay.h"
#include "results.h"
#include "tolerance.h"
#include "trace_info.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A difference, as a share of the time or of the work, that does not matter in practice. */
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
    double budget_seconds; /* how long it may take: what does not fit is not tried */
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
    double wakeups_per_s; /* in the trace's time */
    double ns;            /* processor time per operation; NAN: not timed */
    struct row *row;      /* of its last stage: its times are for as many operations and expiries as
                             an exact structure has; NULL: none */
};

/* Whether it was counted, and breaks no limit. */
bool tune_candidate_fits(const struct tune_candidate *candidate);

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
    bool has_slack;       /* some timer of the trace has */
    bool open_loop;       /* it does not say what a firing causes */
    double trace_seconds; /* that its timed window lasts, in its own time */
    struct tune_candidate *candidates;
    size_t candidate_count;
    char *trace;                        /* its name */
    struct row *rows;                   /* of the structures that were run side by side at last */
    struct answer answer;               /* from these */
    const struct tune_candidate *best;  /* the pick; NULL: nothing keeps to the limits */
    const struct tune_candidate *later; /* is faster, or does less, but only late; NULL: none */
    struct tune_loop
        loop; /* wakes up less often than by `sleep`, and keeps to the limit on lateness */
    bool loop_found;
    uint64_t search_events; /* operations of the window that were searched with */
    bool decided_with_all;  /* false: time allowed only these */
    bool wrong;             /* a structure was wrong, or crashed */
    bool out_of_time;       /* the budget ended the search before it was through */
};

/* Searches. False with `error` set if the trace cannot be read, or memory or processes fail; that
 * nothing keeps to the limits is a result. */
bool tune(const struct tune_request *request, struct tune_result *result, struct error *error);

void tune_result_free(struct tune_result *result);

/* The answer, what led to it, and a table of what was tried; on a terminal the table first. */
void tune_write_text(const struct tune_request *request, const struct tune_result *result,
                     FILE *stream);

/* The same as a JSON object, which the caller owns; takes no reference to `context`. */
json_t *tune_json(const struct tune_result *result, const json_t *context);

#endif
