/*
 * drive.h: the polling policy of an event loop: when it looks at its timers, how many it may fire
 * at once, pauses, and the time a callback takes.
 *
 *   sleep    wake up at the tick that `next` names, and for each operation
 *   slack    wake up as late as the timers' slack allows, and for each operation; then
 *            all due timers expire
 *   poll:N   look at the timers at every N-th tick only; operations are applied when they arrive
 *   budget   timers that one advance may fire. The next advances fire the rest: the loop does not
 *            sleep after an advance that used up its budget, but continues at the next tick
 *   pause    the loop does not run for some ticks:
 *            busy    operations that arrive are applied after the pause, in order, after the due
 *                    timers have fired; their delays count from then
 *            asleep  the machine is suspended, and arriving operations are lost. The clock goes on
 *                    (CLOCK_BOOTTIME), so timers can be overdue after the pause. With a clock that
 *                    stops (CLOCK_MONOTONIC) the result is that of a trace without those ticks
 *   service  each callback occupies the loop for a time
 *
 * A poll within a pause is made right after it. All pauses end at the trace's end tick.
 */
#ifndef SIM_DRIVE_H
#define SIM_DRIVE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum drive_kind { DRIVE_SLEEP, DRIVE_SLACK, DRIVE_POLL };

/* A pause of `ticks` from tick `at`, repeated every `every_ticks` unless that is 0. */
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
    uint64_t poll_ticks; /* between two polls; 0 and 1: every tick */
    uint64_t budget;     /* 0: none */
    struct drive_pause pauses[DRIVE_PAUSES_MAX];
    size_t pause_count;
    uint64_t service_ns; /* of each callback; 0: they take no time */
    bool service_varies; /* exponentially distributed with that mean */
    uint64_t
        end_tick; /* of the trace: then all pauses end, and a round begins even if a callback is
                            running */
};

/* Read the value of `name`, an option or a knob, into a policy. False with `error` set if it is not
 * valid; the policy is then unspecified. */

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

/* Write the policy as text; equal policies give equal texts. */
void drive_write(const struct replay_drive *drive, char text[DRIVE_TEXT_BYTES]);

/* Return whether the loop fires every timer at its due tick: sleep or poll:1, no budget, no pauses,
 * no service time. */
bool drive_is_plain(const struct replay_drive *drive);

/* Return the first tick from `tick` on that is in no pause. */
uint64_t drive_awake(const struct replay_drive *drive, uint64_t tick);

/* Return the first tick from `tick` on at which the loop looks at a due timer without slack. */
uint64_t drive_chance(const struct replay_drive *drive, uint64_t tick);

/* Return whether an operation that arrives at `tick` is lost because the machine is suspended. */
bool drive_loses(const struct replay_drive *drive, uint64_t tick);

/* --- callbacks that take time ---------------------------------------------------------------- */

/*
 * The simulated clock of such a loop.
 *
 * A round of the loop at tick t advances the timers to t, runs the callbacks one after the other,
 * and then applies the operations that arrived up to t. The next round begins when the last
 * callback has ended, at a later tick. Operations that arrive in between are applied in that round,
 * after its advance. Within a round `now` is t and delays count from it, as in libev and libuv,
 * which read the clock once a round.
 *
 * The clock counts nanoseconds. A callback that begins in the middle of a tick belongs to that
 * tick. Service times are a series by number of expiry, not by timer: the order in which an advance
 * fires its timers does not change how long it takes.
 */
struct service;

/* Make the clock for ticks of `tick_ns`. A round begins at `end_tick` even if a callback is
 * running. NULL: callbacks take no time. */
struct service *service_open(const struct replay_drive *drive, uint64_t tick_ns);

/* Harmless on NULL. */
void service_close(struct service *service);

/* Record a round at `tick` that fired `fired` timers. Return the nanoseconds that their callbacks
 * take. */
uint64_t service_advanced(struct service *service, uint64_t tick, uint64_t fired);

/* Return the tick in which callback `fired`, from 0, of the running advance to `tick` begins. */
uint64_t service_begins(const struct service *service, uint64_t tick, uint64_t fired);

/* Return the first tick at which the next round may begin. */
uint64_t service_free(const struct service *service);

/* Return the first tick from `tick` on at which the loop looks at a due timer, given its rounds so
 * far; that of drive_chance if `service` is NULL. */
uint64_t service_chance(const struct service *service, const struct replay_drive *drive,
                        uint64_t tick);

/* Return the tick of the round that applies an operation which arrives at `tick`. All rounds before
 * that tick must have been recorded. */
uint64_t service_applies(const struct service *service, uint64_t tick);

#endif
