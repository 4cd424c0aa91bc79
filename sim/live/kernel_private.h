/* kernel_private.h: shared by the kinds of kernel_timers. Only kernel_*.c include it. */
#ifndef SIM_KERNEL_PRIVATE_H
#define SIM_KERNEL_PRIVATE_H

#include "kernel.h"

/* The hooks of a kind. Those that wait report ended timers by kernel_due. */
struct kernel_sort {
    /* Makes all timers. False, with the reason. */
    bool (*open)(struct kernel_timers *timers, struct error *error);
    /* (Re)starts one, for timers->at_ns[id]. */
    bool (*start)(struct kernel_timers *timers, uint32_t id);
    /* Sleeps; returns enum live_cause, 0 if that failed. */
    unsigned (*wait)(struct kernel_timers *timers);
    void (*close)(struct kernel_timers *timers);
    /* Submit the starts to the kernel, if that is deferred to the next wait. May be NULL. */
    void (*settle)(struct kernel_timers *timers);
    const struct hosted_loop *hosted; /* of a library's loop; else NULL */
    /* Of kernel.c: reads, by one call, what made the descriptor with those data ready. */
    void (*take)(struct kernel_timers *timers, uint32_t data);
};

struct kernel_timers {
    const struct kernel_sort *sort;
    struct live_epoll *loop; /* its epoll, its traffic, its count of calls */
    uint64_t tick_ns;
    uint64_t traffic_ns;
    uint32_t count;
    uint32_t made;
    uint32_t pending;
    uint32_t due_count;
    uint32_t *due;
    uint64_t *at_ns; /* by id; LIVE_NEVER: not pending */
    void *own;       /* the sort's; NULL: it is not open */
    bool traffic_came;
};

extern const struct kernel_sort kernel_timerfd;
extern const struct kernel_sort kernel_posix;
extern const struct kernel_sort kernel_io_uring;
extern const struct kernel_sort hosted_libev;
extern const struct kernel_sort hosted_libuv;
extern const struct kernel_sort hosted_libevent;
extern const struct kernel_sort hosted_glib;

/* The timer has ended, and is handed out by the next advance. */
static inline void kernel_due(struct kernel_timers *timers, uint32_t id)
{
    timers->due[timers->due_count++] = id;
}

/* Takes what made the loop's traffic ready. */
void kernel_take_traffic(struct kernel_timers *timers);

#endif
