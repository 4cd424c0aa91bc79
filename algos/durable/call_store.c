#include "call_store.h"

#include "crc32c.h"

#include <stdalign.h>
#include <string.h>
#include <unistd.h>

struct call_head {
    uint32_t crc;     /* of all that follows */
    uint32_t payload; /* bytes */
    uint32_t service; /* bytes, its zero included */
    uint32_t id;
    uint64_t generation;
    uint64_t number; /* of the file */
};

/* Calls are on the disk before the log says so. A structure that is wrong, for tests, has 0. */
#ifndef CALLS_WAIT
#define CALLS_WAIT 1
#endif

#define RECORD_MOST (sizeof(struct call_head) + TL_SERVICE_MAX + 1 + TL_PAYLOAD_MAX)

static size_t bytes_of(const struct call_head *head)
{
    return sizeof *head + head->service + head->payload;
}

static uint32_t crc_of(const struct call_head *head)
{
    return crc32c(0, (const char *)head + sizeof head->crc, bytes_of(head) - sizeof head->crc);
}

static const char *name_of(char name[STORE_NAME_BYTES], uint64_t number)
{
    store_name(name, STORE_CALLS, number, "");
    return name;
}

void calls_init(struct calls *calls, struct store *store, const struct tl_allocator *allocator)
{
    *calls = (struct calls){.store = store, .allocator = allocator};
}

static void close_file(struct call_file *file)
{
    if (file->number > 0) {
        (void)close(file->fd);
    }
    *file = (struct call_file){0};
}

void calls_destroy(struct calls *calls)
{
    close_file(&calls->older);
    close_file(&calls->newer);
    if (calls->places != NULL) {
        tl_free(calls->allocator, calls->places, calls->capacity * sizeof *calls->places,
                alignof(uint64_t));
        tl_free(calls->allocator, calls->record, RECORD_MOST, alignof(struct call_head));
    }
}

static enum tl_status reserve(struct calls *calls, uint32_t capacity)
{
    const struct tl_allocator *allocator = calls->allocator;
    if (calls->record == NULL) {
        calls->record = tl_alloc(allocator, RECORD_MOST, alignof(struct call_head));
    }
    if (calls->record == NULL) {
        return TL_ERR_NOMEM;
    }
    if (capacity <= calls->capacity) {
        return TL_OK;
    }
    uint64_t *places =
        allocator->resize(allocator->ctx, calls->places, calls->capacity * sizeof *places,
                          capacity * sizeof *places, alignof(uint64_t));
    if (places == NULL) {
        return TL_ERR_NOMEM;
    }
    memset(places + calls->capacity, 0, (capacity - calls->capacity) * sizeof *places);
    calls->places = places;
    calls->capacity = capacity;
    return TL_OK;
}

enum tl_status calls_grow(struct calls *calls, uint32_t capacity)
{
    return calls->places != NULL ? reserve(calls, capacity) : TL_OK;
}

/* The name is on the disk before anything relies on it. */
static enum tl_status make_file(struct calls *calls, uint64_t number)
{
    char name[STORE_NAME_BYTES];
    struct call_file file = {.number = number};
    enum tl_status status = store_open(calls->store);
    if (status == TL_OK) {
        status = store_file(calls->store, name_of(name, number), true, &file.fd);
    }
    if (status != TL_OK) {
        return status;
    }
    calls->older = calls->newer;
    calls->newer = file;
    return store_sync_folder(calls->store);
}

/* A place is the byte at which a record begins, twice, and whether its file has an odd number; and
 * one more, so that 0 is none. */
static uint64_t place_of(const struct call_file *file, uint64_t byte)
{
    return (byte << 1 | (file->number & 1)) + 1;
}

/* Adds the record in calls->record at the end of the newer file. */
static enum tl_status append(struct calls *calls)
{
    char name[STORE_NAME_BYTES];
    struct call_head *head = (struct call_head *)(void *)calls->record;
    struct call_file *file = &calls->newer;
    head->number = file->number;
    head->crc = crc_of(head);
    enum tl_status status = store_write(calls->store, file->fd, name_of(name, file->number), head,
                                        bytes_of(head), file->bytes);
    if (status == TL_OK) {
        calls->places[head->id] = place_of(file, file->bytes);
        calls->is_dirty = true;
        file->bytes += (bytes_of(head) + 7) / 8 * 8;
    }
    return status;
}

enum tl_status calls_add(struct calls *calls, uint32_t capacity, uint32_t id, uint64_t generation,
                         const struct tl_call *call)
{
    size_t service = strlen(call->service) + 1;
    if (service > TL_SERVICE_MAX + 1 || call->bytes > TL_PAYLOAD_MAX) {
        return TL_ERR_CAPACITY;
    }
    enum tl_status status = reserve(calls, capacity);
    if (status == TL_OK && calls->newer.number == 0) {
        status = make_file(calls, 1);
    }
    if (status != TL_OK) {
        return status;
    }
    struct call_head head = {.payload = (uint32_t)call->bytes,
                             .service = (uint32_t)service,
                             .id = id,
                             .generation = generation};
    memcpy(calls->record, &head, sizeof head);
    memcpy(calls->record + sizeof head, call->service, service);
    if (call->bytes > 0) {
        memcpy(calls->record + sizeof head + service, call->payload, call->bytes);
    }
    return append(calls);
}

