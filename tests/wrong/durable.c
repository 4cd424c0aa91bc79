/*
 * durable(binary-heap) as a plug-in, with a fault that only crashes show: this file is compiled once
 * for each DURABLE_... below, with the front end's own sources (wrong/CMakeLists.txt).
 *
 *   right               no fault
 *   fires-first         at-most: fires before it commits
 *   forgets-folder      no fsync of the folder: the name of a new segment is not safe
 *   forgets-sync        no fdatasync: acknowledged operations are not on the disk
 *   acknowledges-early  reports everything as durable
 *   names-again         gives the same numbers again after a crash
 *   names-after-close   the same after a clean close without pending timers
 *   forgets-recovered   no fdatasync in a recovery: words of a killed process are not on the disk
 *   leaves-torn         leaves the words after a torn frame, which the recovery after the next crash finds
 *   forgets-calls       no fdatasync of the calls: the log names calls that are not on the disk
 *   loses-calls         a restart keeps no call
 *   mixes-calls         a timer has its neighbour's call
 *   miscounts           counts one timer too many after a recovery
 *   short-deadlines     keeps 32 bits of a deadline
 *   recovers-few        recovers only the timers that create made room for
 *   forgets-fourth      loses a timer in the fourth crash without a clean close between
 *   ignores-half        takes a short write for a whole one if the next write fails
 *   recovers-64         recovers the first 64 timers
 *   reads-a-mebibyte    reads at most a mebibyte of the log in a recovery
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#undef TL_IN_TREE /* the sources' own descriptors keep their names; the plug-in's is here */
#include "front_durable.c"

extern const struct tl_algo tl_algo_binary_heap;

/* Replacements of fsync, fdatasync, pwrite and pread, chosen by the build. */
int forgets(int fd);
int forgets_recovered(int fd);
ssize_t leaves_torn(int fd, const void *data, size_t bytes, off_t at);
ssize_t writes_half(int fd, const void *data, size_t bytes, off_t at);
ssize_t reads_little(int fd, void *data, size_t bytes, off_t at);

int forgets(int fd)
{
    (void)fd;
    return 0;
}

static bool recovers;

int forgets_recovered(int fd)
{
    return recovers ? 0 : fsync(fd);
}

/* Without the words of zeros that a recovery writes. */
ssize_t leaves_torn(int fd, const void *data, size_t bytes, off_t at)
{
    return recovers && bytes == sizeof(uint64_t) ? (ssize_t)bytes : pwrite64(fd, data, bytes, at);
}

ssize_t writes_half(int fd, const void *data, size_t bytes, off_t at)
{
    ssize_t done = pwrite64(fd, data, bytes, at);
    if (done > 0 && (size_t)done < bytes) {
        (void)pwrite64(fd, (const char *)data + done, bytes - (size_t)done, at + done);
        return (ssize_t)bytes;
    }
    return done;
}

/* Pieces of 64 KiB, as the log is read. */
static unsigned pieces_read;

ssize_t reads_little(int fd, void *data, size_t bytes, off_t at)
{
    enum { PIECE = 64 << 10, PIECES = 16 };
    pieces_read += bytes == PIECE;
    return pieces_read > PIECES ? 0 : pread64(fd, data, bytes, at);
}

/* Of the last structure that was made. */
static uint32_t capacity_given;
static uint64_t miscounted;
static char folder[TL_TEXT_BYTES];

/* The number of recoveries since the last clean close; 0 sets it. */
static long crashes(bool reset)
{
    int place = open(folder, O_RDONLY | O_DIRECTORY);
    int fd = openat(place, "crashes", O_RDWR | O_CREAT | O_APPEND | (reset ? O_TRUNC : 0), 0600);
    long count = 0;
    if (fd >= 0) {
        count = !reset && write(fd, "x", 1) == 1 ? (long)lseek(fd, 0, SEEK_END) : 0;
        (void)close(fd);
    }
    (void)close(place);
    return count;
}

static void remove_files(void)
{
    DIR *files = opendir(folder);
    for (struct dirent *file = files != NULL ? readdir(files) : NULL; file != NULL;
         file = readdir(files)) {
        (void)unlinkat(dirfd(files), file->d_name, 0);
    }
    if (files != NULL) {
        (void)closedir(files);
    }
}

