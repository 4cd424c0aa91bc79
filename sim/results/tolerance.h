/*
 * tolerance.h: what may be chosen. Who fires late, or early, does less; so a structure is
 * recommended only if the lateness that it declares is within what is borne, which by default is
 * none. What one that is beyond would gain is told beside, with what it costs: how late it is, and
 * which of the timers that an exact structure fires it does not fire.
 *
 * One rule for `tune`, `report` and `compare`.
 */
#ifndef SIM_TOLERANCE_H
#define SIM_TOLERANCE_H

#include "results.h"

#include <stdbool.h>
#include <stdint.h>

/* How far from its due tick a timer may fire, as a user says it: in ticks, or in a time that needs
 * a trace to be as many. */
struct tolerance {
    uint64_t ticks;
    double ns; /* above 0: this counts */
};

/* The same in whole ticks of `tick_ns` each, which is NAN where that is not known. False if it has
 * to be. */
bool tolerance_in_ticks(const struct tolerance *tolerance, double tick_ns, uint64_t *ticks);

/* What a structure did with the timers of a trace, by its row. NAN: the row does not say. */
struct firing {
    double declared_early; /* ticks: the most that it promises to, for these delays */
    double declared_late;
    double lateness_min; /* ticks; of what fired */
    double lateness_max;
    double fired; /* up to the end tick */
    double averted;
    double reactions; /* carried out */
    double not_reached;
};

struct firing firing_of_row(const struct row *row);

enum firing_bound { FIRING_WITHIN, FIRING_LATE, FIRING_EARLY };

/* The bound that a structure's promise goes beyond. Of rows that do not hold a promise, because
 * they are older, what was measured stands for it. */
enum firing_bound firing_beyond(const struct firing *firing, uint64_t late_ticks,
                                uint64_t early_ticks);
bool firing_is_exact(const struct firing *firing);

/* Whether what was measured stands for a promise that is not known. */
bool firing_is_measured_only(const struct firing *firing);

/* The ticks that --max-lateness would have to be. */
double firing_lateness(const struct firing *firing);

/* How figures are told. */
struct firing_frame {
    double tick_ns;     /* NAN: times are left out */
    double exact_fired; /* what exact structures fire on the trace; NAN: not known */
    const char *(*duration)(double ns, char text[]);
};

#define FIRING_BYTES 320

/* "up to 3 ticks (3.00 ms) late, by its promise at most 8 ticks (8.00 ms) late", "none, as it
 * promises"; of what is right, but was driven late, "up to 9 ticks late, all of it by the drive".
 */
const char *firing_lateness_words(const struct firing *firing, const struct firing_frame *frame,
                                  char text[FIRING_BYTES]);

/* What it was spared, "99.7 % averted, 55 of 6,606 reactions not reached": averted of what exact
 * structures fire, or, where that is not known, of what it fired or averted itself. "" if nothing.
 */
const char *firing_undone_words(const struct firing *firing, const struct firing_frame *frame,
                                char text[FIRING_BYTES]);

/* "22 of the 6,661 timers that exact structures fire (99.7 % averted)", "all 6,661 timers". What is
 * neither fired nor averted comes after the trace's end. */
const char *firing_share_words(const struct firing *firing, const struct firing_frame *frame,
                               char text[FIRING_BYTES]);

/* The timers averted as a share of those that exact structures fire, or, where that is not known,
 * of those that this one fired or averted; NAN if the row does not say. */
double firing_averted_share(const struct firing *firing, double exact_fired);

#endif
