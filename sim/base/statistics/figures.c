#include "figures.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static const char *print(char text[FIGURE_BYTES],
                                                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, FIGURE_BYTES, format, arguments);
    va_end(arguments);
    return text;
}

const char *grouped_text(double value, char text[FIGURE_BYTES])
{
    char digits[FIGURE_BYTES];
    int length = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    size_t used = 0;
    if (isnan(value) || length < 0 || length > 24) {
        return isnan(value) ? "-" : print(text, "%.3g", value);
    }
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
    return isnan(value) || size >= 99.95 ? grouped_text(value, text)
           : size > 0                    ? print(text, "%.*f", size >= 9.995 ? 1 : 2, value)
                                         : "0";
}

/* A value and its unit, of units that are 1,000 times the one before each. */
static const char *scaled_text(double value, const char *const units[], size_t unit_count,
                               char text[FIGURE_BYTES])
{
    size_t unit = 0;
    while (unit + 1 < unit_count && fabs(value) >= 1000) {
        value /= 1000;
        unit++;
    }
    return isnan(value) ? "-" : print(text, "%s%s", figure_text(value, FIGURE), units[unit]);
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
    const char *unit = value_ticks == 1 ? "tick" : "ticks";
    return isnan(value_ticks) ? "-" : print(text, "%s %s", grouped_text(value_ticks, FIGURE), unit);
}

const char *decimal_text(double value, int digits, char text[FIGURE_BYTES])
{
    return isnan(value) ? "-" : print(text, "%.*f", digits, value);
}

const char *number_text(double value, char text[FIGURE_BYTES])
{
    bool whole = value == floor(value) && fabs(value) < 1e15;
    return !isfinite(value)    ? "-"
           : whole             ? print(text, "%.0f", value)
           : fabs(value) < 1e6 ? print(text, "%.2f", value)
                               : print(text, "%.5g", value);
}

const char *plain_duration_text(double value_ns, char text[FIGURE_BYTES])
{
    return isnan(value_ns)  ? "-"
           : value_ns < 1e4 ? print(text, "%.0f ns", value_ns)
           : value_ns < 1e7 ? print(text, "%.1f us", value_ns / 1e3)
                            : print(text, "%.1f ms", value_ns / 1e6);
}
