/*
 * show_script.h: the steps of a run as a small script, one step to a line or behind a semicolon:
 *
 *   start NAME TICK     starts or restarts a timer for a deadline
 *   stop NAME
 *   advance TICK        one advance to this tick
 *   tick [COUNT]        so many advances by one tick (1), a step each
 *   wake [COUNT]        so many advances to where the structure's `next` says (1), a step each
 *
 * TICK is a number, counted from the clock if a + stands before it. NAME is a word. What follows a
 * # is a comment.
 */
#ifndef SIM_SHOW_SCRIPT_H
#define SIM_SHOW_SCRIPT_H

#include "show.h"

enum show_verb { SHOW_START, SHOW_STOP, SHOW_ADVANCE, SHOW_TICK, SHOW_WAKE };

struct show_line {
    enum show_verb verb;
    uint32_t id;    /* start, stop: which name */
    bool relative;  /* start, advance: `ticks` counts from the clock */
    uint64_t ticks; /* start, advance: the tick; tick, wake: how many */
};

/* Treat as read-only; zeroed: empty. */
struct show_script {
    struct show_line *lines;
    size_t line_count;
    char **names; /* of the timers, by id, in the order in which they are first named */
    uint32_t name_count;
};

/* Reads a script. False with `error` set, which names the step: an unknown word, a wrong or missing
 * number. */
bool show_script_parse(struct show_script *script, const char *text, struct error *error);

/* The longest delay that its starts can have at a clock that begins with `clock`. */
uint64_t show_script_longest_delay(const struct show_script *script, uint64_t clock);

/* Runs it, a step for each line, behind a first step that shows how things are at the beginning.
 * The structure's names and capacity are the script's. False with `error` set: time would go back,
 * or `wake` where the structure has no `next`. */
bool show_script_run(const struct show_script *script, struct show *show, struct error *error);

void show_script_free(struct show_script *script);

#endif
