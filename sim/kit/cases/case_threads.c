/*
 * Case: two threads, each with a structure of its own, do not affect each other. While the first is
 * in the middle of a hook, the second executes operations: before any single instruction of the hook
 * (kit_steps.h), during calls of the allocator, and inside callbacks, where at times the first thread
 * executes them itself. Only one of them runs at any time, so the result is reproducible.
 *
 * A hook is interrupted before each of its instructions, in other calls before every 5th or 25th,
 * starting at a different one each time: frequent interruptions may hide the effect of a single one.
 */
#include "child.h"
#include "kit_script.h"
#include "kit_steps.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

/* Capacities of the first thread's structures, one after another: with few, timers are reused
 * often; with many, several are due at the same time. */
static const uint32_t lives[] = {12, 3, 24};

#define LIFE_OPERATIONS 250u
#define IDS             12u /* of the second thread's structure */

/* Instructions of one call that are interrupted. A long call mostly repeats them. */
#define CALL_STEPS      2000u

/* Instructions of all calls of a hook, spread over the whole case: an interruption costs as much as
 * thousands of instructions. */
static const uint64_t hook_steps[] = {
    [KIT_HOOK_CREATE] = 4000, [KIT_HOOK_DESTROY] = 2000, [KIT_HOOK_RESERVE] = 3000,
    [KIT_HOOK_START] = 9000,  [KIT_HOOK_STOP] = 5000,    [KIT_HOOK_ADVANCE] = 15000,
    [KIT_HOOK_NEXT] = 2000,   [KIT_HOOK_COUNT] = 500,
};

/* Static, since a signal handler needs it; a process runs one case at a time. */
static struct {
    struct kit_run *run;
    const struct tl_algo *structure;
    struct kit_subject here;
    struct kit_subject there;
    uint64_t done; /* operations of the first thread so far */
    bool steps;    /* can be counted */
    struct {
        unsigned calls;
        uint64_t steps;
    } hooks[LENGTH(hook_steps)];
    /* the second thread */
    pthread_t thread;
    pid_t thread_id;
    sem_t go;
    sem_t gone;
    bool over;
    bool in; /* it is its turn */
    uint64_t turns;
    const void *instruction; /* before which it ran last; NULL: none */
    sigjmp_buf out;
    void (*give_up)(struct kit_witness *witness);
} pair;

/* --- the second thread ----------------------------------------------------------------------- */

/* Make, use and destroy another structure. */
static void live_briefly(uint64_t seed)
{
    struct kit_run run = *pair.run;
    run.algo = pair.structure;
    script_each(&run, 3, seed, script_powers, 1, "start 0-2 in 5; advance by 5");
}

static void take_turn(void)
{
    pair.turns++;
    if (pair.turns % 128 == 0) {
        live_briefly(pair.turns);
    } else if (pair.turns % 64 == 0 && pair.there.capacity < 4 * IDS) {
        (void)subject_reserve(&pair.there, pair.there.capacity + 1);
    }
    script_churn(&pair.there, 1, pair.turns % 4 == 0 ? IRREGULARLY : BY_ONE);
}

static void *be_second(void *ctx)
{
    (void)ctx;
    pair.thread_id = gettid();
    while (!pair.over) {
        if (sem_wait(&pair.go) == 0 && !pair.over) {
            take_turn();
            (void)sem_post(&pair.gone);
        }
    }
    return NULL;
}

/* Wait for the end of its turn. False: it waits for a lock of the first thread. */
static bool is_gone(void)
{
    while (!kit_steps_wait(&pair.gone, 1000)) {
        if (kit_steps_is_asleep(pair.thread_id)) {
            return sem_trywait(&pair.gone) == 0;
        }
    }
    return true;
}

/* Let the second thread take its turn, or take it in this thread. */
static void let_in(bool same_thread)
{
    struct kit_witness *witness = pair.run->witness;
    enum kit_hook hook = witness->hook;
    uint64_t hook_id = witness->hook_id;
    uint64_t hook_tick = witness->hook_tick;
    uint64_t clock = witness->clock;
    pair.in = true;
    if (same_thread) {
        take_turn();
    } else {
        (void)sem_post(&pair.go);
        if (!is_gone()) {
            siglongjmp(pair.out, 1);
        }
    }
    pair.in = false;
    witness->hook = hook;
    witness->hook_id = hook_id;
    witness->hook_tick = hook_tick;
    witness->clock = clock;
}

/* Add the thread and the interrupted instruction to the fault. */
static void report_thread(struct kit_witness *witness)
{
    size_t length = strlen(witness->message);
    char place[256] = "";
    Dl_info object;
    const struct kit_call *call = kit_steps_call();
    if (call != NULL && pair.instruction != NULL && dladdr(pair.instruction, &object) != 0) {
        const char *slash = strrchr(object.dli_fname, '/');
        (void)snprintf(place, sizeof place,
                       "; the second was last let in while the first was in %s, at %s+0x%" PRIxPTR,
                       kit_hook_word(call->hook), slash != NULL ? slash + 1 : object.dli_fname,
                       (uintptr_t)pair.instruction - (uintptr_t)object.dli_fbase);
    }
    (void)snprintf(witness->message + length, sizeof witness->message - length,
                   ". It is used by %s of two threads, each of which has a structure%s",
                   pair.in ? "the second" : "the first", place);
    witness->log.cut = true; /* an interleaving is not a list of operations */
    pair.give_up(witness);
}

