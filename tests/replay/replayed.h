/* replayed.h: a pass over the trace in a file. */
#ifndef TESTS_REPLAY_REPLAYED_H
#define TESTS_REPLAY_REPLAYED_H

#include "replay.h"

/* Decode a trace that can be read. */
static inline struct stream *decoded(const char *path)
{
    struct error error;
    struct stream *stream = stream_open(path, &error);
    if (stream == NULL) {
        fail_msg("%s", error.text);
    }
    return stream;
}

/* As replay_run, of the trace at `path`. */
static inline bool replay_path(const char *path, struct replay_request request,
                               struct replay_result *result, struct error *error)
{
    struct stream *stream = decoded(path);
    request.stream = stream;
    bool done = replay_run(&request, result, error);
    stream_close(stream);
    return done;
}

#endif
