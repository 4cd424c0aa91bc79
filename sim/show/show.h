/*
 * show.h: run a structure step by step, and record for each step the operation, its cost, and the
 * content of the structure afterwards. For learning how a structure works, or for finding a bug in
 * it. The operations come from a script or a window of a trace; the steps are written as text or
 * drawn.
 */
#ifndef SIM_SHOW_H
#define SIM_SHOW_H

#include "catalog.h"
#include "error.h"
#include "pool.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The maximum of recorded steps. */
#define SHOW_STEPS_MAX 1000

/* Of a large structure, the recorded cells of a part, and timers of a cell. The totals are
 * complete. */
#define SHOW_CELLS_MAX 256
#define SHOW_HELD_MAX  64

struct show_held {
    uint32_t id;
    uint32_t marks;    /* enum tl_mark */
    uint64_t at;       /* the tick by which it is filed; TL_NEVER: none */
    uint64_t deadline; /* as started; TL_NEVER for a stale entry */
    uint64_t rounds;
    bool changed; /* started or moved in this step */
};

struct show_cell {
    uint64_t index;
    uint64_t parent; /* TL_NEVER: none */
    uint64_t from;   /* its ticks; TL_NEVER: none */
    uint64_t to;
    uint32_t marks;
    const char *refers; /* NULL: nothing */
    struct show_held *held;
    size_t held_count;
    uint64_t held_total;
};

struct show_part {
    const char *name;
    enum tl_form form;
    uint64_t cell_ticks;
    struct show_cell *cells; /* of many, those with timers or marks */
    size_t cell_count;
    uint64_t cell_total;
};

struct show_fired {
    uint32_t id;
    uint64_t deadline;
};

struct show_step {
    const char *caption; /* "start b 4" */
    const char *outcome; /* an additional result, such as a refusal; NULL: none */
    uint64_t clock;
    uint64_t pending;
    uint64_t next;           /* TL_NEVER: nothing pending, or no such hook */
    struct tl_counters work; /* of this step */
    struct show_fired *fired;
    size_t fired_count;
    struct show_part *parts;
    size_t part_count;
};

struct show {
    const struct tl_algo *algo;
    const void *options; /* of the contender, which must outlive the run */
    char title[320];     /* the structure, with its options */
    char **names;        /* of timers, by id; NULL: use the numbers */
    struct show_step *steps;
    size_t step_count;
    bool truncated;      /* SHOW_STEPS_MAX was reached, and the rest omitted */
    struct pool pool;    /* texts of the steps */
    struct pool passing; /* texts of the step that is being written */

    struct tl_memory memory;
    void *self;
    uint32_t capacity;
    uint64_t clock;
    uint64_t *deadlines; /* by id; TL_NEVER: not pending */
    uint64_t *places;    /* by id: part and cell at the end of the last step */
    struct show_fired *fired;
    size_t fired_count;
    uint32_t *started; /* in this step */
    size_t started_count;
    struct tl_counters work; /* at the end of the last step */
    bool quiet;              /* record nothing */
};

/* The initial state of a run. */
struct show_setup {
    uint32_t capacity;
    uint64_t clock;
    uint64_t max_delay_ticks; /* announced to the structure; 0: unknown */
    char **names;             /* one for each id, or NULL; must outlive the run */
};

/* Create the structure. Return false if it refuses its options, or declares that it fires
 * nothing. */
bool show_open(struct show *show, const struct contender *contender, const struct show_setup *setup,
               struct error *error);

/* The operations, as in the contract. show_start returns the structure's status. */
enum tl_status show_start(struct show *show, uint32_t id, uint64_t deadline);
enum tl_status show_stop(struct show *show, uint32_t id);
/* Return the number of expiries. `also`, if not NULL, is called in each callback, with `ctx`. */
uint64_t show_advance(struct show *show, uint64_t now, tl_fire_fn also, void *ctx);

/* End a step: record the operations since the last one, and the structure's present content. The
 * texts live in the pool, or as long; `outcome` may be NULL. After SHOW_STEPS_MAX, only set
 * `truncated`. */
void show_end_step(struct show *show, const char *caption, const char *outcome);

/* Suspend recording, for operations before the first shown step, or resume it. Recording is on at
 * first. Call it between steps. */
void show_set_quiet(struct show *show, bool quiet);

/* The work since the run began; zero if the structure does not count. */
struct tl_counters show_counted(const struct show *show);

void show_close(struct show *show);

/* --- scripts --------------------------------------------------------------------------------- */

/*
 * The steps of a run as a small script, divided by line ends or semicolons:
 *
 *   start NAME TICK     start or restart a timer for a deadline
 *   stop NAME
 *   advance TICK        one advance to this tick
 *   tick [COUNT]        COUNT (1) advances by one tick, each a step
 *   wake [COUNT]        COUNT (1) advances to the structure's `next`, each a step
 *
 * TICK is a number, relative to the clock if it begins with +. NAME is a word. # begins a comment.
 */
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

/* --- windows of a trace ---------------------------------------------------------------------- */

struct show_window {
    uint64_t from_tick;
    uint64_t to_tick;    /* inclusive */
    const uint32_t *ids; /* only these timers of the trace; NULL: all */
    size_t id_count;
};

/* Replay the trace at `path` up to the window's end. The part before the window is not recorded;
 * each operation of the window is a step, and each advance that has an effect. As in every replay, a
 * tick first expires timers, then executes its operations; reactions are executed with the expiry
 * (closed_loop.h); and the structure is woken at its `next`, or every tick. If only some timers are
 * shown, the others do not expire: then all operations are executed at their ticks. Return false
 * with `error` set if the trace is damaged. */
bool show_trace_run(const char *path, const struct show_window *window, struct show *show,
                    struct error *error);

/* --- text and drawings ----------------------------------------------------------------------- */

void show_write_text(struct show *show, FILE *stream);

/* Draw `count` steps from `first` on, one below the other, as one SVG document. */
void show_draw(struct show *show, size_t first, size_t count, FILE *stream);

/* Write the beginning of an HTML page with a slider and a button that plays the steps. */
void show_page_begin(FILE *stream);

/* Append a drawing of `bytes` bytes to the page, as its next step. */
void show_page_add(const char *drawing, size_t bytes, FILE *stream);

/* Return texts that live as long as the step is being written: a timer's name, or its number; a
 * timer, as "a@5", or "a@5, 2 rounds" if it waits for several turns of a wheel; the slots of a part,
 * as "3 slots of 2 ticks"; and the state after a step and its work, as "clock 3, 2 pending, next 4;
 * 1 compare". */
const char *show_name(struct show *show, uint32_t id);
const char *show_held_text(struct show *show, const struct show_held *held);
const char *show_slots(struct show *show, const struct show_part *part);
const char *show_facts(struct show *show, const struct show_step *step);

#endif
