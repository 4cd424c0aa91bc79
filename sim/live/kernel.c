#include "kernel_private.h"

#include "memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS_AT_ONCE = 256 };

#define TRAFFIC UINT64_MAX /* in an event's data; others have an id there */

void kernel_take_traffic(struct kernel_timers *timers)
{
    uint64_t expirations;
    timers->loop->system_calls++;
    (void)!read(timers->loop->traffic, &expirations, sizeof expirations);
}

static unsigned wait_epoll(struct kernel_timers *timers)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    unsigned causes = 0;
    int count = 0;
    do {
        timers->loop->system_calls++;
        count = epoll_wait(timers->loop->epoll, events, EVENTS_AT_ONCE, -1);
    } while (count < 0 && errno == EINTR);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == TRAFFIC) {
            kernel_take_traffic(timers);
            causes |= LIVE_TRAFFIC;
        } else {
            timers->loop->system_calls++;
            timers->sort->take(timers, (uint32_t)events[i].data.u64);
            causes |= LIVE_TIMER;
        }
    }
    return causes;
}

static bool watch(struct kernel_timers *timers, int file, uint64_t data)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};
    return epoll_ctl(timers->loop->epoll, EPOLL_CTL_ADD, file, &event) == 0;
}

/* The traffic's descriptor stands for itself, not for an id. */
static bool watch_traffic(struct kernel_timers *timers, struct error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = TRAFFIC};
    return epoll_ctl(timers->loop->epoll, EPOLL_CTL_MOD, timers->loop->traffic, &event) == 0 ||
           error_set(error, "epoll_ctl: %s", strerror(errno));
}

/* Why there are not as many timers as were wanted. */
static bool refuse(const struct kernel_timers *timers, int number, int expected, const char *name,
                   int resource, const char *flag, struct error *error)
{
    struct rlimit limit;
    if (number == expected && getrlimit((__rlimit_resource_t)resource, &limit) == 0) {
        return error_set(error, "only %u timers: %s is %llu (ulimit %s)", (unsigned)timers->made,
                         name, (unsigned long long)limit.rlim_cur, flag);
    }
    return error_set(error, "only %u timers: %s", (unsigned)timers->made, strerror(number));
}

/* --- a timerfd for each ----------------------------------------------------------------------- */

static bool timerfd_open(struct kernel_timers *timers, struct error *error)
{
    int *files = memory_new(timers->count, sizeof *files);
    struct rlimit limit;
    timers->own = files;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    while (timers->made < timers->count) {
        int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (file < 0) {
            return refuse(timers, errno, EMFILE, "RLIMIT_NOFILE", RLIMIT_NOFILE, "-n", error);
        }
        files[timers->made] = file;
        bool watched = watch(timers, file, timers->made);
        timers->made++;
        if (!watched) {
            return error_set(error, "only %u timers: %s", (unsigned)timers->made - 1,
                             errno == ENOSPC ? "fs.epoll.max_user_watches" : strerror(errno));
        }
    }
    return watch_traffic(timers, error);
}

static bool timerfd_start(struct kernel_timers *timers, uint32_t id)
{
    const int *files = timers->own;
    const struct itimerspec when = {.it_value = live_epoll_time(timers->loop, timers->at_ns[id])};
    timers->loop->system_calls++;
    return timerfd_settime(files[id], TFD_TIMER_ABSTIME, &when, NULL) == 0;
}

static void timerfd_take(struct kernel_timers *timers, uint32_t id)
{
    const int *files = timers->own;
    uint64_t expirations;
    if (read(files[id], &expirations, sizeof expirations) > 0) {
        kernel_due(timers, id);
    }
}

static void timerfd_close(struct kernel_timers *timers)
{
    const int *files = timers->own;
    for (uint32_t id = 0; id < timers->made; id++) {
        (void)close(files[id]);
    }
    free(timers->own);
}

const struct kernel_sort kernel_timerfd = {.open = timerfd_open,
                                           .start = timerfd_start,
                                           .wait = wait_epoll,
                                           .take = timerfd_take,
                                           .close = timerfd_close};

/* --- a POSIX timer for each ------------------------------------------------------------------- */

struct posix_timers {
    timer_t *timers;
    int signals;
    sigset_t before;
};

static void signal_set(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGRTMIN);
}

static bool posix_open(struct kernel_timers *timers, struct error *error)
{
    struct posix_timers *posix = memory_new(1, sizeof *posix);
    sigset_t set;
    timers->own = posix;
    signal_set(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, &posix->before);
    posix->timers = memory_new(timers->count, sizeof *posix->timers);
    posix->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (posix->signals < 0 || !watch(timers, posix->signals, 0)) {
        return error_set(error, "no signalfd: %s", strerror(errno));
    }
    while (timers->made < timers->count) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                                 .sigev_signo = SIGRTMIN,
                                 .sigev_value.sival_int = (int)timers->made};
        event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
        if (timer_create(CLOCK_MONOTONIC, &event, &posix->timers[timers->made]) != 0) {
            return refuse(timers, errno, EAGAIN, "RLIMIT_SIGPENDING", RLIMIT_SIGPENDING, "-i",
                          error);
        }
        timers->made++;
    }
    return watch_traffic(timers, error);
}

static bool posix_start(struct kernel_timers *timers, uint32_t id)
{
    const struct posix_timers *posix = timers->own;
    const struct itimerspec when = {.it_value = live_epoll_time(timers->loop, timers->at_ns[id])};
    timers->loop->system_calls++;
    return timer_settime(posix->timers[id], TIMER_ABSTIME, &when, NULL) == 0;
}

