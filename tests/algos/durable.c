/*
 * durable(...): acknowledged operations survive the end of the process, under the same generation;
 * corrupt files are named and stay unchanged; the disk use is as declared.
 *
 * A copy of the folder has the state that a process leaves when it ends just then: all that it has
 * written, and nothing of its memory.
 */
#include "test.h"

#include "catalog.h"
#include "crc32c.h"
#include "front.h"
#include "kit/passes.h"
#include "timer_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMERS 200u

/* As docs/internals/durable-log.md says. */
enum { HEAD = 512, LINE = 64, WORD = 8 };

/* What should be there: of each timer its deadline, TL_NEVER if it is not pending. */
struct model {
    uint64_t deadline[TIMERS];
    uint64_t generation[TIMERS];
};

struct trial {
    struct catalog catalog;
    struct contender_list contenders;
    const struct tl_algo *algo;
    TL_OPTION_VALUES(options);
    char folder[64];
    char copy[64];
    void *self;
};

/* --- the disk -------------------------------------------------------------------------------- */

static bool fsync_fails;
static ino_t fsync_was_of;

/* Replaces the C library's. */
int fsync(int fd)
{
    struct stat file;
    fsync_was_of = fstat(fd, &file) == 0 ? file.st_ino : 0;
    if (fsync_fails) {
        errno = EIO;
        return -1;
    }
    return fdatasync(fd);
}

/* As on a full disk no file gets longer than that. Returns the limit to go back to. */
static struct rlimit limit_files(rlim_t bytes)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

/* --- folders --------------------------------------------------------------------------------- */

static void make_folder(char path[64])
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(path, 64, "%.40s/durable-XXXXXX", parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(path));
}

static void empty_folder(const char *path)
{
    DIR *listing = opendir(path);
    assert_non_null(listing);
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        (void)unlinkat(dirfd(listing), entry->d_name, 0);
    }
    (void)closedir(listing);
}

static void remove_folder(const char *path)
{
    empty_folder(path);
    assert_int_equal(rmdir(path), 0);
}

static void copy_file(int from, int to, const char *name)
{
    static char buffer[1 << 16];
    int in = openat(from, name, O_RDONLY);
    int out = openat(to, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t n = read(in, buffer, sizeof buffer); n > 0; n = read(in, buffer, sizeof buffer)) {
        assert_int_equal(write(out, buffer, (size_t)n), n);
    }
    (void)close(in);
    (void)close(out);
}

static void copy_folder(const char *from, const char *to)
{
    empty_folder(to);
    DIR *listing = opendir(from);
    int target = open(to, O_RDONLY | O_DIRECTORY);
    assert_true(listing != NULL && target >= 0);
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (entry->d_name[0] != '.') {
            copy_file(dirfd(listing), target, entry->d_name);
        }
    }
    (void)close(target);
    (void)closedir(listing);
}

/* Find the first file of the folder, in the order of names, with a name that begins so; the last
 * one if `last`. */
static bool find_file(const char *folder, const char *begin, bool last, char name[256])
{
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    bool found = false;
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0 &&
            (!found || (strcmp(entry->d_name, name) > 0) == last)) {
            (void)snprintf(name, 256, "%s", entry->d_name);
            found = true;
        }
    }
    (void)closedir(listing);
    return found;
}

/* Overwrites bytes of a file. */
static void spoil(const char *folder, const char *name, off_t at, const void *bytes, size_t count)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, count, at), (ssize_t)count);
    (void)close(fd);
}

static void look_at(const char *folder, const char *name, off_t at, void *bytes, size_t count)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, count, at), (ssize_t)count);
    (void)close(fd);
}

/* The head of a log says that it is of that format. */
static void set_format(const char *folder, const char *name, uint32_t format)
{
    unsigned char head[40];
    look_at(folder, name, 0, head, sizeof head);
    memcpy(head + 4, &format, sizeof format);
    uint32_t crc = crc32c(0, head + sizeof crc, sizeof head - sizeof crc);
    memcpy(head, &crc, sizeof crc);
    spoil(folder, name, 0, head, sizeof head);
}

/* --- structures ------------------------------------------------------------------------------ */

static void open_on(struct trial *trial, const char *folder, uint32_t capacity)
{
    assert_true(
        tl_option_read(tl_option_find(trial->algo->options, "path"), trial->options, folder));
    struct tl_config config = {
        .capacity = capacity, .options = trial->options, .allocator = tl_system_allocator()};
    assert_int_equal(trial->algo->create(&config, &trial->self), TL_OK);
}

static void begin_of(struct trial *trial, const char *text, uint32_t capacity)
{
    struct error error;
    memset(trial, 0, sizeof *trial);
    catalog_init(&trial->catalog);
    if (!catalog_select(&trial->catalog, text, &trial->contenders, &error)) {
        fail_msg("%s", error.text);
    }
    trial->algo = trial->contenders.items[0].timed;
    memcpy(trial->options, trial->contenders.items[0].options, sizeof trial->options);
    make_folder(trial->folder);
    make_folder(trial->copy);
    open_on(trial, trial->folder, capacity);
}

static void begin(struct trial *trial, const char *text)
{
    begin_of(trial, text, TIMERS);
}

static void end(struct trial *trial)
{
    trial->algo->destroy(trial->self);
    remove_folder(trial->folder);
    remove_folder(trial->copy);
    contender_list_free(&trial->contenders);
    catalog_free(&trial->catalog);
}

static struct tl_durability durability_of(const struct trial *trial)
{
    struct tl_durability out;
    trial->algo->durability(trial->self, &out);
    return out;
}

