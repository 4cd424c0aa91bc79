/* schedule.h: the queue of the server that response times are computed for (replay.h). */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

/* Zeroed but for tick_ns at the beginning. */
struct schedule {
    double tick_ns;
    double due_tick;   /* when the last caller arrived */
    double backlog_ns; /* the work waiting then, the last caller's included */
};

/* Return the response time of a call that arrives at `due_tick` and is served for `service_ns`. One
 * that arrives before the last caller counts as arriving with it. */
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
