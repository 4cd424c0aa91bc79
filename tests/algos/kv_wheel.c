/*
 * kv-wheel: which timers outlive its process, with every delivery. A process ends in the middle of
 * an operation, and another continues with its files.
 */
#include "child.h"
#include "registry.h"
#include "temporary_file.h"

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 600 };

/* Results that a process passes to the next one. */
struct journal {
    uint64_t generations[MANY];
    uint32_t fired[4 * MANY]; /* ids, in order */
    uint32_t count;
    uint64_t sequence; /* the last one that was durable */
};

struct process_life {
    const struct tl_algo *algo;
    void *self;
    struct journal *journal;
    uint32_t die_after; /* expiries; 0: never */
    const char *options;
};

static struct temporary temporary;
static char folder[200]; /* in memory if possible, because its files are synced often */

static const struct tl_algo *kv_wheel(void)
{
    return tl_registry_find("kv-wheel")->timed;
}

static enum tl_status try_to_open(const char *options, uint32_t capacity, uint64_t now, void **self)
{
    char text[sizeof folder + 160];
    char why[256] = "";
    TL_OPTION_VALUES(values);
    (void)snprintf(text, sizeof text, "path=%s/store%s%s", folder, options[0] != '\0' ? ":" : "",
                   options);
    assert_int_equal(tl_options_parse(kv_wheel(), text, values, why, sizeof why), TL_OK);
    struct tl_config config = {
        .capacity = capacity, .now = now, .options = values, .allocator = tl_system_allocator()};
    return kv_wheel()->create(&config, self);
}

static void remove_store(void)
{
    char path[sizeof folder + 32];
    (void)snprintf(path, sizeof path, "%s/store", folder);
    DIR *store = opendir(path);
    for (const struct dirent *file; store != NULL && (file = readdir(store)) != NULL;) {
        (void)unlinkat(dirfd(store), file->d_name, 0);
    }
    if (store != NULL) {
        assert_int_equal(closedir(store), 0);
        assert_int_equal(rmdir(path), 0);
    }
}

static void check(const struct process_life *life)
{
    char why[256] = "";
    if (life->algo->check(life->self, why, sizeof why) != TL_OK) {
        fail_msg("%s: %s", life->options, why);
    }
}

static void on_fire(void *ctx, uint32_t id, uint64_t now)
{
    (void)now;
    struct process_life *life = ctx;
    life->journal->fired[life->journal->count++] = id;
    if (life->die_after > 0 && life->journal->count == life->die_after) {
        _exit(0); /* as kill -9 would: nothing is closed */
    }
}

static uint64_t generation_now(const struct process_life *life)
{
    struct tl_durability durability;
    life->algo->durability(life->self, &durability);
    return durability.sequence;
}

static void start(struct process_life *life, uint32_t id, uint64_t deadline)
{
    assert_int_equal(life->algo->start(life->self, id, deadline), TL_OK);
    life->journal->generations[id] = generation_now(life);
}

/* A process of its own, that begins with an empty store. */
static void live_and_die(struct process_life *life, void (*live)(struct process_life *))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        life->algo = kv_wheel();
        if (try_to_open(life->options, MANY, 0, &life->self) == TL_OK) {
            live(life);
        }
        _exit(life->self == NULL ? 1 : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("%s: the first process ended with %x", life->options, (unsigned)status);
    }
}

/* Timers at ticks 10, 20, ...; every third stopped, every fifth moved to a later turn of the slots;
 * and after the last sync some that are not acknowledged. */
static uint64_t deadline_of(uint32_t id)
{
    return 10 * (uint64_t)(id + 1) + (id % 5 == 0 ? UINT64_C(100000000) : 0);
}

static void start_some(struct process_life *life)
{
    for (uint32_t id = 0; id < MANY; id++) {
        start(life, id, 10 * (uint64_t)(id + 1));
    }
    for (uint32_t id = 0; id < MANY; id += 5) {
        start(life, id, deadline_of(id));
    }
    for (uint32_t id = 0; id < MANY; id += 3) {
        assert_int_equal(life->algo->stop(life->self, id), TL_OK);
    }
    assert_int_equal(life->algo->sync(life->self, &life->journal->sequence), TL_OK);
    assert_int_equal(life->journal->sequence, generation_now(life));
    check(life);
    assert_int_equal(life->algo->stop(life->self, 1), TL_OK);
}

