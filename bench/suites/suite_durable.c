/*
 * Durable timers, which wait for a disk: operations by the wall clock, in commits, in turn with
 * their lower bound. A disk's speed varies tenfold within an hour, so figures of different rows are
 * not comparable.
 */
#include "clock.h"
#include "front.h"
#include "memory.h"
#include "suites.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    NEAREST_TICKS = 60000,  /* a timer of the population is due this far ahead at least, */
    SPREAD_TICKS = 60000,   /* and at most this much later */
    FILL_COMMIT = 5000,     /* operations in an untimed commit */
    ROUNDS_MIN = 3,         /* of each row, unless it is to be as short as can be */
    ROUNDS_MAX = 3000,      /* at the end of which nothing of the population is due */
    WAITS = 10,             /* times --benchmark_min_time that a row lasts: a disk is slow */
    COMMITS_MAX = 16,       /* of one kind in a round */
    ROUND_OPERATIONS = 800, /* about, where a commit is not more */
};

_Static_assert(NEAREST_TICKS > ROUNDS_MAX * COMMITS_MAX, "each commit may be a tick");

/* --- the disk -------------------------------------------------------------------------------- */

/* The bytes of an operation in the log, without checksums. */
enum { DISK_RECORD_BYTES = 8 };

/* The lower bound, measured in the same row and by turns with the structure: the bytes of its records
 * appended to a file without a name under $TMPDIR, full of zeros, so that no write changes its size. */
struct disk_floor {
    int fd;
    unsigned char *buffer;
    size_t buffer_bytes;
    size_t at;
    uint64_t writes;
};

/* More than a few commits of any size that is measured. */
#define FILE_BYTES ((size_t)8 << 20)

