#include "timer_snapshot.h"

#include "crc32c.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (UINT64_C(64) << 10)

/* Numbers are written and read in pieces of eight bytes; the excess is overwritten, and after the
 * last one there is room for it. */
#define SPARE_BYTES 8u

#define MAGIC       UINT64_C(0x31706e53656d6954) /* "TimeSnp1" */

/* The last block has no timers: `entries` is LAST, and after it stand the total and `upto`. */
#define LAST        UINT32_MAX

/* Precedes each block. The checksum is of the rest of it and the block, and begins with the block's
 * number. */
struct block_head {
    uint32_t crc;
    uint32_t bytes; /* after the head */
    uint32_t entries;
    uint32_t number;
    uint64_t magic;
    uint64_t from;
};

/* Before the columns of a run. */
struct run_head {
    uint64_t deadline; /* the least of each */
    uint64_t generation;
    uint32_t id;
    uint8_t beyond_one;      /* timers but for one */
    uint8_t widths[COLUMNS]; /* bytes for each timer */
};

struct last_block {
    uint64_t timers;
    uint64_t upto;
};

static const struct snapshot_file no_file = {.fd = -1};

enum tl_status snapshot_create(struct snapshot_writer *writer, struct store *store,
                               const struct tl_allocator *allocator)
{
    *writer = (struct snapshot_writer){.store = store,
                                       .allocator = allocator,
                                       .unfinished = no_file,
                                       .newest = no_file,
                                       .spare = no_file};
    writer->block = tl_alloc(allocator, BLOCK_BYTES + SPARE_BYTES, _Alignof(struct block_head));
    return writer->block != NULL ? TL_OK : TL_ERR_NOMEM;
}

static void close_file(struct snapshot_file *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    *file = no_file;
}

/* One that has no finished name. */
static void remove_unfinished(struct snapshot_writer *writer, struct snapshot_file *file)
{
    if (file->fd >= 0) {
        char name[STORE_NAME_BYTES];
        store_name(name, STORE_SNAPSHOT, file->from, STORE_UNFINISHED);
        store_remove(writer->store, name);
    }
    close_file(file);
}

void snapshot_destroy(struct snapshot_writer *writer)
{
    snapshot_abandon(writer);
    remove_unfinished(writer, &writer->spare);
    close_file(&writer->newest);
    tl_free(writer->allocator, writer->block, BLOCK_BYTES + SPARE_BYTES,
            _Alignof(struct block_head));
}

void snapshot_abandon(struct snapshot_writer *writer)
{
    remove_unfinished(writer, &writer->unfinished);
}

enum tl_status snapshot_begin(struct snapshot_writer *writer, uint64_t from)
{
    char name[STORE_NAME_BYTES];
    store_name(name, STORE_SNAPSHOT, from, STORE_UNFINISHED);
    writer->used = sizeof(struct block_head);
    writer->in_block = 0;
    writer->blocks = 0;
    writer->timers = 0;
    writer->written = 0;
    writer->in_run = 0;
    if (writer->spare.fd < 0) {
        writer->unfinished.from = from;
        return store_file(writer->store, name, true, &writer->unfinished.fd);
    }
    char old[STORE_NAME_BYTES];
    store_name(old, STORE_SNAPSHOT, writer->spare.from, STORE_UNFINISHED);
    enum tl_status status = store_rename(writer->store, old, name);
    if (status != TL_OK) {
        remove_unfinished(writer, &writer->spare);
        return status;
    }
    writer->unfinished = writer->spare;
    writer->unfinished.from = from;
    writer->spare = no_file;
    return TL_OK;
}

static enum tl_status write_block(struct snapshot_writer *writer, uint32_t entries)
{
    struct snapshot_file *file = &writer->unfinished;
    char name[STORE_NAME_BYTES];
    store_name(name, STORE_SNAPSHOT, file->from, STORE_UNFINISHED);
    struct block_head head = {.bytes = (uint32_t)(writer->used - sizeof head),
                              .entries = entries,
                              .number = writer->blocks,
                              .magic = MAGIC,
                              .from = file->from};
    memcpy(writer->block, &head, sizeof head);
    head.crc =
        crc32c(writer->blocks, writer->block + sizeof head.crc, writer->used - sizeof head.crc);
    memcpy(writer->block, &head, sizeof head.crc);
    enum tl_status status =
        store_write(writer->store, file->fd, name, writer->block, writer->used, writer->written);
    writer->written += writer->used;
    file->bytes = writer->written > file->bytes ? writer->written : file->bytes;
    writer->blocks++;
    writer->used = sizeof head;
    writer->in_block = 0;
    return status;
}

/* The bytes that a number takes, from its lowest on; none for 0. */
static uint8_t bytes_for(uint64_t value)
{
    return value == 0 ? 0 : (uint8_t)((71u - (unsigned)__builtin_clzll(value)) / 8);
}

