/*
 * answer.h: the answer of a comparison on one trace: which structure to take, how certain that is,
 * its cost at the trace's own rate, and other structures for special needs. Computed once from
 * typed rows.
 *
 * A row competes if the structure had no fault, was timed, is no baseline, and declares to fire
 * neither early nor later than the caller tolerates. Structures are ranked by processor time per
 * operation. Two structures are tied unless their runs show a difference (judge.h).
 */
#ifndef SIM_ANSWER_H
#define SIM_ANSWER_H

#include "results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A saving below this share of one core does not decide. */
#define ANSWER_CORE_SHARE_MIN 0.01

struct answer_trace {
    const char *name;        /* as in column `trace` */
    double window_seconds;   /* length of the timed window; NAN or 0: unknown */
    uint64_t max_late_ticks; /* declared lateness that the caller tolerates */
    uint64_t max_early_ticks;
    double min_effect; /* a difference, as a share of the time, that does not matter; 0: that of
                          judge.h's callers, 1 % of pairs and 5 % of samples */
    bool by_counts;    /* the rows' ns_per_event is counted work, without runs or noise */
};

enum answer_certainty {
    ANSWER_NONE,     /* no row competes */
    ANSWER_ALONE,    /* one row competes */
    ANSWER_COUNTED,  /* by counts alone; `tied` are within `min_effect` of the least */
    ANSWER_FEW_RUNS, /* fewer than JUDGE_RUNS_MIN runs: no difference can be shown */
    ANSWER_NOISY,    /* the runs vary too much to exclude a row that measured much slower */
    ANSWER_TIED, /* at least one other row measured about as fast, and is not shown to be slower */
    ANSWER_SURE,
};

/* A row that competes. */
struct answer_entry {
    const struct row *row;
    double ns;         /* processor time per operation */
    double core_share; /* of one core, at the trace's rate, without the replay's own time; NAN:
                          the rate is unknown */
    bool tied;         /* measured about as fast as the fastest, and not shown to be slower */
};

/* What another structure may be taken for. */
enum answer_need {
    ANSWER_UNBOUNDED, /* deadlines without a horizon */
    ANSWER_SLEEP,     /* returns the next expiry, so that the loop can sleep until then */
    ANSWER_ORDER,     /* fires the timers of one tick in the order of their starts */
    ANSWER_MEMORY,
    ANSWER_WAKEUPS,
    ANSWER_PAUSE, /* shortest longest pause, if latencies were measured */
    ANSWER_NEEDS
};

struct answer {
    struct answer_trace trace;
    enum answer_certainty certainty;
    struct answer_entry *entries; /* all that compete: the pick, those tied with it, the others by
                                     their time */
    size_t count;
    size_t tied; /* how many of the entries are tied, the pick included; 1: none */
    const struct row *not_excluded; /* the first that measured much slower, but is not shown to be
                                       slower; NULL: none */
    const char *reason; /* what decided among tied structures: a clause; NULL: none are tied */
    double rate;        /* operations per second in the trace's own time; NAN: unknown */
    const struct row *for_need[ANSWER_NEEDS]; /* NULL: the pick serves that need best, or no row is
                                                 better by more than a fifth */
    const struct row *faster_late; /* the fastest row that is shown to be faster than all entries,
                                      but fires later than tolerated, or early; NULL: none */
    double wall_excess;   /* of the entries' wall time over their processor time, as a share */
    unsigned unsupported; /* rows of the trace that do not compete, and why */
    unsigned failed;
    unsigned untimed;      /* checked only; baselines are not counted */
    bool idle_window;      /* some untimed row has no operation in the timed window */
    unsigned not_punctual; /* were timed, but fire later than tolerated, or early */
};

/* Compute the answer for one trace. The rows must outlive it. Rows of other traces are ignored.
 * Free it with answer_free. */
void answer_make(const struct results *results, const struct answer_trace *trace,
                 struct answer *answer);
void answer_free(struct answer *answer);

/* The width of a page that is no terminal. */
#define ANSWER_WIDTH 80

/* Write the answer: at most 20 lines, of at most `width` columns (at least 60) but for longer
 * names. */
void answer_write(const struct answer *answer, size_t width, FILE *stream);

/* Make, write and free the answer for one trace, as wide as the terminal. */
void answer_print(const struct results *results, const struct answer_trace *trace, FILE *stream);

/* The parts of the answer, for pages. `code` is put around each name of a structure: "" or a mark.
 * The pick and its cost at the trace's rate, a line each: */
void answer_write_pick(const struct answer *answer, const char *code, FILE *stream);
/* Faster structures that are late, a busy machine, and structures that are not ranked, a line
 * each. */
void answer_write_notes(const struct answer *answer, const char *code, FILE *stream);
/* "least memory", and "NAME, 1 MB instead of 2 MB" for a need that has a row: */
const char *answer_need_words(enum answer_need need);
void answer_write_need(const struct answer *answer, enum answer_need need, const char *code,
                       FILE *stream);

/* How many entries an answer shows. */
#define ANSWER_ENTRIES_SHOWN 5u

#endif
