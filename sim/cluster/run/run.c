/*
 * The conductor: starts the engine and all that take part, brings one fault after the other over
 * them, puts another in the place of each that was killed, and ends the run when no timer waits.
 */
#include "run.h"

#include "child.h"
#include "clock.h"
#include "memory.h"
#include "part.h"
#include "progress.h"
#include "random.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds in which nothing but waiting happens: something hangs. */
enum { HANGS_AFTER_S = 60 };

/* One after the other. */
enum { FAILED_STARTS_MAX = 500 };

#define MISSED_AFTER_NS UINT64_C(1000000000)

struct member {
    pid_t pid; /* 0: it has gone home */
    uint16_t incarnation;
    bool is_paused;
    uint64_t resumes_ms;
};

struct conductor {
    const struct run_plan *plan;
    const char *folder;
    struct part_shared *shared;
    struct run_result *result;
    struct error *error;
    struct engine_server server;
    uint16_t server_incarnation;
    struct member members[RUN_ENGINE][RUN_MEMBERS_MAX];
    struct engine *engine; /* the conductor's own connection */
    struct random random;
    uint64_t faults_left;
    uint64_t pauses_left;
    int journal; /* of faults */
    pid_t watch;
    int watch_end;
    struct part_slot *armed; /* the next victim; NULL: none */
    sigset_t signals;
    unsigned failed_starts;
    bool unwritten; /* a dead timer could not be noted */
};

/* Whether an engine has that step. */
static bool knows(const struct engine_kind *engine, enum cluster_step step)
{
    static const uint32_t any = 1u << CLUSTER_CLAIM | 1u << CLUSTER_CLAIM_PART |
                                1u << CLUSTER_HAND_OUT | 1u << CLUSTER_LOAD | 1u << CLUSTER_JOIN |
                                1u << CLUSTER_CLAIM_OWN | 1u << CLUSTER_LEASE | 1u << CLUSTER_CALL |
                                1u << CLUSTER_LATER | 1u << CLUSTER_ACK;
    static const uint32_t of_seed = 1u << CLUSTER_MOVE_CLOCK | 1u << CLUSTER_FETCH |
                                    1u << CLUSTER_REMOVE | 1u << CLUSTER_PUSH | 1u << CLUSTER_TAKE |
                                    1u << CLUSTER_CALL | 1u << CLUSTER_DELETE;
    return ((any | (engine->move_clock != NULL ? of_seed : 0)) >> step & 1) != 0;
}

enum { PARTITIONS = 8 };

bool run_plan_protocol(struct run_plan *plan, const struct cluster_protocol *protocol)
{
    bool divided = cluster_protocol_does(protocol, CLUSTER_CLAIM_PART) ||
                   cluster_protocol_does(protocol, CLUSTER_HAND_OUT) ||
                   cluster_protocol_does(protocol, CLUSTER_JOIN);
    bool known = cluster_protocol_does(protocol, CLUSTER_LEASE) ||
                 cluster_protocol_does(protocol, CLUSTER_MOVE_CLOCK);
    for (size_t i = 0; i < CLUSTER_STEPS_MAX; i++) {
        known =
            known &&
            (protocol->schedule[i] == CLUSTER_END || knows(plan->engine, protocol->schedule[i])) &&
            (protocol->execute[i] == CLUSTER_END || knows(plan->engine, protocol->execute[i]));
    }
    plan->protocol = protocol;
    plan->steps.is_seed = cluster_protocol_does(protocol, CLUSTER_MOVE_CLOCK);
    plan->steps.partitions = divided ? PARTITIONS : 1;
    plan->steps.ids = plan->roles[RUN_SCHEDULER];
    plan->laters = cluster_protocol_does(protocol, CLUSTER_LATER) ? plan->laters : 0;
    return known;
}

/* --- engines ---------------------------------------------------------------------------------- */

static bool serve(struct conductor *conductor)
{
    struct engine_server *server = &conductor->server;
    bool served = conductor->plan->engine->serve(server, conductor->error);
    atomic_store(&conductor->shared->engine_pid, served ? server->pid : 0);
    return served;
}

static void forget_connection(struct conductor *conductor)
{
    conductor->plan->engine->close(conductor->engine);
    conductor->engine = NULL;
}

