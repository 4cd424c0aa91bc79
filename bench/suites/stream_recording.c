/* A trace as streams want it. Where a timer is operated upon more than once in a tick, the last
 * operation counts. */
#include "suites.h"

#include "memory.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>

/* Add a group, at tick `at`; `last` has the place of each timer's last operation. */
static void add_group(struct stream_recording *recording, const struct trace_group *group,
                      const struct trace_record *records, size_t *last)
{
    uint32_t at = (uint32_t)group->tick;
    size_t first = recording->first[at];
    for (uint32_t i = 0; i < group->count; i++) {
        const struct trace_record *record = &records[group->first + i];
        bool starts = record->op == TRACE_START;
        uint32_t delay_ticks = starts ? (uint32_t)(record->deadline - group->tick) : 0;
        /* A timer that is due at once is due at the next tick. */
        struct workload_start operation = {
            .id = record->id, .delay_ticks = delay_ticks + (starts && delay_ticks == 0)};
        size_t place = last[record->id];
        if (place < first || place >= recording->operation_count ||
            recording->operations[place].id != record->id) {
            place = recording->operation_count++;
            last[record->id] = place;
        }
        recording->operations[place] = operation;
    }
}

static bool read_all(struct trace_reader *reader, struct stream_recording *recording,
                     struct error *error)
{
    size_t *last = memory_new(recording->timers + 1, sizeof *last);
    struct trace_block block;
    uint32_t next = 0;
    int got = 0;
    while ((got = trace_reader_next(reader, &block, error)) > 0) {
        for (size_t g = 0; g < block.group_count; g++) {
            for (; next <= block.groups[g].tick; next++) {
                recording->first[next] = recording->operation_count;
            }
            add_group(recording, &block.groups[g], block.records, last);
        }
    }
    for (; next <= recording->period_ticks; next++) {
        recording->first[next] = recording->operation_count;
    }
    free(last);
    return got == 0;
}

bool recording_read(const char *path, struct stream_recording *recording, struct error *error)
{
    *recording = (struct stream_recording){0};
    struct trace_reader *reader = trace_reader_open(path, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    bool read = false;
    if (header->starts == 0 || header->end_tick >= STREAM_DELAY_MAX_TICKS ||
        header->max_delay_ticks >= STREAM_DELAY_MAX_TICKS) {
        (void)error_set(error,
                        "%s: it has %" PRIu64 " starts over %" PRIu64
                        " ticks, the longest of %" PRIu64
                        "; a stream takes one and more, below %d ticks",
                        path, header->starts, header->end_tick, header->max_delay_ticks,
                        (int)STREAM_DELAY_MAX_TICKS);
    } else {
        recording->timers = header->ids;
        recording->period_ticks = (uint32_t)header->end_tick + 1;
        recording->operations = memory_new(header->events, sizeof *recording->operations);
        recording->first =
            memory_new((size_t)recording->period_ticks + 1, sizeof *recording->first);
        read = read_all(reader, recording, error);
    }
    trace_reader_close(reader);
    if (!read) {
        recording_free(recording);
    }
    return read;
}

void recording_free(struct stream_recording *recording)
{
    free(recording->operations);
    free(recording->first);
    *recording = (struct stream_recording){0};
}