static uint64_t sync_now(const struct trial *trial)
{
    uint64_t sequence = 0;
    assert_int_equal(trial->algo->sync(trial->self, &sequence), TL_OK);
    return sequence;
}

static void adopt(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    struct model *found = ctx;
    assert_true(id < TIMERS);
    assert_true(found->deadline[id] == TL_NEVER);
    found->deadline[id] = deadline;
    found->generation[id] = generation;
}

static void forget(struct model *model)
{
    for (uint32_t id = 0; id < TIMERS; id++) {
        model->deadline[id] = TL_NEVER;
        model->generation[id] = 0;
    }
}

/* Recover the timers of the copy. */
static enum tl_status recover_copy(const struct trial *trial, struct model *found, char *why,
                                   size_t why_bytes)
{
    struct trial other = *trial;
    struct tl_durability out;
    forget(found);
    open_on(&other, other.copy, 0);
    enum tl_status status = other.algo->recover(other.self, adopt, found);
    other.algo->durability(other.self, &out);
    (void)snprintf(why, why_bytes, "%s", out.failure != NULL ? out.failure : "");
    if (status == TL_OK) {
        char complaint[200];
        assert_int_equal(other.algo->check(other.self, complaint, sizeof complaint), TL_OK);
    }
    other.algo->destroy(other.self);
    return status;
}

static void assert_same(const struct model *expected, const struct model *found)
{
    for (uint32_t id = 0; id < TIMERS; id++) {
        assert_int_equal(found->deadline[id], expected->deadline[id]);
        assert_int_equal(found->generation[id], expected->generation[id]);
    }
}

static void assert_copy_holds(const struct trial *trial, const struct model *expected)
{
    struct model found;
    char why[600];
    copy_folder(trial->folder, trial->copy);
    if (recover_copy(trial, &found, why, sizeof why) != TL_OK) {
        fail_msg("%s", why);
    }
    assert_same(expected, &found);
}

/* --- a history ------------------------------------------------------------------------------- */

struct history {
    const struct trial *trial;
    struct model model;
    uint64_t now;
    uint64_t random;
};

static uint64_t below(struct history *history, uint64_t bound)
{
    history->random = history->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (history->random >> 33) % bound;
}

static void start_one(struct history *history, uint32_t id, uint64_t deadline)
{
    const struct trial *trial = history->trial;
    assert_int_equal(trial->algo->start(trial->self, id, deadline), TL_OK);
    history->model.deadline[id] = deadline;
    history->model.generation[id] = durability_of(trial).sequence;
}

static void stop_one(struct history *history, uint32_t id)
{
    const struct trial *trial = history->trial;
    bool pending = history->model.deadline[id] != TL_NEVER;
    assert_int_equal(trial->algo->stop(trial->self, id), pending ? TL_OK : TL_IDLE);
    history->model.deadline[id] = TL_NEVER;
    history->model.generation[id] = 0;
}

/* Some timers start themselves again, and stop others. */
static void fired(void *ctx, uint32_t id, uint64_t now)
{
    struct history *history = ctx;
    assert_true(history->model.deadline[id] <= now);
    history->model.deadline[id] = TL_NEVER;
    history->model.generation[id] = 0;
    if (id % 3 == 0) {
        start_one(history, id, now + 1 + below(history, 20));
    } else if (id % 3 == 1) {
        stop_one(history, (uint32_t)below(history, TIMERS));
    }
}

static void live_on(struct history *history, unsigned operations)
{
    const struct trial *trial = history->trial;
    for (unsigned i = 0; i < operations; i++) {
        uint32_t id = (uint32_t)below(history, TIMERS);
        switch (below(history, 8)) {
        case 0:
            stop_one(history, id);
            break;
        case 1:
            history->now += below(history, 4);
            (void)trial->algo->advance(trial->self, history->now, TL_NO_BUDGET, fired, history);
            break;
        default:
            start_one(history, id, history->now + below(history, 50));
            break;
        }
    }
}

static struct history new_history(const struct trial *trial, uint64_t seed)
{
    struct history history = {.trial = trial, .random = seed};
    forget(&history.model);
    return history;
}

/* --- tests ----------------------------------------------------------------------------------- */

/* Whatever the policy, and far beyond the first snapshots. */
static void what_is_acknowledged_comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "durable(binary-heap):sync=none:group=7",
        "durable(binary-heap):sync=group:group=50",
        "durable(chunk-wheel):sync=none:delivery=at-most:group=64",
        "durable(hier-wheel:tick=1):sync=always:group=3",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct trial trial;
        begin(&trial, texts[i]);
        struct history history = new_history(&trial, i + 1);
        bool waits = strstr(texts[i], "always") != NULL;
        for (unsigned round = 0; round < 12; round++) {
            live_on(&history, waits ? 40 : 9000);
            uint64_t sequence = sync_now(&trial);
            assert_int_equal(sequence, durability_of(&trial).sequence);
            assert_copy_holds(&trial, &history.model);
        }
        end(&trial);
    }
}

/* A process goes on where another one ended, and another one after it. */
static void lives_follow_one_another(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial, "durable(binary-heap):sync=none:group=100");
    struct history history = new_history(&trial, 77);
    uint64_t sequence = 0;
    for (unsigned life = 0; life < 8; life++) {
        live_on(&history, 8000);
        sequence = durability_of(&trial).sequence;
        trial.algo->destroy(trial.self); /* what still waits is written */
        open_on(&trial, trial.folder, life % 2 == 0 ? 0 : 7);
        struct model found;
        forget(&found);
        assert_int_equal(trial.algo->recover(trial.self, adopt, &found), TL_OK);
        assert_same(&history.model, &found);
        assert_int_equal(durability_of(&trial).sequence, sequence + LOG_LEAP);
        assert_int_equal(trial.algo->reserve(trial.self, TIMERS), TL_OK);
    }
    end(&trial);
}