/* --- the first one's hooks ------------------------------------------------------------------- */

static void before_instruction(const struct kit_call *call, const void *instruction)
{
    (void)call;
    pair.instruction = instruction;
    let_in(false);
}

static void enter(struct kit_call *call)
{
    uint64_t allowed = hook_steps[call->hook] * (pair.done + 1) / (LENGTH(lives) * LIFE_OPERATIONS);
    if (!pair.steps || pair.hooks[call->hook].steps > allowed) {
        return;
    }
    call->most = CALL_STEPS;
    /* In 31 calls once every 1, 5 times every 5, 25 times every 25, each time from another one. */
    unsigned turn = pair.hooks[call->hook].calls++ % 31;
    call->stride = turn == 0 ? 1 : turn <= 5 ? 5 : 25;
    call->left = turn == 0 ? 0 : turn <= 5 ? turn - 1 : turn - 6;
}

static void leave(const struct kit_call *call)
{
    pair.hooks[call->hook].steps += call->steps;
}

/* --- both at once ---------------------------------------------------------------------------- */

#ifdef __SANITIZE_THREAD__
static void *go_alone(void *ctx)
{
    script_each(ctx, IDS, 0, &script_powers[9], 1, "churn 500; reserve 24; churn 500 by one");
    return NULL;
}

/* Let both threads run freely: the sanitizer detects accesses that conflict, whenever they happen.
 * Without it, the result would depend on chance. */
static void go_freely(struct kit_run *run)
{
    struct kit_run other = *run;
    pthread_t thread;
    other.witness = child_memory_new(sizeof *other.witness);
    if (pthread_create(&thread, NULL, go_alone, &other) != 0) {
        kit_fail(run->witness, FAULT_HARNESS, "no second thread can be made");
    }
    other.witness->give_up = run->witness->give_up;
    (void)go_alone(run);
    (void)pthread_join(thread, NULL);
    child_memory_free(other.witness, sizeof *other.witness);
}
#endif

/* --- the case -------------------------------------------------------------------------------- */

/* A callback: operations on the other structure, by the second thread or by this one, and one on
 * its own. */
static void act_inside(struct kit_subject *subject, uint32_t id)
{
    pair.instruction = NULL;
    let_in(id % 2 == 0);
    if (id % 3 == 0) {
        script_draw_operation(subject);
    }
}

static void use_structure(uint32_t timers)
{
    struct kit_subject *subject = &pair.here;
    if (!script_open(pair.run, subject, timers, 0)) {
        return;
    }
    script_traffic(subject, 300, timers);
    subject->on_fire = act_inside;
    for (unsigned i = 0; i < LIFE_OPERATIONS; i++) {
        script_churn(subject, 1, i % 2 == 0 ? IRREGULARLY : BY_ONE);
        if (i % 50 == 49) {
            (void)subject_reserve(subject, subject->capacity + 1);
        }
        pair.done++;
    }
    script_close(subject);
}

static void begin_pair(struct kit_run *run)
{
    memset(&pair, 0, sizeof pair);
    pair.run = run;
    pair.structure = run->algo;
    pair.give_up = run->witness->give_up;
    run->witness->give_up = report_thread;
    run->witness->repeating = true; /* an interleaving cannot be replayed */
}

void case_two_threads(struct kit_run *run)
{
#ifdef __SANITIZE_THREAD__
    go_freely(run);
    return;
#endif
    begin_pair(run);
    if (!script_open(run, &pair.there, IDS, 1000)) {
        return;
    }
    script_traffic(&pair.there, 500, 6);
    if (sem_init(&pair.go, 0, 0) != 0 || sem_init(&pair.gone, 0, 0) != 0 ||
        pthread_create(&pair.thread, NULL, be_second, NULL) != 0) {
        kit_fail(run->witness, FAULT_HARNESS, "no second thread can be made");
    }
    if (sigsetjmp(pair.out, 1) != 0) {
        kit_note(run->witness, "the second thread waits for the first, as for a lock: what else "
                               "they share was not seen");
        return;
    }
    static const struct kit_watcher watcher = {enter, before_instruction, leave};
    run->algo = kit_steps_watch(run->algo, &watcher, &pair.steps);
    for (size_t life = 0; life < LENGTH(lives); life++) {
        use_structure(lives[life]);
    }
    run->algo = pair.structure;
    pair.over = true;
    (void)sem_post(&pair.go);
    (void)pthread_join(pair.thread, NULL);
    script_close(&pair.there);
}
