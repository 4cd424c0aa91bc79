/*
 * command_ranks.h: what `sim` takes and tells of a replay in shares: traffic that the ranks
 * generate, ranks that are played in turn, and what each of them had to do.
 */
#ifndef SIM_COMMAND_RANKS_H
#define SIM_COMMAND_RANKS_H

#include "command_option.h"
#include "share.h"
#include "simulate.h"
#include "simulate_ranks.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct crew_post;

struct command_ranks {
    struct crew_post *post; /* what brings ranks together; NULL: there is none but this */
    uint32_t in_turn;       /* 0: not asked for */
    const char *workload;   /* NULL: traces are given */
    uint32_t connections;
    uint32_t slice_connections;
    double seconds;
    uint64_t seed; /* UINT64_MAX: not given */
    struct word_list settings;
    struct share_traffic traffic;
    char label[96];        /* what the traffic is called */
    const char *labels[1]; /* this, in place of the traces */
};

/* Rows for the struct command_ranks `ranks` of a command's arguments. */
#define OPTION_ROWS_RANKS(type)                                                                    \
    {{"ranks-in-turn", 0, "R", 0,                                                                  \
      "Replay in R shares, each with some of the connections and a structure of its own, one "     \
      "after the other; times are then what R machines would take",                                \
      0},                                                                                          \
     OPTION_WHOLE(1, 100000),                                                                      \
     OPTION_AT(type, ranks.in_turn)},                                                              \
        {{"gen", 0, "WORKLOAD", 0,                                                                 \
          "Replay traffic that is generated share by share, instead of traces: slices of this "    \
          "workload, each with a seed of its own",                                                 \
          0},                                                                                      \
         OPTION_TEXT,                                                                              \
         OPTION_AT(type, ranks.workload)},                                                         \
        {{"connections", 'n', "N", 0, "Of --gen: how many connections (10000)", 0},                \
         OPTION_WHOLE(1, UINT32_MAX),                                                              \
         OPTION_AT(type, ranks.connections)},                                                      \
        {{"slice", 0, "N", 0, "Of --gen: connections in one slice, at most (65536)", 0},           \
         OPTION_WHOLE(1, UINT32_MAX),                                                              \
         OPTION_AT(type, ranks.slice_connections)},                                                \
        {{"seconds", 0, "S", 0, "Of --gen: how long, after the warm-up (10)", 0},                  \
         OPTION_SECONDS(1e-9, 1e9),                                                                \
         OPTION_AT(type, ranks.seconds)},                                                          \
        {{"seed", 0, "K", 0, "Of --gen: same seed, same traffic, whatever the ranks (1)", 0},      \
         OPTION_WHOLE(0, INT64_MAX),                                                               \
         OPTION_AT(type, ranks.seed)},                                                             \
    {                                                                                              \
        {"parameter", 'p', "NAME=VALUE", 0, "Of --gen: sets one of the workload's parameters", 0}, \
            OPTION_LIST, OPTION_AT(type, ranks.settings)                                           \
    }

/* Sees whether what was given goes together, beside so many traces, and fills in the rest. */
void command_ranks_complete(struct command_ranks *ranks, size_t traces, struct argp_state *state);

/* Whether the replay is one in shares, be it a single one of traffic that is no file. */
bool command_ranks_wanted(const struct command_ranks *ranks);

/* What each rank did: as CSV; and for people, with the largest against the mean of all. `ctx` is a
 * struct simulation. */
void command_ranks_write_csv(const void *ctx, FILE *stream);
void command_ranks_write_table(const struct simulation *simulation, FILE *stream);

/* Adds to the context of the results how many ranks there were, and how. */
void command_ranks_describe(const struct command_ranks *ranks, const struct simulate_ranks *they,
                            json_t *context);

#endif
