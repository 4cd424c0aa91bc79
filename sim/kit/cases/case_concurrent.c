/*
 * The cases about structures that many threads call (TL_CAP_CONCURRENT). In both, threads start and
 * stop the same few timers while one advances, and every result must be explained by an order of
 * the calls (concurrent_history.h).
 *
 * `concurrent-stress` lets the threads run, in rounds that begin and end without pending timers.
 *
 * `concurrent-steps` runs short scripts by two or three threads, of which only one runs at a time,
 * and switches between them before accesses to shared memory: once before each access, and three
 * times before drawn ones. A run without switches, in single steps, finds the accesses; in the other
 * runs breakpoints stop at them. Everything is deterministic, so the same runs follow each time.
 *
 * Both are bounded by their work, not by time: a busy machine does the same more slowly.
 */
#include "concurrent_history.h"
#include "kit_script.h"
#include "kit_steps.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LANES = PLAY_THREADS - 1,
    SETUP = LANES,  /* of the thread that runs the case */
    CALLS_MAX = 24, /* of each thread */
    SWITCHES = 3,
    ACCESSES_MAX = 2048
};

/* --- threads ---------------------------------------------------------------------------------- */

/* Processor time after which a turn counts as waiting for another thread, which then goes on. */
#define TURN_NS UINT64_C(20000000)

struct lane {
    pthread_t thread;
    clockid_t processor_time;
    sem_t turn;
    pid_t id;
    _Atomic bool waits; /* for its turn */
    _Atomic bool done;
    const void *accesses[ACCESSES_MAX]; /* instructions that access shared memory, in their order */
    uint32_t access_count;
    uint32_t at; /* the access before which it was stopped last */
};

/* There is one case under way in a process, and a signal handler has to find it. */
static struct {
    struct play play;
    struct kit_run *run;
    struct play_call calls[PLAY_THREADS][CALLS_MAX + 1]; /* the last one is of no kind */
    uint32_t stride;                                     /* between ids */
    struct lane lanes[LANES];
    unsigned lane_count;
    sem_t finished; /* posted by each lane */
    bool over;
    bool notes; /* accesses, in single steps */
    /* stress: ticks count from the clock, and all threads begin together */
    bool stress;
    _Atomic unsigned ready;
    /* the run */
    _Atomic unsigned running;
    _Atomic bool is_free;    /* threads take no turns, since one waits for another one's lock */
    uint32_t gaps[SWITCHES]; /* accesses of a turn until the next switch */
    unsigned switches;
    unsigned switched;
    uint64_t freed; /* runs that went on freely */
    uint64_t runs;
    uint64_t work;  /* calls and accesses so far */
    uint64_t state; /* of random numbers */
} stage;

