#include "drawing.h"

#include "memory.h"
#include "terminal.h"

#include <errno.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void drawing_open(struct drawing *drawing)
{
    *drawing = (struct drawing){0};
    drawing->stream = memory_stream(&drawing->content, &drawing->bytes);
}

void markup_write_character(FILE *stream, char c)
{
    /* XML knows no other control characters. */
    char plain = (unsigned char)c >= ' ' || c == '\t' || c == '\n' ? c : '?';
    (void)fputs(c == '&'   ? "&amp;"
                : c == '<' ? "&lt;"
                : c == '>' ? "&gt;"
                           : (char[]){plain, '\0'},
                stream);
}

static void write_escaped(FILE *stream, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        markup_write_character(stream, *c);
    }
}

void drawing_box(struct drawing *drawing, double x, double y, double width, double height,
                 double radius, const char *style)
{
    (void)fprintf(drawing->stream,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" %s/>\n",
                  x, y, width, height, radius, style);
}

void drawing_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
                  const char *style)
{
    (void)fprintf(drawing->stream, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n",
                  x1, y1, x2, y2, style);
}

void drawing_pointer(struct drawing *drawing, double x, double y, double size, const char *style)
{
    (void)fprintf(drawing->stream, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" %s/>\n", x, y,
                  x - size * 0.6, y - size, x + size * 0.6, y - size, style);
}

void drawing_dot(struct drawing *drawing, double x, double y, double radius, const char *style)
{
    (void)fprintf(drawing->stream, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" %s/>\n", x, y,
                  radius, style);
}

void drawing_text(struct drawing *drawing, double x, double y, const char *style, const char *text)
{
    (void)fprintf(drawing->stream, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
    write_escaped(drawing->stream, text);
    (void)fputs("</text>\n", drawing->stream);
}

double drawing_text_width(const char *text, double font_size)
{
    return (double)text_width(text, strlen(text)) * font_size * 0.6;
}

void drawing_write(struct drawing *drawing, double width, double height, const char *title,
                   const char *description, FILE *stream)
{
    if (fflush(drawing->stream) != 0 || ferror(drawing->stream)) {
        memory_end();
    }
    (void)fprintf(stream,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
                  "font-family=\"DejaVu Sans, Verdana, sans-serif\">\n<title>",
                  width, height, width, height);
    write_escaped(stream, title);
    (void)fputs("</title>\n<desc>", stream);
    write_escaped(stream, description);
    (void)fputs("</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", stream);
    (void)fwrite(drawing->content, 1, drawing->bytes, stream);
    (void)fputs("</svg>\n", stream);
}

/* A tag of a plain drawing. No attribute is an event's name; no value begins like an address. */
#define TAG                                                                                        \
    "^</?(circle|clipPath|defs|desc|ellipse|feComposite|feFlood|filter|g|line|path|polygon|"       \
    "polyline|rect|svg|text|title|tspan|use)"                                                      \
    "([ \t\n]+(xmlns(:xlink)?=\"http://www.w3.org/[0-9a-z/]+\"|"                                   \
    "([a-np-z]|o[a-mo-z])[a-zA-Z0-9:-]* *= *(\"[^\"<&:/]*\"|'[^'<&:/]*')))*[ \t\n]*/?>$"

bool drawing_is_plain(const char *svg)
{
    regex_t tag;
    size_t depth = 0;
    bool plain = true;
    if (regcomp(&tag, TAG, REG_EXTENDED) != 0) {
        memory_end();
    }
    for (const char *at = svg; plain && at != NULL; at = strchr(at + 1, '<')) {
        size_t last = strcspn(at, ">");
        regmatch_t range = {0, (regoff_t)last + 1};
        errno = 0; /* its result alone does not distinguish missing memory from no match */
        bool found = regexec(&tag, at, 1, &range, REG_STARTEND) == 0;
        (void)memory_unless_short(found ? &tag : NULL);
        plain = found && (depth > 0 || at == svg);
        depth += at[1] == '/' ? SIZE_MAX : at[last - 1] != '/';
    }
    regfree(&tag);
    return plain && depth == 0;
}

void drawing_close(struct drawing *drawing)
{
    if (drawing->stream != NULL) {
        (void)fclose(drawing->stream);
    }
    free(drawing->content);
    *drawing = (struct drawing){0};
}
