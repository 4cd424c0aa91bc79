/*
 * packed_file.h: the bytes of a file, one after the other. Files compressed with gzip, Zstandard or
 * xz are recognised by their first bytes and unpacked on the fly; "-" is standard input.
 */
#ifndef SIM_PACKED_FILE_H
#define SIM_PACKED_FILE_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct packed_file;

/* Opens `path`. NULL with `error` set if it cannot be read. */
struct packed_file *packed_file_open(const char *path, struct error *error);

/* Read at least one byte and at most `room`. 0: the end. -1: `*why` is the fault, for a message
 * between the file's name and the place: reading failed, or the compressed data is damaged or ends
 * early. */
ssize_t packed_file_read(struct packed_file *file, void *to, size_t room, const char **why);

/* How the file is named in messages: its path, or "standard input". */
const char *packed_file_name(const struct packed_file *file);

/* Bytes of the file, as it is on disk: read so far, and all of it (0 where that is unknown). */
uint64_t packed_file_bytes_done(const struct packed_file *file);
uint64_t packed_file_bytes_total(const struct packed_file *file);

/* NULL is legal. */
void packed_file_close(struct packed_file *file);

#endif
