/* books.h: the journals of a run, put together. */
#ifndef SIM_CLUSTER_BOOKS_H
#define SIM_CLUSTER_BOOKS_H

#include "journal.h"
#include "run.h"

#include <stdbool.h>
#include <stddef.h>

/* All zero at first. */
struct books {
    struct journal_record *records; /* by timer and generation; first what planners say, then
                                       attempt by attempt */
    size_t count;
    size_t room;
    struct journal_record *faults; /* in the order in which they came */
    size_t fault_count;
};

bool books_read(struct books *books, const struct run_plan *plan, const char *folder,
                struct error *error);
void books_free(struct books *books);

/* Whether a record is of an attempt to call the service, known by its token. */
bool books_is_attempt(const struct journal_record *record);

/* Below 0, 0 or above, as a is below b, the same or above. */
int books_compare(uint64_t a, uint64_t b);

#endif
