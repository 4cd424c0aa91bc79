/*
 * gen.h: workloads: models that generate the timer operations of a trace. A workload is a constant
 * struct gen_workload in a file gen_*.c, and a line in the table in gen.c, from which the command,
 * its help and the tests take it. gen_model.h holds the code that models share.
 *
 * A model is in its steady state before recording begins. The trace opens with a warm-up section:
 * the starts of the timers pending at that moment, each at the tick and with the delay of its last
 * start, so that every structure holds them without a rush of starts at one tick. The recorded
 * operations follow.
 *
 * Several workloads can form one trace, each as a part with its own timers.
 */
#ifndef SIM_GEN_H
#define SIM_GEN_H

#include "error.h"
#include "timerlab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Upper bound of a workload's parameters. Their values are an array of doubles. */
#define GEN_PARAMETERS_MAX 48

/* A row of a workload's table of parameters: its index in the values, name with its unit, default,
 * range, help, and source of the default. GEN_WORD takes words instead of numbers. */
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

struct gen_workload {
    const char *name;
    const char *summary;
    const char *stresses;               /* the properties of a structure that it is hard on */
    const char *resembles;              /* a kind of program with such traffic */
    const struct tl_option *parameters; /* of GEN_REAL and GEN_WORD; ends with {0} */
    uint32_t max_connections;

    /* The kinds of timers of each connection, and the counters of the recording; end with NULL. */
    const char *const *kinds;
    bool ids_when_used; /* a timer that is never started has no id */
    const char *const *counts;

    /* Size of the model's own state: zeroed memory at model->state. */
    size_t state_bytes;

    /* Make a model: check the parameters, fill in the state, and set the members that gen_model.h
     * names. */
    bool (*create)(struct gen_model *model);

    /* Put a connection into the state in which the model begins, at model->ring.now. */
    void (*place)(struct gen_model *model, void *record);

    /* Visit a connection at a tick at which a timer of it is due, or its event, or a herd affects
     * it. */
    void (*visit)(struct gen_model *model, uint64_t now, void *record);
};

extern const struct gen_workload gen_server;
extern const struct gen_workload gen_idle;
extern const struct gen_workload gen_rpc;
extern const struct gen_workload gen_tcp;
extern const struct gen_workload gen_quic;
extern const struct gen_workload gen_heartbeat;
extern const struct gen_workload gen_delay_queue;
extern const struct gen_workload gen_retry;
extern const struct gen_workload gen_hold;
extern const struct gen_workload gen_phold;
extern const struct gen_workload gen_burst;
extern const struct gen_workload gen_adversary;

/* Return the workloads; *count is set to their number. */
const struct gen_workload *const *gen_workloads(size_t *count);

/* Return the workload of that name; NULL, with the nearest name in `error`. */
const struct gen_workload *gen_find(const char *name, struct error *error);

/* Set all parameters to their defaults; `values` has GEN_PARAMETERS_MAX elements. */
void gen_parameters_default(const struct gen_workload *workload, double *values);

/* Apply "name=value". False, with the reason, for an unknown name or a value out of range, or if it
 * is among those `given` before, unless that is NULL. */
bool gen_parameter_set(const struct gen_workload *workload, double *values, const char *text,
                       uint64_t *given, struct error *error);

/* One workload in a trace. */
struct gen_part {
    const struct gen_workload *workload;
    uint32_t connections; /* 1 .. workload->max_connections */
    double parameters[GEN_PARAMETERS_MAX];
};

/* Apply settings of the form name=value to the defaults. False, with the reason, as
 * gen_parameter_set, and also if one is set twice. */
bool gen_parameters_set(const struct gen_workload *workload, double *values,
                        const char *const *settings, size_t count, struct error *error);

/* The names of a trace's timers in a whole of which it contains some parts. */
struct gen_names {
    uint64_t *names; /* of each id; to be freed */
    uint32_t room;
};

/* A trace to be generated. */
struct gen_request {
    const struct gen_part *parts; /* all with the same tick_us; their ids follow one another */
    size_t part_count;            /* at least 1 */
    double seconds;               /* more than 0 */
    uint64_t seed;                /* at most INT64_MAX: it is kept in the trace's origin */

    /* If these are some parts of a whole, for example those that one machine generates: the content
     * of a part does not depend on the other ones. */
    const uint32_t *numbers;     /* index of each part in the whole; NULL: it is the whole */
    uint32_t whole_parts;        /* number of them in it; 0: it is the whole */
    uint64_t least_warmup_ticks; /* lower bound of the trace's warm-up */
    struct gen_names *names;     /* the name of each id in the whole: whole_parts times its index in
                                its part, plus the part's number; NULL: not wanted */
};

struct gen_summary {
    uint64_t generated_events; /* simulated, the unrecorded warm-up included */
    uint64_t recorded_events;  /* in the file */
};

/* Generate a trace at `path`. On failure no file is left. */
bool gen_trace(const struct gen_request *request, const char *path, struct gen_summary *summary,
               struct error *error);

#endif
