/*
 * key_table.h: a hash table that numbers keys. A key is a string of bytes (a client's name, a
 * pointer, the two ends of a connection); the first new one gets 0, the next 1, and so on. Each has
 * a value of the caller's. Open addressing over XXH3. Memory grows with the number of different
 * keys only.
 */
#ifndef SIM_KEY_TABLE_H
#define SIM_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key_table;

/* Longest key, in bytes; longer ones are cut off. */
#define KEY_BYTES_MAX ((size_t)1 << 16)

/* Make a table with values of `value_bytes` bytes. */
struct key_table *key_table_create(size_t value_bytes);

/* Return the number of a key, which is new if the key is. 2^30 keys are out of memory. */
uint32_t key_table_number(struct key_table *table, const void *key, size_t length);

/* Return the value of the key with that number, zero at first; valid until a key is added. */
void *key_table_value(const struct key_table *table, uint32_t number);

/* Return the number of keys. */
uint32_t key_table_count(const struct key_table *table);

/* NULL is legal. */
void key_table_destroy(struct key_table *table);

#endif
