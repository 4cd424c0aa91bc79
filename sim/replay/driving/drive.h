/*
 * drive.h: how a loop uses its timers: when it looks at them, for how many it has time, when it is
 * away, and how long a callback takes. All of it but the last is in ticks of the trace.
 *
 *   sleep    it is woken at the tick that `next` names, and by each operation that comes
 *   slack    it is woken as late as the timers' slack allows (slack.h), and by each operation that
 *            comes: then all timers that are due expire
 *   poll:N   it looks at its timers at every N-th tick, and only then; operations are done when
 *            they come. poll is poll:1
 *   budget   timers that one advance may fire. What is left over fires in the next ones: after an
 *            advance that has used its budget up the loop does not sleep, it comes round at the
 *            next tick
 *   pause    for some ticks the loop does not come round:
 *            busy    it does something else. What comes meanwhile waits, and is done behind the
 *                    pause, in order, its delays counted from then, after the timers that are due:
 *                    a loop sees to its timers first
 *            asleep  the machine is suspended. What comes meanwhile is lost. The clock is one that
 *                    goes on (CLOCK_BOOTTIME): what was due meanwhile is overdue behind the pause.
 *                    By a clock that stands (CLOCK_MONOTONIC) there would be nothing to see: it is
 *                    the same trace without those ticks
 *   service  each callback occupies the loop for a time. service.h has the clock that results
 *
 * A poll that falls into a pause comes right behind it. With the trace's end tick all pauses end.
 */
#ifndef SIM_DRIVE_H
#define SIM_DRIVE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum drive_kind { DRIVE_SLEEP, DRIVE_SLACK, DRIVE_POLL };

/* Away for `ticks` from tick `at` on; and again every so many ticks, unless that is 0. */
struct drive_pause {
    uint64_t at;
    uint64_t ticks;
    uint64_t every_ticks;
    bool asleep;
};

enum { DRIVE_PAUSES_MAX = 8 };

/* Zeroed: sleep, without budget, pauses or service time. */
struct replay_drive {
    enum drive_kind kind;
    uint64_t poll_ticks; /* between two polls; 0 and 1: at every tick */
    uint64_t budget;     /* 0: none */
    struct drive_pause pauses[DRIVE_PAUSES_MAX];
    size_t pause_count;
    uint64_t service_ns; /* of each callback; 0: they take no time */
    bool service_varies; /* exponentially distributed around that; otherwise always that */
};

/* Read text into a drive. False if it is not what it should be, with a sentence in `error` that
 * says what `name`, an option or a knob, takes; the drive is then unspecified. */

/* "sleep", "slack", "poll" or "poll:N". */
bool drive_read(struct replay_drive *drive, const char *name, const char *text,
                struct error *error);

/* A whole number from 1, or "none". */
bool drive_read_budget(struct replay_drive *drive, const char *name, const char *text,
                       struct error *error);

/* "AT:FOR[:busy|asleep][:every=TICKS]", several joined by "+"; or "none". */
bool drive_read_pauses(struct replay_drive *drive, const char *name, const char *text,
                       struct error *error);

/* "TIME", "exp:TIME" or "none". */
bool drive_read_service(struct replay_drive *drive, const char *name, const char *text,
                        struct error *error);

#define DRIVE_TEXT_BYTES 1024

/* The drive as text: equal drives, equal texts. */
void drive_write(const struct replay_drive *drive, char text[DRIVE_TEXT_BYTES]);

/* Whether the loop looks at its timers at every tick at which one is due, and fires all that are:
 * sleep or poll:1, no budget, no pauses, callbacks that take no time. */
bool drive_is_plain(const struct replay_drive *drive);

/* The first tick from `tick` on in no pause. */
uint64_t drive_awake(const struct replay_drive *drive, uint64_t end_tick, uint64_t tick);

/* The first tick from `tick` on at which the loop looks at a timer that is due, and has no slack
 * left. */
uint64_t drive_chance(const struct replay_drive *drive, uint64_t end_tick, uint64_t tick);

/* Whether what comes at `tick` is lost, since the machine sleeps. */
bool drive_loses(const struct replay_drive *drive, uint64_t end_tick, uint64_t tick);

#endif
