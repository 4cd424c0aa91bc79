/*
 * axes.h: the axes on which rows of suites differ: one table for the names of rows, the list of
 * forms, and the flags of the command line.
 */
#ifndef BENCH_AXES_H
#define BENCH_AXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum axis_kind {
    AXIS_WORD,  /* one of some words */
    AXIS_WHOLE, /* a whole number within bounds, or one of some words */
    AXIS_SHARE, /* from 0 to 1; kept in millionths */
};

/* What rows may differ in. Each is a flag, too: --word=VALUE. X(code, word, kind, what) */
#define SUITE_AXIS_MAP(X)                                                                          \
    X(AXIS_JUMP, "jump", AXIS_WHOLE, "ticks that one advance passes over")                         \
    X(AXIS_ARRIVAL, "arrival", AXIS_WORD, "in which order of deadlines timers are started")        \
    X(AXIS_LONGEST, "longest", AXIS_WHOLE, "the longest delay")                                    \
    X(AXIS_DURATIONS, "durations", AXIS_WHOLE, "how many different delays there are")              \
    X(AXIS_CANCELLED, "cancelled", AXIS_WHOLE,                                                     \
      "timers that are stopped before they can fire, in "                                          \
      "percent")                                                                                   \
    X(AXIS_FIELD, "bytes", AXIS_WHOLE, "the size of one element")                                  \
    X(AXIS_CLOCK, "clock", AXIS_WORD, "which clock")                                               \
    X(AXIS_DELAYS, "delays", AXIS_WORD, "how long timers run")                                     \
    X(AXIS_ORDER, "order", AXIS_WORD, "which timer comes next")                                    \
    X(AXIS_EARLIER, "earlier", AXIS_SHARE, "share of the restarts that go to an earlier tick")     \
    X(AXIS_CALLBACK, "callback", AXIS_WORD, "action of a timer's callback")                        \
    X(AXIS_EVERY, "every", AXIS_WHOLE, "ticks between two restarts of a timer, in the mean")       \
    X(AXIS_STEP, "step", AXIS_WHOLE, "ticks that each advance passes over")                        \
    X(AXIS_TICK, "tick", AXIS_WORD, "length of a tick; delays stay the same in seconds")           \
    X(AXIS_WARM, "warm", AXIS_WHOLE, "untimed ticks before the measured ones")                     \
    X(AXIS_RECORD, "record", AXIS_WHOLE,                                                           \
      "bytes of a timer's connection; each operation touches the first and the last")              \
    X(AXIS_NODE, "node", AXIS_WORD, "where the structure's own bytes of a timer lie")              \
    X(AXIS_COLD, "cold", AXIS_WHOLE, "MiB that other work writes between two advances")            \
    X(AXIS_PAGES, "pages", AXIS_WORD, "what backs the structure's memory")                         \
    X(AXIS_COMMIT, "commit", AXIS_WHOLE, "operations in a commit")

enum suite_axis {
    AXIS_NONE, /* ends a list */
#define SUITE_AXIS_ENUM(code, word, kind, what) code,
    SUITE_AXIS_MAP(SUITE_AXIS_ENUM)
#undef SUITE_AXIS_ENUM
        AXES
};

enum clock { CLOCK_THREAD, CLOCK_WALL, CLOCK_CYCLES };
enum pages { PAGES_HUGE, PAGES_SMALL };
enum callback { CALLBACK_COUNT, CALLBACK_RESTART };
enum node { NODE_OUT, NODE_IN, NODE_ABLE };
enum tick { TICK_1MS, TICK_1NS, TICK_1US, TICK_100MS };

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
    const char *word;
    const char *what;
};

/* Form `index`; NULL after the last. The first of an axis is the plain one, where a suite says
 * nothing else. */
const struct form *form_at(size_t index);

enum { FORMS_MAX = 128 };

/* Every axis at its first form. */
struct shape axes_plain(void);

/* Return the word of an axis, and its meaning. */
const char *axis_word(enum suite_axis axis);
const char *axis_what(enum suite_axis axis);

/* The axis of that word; AXIS_NONE if there is none. */
enum suite_axis axis_find(const char *word);

/* A setting's value as it is read. */
const char *axis_value(const struct setting *setting, char *text, size_t text_bytes);

/* Write the values that an axis accepts, for help and messages: "from 1 to 1000", "random, forward
 * or hot". */
const char *axis_takes(enum suite_axis axis, char *text, size_t text_bytes);

/* Reads a value into setting->value. False, with a sentence in `why`, if its axis does not take
 * it. */
bool axis_read(const char *text, struct setting *setting, char *why, size_t why_bytes);

#endif
