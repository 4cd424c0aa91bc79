/*
 * slack.h: when a loop that makes use of its timers' slack has to wake up: at the latest tick that
 * satisfies all pending timers, that is the earliest of their last ticks, deadline and slack. It
 * knows no structure: the loop keeps the last ticks by itself, in a heap.
 */
#ifndef SIM_SLACK_H
#define SIM_SLACK_H

#include "drive.h"
#include "stream.h"

struct slack;

/* Make it for the timers of a trace. NULL: the drive is another. */
struct slack *slack_open(const struct replay_drive *drive, const struct stream *stream);

/* Harmless on NULL. */
void slack_close(struct slack *slack);

/* Note that a timer is pending until tick `due` at least, by operation number `event` of the trace.
 * Harmless on NULL, as slack_ended. */
void slack_started(struct slack *slack, uint32_t id, uint64_t event, uint64_t due);

/* Note that a timer has expired or was stopped. */
void slack_ended(struct slack *slack, uint32_t id);

/* Return the tick to wake up at; TL_NEVER: no timer is pending. */
uint64_t slack_wake(const struct slack *slack);

#endif