static void posix_take(struct kernel_timers *timers, uint32_t data)
{
    const struct posix_timers *posix = timers->own;
    struct signalfd_siginfo signals[64];
    ssize_t bytes = read(posix->signals, signals, sizeof signals);
    (void)data;
    for (size_t s = 0; bytes > 0 && s < (size_t)bytes / sizeof signals[0]; s++) {
        kernel_due(timers, (uint32_t)signals[s].ssi_int);
    }
}

static void posix_close(struct kernel_timers *timers)
{
    struct posix_timers *posix = timers->own;
    if (posix != NULL) {
        for (uint32_t id = 0; id < timers->made; id++) {
            (void)timer_delete(posix->timers[id]);
        }
        sigset_t set;
        signal_set(&set);
        /* A pending signal of a deleted timer would end the process. */
        while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0) {
        }
        (void)pthread_sigmask(SIG_SETMASK, &posix->before, NULL);
        (void)(posix->signals >= 0 ? close(posix->signals) : 0);
        free(posix->timers);
        free(posix);
    }
}

const struct kernel_sort kernel_posix = {.open = posix_open,
                                         .start = posix_start,
                                         .wait = wait_epoll,
                                         .take = posix_take,
                                         .close = posix_close};

/* --- in a structure's place ------------------------------------------------------------------- */

static const struct {
    const char *name;
    const struct kernel_sort *sort;
} kinds[KERNEL_AND_HOSTED] = {
    [KERNEL_TIMERFD] = {"timerfd-each", &kernel_timerfd},
    [KERNEL_POSIX] = {"posix-timers", &kernel_posix},
    [KERNEL_IO_URING] = {"io-uring-timeouts", &kernel_io_uring},
    [HOSTED_LIBEV] = {"libev-loop", &hosted_libev},
    [HOSTED_LIBUV] = {"libuv-loop", &hosted_libuv},
    [HOSTED_LIBEVENT] = {"libevent-loop", &hosted_libevent},
    [HOSTED_GLIB] = {"glib-loop", &hosted_glib},
};

static enum tl_status algo_start(void *self, uint32_t id, uint64_t deadline)
{
    struct kernel_timers *timers = self;
    timers->pending += timers->at_ns[id] == LIVE_NEVER;
    timers->at_ns[id] = deadline * timers->tick_ns;
    return timers->sort->start(timers, id) ? TL_OK : TL_ERR_NOMEM;
}

/* Fire the timers that the last wait found, except those that were restarted since. */
static uint64_t algo_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct kernel_timers *timers = self;
    uint32_t due_count = timers->due_count;
    uint64_t fired = 0;
    uint64_t reached_ns = (now + 1) * timers->tick_ns;
    (void)budget;
    timers->due_count = 0;
    for (uint32_t i = 0; i < due_count; i++) {
        uint32_t id = timers->due[i];
        if (timers->at_ns[id] < reached_ns) {
            timers->at_ns[id] = LIVE_NEVER;
            timers->pending--;
            fired++;
            fire(ctx, id, now);
        }
    }
    return fired;
}

static uint64_t algo_count(const void *self)
{
    return ((const struct kernel_timers *)self)->pending;
}

const struct tl_algo *kernel_algo(enum kernel_kind kind)
{
    static struct tl_algo algos[KERNEL_AND_HOSTED];
    algos[kind] = (struct tl_algo){.abi = TL_ABI,
                                   .name = kinds[kind].name,
                                   .start = algo_start,
                                   .advance = algo_advance,
                                   .count = algo_count};
    return &algos[kind];
}

static uint64_t clock_now(void *ctx)
{
    const struct kernel_timers *timers = ctx;
    return live_epoll_now_ns(timers->loop);
}

static bool clock_arm(void *ctx, uint64_t at_ns)
{
    (void)ctx, (void)at_ns; /* the timers wake by themselves */
    return true;
}

static unsigned clock_wait(void *ctx)
{
    struct kernel_timers *timers = ctx;
    return timers->sort->wait(timers);
}

struct live_clock kernel_clock(struct kernel_timers *timers)
{
    return (struct live_clock){timers, clock_now, clock_arm, clock_wait, NULL};
}

void kernel_settle(struct kernel_timers *timers)
{
    if (timers->sort->settle != NULL) {
        timers->sort->settle(timers);
    }
}

struct kernel_timers *kernel_open(enum kernel_kind kind, uint32_t count, uint64_t tick_ns,
                                  uint64_t traffic_ns, struct live_epoll *loop, struct error *error)
{
    struct kernel_timers *timers = memory_new(1, sizeof *timers);
    timers->sort = kinds[kind].sort;
    timers->loop = loop;
    timers->tick_ns = tick_ns;
    timers->traffic_ns = traffic_ns;
    timers->count = count;
    timers->due = memory_new(count, sizeof *timers->due);
    timers->at_ns = memory_new(count, sizeof *timers->at_ns);
    for (uint32_t id = 0; id < count; id++) {
        timers->at_ns[id] = LIVE_NEVER;
    }
    if (!timers->sort->open(timers, error)) {
        kernel_close(timers);
        return NULL;
    }
    return timers;
}

void kernel_close(struct kernel_timers *timers)
{
    if (timers != NULL) {
        timers->sort->close(timers);
        free(timers->due);
        free(timers->at_ns);
        free(timers);
    }
}
