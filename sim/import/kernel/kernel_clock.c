#include "kernel_clock.h"

#define NS_PER_SECOND   UINT64_C(1000000000)

/* How far the counter must have moved for an estimate, and for a final one. */
#define HZ_SPAN_LEAST   20u
#define HZ_SPAN_JIFFIES 1000u

/* Every CONFIG_HZ of Linux's architectures. */
static const unsigned known_hz[] = {24,  32,  48,  64,  100, 128,  200,
                                    250, 256, 300, 500, 512, 1000, 1024};

static bool moved(const struct kernel_clock *clock, uint64_t jiffies)
{
    return clock->jiffies_seen && clock->last_jiffies > clock->first_jiffies &&
           clock->last_jiffies - clock->first_jiffies >= jiffies;
}

bool kernel_clock_hz_is_sure(const struct kernel_clock *clock)
{
    return moved(clock, HZ_SPAN_JIFFIES);
}

uint64_t kernel_clock_hz(const struct kernel_clock *clock)
{
    if (!moved(clock, HZ_SPAN_LEAST) || clock->last_jiffies_ns <= clock->first_jiffies_ns) {
        return 0;
    }
    double measured = (double)(clock->last_jiffies - clock->first_jiffies) * 1e9 /
                      (double)(clock->last_jiffies_ns - clock->first_jiffies_ns);
    uint64_t nearest = 0;
    double nearest_ratio = 1.10; /* the greatest accepted error */
    for (size_t i = 0; i < sizeof known_hz / sizeof known_hz[0]; i++) {
        double hz = known_hz[i];
        double ratio = measured > hz ? measured / hz : hz / measured;
        if (ratio < nearest_ratio) {
            nearest = known_hz[i];
            nearest_ratio = ratio;
        }
    }
    return nearest;
}

/* Clocks within a second of each other are one: different clocks are much further apart. */
void kernel_clock_observe_hrtimer(struct kernel_clock *clock, const struct kernel_event *event)
{
    kernel_wide offset = (kernel_wide)event->now - event->time_ns;
    for (size_t i = 0; i < clock->count; i++) {
        kernel_wide difference = clock->clocks[i] - offset;
        if (difference > -(kernel_wide)NS_PER_SECOND && difference < (kernel_wide)NS_PER_SECOND) {
            clock->clocks[i] = offset;
            return;
        }
    }
    if (clock->count < KERNEL_CLOCKS_MAX) {
        clock->clocks[clock->count++] = offset;
    }
}

kernel_wide kernel_clock_delay_ns(const struct kernel_clock *clock, int64_t deadline,
                                  uint64_t time_ns)
{
    kernel_wide nearest = 0;
    for (size_t i = 0; i < clock->count; i++) {
        kernel_wide delay = deadline - (time_ns + clock->clocks[i]);
        if (i == 0 || (delay < 0 ? -delay : delay) < (nearest < 0 ? -nearest : nearest)) {
            nearest = delay;
        }
    }
    return nearest;
}
