/*
 * A plug-in that does BAD_KIND in BAD_PLACE, both of the environment, and is a right structure
 * otherwise: deadlines in an array, which advance and next go through.
 */
#include "timerlab.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NONE UINT64_MAX

struct timer {
    uint64_t deadline; /* NONE: not pending */
    uint32_t place;    /* in the list, while pending */
    uint32_t listed;   /* the list: the id in the place of this timer's number */
    bool due;          /* to be fired by the advance under way */
};

struct bad {
    const struct tl_allocator *allocator;
    struct timer *timers;
    uint32_t capacity;
    uint32_t pending;
};

static jmp_buf nowhere; /* never set */

static void *work_for_ever(void *arg)
{
    for (volatile uint64_t i = 0;; i++) {
    }
    return arg;
}

static uint64_t recurse(volatile uint64_t *depth)
{
    volatile uint64_t more = *depth + 1;
    return more > 0 ? recurse(&more) + more : 0;
}

static void start_thread(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, work_for_ever, NULL);
}

static void block_signals(void)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_IGN);
    }
    for (;;) {
        (void)pause();
    }
}

static void limit_everything(void)
{
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        (void)setrlimit((__rlimit_resource_t)resource, &(struct rlimit){0, 0});
    }
}

/* As a structure does that is killed before it removes its files. */
static void leave_files(void)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/bad-XXXXXX", folder != NULL ? folder : "/tmp");
    if (mkdtemp(path) != NULL) {
        (void)strcat(path, "/file");
        (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
}

static void misbehave(const char *kind)
{
    volatile uint64_t depth = 0;
    leave_files();
    if (strcmp(kind, "crash") == 0) {
        (void)raise(SIGSEGV);
    } else if (strcmp(kind, "abort") == 0) {
        abort();
    } else if (strcmp(kind, "loop") == 0) {
        (void)work_for_ever(NULL);
    } else if (strcmp(kind, "sleep") == 0) {
        (void)sleep(100000);
    } else if (strcmp(kind, "stop") == 0) {
        (void)raise(SIGSTOP);
    } else if (strcmp(kind, "block") == 0) {
        block_signals();
    } else if (strcmp(kind, "exit") == 0) {
        exit(0);
    } else if (strcmp(kind, "leave") == 0) {
        _exit(0);
    } else if (strcmp(kind, "jump") == 0) {
        longjmp(nowhere, 1);
    } else if (strcmp(kind, "fork") == 0) {
        (void)fork();
    } else if (strcmp(kind, "daemon") == 0) {
        if (fork() == 0) {
            (void)setsid();
            (void)work_for_ever(NULL);
        }
    } else if (strcmp(kind, "thread") == 0) {
        start_thread();
    } else if (strcmp(kind, "close") == 0) {
        (void)close_range(0, ~0U, 0);
    } else if (strcmp(kind, "dup2") == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int file = 0; file < 64; file++) {
            (void)dup2(null, file);
        }
    } else if (strcmp(kind, "print") == 0) {
        (void)printf("bad,ok,forged\n");
        (void)fprintf(stderr, "\033[31mforged\n");
        (void)fflush(NULL);
    } else if (strcmp(kind, "chdir") == 0) {
        (void)!chdir("/");
    } else if (strcmp(kind, "limit") == 0) {
        limit_everything();
    } else if (strcmp(kind, "memory") == 0) {
        size_t bytes = (size_t)100 << 30;
        volatile char *memory = malloc(bytes);
        for (size_t at = 0; at < bytes; at += 4096) {
            memory[at] = 1;
        }
    } else if (strcmp(kind, "recurse") == 0) {
        (void)recurse(&depth);
    }
}

/* Once per process: at every start would be too often. */
static void at(const char *place)
{
    static int done;
    const char *wanted = getenv("BAD_PLACE");
    const char *kind = getenv("BAD_KIND");
    if (!done && wanted != NULL && kind != NULL && strcmp(wanted, place) == 0) {
        done = 1;
        misbehave(kind);
    }
}

__attribute__((constructor)) static void at_load(void)
{
    at("constructor");
}

__attribute__((destructor)) static void at_unload(void)
{
    at("destructor");
}

static enum tl_status bad_reserve(void *self, uint32_t capacity)
{
    struct bad *bad = self;
    at("reserve");
    if (capacity <= bad->capacity) {
        return TL_OK;
    }
    struct timer *longer =
        bad->allocator->resize(bad->allocator->ctx, bad->timers, bad->capacity * sizeof *longer,
                               capacity * sizeof *longer, _Alignof(struct timer));
    if (longer == NULL) {
        return TL_ERR_NOMEM;
    }
    for (uint32_t id = bad->capacity; id < capacity; id++) {
        longer[id] = (struct timer){.deadline = NONE};
    }
    bad->timers = longer;
    bad->capacity = capacity;
    return TL_OK;
}

