#include "sorted_events.h"

#include <inttypes.h>

void sorted_events_open(struct sorted_events *events, struct import_tally *tally,
                        const struct event_log_settings *settings, size_t key_bytes,
                        size_t event_bytes, reorder_fn take, void *ctx)
{
    *events = (struct sorted_events){
        .tally = tally,
        .settings = *settings,
        .keys = key_table_create(key_bytes),
        .reorder = reorder_create(settings->window_ns, event_bytes, take, ctx),
    };
}

bool sorted_events_end(struct sorted_events *events, uint64_t found, const char *expected,
                       struct error *error)
{
    const struct import_tally *tally = events->tally;
    const struct reorder_counts *order = reorder_counts(events->reorder);
    if (!import_tally_end(tally, found, expected, error)) {
        return false;
    }
    if ((double)order->too_late > tally->max_malformed * (double)order->events) {
        return error_set(
            error,
            "%s: %" PRIu64 " of %" PRIu64
            " events are more than %.9g s out of order, one of them %.9g s; sort the file by time, "
            "or raise --reorder-window, or accept more of them with --max-malformed",
            tally->name, order->too_late, order->events, (double)events->settings.window_ns / 1e9,
            (double)order->max_backward_ns / 1e9);
    }
    return reorder_take_until(events->reorder, UINT64_MAX, error);
}

bool sorted_events_finish(struct sorted_events *events, struct import_summary *summary,
                          struct error *error)
{
    const struct reorder_counts *order = reorder_counts(events->reorder);
    struct import_tally *tally = events->tally;
    summary->span_ns = import_times_span_ns(&events->times);
    summary->tick_ns = events->settings.tick_ns;
    import_warn_seconds(tally, &events->times, summary->tick_ns);
    import_warn_gap(tally, &events->times);
    if (!import_finish(tally, summary, error)) {
        return false;
    }
    if (order->too_late > 0) {
        (void)fprintf(tally->job->report,
                      "%s: %" PRIu64 " %ss were more than %.9g s out of order, and were moved; "
                      "--reorder-window %.9g would have put them in their places\n",
                      tally->name, order->too_late, tally->unit,
                      (double)events->settings.window_ns / 1e9,
                      (double)order->max_backward_ns / 1e9);
    }
    return true;
}

void sorted_events_close(struct sorted_events *events)
{
    reorder_destroy(events->reorder);
    key_table_destroy(events->keys);
}
