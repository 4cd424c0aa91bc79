/* A program with timers of one library, for the recorder's test. Each starts a far timer, and
 * starts it again; and a near one, which repeats and stops both in its third callback; and does so
 * in a forked child as well. Last, it stops a timer that is not pending. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(TARGET_LIBEVENT)
#include <event2/event.h>

static struct event *far_timer;
static int fired;

static void on_near(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    /* `argument` is the event itself. */
    if (++fired == 3) {
        (void)event_del(far_timer);
        (void)event_del(argument);
    }
}

static void on_far(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    (void)argument;
}

static int use_timers(void)
{
    static const struct timeval far = {.tv_sec = 100};
    static const struct timeval near = {.tv_usec = 1000};
    struct event_base *base = event_base_new();
    far_timer = evtimer_new(base, on_far, NULL);
    struct event *near_timer = event_new(base, -1, EV_PERSIST, on_near, event_self_cbarg());
    fired = 0;
    (void)event_add(far_timer, &far);
    (void)event_add(far_timer, &far);
    (void)event_add(near_timer, &near);
    (void)event_base_dispatch(base);
    (void)event_del(far_timer);
    event_free(near_timer);
    event_free(far_timer);
    event_base_free(base);
    return fired == 3 ? 0 : 1;
}

#elif defined(TARGET_LIBEV)
#include <ev.h>

static ev_timer far_timer;
static int fired;

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)events;
    if (++fired == 3) {
        ev_timer_stop(loop, &far_timer);
        ev_timer_stop(loop, timer);
    }
}

static int use_timers(void)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    ev_timer near_timer;
    fired = 0;
    ev_timer_init(&far_timer, on_timer, 0., 100.);
    ev_timer_init(&near_timer, on_timer, 0.001, 0.002);
    ev_timer_again(loop, &far_timer);
    ev_timer_again(loop, &far_timer);
    ev_timer_start(loop, &near_timer);
    (void)ev_run(loop, 0);
    ev_timer_stop(loop, &far_timer);
    ev_loop_destroy(loop);
    /* Idle timers have their own callbacks. */
    return fired == 3 && ev_cb(&near_timer) == on_timer && ev_cb(&far_timer) == on_timer ? 0 : 1;
}

#else
#include <uv.h>

static uv_timer_t far_timer;
static int fired;

static void on_timer(uv_timer_t *timer)
{
    if (++fired == 3) {
        (void)uv_timer_stop(&far_timer);
        (void)uv_timer_stop(timer);
    }
}

static int use_timers(void)
{
    uv_loop_t loop;
    uv_timer_t near_timer;
    fired = 0;
    (void)uv_loop_init(&loop);
    (void)uv_timer_init(&loop, &far_timer);
    (void)uv_timer_init(&loop, &near_timer);
    (void)uv_timer_start(&far_timer, on_timer, 100000, 100000);
    (void)uv_timer_again(&far_timer);
    (void)uv_timer_start(&near_timer, on_timer, 1, 1);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_timer_stop(&far_timer);
    uv_close((uv_handle_t *)&far_timer, NULL);
    uv_close((uv_handle_t *)&near_timer, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
    return fired == 3 ? 0 : 1;
}
#endif

int main(void)
{
    int bad = use_timers();
    pid_t pid = fork();
    if (pid == 0) {
        return use_timers();
    }
    int status = 1;
    (void)waitpid(pid, &status, 0);
    return bad != 0 || status != 0;
}