/* Waits until it answers. */
static bool connect_engine(struct conductor *conductor)
{
    uint64_t begun = clock_now_ns();
    enum engine_end end = ENGINE_GONE;
    while (end == ENGINE_GONE) {
        int status;
        end = conductor->plan->engine->connect(conductor->shared->url, &conductor->plan->steps,
                                               &conductor->engine, conductor->error);
        pid_t pid = conductor->server.pid;
        if (end == ENGINE_GONE && waitpid(pid, &status, WNOHANG) == pid) {
            const char *name = conductor->plan->engine->name;
            char what[64];
            char log[sizeof conductor->server.folder + 32];
            (void)snprintf(what, sizeof what, "%s did not start", name);
            (void)snprintf(log, sizeof log, "%s/%s.log", conductor->server.folder, name);
            return engine_failed(what, log, conductor->error);
        }
        if (end == ENGINE_GONE && clock_now_ns() - begun > HANGS_AFTER_S * UINT64_C(1000000000)) {
            return false;
        }
        if (end == ENGINE_GONE) {
            part_wait_ms(5);
        }
    }
    return end == ENGINE_OK;
}

static bool start_engine(struct conductor *conductor)
{
    struct engine_server *server = &conductor->server;
    (void)snprintf(server->folder, sizeof server->folder, "%s/engine", conductor->folder);
    if (mkdir(server->folder, 0777) != 0) {
        return error_set(conductor->error, "%s: cannot be made: %s", server->folder,
                         strerror(errno));
    }
    if (!conductor->plan->engine->prepare(server, conductor->error) || !serve(conductor)) {
        return false;
    }
    (void)snprintf(conductor->shared->url, sizeof conductor->shared->url, "%s", server->url);
    return connect_engine(conductor);
}

/* --- processes -------------------------------------------------------------------------------- */

static bool (*const duties[RUN_ENGINE])(struct part *part) = {part_plan, part_schedule,
                                                              part_execute, part_receive};

/* Of a part's own process. */
static struct part_slot *own_slot;

static void end_for_memory(void)
{
    (void)snprintf(own_slot->failure, sizeof own_slot->failure, "out of memory");
    _exit(1);
}

static void run_member(struct conductor *conductor, enum run_role role, unsigned which)
{
    struct part part = {
        .plan = conductor->plan,
        .shared = conductor->shared,
        .slot = &conductor->shared->slots[role][which],
        .folder = conductor->folder,
        .role = role,
        .member = (uint8_t)which,
        .incarnation = conductor->members[role][which].incarnation,
    };
    own_slot = part.slot;
    memory_set_end(end_for_memory);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    part.journal = journal_open(part.folder, role, which, &part.error);
    bool right = part.journal >= 0 && duties[role](&part);
    if (!right) {
        (void)snprintf(part.slot->failure, sizeof part.slot->failure, "%s", part.error.text);
    }
    part.plan->engine->close(part.engine);
    _exit(right ? 0 : 1);
}

static bool employ(struct conductor *conductor, enum run_role role, unsigned which)
{
    pid_t pid = fork();
    if (pid == 0) {
        run_member(conductor, role, which);
    }
    conductor->members[role][which].pid = pid;
    return pid > 0 ||
           error_set(conductor->error, "there is no process for a %s", run_role_names[role]);
}

static bool employ_all(struct conductor *conductor)
{
    for (int role = RUN_ENGINE - 1; role >= 0; role--) {
        for (unsigned i = 0; i < conductor->plan->roles[role]; i++) {
            if (!employ(conductor, (enum run_role)role, i)) {
                return false;
            }
        }
    }
    return true;
}

/* --- faults ----------------------------------------------------------------------------------- */

static bool note_fault(struct conductor *conductor, enum journal_answer which, enum run_role role,
                       unsigned member, uint16_t incarnation)
{
    struct journal_record record = {
        .now_ms = part_now_ms(conductor->shared, conductor->plan),
        .incarnation = incarnation,
        .member = (uint8_t)member,
        .role = (uint8_t)role,
        .what = JOURNAL_FAULT,
        .answer = (uint8_t)which,
    };
    conductor->armed = NULL;
    return journal_add(conductor->journal, &record, 1, conductor->error);
}