static void bad_destroy(void *self)
{
    struct bad *bad = self;
    at("destroy");
    tl_free(bad->allocator, bad->timers, bad->capacity * sizeof *bad->timers,
            _Alignof(struct timer));
    tl_free(bad->allocator, bad, sizeof *bad, _Alignof(struct bad));
}

static enum tl_status bad_create(const struct tl_config *config, void **self)
{
    at("create");
    struct bad *bad = tl_alloc(config->allocator, sizeof *bad, _Alignof(struct bad));
    if (bad == NULL) {
        return TL_ERR_NOMEM;
    }
    *bad = (struct bad){.allocator = config->allocator};
    if (bad_reserve(bad, config->capacity) != TL_OK) {
        tl_free(config->allocator, bad, sizeof *bad, _Alignof(struct bad));
        return TL_ERR_NOMEM;
    }
    *self = bad;
    return TL_OK;
}

static enum tl_status bad_start(void *self, uint32_t id, uint64_t deadline)
{
    struct bad *bad = self;
    struct timer *timer = &bad->timers[id];
    at("start");
    if (timer->deadline == NONE) {
        timer->place = bad->pending;
        bad->timers[bad->pending++].listed = id;
    }
    timer->deadline = deadline;
    timer->due = false;
    return TL_OK;
}

static void unlist(struct bad *bad, struct timer *timer)
{
    uint32_t last = bad->timers[--bad->pending].listed;
    bad->timers[timer->place].listed = last;
    bad->timers[last].place = timer->place;
    timer->deadline = NONE;
    timer->due = false;
}

static enum tl_status bad_stop(void *self, uint32_t id)
{
    struct bad *bad = self;
    at("stop");
    if (bad->timers[id].deadline == NONE) {
        return TL_IDLE;
    }
    unlist(bad, &bad->timers[id]);
    return TL_OK;
}

static uint64_t bad_next(const void *self)
{
    const struct bad *bad = self;
    uint64_t next = TL_NEVER;
    at("next");
    for (uint32_t i = 0; i < bad->pending; i++) {
        uint64_t deadline = bad->timers[bad->timers[i].listed].deadline;
        next = deadline < next ? deadline : next;
    }
    return next;
}

static uint64_t bad_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct bad *bad = self;
    uint64_t fired = 0;
    (void)budget;
    at("advance");
    for (uint32_t i = 0; i < bad->pending; i++) {
        struct timer *timer = &bad->timers[bad->timers[i].listed];
        timer->due = timer->deadline <= now;
    }
    /* A callback may start and stop others: what then comes to stand before `i` is seen again. */
    for (uint32_t i = 0; i < bad->pending;) {
        uint32_t id = bad->timers[i].listed;
        if (bad->timers[id].due) {
            unlist(bad, &bad->timers[id]);
            fired++;
            fire(ctx, id, now);
            i = 0;
        } else {
            i++;
        }
    }
    return fired;
}

static uint64_t bad_count(const void *self)
{
    return ((const struct bad *)self)->pending;
}

static void bad_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct bad *bad = self;
    const struct tl_part part = {.name = "array", .form = TL_FORM_LIST};
    at("walk");
    visitor->part(visitor->ctx, &part);
    for (uint32_t i = 0; i < bad->pending; i++) {
        uint32_t id = bad->timers[i].listed;
        const struct tl_cell cell = {
            .index = i, .parent = TL_NEVER, .from = TL_NEVER, .to = TL_NEVER};
        const struct tl_held held = {.id = id, .at = bad->timers[id].deadline};
        visitor->cell(visitor->ctx, &cell);
        visitor->timer(visitor->ctx, &held);
    }
}

TL_ALGO(bad) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT | TL_CAP_UNLIMITED,
    .name = "bad",
    .summary = "an array, and what the environment asks for",
    .origin = "none",
    .description = "For tests.",
    .cost = {"O(1)", "O(1)", "O(n)", "O(n)"},
    .create = bad_create,
    .destroy = bad_destroy,
    .reserve = bad_reserve,
    .start = bad_start,
    .stop = bad_stop,
    .advance = bad_advance,
    .next = bad_next,
    .count = bad_count,
    .walk = bad_walk,
};
