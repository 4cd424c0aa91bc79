#include "timer_snapshot.h"

#include "crc32c.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (UINT64_C(64) << 10)

/* An entry: a byte of lengths, and so many bytes at most. Numbers are written and read in pieces of
 * eight bytes, of which what is too much is written over; behind the last one there is room for it.
 */
#define ENTRY_MAX   21u
#define SPARE_BYTES 8u

#define MAGIC       UINT64_C(0x31706e53656d6954) /* "TimeSnp1" */

/* The last block has no timers: `entries` is LAST, and behind it stand the total and `upto`. */
#define LAST        UINT32_MAX

/* Before each block. The checksum is of what follows it, the block included, and goes on from the
 * block's number. */
struct block_head {
    uint32_t crc;
    uint32_t bytes; /* behind the head */
    uint32_t entries;
    uint32_t number;
    uint64_t magic;
    uint64_t from;
};

struct last_block {
    uint64_t timers;
    uint64_t upto;
};

enum tl_status snapshot_create(struct snapshot_writer *writer, struct store *store,
                               const struct tl_allocator *allocator)
{
    *writer = (struct snapshot_writer){.store = store, .allocator = allocator, .fd = -1};
    writer->block = tl_alloc(allocator, BLOCK_BYTES + SPARE_BYTES, _Alignof(struct block_head));
    return writer->block != NULL ? TL_OK : TL_ERR_NOMEM;
}

void snapshot_destroy(struct snapshot_writer *writer)
{
    snapshot_abandon(writer);
    tl_free(writer->allocator, writer->block, BLOCK_BYTES + SPARE_BYTES,
            _Alignof(struct block_head));
}

void snapshot_abandon(struct snapshot_writer *writer)
{
    if (snapshot_is_open(writer)) {
        char name[STORE_NAME_BYTES];
        store_name(name, STORE_SNAPSHOT, writer->from, STORE_UNFINISHED);
        (void)close(writer->fd);
        store_remove(writer->store, name);
        writer->fd = -1;
    }
}

enum tl_status snapshot_begin(struct snapshot_writer *writer, uint64_t from)
{
    char name[STORE_NAME_BYTES];
    store_name(name, STORE_SNAPSHOT, from, STORE_UNFINISHED);
    writer->used = sizeof(struct block_head);
    writer->in_block = 0;
    writer->blocks = 0;
    writer->timers = 0;
    writer->from = from;
    writer->bytes = 0;
    writer->last = (struct snapshot_timer){0};
    return store_file(writer->store, name, true, &writer->fd);
}

static enum tl_status write_block(struct snapshot_writer *writer, uint32_t entries)
{
    char name[STORE_NAME_BYTES];
    store_name(name, STORE_SNAPSHOT, writer->from, STORE_UNFINISHED);
    struct block_head head = {.bytes = (uint32_t)(writer->used - sizeof head),
                              .entries = entries,
                              .number = writer->blocks,
                              .magic = MAGIC,
                              .from = writer->from};
    memcpy(writer->block, &head, sizeof head);
    head.crc =
        crc32c(writer->blocks, writer->block + sizeof head.crc, writer->used - sizeof head.crc);
    memcpy(writer->block, &head, sizeof head.crc);
    enum tl_status status =
        store_write(writer->store, writer->fd, name, writer->block, writer->used, writer->bytes);
    writer->bytes += writer->used;
    writer->blocks++;
    writer->used = sizeof head;
    writer->in_block = 0;
    writer->last = (struct snapshot_timer){0};
    return status;
}

/* The bytes that a number takes, from its lowest on, one at least. */
static unsigned bytes_for(uint64_t value)
{
    return (71u - (unsigned)__builtin_clzll(value | 1)) / 8;
}

static unsigned char *put(unsigned char *at, uint64_t value, unsigned bytes)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
    return at + bytes;
}

/* So many bytes say how far an id is from the one before it: for the next one, none. */
static const unsigned char id_bytes[4] = {0, 1, 2, 4};

static unsigned id_code(uint32_t step)
{
    return (unsigned)(step != 1) + (step > UINT8_MAX) + (step > UINT16_MAX);
}

/* Small where the numbers are near each other, whichever is larger. */
static uint64_t folded(uint64_t value, uint64_t before)
{
    uint64_t difference = value - before;
    return (difference << 1) ^ (0 - (difference >> 63));
}

static uint64_t unfolded(uint64_t folded_value, uint64_t before)
{
    return before + ((folded_value >> 1) ^ (0 - (folded_value & 1)));
}

