/* written_trace.h: a trace that a test writes as text, row by row. */
#ifndef TESTS_REPLAY_WRITTEN_TRACE_H
#define TESTS_REPLAY_WRITTEN_TRACE_H

#include "test.h"

#include "trace_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char text_path[] = "/tmp/timerlab-written-text-XXXXXX";
static char trace_path[] = "/tmp/timerlab-written-XXXXXX";

static inline int make_files(void **state)
{
    (void)state;
    int text = mkstemp(text_path);
    int trace = mkstemp(trace_path);
    (void)close(text);
    (void)close(trace);
    return text < 0 || trace < 0;
}

static inline int remove_files(void **state)
{
    (void)state;
    return unlink(text_path) | unlink(trace_path);
}

/* The rows without their heading become the trace at trace_path. */
static inline void write_trace(const char *rows)
{
    struct error error;
    const struct trace_text_options options = {0};
    FILE *stream = fopen(text_path, "w");
    assert_non_null(stream);
    assert_true(fprintf(stream, "tick,id,op,delay,cause,slack\n%s", rows) > 0);
    assert_int_equal(fclose(stream), 0);
    if (!trace_text_read(text_path, trace_path, &options, &error)) {
        fail_msg("%s", error.text);
    }
}

#endif