/* More than 32 bits apart, across lines and segments, and from one life to the next. */
static void deadlines_may_be_far_apart(void **state)
{
    (void)state;
    static const unsigned bits[] = {63, 0, 31, 32, 33, 40, 62};
    struct trial trial;
    begin(&trial, "durable(binary-heap):sync=none:group=100");
    struct history history = new_history(&trial, 5);
    for (uint32_t i = 0; i < 30000; i++) {
        uint64_t deadline = UINT64_C(1) << bits[i / (1 + i % 3) % 7];
        start_one(&history, i % TIMERS, deadline - i % 2);
        if (i % 5 == 0) {
            stop_one(&history, i * 7 % TIMERS);
        }
        if (i % 6000 == 5999) {
            trial.algo->destroy(trial.self);
            open_on(&trial, trial.folder, TIMERS);
            struct model found;
            forget(&found);
            assert_int_equal(trial.algo->recover(trial.self, adopt, &found), TL_OK);
            assert_same(&history.model, &found);
        }
    }
    end(&trial);
}

/* The start is on record before the structure is asked, and is then removed; a timer pending under
 * its id stays pending. */
static void a_refused_start_leaves_no_trace(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial, "durable(simple-wheel):slots=1024:sync=none:group=100");
    struct history history = new_history(&trial, 5);
    for (uint32_t id = 0; id < 40; id++) {
        start_one(&history, id, 100 + id);
        assert_int_equal(trial.algo->start(trial.self, id, 5000), TL_ERR_HORIZON);
        assert_int_equal(trial.algo->start(trial.self, id + 1, 5000), TL_ERR_HORIZON);
        assert_int_equal(trial.algo->count(trial.self), id + 1);
        assert_int_equal(durability_of(&trial).sequence, id + 1);
    }
    (void)sync_now(&trial);
    assert_copy_holds(&trial, &history.model);
    end(&trial);
}

/* Nor does one with a record that cannot be written: later deadlines are stored as differences from
 * the record before them, not from its own. */
static void a_start_that_is_not_written_leaves_no_trace(void **state)
{
    (void)state;
    const uint64_t far = UINT64_C(1) << 40;
    struct trial trial;
    begin(&trial, "durable(binary-heap):sync=none:group=1");
    struct history history = new_history(&trial, 5);
    start_one(&history, 0, 100);
    struct rlimit before = limit_files(HEAD);
    for (uint32_t id = 0; id < 2; id++) {
        assert_int_equal(trial.algo->start(trial.self, id, far), TL_ERR_STORE);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(trial.algo->count(trial.self), 1);
    assert_int_equal(durability_of(&trial).sequence, 1);
    start_one(&history, 2, far + 5);
    start_one(&history, 3, 200);
    (void)sync_now(&trial);
    assert_copy_holds(&trial, &history.model);
    end(&trial);
}

static void a_folder_is_used_by_one_and_recovered_first(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial, "durable(binary-heap)");
    struct history history = new_history(&trial, 5);
    start_one(&history, 3, 1000);
    struct trial other = trial;
    struct model found;
    forget(&found);
    open_on(&other, trial.folder, TIMERS);
    assert_int_equal(other.algo->recover(other.self, adopt, &found), TL_ERR_STORE);
    char words[64];
    (void)snprintf(words, sizeof words, "process %d (test_durable) uses this folder",
                   (int)getpid());
    assert_non_null(strstr(durability_of(&other).failure, words));
    other.algo->destroy(other.self);

    trial.algo->destroy(trial.self);
    open_on(&trial, trial.folder, TIMERS);
    assert_int_equal(trial.algo->start(trial.self, 1, 5), TL_ERR_STORE);
    assert_non_null(strstr(durability_of(&trial).failure, "have not been recovered"));
    trial.algo->destroy(trial.self);
    open_on(&trial, trial.folder, TIMERS);
    assert_int_equal(trial.algo->recover(trial.self, adopt, &found), TL_OK);
    assert_same(&history.model, &found);

    other = trial;
    open_on(&other, "/no/such/place", TIMERS);
    assert_int_equal(other.algo->start(other.self, 1, 5), TL_ERR_STORE);
    assert_int_equal(other.algo->recover(other.self, adopt, &found), TL_ERR_STORE);
    assert_non_null(strstr(durability_of(&other).failure, "/no/such/place: the folder cannot be "));
    other.algo->destroy(other.self);
    end(&trial);
}

/* A name is (id, generation). A generation that a callback reported before it was durable is not
 * used for another start after a crash; nor are numbers used again after a folder was closed. */
static void no_name_is_given_twice(void **state)
{
    (void)state;
    static const char *const texts[] = {"durable(binary-heap)", "durable(binary-heap):sync=none",
                                        "durable(binary-heap):delivery=at-most"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct trial trial;
        struct model found;
        begin(&trial, texts[i]);
        struct history history = new_history(&trial, 5);
        uint64_t last = 0;
        for (unsigned round = 0; round < 6; round++) {
            start_one(&history, 7, 5 + round);
            uint64_t generation = history.model.generation[7];
            if (generation <= last) {
                fail_msg("%s: (7, %llu) again, in round %u", texts[i],
                         (unsigned long long)generation, round);
            }
            last = generation;
            if (round % 3 < 2) { /* killed before anything of it is on the disk */
                copy_folder(trial.folder, trial.copy);
                assert_int_equal(
                    trial.algo->advance(trial.self, 100, TL_NO_BUDGET, fired, &history), 1);
            }
            trial.algo->destroy(trial.self);
            if (round % 3 < 2) {
                copy_folder(trial.copy, trial.folder);
            }
            forget(&found);
            open_on(&trial, trial.folder, TIMERS);
            assert_int_equal(trial.algo->recover(trial.self, adopt, &found), TL_OK);
            history.model = found;
        }
        end(&trial);
    }
}