struct adopted {
    uint64_t deadlines[MANY];
    uint64_t generations[MANY];
    uint32_t order[MANY];
    uint32_t count;
};

static void adopt(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    struct adopted *adopted = ctx;
    assert_true(id < MANY);
    adopted->order[adopted->count++] = id;
    adopted->deadlines[id] = deadline;
    adopted->generations[id] = generation;
}

static void count_adopted(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    struct adopted *adopted = ctx;
    (void)id;
    (void)deadline;
    (void)generation;
    adopted->count++;
}

static void reopen(struct process_life *life, uint64_t now, struct adopted *adopted)
{
    *adopted = (struct adopted){.count = 0};
    assert_int_equal(try_to_open(life->options, 0, now, &life->self), TL_OK);
    /* The folder stays unchanged until recover. */
    assert_int_equal(life->algo->start(life->self, 0, 5), TL_ERR_STORE);
    assert_int_equal(life->algo->recover(life->self, adopt, adopted), TL_OK);
    assert_int_equal(life->algo->count(life->self), adopted->count);
    check(life);
}

static void every_acknowledged_timer_comes_back(struct process_life *life)
{
    remove_store();
    live_and_die(life, start_some);
    struct adopted adopted;
    life->algo = kv_wheel();
    reopen(life, 0, &adopted);
    assert_true(generation_now(life) >= life->journal->sequence);
    uint32_t pending = 0;
    for (uint32_t id = 0; id < MANY; id++) {
        bool may_be_lost = id == 1; /* stopped, not acknowledged */
        bool is_pending = adopted.generations[id] != 0;
        pending += is_pending;
        if (is_pending != (id % 3 != 0) && !may_be_lost) {
            fail_msg("%s: timer %u is %s", life->options, id, is_pending ? "pending" : "gone");
        }
        if (is_pending) {
            assert_int_equal(adopted.deadlines[id], deadline_of(id));
            assert_int_equal(adopted.generations[id], life->journal->generations[id]);
        }
    }
    /* And it fires, in order, with new timers. */
    assert_int_equal(life->algo->next(life->self), adopted.generations[1] != 0 ? 20 : 30);
    start(life, 0, 25);
    life->journal->count = 0;
    assert_int_equal(life->algo->advance(life->self, 30, TL_NO_BUDGET, on_fire, life),
                     adopted.generations[1] != 0 ? 3 : 2);
    assert_int_equal(life->journal->fired[life->journal->count - 1], 2);
    check(life);
    uint64_t last = UINT64_C(100000000) + 10 * (uint64_t)MANY;
    assert_int_equal(life->algo->advance(life->self, last, TL_NO_BUDGET, on_fire, life),
                     pending + 1 - life->journal->count);
    assert_int_equal(life->algo->count(life->self), 0);
    check(life);
    life->algo->destroy(life->self);
    /* A store from which all timers have fired is empty, not new. */
    reopen(life, last, &adopted);
    assert_int_equal(adopted.count, 0);
    assert_true(generation_now(life) > MANY);
    life->algo->destroy(life->self);
}

/* --- expiries -------------------------------------------------------------------------------- */

enum { DUE = 40, DIES_AFTER = 15 };

/* Those of the first ids have passed when they are started. */
static uint64_t due_deadline_of(uint32_t id)
{
    return id < DUE / 2 ? id / 4 : 10 + id / 4;
}

static void fire_and_die(struct process_life *life)
{
    (void)life->algo->advance(life->self, 8, TL_NO_BUDGET, on_fire, life);
    for (uint32_t id = 0; id < DUE; id++) {
        start(life, id, due_deadline_of(id));
    }
    assert_int_equal(life->algo->sync(life->self, &life->journal->sequence), TL_OK);
    life->die_after = DIES_AFTER;
    (void)life->algo->advance(life->self, 1000, TL_NO_BUDGET, on_fire, life);
    _exit(1);
}