enum tl_status snapshot_add(struct snapshot_writer *writer, struct snapshot_timer timer)
{
    enum tl_status status = TL_OK;
    if (writer->used + ENTRY_MAX > BLOCK_BYTES) {
        status = write_block(writer, writer->in_block);
    }
    uint32_t step = timer.id - writer->last.id;
    uint64_t deadline = folded(timer.deadline, writer->last.deadline);
    uint64_t generation = folded(timer.generation, writer->last.generation);
    unsigned of_id = id_code(step);
    unsigned of_deadline = bytes_for(deadline);
    unsigned of_generation = bytes_for(generation);
    unsigned char *at = writer->block + writer->used;
    *at++ = (unsigned char)(of_id | (of_deadline - 1) << 2 | (of_generation - 1) << 5);
    at = put(at, step, id_bytes[of_id]);
    at = put(at, deadline, of_deadline);
    at = put(at, generation, of_generation);
    writer->used = (size_t)(at - writer->block);
    writer->last = timer;
    writer->in_block++;
    writer->timers++;
    if (status != TL_OK) {
        snapshot_abandon(writer);
    }
    return status;
}

enum tl_status snapshot_finish(struct snapshot_writer *writer, uint64_t upto)
{
    char made[STORE_NAME_BYTES];
    char name[STORE_NAME_BYTES];
    store_name(made, STORE_SNAPSHOT, writer->from, STORE_UNFINISHED);
    store_name(name, STORE_SNAPSHOT, writer->from, "");
    enum tl_status status = writer->in_block > 0 ? write_block(writer, writer->in_block) : TL_OK;
    struct last_block last = {.timers = writer->timers, .upto = upto};
    memcpy(writer->block + writer->used, &last, sizeof last);
    writer->used += sizeof last;
    if (status == TL_OK) {
        status = write_block(writer, LAST);
    }
    if (status == TL_OK) {
        status = store_sync_new(writer->store, writer->fd, made);
    }
    if (status == TL_OK) {
        status = store_rename(writer->store, made, name);
    }
    if (status != TL_OK) {
        snapshot_abandon(writer);
        return status;
    }
    (void)close(writer->fd);
    writer->fd = -1;
    return store_sync_folder(writer->store);
}

/* --- reading --------------------------------------------------------------------------------- */

static uint64_t get(const unsigned char **at, unsigned bytes)
{
    uint64_t value;
    memcpy(&value, *at, sizeof value);
    *at += bytes;
    return bytes > 0 ? le64toh(value) & UINT64_MAX >> (64 - 8 * bytes) : 1;
}

static enum tl_status
read_entries(const struct block_head *head, const unsigned char *at,
             enum tl_status (*add)(void *ctx, const struct snapshot_timer *timer), void *ctx)
{
    const unsigned char *end = at + head->bytes;
    struct snapshot_timer timer = {0};
    enum tl_status status = TL_OK;
    for (uint32_t i = 0; i < head->entries && status == TL_OK; i++) {
        unsigned lengths = at < end ? *at++ : 0;
        unsigned of_id = id_bytes[lengths & 3];
        unsigned of_deadline = (lengths >> 2 & 7) + 1;
        unsigned of_generation = (lengths >> 5) + 1;
        if (at + of_id + of_deadline + of_generation > end) {
            return TL_ERR_CORRUPT;
        }
        timer.id += (uint32_t)get(&at, of_id);
        timer.deadline = unfolded(get(&at, of_deadline), timer.deadline);
        timer.generation = unfolded(get(&at, of_generation), timer.generation);
        status = add(ctx, &timer);
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
                             uint64_t *bytes,
                             enum tl_status (*add)(void *ctx, const struct snapshot_timer *timer),
                             void *ctx)
{
    char name[STORE_NAME_BYTES];
    int fd;
    store_name(name, STORE_SNAPSHOT, from, "");
    enum tl_status status = store_file(writer->store, name, false, &fd);
    if (status != TL_OK) {
        return status;
    }
    uint64_t timers = 0;
    *bytes = 0;
    for (uint32_t number = 0; status == TL_OK; number++) {
        size_t got = 0;
        struct block_head head = {0};
        status = store_read(writer->store, fd, name, writer->block, BLOCK_BYTES, *bytes, &got);
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
            *bytes += sizeof head + head.bytes;
            status = last.timers == timers ? TL_OK : TL_ERR_CORRUPT;
            break;
        } else {
            status = read_entries(&head, writer->block + sizeof head, add, ctx);
            timers += head.entries;
            *bytes += sizeof head + head.bytes;
        }
    }
    (void)close(fd);
    if (status == TL_ERR_CORRUPT) {
        (void)store_fail(writer->store, "%s: corrupt at byte %" PRIu64 ": its checksum is wrong",
                         name, *bytes);
    }
    return status;
}
