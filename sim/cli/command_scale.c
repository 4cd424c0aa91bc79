/* timerlab trace scale: a recording of thousands of connections becomes one of a million. */
#include "command.h"
#include "command_option.h"
#include "error.h"
#include "standard_files.h"
#include "trace_scale.h"

#include <inttypes.h>
#include <stdio.h>

#define DEFAULT_SEED 1

static void complete(void *at, struct argp_state *state)
{
    const struct trace_scale_request *request = at;
    if (request->connections == 0) {
        argp_error(state, "to how many connections? -n N");
    }
    if (request->out_path == NULL) {
        argp_error(state, "where to? -o FILE");
    }
}

static void print_summary(const struct trace_scale_request *request,
                          const struct trace_scale_summary *summary)
{
    standard_files_tell("%s: %" PRIu32 " copies of %" PRIu32 " connections: %" PRIu64
                        " connections, %" PRIu32 " timers\n",
                        request->out_path, summary->copies, summary->of, summary->connections,
                        summary->ids);
    standard_files_tell("%s: %" PRIu64 " operations, of which %" PRIu64
                        " start timers that are pending when the timed window begins, and %" PRIu64
                        " stop timers that are pending where the recording begins again\n",
                        request->out_path, summary->events, summary->warmup_events,
                        summary->takeovers);
    if (summary->freed > 0) {
        standard_files_tell("%s: %" PRIu64
                            " reactions are external, because their cause was started before the "
                            "recording's window\n",
                            request->out_path, summary->freed);
    }
}

#define AT(member) OPTION_AT(struct trace_scale_request, member)

int command_trace_scale(int argc, char **argv)
{
    static const struct option_row options[] = {
        {OPTION("output", 'o', "FILE", "Where the trace goes; - is standard output"), OPTION_STREAM,
         AT(out_path)},
        {OPTION("connections", 'n', "N",
                "To how many connections, k and m for thousands and millions; rounded up to whole "
                "copies"),
         OPTION_WHOLE(1, UINT32_MAX), AT(connections)},
        {OPTION("of", 0, "K",
                "How many connections the recording is of (as it says itself, if it does)"),
         OPTION_WHOLE(1, UINT32_MAX), AT(of)},
        {OPTION("seconds", 0, "S", "How long the timed window is (as long as the recording's)"),
         OPTION_SECONDS(1e-9, 1e9), AT(seconds)},
        {OPTION("seed", 0, "K", "Which of all possible shifts (1)"), OPTION_WHOLE(0, INT64_MAX),
         AT(seed)},
        OPTION_ROW_PROGRESS,
        OPTION_ROW_END};
    static const struct command_line syntax = {
        .options = options,
        .form = "FILE",
        .text =
            "Superposes copies of a recording, so that it becomes one of many connections; - is "
            "standard input.\vEach copy is shifted in time at random, circularly, and has timers "
            "of its own: bursts in the recording are bursts in the result, and reactions stay with "
            "their causes. The timed window is in a steady state from its beginning. A timer that "
            "is pending where a copy begins again fires in its time if the recording started it "
            "once; one that it started several times is stopped when the copy comes to it again.",
        .places = {{.kind = OPTION_STREAM, AT(in_path)}},
        .needed = "which trace?",
        .excess = "one trace at a time",
        .complete = complete};
    struct trace_scale_request request = {.seed = DEFAULT_SEED};
    command_line_read(&syntax, argc, argv, &request);
    struct trace_scale_summary summary;
    struct error error;
    if (!trace_scale(&request, &summary, &error)) {
        return command_fail(&error);
    }
    print_summary(&request, &summary);
    return EXIT_OK;
}
