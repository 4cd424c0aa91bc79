/*
 * figures.h: figures as people read them. Each function takes the place for its text, and returns
 * the text, as in duration_text(row_value(row, COL_STALL), FIGURE); NaN is "-".
 */
#ifndef SIM_FIGURES_H
#define SIM_FIGURES_H

#define FIGURE_BYTES 40
#define FIGURE                                                                                     \
    (char[FIGURE_BYTES])                                                                           \
    {                                                                                              \
        0                                                                                          \
    }

/* Three digits that count: "12.3", "1,234". */
const char *figure_text(double value, char text[FIGURE_BYTES]);
/* Whole, with its thousands apart: "1,234,567". */
const char *grouped_text(double value, char text[FIGURE_BYTES]);
/* Nanoseconds, with the unit that suits: "1.23 ms". */
const char *duration_text(double value_ns, char text[FIGURE_BYTES]);
/* Bytes, with the unit that suits, in powers of ten: "1.23 MB". */
const char *size_text(double value_bytes, char text[FIGURE_BYTES]);
/* "12.3 million", "1.23 thousand". */
const char *rate_text(double value, char text[FIGURE_BYTES]);
/* "1 tick", "1,234 ticks". */
const char *ticks_text(double value_ticks, char text[FIGURE_BYTES]);

/* In plain characters, for terminals. */

/* A fixed number of digits after the point: "12.3". */
const char *decimal_text(double value, int digits, char text[FIGURE_BYTES]);
/* As many digits as it has, up to two after the point: "12", "12.34". */
const char *number_text(double value, char text[FIGURE_BYTES]);
/* Nanoseconds: "1234 ns", "12.3 us". */
const char *plain_duration_text(double value_ns, char text[FIGURE_BYTES]);

#endif