/* at-most repeats none of the expiries; the others lose no timer that had not fired. */
static void what_a_crash_does_to_what_is_being_fired(struct process_life *life)
{
    remove_store();
    *life->journal = (struct journal){.count = 0};
    live_and_die(life, fire_and_die);
    struct journal before = *life->journal;
    assert_int_equal(before.count, DIES_AFTER);
    bool is_at_most = strstr(life->options, "at-most") != NULL;
    struct adopted adopted;
    life->die_after = 0;
    reopen(life, 1000, &adopted);
    bool has_fired[MANY] = {false};
    for (uint32_t i = 0; i < DIES_AFTER; i++) {
        has_fired[before.fired[i]] = true;
    }
    uint32_t expected = 0;
    for (uint32_t id = 0; id < DUE; id++) {
        bool is_back = adopted.generations[id] != 0;
        if (is_at_most ? has_fired[id] && is_back : !has_fired[id] && !is_back) {
            fail_msg("%s: timer %u is %s", life->options, id, is_back ? "back" : "lost");
        }
        if (is_back) {
            assert_int_equal(adopted.deadlines[id], due_deadline_of(id));
            expected++;
        }
    }
    uint32_t stopped = before.fired[DIES_AFTER - 1];
    bool is_back = adopted.generations[stopped] != 0;
    assert_true(is_back != is_at_most);
    assert_int_equal(life->algo->stop(life->self, stopped), is_back ? TL_OK : TL_IDLE);
    start(life, DUE, 1);
    expected += !is_back;
    life->journal->count = 0;
    (void)life->algo->advance(life->self, 1000, 7, on_fire, life);
    check(life);
    (void)life->algo->advance(life->self, 1001, TL_NO_BUDGET, on_fire, life);
    check(life);
    assert_int_equal(life->journal->count, expected);
    for (uint32_t i = 0; i < life->journal->count; i++) {
        assert_int_not_equal(life->journal->fired[i], stopped);
    }
    assert_int_equal(life->journal->fired[expected - 1], DUE);
    life->algo->destroy(life->self);
    reopen(life, 1001, &adopted);
    assert_int_equal(adopted.count, 0);
    life->algo->destroy(life->self);
}

static bool is_there(const char *options)
{
    void *self = NULL;
    remove_store();
    enum tl_status status = try_to_open(options, 1, 0, &self);
    if (status == TL_OK) {
        kv_wheel()->destroy(self);
    } else {
        assert_int_equal(status, TL_ERR_UNAVAILABLE);
        print_message("%s: not in this build\n", options);
    }
    remove_store();
    return status == TL_OK;
}

static void make_store(const char *options)
{
    void *self = NULL;
    remove_store();
    assert_int_equal(try_to_open(options, 4, 0, &self), TL_OK);
    kv_wheel()->destroy(self);
}

static void in_every_way(void **state)
{
    (void)state;
    static const char *const deliveries[] = {"at-least", "at-most"};
    struct journal *journal =
        mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(journal, MAP_FAILED);
    for (size_t i = 0; i < 2; i++) {
        char options[128];
        (void)snprintf(options, sizeof options, "delivery=%s", deliveries[i]);
        if (is_there(options)) {
            struct process_life life = {.journal = journal, .options = options};
            every_acknowledged_timer_comes_back(&life);
            what_a_crash_does_to_what_is_being_fired(&life);
        }
    }
    assert_int_equal(munmap(journal, sizeof *journal), 0);
}

/* --- folders --------------------------------------------------------------------------------- */

/* Opens, and is refused by recover, in these words. */
static void expect_refusal(const char *options, const char *words)
{
    void *self = NULL;
    struct tl_durability durability;
    assert_int_equal(try_to_open(options, 4, 0, &self), TL_OK);
    assert_int_equal(kv_wheel()->start(self, 0, 1), TL_ERR_STORE);
    assert_int_equal(kv_wheel()->recover(self, adopt, NULL), TL_ERR_STORE);
    kv_wheel()->durability(self, &durability);
    if (durability.failure == NULL || strstr(durability.failure, words) == NULL) {
        fail_msg("'%s' says '%s', not '%s'", options, durability.failure, words);
    }
    kv_wheel()->destroy(self);
}

