#include "key_table.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>
/* Inlined: keys are short, and calls would cost more than the work. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_SLOTS 1024u /* a power of two */
#define SLOTS_MAX   (UINT32_C(1) << 31)

/* Keys follow one another in one block of memory, each after its entry; places in it are in units
 * of this number of bytes. */
#define UNIT        8u

/* The upper half of a key's hash saves most comparisons with other keys. */
struct key_slot {
    uint32_t tag;
    uint32_t number_plus_1; /* 0: empty */
};

struct key_entry {
    uint32_t hash; /* the lower half */
    uint32_t length;
    unsigned char bytes[];
};

struct key_table {
    struct key_slot *slots;
    uint32_t slot_count; /* a power of two, at least twice the number of keys */
    uint32_t count;
    uint32_t *places; /* by number; room for half as many as there are slots */
    unsigned char *memory;
    uint32_t used; /* in units */
    uint32_t room;
};

static struct key_entry *entry_of(const struct key_table *table, uint32_t number)
{
    return (struct key_entry *)(void *)(table->memory + (size_t)table->places[number] * UNIT);
}

struct key_table *key_table_create(void)
{
    struct key_table *table = memory_new(1, sizeof *table);
    table->slot_count = FIRST_SLOTS;
    table->slots = memory_new(FIRST_SLOTS, sizeof *table->slots);
    table->places = memory_new(FIRST_SLOTS / 2, sizeof *table->places);
    table->room = FIRST_SLOTS * 2;
    table->memory = memory_bytes((size_t)table->room * UNIT);
    return table;
}

static void grow_keys(struct key_table *table)
{
    if (table->slot_count == SLOTS_MAX) {
        memory_end();
    }
    uint32_t slot_count = table->slot_count * 2;
    struct key_slot *slots = memory_new(slot_count, sizeof *slots);
    table->places = memory_resize(table->places, slot_count / 2, sizeof *table->places);
    for (uint32_t i = 0; i < table->slot_count; i++) {
        const struct key_slot *old = &table->slots[i];
        if (old->number_plus_1 == 0) {
            continue;
        }
        uint32_t at = entry_of(table, old->number_plus_1 - 1)->hash & (slot_count - 1);
        while (slots[at].number_plus_1 != 0) {
            at = (at + 1) & (slot_count - 1);
        }
        slots[at] = *old;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
}

/* Append a copy of a key, under the next number. */
static void append_key(struct key_table *table, const void *key, size_t length, uint32_t hash)
{
    uint32_t units = (uint32_t)((sizeof(struct key_entry) + length + UNIT - 1) / UNIT);
    if (units > table->room - table->used) {
        uint64_t room = ((uint64_t)table->room + units) * 2;
        room = room < UINT32_MAX ? room : UINT32_MAX;
        if (units > room - table->used) {
            memory_end();
        }
        table->memory = memory_resize(table->memory, room, UNIT);
        table->room = (uint32_t)room;
    }
    table->places[table->count] = table->used;
    struct key_entry *entry = entry_of(table, table->count);
    entry->hash = hash;
    entry->length = (uint32_t)length;
    if (length > 0) {
        memcpy(entry->bytes, key, length);
    }
    table->used += units;
}

static bool is_key(const struct key_entry *entry, const void *key, size_t length)
{
    return entry->length == length && (length == 0 || memcmp(entry->bytes, key, length) == 0);
}

uint32_t key_table_number(struct key_table *table, const void *key, size_t length)
{
    if (length > KEY_BYTES_MAX) {
        length = KEY_BYTES_MAX;
    }
    if (table->count == table->slot_count / 2) {
        grow_keys(table);
    }
    uint64_t hash = XXH3_64bits(key, length);
    uint32_t tag = (uint32_t)(hash >> 32);
    uint32_t at = (uint32_t)hash & (table->slot_count - 1);
    for (; table->slots[at].number_plus_1 != 0; at = (at + 1) & (table->slot_count - 1)) {
        uint32_t candidate = table->slots[at].number_plus_1 - 1;
        if (table->slots[at].tag == tag && is_key(entry_of(table, candidate), key, length)) {
            return candidate;
        }
    }
    append_key(table, key, length, (uint32_t)hash);
    table->slots[at] = (struct key_slot){.tag = tag, .number_plus_1 = ++table->count};
    return table->count - 1;
}

uint32_t key_table_count(const struct key_table *table)
{
    return table->count;
}

void key_table_destroy(struct key_table *table)
{
    if (table == NULL) {
        return;
    }
    free(table->slots);
    free(table->places);
    free(table->memory);
    free(table);
}
