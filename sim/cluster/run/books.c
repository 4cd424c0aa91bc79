#include "books.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

int books_compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

bool books_is_attempt(const struct journal_record *record)
{
    return record->what >= JOURNAL_TAKEN && record->what <= JOURNAL_NACKED;
}

/* By timer and generation; what planners say first, then attempt by attempt. */
static int compare_records(const void *one, const void *other)
{
    const struct journal_record *a = one;
    const struct journal_record *b = other;
    int order = books_compare(a->id, b->id);
    order = order != 0 ? order : books_compare(a->generation, b->generation);
    order = order != 0 ? order : books_compare(books_is_attempt(a), books_is_attempt(b));
    if (order == 0 && books_is_attempt(a)) {
        order = books_compare(a->token, b->token);
    }
    order = order != 0 ? order : books_compare(a->what, b->what);
    return order != 0 ? order : books_compare(a->now_ms, b->now_ms);
}

bool books_read(struct books *books, const struct run_plan *plan, const char *folder,
                struct error *error)
{
    for (int role = 0; role < RUN_ENGINE; role++) {
        for (uint32_t member = 0; member < plan->roles[role]; member++) {
            struct journal_record *records;
            size_t count;
            if (!journal_read(folder, (enum run_role)role, member, &records, &count, error)) {
                return false;
            }
            if (count > 0) {
                MEMORY_REACH(books->records, books->room, books->count + count);
                memcpy(books->records + books->count, records, count * sizeof *records);
                books->count += count;
            }
            free(records);
        }
    }
    if (books->count > 0) {
        qsort(books->records, books->count, sizeof *books->records, compare_records);
    }
    return journal_read(folder, RUN_ENGINE, 0, &books->faults, &books->fault_count, error);
}

void books_free(struct books *books)
{
    free(books->records);
    free(books->faults);
}