static void a_folder_is_one_structures(void **state)
{
    (void)state;
    if (!is_there("")) {
        return;
    }
    void *self = NULL;
    uint64_t sequence = 0;
    char words[64];
    const struct tl_algo *algo = kv_wheel();
    remove_store();
    assert_int_equal(try_to_open("", 4, 0, &self), TL_OK);
    (void)snprintf(words, sizeof words, "process %d (test_kv_wheel) uses this", (int)getpid());
    expect_refusal("", words);
    assert_int_equal(algo->start(self, 3, 100), TL_OK);
    assert_int_equal(algo->sync(self, &sequence), TL_OK);
    assert_int_equal(sequence, 1);
    algo->destroy(self);
    /* With more of them than were pending. */
    remove_store();
    struct adopted adopted = {.count = 0};
    assert_int_equal(try_to_open("", 4, 0, &self), TL_OK);
    assert_int_equal(algo->start(self, 3, 100), TL_OK);
    algo->destroy(self);
    assert_int_equal(try_to_open("", 2, 0, &self), TL_OK);
    assert_int_equal(algo->recover(self, adopt, &adopted), TL_OK);
    assert_int_equal(adopted.count, 1);
    assert_int_equal(algo->stop(self, 3), TL_OK);
    algo->destroy(self);
}

/* Why there is no store: `create` has no words, and recover says them. */
static void what_cannot_be_opened_says_why(void **state)
{
    (void)state;
    if (!is_there("")) {
        return;
    }
    char path[sizeof folder + 32];
    (void)snprintf(path, sizeof path, "%s/store", folder);
    remove_store();
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    expect_refusal("", "the folder cannot be opened: Not a directory");
    assert_int_equal(unlink(path), 0);
    char kept[sizeof folder];
    memcpy(kept, folder, sizeof kept);
    (void)snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/nowhere");
    expect_refusal("", "the folder cannot be made: No such file");
    memcpy(folder, kept, sizeof folder);
    if (geteuid() != 0) {
        assert_int_equal(mkdir(path, 0), 0);
        expect_refusal("", "Permission denied");
        assert_int_equal(rmdir(path), 0);
    }
}

/* A name is (id, generation). A generation that a callback reported before it was durable is not
 * used for another start after a crash; nor after a clean close. */
static void no_name_is_given_twice(void **state)
{
    (void)state;
    static const char *const options[] = {"", "delivery=at-most"};
    struct adopted adopted;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct journal *journal = child_memory_new(sizeof *journal);
        struct process_life life = {.journal = journal, .options = options[i], .algo = kv_wheel()};
        if (!is_there(options[i])) {
            child_memory_free(journal, sizeof *journal);
            continue;
        }
        remove_store();
        uint64_t last = 0;
        for (unsigned round = 0; round < 4; round++) {
            /* The first two die in the callback, the others close. */
            pid_t child = fork();
            if (child == 0) {
                adopted.count = 0;
                enum tl_status status = try_to_open(options[i], 8, 0, &life.self);
                status = status == TL_OK ? life.algo->recover(life.self, adopt, &adopted) : status;
                life.journal->count = 0;
                life.die_after = round < 2;
                if (status == TL_OK && life.algo->start(life.self, 7, 5) == TL_OK) {
                    life.journal->generations[7] = generation_now(&life);
                    (void)life.algo->advance(life.self, 6, TL_NO_BUDGET, on_fire, &life);
                    life.algo->destroy(life.self);
                }
                _exit(status != TL_OK);
            }
            int ended = 0;
            assert_int_equal(waitpid(child, &ended, 0), child);
            assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
            assert_true(journal->count > 0);
            if (journal->generations[7] <= last) {
                fail_msg("%s: (7, %llu) again, in round %u", options[i], (unsigned long long)last,
                         round);
            }
            last = journal->generations[7];
        }
        child_memory_free(journal, sizeof *journal);
    }
}

/* After a clean close it has all timers; `always` needs no sync, nor do operations that wait for
 * their window. */
