/* How long the timers of a stream run: its delays as quantiles, each as likely. */
#include "stream.h"

#include "memory.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>

enum { QUANTILES = 1 << STREAM_TABLE_BITS };

static const double ttls_s[] = {1, 5, 10, 30, 60, 300, 900, 3600};
enum { TTLS = sizeof ttls_s / sizeof ttls_s[0] };

/* The q-quantile, in ticks of a millisecond, or, with a mean of 6 s, as a multiple of the mean. */
static double quantile(uint32_t delays, double q)
{
    switch (delays) {
    case DELAYS_MINUTE:
        return 1 + 60000 * q;
    case DELAYS_EXP30:
        return -random_log(1 - q) * 30000;
    case DELAYS_BIMODAL:
        return q < 0.5 ? 40 : 7200000;
    case DELAYS_HOUR:
        return 1000 + 3599000 * q;
    case DELAYS_CONST:
        return 30000;
    case DELAYS_SAW:
        return STREAM_SAW_TICKS * (1 + floor(q * STREAM_SAW_TEETH));
    case DELAYS_EXP6:
        return -random_log(1 - q);
    case DELAYS_UNIFORM6:
        return 2 * q;
    case DELAYS_BIASED6:
        return 0.9 + 0.2 * q;
    case DELAYS_BIMODAL6:
        return q < 0.9 ? 0.95238 * q / 0.9 : 0.95238 * (q - 0.9) / 0.1 + 9.5238;
    case DELAYS_TRIANGULAR6:
        return 1.5 * sqrt(q);
    case DELAYS_TTL:
        return 1000 * ttls_s[(int)(q * TTLS)];
    case DELAYS_KEEPALIVE:
        return 7200000;
    default:
        return 30000 + 30001 * q;
    }
}

static const struct stream_recording *the_recording;

void stream_set_recording(const struct stream_recording *recording)
{
    the_recording = recording;
}

const struct stream_recording *stream_recording(void)
{
    return the_recording;
}

static int compare_ticks(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The quantiles of the recording's delays. */
static void sample_recording(struct stream *stream)
{
    const struct stream_recording *recording = the_recording;
    uint32_t *delays = memory_new(recording->operation_count + 1, sizeof *delays);
    size_t count = 0;
    for (size_t i = 0; i < recording->operation_count; i++) {
        if (recording->operations[i].delay_ticks > 0) {
            delays[count++] = recording->operations[i].delay_ticks;
        }
    }
    qsort(delays, count, sizeof *delays, compare_ticks);
    for (size_t i = 0; i < QUANTILES; i++) {
        stream->delays[i] = delays[(2 * i + 1) * count / (2 * QUANTILES)];
    }
    stream->max_delay_ticks = delays[count - 1];
    free(delays);
}

void stream_make_delays(struct stream *stream)
{
    uint32_t delays = stream->key.delays;
    if (delays == DELAYS_RECORDED) {
        sample_recording(stream);
        return;
    }
    double scale = 1;
    if (delays >= DELAYS_EXP6 && delays <= DELAYS_TRIANGULAR6) {
        double sum = 0;
        for (int i = 0; i < QUANTILES; i++) {
            sum += quantile(delays, (i + 0.5) / QUANTILES);
        }
        scale = 6000 / (sum / QUANTILES);
    }
    scale /= stream->key.tick_ms;
    for (int i = 0; i < QUANTILES; i++) {
        double ticks = quantile(delays, (i + 0.5) / QUANTILES) * scale;
        stream->delays[i] = ticks > 1 ? (uint32_t)ticks : 1;
    }
    stream->max_delay_ticks = stream->delays[QUANTILES - 1];
}
