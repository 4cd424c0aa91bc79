#include "tolerance.h"

#include "figures.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool tolerance_in_ticks(const struct tolerance *tolerance, double tick_ns, uint64_t *ticks)
{
    *ticks = tolerance->ticks;
    if (tolerance->ns > 0) {
        double whole = tolerance->ns / tick_ns;
        *ticks = whole < 0x1p62 ? (uint64_t)whole : UINT64_MAX;
    }
    return tolerance->ns == 0 || tick_ns > 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

struct firing firing_of_row(const struct row *row)
{
    return (struct firing){
        .declared_early = row_value(row, COL_DECLARED_EARLY),
        .declared_late = row_value(row, COL_DECLARED_LATE),
        .lateness_min = row_value(row, COL_LATENESS_MIN),
        .lateness_max = row_value(row, COL_LATENESS_MAX),
        .fired = row_value(row, COL_FIRED),
        .averted = row_value(row, COL_AVERTED),
        .reactions = row_value(row, COL_REACTIONS),
        .not_reached = row_value(row, COL_NOT_REACHED),
    };
}

/* --- the rule -------------------------------------------------------------------------------- */

bool firing_is_measured_only(const struct firing *firing)
{
    return isnan(firing->declared_late) && (!isnan(firing->lateness_max) || firing->averted > 0);
}

double firing_lateness(const struct firing *firing)
{
    if (!isnan(firing->declared_late)) {
        return firing->declared_late;
    }
    if (firing->lateness_max > 0) {
        return firing->lateness_max;
    }
    /* Without averted timers it need not be late; with some it is, by an unknown number of
     * ticks. */
    return firing->averted > 0 ? INFINITY : 0;
}

enum firing_bound firing_beyond(const struct firing *firing, uint64_t late_ticks,
                                uint64_t early_ticks)
{
    double early = !isnan(firing->declared_early) ? firing->declared_early : -firing->lateness_min;
    if (firing_lateness(firing) > (double)late_ticks) {
        return FIRING_LATE;
    }
    return early > (double)early_ticks ? FIRING_EARLY : FIRING_WITHIN;
}

bool firing_is_exact(const struct firing *firing)
{
    return firing_beyond(firing, 0, 0) == FIRING_WITHIN;
}

double firing_exact_fired(const struct results *results, const struct row *of)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct row *row = &results->rows[i];
        struct firing firing = firing_of_row(row);
        if (strcmp(row_text(row, COL_TRACE), row_text(of, COL_TRACE)) == 0 &&
            strcmp(row->trace_checksum, of->trace_checksum) == 0 && row_is_ok(row) &&
            firing_is_exact(&firing) && !isnan(firing.fired)) {
            return firing.fired;
        }
    }
    return NAN;
}

double firing_averted_share(const struct firing *firing, double exact_fired)
{
    double of = isnan(exact_fired) ? firing->fired + firing->averted : exact_fired;
    return of > 0 ? firing->averted / of : 0 * firing->averted;
}

/* --- words ----------------------------------------------------------------------------------- */

/* Adds to a text of FIRING_BYTES. */
__attribute__((format(printf, 2, 3))) static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text + used, FIRING_BYTES - used, format, list);
    va_end(list);
}

/* "up to 3 ticks (3.00 ms) early and up to 1 tick (1.00 ms) late"; zeros are omitted. */
static void add_bounds(char *text, const char *most, double early, double late,
                       const struct firing_frame *frame)
{
    const double ticks[] = {early, late};
    const char *joint = "";
    for (int i = 0; i < 2; i++) {
        if (ticks[i] > 0) {
            add(text, "%s%s %s", joint, most, ticks_text(ticks[i], FIGURE));
            if (!isnan(frame->tick_ns)) {
                add(text, " (%s)", frame->duration(ticks[i] * frame->tick_ns, FIGURE));
            }
            add(text, i == 0 ? " early" : " late");
            joint = " and ";
        }
    }
}

const char *firing_lateness_words(const struct firing *firing, const struct firing_frame *frame,
                                  char text[FIRING_BYTES])
{
    text[0] = '\0';
    add_bounds(text, "up to", -firing->lateness_min, firing->lateness_max, frame);
    if (text[0] == '\0') {
        add(text, isnan(firing->lateness_max) ? "none seen late, for none fired" : "none");
    }
    /* What keeps its promise, and is later than that all the same, was not asked in time. */
    bool driven = firing->lateness_max > firing->declared_late;
    if (firing->declared_early > 0 || firing->declared_late > 0) {
        add(text, ", by its promise ");
        add_bounds(text, "at most", firing->declared_early, firing->declared_late, frame);
        add(text, driven ? ", without the drive's" : "");
    } else if (!isnan(firing->declared_late)) {
        add(text, driven ? ", all of it by the drive" : ", as it promises");
    }
    return text;
}

const char *firing_undone_words(const struct firing *firing, const struct firing_frame *frame,
                                char text[FIRING_BYTES])
{
    text[0] = '\0';
    if (firing->averted > 0) {
        add(text, "%.3g %% %saverted", 100 * firing_averted_share(firing, frame->exact_fired),
            isnan(frame->exact_fired) ? "of its fired or averted timers was " : "");
    }
    if (firing->not_reached > 0) {
        add(text, "%s%s of %s reactions not reached", firing->averted > 0 ? ", " : "none averted, ",
            grouped_text(firing->not_reached, FIGURE),
            grouped_text(firing->reactions + firing->not_reached, FIGURE));
    }
    return text;
}

const char *firing_share_words(const struct firing *firing, const struct firing_frame *frame,
                               char text[FIRING_BYTES])
{
    char undone[FIRING_BYTES];
    bool known = !isnan(frame->exact_fired);
    bool all = known && firing->fired >= frame->exact_fired;
    text[0] = '\0';
    add(text, "%s%s", all ? "all " : "", grouped_text(firing->fired, FIGURE));
    if (known && !all) {
        add(text, " of the %s timers that exact structures fire",
            grouped_text(frame->exact_fired, FIGURE));
    } else {
        add(text, " timers");
    }
    if (firing_undone_words(firing, frame, undone)[0] != '\0') {
        add(text, " (%s)", undone);
    } else if (!all) {
        add(text, " (none averted)");
    }
    return text;
}