/* Chooses who is next, and when. The engine is killed by who is at one of its points. */
static void arm_fault(struct conductor *conductor)
{
    const struct run_plan *plan = conductor->plan;
    uint64_t left = conductor->faults_left + conductor->pauses_left;
    if (conductor->armed != NULL) {
        return;
    }
    if (left == 0) {
        atomic_store(&conductor->shared->faults_over, true);
        return;
    }
    bool pause = random_bits(&conductor->random) % left < conductor->pauses_left;
    enum run_role role =
        (enum run_role)(random_bits(&conductor->random) % (!pause ? RUN_ROLES : RUN_ENGINE));
    bool engine = role == RUN_ENGINE;
    role = engine ? (enum run_role)(random_bits(&conductor->random) % RUN_RECEIVER)
           : pause && role == RUN_RECEIVER ? RUN_EXECUTOR
                                           : role;
    unsigned member = (unsigned)(random_bits(&conductor->random) % plan->roles[role]);
    if (conductor->members[role][member].pid == 0 || conductor->members[role][member].is_paused) {
        return; /* another, the next time */
    }
    struct part_slot *slot = &conductor->shared->slots[role][member];
    slot->fault = engine ? PART_KILL_ENGINE : pause ? PART_PAUSE : PART_KILL;
    slot->fault_ns = UINT64_MAX;
    conductor->faults_left -= !pause;
    conductor->pauses_left -= pause;
    conductor->armed = slot;
    atomic_store(&slot->fault_in, (int)(1 + random_bits(&conductor->random) % (2 * plan->every)));
}

/* A kill of the engine that met none, as it was just being started: it is still to come. */
static void take_back_missed(struct conductor *conductor)
{
    struct part_slot *slot = conductor->armed;
    if (slot != NULL && slot->fault == PART_KILL_ENGINE && atomic_load(&slot->fault_in) <= 0 &&
        clock_now_ns() > slot->fault_ns && clock_now_ns() - slot->fault_ns > MISSED_AFTER_NS) {
        conductor->armed = NULL;
        conductor->faults_left++;
    }
}

/* An engine that ends by itself has failed to start, because its killed predecessor still held the
 * files. One that was stopped by another process still holds them: a second engine would be another
 * table. */
static bool see_to_engine(struct conductor *conductor, int status)
{
    if (WIFSTOPPED(status) || atomic_load(&conductor->shared->over)) {
        return true;
    }
    if (!WIFSIGNALED(status)) {
        part_wait_ms(20);
        return ++conductor->failed_starts < FAILED_STARTS_MAX
                   ? serve(conductor)
                   : error_set(conductor->error, "%s does not start again after a kill",
                               conductor->plan->engine->name);
    }
    conductor->failed_starts = 0;
    conductor->result->kills[RUN_ENGINE]++;
    forget_connection(conductor);
    return note_fault(conductor, FAULT_KILL, RUN_ENGINE, 0, conductor->server_incarnation++) &&
           serve(conductor);
}

static bool see_to_member(struct conductor *conductor, enum run_role role, unsigned which,
                          int status)
{
    struct member *member = &conductor->members[role][which];
    struct part_slot *slot = &conductor->shared->slots[role][which];
    if (WIFSTOPPED(status)) {
        member->is_paused = true;
        member->resumes_ms =
            part_now_ms(conductor->shared, conductor->plan) + conductor->plan->pause_ms;
        conductor->result->pauses[role]++;
        return note_fault(conductor, FAULT_PAUSE, role, which, member->incarnation);
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        conductor->result->kills[role]++;
        if (!note_fault(conductor, FAULT_KILL, role, which, member->incarnation++)) {
            return false;
        }
        member->pid = 0;
        return atomic_load(&conductor->shared->over) || employ(conductor, role, which);
    }
    member->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        if (conductor->armed == slot) {
            conductor->armed = NULL; /* it went before its fault came */
        }
        return true;
    }
    char how[256] = "it ended by itself";
    if (WIFSIGNALED(status)) {
        child_signal_text(WTERMSIG(status), how, sizeof how);
    }
    return error_set(conductor->error, "%s %u cannot go on: %s", run_role_names[role], which,
                     slot->failure[0] != '\0' ? slot->failure : how);
}

/* Whatever has happened to any process. */
static bool see_to_all(struct conductor *conductor)
{
    int status;
    pid_t pid;
    bool right = true;
    while (right && (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid == conductor->server.pid) {
            right = see_to_engine(conductor, status);
        }
        for (int role = 0; role < RUN_ENGINE; role++) {
            for (unsigned i = 0; i < conductor->plan->roles[role]; i++) {
                if (conductor->members[role][i].pid == pid) {
                    right = right && see_to_member(conductor, (enum run_role)role, i, status);
                }
            }
        }
    }
    return right;
}

