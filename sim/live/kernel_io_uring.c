/* Timeouts of io_uring, one for each timer. By the kernel's interface itself, so that nothing needs
 * to be installed for it. */
#include "kernel_private.h"

#include "memory.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 4096 };

/* Completions of these; the others are ids. */
#define TRAFFIC UINT64_MAX
#define UPDATED (UINT64_MAX - 1)

/* A queue that is shared with the kernel. */
struct io_uring_queue {
    _Atomic uint32_t *head;
    _Atomic uint32_t *tail;
    uint32_t mask;
};

struct ring {
    int file;
    unsigned char *map;
    size_t map_bytes;
    struct io_uring_sqe *asked;
    struct io_uring_queue submission;
    struct io_uring_queue completion;
    struct io_uring_cqe *completed;
    uint32_t *order;
    uint32_t unsubmitted;
    bool *armed;                    /* by id: the kernel has a timeout for it */
    struct __kernel_timespec *when; /* by id */
};

static struct io_uring_queue queue_at(unsigned char *map, uint32_t head, uint32_t tail,
                                      uint32_t mask)
{
    return (struct io_uring_queue){.head = (_Atomic uint32_t *)(void *)(map + head),
                                   .tail = (_Atomic uint32_t *)(void *)(map + tail),
                                   .mask = *(uint32_t *)(void *)(map + mask)};
}

static int enter(struct kernel_timers *timers, uint32_t least)
{
    struct ring *ring = timers->own;
    long done = 0;
    do {
        timers->loop->system_calls++;
        done = syscall(SYS_io_uring_enter, ring->file, ring->unsubmitted, least,
                       IORING_ENTER_GETEVENTS, NULL, (size_t)0);
    } while (done < 0 && errno == EINTR);
    ring->unsubmitted -= done > 0 ? (uint32_t)done : 0;
    return done < 0 ? -1 : 0;
}

/* The next entry of the queue, empty; NULL: the kernel takes no more. */
static struct io_uring_sqe *entry(struct kernel_timers *timers)
{
    struct ring *ring = timers->own;
    if (ring->unsubmitted == ENTRIES && enter(timers, 0) != 0) {
        return NULL;
    }
    uint32_t tail = atomic_load_explicit(ring->submission.tail, memory_order_relaxed);
    uint32_t index = tail & ring->submission.mask;
    ring->order[index] = index;
    memset(&ring->asked[index], 0, sizeof ring->asked[index]);
    /* Read by the kernel in the next enter alone, when the entry is filled in. */
    atomic_store_explicit(ring->submission.tail, tail + 1, memory_order_release);
    ring->unsubmitted++;
    return &ring->asked[index];
}

static bool watch_traffic(struct kernel_timers *timers)
{
    struct io_uring_sqe *sqe = entry(timers);
    if (sqe != NULL) {
        sqe->opcode = IORING_OP_POLL_ADD;
        sqe->fd = timers->loop->traffic;
        sqe->poll32_events = POLLIN;
        sqe->user_data = TRAFFIC;
    }
    return sqe != NULL;
}

static bool io_uring_start(struct kernel_timers *timers, uint32_t id)
{
    struct ring *ring = timers->own;
    struct io_uring_sqe *sqe = entry(timers);
    if (sqe == NULL) {
        return false;
    }
    struct timespec at = live_epoll_time(timers->loop, timers->at_ns[id]);
    ring->when[id] = (struct __kernel_timespec){.tv_sec = at.tv_sec, .tv_nsec = at.tv_nsec};
    sqe->fd = -1;
    if (ring->armed[id]) {
        /* A timeout that has ended meanwhile is not found, and is started again when its completion
         * is seen. */
        sqe->opcode = IORING_OP_TIMEOUT_REMOVE;
        sqe->timeout_flags = IORING_TIMEOUT_UPDATE | IORING_TIMEOUT_ABS;
        sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
        sqe->addr = id;
        sqe->addr2 = (uint64_t)(uintptr_t)&ring->when[id];
        sqe->user_data = UPDATED;
    } else {
        sqe->opcode = IORING_OP_TIMEOUT;
        sqe->timeout_flags = IORING_TIMEOUT_ABS;
        sqe->addr = (uint64_t)(uintptr_t)&ring->when[id];
        sqe->len = 1;
        sqe->user_data = id;
        ring->armed[id] = true;
    }
    return true;
}

