#include "progress.h"

#include "child.h"
#include "clock.h"
#include "terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_NS UINT64_C(100000000)

/* Where there is no terminal to draw on, a line that often. */
#define LINE_NS   UINT64_C(10000000000)

static enum progress_mode policy = PROGRESS_AUTO;

void progress_set_mode(enum progress_mode mode)
{
    policy = mode;
}

bool progress_is_shown(void)
{
    return policy == PROGRESS_ALWAYS || (policy == PROGRESS_AUTO && isatty(STDERR_FILENO));
}

void progress_begin(struct progress *progress, const char *what, const char *unit, uint64_t total)
{
    uint64_t now = clock_now_ns();
    bool drawn = progress_is_shown();
    *progress = (struct progress){.what = what,
                                  .unit = unit,
                                  .total = total,
                                  .begun_ns = now,
                                  .shown_ns = drawn ? 0 : now,
                                  .every_ns = drawn                     ? REDRAW_NS
                                              : policy == PROGRESS_AUTO ? LINE_NS
                                                                        : UINT64_MAX,
                                  .drawn = drawn};
}

void progress_next(struct progress *progress, const char *what)
{
    progress->what = what;
    progress->begun_ns = clock_now_ns();
}

void progress_update(struct progress *progress, uint64_t done)
{
    uint64_t now = progress->every_ns < UINT64_MAX ? clock_now_ns() : 0;
    if (now - progress->shown_ns < progress->every_ns) {
        return;
    }
    progress->shown_ns = now;
    double seconds = (double)(now - progress->begun_ns) / 1e9;
    double rate = seconds > 0 ? (double)done / seconds : 0;
    char line[200];
    if (progress->total > 0 && rate > 0) {
        double left = done < progress->total ? (double)(progress->total - done) / rate : 0;
        (void)snprintf(line, sizeof line, "%s: %.0f %%, %.3g %s/s, %.0f s left", progress->what,
                       100.0 * (double)done / (double)progress->total, rate, progress->unit, left);
    } else {
        (void)snprintf(line, sizeof line, "%s: %" PRIu64 " %s, %.3g/s", progress->what, done,
                       progress->unit, rate);
    }
    if (!progress->drawn) {
        (void)fprintf(stderr, "%s\n", line);
        return;
    }
    size_t room = terminal_width(stderr);
    if (room > 0 && room < sizeof line) {
        line[room - 1] = '\0'; /* a longer line would wrap, and stay */
    }
    /* Blanks over the end of a longer line. */
    (void)fprintf(stderr, "\r%-*s", (int)progress->width, line);
    (void)fflush(stderr);
    progress->width = (unsigned)strlen(line);
}

void progress_follow(void *progress, uint64_t done)
{
    if (done == CHILD_PROGRESS_END) {
        progress_end(progress);
    } else {
        progress_update(progress, done);
    }
}

void progress_end(struct progress *progress)
{
    if (progress->width > 0) {
        (void)fprintf(stderr, "\r%*s\r", (int)progress->width, "");
        (void)fflush(stderr);
        progress->width = 0;
    }
}