static void resume_paused(struct conductor *conductor, bool all)
{
    uint64_t now_ms = part_now_ms(conductor->shared, conductor->plan);
    for (int role = 0; role < RUN_ENGINE; role++) {
        for (unsigned i = 0; i < conductor->plan->roles[role]; i++) {
            struct member *member = &conductor->members[role][i];
            if (member->is_paused && (all || now_ms >= member->resumes_ms)) {
                member->is_paused = false;
                (void)kill(member->pid, SIGCONT);
            }
        }
    }
}

/* --- should this process die ------------------------------------------------------------------ */

/* A process that sees to it that nothing is left then, whatever ends this one: the pipe of which
 * only we and those who die with us have the other end says so. */
static bool set_watch(struct conductor *conductor)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return error_set(conductor->error, "no pipe can be made: %s", strerror(errno));
    }
    conductor->watch = fork();
    if (conductor->watch != 0) {
        (void)close(ends[0]);
        conductor->watch_end = ends[1];
        return conductor->watch > 0 ||
               error_set(conductor->error, "there is no process to watch over the run");
    }
    char end;
    (void)setpgid(0, 0);
    (void)close(ends[1]);
    while (read(ends[0], &end, 1) < 0 && errno == EINTR) {
    }
    /* Our death has signalled the engine to end; kill it if it does not. */
    pid_t pid = atomic_load(&conductor->shared->engine_pid);
    for (int i = 0; pid > 0 && i < 200 && kill(-pid, 0) == 0; i++) {
        part_wait_ms(10);
    }
    if (pid > 0) {
        (void)kill(-pid, SIGKILL);
    }
    folder_remove(conductor->folder);
    _exit(0);
}

static void end_watch(struct conductor *conductor)
{
    if (conductor->watch > 0) {
        (void)kill(conductor->watch, SIGKILL);
        (void)waitpid(conductor->watch, NULL, 0);
        (void)close(conductor->watch_end);
    }
}

/* --- from beginning to end -------------------------------------------------------------------- */

static bool planners_are_done(const struct conductor *conductor)
{
    for (unsigned i = 0; i < conductor->plan->roles[RUN_PLANNER]; i++) {
        if (conductor->members[RUN_PLANNER][i].pid != 0) {
            return false;
        }
    }
    return true;
}

/* Whether no timer waits; if the engine does not answer just now, one may. */
static bool ask_waiting(struct conductor *conductor, bool *none)
{
    int64_t count = 0;
    if (conductor->engine == NULL && !connect_engine(conductor)) {
        return false;
    }
    enum engine_end end = conductor->plan->engine->step(conductor->engine, STEP_WAITING, 0, 0,
                                                        &count, conductor->error);
    *none = end == ENGINE_OK && count == 0;
    if (end == ENGINE_GONE) {
        forget_connection(conductor);
    }
    return end != ENGINE_FAILED;
}

/* Whether the run is over: all timers are done, or the others never will be. */
static bool nothing_comes(struct conductor *conductor, bool *nothing)
{
    const struct run_plan *plan = conductor->plan;
    uint64_t quiet_ms = 4 * plan->steps.lease_ms + 10 * plan->steps.tick_ms + plan->scan_ms;
    uint64_t last = atomic_load(&conductor->shared->last_call_ms);
    uint64_t deadline = atomic_load(&conductor->shared->last_deadline_ms);
    *nothing = false;
    if (!planners_are_done(conductor)) {
        return true;
    }
    if (!plan->steps.is_seed) {
        return ask_waiting(conductor, nothing);
    }
    last = last > deadline ? last : deadline;
    *nothing = part_now_ms(conductor->shared, plan) > last + quiet_ms;
    return true;
}

static void wait_for_something(const struct conductor *conductor)
{
    struct timespec moment = {0, 10000000};
    (void)sigtimedwait(&conductor->signals, NULL, &moment);
}

