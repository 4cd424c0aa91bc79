/*
 * tolerance.h: the accepted lateness. A structure that fires late or early does less work, so it is
 * recommended only if its declared lateness is within the tolerance, 0 by default. For a faster
 * structure beyond the tolerance, reports show its lateness, and which expiries of an exact
 * structure it skips.
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

/* The expiries of a structure on a trace, by its row. NAN: unknown. */
struct firing {
    double declared_early; /* ticks: the most that it promises to, for these delays */
    double declared_late;
    double lateness_min; /* ticks; of the expiries */
    double lateness_max;
    double fired; /* up to the end tick */
    double averted;
    double reactions; /* carried out */
    double not_reached;
};

struct firing firing_of_row(const struct row *row);

enum firing_bound { FIRING_WITHIN, FIRING_LATE, FIRING_EARLY };

/* Return the bound that a structure's promise exceeds. Older rows have no promise: their measured
 * lateness is used. */
enum firing_bound firing_beyond(const struct firing *firing, uint64_t late_ticks,
                                uint64_t early_ticks);
bool firing_is_exact(const struct firing *firing);

/* Whether the measured lateness is used because the promise is unknown. */
bool firing_is_measured_only(const struct firing *firing);

/* The ticks that --max-lateness would have to be. */
double firing_lateness(const struct firing *firing);

/* How to print figures. */
struct firing_frame {
    double tick_ns;     /* NAN: no times */
    double exact_fired; /* what exact structures fire on the trace; NAN: not known */
    const char *(*duration)(double ns, char text[]);
};

#define FIRING_BYTES 320

/* "up to 3 ticks (3.00 ms) late, by its promise at most 8 ticks (8.00 ms) late", "none, as it
 * promises"; for an exact structure that was driven late, "up to 9 ticks late, all of it by the
 * drive". */
const char *firing_lateness_words(const struct firing *firing, const struct firing_frame *frame,
                                  char text[FIRING_BYTES]);

/* The skipped work, "99.7 % averted, 55 of 6,606 reactions not reached": averted of the expiries of
 * exact structures or, if these are unknown, of its own expired and averted timers. "" if there is
 * none. */
const char *firing_undone_words(const struct firing *firing, const struct firing_frame *frame,
                                char text[FIRING_BYTES]);

/* "22 of the 6,661 timers that exact structures fire (99.7 % averted)", "all 6,661 timers". Timers
 * that are neither fired nor averted expire after the trace's end. */
const char *firing_share_words(const struct firing *firing, const struct firing_frame *frame,
                               char text[FIRING_BYTES]);

/* Return how many timers exact structures fire on the trace of the row `of`; NAN if none is among
 * the results, which are of replays. */
double firing_exact_fired(const struct results *results, const struct row *of);

/* The timers averted as a share of those that exact structures fire, or, where that is not known,
 * of those that this one fired or averted; NAN if the row does not say. */
double firing_averted_share(const struct firing *firing, double exact_fired);

#endif
