#include "part.h"

#include "clock.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

const char *const run_role_names[RUN_ROLES] = {"planner", "scheduler", "executor", "receiver",
                                               "engine"};

uint64_t part_now_ms(const struct part_shared *shared, const struct run_plan *plan)
{
    return plan->steps_are_time ? atomic_load(&shared->steps)
                                : (clock_now_ns() - shared->begun_ns) / 1000000;
}

void part_point(struct part *part)
{
    struct part_slot *slot = part->slot;
    atomic_fetch_add(&part->shared->steps, 1);
    if (atomic_load(&slot->fault_in) <= 0 || atomic_fetch_sub(&slot->fault_in, 1) != 1) {
        return;
    }
    slot->fault_ns = clock_now_ns();
    if (slot->fault == PART_KILL_ENGINE) {
        int pid = atomic_load(&part->shared->engine_pid);
        if (pid > 0) {
            (void)kill(pid, SIGKILL);
        }
    } else {
        (void)kill(getpid(), slot->fault == PART_KILL ? SIGKILL : SIGSTOP);
    }
}

void part_wait_ms(uint64_t ms)
{
    struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

void part_rest(const struct part *part)
{
    if (part->plan->steps_are_time) {
        atomic_fetch_add(&part->shared->steps, 1);
    } else {
        part_wait_ms(part->plan->poll_ms);
    }
}

bool part_is_over(const struct part *part)
{
    return atomic_load(&part->shared->over);
}

struct engine *part_engine(struct part *part)
{
    const struct engine_kind *kind = part->plan->engine;
    while (part->engine == NULL && !part_is_over(part)) {
        enum engine_end end =
            kind->connect(part->shared->url, &part->plan->steps, &part->engine, &part->error);
        if (end == ENGINE_FAILED) {
            return NULL;
        }
        if (end == ENGINE_GONE) {
            part_wait_ms(2); /* it is being started */
        }
    }
    part->error.text[0] = '\0'; /* those before it was there */
    return part->engine;
}

enum part_go part_judge(struct part *part, enum engine_end end)
{
    if (end == ENGINE_OK) {
        return PART_DONE;
    }
    part->plan->engine->close(part->engine);
    part->engine = NULL;
    return end == ENGINE_GONE && !part_is_over(part) ? PART_AGAIN : PART_END;
}

struct journal_record part_record(const struct part *part, enum journal_what what,
                                  const struct engine_timer *timer)
{
    return (struct journal_record){
        .id = timer->id,
        .at_ms = timer->at_ms,
        .now_ms = part_now_ms(part->shared, part->plan),
        .token = timer->token,
        .generation = timer->generation,
        .attempt = timer->attempt,
        .incarnation = part->incarnation,
        .member = part->member,
        .role = (uint8_t)part->role,
        .what = (uint8_t)what,
    };
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* 64 bits that belong to these numbers. */
static uint64_t hash_of(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bits = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    bits = mix(bits ^ (a + UINT64_C(0x9e3779b97f4a7c15)));
    bits = mix(bits ^ (b + UINT64_C(0x9e3779b97f4a7c15)));
    return mix(bits ^ (c + UINT64_C(0x9e3779b97f4a7c15)));
}

double part_chance(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return (double)(hash_of(seed, a, b, c) >> 11) * 0x1p-53;
}

/* One of 32 has no parameters, one as many as there may be, and of the others few have many. */
size_t part_make_call(const struct run_plan *plan, uint64_t id, uint32_t generation,
                      unsigned char call[PART_CALL_BYTES])
{
    uint64_t number = hash_of(plan->seed, 3, id, generation);
    uint64_t kind = number & 31;
    uint64_t most = kind < 2                   ? plan->payload_most
                    : plan->payload_most < 200 ? plan->payload_most
                                               : 200;
    uint64_t payload = kind == 0 ? 0 : kind == 1 ? most : (number >> 8) % (most + 1);
    int name = snprintf((char *)call, 64, "service-%u", (unsigned)(number >> 40 & 15));
    size_t used = (size_t)name + 1;
    for (uint64_t i = 0; i < payload; i++) {
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        call[used++] = (unsigned char)(number >> 56);
    }
    return used;
}

void part_receiver_path(const struct part *part, char path[108])
{
    (void)snprintf(path, 108, "%s/receiver.sock", part->folder);
}
