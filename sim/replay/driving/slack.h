/*
 * slack.h: when a loop that uses its timers' slack must wake up: at the earliest sum of deadline
 * and slack among the pending timers. The loop keeps these sums in a heap of its own, independent
 * of the structure.
 */
#ifndef SIM_SLACK_H
#define SIM_SLACK_H

#include "drive.h"
#include "stream.h"

struct slack;

/* Make it for the timers of a trace. NULL: the polling policy is another. */
struct slack *slack_open(const struct replay_drive *drive, const struct stream *stream);

/* Harmless on NULL. */
void slack_close(struct slack *slack);

/* Record that a timer is pending, due at `due`, started by operation `event` of the trace. Harmless
 * on NULL, as slack_ended. */
void slack_started(struct slack *slack, uint32_t id, uint64_t event, uint64_t due);

/* Record that a timer has expired or was stopped. */
void slack_ended(struct slack *slack, uint32_t id);

/* Return the tick to wake up at; TL_NEVER: no timer is pending. */
uint64_t slack_wake(const struct slack *slack);

#endif