static bool conduct(struct conductor *conductor)
{
    struct progress progress;
    struct part_shared *shared = conductor->shared;
    uint64_t moved_ns = clock_now_ns();
    uint64_t last_call = 0;
    bool nothing = false;
    bool right = employ_all(conductor);
    progress_begin(&progress, "run", "steps", 0);
    while (right && !nothing) {
        arm_fault(conductor);
        wait_for_something(conductor);
        resume_paused(conductor, false);
        right = see_to_all(conductor);
        take_back_missed(conductor); /* all who have ended by now are seen to */
        right = right && nothing_comes(conductor, &nothing);
        progress_update(&progress, atomic_load(&shared->steps));
        uint64_t call = atomic_load(&shared->last_call_ms);
        if (call != last_call || conductor->plan->steps.is_seed) {
            last_call = call;
            moved_ns = clock_now_ns();
        }
        if (right && clock_now_ns() - moved_ns > HANGS_AFTER_S * UINT64_C(1000000000) +
                                                     (uint64_t)(conductor->plan->delay_ms * 1e6)) {
            right = error_set(conductor->error,
                              "timers wait, and for %d s none was called: the protocol hangs",
                              HANGS_AFTER_S);
        }
    }
    progress_end(&progress);
    return right;
}

/* Ends all processes that take part; by force if they do not go. */
static void dismiss(struct conductor *conductor)
{
    atomic_store(&conductor->shared->over, true);
    uint64_t begun = clock_now_ns();
    for (bool left = true; left;) {
        bool force = clock_now_ns() - begun > UINT64_C(5000000000);
        left = false;
        resume_paused(conductor, true);
        for (int role = 0; role < RUN_ENGINE; role++) {
            for (unsigned i = 0; i < conductor->plan->roles[role]; i++) {
                struct member *member = &conductor->members[role][i];
                int status;
                if (member->pid > 0 && force) {
                    (void)kill(member->pid, SIGKILL);
                }
                if (member->pid > 0 && (waitpid(member->pid, &status, WNOHANG) == member->pid)) {
                    member->pid = 0;
                }
                left = left || member->pid > 0;
            }
        }
        if (left) {
            wait_for_something(conductor);
        }
    }
}

static void stop_engine(struct conductor *conductor)
{
    pid_t pid = conductor->server.pid;
    forget_connection(conductor);
    if (pid > 0) {
        (void)kill(pid, SIGQUIT);
        for (int i = 0; i < 250 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
            wait_for_something(conductor);
        }
        (void)kill(-pid, SIGKILL);
        (void)waitpid(pid, NULL, WNOHANG);
    }
}

static void note_dead(void *ctx, uint64_t id, uint32_t generation)
{
    struct conductor *conductor = ctx;
    const struct journal_record record = {
        .id = id, .generation = generation, .role = RUN_ENGINE, .what = JOURNAL_DEAD};
    conductor->unwritten =
        !journal_add(conductor->journal, &record, 1, conductor->error) || conductor->unwritten;
}

static bool ask_dead(struct conductor *conductor)
{
    return (conductor->engine != NULL || connect_engine(conductor)) &&
           conductor->plan->engine->dead(conductor->engine, note_dead, conductor,
                                         conductor->error) == ENGINE_OK &&
           !conductor->unwritten;
}

bool run_cluster(const struct run_plan *plan, const char *folder, struct run_result *result,
                 struct error *error)
{
    struct conductor *conductor = memory_new(1, sizeof *conductor);
    struct part_shared *shared = child_memory_new(sizeof *shared);
    sigset_t before;
    *result = (struct run_result){0};
    conductor->plan = plan;
    conductor->folder = folder;
    conductor->shared = shared;
    conductor->result = result;
    conductor->error = error;
    conductor->faults_left = plan->kills;
    conductor->pauses_left = plan->pauses;
    random_seed(&conductor->random, plan->seed);
    (void)sigemptyset(&conductor->signals);
    (void)sigaddset(&conductor->signals, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &conductor->signals, &before);
    void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);
    conductor->journal = journal_open(folder, RUN_ENGINE, 0, error);
    bool right = conductor->journal >= 0 && set_watch(conductor) && start_engine(conductor);
    uint64_t begun = clock_now_ns();
    shared->begun_ns = begun;
    if (right) {
        right = conduct(conductor);
        result->seconds = (double)(clock_now_ns() - begun) / 1e9;
        dismiss(conductor);
        right = right && ask_dead(conductor);
    }
    stop_engine(conductor);
    end_watch(conductor);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)signal(SIGPIPE, pipe_before);
    right = right && account_run(plan, folder, result, error);
    if (right && result->seconds > 0) {
        result->fired_per_second = (double)result->fired / result->seconds;
    }
    if (conductor->journal >= 0) {
        (void)close(conductor->journal);
    }
    child_memory_free(shared, sizeof *shared);
    free(conductor);
    return right;
}
