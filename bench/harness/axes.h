/*
 * axes.h: the axes on which rows of suites differ: one table for the names of rows, the list of
 * forms, and the flags of the command line.
 */
#ifndef BENCH_AXES_H
#define BENCH_AXES_H

#include "command_option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rows may differ in. Each is a flag, too: --word=VALUE. X(code, word, from, to, of, what): an
 * axis takes the words of its forms, and the multiples of `of` within the bounds; `of` 0: a share
 * from 0 to 1, which is kept in millionths; `to` 0: words only. */
#define SUITE_AXIS_MAP(X)                                                                          \
    X(AXIS_JUMP, "jump", 1, TICKS_MAX, 1, "ticks that one advance passes over")                    \
    X(AXIS_ARRIVAL, "arrival", 0, 0, 0, "in which order of deadlines timers are started")          \
    X(AXIS_LONGEST, "longest", 1, 3600000, 1, "the longest delay")                                 \
    X(AXIS_DURATIONS, "durations", 0, 1000000, 1, "how many different delays there are")           \
    X(AXIS_CANCELLED, "cancelled", 0, 100, 1,                                                      \
      "timers that are stopped before they can fire, in percent")                                  \
    X(AXIS_FIELD, "bytes", 8, RECORD_BYTES_MAX, 8, "the size of one element")                      \
    X(AXIS_CLOCK, "clock", 0, 0, 0, "which clock")                                                 \
    X(AXIS_DELAYS, "delays", 0, 0, 0, "how long timers run")                                       \
    X(AXIS_ORDER, "order", 0, 0, 0, "which timer comes next")                                      \
    X(AXIS_EARLIER, "earlier", 0, STREAM_SHARE, 0,                                                 \
      "share of the restarts that go to an earlier tick")                                          \
    X(AXIS_CALLBACK, "callback", 0, 0, 0, "action of a timer's callback")                          \
    X(AXIS_EVERY, "every", 1, TICKS_MAX, 1, "ticks between two restarts of a timer, in the mean")  \
    X(AXIS_STEP, "step", 1, STREAM_STEP_MAX, 1, "ticks that each advance passes over")             \
    X(AXIS_TICK, "tick", 0, 0, 0, "length of a tick; delays stay the same in seconds")             \
    X(AXIS_WARM, "warm", 0, STREAM_WARM_MAX_TICKS, 1, "untimed ticks before the measured ones")    \
    X(AXIS_RECORD, "record", 0, RECORD_BYTES_MAX, 8,                                               \
      "bytes of a timer's connection; each operation touches the first and the last")              \
    X(AXIS_NODE, "node", 0, 0, 0, "where the structure's own bytes of a timer lie")                \
    X(AXIS_COLD, "cold", 0, COLD_MIB_MAX, 1, "MiB that other work writes between two advances")    \
    X(AXIS_PAGES, "pages", 0, 0, 0, "what backs the structure's memory")                           \
    X(AXIS_COMMIT, "commit", 1, COMMIT_MAX, 1, "operations in a commit")

enum suite_axis {
    AXIS_NONE, /* ends a list */
#define SUITE_AXIS_ENUM(code, word, from, to, of, what) code,
    SUITE_AXIS_MAP(SUITE_AXIS_ENUM)
#undef SUITE_AXIS_ENUM
        AXES
};

enum clock { CLOCK_THREAD, CLOCK_WALL, CLOCK_CYCLES };
enum pages { PAGES_HUGE, PAGES_SMALL };
enum callback { CALLBACK_COUNT, CALLBACK_RESTART };
enum node { NODE_OUT, NODE_IN, NODE_ABLE };
enum tick { TICK_1MS, TICK_1NS, TICK_1US, TICK_100MS };

/* A row of the map. */
struct axis {
    const char *word;
    const char *what;
    uint64_t from;
    uint64_t to;
    uint64_t of;
};

extern const struct axis axes[AXES];

/* A row's place on each axis; a share is in millionths. */
struct shape {
    uint64_t at[AXES];
};

/* A place on one axis. */
struct setting {
    enum suite_axis axis; /* AXIS_NONE ends a list */
    uint64_t value;
};

/* A form that is listed without being asked for. */
struct form {
    struct setting setting;
    const char *word; /* NULL ends a list */
    const char *what;
};

/* The first form of an axis is the plain one, where a suite says nothing else. */
extern const struct form forms[];

/* A setting's value as it is read. */
const char *axis_value(const struct setting *setting, char *text, size_t text_bytes);

/* Append an option for each axis to a table with room for them: each adds to the array of settings at
 * this place of the arguments. */
void axes_add_options(struct option_row *options, size_t settings_at);

#endif