/* Their differences from the least, in this number of bytes each. */
static unsigned char *put_column(unsigned char *at, const uint64_t *values, unsigned count,
                                 uint64_t least, unsigned bytes)
{
    for (unsigned i = 0; i < count && bytes > 0; i++) {
        uint64_t above = htole64(values[i] - least);
        memcpy(at, &above, sizeof above);
        at += bytes;
    }
    return at;
}

/* The least of the values, and the bytes that the largest of them takes above it. By twos: one
 * after the other, each would wait for the one before. */
static uint64_t least_of(const uint64_t *values, unsigned count, uint8_t *bytes)
{
    uint64_t least[2] = {values[0], values[count - 1]};
    uint64_t most[2] = {values[0], values[count - 1]};
    for (unsigned i = 0; i + 1 < count; i += 2) {
        for (unsigned k = 0; k < 2; k++) {
            least[k] = values[i + k] < least[k] ? values[i + k] : least[k];
            most[k] = values[i + k] > most[k] ? values[i + k] : most[k];
        }
    }
    least[0] = least[1] < least[0] ? least[1] : least[0];
    most[0] = most[1] > most[0] ? most[1] : most[0];
    *bytes = bytes_for(most[0] - least[0]);
    return least[0];
}

static struct run_head head_of_run(uint64_t run[COLUMNS][SNAPSHOT_RUN], unsigned count)
{
    struct run_head head = {.beyond_one = (uint8_t)(count - 1)};
    uint64_t ids = run[COLUMN_ID][count - 1] - run[COLUMN_ID][0];
    head.deadline = least_of(run[COLUMN_DEADLINE], count, &head.widths[COLUMN_DEADLINE]);
    head.generation = least_of(run[COLUMN_GENERATION], count, &head.widths[COLUMN_GENERATION]);
    head.id = (uint32_t)run[COLUMN_ID][0];
    head.widths[COLUMN_ID] = ids == count - 1 ? 0 : bytes_for(ids);
    return head;
}

static size_t column_bytes(const struct run_head *head)
{
    size_t widths = 0;
    for (unsigned column = 0; column < COLUMNS; column++) {
        widths += head->widths[column];
    }
    return widths * (head->beyond_one + 1u);
}

enum tl_status snapshot_end_run(struct snapshot_writer *writer)
{
    unsigned count = writer->in_run;
    if (count == 0) {
        return TL_OK;
    }
    enum tl_status status = TL_OK;
    struct run_head head = head_of_run(writer->run, count);
    if (writer->used + sizeof head + column_bytes(&head) > BLOCK_BYTES) {
        status = write_block(writer, writer->in_block);
    }
    unsigned char *at = writer->block + writer->used;
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    const uint64_t least[COLUMNS] = {head.deadline, head.generation, head.id};
    for (unsigned column = 0; column < COLUMNS; column++) {
        at = put_column(at, writer->run[column], count, least[column], head.widths[column]);
    }
    writer->used = (size_t)(at - writer->block);
    writer->in_block += count;
    writer->timers += count;
    writer->in_run = 0;
    if (status != TL_OK) {
        snapshot_abandon(writer);
    }
    return status;
}

/* Remove its finished name first, so that it is not read while it is overwritten. */
static void keep_spare(struct snapshot_writer *writer, struct snapshot_file old)
{
    if (old.fd < 0) {
        return;
    }
    char name[STORE_NAME_BYTES];
    char spare[STORE_NAME_BYTES];
    store_name(name, STORE_SNAPSHOT, old.from, "");
    store_name(spare, STORE_SNAPSHOT, old.from, STORE_UNFINISHED);
    if (store_rename(writer->store, name, spare) == TL_OK) {
        writer->spare = old;
    } else {
        store_remove(writer->store, name);
        close_file(&old);
    }
}

enum tl_status snapshot_finish(struct snapshot_writer *writer, uint64_t upto)
{
    char made[STORE_NAME_BYTES];
    char name[STORE_NAME_BYTES];
    store_name(made, STORE_SNAPSHOT, writer->unfinished.from, STORE_UNFINISHED);
    store_name(name, STORE_SNAPSHOT, writer->unfinished.from, "");
    enum tl_status status = snapshot_end_run(writer);
    if (status != TL_OK) {
        return status;
    }
    status = writer->in_block > 0 ? write_block(writer, writer->in_block) : TL_OK;
    struct last_block last = {.timers = writer->timers, .upto = upto};
    memcpy(writer->block + writer->used, &last, sizeof last);
    writer->used += sizeof last;
    if (status == TL_OK) {
        status = write_block(writer, LAST);
    }
    if (status == TL_OK) {
        status = store_sync_new(writer->store, writer->unfinished.fd, made);
    }
    if (status == TL_OK) {
        status = store_rename(writer->store, made, name);
    }
    if (status != TL_OK) {
        snapshot_abandon(writer);
        return status;
    }
    struct snapshot_file old = writer->newest;
    writer->newest = writer->unfinished;
    writer->unfinished = no_file;
    status = store_sync_folder(writer->store);
    if (status == TL_OK) {
        keep_spare(writer, old);
    } else {
        close_file(&old);
    }
    return status;
}

