/*
 * show_script.h: the steps of a run as a small script, divided by line ends or semicolons:
 *
 *   start NAME TICK     start or restart a timer for a deadline
 *   stop NAME
 *   advance TICK        one advance to this tick
 *   tick [COUNT]        COUNT (1) advances by one tick, each a step
 *   wake [COUNT]        COUNT (1) advances to the structure's `next`, each a step
 *
 * TICK is a number, relative to the clock if it begins with +. NAME is a word. # begins a comment.
 */
#ifndef SIM_SHOW_SCRIPT_H
#define SIM_SHOW_SCRIPT_H

#include "show.h"

enum show_verb { SHOW_START, SHOW_STOP, SHOW_ADVANCE, SHOW_TICK, SHOW_WAKE };

struct show_line {
    enum show_verb verb;
    uint32_t id;    /* start, stop: the name */
    bool relative;  /* start, advance: `ticks` is relative to the clock */
    uint64_t ticks; /* start, advance: the tick; tick, wake: the number */
};

/* Read-only for callers; zeroed: empty. */
struct show_script {
    struct show_line *lines;
    size_t line_count;
    char **names; /* of the timers, by id, in order of first use */
    uint32_t name_count;
};

/* Parse a script. Return false with `error` set, which names the step. */
bool show_script_parse(struct show_script *script, const char *text, struct error *error);

/* The longest delay of its starts if the clock begins at `clock`. */
uint64_t show_script_longest_delay(const struct show_script *script, uint64_t clock);

/* Run it: a first step with the initial state, then a step for each line. The structure's names and
 * capacity must be those of the script. Return false with `error` set if time would go back, or on
 * `wake` if the structure has no `next`. */
bool show_script_run(const struct show_script *script, struct show *show, struct error *error);

void show_script_free(struct show_script *script);

#endif
