#include "sequence.h"

#include "drawing.h"

#include <string.h>

#define MARGIN      24.0
#define LANE_WIDTH  128.0
#define HEAD_HEIGHT 64.0
#define ROW_HEIGHT  30.0
#define FOOT_HEIGHT 20.0
#define LEFT_WIDTH  74.0
#define INK         "fill=\"#111111\""
#define DIM         "fill=\"#444444\""
#define LINE        "stroke=\"#0072b2\" stroke-width=\"1.6\""
#define BAD         "stroke=\"#d55e00\" stroke-width=\"2.4\""

static double column_x(size_t column)
{
    return MARGIN + LEFT_WIDTH + LANE_WIDTH * ((double)column + 0.5);
}

static void draw_arrow(struct drawing *drawing, double from, double to, double y)
{
    double back = to > from ? -7 : 7;
    drawing_line(drawing, from, y, to, y, LINE);
    drawing_line(drawing, to, y, to + back, y - 4, LINE);
    drawing_line(drawing, to, y, to + back, y + 4, LINE);
}

static void draw_row(struct drawing *drawing, const struct sequence_row *row, double width,
                     double y)
{
    drawing_text(drawing, MARGIN, row->form == SEQUENCE_LINE ? y - 5 : y + 4,
                 "font-size=\"12\" " DIM, row->left);
    if (row->form == SEQUENCE_LINE) {
        drawing_line(drawing, MARGIN, y, width - MARGIN, y, "stroke=\"#cccccc\"");
        return;
    }
    double x = column_x(row->from);
    if (row->form == SEQUENCE_CRASH) {
        drawing_line(drawing, x - 6, y - 6, x + 6, y + 6, BAD);
        drawing_line(drawing, x - 6, y + 6, x + 6, y - 6, BAD);
    } else if (row->from == row->to) {
        drawing_dot(drawing, x, y, 4, "fill=\"#0072b2\"");
    } else {
        draw_arrow(drawing, x, column_x(row->to), y);
    }
    /* Beside its own column where there is no arrow, else on it, at the doer's end. */
    double actor = column_x(row->actor);
    bool leftward = row->from != row->to && (column_x(row->to) < actor || x < actor);
    drawing_text(drawing, actor + (leftward ? -9 : 9), y - 5,
                 leftward ? "font-size=\"12\" text-anchor=\"end\" " INK : "font-size=\"12\" " INK,
                 row->word);
}

void sequence_write(const char *const *columns, size_t column_count,
                    const struct sequence_row *rows, size_t row_count, const char *title,
                    const char *description, FILE *stream)
{
    struct drawing drawing;
    drawing_open(&drawing);
    double height = HEAD_HEIGHT + ROW_HEIGHT * (double)row_count + FOOT_HEIGHT;
    double width = 2 * MARGIN + LEFT_WIDTH + LANE_WIDTH * (double)column_count;
    for (size_t column = 0; column < column_count; column++) {
        double x = column_x(column);
        drawing_box(&drawing, x - LANE_WIDTH / 2 + 8, 16, LANE_WIDTH - 16, 26, 5,
                    "fill=\"#cfe5f3\" stroke=\"#0072b2\"");
        drawing_text(&drawing, x, 34, "font-size=\"13\" text-anchor=\"middle\" " INK,
                     columns[column]);
        drawing_line(&drawing, x, 42, x, height - FOOT_HEIGHT / 2,
                     "stroke=\"#999999\" stroke-dasharray=\"3 3\"");
    }
    for (size_t i = 0; i < row_count; i++) {
        draw_row(&drawing, &rows[i], width, HEAD_HEIGHT + ROW_HEIGHT * ((double)i + 0.5));
    }
    drawing_write(&drawing, width, height, title, description, stream);
    drawing_close(&drawing);
}