/* The word with the next sequence number is lost with its frame: the frames after it are not taken
 * for a torn commit. */
static void a_lost_leap_is_named(void **state)
{
    (void)state;
    static const char zeros[WORD];
    struct trial trial;
    struct model found;
    char why[600];
    char log[256];
    begin(&trial, "durable(binary-heap)");
    struct history history = new_history(&trial, 5);
    start_one(&history, 1, 100);
    trial.algo->destroy(trial.self);
    open_on(&trial, trial.folder, TIMERS);
    forget(&found);
    assert_int_equal(trial.algo->recover(trial.self, adopt, &found), TL_OK);
    start_one(&history, 2, 200);
    (void)sync_now(&trial);
    copy_folder(trial.folder, trial.copy);
    assert_true(find_file(trial.copy, "log-", false, log));
    spoil(trial.copy, log, HEAD + WORD * 3, zeros, sizeof zeros); /* after a head and two words */
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
    assert_non_null(strstr(why, "record 2 is not there, though it was on"));
    end(&trial);
}

/* Segments have their length from the beginning, and none is full before the next one is there: a
 * file that is cut, or missing at the end, is no end. */
static void what_is_cut_or_missing_is_named(void **state)
{
    (void)state;
    struct trial trial;
    struct model found;
    char why[600];
    char log[256];
    char path[512];
    struct stat file;
    begin(&trial, "durable(binary-heap):group=10:least=10000");
    struct history history = new_history(&trial, 5);
    for (unsigned i = 0; i < 9000; i++) {
        start_one(&history, i % TIMERS, 100 + i);
    }
    (void)sync_now(&trial);
    copy_folder(trial.folder, trial.copy);
    assert_true(find_file(trial.copy, "log-", true, log));
    (void)snprintf(path, sizeof path, "%s/%s", trial.copy, log);
    assert_int_equal(stat(path, &file), 0);
    for (off_t bytes = 0; bytes < file.st_size; bytes += file.st_size / 40 + 1) {
        copy_folder(trial.folder, trial.copy);
        assert_int_equal(truncate(path, bytes), 0);
        assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
        assert_non_null(strstr(why, log));
        assert_non_null(strstr(why, "corrupt"));
    }
    copy_folder(trial.folder, trial.copy);
    while (find_file(trial.copy, "log-", true, log)) {
        (void)snprintf(path, sizeof path, "%s/%s", trial.copy, log);
        assert_int_equal(unlink(path), 0);
        enum tl_status status = recover_copy(&trial, &found, why, sizeof why);
        bool was_written = strcmp(log, "log-0000000000000002") <= 0;
        assert_true(status == (was_written ? TL_ERR_STORE : TL_OK));
        assert_true(!was_written || strstr(why, "missing") != NULL);
    }
    end(&trial);
}

/* A folder of another structure is refused, and both are named. */
static void a_folder_knows_whose_it_is(void **state)
{
    (void)state;
    struct trial trial;
    struct model found;
    char why[600];
    begin(&trial, "durable(binary-heap)");
    struct history history = new_history(&trial, 5);
    start_one(&history, 1, 100);
    (void)sync_now(&trial);
    copy_folder(trial.folder, trial.copy);
    spoil(trial.copy, "timerlab", 0, "kv-wheel(NAM", 12);
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
    assert_non_null(strstr(why, "belongs to kv-wheel(NAM"));
    assert_non_null(strstr(why, "is opened as durable(NAME), a log of format 1"));
    end(&trial);
}

/* A commit without its last lines: the lines before them count. Frames after the hole do not
 * reappear when the log has grown up to them. */
static void a_torn_commit_ends_the_log(void **state)
{
    (void)state;
    static const char zeros[WORD];
    struct trial trial;
    begin(&trial, "durable(binary-heap):group=200");
    struct history history = new_history(&trial, 5);
    for (uint32_t id = 0; id < 10; id++) {
        start_one(&history, id, 100 + id);
    }
    (void)sync_now(&trial);
    for (uint32_t id = 10; id < 61; id++) { /* up to the end of the first line */
        start_one(&history, id, 100 + id);
    }
    struct model before = history.model;
    for (uint32_t id = 61; id < 150; id++) {
        start_one(&history, id, 100 + id);
    }
    (void)sync_now(&trial);
    copy_folder(trial.folder, trial.copy);
    char log[256];
    assert_true(find_file(trial.copy, "log-", false, log));
    spoil(trial.copy, log, HEAD + WORD * (LINE + 10), zeros, sizeof zeros);

    struct model found;
    char why[600];
    struct trial other = trial;
    forget(&found);
    open_on(&other, other.copy, TIMERS);
    assert_int_equal(other.algo->recover(other.self, adopt, &found), TL_OK);
    assert_same(&before, &found);
    assert_int_equal(durability_of(&other).sequence, 61 + LOG_LEAP);
    assert_int_equal(other.algo->start(other.self, 150, 500), TL_OK);
    (void)sync_now(&other);
    other.algo->destroy(other.self);
    before.deadline[150] = 500;
    before.generation[150] = 62 + LOG_LEAP;
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_OK);
    assert_same(&before, &found);
    end(&trial);
}

/* The last frame of a line, with one operation, is lost: the next line shows whether that was on
 * the disk, or belongs to the same commit. */