static enum tl_status create(const struct tl_config *config, void **self)
{
    capacity_given = config->capacity;
    miscounted = 0;
    pieces_read = 0;
    struct durable_options own = *(const struct durable_options *)config->options;
    memcpy(folder, own.path, sizeof folder);
#if defined(DURABLE_FIRES_FIRST)
    own.delivery = AT_LEAST;
#endif
    return tl_front_durable.create(&tl_algo_binary_heap, &own, config, self);
}

static void destroy(void *self)
{
    bool is_empty = tl_front_durable.hooks.count(self) == 0;
    tl_front_durable.hooks.destroy(self);
#if defined(DURABLE_NAMES_AFTER_CLOSE)
    if (is_empty && folder[0] != '\0') {
        remove_files();
    }
#elif defined(DURABLE_FORGETS_FOURTH)
    (void)crashes(true);
#endif
    (void)is_empty;
    (void)remove_files;
    (void)crashes;
}

static enum tl_status reserve(void *self, uint32_t capacity)
{
    return tl_front_durable.hooks.reserve(self, capacity);
}

static enum tl_status start(void *self, uint32_t id, uint64_t deadline)
{
#if defined(DURABLE_SHORT_DEADLINES)
    deadline = (uint32_t)deadline;
#endif
    return tl_front_durable.hooks.start(self, id, deadline);
}

static enum tl_status start_call(void *self, uint32_t id, uint64_t deadline,
                                 const struct tl_call *call)
{
#if defined(DURABLE_LOSES_CALLS)
    struct tl_call found;
    if (tl_front_durable.hooks.call(self, id, &found) == TL_OK) {
        return start(self, id, deadline);
    }
#endif
    return tl_front_durable.hooks.start_call(self, id, deadline, call);
}

static enum tl_status call(void *self, uint32_t id, struct tl_call *out)
{
#if defined(DURABLE_MIXES_CALLS)
    id ^= 1;
#endif
    return tl_front_durable.hooks.call(self, id, out);
}

static enum tl_status stop(void *self, uint32_t id)
{
    return tl_front_durable.hooks.stop(self, id);
}

static uint64_t advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    return tl_front_durable.hooks.advance(self, now, budget, fire, ctx);
}

static uint64_t count(const void *self)
{
    return tl_front_durable.hooks.count(self) + miscounted;
}

static enum tl_status sync_all(void *self, uint64_t *durable_sequence)
{
    return tl_front_durable.hooks.sync(self, durable_sequence);
}

static struct {
    tl_adopt_fn adopt;
    void *ctx;
    uint64_t adopted;
    uint64_t most;
    uint32_t capacity;
    bool without_first;
} asked;

static void adopt_few(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    (void)ctx;
    if (id < asked.capacity && asked.adopted < asked.most &&
        (asked.adopted++ > 0 || !asked.without_first)) {
        asked.adopt(asked.ctx, id, deadline, generation);
    }
}

static enum tl_status recover(void *self, tl_adopt_fn adopt, void *ctx)
{
    asked.adopt = adopt;
    asked.ctx = ctx;
    asked.adopted = 0;
    asked.most = UINT64_MAX;
    asked.capacity = UINT32_MAX;
#if defined(DURABLE_RECOVERS_FEW)
    asked.capacity = capacity_given;
#elif defined(DURABLE_RECOVERS_64)
    asked.most = 64;
#elif defined(DURABLE_FORGETS_FOURTH)
    asked.without_first = crashes(false) == 4;
#endif
    recovers = true;
    enum tl_status status = tl_front_durable.hooks.recover(self, adopt_few, ctx);
    recovers = false;
#if defined(DURABLE_MISCOUNTS)
    miscounted = tl_front_durable.hooks.count(self) > 0;
#endif
    return status;
}

static void durability(const void *self, struct tl_durability *out)
{
    tl_front_durable.hooks.durability(self, out);
#if defined(DURABLE_ACKNOWLEDGES_EARLY)
    out->durable_sequence = out->sequence;
#endif
}

TL_ALGO(durable) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_DURABLE,
    .name = DURABLE_NAME,
    .summary = "a durable binary heap, wrong in one way or right",
    .origin = "our own",
    .description = "For the tests of what crashes show.",
    .cost = {"O(log n)", "O(log n)", "O(1)", "O(log n)"},
    .options = durable_option_table,
    .options_bytes = sizeof(struct durable_options),
    .create = create,
    .destroy = destroy,
    .reserve = reserve,
    .start = start,
    .stop = stop,
    .advance = advance,
    .count = count,
    .sync = sync_all,
    .recover = recover,
    .durability = durability,
    .start_call = start_call,
    .call = call,
};