static void when_it_is_durable(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        uint64_t at_start, at_window;
    } rows[] = {{"window=5", 0, 1}, {"sync=always", 1, 1}, {"batch=1", 1, 1}, {"window=90", 0, 0}};
    const struct tl_algo *algo = kv_wheel();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && is_there(""); i++) {
        void *self = NULL;
        struct tl_durability durability;
        struct adopted adopted = {.count = 0};
        remove_store();
        assert_int_equal(try_to_open(rows[i].options, 1, 0, &self), TL_OK);
        assert_int_equal(algo->start(self, 0, 100), TL_OK);
        algo->durability(self, &durability);
        assert_int_equal(durability.sequence, 1);
        assert_int_equal(durability.durable_sequence, rows[i].at_start);
        assert_null(durability.failure);
        (void)algo->advance(self, 5, TL_NO_BUDGET, on_fire, NULL);
        algo->durability(self, &durability);
        assert_int_equal(durability.durable_sequence, rows[i].at_window);
        assert_true(durability.bytes_durable > 0);
        algo->destroy(self);
        assert_int_equal(try_to_open(rows[i].options, 0, 5, &self), TL_OK);
        assert_int_equal(algo->recover(self, adopt, &adopted), TL_OK);
        assert_int_equal(adopted.count, 1);
        assert_int_equal(adopted.deadlines[0], 100);
        algo->destroy(self);
    }
}

/* Something else where the store should be. */
static void what_cannot_be_trusted_is_refused(void **state)
{
    (void)state;
    if (!is_there("")) {
        return;
    }
    char path[sizeof folder + 32];
    make_store("");
    (void)snprintf(path, sizeof path, "%s/store/timers.lmdb", folder);
    static const char other[8192] = "something else";
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, other, sizeof other), sizeof other);
    assert_int_equal(close(fd), 0);
    expect_refusal("", "MDB_INVALID: File is not an LMDB file");
}

/* The file was made, and the disk was full; but not once the folder is the structure's: then its
 * table was lost. */
static void what_was_never_begun_is_begun(void **state)
{
    (void)state;
    if (!is_there("")) {
        return;
    }
    char path[sizeof folder + 32];
    void *self = NULL;
    make_store("");
    (void)snprintf(path, sizeof path, "%s/store/timers.lmdb", folder);
    assert_int_equal(truncate(path, 100), 0);
    expect_refusal("", "its table is missing");
    assert_int_equal(unlink(path), 0);
    expect_refusal("", "its table is missing");
    (void)snprintf(path, sizeof path, "%s/store/timerlab", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(try_to_open("", 4, 0, &self), TL_OK);
    assert_int_equal(kv_wheel()->start(self, 1, 2), TL_OK);
    kv_wheel()->destroy(self);
}

/* --- a full disk ----------------------------------------------------------------------------- */

static bool disk_is_full;
static unsigned refused;

static ssize_t write_if_there_is_room(int fd, const struct iovec *pieces, int count, off_t at)
{
    if (disk_is_full) {
        refused++;
        errno = ENOSPC;
        return -1;
    }
    return pwritev2(fd, pieces, count, at, 0);
}

/* Replaces the C library's: LMDB writes its pages with these. */
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    struct iovec piece = {.iov_len = bytes};
    memcpy(&piece.iov_base, &data, sizeof data);
    return write_if_there_is_room(fd, &piece, 1, at);
}

ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    return write_if_there_is_room(fd, pieces, count, -1);
}

/* Time and order of its expiry are unchanged, and so is its generation; but its deadline, which had
 * passed at the start, was only in the lost transaction or in the table that is rewritten, and is
 * now the tick of the start. */