static void one_operation_may_be_missing(void **state)
{
    (void)state;
    static const char zeros[WORD];
    enum { BEFORE = 60 }; /* fill the line with a head and the first number, but for two words */
    for (unsigned was_synced = 0; was_synced < 2; was_synced++) {
        struct trial trial;
        begin(&trial, "durable(binary-heap)");
        struct history history = new_history(&trial, 5);
        struct model before = history.model;
        for (uint32_t id = 0; id < BEFORE + 10; id++) {
            if (id == BEFORE) {
                (void)sync_now(&trial);
                before = history.model;
            } else if (id == BEFORE + 1 && was_synced > 0) {
                (void)sync_now(&trial);
            }
            start_one(&history, id, 100 + id);
        }
        (void)sync_now(&trial);
        copy_folder(trial.folder, trial.copy);
        char log[256];
        assert_true(find_file(trial.copy, "log-", false, log));
        spoil(trial.copy, log, HEAD + WORD * (LINE - 2), zeros, sizeof zeros);
        struct model found;
        char why[600];
        enum tl_status status = recover_copy(&trial, &found, why, sizeof why);
        if (was_synced > 0) {
            assert_int_equal(status, TL_ERR_STORE);
            assert_non_null(strstr(why, "record 61 is not there, though it was on"));
        } else {
            assert_int_equal(status, TL_OK);
            assert_same(&before, &found);
        }
        end(&trial);
    }
}

/* A frame that got to another place is none: here the first one, with its head, the number that
 * follows, and ten starts. */
static void a_frame_counts_in_its_own_place(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial, "durable(binary-heap)");
    struct history history = new_history(&trial, 5);
    for (uint32_t id = 0; id < 10; id++) {
        start_one(&history, id, 100 + id);
    }
    (void)sync_now(&trial);
    copy_folder(trial.folder, trial.copy);
    char log[256];
    char frame[12 * WORD];
    assert_true(find_file(trial.copy, "log-", false, log));
    look_at(trial.copy, log, HEAD, frame, sizeof frame);
    spoil(trial.copy, log, HEAD + (off_t)sizeof frame, frame, sizeof frame);
    struct model found;
    char why[600];
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_OK);
    assert_same(&history.model, &found);
    end(&trial);
}

/* The first frame of a commit is lost with the last one of the commit before it: the beginning of
 * the next line shows it. */
static void a_hole_across_two_commits_is_named(void **state)
{
    (void)state;
    static const char zeros[WORD];
    enum { SECOND = 103 }; /* commit's place: after 100 starts, two heads and the first number */
    struct trial trial;
    begin(&trial, "durable(binary-heap)");
    struct history history = new_history(&trial, 5);
    for (uint32_t id = 0; id < 150; id++) {
        start_one(&history, id, 100 + id);
        if (id == 99) {
            (void)sync_now(&trial);
        }
    }
    (void)sync_now(&trial);
    struct model found;
    char why[600];
    char log[256];
    for (unsigned was_synced = 0; was_synced < 2; was_synced++) {
        copy_folder(trial.folder, trial.copy);
        assert_true(find_file(trial.copy, "log-", false, log));
        spoil(trial.copy, log, HEAD + WORD * SECOND, zeros, sizeof zeros);
        if (was_synced > 0) { /* the missing frame: otherwise it is a torn commit */
            spoil(trial.copy, log, HEAD + WORD * LINE, zeros, sizeof zeros);
        }
        assert_int_equal(recover_copy(&trial, &found, why, sizeof why),
                         was_synced > 0 ? TL_ERR_STORE : TL_OK);
        assert_true(was_synced == 0 || strstr(why, "record 63 is not there, though it was on"));
    }
    end(&trial);
}

/* Frames that had been on the disk are missing: that is reported by name and place, and no file is
 * changed. */
static void corruption_is_named(void **state)
{
    (void)state;
    static const char zeros[WORD];
    struct trial trial;
    begin(&trial, "durable(binary-heap):group=10:least=10000");
    struct history history = new_history(&trial, 5);
    for (unsigned i = 0; i < 9000; i++) {
        start_one(&history, i % TIMERS, 100 + i);
    }
    (void)sync_now(&trial);
    struct model found;
    char why[600];
    char log[256];
    copy_folder(trial.folder, trial.copy);
    assert_true(find_file(trial.copy, "log-", false, log));
    spoil(trial.copy, log, HEAD + WORD * LINE * 8, zeros, sizeof zeros);
    for (unsigned again = 0; again < 2; again++) {
        assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
        assert_non_null(strstr(why, log));
        assert_non_null(strstr(why, "corrupt at byte 4608: record 459 is not there"));
    }
    /* Bits in the middle of a word, in the last one of the segment. */
    copy_folder(trial.folder, trial.copy);
    spoil(trial.copy, log, 65536 - 12, "\x55", 1);
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
    assert_non_null(strstr(why, "corrupt at byte 65448: record 7291 is not there"));
    /* The head; and one of a log of another format. */
    copy_folder(trial.folder, trial.copy);
    spoil(trial.copy, log, 8, "?", 1);
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
    assert_non_null(strstr(why, "its head is not one of"));
    copy_folder(trial.folder, trial.copy);
    set_format(trial.copy, log, 2);
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
    assert_non_null(strstr(why, log));
    assert_non_null(strstr(why, "is of format 2, which this timerlab does not read"));
    /* A whole segment. */
    copy_folder(trial.folder, trial.copy);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", trial.copy, log);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
    assert_non_null(strstr(why, "the log begins with record 7301"));
    end(&trial);
}

