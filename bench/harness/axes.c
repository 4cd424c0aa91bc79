/* The table of axes, and that of their forms. */
#include "axes.h"

#include "memory.h"
#include "number.h"
#include "stream.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_BYTES_MAX = 4096, COLD_MIB_MAX = 1024, TICKS_MAX = 1000000000, COMMIT_MAX = 100000 };

const struct axis axes[AXES] = {
#define AXIS_ROW(code, word, from, to, of, what) [code] = {word, what, from, to, of},
    SUITE_AXIS_MAP(AXIS_ROW)
#undef AXIS_ROW
};

const struct form forms[] = {
    {{AXIS_JUMP, 1000000}, "1000000", "a quarter of an hour in milliseconds"},
    {{AXIS_JUMP, 10000000}, "10000000", "three hours"},
    {{AXIS_JUMP, 100000000}, "100000000", "a day"},
    {{AXIS_JUMP, 1000000000}, "1000000000", "twelve days"},
    {{AXIS_ARRIVAL, ARRIVAL_RANDOM}, "random", "in random order"},
    {{AXIS_ARRIVAL, ARRIVAL_SORTED}, "sorted", "the earliest deadline first"},
    {{AXIS_ARRIVAL, ARRIVAL_REVERSE}, "reverse", "the latest deadline first"},
    {{AXIS_ARRIVAL, ARRIVAL_SAME}, "same", "all with one deadline, at half the span"},
    {{AXIS_LONGEST, WORKLOAD_SPAN_TICKS}, "60000", "a minute in milliseconds"},
    {{AXIS_LONGEST, 1000}, "1000", "a second"},
    {{AXIS_LONGEST, 3600000}, "3600000", "an hour"},
    {{AXIS_DURATIONS, 0}, "any", "one for each timer"},
    {{AXIS_DURATIONS, 1}, "1", "one timeout for all"},
    {{AXIS_DURATIONS, 8}, "8", "as a server's configuration has"},
    {{AXIS_DURATIONS, 64}, "64", "as a server's many parts have"},
    {{AXIS_CANCELLED, 0}, "0", "none"},
    {{AXIS_CANCELLED, 50}, "50", "every other"},
    {{AXIS_CANCELLED, 90}, "90", "most"},
    {{AXIS_CANCELLED, 99}, "99", "nearly all"},
    {{AXIS_FIELD, 16}, "16", "a deadline and one more field"},
    {{AXIS_FIELD, 8}, "8", "a deadline"},
    {{AXIS_FIELD, 64}, "64", "a line of the cache"},
    {{AXIS_CLOCK, CLOCK_THREAD}, "thread", "the thread's processor time, by which all is measured"},
    {{AXIS_CLOCK, CLOCK_WALL}, "wall", "the monotonic clock"},
    {{AXIS_CLOCK, CLOCK_CYCLES}, "cycles", "the processor's own counter"},
    {{AXIS_DELAYS, DELAYS_IDLE}, "idle", "uniform from 30 to 60 s"},
    {{AXIS_DELAYS, DELAYS_MINUTE}, "minute", "uniform up to 60 s"},
    {{AXIS_DELAYS, DELAYS_EXP30}, "exp30", "exponential, 30 s in the mean"},
    {{AXIS_DELAYS, DELAYS_BIMODAL}, "bimodal", "40 ms or 2 h, half each"},
    {{AXIS_DELAYS, DELAYS_HOUR}, "hour", "uniform from 1 s to 1 h"},
    {{AXIS_DELAYS, DELAYS_CONST}, "const", "30 s, all the same"},
    {{AXIS_DELAYS, DELAYS_SAW}, "saw", "60 s, with each restart 3 s less, down to 3 s, and again"},
    {{AXIS_DELAYS, DELAYS_RECORDED}, "recorded", "those of the recording: --recording FILE.trace"},
    {{AXIS_DELAYS, DELAYS_EXP6}, "exp6", "exponential, 6 s in the mean, as the next four"},
    {{AXIS_DELAYS, DELAYS_UNIFORM6}, "uniform6", "uniform from 0 to twice the mean"},
    {{AXIS_DELAYS, DELAYS_BIASED6}, "biased6", "uniform from 0.9 to 1.1 of the mean"},
    {{AXIS_DELAYS, DELAYS_BIMODAL6},
     "bimodal6",
     "nine in ten up to 0.95 of the mean, one in ten 9.5 more"},
    {{AXIS_DELAYS, DELAYS_TRIANGULAR6}, "triangular6", "triangular from 0 to 1.5 of the mean"},
    {{AXIS_DELAYS, DELAYS_TTL}, "ttl", "1, 5, 10 or 30 s, 1, 5 or 15 min, or 1 h, equally often"},
    {{AXIS_DELAYS, DELAYS_KEEPALIVE}, "keepalive", "2 h, all the same"},
    {{AXIS_ORDER, STREAM_RANDOM}, "random", "any"},
    {{AXIS_ORDER, STREAM_FORWARD}, "forward", "the next id"},
    {{AXIS_ORDER, STREAM_BACKWARD}, "backward", "the id before"},
    {{AXIS_ORDER, STREAM_HOT}, "hot", "any, nine times in ten of the same tenth"},
    {{AXIS_ORDER, STREAM_ZIPF}, "zipf", "any, the k-th most frequent with a share of 1/k"},
    {{AXIS_EARLIER, 0}, "0", "as the delays have it"},
    {{AXIS_EARLIER, STREAM_SHARE / 10}, "0.1", "one in ten, to any tick before"},
    {{AXIS_EARLIER, STREAM_SHARE / 2}, "0.5", "every other"},
    {{AXIS_CALLBACK, CALLBACK_COUNT}, "count", "it counts"},
    {{AXIS_CALLBACK, CALLBACK_RESTART}, "restart", "it starts the timer again"},
    {{AXIS_EVERY, STREAM_EVERY_TICKS}, "10000", "ten seconds in milliseconds"},
    {{AXIS_EVERY, 1000}, "1000", "a second"},
    {{AXIS_STEP, 1}, "1", "tick by tick"},
    {{AXIS_STEP, 10}, "10", "a loop that wakes every 10 ms"},
    {{AXIS_STEP, 100}, "100", "one that is busy for long"},
    {{AXIS_TICK, TICK_1MS}, "1ms", "a millisecond"},
    {{AXIS_TICK, TICK_1NS}, "1ns", "a nanosecond; each advance passes over a million ticks"},
    {{AXIS_TICK, TICK_1US}, "1us", "a microsecond; each advance passes over a thousand ticks"},
    {{AXIS_TICK, TICK_100MS}, "100ms", "a tenth of a second"},
    {{AXIS_WARM, STREAM_WARM_AUTO}, "auto", "twice the longest delay, or as long as time permits"},
    {{AXIS_WARM, 0}, "0", "all timers have just been started"},
    {{AXIS_RECORD, 0}, "0", "there is none: nothing is touched but the timer"},
    {{AXIS_RECORD, 64}, "64", "a line of the cache"},
    {{AXIS_RECORD, 128}, "128", "two lines"},
    {{AXIS_NODE, NODE_OUT}, "out", "in memory of the structure's own"},
    {{AXIS_NODE, NODE_IN}, "in", "in the record, from its byte 8 on; structures that cannot: none"},
    {{AXIS_NODE, NODE_ABLE}, "able", "in the record where the structure can, else out of it"},
    {{AXIS_COLD, 0}, "0", "none: caches keep what fits"},
    {{AXIS_COLD, 8}, "8", "more than the inner caches hold"},
    {{AXIS_PAGES, PAGES_HUGE}, "huge", "huge pages, where the kernel has them"},
    {{AXIS_PAGES, PAGES_SMALL}, "small", "pages of 4 KiB"},
    {{AXIS_COMMIT, 1}, "1", "each waits for itself"},
    {{AXIS_COMMIT, 100}, "100", "the operations of a few milliseconds"},
    {{AXIS_COMMIT, 5000}, "5000", "as much as can wait"},
    {{AXIS_NONE, 0}, NULL, NULL},
};