static bool open_ring(struct kernel_timers *timers, struct error *error)
{
    struct ring *ring = timers->own;
    struct io_uring_params params = {0};
    ring->file = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
    if (ring->file < 0) {
        return error_set(error, "no io_uring: %s%s", strerror(errno),
                         errno == EPERM ? " (kernel.io_uring_disabled, or the sandbox)" : "");
    }
    const uint32_t needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_CQE_SKIP;
    if ((params.features & needed) != needed) {
        return error_set(error, "io_uring of a kernel before 5.17");
    }
    size_t submission = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
    size_t completion = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    ring->map_bytes = submission > completion ? submission : completion;
    void *map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                     ring->file, IORING_OFF_SQ_RING);
    void *asked = mmap(NULL, ENTRIES * sizeof *ring->asked, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_POPULATE, ring->file, IORING_OFF_SQES);
    ring->map = map != MAP_FAILED ? map : NULL;
    ring->asked = asked != MAP_FAILED ? asked : NULL;
    if (ring->map == NULL || ring->asked == NULL) {
        return error_set(error, "no memory for io_uring: %s", strerror(errno));
    }
    ring->submission =
        queue_at(ring->map, params.sq_off.head, params.sq_off.tail, params.sq_off.ring_mask);
    ring->completion =
        queue_at(ring->map, params.cq_off.head, params.cq_off.tail, params.cq_off.ring_mask);
    ring->order = (uint32_t *)(void *)(ring->map + params.sq_off.array);
    ring->completed = (struct io_uring_cqe *)(void *)(ring->map + params.cq_off.cqes);
    return watch_traffic(timers) || error_set(error, "no io_uring: %s", strerror(errno));
}

static bool io_uring_open(struct kernel_timers *timers, struct error *error)
{
    struct ring *ring = memory_new(1, sizeof *ring);
    timers->own = ring;
    ring->file = -1;
    ring->armed = memory_new(timers->count, sizeof *ring->armed);
    ring->when = memory_new(timers->count, sizeof *ring->when);
    return open_ring(timers, error);
}

static unsigned take_completion(struct kernel_timers *timers, const struct io_uring_cqe *cqe)
{
    struct ring *ring = timers->own;
    if (cqe->user_data == TRAFFIC) {
        kernel_take_traffic(timers);
        return watch_traffic(timers) ? LIVE_TRAFFIC : 0;
    }
    if (cqe->user_data == UPDATED) {
        return 0;
    }
    uint32_t id = (uint32_t)cqe->user_data;
    ring->armed[id] = false;
    if (timers->at_ns[id] >
        live_epoll_now_ns(timers->loop)) { /* it was restarted after it had ended */
        return io_uring_start(timers, id) ? 0 : LIVE_TIMER;
    }
    kernel_due(timers, id);
    return LIVE_TIMER;
}

static unsigned io_uring_wait(struct kernel_timers *timers)
{
    struct ring *ring = timers->own;
    unsigned causes = 0;
    while (causes == 0) {
        if (enter(timers, 1) != 0 && errno != EBUSY) {
            return 0;
        }
        uint32_t head = atomic_load_explicit(ring->completion.head, memory_order_relaxed);
        uint32_t tail = atomic_load_explicit(ring->completion.tail, memory_order_acquire);
        for (; head != tail; head++) {
            const struct io_uring_cqe cqe = ring->completed[head & ring->completion.mask];
            atomic_store_explicit(ring->completion.head, head + 1, memory_order_release);
            causes |= take_completion(timers, &cqe);
        }
    }
    return causes;
}

static void io_uring_close(struct kernel_timers *timers)
{
    struct ring *ring = timers->own;
    if (ring != NULL) {
        (void)(ring->asked != NULL ? munmap(ring->asked, ENTRIES * sizeof *ring->asked) : 0);
        (void)(ring->map != NULL ? munmap(ring->map, ring->map_bytes) : 0);
        (void)(ring->file >= 0 ? close(ring->file) : 0);
        free(ring->armed);
        free(ring->when);
        free(ring);
    }
}

static void settle(struct kernel_timers *timers)
{
    (void)enter(timers, 0);
}

const struct kernel_sort kernel_io_uring = {.open = io_uring_open,
                                            .start = io_uring_start,
                                            .wait = io_uring_wait,
                                            .close = io_uring_close,
                                            .settle = settle};