/* Reads the record at that byte of a file; TL_IDLE: there is none that is whole. */
static enum tl_status read_record(struct calls *calls, const struct call_file *file, uint64_t byte)
{
    char name[STORE_NAME_BYTES];
    size_t got = 0;
    struct call_head *head = (struct call_head *)(void *)calls->record;
    enum tl_status status = store_read(calls->store, file->fd, name_of(name, file->number), head,
                                       RECORD_MOST, byte, &got);
    if (status != TL_OK) {
        return status;
    }
    bool is_whole = got >= sizeof *head && head->number == file->number &&
                    head->payload <= TL_PAYLOAD_MAX && head->service > 0 &&
                    head->service <= TL_SERVICE_MAX + 1 && bytes_of(head) <= got &&
                    head->crc == crc_of(head);
    return is_whole ? TL_OK : TL_IDLE;
}

static const struct call_file *file_at(const struct calls *calls, uint64_t place)
{
    return ((place - 1) & 1) == (calls->newer.number & 1) ? &calls->newer : &calls->older;
}

static enum tl_status read_place(struct calls *calls, uint32_t id)
{
    char name[STORE_NAME_BYTES];
    uint64_t place = calls->places[id];
    const struct call_file *file = file_at(calls, place);
    enum tl_status status = read_record(calls, file, (place - 1) >> 1);
    return status == TL_IDLE
               ? store_fail(calls->store, "%s: corrupt at byte %llu: a timer's call",
                            name_of(name, file->number), (unsigned long long)((place - 1) >> 1))
               : status;
}

enum tl_status calls_read(struct calls *calls, uint32_t id, struct tl_call *out)
{
    enum tl_status status = read_place(calls, id);
    const struct call_head *head = (const struct call_head *)(const void *)calls->record;
    if (status == TL_OK) {
        const unsigned char *service = calls->record + sizeof *head;
        *out = (struct tl_call){(const char *)service, service + head->service, head->payload};
    }
    return status;
}

enum tl_status calls_sync(struct calls *calls)
{
    char name[STORE_NAME_BYTES];
    if (!calls->is_dirty || CALLS_WAIT == 0) {
        return TL_OK;
    }
    enum tl_status status =
        store_sync(calls->store, calls->newer.fd, name_of(name, calls->newer.number));
    calls->is_dirty = status != TL_OK;
    return status;
}

/* --- snapshots ------------------------------------------------------------------------------- */

enum tl_status calls_begin_file(struct calls *calls)
{
    bool is_needed = calls->newer.number > 0 && calls->older.number == 0;
    enum tl_status status = is_needed ? calls_sync(calls) : TL_OK;
    return is_needed && status == TL_OK ? make_file(calls, calls->newer.number + 1) : status;
}

enum tl_status calls_move(struct calls *calls, uint32_t id)
{
    if (calls->older.number == 0 || file_at(calls, calls->places[id]) != &calls->older) {
        return TL_OK;
    }
    enum tl_status status = read_place(calls, id);
    return status == TL_OK ? append(calls) : status;
}

void calls_end_file(struct calls *calls)
{
    char name[STORE_NAME_BYTES];
    if (calls->older.number > 0) {
        store_remove(calls->store, name_of(name, calls->older.number));
        close_file(&calls->older);
    }
}

/* --- recovery -------------------------------------------------------------------------------- */

static enum tl_status read_file(struct calls *calls, struct call_file *file,
                                bool (*is_wanted)(void *ctx, uint32_t id, uint64_t generation),
                                void *ctx)
{
    const struct call_head *head = (const struct call_head *)(const void *)calls->record;
    enum tl_status status = TL_OK;
    while ((status = read_record(calls, file, file->bytes)) == TL_OK) {
        if (is_wanted(ctx, head->id, head->generation)) {
            calls->places[head->id] = place_of(file, file->bytes);
        }
        file->bytes += (bytes_of(head) + 7) / 8 * 8;
    }
    return status == TL_IDLE ? TL_OK : status;
}

/* All that is live is in the last two files; others could not be removed. */
enum tl_status calls_recover(struct calls *calls, uint32_t capacity,
                             bool (*is_wanted)(void *ctx, uint32_t id, uint64_t generation),
                             void *ctx)
{
    char name[STORE_NAME_BYTES];
    struct store_numbers files = {0};
    enum tl_status status = store_list(calls->store, STORE_CALLS, calls->allocator, &files);
    if (status == TL_OK && files.count > 0) {
        status = reserve(calls, capacity);
    }
    for (size_t i = 0; i < files.count && status == TL_OK; i++) {
        struct call_file file = {.number = files.at[i]};
        if (i + 2 < files.count) {
            store_remove(calls->store, name_of(name, file.number));
            continue;
        }
        status = store_file(calls->store, name_of(name, file.number), false, &file.fd);
        if (status == TL_OK) {
            calls->older = calls->newer;
            calls->newer = file;
            status = read_file(calls, &calls->newer, is_wanted, ctx);
        }
        /* It may not be on the disk yet, and is from now on relied upon. */
        if (status == TL_OK) {
            status = store_sync(calls->store, calls->newer.fd, name);
        }
    }
    store_numbers_release(&files, calls->allocator);
    return status;
}
