/*
 * schedule.h: what callers would have waited who came when they were due, to a server that serves
 * one after the other. A pass that times calls back to back sees only what each call took: behind a
 * long one nobody waits, because the next is not sent before it is done. That is G. Tene's
 * "coordinated omission". Here the waiting is reckoned from the times measured.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

/* Zeroed but for tick_ns: nobody has come yet. */
struct schedule {
    double tick_ns;
    double due_tick;   /* when the last caller came */
    double backlog_ns; /* what the server had to do then, that caller included */
};

/* A caller comes at `due_tick` and is served for `service_ns`: returns how long it takes until it
 * is done. Who comes late, by a due tick before the last caller's, counts as coming with it. */
static inline double schedule_respond(struct schedule *schedule, double due_tick, double service_ns)
{
    double passed_ns = (due_tick - schedule->due_tick) * schedule->tick_ns;
    if (passed_ns > 0) {
        schedule->backlog_ns -= passed_ns < schedule->backlog_ns ? passed_ns : schedule->backlog_ns;
        schedule->due_tick = due_tick;
    }
    schedule->backlog_ns += service_ns;
    return schedule->backlog_ns;
}

#endif
