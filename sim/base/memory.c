#include "memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void (*end_as_asked)(void);

void memory_set_end(void (*end)(void))
{
    end_as_asked = end;
}

void memory_end(void)
{
    if (end_as_asked != NULL) {
        end_as_asked();
    }
    /* stderr may be where the command line is read */
    (void)dprintf(STDERR_FILENO, "%s: out of memory\n", program_invocation_short_name);
    exit(EXIT_FAILURE);
}

void *memory_made(void *made)
{
    if (made == NULL) {
        memory_end();
    }
    return made;
}

void *memory_unless_short(void *made)
{
    if (made == NULL && errno == ENOMEM) {
        memory_end();
    }
    return made;
}

ssize_t memory_read_until(char **text, size_t *room, int delimiter, FILE *stream)
{
    errno = 0;
    ssize_t length = getdelim(text, room, delimiter, stream);
    if (length < 0 && errno == ENOMEM) {
        memory_end();
    }
    return length;
}

void *memory_new(size_t count, size_t bytes)
{
    return memory_made(calloc(count > 0 ? count : 1, bytes));
}

uint64_t memory_default_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages / 10 * 9 * (uint64_t)page_bytes
                                       : UINT64_MAX;
}

uint64_t memory_free_bytes(void)
{
    return (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Smaller tables gain nothing by huge pages. */
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

void *memory_table(size_t count, size_t bytes)
{
    if (count < HUGE_PAGE_BYTES / bytes) {
        return memory_new(count, bytes);
    }
    if (count > (SIZE_MAX - HUGE_PAGE_BYTES) / bytes) {
        memory_end();
    }
    size_t whole = count * bytes;
    char *begin = mmap(NULL, whole + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) {
        memory_end();
    }
    /* The table is to begin with a page. */
    size_t before = -(uintptr_t)begin % HUGE_PAGE_BYTES;
    if (before > 0) {
        (void)munmap(begin, before);
    }
    char *table = begin + before;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t used = (whole + page - 1) / page * page;
    (void)munmap(table + used, whole + HUGE_PAGE_BYTES - before - used);
    (void)madvise(table, whole, MADV_HUGEPAGE);
    return table;
}

void memory_table_free(void *table, size_t count, size_t bytes)
{
    if (count < HUGE_PAGE_BYTES / bytes) {
        free(table);
    } else if (table != NULL) {
        (void)munmap(table, count * bytes);
    }
}

void *memory_sparse(size_t count, size_t bytes)
{
    /* The system refuses to map nothing. */
    void *table = mmap(NULL, count * bytes + 1, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) {
        memory_end();
    }
    return table;
}

void memory_sparse_free(void *table, size_t count, size_t bytes)
{
    if (table != NULL) {
        (void)munmap(table, count * bytes + 1);
    }
}

void *memory_resize(void *array, size_t count, size_t bytes)
{
    return memory_made(reallocarray(array, count > 0 ? count : 1, bytes));
}

void *memory_bytes(size_t bytes)
{
    return memory_made(malloc(bytes > 0 ? bytes : 1));
}

size_t memory_room(size_t index, size_t most)
{
    if (index >= most) {
        memory_end();
    }
    size_t room = index < 8 ? 16 : 2 * index;
    return index < most / 2 && room < most ? room : most;
}

char *memory_copy(const char *text)
{
    return memory_made(strdup(text));
}

char *memory_copy_part(const char *text, size_t length)
{
    return memory_made(strndup(text, length));
}

char *memory_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_format_list(format, arguments);
    va_end(arguments);
    return text;
}

char *memory_format_list(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        memory_end();
    }
    return text;
}

/* --- streams --------------------------------------------------------------------------------- */

/* Like open_memstream, which however loses text silently when memory runs out. */
struct written {
    char **text;
    size_t *bytes;
    size_t room;
};

static ssize_t write_text(void *cookie, const char *part, size_t length)
{
    struct written *written = cookie;
    size_t needed = *written->bytes + length + 1;
    if (needed > written->room) {
        char *larger = realloc(*written->text, 2 * needed);
        if (larger == NULL) {
            return 0; /* as an error of the stream; exit would write it again */
        }
        *written->text = larger;
        written->room = 2 * needed;
    }
    memcpy(*written->text + *written->bytes, part, length);
    *written->bytes = needed - 1;
    (*written->text)[needed - 1] = '\0';
    return (ssize_t)length;
}

static int close_text(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *memory_stream(char **text, size_t *bytes)
{
    struct written *written = memory_new(1, sizeof *written);
    *text = memory_new(1, 1);
    *bytes = 0;
    *written = (struct written){.text = text, .bytes = bytes, .room = 1};
    return memory_made(fopencookie(
        written, "w", (cookie_io_functions_t){.write = write_text, .close = close_text}));
}

void memory_stream_close(FILE *stream)
{
    bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed) {
        memory_end();
    }
}
