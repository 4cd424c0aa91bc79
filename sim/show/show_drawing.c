/* A panel for each step: its number and caption, the expired timers, and a row of boxes for each
 * part. No meaning depends on colour alone: each timer has its name, and each mark its shape. */
#include "drawing.h"
#include "memory.h"
#include "show.h"
#include "show_assets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_WIDTH      960.0
#define MARGIN          20.0
#define INDENT          164.0 /* of a part, right of its name */
#define ROW_WIDTH       (PAGE_WIDTH - 2 * MARGIN - INDENT)
#define CHIP_HEIGHT     20.0
#define CHIP_GAP        4.0
#define CHIP_FONT       12.0
#define CELL_FONT       12.0
#define CELL_GAP        4.0
#define CELL_MIN        58.0
#define CELL_PADDING    6.0
#define HEAD_HEIGHT     32.0 /* for a slot's number and ticks */
#define GAP_WIDTH       62.0 /* of a box for omitted empty slots */
#define LEVEL_HEIGHT    50.0 /* of a tree */
#define CHIPS_SHOWN     6    /* in one cell */
#define PARTS_SHOWN_ALL 3    /* of more levels, only those with timers in some step */
#define SLOTS_SHOWN_ALL 16   /* of more, only those with content */

#define DIM             "fill=\"#444444\""
#define DARK            "fill=\"#111111\""

/* Okabe and Ito's colours, which are distinct in every kind of colour vision, and light tints of
 * them for black text. */
static const struct {
    const char *line;
    const char *tint;
} palette[] = {
    {"#0072b2", "#cfe5f3"}, {"#d55e00", "#fbdcc4"}, {"#009e73", "#c9ece1"}, {"#cc79a7", "#f5e1ec"},
    {"#8a6d00", "#fbeeb8"}, {"#3a3a3a", "#e4e4e4"}, {"#2a7fb0", "#d9f0fd"},
};
#define COLOURS (sizeof palette / sizeof palette[0])

struct canvas {
    struct show *show;
    struct drawing drawing;
    size_t first; /* the drawn steps */
    size_t count;
    double y;      /* the position of the next element */
    bool left_out; /* some levels are omitted */
};

/* --- timers ---------------------------------------------------------------------------------- */

static double chip_width(const char *text)
{
    return drawing_text_width(text, CHIP_FONT) * 1.2 + 2 * CELL_PADDING; /* 1.2: bold */
}

/* A timer: its name and deadline on a tinted ground, with a thick rim if it was placed in this
 * step, a dashed one if it is stale. */
static void draw_chip(struct canvas *canvas, double x, double y, double width, uint32_t id,
                      const char *text, bool thick, bool dashed)
{
    char style[160];
    size_t colour = id % COLOURS;
    (void)snprintf(style, sizeof style, "fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"%s",
                   dashed ? "#ffffff" : palette[colour].tint, palette[colour].line,
                   thick ? "2.6" : "1", dashed ? " stroke-dasharray=\"4 2\"" : "");
    drawing_box(&canvas->drawing, x, y, width, CHIP_HEIGHT, 5, style);
    drawing_text(&canvas->drawing, x + width / 2, y + CHIP_HEIGHT - 6,
                 thick ? "font-size=\"12\" font-weight=\"bold\" text-anchor=\"middle\" " DARK
                       : "font-size=\"12\" text-anchor=\"middle\" " DARK,
                 text);
}