static uint64_t lane_ns(const struct lane *lane)
{
    struct timespec used = {0};
    (void)clock_gettime(lane->processor_time, &used);
    return (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
}

/* Let all threads go on at once. False: another one has done so, and wakes this one. */
static bool free_all(const struct lane *self)
{
    if (atomic_exchange(&stage.is_free, true)) {
        return false;
    }
    break_remove();
    stage.freed++;
    for (unsigned i = 0; i < stage.lane_count; i++) {
        struct lane *lane = &stage.lanes[i];
        if (lane != self && i != atomic_load(&stage.running) && atomic_load(&lane->waits)) {
            (void)sem_post(&lane->turn);
        }
    }
    return true;
}

/* Wait for the turn; in a signal handler, too. If the running thread waits for a lock, all go on. */
static void wait_for_turn(struct lane *lane)
{
    unsigned watched = LANES;
    uint64_t begun_ns = 0;
    while (!kit_steps_wait(&lane->turn, 1)) {
        unsigned running = atomic_load(&stage.running);
        const struct lane *other = &stage.lanes[running];
        if (running != watched) {
            watched = running;
            begun_ns = lane_ns(other);
        }
        bool waits = kit_steps_is_asleep(other->id) || lane_ns(other) - begun_ns > TURN_NS;
        if (waits && !atomic_load(&other->waits) && !atomic_load(&other->done) &&
            running == atomic_load(&stage.running) && free_all(lane)) {
            return;
        }
    }
}

/* The next thread that has something left to do; the same if there is no other. */
static unsigned next_lane(unsigned from)
{
    unsigned next = from;
    do {
        next = (next + 1) % stage.lane_count;
    } while (next != from && atomic_load(&stage.lanes[next].done));
    return next;
}

static void switch_lanes(void);

/* Set the breakpoint for the next switch, if there is one. */
static void plan_switch(struct lane *lane)
{
    if (stage.switched == stage.switches) {
        return;
    }
    uint32_t begin = lane->at;
    lane->at += stage.gaps[stage.switched++];
    if (lane->at >= lane->access_count) {
        stage.switched = stage.switches;
        return;
    }
    unsigned passes = 0;
    for (uint32_t i = begin; i < lane->at; i++) {
        passes += lane->accesses[i] == lane->accesses[lane->at];
    }
    (void)break_set(lane->accesses[lane->at], passes, switch_lanes);
}

static void give_turn(unsigned to)
{
    atomic_store(&stage.running, to);
    plan_switch(&stage.lanes[to]);
    (void)sem_post(&stage.lanes[to].turn);
}

static void switch_lanes(void)
{
    unsigned from = atomic_load(&stage.running);
    unsigned to = next_lane(from);
    if (to != from && !atomic_load(&stage.is_free)) {
        struct lane *lane = &stage.lanes[from];
        atomic_store(&lane->waits, true);
        give_turn(to);
        wait_for_turn(lane);
        atomic_store(&lane->waits, false);
    }
}

/* Make a call of a script, or one under stress, where ticks count from the clock. */
static void make_call(struct play_call call, unsigned thread)
{
    struct play *play = &stage.play;
    if (call.kind == 'A' && play->subject.algo->next != NULL) {
        play_call(play, thread, (struct play_call){.kind = 'N'});
    } else if (call.kind == 'S' && stage.stress) {
        call.tick += atomic_load_explicit(&play->clock, memory_order_relaxed);
    } else if (call.kind == 'K') {
        call.tick *= stage.stride;
    }
    call.id *= stage.stride;
    play_call(play, thread, call);
}

static void make_calls(unsigned thread)
{
    for (const struct play_call *call = stage.calls[thread]; call->kind != '\0'; call++) {
        make_call(*call, thread);
    }
}

static void *take_turns(void *ctx)
{
    struct lane *lane = ctx;
    unsigned number = (unsigned)(lane - stage.lanes);
    lane->id = gettid();
    for (;;) {
        while (sem_wait(&lane->turn) != 0 || (atomic_load(&lane->done) && !stage.over)) {
        }
        if (stage.over) {
            return NULL;
        }
        atomic_store(&lane->waits, false);
        (void)atomic_fetch_add(&stage.ready, 1);
        while (stage.stress && atomic_load(&stage.ready) <= LANES) {
            (void)sched_yield();
        }
        make_calls(number);
        atomic_store(&lane->done, true);
        if (!atomic_load(&stage.is_free)) {
            unsigned next = next_lane(number);
            break_remove(); /* it was not reached */
            stage.switched = stage.switches;
            if (next != number) {
                give_turn(next);
            }
        }
        (void)sem_post(&stage.finished);
    }
}

/* Make the calls of all threads. */
static void begin_turns(bool is_free)
{
    for (unsigned i = 0; i < stage.lane_count; i++) {
        stage.lanes[i].at = 0;
        atomic_store(&stage.lanes[i].waits, true);
        atomic_store(&stage.lanes[i].done, false);
    }
    atomic_store(&stage.ready, 0);
    atomic_store(&stage.is_free, is_free);
    kit_enter(&stage.play.subject, KIT_HOOK_ADVANCE, 0, 0);
}

static void end_turns(void)
{
    for (unsigned i = 0; i < stage.lane_count; i++) {
        while (sem_wait(&stage.finished) != 0) {
        }
    }
}

static void begin_lanes(struct kit_run *run)
{
    memset(&stage, 0, sizeof stage);
    stage.run = run;
    stage.state = run->target->seed;
    run->witness->repeating = true; /* threads have no list of operations */
    bool begun = sem_init(&stage.finished, 0, 0) == 0;
    for (unsigned i = 0; begun && i < LANES; i++) {
        struct lane *lane = &stage.lanes[i];
        atomic_store(&lane->done, true); /* until a run begins */
        begun = sem_init(&lane->turn, 0, 0) == 0 &&
                pthread_create(&lane->thread, NULL, take_turns, lane) == 0 &&
                pthread_getcpuclockid(lane->thread, &lane->processor_time) == 0;
    }
    if (!begun) {
        kit_fail(run->witness, FAULT_HARNESS, "no more threads can be created");
    }
}

static void end_lanes(void)
{
    stage.over = true;
    for (unsigned i = 0; i < LANES; i++) {
        (void)sem_post(&stage.lanes[i].turn);
        (void)pthread_join(stage.lanes[i].thread, NULL);
    }
}

static void advance_to(uint64_t tick)
{
    play_call(&stage.play, SETUP, (struct play_call){.kind = 'A', .tick = tick});
}

/* Advance from `tick` on until all timers have expired, and judge. */
static void end_history(uint64_t tick, const char *what)
{
    struct play *play = &stage.play;
    const struct kit_subject *subject = &play->subject;
    uint64_t late = tl_algo_precision(subject->algo, subject->options, 0).late_ticks;
    advance_to(tick);
    for (unsigned i = 0; i < 4 && subject->algo->count(subject->self) > 0; i++) {
        tick += late + 1;
        advance_to(tick);
    }
    play_judge(play, what);
}

/* --- stress ---------------------------------------------------------------------------------- */

enum {
    STRESS_IDS = 12,
    STRESS_ADVANCES = 12, /* at most, in a round */
    STRESS_DELAY = 3,     /* ticks at most */
    STRESS_ROUNDS = 2000,
};

static void draw_round(void)
{
    for (unsigned i = 0; i < LANES * CALLS_MAX; i++) {
        uint64_t draw = kit_random(&stage.state);
        stage.calls[i / CALLS_MAX][i % CALLS_MAX] =
            (struct play_call){.kind = draw >> 32 & 1 ? 'X' : 'S',
                               .id = (uint32_t)(draw % STRESS_IDS),
                               .tick = (draw >> 40) % (STRESS_DELAY + 1)};
    }
    for (uint32_t id = 0; id < STRESS_IDS; id++) {
        uint64_t draw = kit_random(&stage.state);
        stage.play.callbacks[id] =
            (struct play_callback){.restarts = draw % 4 == 0,
                                   .stops = draw % 4 == 1,
                                   .other = (uint32_t)(draw >> 32) % STRESS_IDS};
    }
}

/* Return the tick that was reached. */
static uint64_t run_round(uint64_t now)
{
    int finished = 0;
    draw_round();
    begin_turns(true);
    for (unsigned i = 0; i < LANES; i++) {
        (void)sem_post(&stage.lanes[i].turn);
    }
    while (atomic_load(&stage.ready) < LANES) {
        (void)sched_yield();
    }
    (void)atomic_fetch_add(&stage.ready, 1);
    for (unsigned i = 0; i < STRESS_ADVANCES && finished < LANES; i++) {
        make_call((struct play_call){.kind = 'A', .tick = ++now}, SETUP);
        (void)sem_getvalue(&stage.finished, &finished);
    }
    end_turns();
    memset(stage.play.callbacks, 0, sizeof stage.play.callbacks);
    advance_to(++now); /* then callbacks start no more */
    end_history(now + STRESS_DELAY, "under stress");
    return atomic_load(&stage.play.clock);
}

void case_concurrent_stress(struct kit_run *run)
{
    uint64_t now = 0;
    begin_lanes(run);
    stage.lane_count = LANES;
    stage.stride = 1;
    stage.stress = true;
    if (script_open(run, &stage.play.subject, STRESS_IDS, 0)) {
        for (unsigned round = 0; round < STRESS_ROUNDS; round++) {
            now = run_round(now);
        }
        subject_destroy(&stage.play.subject);
    }
    end_lanes();
}

/* --- steps: scripts -------------------------------------------------------------------------- */

/*
 * A script has calls that are made before the threads begin, a colon, and the calls of each thread,
 * separated by bars: S0@3 starts timer 0 for tick 3, X0 stops it, A3 asks for next and advances to
 * tick 3; R0 makes the next callback of timer 0 start it again, K0@1 makes it stop timer 1.
 */
static const char *const scripts[] = {
    "S0@1 : A1 | X0",              /* a stop against an expiry */
    "S0@1 : A1 | S0@3",            /* a restart against an expiry */
    "S0@3 : A1 A2 A3 | S0@1",      /* a restart to an earlier tick */
    ": S0@1 | S1@1",               /* two starts */
    ": S0@1 S1@1 | S2@2 A1 A2",    /* starts against an advance that they need */
    ": S0@1 X0 | S0@2 A1 A2",      /* the same timer by two threads */
    "S0@3 : X0 | X0",              /* two stops */
    "S0@3 : X0 | S0@1 A1",         /* a stop against a start */
    "S0@1 : A1 | X0 S0@2",         /* a stop and a start during an advance */
    "R0 S0@1 : A1 A2 | X0",        /* a callback that starts its timer */
    "R0 S0@1 : A1 A2 | S1@1 S2@1", /* ... while others are started */
    "K0@1 S0@1 S1@1 : A1 | S1@2",  /* a callback that stops another timer */
    "S0@1 : A1 | X0 | S0@2",       /* three threads about one timer */
    ": S0@1 | S1@1 | A1 A2",       /* three threads */
    ": S0@1 | S1@1 S2@1 A1 S3@2",  /* the same memory is used again meanwhile */
    ": S0@1 | S1@1 S2@1 A1 S3@2 S4@2",
    ": S0@2 | S1@1 A1 S2@2 | S3@2 S4@3",
    "S0@1 : A1 A2 A3 | S1@2 S1@2 S1@2 S1@2 S1@2 S1@2 S2@2", /* more starts than timers */

    /* drawn */
    "S0@1 : X0 X2 S0@3 | A1",
    "S0@3 : S0@2 S2@1 | A1 S0@2",
    "S0@3 : X1 S2@1 S1@1 S2@2 | A1",
    "S0@3 : X2 S0@2 | S1@1 X0 | A1 A2",
    "S0@1 : S0@2 S2@1 S2@2 X0 | S2@3 S2@3 A1",
    "S0@2 : X0 S0@2 X0 | S2@1 A1 S2@3 S1@1",
    "S0@2 : S0@2 S0@2 S0@3 | A1 A2 A3 A4",
    "S0@3 : S0@3 S1@1 | S2@1 X0 | S0@3 A1",
    "S0@1 : S2@1 | A1",
    "S0@2 : S0@2 S0@2 S2@1 X1 | S0@3 A1 S1@1",
    "S0@3 : S0@2 S0@2 | A1 A2",
    "S0@2 : S0@2 X0 X0 S1@1 | S1@3",
    "S0@1 : S1@1 | A1 S0@2 A2 X0",
    "S0@2 : X0 S1@1 | X1 A1",
    "S0@3 : S0@2 X0 | S0@2 X0 | S2@3 S0@2",
    "S0@3 : S2@1 S0@2 | S0@3 A1 A2 A3",
};

/* Read a script; return how many threads it has. */
static unsigned read_script(const char *text)
{
    unsigned lanes = 0;
    struct play_call *next = stage.calls[SETUP];
    memset(stage.calls, 0, sizeof stage.calls);
    for (; *text != '\0'; text++) {
        if (*text == ':' || *text == '|') {
            next = stage.calls[lanes++];
        } else if (*text >= 'A' && *text <= 'Z') {
            (next++)->kind = *text;
        } else if (*text >= '0' && *text <= '9') {
            struct play_call *call = next - 1;
            uint32_t number = (uint32_t)(*text - '0');
            bool is_tick = call->kind == 'A' || text[-1] == '@';
            call->tick = is_tick ? number : call->tick;
            call->id = is_tick ? call->id : number;
        }
    }
    return lanes;
}

/* --- steps: runs ----------------------------------------------------------------------------- */

enum {
    STEP_IDS = 6,
    STEP_STRIDE = 4, /* between ids, so that ids modulo a power of two are the same */
    STEP_TICKS = 16, /* the latest tick of a script, and more */
};

static void note_access(const struct kit_call *call, const void *instruction)
{
    struct lane *lane = &stage.lanes[atomic_load(&stage.running)];
    if (instruction != NULL && break_is_access(call->context) &&
        lane->access_count < ACCESSES_MAX) {
        lane->accesses[lane->access_count++] = instruction;
    }
}

static void enter_call(struct kit_call *call)
{
    call->most = stage.notes ? UINT64_MAX : 0;
    call->stride = 1;
}

/* Run the script once on a new structure. False: the structure refuses the options. */
static bool run_script(const char *script, unsigned first, unsigned switches, bool notes)
{
    struct play *play = &stage.play;
    char what[256];
    memset(play->callbacks, 0, sizeof play->callbacks);
    atomic_store(&play->clock, 0);
    atomic_store(&play->moment, 0);
    play->advance = 0;
    if (!script_open(stage.run, &play->subject, (STEP_IDS - 1) * stage.stride + 1, 0)) {
        return false;
    }
    stage.switches = switches;
    stage.switched = 0;
    make_calls(SETUP);
    begin_turns(false);
    stage.notes = notes;
    give_turn(first);
    end_turns();
    stage.notes = false;
    (void)snprintf(what, sizeof what,
                   "threads A, B, ... with the calls \"%s\", ids times %u; %c began and was "
                   "interrupted after %u accesses to shared memory, the next ones after %u and %u",
                   script, (unsigned)stage.stride, (char)('A' + first), (unsigned)stage.gaps[0],
                   switches > 1 ? (unsigned)stage.gaps[1] : 0,
                   switches > 2 ? (unsigned)stage.gaps[2] : 0);
    /* All is as after any other history: timers can be started, and expire. */
    advance_to(STEP_TICKS);
    advance_to(STEP_TICKS + 1);
    for (uint32_t id = 0; id < STEP_IDS / 2; id++) {
        make_call((struct play_call){'S', id, STEP_TICKS + 2}, SETUP);
    }
    advance_to(STEP_TICKS + 2);
    for (uint32_t id = 0; id < STEP_IDS; id++) {
        make_call((struct play_call){'S', id, STEP_TICKS + 3 + id % 2}, SETUP);
    }
    end_history(STEP_TICKS + 5, what);
    subject_destroy(&play->subject);
    return true;
}

/* Note the accesses of each thread, if none is interrupted. False: the options are refused, or this
 * machine has no single steps or no breakpoints. */
static bool note_accesses(const char *script, unsigned first)
{
    static const struct kit_watcher watcher = {.enter = enter_call, .step = note_access};
    const struct tl_algo *structure = stage.run->algo;
    bool can_step = false;
    for (unsigned i = 0; i < LANES; i++) {
        stage.lanes[i].access_count = 0;
    }
    stage.run->algo = kit_steps_watch(structure, &watcher, &can_step);
    bool runs = can_step && run_script(script, first, 0, true);
    stage.run->algo = structure;
    const struct lane *lane = &stage.lanes[first];
    bool can_break = runs && lane->access_count > 0 && break_set(lane->accesses[0], 0, NULL);
    break_remove();
    return can_break;
}

/* Runs of each script with drawn switches, for each thread that begins. */
#define DRAWN_RUNS 20u

/* Runs in which a thread waits for a lock end an exploration: each takes milliseconds. */
#define FREED_RUNS 3u

/* All runs together make about this many accesses. A run costs as much as RUN_WORK of them. */
#define WORK_MOST  UINT64_C(4000000)
#define RUN_WORK   200u

/* Run the script with one switch before each access, or with drawn switches. */
static void explore_script(const char *script, bool draws)
{
    stage.lane_count = read_script(script);
    for (unsigned first = 0; first < stage.lane_count && stage.work < WORK_MOST; first++) {
        if (!note_accesses(script, first)) {
            return;
        }
        uint32_t own = stage.lanes[first].access_count;
        uint32_t other = stage.lanes[(first + 1) % stage.lane_count].access_count;
        uint32_t most = draws ? DRAWN_RUNS : own;
        uint64_t freed = stage.freed + FREED_RUNS;
        for (uint32_t i = 0; i < most && stage.freed < freed && stage.work < WORK_MOST; i++) {
            stage.gaps[0] = i;
            if (draws) {
                uint64_t draw = kit_random(&stage.state);
                stage.gaps[0] = (uint32_t)(draw & 0xffff) % (own + 1);
                stage.gaps[1] = (uint32_t)(draw >> 16 & 0xffff) % (other + 1);
                stage.gaps[2] = (uint32_t)(draw >> 32 & 0xffff) % (own + 1);
            }
            (void)run_script(script, first, draws ? SWITCHES : 1, false);
            stage.runs++;
            stage.work += own + other + RUN_WORK;
        }
    }
}

void case_concurrent_steps(struct kit_run *run)
{
#ifdef __SANITIZE_THREAD__
    kit_note(run->witness, "not run under the thread sanitizer, which concurrent-stress is for");
    return;
#endif
    begin_lanes(run);
    for (size_t i = 0; i < 4 * LENGTH(scripts); i++) {
        stage.stride = i % 2 == 0 ? 1 : STEP_STRIDE;
        explore_script(scripts[i / 2 % LENGTH(scripts)], i >= 2 * LENGTH(scripts));
    }
    end_lanes();
    run->witness->coverage.states += stage.runs;
    kit_note(run->witness, "%" PRIu64 " interleavings of two and three threads%s", stage.runs,
             stage.freed > 0   ? "; in some, a thread waited for another one's lock"
             : stage.runs == 0 ? ": this machine has no single steps or no breakpoints"
                               : "");
}
