#include "key_table.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define FIRST_SLOTS 1024u /* a power of two */
#define SLOTS_MAX   (UINT32_C(1) << 31)

/* The upper half of a key's hash beside its number saves most comparisons, and finding a key's new
 * place when the table grows needs the lower half only, which is beside its end. */
struct slot {
    uint32_t tag;
    uint32_t number_plus_1; /* 0: empty */
};

struct key {
    uint64_t end; /* of its bytes; they begin where the key before it ends */
    uint32_t hash;
};

struct key_table {
    struct slot *slots;
    uint32_t slot_count; /* a power of two, at least twice the number of keys */
    uint32_t count;
    struct key *keys; /* room for slot_count / 2 */
    unsigned char *bytes;
    size_t bytes_room;
};

static uint64_t begin_of(const struct key_table *table, uint32_t number)
{
    return number == 0 ? 0 : table->keys[number - 1].end;
}

struct key_table *key_table_create(void)
{
    struct key_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return NULL;
    }
    table->slot_count = FIRST_SLOTS;
    table->slots = calloc(FIRST_SLOTS, sizeof *table->slots);
    table->keys = malloc(FIRST_SLOTS / 2 * sizeof *table->keys);
    table->bytes_room = (size_t)FIRST_SLOTS * 16;
    table->bytes = malloc(table->bytes_room);
    if (table->slots == NULL || table->keys == NULL || table->bytes == NULL) {
        key_table_destroy(table);
        return NULL;
    }
    return table;
}

static bool grow(struct key_table *table)
{
    if (table->slot_count == SLOTS_MAX) {
        return false;
    }
    uint32_t slot_count = table->slot_count * 2;
    struct key *keys = realloc(table->keys, slot_count / 2 * sizeof *keys);
    if (keys == NULL) {
        return false;
    }
    table->keys = keys;
    struct slot *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    /* A slot's tag says nothing of its place, and a key's hash says nothing of its tag. */
    for (uint32_t i = 0; i < table->slot_count; i++) {
        const struct slot *old = &table->slots[i];
        if (old->number_plus_1 == 0) {
            continue;
        }
        uint32_t at = keys[old->number_plus_1 - 1].hash & (slot_count - 1);
        while (slots[at].number_plus_1 != 0) {
            at = (at + 1) & (slot_count - 1);
        }
        slots[at] = *old;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    return true;
}

/* Keeps a copy of a key's bytes behind those of the keys before it. */
static bool keep(struct key_table *table, const void *key, size_t length)
{
    uint64_t used = begin_of(table, table->count);
    if (length > table->bytes_room - used) {
        size_t room = (table->bytes_room + length) * 2;
        unsigned char *bytes = realloc(table->bytes, room);
        if (bytes == NULL) {
            return false;
        }
        table->bytes = bytes;
        table->bytes_room = room;
    }
    if (length > 0) {
        memcpy(table->bytes + used, key, length);
    }
    table->keys[table->count].end = used + length;
    return true;
}

bool key_table_number(struct key_table *table, const void *key, size_t length, uint32_t *number)
{
    if (length > KEY_BYTES_MAX) {
        length = KEY_BYTES_MAX;
    }
    XXH64_hash_t hash = XXH3_64bits(key, length);
    uint32_t tag = (uint32_t)(hash >> 32);
    uint32_t at = (uint32_t)hash & (table->slot_count - 1);
    for (; table->slots[at].number_plus_1 != 0; at = (at + 1) & (table->slot_count - 1)) {
        if (table->slots[at].tag != tag) {
            continue;
        }
        uint32_t candidate = table->slots[at].number_plus_1 - 1;
        uint64_t begin = begin_of(table, candidate);
        if (table->keys[candidate].end - begin == length &&
            (length == 0 || memcmp(table->bytes + begin, key, length) == 0)) {
            *number = candidate;
            return true;
        }
    }
    if (table->count == table->slot_count / 2) {
        return grow(table) && key_table_number(table, key, length, number);
    }
    if (!keep(table, key, length)) {
        return false;
    }
    table->keys[table->count].hash = (uint32_t)hash;
    *number = table->count++;
    table->slots[at] = (struct slot){.tag = tag, .number_plus_1 = *number + 1};
    return true;
}

uint32_t key_table_count(const struct key_table *table)
{
    return table->count;
}

const void *key_table_key(const struct key_table *table, uint32_t number, size_t *length)
{
    uint64_t begin = begin_of(table, number);
    *length = (size_t)(table->keys[number].end - begin);
    return table->bytes + begin;
}

void key_table_destroy(struct key_table *table)
{
    if (table == NULL) {
        return;
    }
    free(table->slots);
    free(table->keys);
    free(table->bytes);
    free(table);
}
