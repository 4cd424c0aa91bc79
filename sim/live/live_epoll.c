/* The machine's clock: epoll_wait, and two timerfds to end it. */
#include "clock.h"
#include "live.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

uint64_t live_epoll_now_ns(const struct live_epoll *loop)
{
    return clock_now_ns() - loop->begun_ns;
}

static uint64_t now_ns(void *ctx)
{
    return live_epoll_now_ns(ctx);
}

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

struct timespec live_epoll_time(const struct live_epoll *loop, uint64_t at_ns)
{
    return to_timespec(loop->begun_ns + at_ns);
}

static bool epoll_arm(void *ctx, uint64_t at_ns)
{
    struct live_epoll *loop = ctx;
    loop->armed_ns = at_ns;
    if (loop->by_timeout) {
        return true;
    }
    loop->system_calls++;
    struct itimerspec when = {0}; /* all zero: disarmed */
    if (at_ns != LIVE_NEVER) {
        when.it_value = live_epoll_time(loop, at_ns);
    }
    return timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL) == 0;
}

/* epoll_wait's timeout: rounded up, so that nothing is early. */
static int timeout_ms(const struct live_epoll *loop)
{
    if (!loop->by_timeout || loop->armed_ns == LIVE_NEVER) {
        return -1;
    }
    uint64_t now = live_epoll_now_ns(loop);
    uint64_t ms = loop->armed_ns > now ? (loop->armed_ns - now + 999999) / 1000000 : 0;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

static unsigned wait_for_events(void *ctx)
{
    struct live_epoll *loop = ctx;
    struct epoll_event events[2];
    int count = 0;
    do {
        loop->system_calls++;
        count = epoll_wait(loop->epoll, events, 2, timeout_ms(loop));
    } while (count < 0 && errno == EINTR);
    unsigned causes = count == 0 ? LIVE_TIMER : 0;
    for (int i = 0; i < count; i++) {
        uint64_t expirations = 0;
        int fd = events[i].data.fd;
        loop->system_calls++;
        /* Nothing to read: the timer was set again in between. */
        if (read(fd, &expirations, sizeof expirations) > 0 || errno == EAGAIN) {
            causes |= fd == loop->timer ? LIVE_TIMER : LIVE_TRAFFIC;
        }
    }
    return causes;
}

bool live_epoll_open(struct live_epoll *loop, uint64_t traffic_ns, struct error *error)
{
    *loop = (struct live_epoll){
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
        .traffic = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
        .begun_ns = clock_now_ns(),
        .armed_ns = LIVE_NEVER,
    };
    struct itimerspec every = {.it_interval = to_timespec(traffic_ns),
                               .it_value = live_epoll_time(loop, traffic_ns)};
    struct epoll_event timer = {.events = EPOLLIN, .data.fd = loop->timer};
    struct epoll_event traffic = {.events = EPOLLIN, .data.fd = loop->traffic};
    if (loop->epoll < 0 || loop->timer < 0 || loop->traffic < 0 ||
        epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->timer, &timer) != 0 ||
        epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->traffic, &traffic) != 0 ||
        timerfd_settime(loop->traffic, TFD_TIMER_ABSTIME, &every, NULL) != 0) {
        (void)error_set(error, "no epoll or timerfd to be had: %s", strerror(errno));
        live_epoll_close(loop);
        return false;
    }
    return true;
}

struct live_clock live_epoll_clock(struct live_epoll *loop)
{
    return (struct live_clock){loop, now_ns, epoll_arm, wait_for_events, NULL};
}

void live_epoll_close(struct live_epoll *loop)
{
    const int files[] = {loop->epoll, loop->timer, loop->traffic};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i] >= 0) {
            (void)close(files[i]);
        }
    }
}
