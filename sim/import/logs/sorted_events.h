/*
 * sorted_events.h: the part that is common to importers of events that may be out of order: a
 * tally, numbers for keys, sorting within a window, the checks of the whole, and the end.
 */
#ifndef SIM_SORTED_EVENTS_H
#define SIM_SORTED_EVENTS_H

#include "event_log.h"
#include "import_tally.h"
#include "key_table.h"
#include "reorder.h"

struct sorted_events {
    struct import_tally *tally;
    struct event_log_settings settings;
    struct import_times times;
    struct key_table *keys;
    struct reorder *reorder;
};

/* Keys have values of `key_bytes`. Events of `event_bytes` go to `take`, in order; it calls
 * import_times_add. */
void sorted_events_open(struct sorted_events *events, struct import_tally *tally,
                        const struct event_log_settings *settings, size_t key_bytes,
                        size_t event_bytes, reorder_fn take, void *ctx);

/* After the last event: check the whole, with import_tally_end, and take the events that are still
 * held back. */
bool sorted_events_end(struct sorted_events *events, uint64_t found, const char *expected,
                       struct error *error);

/* Warn about odd times, then import_finish. Sets the summary's times. */
bool sorted_events_finish(struct sorted_events *events, struct import_summary *summary,
                          struct error *error);

/* Harmless on a zeroed struct. */
void sorted_events_close(struct sorted_events *events);

#endif