/* The width of the widest chip; 0 if there is none. */
static double cell_chips_width(const struct canvas *canvas, const struct show_cell *cell)
{
    double widest = 0;
    for (size_t i = 0; i < cell->held_count && i < CHIPS_SHOWN; i++) {
        double width = chip_width(show_held_text(canvas->show, &cell->held[i]));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static size_t chip_rows(const struct show_cell *cell)
{
    return cell->held_total > CHIPS_SHOWN ? CHIPS_SHOWN + 1 : (size_t)cell->held_total;
}

/* Draw a cell's timers, one below the other. */
static void draw_held(struct canvas *canvas, const struct show_cell *cell, double x, double y,
                      double width)
{
    size_t shown = cell->held_count < CHIPS_SHOWN ? cell->held_count : CHIPS_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        const struct show_held *held = &cell->held[i];
        draw_chip(canvas, x, y + (double)i * (CHIP_HEIGHT + CHIP_GAP), width, held->id,
                  show_held_text(canvas->show, held), held->changed,
                  (held->marks & TL_MARK_STALE) != 0);
    }
    if (cell->held_total > shown) {
        drawing_text(
            &canvas->drawing, x + width / 2,
            y + (double)shown * (CHIP_HEIGHT + CHIP_GAP) + CHIP_HEIGHT - 6,
            "font-size=\"11\" text-anchor=\"middle\" " DIM,
            pool_format(&canvas->show->passing, "and %" PRIu64 " more", cell->held_total - shown));
    }
}

/* --- rows of cells --------------------------------------------------------------------------- */

static bool is_shown(const struct show_part *part, const struct show_cell *cell)
{
    return part->form != TL_FORM_WHEEL || part->cell_total <= SLOTS_SHOWN_ALL ||
           cell->held_total > 0 || cell->marks != 0;
}

/* "4", "4-7": the ticks of a cell, short. */
static const char *short_ticks(const struct canvas *canvas, const struct show_cell *cell)
{
    struct pool *pool = &canvas->show->passing;
    return cell->from == TL_NEVER   ? ""
           : cell->from == cell->to ? pool_format(pool, "%" PRIu64, cell->from)
           : cell->to >= TL_DEADLINE_MAX
               ? pool_format(pool, "%" PRIu64 " and later", cell->from)
               : pool_format(pool, "%" PRIu64 "\xe2\x80\x93%" PRIu64, cell->from, cell->to);
}

static double cell_width(const struct canvas *canvas, const struct show_part *part,
                         const struct show_cell *cell)
{
    double width = cell_chips_width(canvas, cell);
    double head = drawing_text_width(short_ticks(canvas, cell), CELL_FONT);
    double refers = cell->refers != NULL ? drawing_text_width(cell->refers, CELL_FONT) : 0;
    double least = part->form == TL_FORM_WHEEL ? CELL_MIN : CELL_MIN / 2;
    width = head > width ? head : width;
    width = refers > width ? refers : width;
    width += 2 * CELL_PADDING;
    return width > least ? width : least;
}

static double head_height(const struct show_part *part)
{
    return part->form == TL_FORM_WHEEL ? HEAD_HEIGHT : HEAD_HEIGHT / 2;
}

/* The pointer above a slot, and the marks right of its number. */
static void draw_marks(struct canvas *canvas, const struct show_cell *cell, double x, double y,
                       double width)
{
    if ((cell->marks & TL_MARK_HAND) != 0) {
        drawing_pointer(&canvas->drawing, x + width / 2, y - 1, 10, "fill=\"#111111\"");
    }
    if ((cell->marks & TL_MARK_QUEUED) != 0) {
        drawing_box(&canvas->drawing, x + width - 13, y + 4, 9, 9, 0,
                    "fill=\"#d55e00\" stroke=\"#111111\" stroke-width=\"0.6\"");
    }
    if ((cell->marks & TL_MARK_FLAGGED) != 0) {
        drawing_dot(&canvas->drawing, x + width - 9, y + 8.5, 4.5,
                    "fill=\"#0072b2\" stroke=\"#111111\" stroke-width=\"0.6\"");
    }
}

static void draw_cell(struct canvas *canvas, const struct show_part *part,
                      const struct show_cell *cell, double x, double y, double width, double height)
{
    const char *ticks = short_ticks(canvas, cell);
    bool hand = (cell->marks & TL_MARK_HAND) != 0;
    double head = head_height(part);
    drawing_box(&canvas->drawing, x, y, width, height, 2,
                hand ? "fill=\"#f4f4f4\" stroke=\"#111111\" stroke-width=\"2\""
                     : "fill=\"#fbfbfb\" stroke=\"#888888\" stroke-width=\"1\"");
    drawing_text(&canvas->drawing, x + CELL_PADDING - 1, y + 13, "font-size=\"11\" " DIM,
                 pool_format(&canvas->show->passing, "%" PRIu64,
                             part->form == TL_FORM_WHEEL ? cell->index : cell->index + 1));
    if (ticks[0] != '\0') {
        drawing_text(&canvas->drawing, x + width / 2, y + 27,
                     "font-size=\"12\" text-anchor=\"middle\" " DARK, ticks);
    }
    if (cell->refers != NULL) {
        drawing_text(&canvas->drawing, x + width / 2, y + height - 6,
                     "font-size=\"12\" text-anchor=\"middle\" " DIM, cell->refers);
    }
    draw_marks(canvas, cell, x, y, width);
    draw_held(canvas, cell, x + CELL_PADDING, y + head + 3, width - 2 * CELL_PADDING);
}

/* A box for empty slots, or for entries without room. */
static void draw_gap(struct canvas *canvas, double x, double y, double height, uint64_t count,
                     const char *word)
{
    drawing_box(&canvas->drawing, x, y, GAP_WIDTH, height, 2,
                "fill=\"none\" stroke=\"#bbbbbb\" stroke-width=\"1\" stroke-dasharray=\"3 3\"");
    drawing_text(&canvas->drawing, x + GAP_WIDTH / 2, y + height / 2,
                 "font-size=\"11\" text-anchor=\"middle\" " DIM,
                 pool_format(&canvas->show->passing, "%" PRIu64, count));
    drawing_text(&canvas->drawing, x + GAP_WIDTH / 2, y + height / 2 + 13,
                 "font-size=\"11\" text-anchor=\"middle\" " DIM, word);
}

/* A box in a row: a cell, or a gap of `gap` cells. */
struct box {
    const struct show_cell *cell;
    uint64_t gap;
    double width;
};

/* Set the boxes of a part, in order; return the number. `boxes` has room for two of each cell and
 * one. */
static size_t lay_out(const struct canvas *canvas, const struct show_part *part, struct box *boxes)
{
    size_t count = 0;
    uint64_t expected = 0;
    for (size_t i = 0; i < part->cell_count; i++) {
        const struct show_cell *cell = &part->cells[i];
        if (!is_shown(part, cell)) {
            continue;
        }
        if (cell->index > expected && part->form != TL_FORM_TREE) {
            boxes[count++] = (struct box){.gap = cell->index - expected, .width = GAP_WIDTH};
        }
        expected = part->form != TL_FORM_TREE ? cell->index + 1 : expected + 1;
        boxes[count++] = (struct box){.cell = cell, .width = cell_width(canvas, part, cell)};
    }
    if (expected < part->cell_total) {
        boxes[count++] = (struct box){.gap = part->cell_total - expected, .width = GAP_WIDTH};
    }
    return count;
}

/* Draw a wheel or list: boxes side by side, in as many rows as they need. */
static void draw_row(struct canvas *canvas, const struct show_part *part)
{
    struct box *boxes = memory_new(2 * part->cell_count + 1, sizeof *boxes);
    size_t count = lay_out(canvas, part, boxes);
    bool wheel = part->form == TL_FORM_WHEEL;
    for (size_t first = 0; first < count;) {
        size_t last = first;
        double width = 0;
        size_t rows = 0;
        bool refers = false;
        while (last < count && (last == first || width + boxes[last].width <= ROW_WIDTH)) {
            const struct show_cell *cell = boxes[last].cell;
            width += boxes[last].width + CELL_GAP;
            rows = cell != NULL && chip_rows(cell) > rows ? chip_rows(cell) : rows;
            refers |= cell != NULL && cell->refers != NULL;
            last++;
        }
        double height = head_height(part) + (double)rows * (CHIP_HEIGHT + CHIP_GAP) + 4 +
                        (refers ? 16 : 0) + (wheel && rows == 0 ? 8 : 0);
        double x = MARGIN + INDENT;
        canvas->y += wheel ? 13 : 2; /* room for the pointer */
        for (size_t i = first; i < last; i++) {
            if (boxes[i].cell != NULL) {
                draw_cell(canvas, part, boxes[i].cell, x, canvas->y, boxes[i].width, height);
            } else {
                draw_gap(canvas, x, canvas->y, height, boxes[i].gap, wheel ? "empty" : "more");
            }
            x += boxes[i].width + CELL_GAP;
        }
        canvas->y += height + 4;
        first = last;
    }
    free(boxes);
}

/* --- trees ----------------------------------------------------------------------------------- */

struct tree_node {
    const struct show_cell *cell;
    const char *text;
    size_t parent; /* SIZE_MAX: none */
    unsigned depth;
    double children; /* their width */
    double width;    /* of its subtree */
    double x;        /* the middle */
};

/* The nodes of a part, by cell. */
struct tree {
    struct tree_node *nodes;
    size_t count;
    unsigned deepest;
};

static const char *tree_node_text(const struct canvas *canvas, const struct show_cell *cell)
{
    const char *ticks = short_ticks(canvas, cell);
    if (cell->held_count > 0) {
        return show_held_text(canvas->show, &cell->held[0]);
    }
    return pool_format(&canvas->show->passing, "%s%s%s", ticks,
                       ticks[0] != '\0' && cell->refers != NULL ? ": " : "",
                       cell->refers != NULL ? cell->refers : "");
}

/* Set texts and parents. Cells may come before their parents. */
static struct tree connect(const struct canvas *canvas, const struct show_part *part)
{
    struct tree tree = {memory_new(part->cell_count, sizeof *tree.nodes), part->cell_count, 0};
    for (size_t i = 0; i < tree.count; i++) {
        const struct show_cell *cell = &part->cells[i];
        tree.nodes[i] = (struct tree_node){
            .cell = cell, .text = tree_node_text(canvas, cell), .parent = SIZE_MAX};
        for (size_t k = 0; k < tree.count && cell->parent != TL_NEVER; k++) {
            if (part->cells[k].index == cell->parent) {
                tree.nodes[i].parent = k;
            }
        }
    }
    return tree;
}

/* Set the widths of the nodes below a parent, and its own width; return theirs together. */
static double measure_below(struct tree *tree, size_t parent)
{
    double all = 0;
    for (size_t i = 0; i < tree->count; i++) {
        struct tree_node *node = &tree->nodes[i];
        if (node->parent == parent) {
            double own = chip_width(node->text) + 8;
            node->children = measure_below(tree, i);
            node->width = node->children > own ? node->children : own;
            all += node->width;
        }
    }
    return all;
}

/* Place the nodes below a parent side by side, from `left` on. */
static void place_below(struct tree *tree, size_t parent, double left, unsigned depth)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct tree_node *node = &tree->nodes[i];
        if (node->parent == parent) {
            node->depth = depth;
            node->x = left + node->width / 2;
            tree->deepest = depth > tree->deepest ? depth : tree->deepest;
            place_below(tree, i, node->x - node->children / 2, depth + 1);
            left += node->width;
        }
    }
}

