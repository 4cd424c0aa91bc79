/*
 * key_table.h: numbers keys. A key is a string of bytes (a client's name, a pointer, the two ends
 * of a connection); the first that is new gets 0, the next 1, and so on. Open addressing over XXH3.
 * Memory grows with the number of different keys, and with nothing else.
 */
#ifndef SIM_KEY_TABLE_H
#define SIM_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key_table;

/* Longest key, in bytes; what is longer counts as its beginning. */
#define KEY_BYTES_MAX ((size_t)1 << 16)

struct key_table *key_table_create(void);

/* Return the number of a key, which is a new one if it was never seen. 2^30 keys, or 32 GiB of
 * them, are out of memory. */
uint32_t key_table_number(struct key_table *table, const void *key, size_t length);

/* The same in three steps, for who knows keys ahead of time and would not wait for memory: the hash
 * of a key, of which no more than KEY_BYTES_MAX bytes count; then, in any number and order,
 * fetching what looking it up will need, first the slot and somewhat later the entry; then the
 * look-up. */
uint64_t key_table_hash(const void *key, size_t length);
void key_table_fetch_slot(const struct key_table *table, uint64_t hash);
void key_table_fetch_entry(const struct key_table *table, uint64_t hash);
uint32_t key_table_number_hashed(struct key_table *table, uint64_t hash, const void *key,
                                 size_t length);

/* How many keys there are. */
uint32_t key_table_count(const struct key_table *table);

/* NULL is legal. */
void key_table_destroy(struct key_table *table);

#endif
