/*
 * gen.h: workloads, that is, models whose timer operations become a trace. A workload is a constant
 * struct gen_workload in a file gen_*.c, and a line in the table in gen.c; the command, its help
 * and the tests come from the table. gen_model.h holds what their models share.
 *
 * A model is in its steady state before anything is recorded. The trace then opens with a warm-up
 * section: the starts of the timers pending at that moment, each at the tick and with the delay it
 * was really last started with, so that every structure comes to hold what it would hold, without
 * a rush of starts at one tick. The recorded operations follow.
 *
 * Several workloads can share a trace, each a part with timers of its own.
 */
#ifndef SIM_GEN_H
#define SIM_GEN_H

#include "error.h"
#include "timerlab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No workload has more parameters. Their values are an array of doubles. */
#define GEN_PARAMETERS_MAX 48

/* A row of a workload's table of parameters: its place in the values, name with its unit, default,
 * range, help, and where the default comes from. GEN_WORD takes words instead of numbers. */
#define GEN_REAL(code, name, value, least, most, help, source)                                     \
    GEN_ROW(code, name, value, least, most, NULL, help, source)
#define GEN_WORD(code, name, value, words, help, source)                                           \
    GEN_ROW(code, name, value, 1, 0, words, help, source)
#define GEN_ROW(code, name, value, least, most, words, help, source)                               \
    [code] = {name, TL_OPTION_REAL, (code) * sizeof(double), value, least,                         \
              most, words,          help " (" source ")"}

/* The first rows of every workload's table: the timers' slack, and the length of a tick. */
#define GEN_SLACK   0
#define GEN_TICK_US 1
#define GEN_TICK_US_ROWS(default_us, source)                                                       \
    GEN_REAL(GEN_SLACK, "slack", 0, 0, 1e6, "how late a timer may fire, as a share of its delay",  \
             "chosen"),                                                                            \
        GEN_REAL(GEN_TICK_US, "tick_us", default_us, 1, 1e6, "length of a tick", source)

struct gen_model;
struct gen_pending_list;

struct gen_workload {
    const char *name;
    const char *summary;
    const char *stresses;               /* what in a timer structure it is hard on */
    const char *resembles;              /* whose traffic */
    const struct tl_option *parameters; /* of GEN_REAL and GEN_WORD; ends with {0} */
    uint32_t max_connections;

    /* The timers that each connection has, and what is counted while recording; ended by NULL. */
    const char *const *kinds;
    bool ids_when_used; /* a timer that is never started has no id */
    const char *const *counts;

    /* What the model keeps of its own: zeroed memory at model->state, while the model lives. */
    size_t state_bytes;

    /* Makes a model: checks the parameters against one another, fills in the state, and sets what
     * else gen_model.h asks for. */
    bool (*create)(struct gen_model *model);

    /* Simulates the ticks before `end`, from where it last stopped. */
    bool (*simulate)(struct gen_model *model, uint64_t end);

    /* Lists a connection's pending timers. NULL: the state's records begin with them. */
    void (*pending)(const struct gen_model *model, uint32_t number, struct gen_pending_list *list);
};

/* The workloads; *count is set to how many. */
const struct gen_workload *const *gen_workloads(size_t *count);

/* The workload of that name; NULL, with the nearest name in `error`. */
const struct gen_workload *gen_find(const char *name, struct error *error);

/* Sets all to their defaults; `values` has GEN_PARAMETERS_MAX elements. */
void gen_parameters_default(const struct gen_workload *workload, double *values);

/* Applies "name=value". False, with the reason, for an unknown name or a value out of range. */
bool gen_parameter_set(const struct gen_workload *workload, double *values, const char *text,
                       struct error *error);

/* One workload's share of a trace. */
struct gen_part {
    const struct gen_workload *workload;
    uint32_t connections; /* 1 .. workload->max_connections */
    double parameters[GEN_PARAMETERS_MAX];
};

/* Applies settings of the form name=value to the defaults. False, with the reason, as
 * gen_parameter_set has it, and if one is set twice. */
bool gen_parameters_set(const struct gen_workload *workload, double *values,
                        const char *const *settings, size_t count, struct error *error);

/* What a trace's timers are called in a whole of which it is some parts. */
struct gen_names {
    uint64_t *names; /* of each id; to be freed */
    uint32_t room;
};

/* What is to be generated. */
struct gen_request {
    const struct gen_part *parts; /* all with the same tick_us; their ids follow one another */
    size_t part_count;            /* at least 1 */
    double seconds;               /* more than 0 */
    uint64_t seed;                /* at most INT64_MAX: it is kept in the trace's origin */

    /* If these are some of a whole's parts, such as one machine generates: what is generated of a
     * part is the same whatever others there are. */
    const uint32_t *numbers;     /* of each part, its place in the whole; NULL: it is the whole */
    uint32_t whole_parts;        /* number of them in it; 0: it is the whole */
    uint64_t least_warmup_ticks; /* the trace's warm-up is no shorter */
    struct gen_names *names; /* what each id is called in the whole: whole_parts times its place in
                                its part, and the part's number; NULL: not wanted */
};

/* What was generated. */
struct gen_summary {
    uint64_t generated_events; /* simulated, the unrecorded warm-up included */
    uint64_t recorded_events;  /* in the file */
};

/* Generates a trace at `path`. On failure nothing is left behind. */
bool gen_trace(const struct gen_request *request, const char *path, struct gen_summary *summary,
               struct error *error);

#endif
