/*
 * loop-io-uring: the echo server of echo.h on io_uring, with one timeout for all timers: that of
 * the call that submits what is to be done and waits for what is.
 *
 *     timerlab export hier-wheel --prefix timers -o timers
 *     cc -O2 -Itimers loop-io-uring.c timers/timers.c -luring -o server
 *     ./server 7000
 */
#include "echo.h"

#include <liburing.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

enum { ENTRIES = 1024 };
enum what { ACCEPT, RECEIVE, SIGNAL }; /* in the low bits of what comes back */

static struct io_uring ring;
static bool receiving[CONNECTIONS];
static char bytes[CONNECTIONS][READ_BYTES];

static struct io_uring_sqe *entry(void)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    while (sqe == NULL) { /* the queue is full */
        (void)io_uring_submit(&ring);
        sqe = io_uring_get_sqe(&ring);
    }
    return sqe;
}

static void ask(struct io_uring_sqe *sqe, enum what what, int fd)
{
    io_uring_sqe_set_data64(sqe, (uint64_t)fd << 2 | what);
}

static void receive(int fd)
{
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_recv(sqe, fd, bytes[fd], READ_BYTES, 0);
    ask(sqe, RECEIVE, fd);
    receiving[fd] = true;
}

/* While the kernel receives for it, the descriptor is not to be another's: that ends first. */
static void loop_close(int fd)
{
    (void)(receiving[fd] ? shutdown(fd, SHUT_RDWR) : close(fd));
}

static void accept_next(int listener)
{
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_accept(sqe, listener, NULL, NULL, 0);
    ask(sqe, ACCEPT, listener);
}

static void received(int fd, int count)
{
    receiving[fd] = false;
    if (!is_open[fd]) { /* a timer has closed it */
        (void)close(fd);
    } else {
        echo_bytes(fd, bytes[fd], count);
        if (is_open[fd]) {
            receive(fd);
        }
    }
}

/* True if it is the signal to end. */
static bool handle(uint64_t data, int result)
{
    int fd = (int)(data >> 2);
    switch ((enum what)(data & 3)) {
    case ACCEPT:
        if (result >= 0 && echo_open(result)) {
            receive(result);
        }
        accept_next(fd);
        return false;
    case RECEIVE:
        received(fd, result);
        return false;
    case SIGNAL:
    default:
        return true;
    }
}

int main(int argc, char **argv)
{
    sigset_t end;
    (void)sigemptyset(&end);
    (void)sigaddset(&end, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &end, NULL);
    int refused = io_uring_queue_init(ENTRIES, &ring, 0);
    if (refused != 0) {
        (void)fprintf(stderr, "no io_uring: %s\n", strerror(-refused));
        return 77;
    }
    int signals = signalfd(-1, &end, 0);
    int listener = echo_listen(argc, argv);
    timers_make();
    struct io_uring_sqe *sqe = entry();
    io_uring_prep_poll_add(sqe, signals, POLLIN);
    ask(sqe, SIGNAL, signals);
    accept_next(listener);
    for (bool ended = false; !ended;) {
        unsigned ms = timers_sleep_ms();
        struct __kernel_timespec most = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000LL};
        struct io_uring_cqe *cqe = NULL;
        (void)io_uring_submit_and_wait_timeout(&ring, &cqe, 1, &most, NULL);
        unsigned head;
        unsigned count = 0;
        io_uring_for_each_cqe(&ring, head, cqe)
        {
            ended = handle(cqe->user_data, cqe->res) || ended;
            count++;
        }
        io_uring_cq_advance(&ring, count);
        timers_turn();
    }
    return echo_report();
}
