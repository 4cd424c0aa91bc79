/*
 * show.h: a structure watched step by step: what happened, what it cost, and what its inside looks
 * like afterwards. For people who learn how a structure works, or look for what went wrong in it.
 *
 * The operations come from a script (show_script.h) or from a window of a trace (show_trace.h); the
 * steps are told as text (show_text.h) and drawn (show_drawing.h).
 */
#ifndef SIM_SHOW_H
#define SIM_SHOW_H

#include "catalog.h"
#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most steps of one run: more is no longer looked at one by one. */
#define SHOW_STEPS_MAX 1000

/* What is kept of a large inside: cells of a part, timers of a cell. The totals tell the rest. */
#define SHOW_CELLS_MAX 256
#define SHOW_HELD_MAX  64

struct show_held {
    uint32_t id;
    uint32_t marks;    /* enum tl_mark */
    uint64_t at;       /* the tick by which it is filed; TL_NEVER: the structure keeps none */
    uint64_t deadline; /* what was asked for; TL_NEVER for a stale entry */
    uint64_t rounds;
    bool changed; /* in this step, it was started or came to another cell */
};

struct show_cell {
    uint64_t index;
    uint64_t parent; /* TL_NEVER: none */
    uint64_t from;   /* ticks that it stands for; TL_NEVER: none */
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
    struct show_cell *cells; /* of many, those that hold or mark something */
    size_t cell_count;
    uint64_t cell_total;
};

struct show_fired {
    uint32_t id;
    uint64_t deadline;
};

struct show_step {
    char *caption; /* "start b 4" */
    char *outcome; /* what came of it besides, such as a refusal; NULL: nothing */
    uint64_t clock;
    uint64_t pending;
    uint64_t next;           /* TL_NEVER: nothing pending, or no such hook */
    struct tl_counters work; /* done in this step */
    struct show_fired *fired;
    size_t fired_count;
    struct show_part *parts;
    size_t part_count;
};

struct show {
    const struct tl_algo *algo;
    const void *options; /* the contender's, which must outlive the run */
    char title[320];     /* the structure, with its options */
    char **names;        /* of timers, by id; NULL: they are called by their numbers */
    struct show_step *steps;
    size_t step_count;
    bool truncated; /* SHOW_STEPS_MAX was reached: the rest was not shown */

    /* The run. */
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
    bool quiet;              /* nothing is noted */
};

/* What a run begins with. */
struct show_setup {
    uint32_t capacity;
    uint64_t clock;
    uint64_t max_delay_ticks; /* announced; 0: unknown */
    char **names;             /* one for each id, or NULL; must outlive the run */
};

/* Makes the structure. False if it refuses its options, or fires nothing by declaration. */
bool show_open(struct show *show, const struct contender *contender, const struct show_setup *setup,
               struct error *error);

/* The operations, as the contract has them. `start` answers what the structure answered. */
enum tl_status show_start(struct show *show, uint32_t id, uint64_t deadline);
enum tl_status show_stop(struct show *show, uint32_t id);
/* Returns how many fired. In each callback `also` is called as well, with `ctx`;
 * NULL: nothing is. */
uint64_t show_advance(struct show *show, uint64_t now, tl_fire_fn also, void *ctx);

/* Ends a step: takes down what was done since the last one, and what the inside looks like now.
 * Beyond SHOW_STEPS_MAX nothing is taken down but `truncated`. */
void show_end_step(struct show *show, const char *caption, const char *outcome);

/* Whether what follows is noted for a step (as at first), or not: for what happens before the first
 * step that is to be shown. To be called between steps. */
void show_set_quiet(struct show *show, bool quiet);

/* The name of a timer: its own, or its number, in `buffer`. */
const char *show_name(const struct show *show, uint32_t id, char buffer[16]);

/* Whether the structure shows its inside; else its parts are what is known from outside. */
bool show_sees_inside(const struct show *show);

/* "tick 4", "ticks 4 to 7", or "" for none. Returns what snprintf would. */
int show_format_ticks(const struct show_cell *cell, char *text, size_t text_bytes);

/* "3 slots of 2 ticks"; "65 slots" where they do not last equally long. Returns what snprintf
 * would.
 */
int show_format_slots(const struct show_part *part, char *text, size_t text_bytes);

void show_close(struct show *show);

#endif
