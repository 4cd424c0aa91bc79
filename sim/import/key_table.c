#include "key_table.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define FIRST_SLOTS 1024u /* a power of two */
#define KEYS_MAX    (UINT32_C(1) << 30)

struct key_entry {
    uint64_t hash;
    uint32_t number;
    uint32_t length;
    unsigned char bytes[];
};

struct key_table {
    struct key_entry **slots; /* NULL: empty */
    size_t slot_count;        /* a power of two, at least twice the number of keys */
    uint32_t count;
    size_t value_bytes;
    char *values;
    size_t values_room; /* in bytes */
};

struct key_table *key_table_create(size_t value_bytes)
{
    struct key_table *table = memory_new(1, sizeof *table);
    table->value_bytes = value_bytes;
    table->slot_count = FIRST_SLOTS;
    table->slots = memory_new(FIRST_SLOTS, sizeof(struct key_entry *));
    return table;
}

/* Return the slot of a key: that of its entry, or the empty one where it belongs. */
static struct key_entry **find_slot(const struct key_table *table, uint64_t hash, const void *key,
                                    size_t length)
{
    size_t at = hash & (table->slot_count - 1);
    for (;; at = (at + 1) & (table->slot_count - 1)) {
        const struct key_entry *entry = table->slots[at];
        if (entry == NULL || (entry->hash == hash && entry->length == length &&
                              (length == 0 || memcmp(entry->bytes, key, length) == 0))) {
            return &table->slots[at];
        }
    }
}

static void grow(struct key_table *table)
{
    struct key_entry **old = table->slots;
    size_t count = table->slot_count;
    table->slot_count = count * 2;
    table->slots = memory_new(table->slot_count, sizeof(struct key_entry *));
    for (size_t i = 0; i < count; i++) {
        if (old[i] != NULL) {
            *find_slot(table, old[i]->hash, old[i]->bytes, old[i]->length) = old[i];
        }
    }
    free(old);
}

uint32_t key_table_number(struct key_table *table, const void *key, size_t length)
{
    length = length < KEY_BYTES_MAX ? length : KEY_BYTES_MAX;
    if (table->count == table->slot_count / 2) {
        grow(table);
    }
    uint64_t hash = XXH3_64bits(key, length);
    struct key_entry **slot = find_slot(table, hash, key, length);
    if (*slot != NULL) {
        return (*slot)->number;
    }
    if (table->count == KEYS_MAX) {
        memory_end();
    }
    struct key_entry *entry = memory_bytes(sizeof *entry + length);
    *entry = (struct key_entry){.hash = hash, .number = table->count++, .length = (uint32_t)length};
    if (length > 0) {
        memcpy(entry->bytes, key, length);
    }
    *slot = entry;
    MEMORY_REACH(table->values, table->values_room, table->count * table->value_bytes);
    memset(key_table_value(table, entry->number), 0, table->value_bytes);
    return entry->number;
}

void *key_table_value(const struct key_table *table, uint32_t number)
{
    return table->values + number * table->value_bytes;
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
    for (size_t i = 0; i < table->slot_count; i++) {
        free(table->slots[i]);
    }
    free(table->slots);
    free(table->values);
    free(table);
}