/* The folder under which durable structures have their files, $TMPDIR or /tmp. */
static const char *disk_place(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

static bool disk_is_memory(void)
{
    struct statfs system;
    return statfs(disk_place(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

void durable_describe_files(char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes, "%.200s%s", disk_place(),
                   disk_is_memory() ? ", which is in memory: no disk is involved" : "");
}

/* Write a commit's records, in one piece. */
static bool write_commit(const struct disk_floor *disk, size_t at)
{
    return pwrite(disk->fd, disk->buffer, disk->buffer_bytes, (off_t)at) ==
           (ssize_t)disk->buffer_bytes;
}

static bool disk_floor_open(struct disk_floor *disk, uint64_t commit)
{
    *disk = (struct disk_floor){.buffer_bytes = commit * DISK_RECORD_BYTES};
    disk->fd = open(disk_place(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    disk->buffer = memory_new(commit, DISK_RECORD_BYTES);
    bool done = disk->fd >= 0;
    for (size_t at = 0; done && at < FILE_BYTES; at += disk->buffer_bytes) {
        done = write_commit(disk, at);
    }
    return done && fsync(disk->fd) == 0;
}

/* Write the records of `commits` commits, each in one piece, and with `waits` each followed by an
 * fdatasync. */
static bool disk_floor_append(struct disk_floor *disk, uint64_t commits, bool waits)
{
    for (uint64_t i = 0; i < commits; i++) {
        if (disk->at + disk->buffer_bytes > FILE_BYTES) {
            disk->at = 0;
        }
        disk->writes++;
        memcpy(disk->buffer, &disk->writes, sizeof disk->writes);
        if (!write_commit(disk, disk->at) || (waits && fdatasync(disk->fd) != 0)) {
            return false;
        }
        disk->at += disk->buffer_bytes;
    }
    return true;
}

static void disk_floor_close(struct disk_floor *disk)
{
    if (disk->fd >= 0) {
        (void)close(disk->fd);
    }
    free(disk->buffer);
}

/* --- the operations -------------------------------------------------------------------------- */

/* The steps of a round. Each is timed but the starts of the timers that expire. */
enum { STEP_START, STEP_STOP, STEP_START_DUE, STEP_EXPIRE, STEP_RESTART, STEPS };
enum { STEPS_TIMED = STEPS - 1 };

static const char *const step_figures[STEPS] = {[STEP_START] = "start_ns",
                                                [STEP_STOP] = "stop_ns",
                                                [STEP_EXPIRE] = "expire_ns",
                                                [STEP_RESTART] = "restart_ns"};

/* One of those that take turns. */
struct party {
    const struct tl_algo *algo; /* NULL: it does not take part */
    const void *options;
    void *self;
    struct fired fired;
    uint64_t ns[STEPS];
};

enum { PARTY_SUBJECT, PARTY_BARE, PARTIES };

struct contest {
    struct fixture *fixture;
    struct party parties[PARTIES];
    struct disk_floor disk;
    uint64_t disk_ns;
    uint64_t clock;
    uint64_t rounds;
    uint64_t state; /* of the random numbers */
    bool waits;     /* the structure waits for the disk */

    /* A round's commits, and its operations of a step, the same for all parties. */
    uint64_t commit;
    uint64_t commits;
    uint64_t operations;
    uint64_t *deadlines; /* of starts, and after them of restarts */
    uint32_t *restarted; /* ids */
};

static uint64_t commits_of(uint64_t commit)
{
    uint64_t commits = ROUND_OPERATIONS / commit;
    return commits > COMMITS_MAX ? COMMITS_MAX : commits > 0 ? commits : 1;
}

static bool plan_durable(struct fixture *fixture)
{
    uint64_t commit = fixture->row->shape.at[AXIS_COMMIT];
    fixture->ids = fixture->row->n + (uint32_t)(commits_of(commit) * commit);
    fixture->max_delay_ticks = NEAREST_TICKS + SPREAD_TICKS;
    return true;
}

/* --- the parties ----------------------------------------------------------------------------- */

/* Whether a hook has succeeded; else the row's error, with the reason that a durable structure
 * has. */
static bool party_did(struct fixture *fixture, const struct party *party, const char *hook,
                      enum tl_status status)
{
    struct tl_durability durability = {0};
    if (status == TL_OK) {
        return true;
    }
    if (party->algo->durability != NULL) {
        party->algo->durability(party->self, &durability);
    }
    return fail(fixture, "%s: %s: %s (%s)%s%s", party->algo->name, hook, tl_status_text(status),
                tl_status_name(status), durability.failure != NULL ? "; " : "",
                durability.failure != NULL ? durability.failure : "");
}

static enum tl_status commit_party(const struct party *party)
{
    uint64_t durable_sequence = 0;
    return party->algo->sync != NULL ? party->algo->sync(party->self, &durable_sequence) : TL_OK;
}

static uint64_t far_deadline(struct contest *contest)
{
    return contest->clock + NEAREST_TICKS + workload_random_below(&contest->state, SPREAD_TICKS);
}

/* Starts the population. */
static bool fill_party(struct contest *contest, struct party *party)
{
    struct fixture *fixture = contest->fixture;
    enum tl_status status = TL_OK;
    contest->state = workload_seed(fixture->row->n);
    for (uint32_t id = 0; id < fixture->row->n && status == TL_OK; id++) {
        status = party->algo->start(party->self, id, far_deadline(contest));
        if (status == TL_OK && (id + 1) % FILL_COMMIT == 0) {
            status = commit_party(party);
            if (!still_patient(fixture)) {
                return false;
            }
        }
    }
    status = status == TL_OK ? commit_party(party) : status;
    return party_did(fixture, party, "start", status);
}

/* Operation `at` of a step, in commit `c`: those that expire are due one commit a tick. */
static inline __attribute__((always_inline)) enum tl_status play_one(const struct contest *contest,
                                                                     const struct party *party,
                                                                     int step, uint64_t c,
                                                                     uint64_t at)
{
    uint32_t id = contest->fixture->row->n + (uint32_t)at;
    switch (step) {
    case STEP_START:
        return party->algo->start(party->self, id, contest->deadlines[at]);
    case STEP_STOP:
        return party->algo->stop(party->self, id);
    case STEP_START_DUE:
        return party->algo->start(party->self, id, contest->clock + 1 + c);
    default:
        return party->algo->start(party->self, contest->restarted[at],
                                  contest->deadlines[contest->operations + at]);
    }
}

/* A step, with a commit after a number of operations. */
static enum tl_status play_step(const struct contest *contest, struct party *party, int step)
{
    enum tl_status status = TL_OK;
    uint64_t at = 0;
    for (uint64_t c = 0; c < contest->commits && status == TL_OK; c++) {
        if (step == STEP_EXPIRE) {
            (void)party->algo->advance(party->self, contest->clock + 1 + c, TL_NO_BUDGET, on_fire,
                                       &party->fired);
        }
        for (uint64_t i = 0; step != STEP_EXPIRE && i < contest->commit && status == TL_OK; i++) {
            status = play_one(contest, party, step, c, at++);
        }
        status = status == TL_OK ? commit_party(party) : status;
    }
    return status;
}

/* One round of one party: each step is timed for itself. */
static bool play_party(struct contest *contest, struct party *party)
{
    enum tl_status status = TL_OK;
    party->fired = (struct fired){0};
    uint64_t begun_ns = clock_now_ns();
    for (int step = 0; step < STEPS && status == TL_OK; step++) {
        status = play_step(contest, party, step);
        uint64_t now_ns = clock_now_ns();
        party->ns[step] += now_ns - begun_ns;
        begun_ns = now_ns;
    }
    return party_did(contest->fixture, party, "an operation", status) &&
           (party->fired.count == contest->operations ||
            fail(contest->fixture, "%s: %" PRIu64 " of %" PRIu64 " timers fired", party->algo->name,
                 party->fired.count, contest->operations));
}

static uint64_t total_ns(const struct party *party)
{
    uint64_t ns = 0;
    for (int step = 0; step < STEPS; step++) {
        ns += step_figures[step] != NULL ? party->ns[step] : 0;
    }
    return ns;
}

/* Read the structure's counts of disk operations, and check that all operations are durable after a
 * sync. */
static bool check_durability(struct fixture *fixture, struct tl_durability *durability)
{
    fixture->algo->durability(fixture->self, durability);
    return durability->durable_sequence == durability->sequence ||
           fail(fixture, "after a sync only %" PRIu64 " of %" PRIu64 " operations are durable",
                durability->durable_sequence, durability->sequence);
}

static bool play_round(struct contest *contest)
{
    for (uint64_t i = 0; i < contest->operations; i++) {
        contest->deadlines[i] = far_deadline(contest);
        contest->deadlines[contest->operations + i] = far_deadline(contest);
        contest->restarted[i] = workload_random_below(&contest->state, contest->fixture->row->n);
    }
    for (int i = 0; i < PARTIES; i++) {
        struct party *party = &contest->parties[i];
        if (party->algo != NULL && !play_party(contest, party)) {
            return false;
        }
    }
    uint64_t begun_ns = clock_now_ns();
    if (!disk_floor_append(&contest->disk, contest->commits, contest->waits)) {
        return fail(contest->fixture, "the file for comparison cannot be written");
    }
    contest->disk_ns += clock_now_ns() - begun_ns;
    contest->clock += contest->commits;
    contest->rounds++;
    return true;
}

/* --- the row --------------------------------------------------------------------------------- */

static bool make_party(struct contest *contest, struct party *party)
{
    struct fixture *fixture = contest->fixture;
    struct tl_config config = {.capacity = fixture->ids,
                               .max_delay_ticks = fixture->max_delay_ticks,
                               .options = party->options,
                               .allocator = tl_system_allocator()};
    enum tl_status status =
        party->self == NULL ? party->algo->create(&config, &party->self) : TL_OK;
    if (status != TL_OK) {
        party->self = NULL;
        return fail(fixture, "%s: create: %s", party->algo->name, tl_status_text(status));
    }
    return fill_party(contest, party);
}

/* Next to a front end the structure that it wraps. */
static bool make_contest(struct contest *contest)
{
    struct fixture *fixture = contest->fixture;
    const struct tl_algo *inner = tl_front_inner(fixture->algo);
    contest->deadlines = memory_new(2 * contest->operations, sizeof *contest->deadlines);
    contest->restarted = memory_new(contest->operations, sizeof *contest->restarted);
    struct party *parties = contest->parties;
    parties[PARTY_SUBJECT] = (struct party){.algo = fixture->algo, .self = fixture->self};
    if (inner != NULL) {
        size_t own = fixture->algo->options_bytes - inner->options_bytes;
        parties[PARTY_BARE] = (struct party){
            .algo = inner, .options = (const unsigned char *)fixture->row->subject->options + own};
    }
    for (int i = 0; i < PARTIES; i++) {
        if (parties[i].algo != NULL && !make_party(contest, &parties[i])) {
            return false;
        }
    }
    return disk_floor_open(&contest->disk, contest->commit) ||
           fail(fixture, "%s: the file for comparison cannot be created", disk_place());
}

static void end_contest(struct contest *contest)
{
    const struct party *bare = &contest->parties[PARTY_BARE];
    if (bare->self != NULL) {
        bare->algo->destroy(bare->self);
    }
    disk_floor_close(&contest->disk);
    free(contest->deadlines);
    free(contest->restarted);
}

static void add_ratio(struct bench_measured *out, const char *name, double of, double to)
{
    bench_add_counter(out, name, to > 0 ? of / to : 0);
}

static void report_contest(const struct contest *contest, const struct tl_durability *before,
                           const struct tl_durability *after, struct bench_measured *out)
{
    const struct party *subject = &contest->parties[PARTY_SUBJECT];
    const struct party *bare = &contest->parties[PARTY_BARE];
    double of_a_step = (double)(contest->rounds * contest->operations);
    out->batches = contest->rounds;
    out->elapsed_ns = total_ns(subject);
    out->operations = STEPS_TIMED * contest->rounds * contest->operations;
    double ns = (double)out->elapsed_ns / (double)out->operations;
    for (int step = 0; step < STEPS; step++) {
        if (step_figures[step] != NULL) {
            bench_add_counter(out, step_figures[step], (double)subject->ns[step] / of_a_step);
        }
    }
    double limit_ns = (double)contest->disk_ns / of_a_step;
    bench_add_counter(out, "limit_ns", limit_ns);
    add_ratio(out, "x_limit", ns, limit_ns);
    if (bare->algo != NULL) {
        double bare_ns = (double)total_ns(bare) / (double)out->operations;
        bench_add_counter(out, "bare_ns", bare_ns);
        add_ratio(out, "x_bare", ns, bare_ns);
    }
    double all = STEPS * of_a_step;
    bench_add_counter(out, "syncs_per_op", (double)(after->syncs - before->syncs) / all);
    bench_add_counter(out, "bytes_written_per_op",
                      (double)(after->bytes_written - before->bytes_written) / all);
}

static bool play_contest(struct contest *contest, struct bench_measured *out)
{
    struct fixture *fixture = contest->fixture;
    struct tl_durability before;
    struct tl_durability after;
    uint64_t goal_ns = WAITS * min_time_ns(fixture);
    if (!make_contest(contest) || !check_durability(fixture, &before)) {
        return false;
    }
    contest->waits = before.syncs > 0;
    do {
        if (!play_round(contest)) {
            return false;
        }
    } while (
        goal_ns > 0 && contest->rounds < ROUNDS_MAX &&
        (contest->rounds < ROUNDS_MIN || total_ns(&contest->parties[PARTY_SUBJECT]) < goal_ns));
    if (!check_durability(fixture, &after) || !verify_pending(fixture, fixture->row->n)) {
        return false;
    }
    report_contest(contest, &before, &after, out);
    return true;
}

static bool measure_durable(struct fixture *fixture, struct bench_measured *out)
{
    struct bench_row *row = fixture->row;
    uint64_t commit = row->shape.at[AXIS_COMMIT];
    uint64_t commits = commits_of(commit);
    struct contest contest = {.fixture = fixture,
                              .disk = {.fd = -1},
                              .commit = commit,
                              .commits = commits,
                              .operations = commits * commit};
    if (!fixture->exact) {
        return leave_out(fixture, "it does not fire on the due tick");
    }
    bool measured = play_contest(&contest, out);
    end_contest(&contest);
    if (disk_is_memory()) {
        (void)snprintf(row->remark, sizeof row->remark, "%.60s is in memory: no disk is involved",
                       disk_place());
    }
    return measured;
}

/* --- the table ------------------------------------------------------------------------------- */

const struct suite suites_durable[] = {
    {.text = {.name = "durable",
              .what = "starts, stops, expiries and restarts among n durable timers, with a commit "
                      "after every few, by the wall clock; in turn with the same bytes appended to "
                      "a file and synced",
              .why = "cost of timers that outlive the process, and the disk's part of it"},
     .axes = 1 << AXIS_COMMIT,
     .needs = TL_CAP_DURABLE,
     .limit = "append",
     .plan = plan_durable,
     .measure = measure_durable},
    {.text = {.name = NULL}},
};
