#include "figures.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *grouped_text(double value, char text[FIGURE_BYTES])
{
    if (isnan(value)) {
        return "-";
    }
    char digits[FIGURE_BYTES];
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    if (length < 0 || length > 24) {
        (void)snprintf(text, FIGURE_BYTES, "%.3g", value);
        return text;
    }
    size_t used = 0;
    if (value < 0 && strcmp(digits, "0") != 0) {
        text[used++] = '-';
    }
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

const char *figure_text(double value, char text[FIGURE_BYTES])
{
    double size = fabs(value);
    if (isnan(value) || size >= 99.95) {
        return grouped_text(value, text);
    }
    if (size > 0) {
        (void)snprintf(text, FIGURE_BYTES, "%.*f", size >= 9.995 ? 1 : 2, value);
        return text;
    }
    return "0";
}

/* A value and its unit, of units that are 1,000 times the one before each. */
static const char *scaled_text(double value, const char *const units[], size_t unit_count,
                               char text[FIGURE_BYTES])
{
    if (isnan(value)) {
        return "-";
    }
    size_t unit = 0;
    while (unit + 1 < unit_count && fabs(value) >= 1000) {
        value /= 1000;
        unit++;
    }
    (void)snprintf(text, FIGURE_BYTES, "%s%s", figure_text(value, FIGURE), units[unit]);
    return text;
}

const char *duration_text(double value_ns, char text[FIGURE_BYTES])
{
    static const char *const units[] = {" ns", " µs", " ms", " s"};
    return scaled_text(value_ns, units, sizeof units / sizeof units[0], text);
}

const char *size_text(double value_bytes, char text[FIGURE_BYTES])
{
    static const char *const units[] = {" B", " kB", " MB", " GB"};
    return scaled_text(value_bytes, units, sizeof units / sizeof units[0], text);
}

const char *rate_text(double value, char text[FIGURE_BYTES])
{
    static const char *const units[] = {"", " thousand", " million"};
    return scaled_text(value, units, sizeof units / sizeof units[0], text);
}

const char *ticks_text(double value_ticks, char text[FIGURE_BYTES])
{
    if (isnan(value_ticks)) {
        return "-";
    }
    (void)snprintf(text, FIGURE_BYTES, "%s %s", grouped_text(value_ticks, FIGURE),
                   value_ticks == 1 ? "tick" : "ticks");
    return text;
}

const char *decimal_text(double value, int digits, char text[FIGURE_BYTES])
{
    if (isnan(value)) {
        return "-";
    }
    (void)snprintf(text, FIGURE_BYTES, "%.*f", digits, value);
    return text;
}

const char *number_text(double value, char text[FIGURE_BYTES])
{
    if (!isfinite(value)) {
        return "-";
    }
    if (value == floor(value) && fabs(value) < 1e15) {
        return decimal_text(value, 0, text);
    }
    (void)snprintf(text, FIGURE_BYTES, fabs(value) < 1e6 ? "%.2f" : "%.5g", value);
    return text;
}

const char *plain_duration_text(double value_ns, char text[FIGURE_BYTES])
{
    if (isnan(value_ns)) {
        return "-";
    }
    if (value_ns < 1e4) {
        (void)snprintf(text, FIGURE_BYTES, "%.0f ns", value_ns);
    } else if (value_ns < 1e7) {
        (void)snprintf(text, FIGURE_BYTES, "%.1f us", value_ns / 1e3);
    } else {
        (void)snprintf(text, FIGURE_BYTES, "%.1f ms", value_ns / 1e6);
    }
    return text;
}