static void a_snapshot_that_is_corrupt_is_named(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial, "durable(binary-heap):sync=none");
    struct history history = new_history(&trial, 5);
    char name[256];
    while (!find_file(trial.folder, "snapshot-", false, name) || strstr(name, ".tmp") != NULL) {
        live_on(&history, 1000);
    }
    (void)sync_now(&trial);
    struct model found;
    char why[600];
    assert_copy_holds(&trial, &history.model);
    copy_folder(trial.folder, trial.copy);
    spoil(trial.copy, name, 60, "\x55", 1);
    assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_ERR_STORE);
    assert_non_null(strstr(why, name));
    assert_non_null(strstr(why, "corrupt at byte 0: its checksum is wrong"));
    end(&trial);
}

/* A copy is made while timer 7 fires. */
static void copy_at_7(void *ctx, uint32_t id, uint64_t now)
{
    const struct trial *trial = ctx;
    (void)now;
    if (id == 7) {
        copy_folder(trial->folder, trial->copy);
    }
}

/* With at-least, a timer fired now fires again after a crash; with at-most it does not. */
static void delivery_is_as_asked_for(void **state)
{
    (void)state;
    static const char *const texts[] = {"durable(binary-heap):delivery=at-least",
                                        "durable(binary-heap):delivery=at-most"};
    for (size_t i = 0; i < 2; i++) {
        struct trial trial;
        begin(&trial, texts[i]);
        struct history history = new_history(&trial, 5);
        for (uint32_t id = 0; id < 10; id++) {
            start_one(&history, id, 100);
        }
        start_one(&history, 100, 200);
        (void)sync_now(&trial);
        assert_int_equal(trial.algo->advance(trial.self, 100, TL_NO_BUDGET, copy_at_7, &trial), 10);
        struct model found;
        char why[600];
        assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_OK);
        for (uint32_t id = 0; id < 10; id++) {
            assert_int_equal(found.deadline[id], i == 0 ? 100 : TL_NEVER);
        }
        assert_int_equal(found.deadline[100], 200);
        (void)sync_now(&trial);
        copy_folder(trial.folder, trial.copy);
        assert_int_equal(recover_copy(&trial, &found, why, sizeof why), TL_OK);
        assert_int_equal(found.deadline[7], TL_NEVER);
        end(&trial);
    }
}

/* The window, in ticks, and the group's size. */
static void groups_are_committed_in_time(void **state)
{
    (void)state;
    struct trial trial;
    begin(&trial, "durable(binary-heap):group=8:window=5");
    struct history history = new_history(&trial, 5);
    for (uint32_t id = 0; id < 9; id++) {
        start_one(&history, id, 1000);
    }
    assert_int_equal(durability_of(&trial).durable_sequence, 8);
    for (uint64_t now = 1; now <= 5; now++) {
        (void)trial.algo->advance(trial.self, now, TL_NO_BUDGET, fired, &history);
        assert_int_equal(durability_of(&trial).durable_sequence, now < 5 ? 8 : 9);
    }
    end(&trial);
}

/* Here the disk is full as soon as a file would have to be longer than the first one. */
static void a_full_disk_refuses_starts_and_no_stop(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    struct trial trial;
    begin_of(&trial, "durable(binary-heap):group=100:least=8192", MANY);
    struct rlimit before = limit_files(65536);
    uint32_t started = 0;
    while (started < MANY && trial.algo->start(trial.self, started, 1000 + started) == TL_OK) {
        started++;
    }
    assert_in_range(started, 1000, MANY - 1);
    assert_int_equal(trial.algo->count(trial.self), started);
    assert_non_null(strstr(durability_of(&trial).failure, "cannot be written: File too large"));
    for (uint32_t id = 0; id < started; id += 2) {
        assert_int_equal(trial.algo->stop(trial.self, id), TL_OK);
    }
    uint64_t stopped = (started + 1) / 2;
    assert_int_equal(
        trial.algo->advance(trial.self, 1000 + started, TL_NO_BUDGET, copy_at_7, &trial),
        started - stopped);
    assert_int_equal(sync_now(&trial), 2 * (uint64_t)started);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(trial.algo->start(trial.self, 7, 1000 + started), TL_OK);
    end(&trial);
}

/* Starts itself again, if there is room. */
static void start_again(void *ctx, uint32_t id, uint64_t now)
{
    const struct trial *trial = ctx;
    (void)trial->algo->start(trial->self, id, now + 1);
}

/* While a timer fires, its record is still to come, and nothing that is started takes its place. */
static void a_full_disk_has_room_for_what_is_firing(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    for (unsigned restarts = 0; restarts < 2; restarts++) {
        struct trial trial;
        begin_of(&trial, "durable(binary-heap):group=100:least=8192", MANY);
        struct rlimit before = limit_files(65536);
        for (unsigned i = 0; i < restarts; i++) {
            assert_int_equal(trial.algo->start(trial.self, 0, 1000), TL_OK);
        }
        uint32_t started = 0;
        while (started < MANY && trial.algo->start(trial.self, started, 1000) == TL_OK) {
            started++;
        }
        assert_in_range(started, 1000, MANY - 1);
        assert_int_equal(trial.algo->advance(trial.self, 1000, 1, start_again, &trial), 1);
        for (uint32_t id = 0; id < started; id++) {
            enum tl_status status = trial.algo->stop(trial.self, id);
            assert_true(status == TL_OK || status == TL_IDLE);
        }
        assert_int_equal(trial.algo->count(trial.self), 0);
        (void)sync_now(&trial);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        end(&trial);
    }
}

/* After a snapshot: 2.5 times the bytes of a timer's id, deadline and generation; with few timers,
 * when the log's beginning counts, 2.5 times 32 bytes. */
