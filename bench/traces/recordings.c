#include "traces.h"

#include <inttypes.h>
#include <stdarg.h>

/* A generator of its own, so that the measured work does not change with another generator. */
static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

/* Half of all draws are from the first tenth: some are busier than others. */
static uint64_t draw_uneven(uint64_t *state, uint64_t below)
{
    return draw(state, 2) == 0 ? draw(state, below / 10) : draw(state, below);
}

/* Combined lines, a twentieth of them up to 3 s out of order, as servers write them that log a
 * request at its end. */
static void write_access_log(FILE *stream, uint64_t lines)
{
    enum { CLIENTS = 20000, LINES_PER_SECOND = 50, START_S = 3600 };
    static const char *const pages[] = {"/",
                                        "/index.html",
                                        "/images/logo.png",
                                        "/css/site.css?v=17",
                                        "/blog/2024/06/timers-and-wheels-of-a-busy-server/",
                                        "/api/v2/sessions/refresh"};
    static const char *const agents[] = {
        "curl/7.88.1", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/126.0.0.0 Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
        "Gecko) Version/17.5 Mobile/15E148 Safari/604.1"};
    uint64_t state = 1;
    for (uint64_t i = 0; i < lines; i++) {
        uint64_t client = draw_uneven(&state, CLIENTS);
        uint64_t second = START_S + i / LINES_PER_SECOND;
        second -= draw(&state, 20) == 0 ? draw(&state, 4) : 0;
        uint64_t day = 1 + second / 86400 % 28;
        second %= 86400;
        (void)fprintf(stream,
                      "10.%" PRIu64 ".%" PRIu64 ".%" PRIu64 " - - [%02" PRIu64
                      "/Jun/2024:%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64
                      " +0000] \"GET %s HTTP/1.1\" 200 %" PRIu64
                      " \"https://www.example.org%s\" \"%s\"\n",
                      client >> 16, client >> 8 & 255, client & 255, day, second / 3600,
                      second / 60 % 60, second % 60, pages[draw(&state, 6)], draw(&state, 100000),
                      pages[draw(&state, 6)], agents[draw(&state, 4)]);
    }
}

struct kernel_event {
    FILE *stream;
    uint64_t us;
    uint64_t jiffy;
    uint64_t timer;
    const char *function;
};

/* Print a line of an event; `format` is of its end, after the timer. */
__attribute__((format(printf, 3, 4))) static void
print_event(const struct kernel_event *event, const char *name, const char *format, ...)
{
    va_list arguments;
    (void)fprintf(event->stream,
                  "           nginx-1234   [00%" PRIu64 "] d.s1. %5" PRIu64 ".%06" PRIu64
                  ": %s: timer=%016" PRIx64,
                  event->timer % 2, event->us / 1000000, event->us % 1000000, name,
                  UINT64_C(0xffff888100000000) + event->timer * 2376);
    va_start(arguments, format);
    (void)vfprintf(event->stream, format, arguments);
    va_end(arguments);
}

/* Kernel timers as tracefs prints them: an idle one is armed; an armed one is armed again, expires,
 * or is cancelled. */
static void write_ftrace(FILE *stream, uint64_t lines)
{
    static const char *const functions[] = {"tcp_write_timer", "tcp_delack_timer",
                                            "tcp_keepalive_timer", "process_timeout"};
    enum { TIMERS = 3000, EVENT_US = 20, HZ = 250, FIRST_JIFFY = 4295000 };
    uint64_t state = 1;
    bool armed[TIMERS] = {false};
    for (uint64_t line = 0; line < lines; line++) {
        uint64_t us = UINT64_C(1000000) + line * EVENT_US;
        struct kernel_event event = {.stream = stream,
                                     .us = us,
                                     .jiffy = FIRST_JIFFY + us * HZ / 1000000,
                                     .timer = draw_uneven(&state, TIMERS)};
        event.function = functions[event.timer % 4];
        bool was_armed = armed[event.timer];
        uint64_t choice = was_armed ? draw(&state, 4) : 0;
        if (was_armed) {
            print_event(&event, "timer_cancel", "\n");
        }
        if (choice < 2) {
            uint64_t timeout = 10 + draw(&state, 500);
            print_event(&event, "timer_start",
                        " function=%s expires=%" PRIu64 " [timeout=%" PRIu64
                        "] bucket_expiry=%" PRIu64 " cpu=0 idx=36 flags=\n",
                        event.function, event.jiffy + timeout, timeout, event.jiffy + timeout + 1);
        } else if (choice == 2) {
            print_event(&event, "timer_expire_entry",
                        " function=%s now=%" PRIu64 " baseclk=%" PRIu64 "\n", event.function,
                        event.jiffy, event.jiffy);
        }
        armed[event.timer] = choice < 2;
        line += was_armed && choice <= 2; /* two lines were written */
    }
}

const struct sample_recording sample_recordings[SAMPLE_RECORDINGS] = {
    {"access-log", write_access_log},
    {"ftrace", write_ftrace},
};
