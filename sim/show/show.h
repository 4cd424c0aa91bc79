/*
 * show.h: run a structure step by step, and record for each step the operation, its cost, and the
 * content of the structure afterwards. For learning how a structure works, or for finding a bug in
 * it. The operations come from a script (show_script.h) or a window of a trace (show_trace.h); the
 * steps are written as text (show_text.h) or drawn (show_drawing.h).
 */
#ifndef SIM_SHOW_H
#define SIM_SHOW_H

#include "catalog.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    char *refers; /* NULL: nothing */
    struct show_held *held;
    size_t held_count;
    uint64_t held_total;
};

struct show_part {
    char *name;
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
    char *caption; /* "start b 4" */
    char *outcome; /* an additional result, such as a refusal; NULL: none */
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
    bool truncated; /* SHOW_STEPS_MAX was reached, and the rest omitted */

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

/* End a step: record the operations since the last one, and the structure's present content. After
 * SHOW_STEPS_MAX, only set `truncated`. */
void show_end_step(struct show *show, const char *caption, const char *outcome);

/* Suspend recording, for operations before the first shown step, or resume it. Recording is on at
 * first. Call it between steps. */
void show_set_quiet(struct show *show, bool quiet);

/* The work since the run began; zero if the structure does not count. */
struct tl_counters show_counted(const struct show *show);

/* Return the timer's name, or its number, in `buffer`. */
const char *show_name(const struct show *show, uint32_t id, char buffer[16]);

/* Return whether the structure has `walk`; otherwise its parts are derived from the operations. */
bool show_sees_inside(const struct show *show);

/* "tick 4", "ticks 4 to 7", or "" for none. Return as snprintf. */
int show_format_ticks(const struct show_cell *cell, char *text, size_t text_bytes);

/* "3 slots of 2 ticks"; "65 slots" if their length differs. Return as snprintf. */
int show_format_slots(const struct show_part *part, char *text, size_t text_bytes);

void show_close(struct show *show);

#endif