static bool is_share(const struct axis *axis)
{
    return axis->to > 0 && axis->of == 0;
}

const char *axis_value(const struct setting *setting, char *text, size_t text_bytes)
{
    for (const struct form *form = forms; form->word != NULL; form++) {
        if (form->setting.axis == setting->axis && form->setting.value == setting->value) {
            return form->word;
        }
    }
    if (is_share(&axes[setting->axis])) {
        (void)snprintf(text, text_bytes, "%g", (double)setting->value / STREAM_SHARE);
    } else {
        (void)snprintf(text, text_bytes, "%" PRIu64, setting->value);
    }
    return text;
}

/* Return the values that an axis accepts: "a whole number from 1 to 1000", "random | forward". The
 * caller frees it. */
static char *accepted_values(const struct axis *axis)
{
    const char *between = "";
    char *text;
    size_t bytes;
    FILE *stream = memory_stream(&text, &bytes);
    if (is_share(axis)) {
        (void)fputs("a share from 0 to 1", stream);
    } else if (axis->to > 0) {
        (void)fprintf(stream, "a whole number from %" PRIu64 " to %" PRIu64, axis->from, axis->to);
        if (axis->of > 1) {
            (void)fprintf(stream, ", a multiple of %" PRIu64, axis->of);
        }
        between = " | ";
    }
    for (const struct form *form = forms; form->word != NULL; form++) {
        /* Of an axis with numbers, only words that no number would give. */
        bool is_number = form->word[0] >= '0' && form->word[0] <= '9';
        if (axes + form->setting.axis == axis && (axis->to == 0 || !is_number)) {
            (void)fprintf(stream, "%s%s", between, form->word);
            between = " | ";
        }
    }
    memory_stream_close(stream);
    return text;
}

