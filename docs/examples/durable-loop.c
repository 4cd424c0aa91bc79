/*
 * durable-loop: timers that survive kill -9, by the library alone (docs/guide/durable.md explains it).
 *
 *     cc -O2 docs/examples/durable-loop.c $(pkg-config --cflags --libs timerlab) -o durable-loop
 *     ./durable-loop FOLDER
 *
 * Standard input has lines "ID DELAY_MS". Prints "pending ID" for each timer that the folder holds,
 * "started ID" as soon as a start is durable, and "fired ID GENERATION" for each expiry.
 */
#include <timerlab.h>
#include <timerlab/front.h>
#include <timerlab/registry.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TIMERS = 1000 };

static uint64_t generations[TIMERS];

/* Deadlines are absolute, and outlive the machine: milliseconds since 1970, which never go back. */
static uint64_t clock_ms(void)
{
    static uint64_t last;
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    last = ms > last ? ms : last;
    return last;
}

static void on_pending(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    (void)ctx;
    (void)deadline;
    generations[id] = generation;
    (void)printf("pending %u\n", id);
}

static void on_expiry(void *ctx, uint32_t id, uint64_t now)
{
    (void)ctx;
    (void)now;
    (void)printf("fired %u %llu\n", id, (unsigned long long)generations[id]);
}

static void fail(const struct tl_algo *algo, void *timers, const char *what)
{
    struct tl_durability state;
    algo->durability(timers, &state);
    (void)fprintf(stderr, "durable-loop: %s: %s\n", what, state.failure);
    exit(1);
}

/* Recover, fire, acknowledge, start, sync, answer: in this order. */
static void run(const struct tl_algo *algo, void *timers)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct tl_durability state;
    uint64_t durable;
    char line[64];
    if (algo->recover(timers, on_pending, NULL) != TL_OK) { /* 1. what an earlier process left */
        fail(algo, timers, "recover");
    }
    for (;;) {
        (void)algo->advance(timers, clock_ms(), TL_NO_BUDGET, on_expiry, NULL); /* 2. fire */
        if (algo->sync(timers, &durable) != TL_OK) { /* 3. acknowledged: does not fire again */
            fail(algo, timers, "sync");
        }
        (void)fflush(stdout);
        uint64_t next = algo->next(timers);
        uint64_t now = clock_ms();
        int wait_ms = next == TL_NEVER ? -1 : next <= now ? 0 : (int)(next - now);
        if (poll(&input, 1, wait_ms < 60000 ? wait_ms : 60000) <= 0) {
            continue; /* a timer is due, or the clock has to be looked at */
        }
        if (fgets(line, sizeof line, stdin) == NULL) {
            return;
        }
        char *delay;
        uint32_t id = (uint32_t)strtoul(line, &delay, 10) % TIMERS;
        uint64_t deadline = clock_ms() + strtoull(delay, NULL, 10);
        enum tl_status status = algo->start(timers, id, deadline); /* 4. start */
        algo->durability(timers, &state);
        generations[id] = status == TL_OK ? state.sequence : generations[id];
        if (status != TL_OK || algo->sync(timers, &durable) != TL_OK) { /* 5. sync */
            fail(algo, timers, "start");
        }
        (void)printf("started %u\n", id); /* 6. and only now answer */
    }
}

int main(int argc, char **argv)
{
    char why[256] = "";
    TL_OPTION_VALUES(options);
    void *timers;
    const struct tl_algo *algo = tl_front_compose(
        tl_front_find("durable"), tl_registry_find("chunk-wheel")->timed, why, sizeof why);
    if (argc != 2 || algo == NULL) {
        (void)fprintf(stderr, "usage: durable-loop FOLDER\n");
        return 2;
    }
    (void)setvbuf(stdin, NULL, _IONBF, 0); /* so that poll sees what is not read yet */
    tl_options_default(algo, options);
    struct tl_config config = {.capacity = TIMERS,
                               .max_delay_ticks = UINT64_C(1) << 40,
                               .now = clock_ms(),
                               .options = options,
                               .allocator = tl_system_allocator()};
    if (!tl_option_read(tl_option_find(algo->options, "path"), options, argv[1]) ||
        algo->create(&config, &timers) != TL_OK) {
        (void)fprintf(stderr,
                      "durable-loop: the folder's name is too long, or there is no memory\n");
        return 1;
    }
    run(algo, timers);
    algo->destroy(timers);
    tl_front_release(algo);
    return 0;
}