static void the_log_is_cut(void **state)
{
    (void)state;
    static const struct {
        uint32_t many;
        uint32_t bytes;
    } sizes[] = {{100000, 32}, {120000, 32}, {200000, 20}, {240000, 20}};
    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
        uint32_t many = sizes[size].many;
        struct trial trial;
        begin_of(&trial, "durable(chunk-wheel):sync=none", many);
        uint64_t most = 0;
        uint64_t random = 1;
        for (uint32_t i = 0; i < 12 * many; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint32_t id = i < many ? i : (uint32_t)((random >> 33) % many);
            assert_int_equal(trial.algo->start(trial.self, id, (random >> 40) % 100000), TL_OK);
            uint64_t bytes = durability_of(&trial).bytes_durable;
            most = i > 3 * many && bytes > most ? bytes : most;
        }
        assert_in_range(most, 20 * many, sizes[size].bytes * (uint64_t)many * 5 / 2);
        end(&trial);
    }
}

/* From others that are no different tomorrow. */
static void a_full_disk_has_a_status_of_its_own(void **state)
{
    (void)state;
    struct store store;
    store_init(&store, "/dev", false, "nobody");
    int full = open("/dev/full", O_WRONLY);
    int unwritable = open("/dev/full", O_RDONLY);
    assert_int_equal(store_write(&store, full, "full", "x", 1, 0), TL_ERR_DISK_FULL);
    assert_non_null(strstr(store.failure, "/dev/full: cannot be written: No space left"));
    assert_int_equal(store_write(&store, unwritable, "full", "x", 1, 0), TL_ERR_STORE);
    (void)close(full);
    (void)close(unwritable);
}

/* Of a log and of a snapshot, and nothing else of the folder. */
static void what_a_crash_left_unfinished_is_removed(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const char *suffix;
        bool stays;
    } files[] = {{STORE_LOG, STORE_UNFINISHED, false},
                 {STORE_SNAPSHOT, STORE_UNFINISHED, false},
                 {STORE_LOG, "", true},
                 {STORE_SNAPSHOT, "", true},
                 {STORE_LOG "s", STORE_UNFINISHED, true},
                 {STORE_LOG, STORE_UNFINISHED "s", true}};
    char folder[64];
    struct store store;
    make_folder(folder);
    store_init(&store, folder, false, "a test");
    assert_int_equal(store_open(&store), TL_OK);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            char name[STORE_NAME_BYTES];
            int fd = -1;
            store_name(name, files[i].word, 7, files[i].suffix);
            if (round == 0) {
                assert_int_equal(store_file(&store, name, true, &fd), TL_OK);
                (void)close(fd);
            } else {
                assert_int_equal(faccessat(store.folder, name, F_OK, 0) == 0, files[i].stays);
            }
        }
        store_remove_unfinished(&store);
    }
    store_close(&store);
    remove_folder(folder);
}

/* Its name is in the parent folder, which a loss of power resets to the last sync. */
static void a_folder_that_is_made_is_on_the_disk(void **state)
{
    (void)state;
    char above[64];
    char path[80];
    struct stat parent;
    struct store store;
    make_folder(above);
    assert_int_equal(stat(above, &parent), 0);
    (void)snprintf(path, sizeof path, "%s/timers", above);
    store_init(&store, path, true, "a test");
    fsync_fails = true;
    assert_int_equal(store_open(&store), TL_ERR_STORE);
    fsync_fails = false;
    assert_non_null(strstr(store.failure, "did not reach the disk"));
    assert_int_not_equal(access(path, F_OK), 0); /* and is created again */
    fsync_was_of = 0;
    assert_int_equal(store_open(&store), TL_OK);
    assert_int_equal(fsync_was_of, parent.st_ino);
    store_close(&store);
    remove_folder(path);
    remove_folder(above);
}