/* Read a value into setting->value. False if its axis does not accept it. */
static bool read_value(const char *text, struct setting *setting)
{
    const struct axis *axis = &axes[setting->axis];
    for (const struct form *form = forms; form->word != NULL; form++) {
        if (form->setting.axis == setting->axis && strcmp(form->word, text) == 0) {
            setting->value = form->setting.value;
            return true;
        }
    }
    bool share = is_share(axis);
    const struct tl_number_form form = {
        .kind = share ? TL_NUMBER_SHARE : TL_NUMBER_WHOLE, .from = axis->from, .to = axis->to};
    union tl_number number;
    if (axis->to == 0 || !tl_number_read(&form, text, &number)) {
        return false;
    }
    setting->value = share ? (uint64_t)(number.real * STREAM_SHARE + 0.5) : number.whole;
    return share || number.whole % axis->of == 0;
}

static void take_setting(void *arguments, const struct option_row *row, const char *text,
                         struct argp_state *state)
{
    struct setting *setting = (void *)((char *)arguments + row->at);
    while (setting->axis != AXIS_NONE) { /* to the first free place */
        setting++;
    }
    do { /* to the option's own axis */
        setting->axis++;
    } while (axes[setting->axis].word != row->option.name);
    if (!read_value(text, setting)) {
        argp_error(state, "--%s takes %s, not '%s'", row->option.name,
                   accepted_values(&axes[setting->axis]), text);
    }
}

void axes_add_options(struct option_row *options, size_t settings_at)
{
    while (options->option.name != NULL || options->option.doc != NULL) {
        options++;
    }
    for (const struct axis *axis = axes + 1; axis < axes + AXES; axis++) {
        char *values = accepted_values(axis);
        *options++ = (struct option_row){
            .option = {axis->word, 0, "VALUE", 0, memory_format("%s: %s", axis->what, values), 1},
            .at = settings_at,
            .take = take_setting,
        };
        free(values);
    }
}
