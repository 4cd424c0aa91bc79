/* Cases: what is stopped does not fire, and nothing else is changed. */
#include "kit_cases.h"
#include "kit_script.h"

static void stop_idle(struct kit_subject *subject, size_t i)
{
    script_start(subject, 1, script_delays[i]);
    script_start(subject, 3, script_delays[i]);
    script_stop(subject, 0);
    script_stop(subject, 2);
    script_stop(subject, 4);
    script_settle(subject);
}

void case_stop_idle(struct kit_run *run)
{
    script_each_delay(run, 5, 10, stop_idle);
}

enum { TOGETHER = 5 };

/* Of several that share a slot, each in turn is stopped; the others fire. */
static void stop_pending(struct kit_subject *subject, size_t i)
{
    for (uint32_t victim = 0; victim < TOGETHER; victim++) {
        script_start_all(subject, TOGETHER, script_delays[i]);
        if (victim % 2 == 1) {
            script_advance(subject, subject->clock + script_delays[i] / 3);
        }
        script_stop(subject, victim);
        if (victim == 2) {
            script_stop(subject, 4);
        }
        script_settle(subject);
    }
}

void case_stop_pending(struct kit_run *run)
{
    script_each_delay(run, TOGETHER, 0, stop_pending);
}

static void stop_fired(struct kit_subject *subject, size_t i)
{
    script_start(subject, 0, script_delays[i]);
    script_start(subject, 1, script_delays[i]);
    script_settle(subject);
    script_start(subject, 2, script_delays[i]);
    script_stop(subject, 0);
    script_stop(subject, 1);
    script_settle(subject);
}

void case_stop_fired(struct kit_run *run)
{
    script_each_delay(run, 3, 0, stop_fired);
}

static void stop_twice(struct kit_subject *subject, size_t i)
{
    script_start_all(subject, 3, script_delays[i]);
    script_stop(subject, 1);
    script_stop(subject, 1);
    script_advance(subject, subject->clock + script_delays[i] - 1);
    script_stop(subject, 1);
    script_settle(subject);
}

void case_stop_twice(struct kit_run *run)
{
    script_each_delay(run, 3, 0, stop_twice);
}

/* Whatever a timer's earlier life left behind must not act on its later one. */
static void reuse_id(struct kit_subject *subject, size_t i)
{
    for (size_t j = 0; j < SCRIPT_DELAYS; j++) {
        script_start(subject, 0, script_delays[i]);
        script_start(subject, 1, script_delays[i]);
        script_stop(subject, 0);
        script_start(subject, 0, script_delays[j]);
        if (j % 3 == 1) {
            script_stop(subject, 0);
            script_start(subject, 2, script_delays[j]);
        }
        if (j % 3 == 2) {
            script_start(subject, 3, script_delays[i]);
            script_stop(subject, 1);
            script_start(subject, 1, script_delays[j]);
        }
        script_settle(subject);
    }
}

void case_reused_id(struct kit_run *run)
{
    script_each_delay(run, 4, 0, reuse_id);
}
