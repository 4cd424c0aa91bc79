/* The table of axes, and that of their forms. */
#include "axes.h"

#include "number.h"
#include "stream.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_BYTES_MAX = 4096, COLD_MIB_MAX = 1024, TICKS_MAX = 1000000000, COMMIT_MAX = 100000 };

static const struct {
    const char *word;
    const char *what;
    enum axis_kind kind;
} axes[AXES] = {
#define AXIS_ROW(code, word, kind, what) [code] = {word, what, kind},
    SUITE_AXIS_MAP(AXIS_ROW)
#undef AXIS_ROW
};

/* The numbers that an axis takes, and of which they are multiples. */
static const struct {
    uint64_t from;
    uint64_t to;
    uint64_t of;
} bounds[AXES] = {
    [AXIS_JUMP] = {1, TICKS_MAX, 1},          [AXIS_LONGEST] = {1, 3600000, 1},
    [AXIS_DURATIONS] = {0, 1000000, 1},       [AXIS_CANCELLED] = {0, 100, 1},
    [AXIS_FIELD] = {8, RECORD_BYTES_MAX, 8},  [AXIS_EVERY] = {1, TICKS_MAX, 1},
    [AXIS_STEP] = {1, STREAM_STEP_MAX, 1},    [AXIS_WARM] = {0, STREAM_WARM_MAX_TICKS, 1},
    [AXIS_RECORD] = {0, RECORD_BYTES_MAX, 8}, [AXIS_COLD] = {0, COLD_MIB_MAX, 1},
    [AXIS_COMMIT] = {1, COMMIT_MAX, 1},
};

static const struct form forms[] = {
    {{AXIS_JUMP, 1000000}, "1000000", "a quarter of an hour in milliseconds"},
    {{AXIS_JUMP, 10000000}, "10000000", "three hours"},
    {{AXIS_JUMP, 100000000}, "100000000", "a day"},
    {{AXIS_JUMP, 1000000000}, "1000000000", "twelve days"},
#define ARRIVAL_FORM(code, word, what) {{AXIS_ARRIVAL, code}, word, what},
    WORKLOAD_ARRIVAL_MAP(ARRIVAL_FORM)
#undef ARRIVAL_FORM
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
#define DELAYS_FORM(code, word, what) {{AXIS_DELAYS, code}, word, what},
    STREAM_DELAYS_MAP(DELAYS_FORM)
#undef DELAYS_FORM
#define ORDER_FORM(code, word, what) {{AXIS_ORDER, code}, word, what},
        STREAM_ORDER_MAP(ORDER_FORM)
#undef ORDER_FORM
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
};
enum { FORMS = sizeof forms / sizeof forms[0] };

const struct form *form_at(size_t index)
{
    return index < FORMS ? &forms[index] : NULL;
}

struct shape axes_plain(void)
{
    struct shape shape = {0};
    for (size_t i = FORMS; i > 0; i--) {
        shape.at[forms[i - 1].setting.axis] = forms[i - 1].setting.value;
    }
    return shape;
}

const char *axis_word(enum suite_axis axis)
{
    return axes[axis].word;
}

const char *axis_what(enum suite_axis axis)
{
    return axes[axis].what;
}

enum suite_axis axis_find(const char *word)
{
    for (int axis = 1; axis < AXES; axis++) {
        if (strcmp(axes[axis].word, word) == 0) {
            return (enum suite_axis)axis;
        }
    }
    return AXIS_NONE;
}

/* Whether a form stands for a value by a word that no number would give. */
static bool is_word(const struct form *form)
{
    return form->word[0] < '0' || form->word[0] > '9';
}

const char *axis_value(const struct setting *setting, char *text, size_t text_bytes)
{
    for (size_t i = 0; i < FORMS; i++) {
        if (forms[i].setting.axis == setting->axis && forms[i].setting.value == setting->value) {
            return forms[i].word;
        }
    }
    if (axes[setting->axis].kind == AXIS_SHARE) {
        (void)snprintf(text, text_bytes, "%g", (double)setting->value / STREAM_SHARE);
    } else {
        (void)snprintf(text, text_bytes, "%" PRIu64, setting->value);
    }
    return text;
}

const char *axis_takes(enum suite_axis axis, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    if (axes[axis].kind == AXIS_SHARE) {
        (void)snprintf(text, text_bytes, "a share from 0 to 1");
        return text;
    }
    if (axes[axis].kind == AXIS_WHOLE) {
        int length = snprintf(text, text_bytes, "a whole number from %" PRIu64 " to %" PRIu64,
                              bounds[axis].from, bounds[axis].to);
        used = length > 0 ? (size_t)length : 0;
        if (bounds[axis].of > 1 && used < text_bytes) {
            length = snprintf(text + used, text_bytes - used, ", a multiple of %" PRIu64,
                              bounds[axis].of);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    for (size_t i = 0; i < FORMS && used < text_bytes; i++) {
        if (forms[i].setting.axis == axis && (axes[axis].kind == AXIS_WORD || is_word(&forms[i]))) {
            int length = snprintf(text + used, text_bytes - used, "%s%s", used > 0 ? " | " : "",
                                  forms[i].word);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    return text;
}

static bool read_number(const char *text, struct setting *setting)
{
    union tl_number number;
    if (axes[setting->axis].kind == AXIS_SHARE) {
        const struct tl_number_form form = {.kind = TL_NUMBER_SHARE};
        if (!tl_number_read(&form, text, &number)) {
            return false;
        }
        setting->value = (uint64_t)(number.real * STREAM_SHARE + 0.5);
        return true;
    }
    const struct tl_number_form form = {.from = bounds[setting->axis].from,
                                        .to = bounds[setting->axis].to};
    if (axes[setting->axis].kind != AXIS_WHOLE || !tl_number_read(&form, text, &number) ||
        number.whole % bounds[setting->axis].of != 0) {
        return false;
    }
    setting->value = number.whole;
    return true;
}

bool axis_read(const char *text, struct setting *setting, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < FORMS; i++) {
        if (forms[i].setting.axis == setting->axis && strcmp(forms[i].word, text) == 0) {
            setting->value = forms[i].setting.value;
            return true;
        }
    }
    if (read_number(text, setting)) {
        return true;
    }
    char takes[256];
    (void)snprintf(why, why_bytes, "--%s takes %s, not '%s'", axes[setting->axis].word,
                   axis_takes(setting->axis, takes, sizeof takes), text);
    return false;
}
