/*
 * loop-libuv: the echo server of echo.h on libuv, whose timers are libuv's own, or with -DEXPORTED
 * those of `timerlab export`: what changes is marked so, and is all that does.
 *
 *     cc -O2 loop-libuv.c -luv -o before
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -DEXPORTED -Itimers loop-libuv.c timers/timers.c -luv -o after
 *     ./after 7000
 */
#ifndef EXPORTED
#define ECHO_OWN_TIMERS
#endif
#include "echo.h"

#include <signal.h>
#include <uv.h>

static uv_loop_t *loop;
static uv_tcp_t *handles[CONNECTIONS];

#ifdef EXPORTED
static uv_timer_t wakeup; /* the one timer that libuv still has */

static void on_wakeup(uv_timer_t *timer)
{
    (void)timer; /* the loop goes round, which is enough */
}

/* Before libuv waits. Its clock is that of its last turn. */
static void on_prepare(uv_prepare_t *prepare)
{
    (void)prepare;
    uv_update_time(loop);
    (void)uv_timer_start(&wakeup, on_wakeup, timers_sleep_ms(), 0);
}

/* After libuv has waited, and what has come was read. */
static void on_check(uv_check_t *check)
{
    (void)check;
    timers_turn();
}

static void make_timers(void)
{
    static uv_prepare_t prepare;
    static uv_check_t check;
    timers_make();
    (void)uv_timer_init(loop, &wakeup);
    (void)uv_prepare_init(loop, &prepare);
    (void)uv_prepare_start(&prepare, on_prepare);
    (void)uv_check_init(loop, &check);
    (void)uv_check_start(&check, on_check);
}
#else
static uv_timer_t events[CONNECTIONS * KINDS];

static void on_event(uv_timer_t *timer)
{
    on_timer((unsigned)(timer - events));
}

static void timer_start(unsigned id, unsigned ms)
{
    if (events[id].loop == NULL) {
        (void)uv_timer_init(loop, &events[id]);
    }
    (void)uv_timer_start(&events[id], on_event, ms, 0);
}

static void timer_stop(unsigned id)
{
    if (events[id].loop != NULL) {
        (void)uv_timer_stop(&events[id]);
    }
}

static void make_timers(void) {}
#endif

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void loop_close(int fd)
{
    uv_close((uv_handle_t *)handles[fd], on_closed);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    static char bytes[READ_BYTES];
    (void)handle, (void)wanted;
    *room = uv_buf_init(bytes, sizeof bytes);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *room)
{
    uv_os_fd_t fd;
    if (count != 0 && uv_fileno((uv_handle_t *)stream, &fd) == 0) { /* 0: nothing to read yet */
        echo_bytes(fd, room->base, count);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    uv_os_fd_t fd;
    uv_tcp_t *handle = malloc(sizeof *handle);
    if (status != 0 || handle == NULL) {
        free(handle);
        return;
    }
    (void)uv_tcp_init(loop, handle);
    if (uv_accept(listener, (uv_stream_t *)handle) != 0 ||
        uv_fileno((uv_handle_t *)handle, &fd) != 0 || fd >= CONNECTIONS) {
        uv_close((uv_handle_t *)handle, on_closed);
        return;
    }
    handles[fd] = handle;
    (void)echo_open(fd);
    (void)uv_read_start((uv_stream_t *)handle, on_room, on_read);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)handle, (void)number;
    uv_stop(loop);
}

int main(int argc, char **argv)
{
    static uv_tcp_t listener;
    static uv_signal_t end;
    int socket = echo_listen(argc, argv);
    loop = uv_default_loop();
    make_timers();
    (void)uv_signal_init(loop, &end);
    (void)uv_signal_start(&end, on_signal, SIGTERM);
    (void)uv_tcp_init(loop, &listener);
    if (uv_tcp_open(&listener, socket) != 0 ||
        uv_listen((uv_stream_t *)&listener, 4096, on_connection) != 0) {
        echo_fail("cannot listen");
    }
    (void)uv_run(loop, UV_RUN_DEFAULT);
    return echo_report();
}