static void it_passes_the_kit(void **state)
{
    (void)state;
    struct catalog catalog;
    struct contender_list contenders = {0};
    struct error error;
    catalog_init(&catalog);
    assert_true(
        catalog_select(&catalog, "durable(binary-heap),durable(chunk-wheel)", &contenders, &error));
    for (size_t i = 0; i < contenders.count; i++) {
        const struct tl_entry entry = {.timed = contenders.items[i].timed,
                                       .counted = contenders.items[i].counted};
        assert_passes(&entry, !SANITIZED);
    }
    contender_list_free(&contenders);
    catalog_free(&catalog);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* A call that belongs to a number: lengths from nothing to as long as may be. */
static struct tl_call call_of(uint32_t number)
{
    static char service[TL_SERVICE_MAX + 1];
    static unsigned char payload[TL_PAYLOAD_MAX];
    static const size_t bytes[] = {0, 1, 200, TL_PAYLOAD_MAX, 4000};
    size_t count = bytes[number % 5];
    (void)snprintf(service, sizeof service, "%*u", number % 7 == 0 ? 255 : 1, number);
    for (size_t i = 0; i < count; i++) {
        payload[i] = (unsigned char)(number + i * i);
    }
    return (struct tl_call){service, payload, count};
}

static void assert_call(const struct tl_algo *algo, void *self, uint32_t id, uint32_t number)
{
    struct tl_call found;
    struct tl_call given = call_of(number);
    if (number == 0) {
        assert_int_equal(algo->call(self, id, &found), TL_IDLE);
        return;
    }
    assert_int_equal(algo->call(self, id, &found), TL_OK);
    assert_string_equal(found.service, given.service);
    assert_int_equal(found.bytes, given.bytes);
    assert_memory_equal(found.payload, given.payload, found.bytes);
}

struct calling {
    const struct tl_algo *algo;
    void *self;
    uint32_t numbers[TIMERS]; /* of each timer's call; 0: none */
    uint32_t fired;
};

static void fired_with_call(void *ctx, uint32_t id, uint64_t now)
{
    struct calling *calling = ctx;
    (void)now;
    assert_call(calling->algo, calling->self, id, calling->numbers[id]);
    calling->fired++;
}

/* A call is kept, replaced and removed with its timer, moves from file to file with snapshots,
 * comes back after the process has ended, and is there in the callback. */
static void a_call_is_kept_with_its_timer(void **state)
{
    (void)state;
    static const char *const structures[] = {"durable(binary-heap):group=40:least=200:snapshot=20",
                                             "durable(binary-heap):sync=always",
                                             "durable(chunk-wheel):delivery=at-most:group=7",
                                             "kv-wheel:batch=9", "kv-wheel:delivery=at-most"};
    for (size_t i = 0; i < sizeof structures / sizeof structures[0]; i++) {
        struct trial trial;
        struct model found;
        char words[400];
        begin(&trial, structures[i]);
        const struct tl_algo *algo = trial.algo;
        struct calling calling = {.algo = algo, .self = trial.self};
        for (uint32_t k = 0; k < 1500; k++) {
            uint32_t id = k * 7919 % TIMERS;
            uint32_t number = k % 4 == 0 ? 0 : k;
            if (k % 13 == 0) {
                (void)algo->stop(trial.self, id);
                number = 0;
            } else if (number == 0) {
                assert_int_equal(algo->start(trial.self, id, 100 + id), TL_OK);
            } else {
                struct tl_call call = call_of(number);
                assert_int_equal(algo->start_call(trial.self, id, 100 + id, &call), TL_OK);
            }
            calling.numbers[id] = number;
            if (k % 13 != 0) {
                assert_call(algo, trial.self, id, number);
            }
        }
        /* One that is too long changes nothing. */
        struct tl_call call = {"service", words, TL_PAYLOAD_MAX + 1};
        assert_int_equal(algo->start_call(trial.self, 1, 7, &call), TL_ERR_CAPACITY);
        memset(words, 'x', sizeof words);
        words[TL_SERVICE_MAX + 1] = '\0';
        call = (struct tl_call){words, NULL, 0};
        assert_int_equal(algo->start_call(trial.self, 1, 7, &call), TL_ERR_CAPACITY);
        assert_call(algo, trial.self, 1, calling.numbers[1]);
        (void)sync_now(&trial);
        copy_folder(trial.folder, trial.copy);
        for (unsigned life = 0; life < 3; life++) { /* the second and third of the copy */
            uint64_t pending = algo->count(calling.self);
            calling.fired = 0;
            assert_int_equal(
                algo->advance(calling.self, 1000, TL_NO_BUDGET, fired_with_call, &calling),
                pending);
            assert_int_equal(calling.fired, pending);
            assert_true(pending > TIMERS / 2 || life == 2);
            if (life > 0) {
                algo->destroy(calling.self);
            }
            if (life < 2) {
                struct trial other = trial;
                forget(&found);
                open_on(&other, other.copy, 0);
                assert_int_equal(algo->recover(other.self, adopt, &found), TL_OK);
                calling.self = other.self;
            }
        }
        char name[256];
        if (find_file(trial.folder, "calls", true, name)) {
            copy_folder(trial.folder, trial.copy);
            call = call_of(3);
            assert_int_equal(algo->start_call(trial.self, 5, 5000, &call), TL_OK);
            (void)sync_now(&trial);
            copy_folder(trial.folder, trial.copy);
            assert_true(find_file(trial.copy, "calls", true, name));
            (void)snprintf(words, sizeof words, "%s/%s", trial.copy, name);
            assert_int_equal(unlink(words), 0);
            assert_int_equal(recover_copy(&trial, &found, words, sizeof words), TL_ERR_STORE);
            assert_non_null(strstr(words, "the call of timer 5 is missing"));
        }
        end(&trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_acknowledged_comes_back),
        cmocka_unit_test(lives_follow_one_another),
        cmocka_unit_test(deadlines_may_be_far_apart),
        cmocka_unit_test(a_refused_start_leaves_no_trace),
        cmocka_unit_test(a_start_that_is_not_written_leaves_no_trace),
        cmocka_unit_test(a_folder_is_used_by_one_and_recovered_first),
        cmocka_unit_test(no_name_is_given_twice),
        cmocka_unit_test(a_lost_leap_is_named),
        cmocka_unit_test(what_is_cut_or_missing_is_named),
        cmocka_unit_test(a_folder_knows_whose_it_is),
        cmocka_unit_test(a_torn_commit_ends_the_log),
        cmocka_unit_test(one_operation_may_be_missing),
        cmocka_unit_test(a_frame_counts_in_its_own_place),
        cmocka_unit_test(a_hole_across_two_commits_is_named),
        cmocka_unit_test(corruption_is_named),
        cmocka_unit_test(a_snapshot_that_is_corrupt_is_named),
        cmocka_unit_test(delivery_is_as_asked_for),
        cmocka_unit_test(groups_are_committed_in_time),
        cmocka_unit_test(a_full_disk_refuses_starts_and_no_stop),
        cmocka_unit_test(a_full_disk_has_room_for_what_is_firing),
        cmocka_unit_test(the_log_is_cut),
        cmocka_unit_test(a_full_disk_has_a_status_of_its_own),
        cmocka_unit_test(what_a_crash_left_unfinished_is_removed),
        cmocka_unit_test(a_folder_that_is_made_is_on_the_disk),
        cmocka_unit_test(a_call_is_kept_with_its_timer),
        cmocka_unit_test(it_passes_the_kit),
    };
    (void)signal(SIGXFSZ, SIG_IGN); /* too long for a file: refused */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
