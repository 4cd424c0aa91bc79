/*
 * compare.h: comparison of sets of results: pairs, verdicts, and warnings.
 *
 * Times are judged statistically (judge.h); deterministic figures, such as counts of work, are
 * compared exactly. The results show how the runs of two sides are paired: structures of one run of
 * `timerlab sim` took turns, so their runs are pairs. The sessions of two sets are pairs if their
 * dates show that they alternated. All other measurements are unpaired.
 *
 * A late structure does less work (tolerance.h), so it is never called faster than a different
 * structure within the tolerance.
 */
#ifndef SIM_COMPARE_H
#define SIM_COMPARE_H

#include "error.h"
#include "judge.h"
#include "result_set.h"
#include "tolerance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* X(code, word) */
#define COMPARE_STATUS_MAP(X)                                                                      \
    X(COMPARE_JUDGED, "judged")                                                                    \
    X(COMPARE_REFUSED, "refused")     /* too few runs to be judged */                              \
    X(COMPARE_MISSING, "missing")     /* one side does not have it */                              \
    X(COMPARE_LEFT_OUT, "skipped")    /* one side did not run it, which is no fault */             \
    X(COMPARE_FAILED, "failed")       /* one side is not ok */                                     \
    X(COMPARE_UNLIKE, "not the same") /* the traces of the two sides differ */

#define COMPARE_VERDICT_MAP(X)                                                                     \
    X(VERDICT_NONE, "-")                                                                           \
    X(VERDICT_FASTER, "faster")                                                                    \
    X(VERDICT_SLOWER, "slower")                                                                    \
    X(VERDICT_CANNOT_TELL, "cannot tell")                                                          \
    X(VERDICT_NOT_PUNCTUAL, "not punctual") /* the faster structure fires late, or early */

#define COMPARE_METHOD_MAP(X)                                                                      \
    X(METHOD_NONE, "-")                                                                            \
    X(METHOD_PAIRED_RUNS, "paired runs")                                                           \
    X(METHOD_PAIRED_SESSIONS, "paired sessions")                                                   \
    X(METHOD_APART, "measured apart")

#define COMPARE_CORRECTION_MAP(X)                                                                  \
    X(CORRECTION_HOLM, "holm")                                                                     \
    X(CORRECTION_BH, "bh")                                                                         \
    X(CORRECTION_NONE, "none")

#define COMPARE_ENUM(code, word) code,
enum compare_status { COMPARE_STATUS_MAP(COMPARE_ENUM) COMPARE_STATUSES };
enum compare_verdict { COMPARE_VERDICT_MAP(COMPARE_ENUM) VERDICTS };
enum compare_method { COMPARE_METHOD_MAP(COMPARE_ENUM) METHODS };
enum compare_correction { COMPARE_CORRECTION_MAP(COMPARE_ENUM) CORRECTIONS };
#undef COMPARE_ENUM

/* A structure, as NAME[:option=value...] names it: without options, with its defaults. */
struct compare_structure {
    char algo[128];
    char options[384];
};

/* False, with `error` set, if it is too long or empty. */
bool compare_structure_parse(struct compare_structure *structure, const char *text,
                             struct error *error);

/* One side: a set, or one structure of it. */
struct compare_side {
    const struct result_set *set;
    bool one; /* only this structure: */
    struct compare_structure structure;
    char label[512];
};

struct compare_request {
    /* Sets: the first against each other one. Or, by structure: the structures of each. */
    const struct compare_side *sides;
    size_t side_count;
    bool by_algo;
    bool in_turn; /* the n-th sessions of all sets were made one after the other, whatever their
                     dates */
    const struct compare_structure
        *base; /* by structure: the one to compare with; NULL: the first */
    const struct compare_structure *only; /* structures to take part; none given: all */
    size_t only_count;
    const char *const *workloads; /* patterns of fnmatch; none given: all */
    size_t workload_count;
    const char *const *metrics; /* figures to judge; none given: the time */
    size_t metric_count;
    bool all_counts; /* also of two different structures, which do different work by nature */
    struct tolerance max_lateness;
    double confidence;
    double min_effect; /* negative: one of the COMPARE_MIN_EFFECT_... */
    enum compare_correction correction;
};

/* What counts as no difference, as a share. The layout of code and data in memory alone moves times
 * by a percent. Between runs that were made apart the machine has changed too; five and more on a
 * side show by how much. One run a side shows nothing of that: the same binary differed by up to
 * 35 % between such runs. */
#define COMPARE_MIN_EFFECT_PAIRED  0.01
#define COMPARE_MIN_EFFECT_APART   0.05
#define COMPARE_MIN_EFFECT_ONE_RUN 0.50

/* One measurement of one side: the same row in each session that has it. Texts belong to the set. */
struct measured {
    const struct compare_side *side;
    const struct row_kind *kind;
    const char *workload;
    const char *algo;
    const char *options;
    const struct row *row; /* of the first session that has it: its checksum and counts stand for
                              all; NULL: the side does not have it */
    const json_t *trace;   /* the context of its trace; NULL: unknown */
    double tick_ns;        /* of its trace; NAN: unknown */
    struct firing firing;  /* unknown of a benchmark */
    bool yardstick;        /* fires nothing */
};

/* One figure of one measurement. */
struct comparison {
    struct measured base;
    struct measured other;
    const char *metric; /* "" where there was nothing to choose it by */
    enum compare_status status;
    bool other_failed; /* of COMPARE_FAILED: while the base did not */
    char reason[1024]; /* of a status that is not judged, or of a verdict that was out of reach */
    enum compare_method method;
    size_t base_runs;
    size_t other_runs;
    size_t base_values; /* samples that are judged: runs, or sessions */
    size_t other_values;
    double base_median; /* NAN where there are no runs */
    double other_median;
    struct judgement judgement; /* if judged */
    double p_adjusted;
    bool one_run; /* one process a side, at different times: COMPARE_MIN_EFFECT_ONE_RUN holds */
    enum compare_verdict verdict;
};

/* A count that is not the same on both sides. */
struct compare_difference {
    struct measured measured; /* the other side's */
    const char *name;
    double base; /* whole numbers, or bytes per timer */
    double other;
};

struct comparisons {
    const struct compare_request *request;
    struct comparison *items;
    size_t count;
    struct compare_difference *differences;
    size_t difference_count;
    size_t equal_counts; /* counts that were compared and are the same */
    size_t judged;       /* probabilities adjusted for multiple comparisons */
    char **warnings;     /* sentences */
    size_t warning_count;
};

/* Compare. Return false, with `error` set, if nothing is there to be compared. The request must
 * outlive the comparisons. */
bool compare_results(const struct compare_request *request, struct comparisons *comparisons,
                     struct error *error);

void comparisons_free(struct comparisons *comparisons);

/* How much longer than the base's the other side takes, as a share of the base's time: the change,
 * for a rate that of its inverse. */
double compare_slowdown(const struct comparison *comparison);

/* Print the comparisons, the counts that differ, and a summary: in aligned columns, or as Markdown,
 * which also has the warnings. */
void compare_print(const struct comparisons *comparisons, bool markdown, FILE *stream);

/* Print an object {schema, base, confidence, correction, warnings, comparisons, counts, summary}; a
 * number that there is none for is null. Return false if a name is not UTF-8, which JSON
 * requires. */
bool compare_print_json(const struct comparisons *comparisons, FILE *stream);

#endif