/* --- reading --------------------------------------------------------------------------------- */

static uint64_t get(const unsigned char *at, unsigned bytes)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return bytes > 0 ? le64toh(value) & UINT64_MAX >> (64 - 8 * bytes) : 0;
}

static bool run_is_good(const struct run_head *head, size_t left)
{
    for (unsigned column = 0; column < COLUMNS; column++) {
        if (head->widths[column] > sizeof(uint64_t)) {
            return false;
        }
    }
    return column_bytes(head) <= left;
}

static enum tl_status read_run(const struct run_head *head, const unsigned char *at,
                               enum tl_status (*add)(void *ctx, const struct snapshot_timer *timer),
                               void *ctx)
{
    unsigned count = head->beyond_one + 1u;
    const uint8_t *widths = head->widths;
    const unsigned char *generations = at + (size_t)count * widths[COLUMN_DEADLINE];
    const unsigned char *ids = generations + (size_t)count * widths[COLUMN_GENERATION];
    enum tl_status status = TL_OK;
    for (unsigned i = 0; i < count && status == TL_OK; i++) {
        unsigned of_id = widths[COLUMN_ID];
        struct snapshot_timer timer = {
            .id = head->id + (of_id > 0 ? (uint32_t)get(ids + (size_t)i * of_id, of_id) : i),
            .deadline = head->deadline +
                        get(at + (size_t)i * widths[COLUMN_DEADLINE], widths[COLUMN_DEADLINE]),
            .generation =
                head->generation + get(generations + (size_t)i * widths[COLUMN_GENERATION],
                                       widths[COLUMN_GENERATION])};
        status = add(ctx, &timer);
    }
    return status;
}

static enum tl_status
read_entries(const struct block_head *head, const unsigned char *at,
             enum tl_status (*add)(void *ctx, const struct snapshot_timer *timer), void *ctx)
{
    const unsigned char *end = at + head->bytes;
    enum tl_status status = TL_OK;
    for (uint32_t left = head->entries; left > 0 && status == TL_OK;) {
        struct run_head run = {0};
        if ((size_t)(end - at) < sizeof run) {
            return TL_ERR_CORRUPT;
        }
        memcpy(&run, at, sizeof run);
        at += sizeof run;
        if (!run_is_good(&run, (size_t)(end - at)) || run.beyond_one >= left) {
            return TL_ERR_CORRUPT;
        }
        status = read_run(&run, at, add, ctx);
        at += column_bytes(&run);
        left -= run.beyond_one + 1u;
    }
    return status;
}

/* The block at `at` into the writer's own; false: it is not whole. */
static bool block_is_good(const struct snapshot_writer *writer, size_t got,
                          const struct block_head *head, uint32_t number, uint64_t from)
{
    return got >= sizeof *head && head->magic == MAGIC && head->from == from &&
           head->number == number && head->bytes <= got - sizeof *head &&
           head->crc == crc32c(number, writer->block + sizeof head->crc,
                               sizeof *head - sizeof head->crc + head->bytes);
}

enum tl_status snapshot_read(struct snapshot_writer *writer, uint64_t from, uint64_t *upto,
                             enum tl_status (*add)(void *ctx, const struct snapshot_timer *timer),
                             void *ctx)
{
    char name[STORE_NAME_BYTES];
    struct snapshot_file file = {.from = from, .fd = -1};
    store_name(name, STORE_SNAPSHOT, from, "");
    enum tl_status status = store_file(writer->store, name, false, &file.fd);
    if (status != TL_OK) {
        return status;
    }
    uint64_t timers = 0;
    uint64_t at = 0;
    for (uint32_t number = 0; status == TL_OK; number++) {
        size_t got = 0;
        struct block_head head = {0};
        status = store_read(writer->store, file.fd, name, writer->block, BLOCK_BYTES, at, &got);
        if (status != TL_OK) {
            break;
        }
        memcpy(&head, writer->block, got < sizeof head ? got : sizeof head);
        if (!block_is_good(writer, got, &head, number, from)) {
            status = TL_ERR_CORRUPT;
        } else if (head.entries == LAST) {
            struct last_block last;
            memcpy(&last, writer->block + sizeof head, sizeof last);
            *upto = last.upto;
            status = last.timers == timers ? TL_OK : TL_ERR_CORRUPT;
            break;
        } else {
            status = read_entries(&head, writer->block + sizeof head, add, ctx);
            timers += head.entries;
            at += sizeof head + head.bytes;
        }
    }
    if (status == TL_ERR_CORRUPT) {
        (void)store_fail(writer->store, "%s: corrupt at byte %" PRIu64 ": its checksum is wrong",
                         name, at);
    }
    if (status != TL_OK) {
        close_file(&file);
        return status;
    }
    off_t bytes = lseek(file.fd, 0, SEEK_END);
    file.bytes = bytes > 0 ? (uint64_t)bytes : 0;
    close_file(&writer->newest);
    writer->newest = file;
    return TL_OK;
}