static void draw_tree_node(struct canvas *canvas, const struct tree_node *node, double y)
{
    const struct show_cell *cell = node->cell;
    double width = chip_width(node->text);
    if (cell->held_count > 0) {
        const struct show_held *held = &cell->held[0];
        draw_chip(canvas, node->x - width / 2, y, width, held->id, node->text, held->changed,
                  (held->marks & TL_MARK_STALE) != 0);
        return;
    }
    drawing_box(&canvas->drawing, node->x - width / 2, y, width, CHIP_HEIGHT, 5,
                "fill=\"#fbfbfb\" stroke=\"#555555\" stroke-width=\"1\"");
    drawing_text(&canvas->drawing, node->x, y + CHIP_HEIGHT - 6,
                 "font-size=\"12\" text-anchor=\"middle\" " DARK, node->text);
}

/* Draw as a tree or, if that is wider than the page, as rows of entries in the order of the
 * walk. */
static void draw_tree(struct canvas *canvas, const struct show_part *part)
{
    struct tree tree = connect(canvas, part);
    if (measure_below(&tree, SIZE_MAX) > ROW_WIDTH || part->cell_total > tree.count) {
        draw_row(canvas, part);
    } else if (tree.count > 0) {
        double level = LEVEL_HEIGHT * 0.8;
        place_below(&tree, SIZE_MAX, MARGIN + INDENT - 4, 0);
        canvas->y += 6;
        for (size_t i = 0; i < tree.count; i++) {
            const struct tree_node *node = &tree.nodes[i];
            if (node->parent != SIZE_MAX) {
                const struct tree_node *up = &tree.nodes[node->parent];
                drawing_line(&canvas->drawing, up->x, canvas->y + up->depth * level + CHIP_HEIGHT,
                             node->x, canvas->y + node->depth * level,
                             "stroke=\"#555555\" stroke-width=\"1\"");
            }
        }
        for (size_t i = 0; i < tree.count; i++) {
            draw_tree_node(canvas, &tree.nodes[i], canvas->y + tree.nodes[i].depth * level);
        }
        canvas->y += tree.deepest * level + CHIP_HEIGHT + 6;
    }
    free(tree.nodes);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Draw a part, with its name and the kind of its cells left of it. */
static void draw_part(struct canvas *canvas, const struct show_part *part)
{
    bool wheel = part->form == TL_FORM_WHEEL;
    const char *text = wheel                   ? show_slots(canvas->show, part)
                       : part->cell_total == 0 ? "empty"
                                               : "";
    double line = canvas->y + (wheel ? 28 : 20);
    drawing_text(&canvas->drawing, MARGIN, line, "font-size=\"12\" font-weight=\"bold\" " DARK,
                 part->name);
    if (text[0] != '\0') {
        drawing_text(&canvas->drawing, MARGIN, line + 15, "font-size=\"11\" " DIM, text);
    }
    if (part->form == TL_FORM_TREE) {
        draw_tree(canvas, part);
    } else {
        draw_row(canvas, part);
    }
    double least = line + (text[0] != '\0' ? 22 : 8);
    canvas->y = canvas->y > least ? canvas->y : least;
}

/* Draw the expired timers as chips after a heading, in as many rows as they need. */
static void draw_fired(struct canvas *canvas, const struct show_step *step)
{
    struct show *show = canvas->show;
    double x = MARGIN + INDENT;
    canvas->y += 8;
    drawing_text(&canvas->drawing, MARGIN, canvas->y + CHIP_HEIGHT - 6,
                 "font-size=\"12\" font-weight=\"bold\" " DARK, "fires");
    for (size_t i = 0; i < step->fired_count; i++) {
        const char *text = pool_format(&show->passing, "%s@%" PRIu64,
                                       show_name(show, step->fired[i].id), step->fired[i].deadline);
        double width = chip_width(text);
        if (x + width > PAGE_WIDTH - MARGIN) {
            x = MARGIN + INDENT;
            canvas->y += CHIP_HEIGHT + CHIP_GAP;
        }
        draw_chip(canvas, x, canvas->y, width, step->fired[i].id, text, true, false);
        x += width + CHIP_GAP;
    }
    canvas->y += CHIP_HEIGHT + CHIP_GAP;
}

/* Return whether a level is omitted: of many, those without timers in all drawn steps. */
static bool is_left_out(const struct canvas *canvas, const struct show_step *step,
                        const struct show_part *part)
{
    if (step->part_count <= PARTS_SHOWN_ALL || part->form != TL_FORM_WHEEL) {
        return false;
    }
    for (size_t i = canvas->first; i < canvas->first + canvas->count; i++) {
        const struct show_step *other = &canvas->show->steps[i];
        for (size_t k = 0; k < other->part_count; k++) {
            bool same = strcmp(other->parts[k].name, part->name) == 0;
            for (size_t c = 0; same && c < other->parts[k].cell_count; c++) {
                if (other->parts[k].cells[c].held_total > 0) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void draw_step(struct canvas *canvas, size_t index)
{
    const struct show_step *step = &canvas->show->steps[index];
    drawing_line(&canvas->drawing, MARGIN, canvas->y, PAGE_WIDTH - MARGIN, canvas->y,
                 "stroke=\"#cccccc\" stroke-width=\"1\"");
    canvas->y += 22;
    drawing_text(&canvas->drawing, MARGIN, canvas->y, "font-size=\"15\" font-weight=\"bold\" " DARK,
                 pool_format(&canvas->show->passing, "%zu. %s", index, step->caption));
    drawing_text(&canvas->drawing, PAGE_WIDTH - MARGIN, canvas->y,
                 "font-size=\"12\" text-anchor=\"end\" " DIM, show_facts(canvas->show, step));
    if (step->outcome != NULL) {
        canvas->y += 18;
        drawing_text(&canvas->drawing, MARGIN, canvas->y,
                     "font-size=\"12\" font-weight=\"bold\" fill=\"#a03c00\"", step->outcome);
        canvas->y += 6;
    }
    canvas->y += 6; /* keep a pointer off the caption */
    if (step->fired_count > 0) {
        draw_fired(canvas, step);
    }
    for (size_t i = 0; i < step->part_count; i++) {
        if (is_left_out(canvas, step, &step->parts[i])) {
            canvas->left_out = true;
        } else {
            draw_part(canvas, &step->parts[i]);
        }
    }
    canvas->y += 10;
}

/* Explain the drawn marks. */
static void draw_legend(struct canvas *canvas, size_t first, size_t count)
{
    uint32_t marks = 0;
    bool wheel = false;
    for (size_t i = first; i < first + count; i++) {
        const struct show_step *step = &canvas->show->steps[i];
        for (size_t k = 0; k < step->part_count; k++) {
            wheel |= step->parts[k].form == TL_FORM_WHEEL;
            for (size_t c = 0; c < step->parts[k].cell_count; c++) {
                marks |= step->parts[k].cells[c].marks;
                for (size_t h = 0; h < step->parts[k].cells[c].held_count; h++) {
                    marks |= step->parts[k].cells[c].held[h].marks;
                }
            }
        }
    }
    double x = MARGIN;
    double y = canvas->y;
    struct drawing *drawing = &canvas->drawing;
    const char *font = "font-size=\"11\" " DIM;
    drawing_text(drawing, x, y, font,
                 "a@5: timer a, to fire at tick 5; bold: put there in this step");
    x += 390;
    if (wheel) {
        drawing_pointer(drawing, x + 5, y, 9, "fill=\"#111111\"");
        drawing_text(drawing, x + 16, y, font, "the hand");
        x += 90;
    }
    if ((marks & TL_MARK_QUEUED) != 0) {
        drawing_box(drawing, x, y - 9, 9, 9, 0,
                    "fill=\"#d55e00\" stroke=\"#111111\" stroke-width=\"0.6\"");
        drawing_text(drawing, x + 14, y, font, "waits in the delay queue");
        x += 180;
    }
    if ((marks & TL_MARK_FLAGGED) != 0) {
        drawing_dot(drawing, x + 4.5, y - 4.5, 4.5,
                    "fill=\"#0072b2\" stroke=\"#111111\" stroke-width=\"0.6\"");
        drawing_text(drawing, x + 14, y, font, "its bit is set");
        x += 120;
    }
    if ((marks & TL_MARK_STALE) != 0) {
        drawing_text(drawing, x, y, font, "dashed: stale");
    }
    canvas->y += 16;
    if (canvas->left_out) {
        drawing_text(drawing, MARGIN, canvas->y, font,
                     "Levels that hold nothing in any of these steps are not drawn.");
        canvas->y += 16;
    }
}

void show_draw(struct show *show, size_t first, size_t count, FILE *stream)
{
    struct canvas canvas = {.show = show, .first = first, .count = count, .y = MARGIN + 14};
    drawing_open(&canvas.drawing);
    drawing_text(&canvas.drawing, MARGIN, canvas.y, "font-size=\"17\" font-weight=\"bold\" " DARK,
                 show->title);
    canvas.y += 18;
    drawing_text(&canvas.drawing, MARGIN, canvas.y, "font-size=\"12\" " DIM, show->algo->summary);
    if (show->algo->walk == NULL) {
        canvas.y += 18;
        drawing_text(&canvas.drawing, MARGIN, canvas.y, "font-size=\"12\" " DIM,
                     "It does not show its inside: this is its state as seen from outside.");
    }
    canvas.y += 12;
    for (size_t i = first; i < first + count; i++) {
        draw_step(&canvas, i);
    }
    canvas.y += 12;
    draw_legend(&canvas, first, count);
    drawing_write(&canvas.drawing, PAGE_WIDTH, canvas.y + 6, show->title,
                  pool_format(&show->passing,
                              "The inside of %s after each of %zu steps, from '%s' to '%s'.",
                              show->title, count, show->steps[first].caption,
                              show->steps[first + count - 1].caption),
                  stream);
    drawing_close(&canvas.drawing);
    pool_free(&show->passing);
}

void show_page_begin(FILE *stream)
{
    (void)fputs(text_show_page_html, stream);
}

void show_page_add(const char *drawing, size_t bytes, FILE *stream)
{
    (void)fputs("<figure>\n", stream);
    (void)fwrite(drawing, 1, bytes, stream);
    (void)fputs("</figure>\n", stream);
}