static void a_full_disk_forgets_how_late_a_start_was(void **state)
{
    (void)state;
    struct journal journal = {.count = 0};
    struct process_life life = {.algo = kv_wheel(), .journal = &journal, .options = ""};
    struct adopted adopted;
    for (unsigned full = 0; full < 2 && is_there(""); full++) {
        remove_store();
        assert_int_equal(try_to_open("", 8, 0, &life.self), TL_OK);
        journal = (struct journal){.count = 0};
        assert_int_equal(life.algo->advance(life.self, 10, TL_NO_BUDGET, on_fire, &life), 0);
        start(&life, 2, 4);
        start(&life, 3, 100);
        assert_int_equal(life.algo->sync(life.self, &journal.sequence), TL_OK);
        start(&life, 1, 7);
        disk_is_full = full == 1;
        if (disk_is_full) {
            assert_int_equal(life.algo->sync(life.self, &journal.sequence), TL_ERR_STORE);
            assert_int_equal(journal.sequence, 2);
            assert_int_equal(life.algo->start(life.self, 0, 50), TL_ERR_DISK_FULL);
        }
        disk_is_full = false;
        assert_int_equal(life.algo->sync(life.self, &journal.sequence), TL_OK);
        assert_int_equal(journal.sequence, 3);
        life.algo->destroy(life.self);
        reopen(&life, 10, &adopted);
        assert_int_equal(adopted.count, 3);
        assert_int_equal(adopted.deadlines[1], full == 1 ? 10 : 7);
        assert_int_equal(adopted.deadlines[2], full == 1 ? 10 : 4);
        assert_int_equal(adopted.deadlines[3], 100);
        for (uint32_t id = 1; id <= 3; id++) {
            assert_int_equal(adopted.generations[id], journal.generations[id]);
        }
        assert_int_equal(life.algo->advance(life.self, 11, TL_NO_BUDGET, on_fire, &life), 2);
        assert_int_equal(journal.fired[0], 1);
        assert_int_equal(journal.fired[1], 2);
        life.algo->destroy(life.self);
    }
}

/* With a full disk the table is not rewritten at each operation, but every 1,000 ticks, and by
 * sync; until then operations are kept, and the failure is reported. */
static void a_full_disk_is_not_tried_all_the_time(void **state)
{
    (void)state;
    enum { TIMERS = 5000 };
    struct process_life life = {.algo = kv_wheel(), .options = ""};
    struct journal journal = {.count = 0};
    struct tl_durability durability;
    uint64_t sequence = 0;
    if (!is_there("")) {
        return;
    }
    remove_store();
    life.journal = &journal;
    assert_int_equal(try_to_open("", TIMERS, 0, &life.self), TL_OK);
    for (uint32_t id = 0; id < TIMERS; id++) {
        assert_int_equal(life.algo->start(life.self, id, 1000000 + id), TL_OK);
    }
    assert_int_equal(life.algo->sync(life.self, &sequence), TL_OK);
    disk_is_full = true;
    refused = 0;
    for (uint32_t id = 0; id + 2 < TIMERS; id++) {
        assert_int_equal(life.algo->stop(life.self, id), TL_OK);
    }
    for (uint64_t now = 1; now < 2000; now++) {
        (void)life.algo->advance(life.self, now, TL_NO_BUDGET, on_fire, &life);
    }
    assert_int_equal(refused, 2); /* by the first full batch, and 1,000 ticks later */
    life.algo->durability(life.self, &durability);
    assert_non_null(durability.failure);
    assert_non_null(strstr(durability.failure, "No space left on device; 4998 operations wait in"));
    assert_int_equal(durability.durable_sequence, TIMERS);
    disk_is_full = false;
    assert_int_equal(life.algo->sync(life.self, &sequence), TL_OK);
    assert_int_equal(sequence, TIMERS + TIMERS - 2);
    life.algo->durability(life.self, &durability);
    assert_null(durability.failure);
    life.algo->destroy(life.self);
    struct adopted adopted;
    adopted.count = 0;
    assert_int_equal(try_to_open("", 0, 2000, &life.self), TL_OK);
    assert_int_equal(life.algo->recover(life.self, count_adopted, &adopted), TL_OK);
    assert_int_equal(adopted.count, 2);
    life.algo->destroy(life.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_every_way),
        cmocka_unit_test(no_name_is_given_twice),
        cmocka_unit_test(what_cannot_be_opened_says_why),
        cmocka_unit_test(a_full_disk_is_not_tried_all_the_time),
        cmocka_unit_test(a_folder_is_one_structures),
        cmocka_unit_test(when_it_is_durable),
        cmocka_unit_test(what_cannot_be_trusted_is_refused),
        cmocka_unit_test(what_was_never_begun_is_begun),
        cmocka_unit_test(a_full_disk_forgets_how_late_a_start_was),
    };
    struct error error = {{0}};
    temporary_files_lie_in_memory();
    if (!temporary_make(&temporary, &error)) {
        print_message("skipped: %s\n", error.text);
        return 77;
    }
    (void)snprintf(folder, sizeof folder, "%.190s", temporary.folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_remove(&temporary);
    return failed;
}
