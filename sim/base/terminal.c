#include "terminal.h"

#include "memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define UNKNOWN_WIDTH 80 /* of a terminal that does not say */

static bool wide;

void terminal_set_wide(void)
{
    wide = true;
}

bool terminal_is_wide(void)
{
    return wide;
}

size_t terminal_width(FILE *stream)
{
    struct winsize size = {0};
    int file = fileno(stream);
    if (wide || file < 0 || !isatty(file)) {
        return 0;
    }
    if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *columns = getenv("COLUMNS");
    size_t asked = columns != NULL ? strtoul(columns, NULL, 10) : 0;
    return asked > 0 ? asked : UNKNOWN_WIDTH;
}

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

size_t text_width(const char *text, size_t bytes)
{
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++) {
        width += begins_character(text[i]);
    }
    return width;
}

size_t text_fit(const char *text, size_t bytes, size_t width)
{
    size_t indent = strspn(text, " ");
    size_t blank = 0;
    size_t characters = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == ' ' && i > indent && (i + 1 == bytes || text[i + 1] != '%')) {
            blank = i;
        }
        characters += begins_character(text[i]);
        if (characters > width && blank > 0) {
            return blank;
        }
    }
    return bytes;
}

void text_wrap(FILE *stream, const char *text, size_t width, size_t first, size_t rest)
{
    while (*text != '\0') {
        size_t line = strcspn(text, "\n");
        size_t indent = first;
        while (line > 0) {
            size_t room = width > indent ? width - indent : 1;
            size_t fit = width > 0 ? text_fit(text, line, room) : line;
            (void)fprintf(stream, "%*s%.*s", (int)indent, "", (int)fit, text);
            while (fit < line && text[fit] == ' ') {
                fit++;
            }
            text += fit;
            line -= fit;
            (void)fputs(line > 0 ? "\n" : "", stream);
            indent = rest;
        }
        if (*text == '\n') {
            (void)fputc(*text++, stream);
        }
    }
}

FILE *wrapped_begin(struct wrapped *wrapped, FILE *stream, size_t rest)
{
    *wrapped = (struct wrapped){.stream = stream, .rest = rest};
    wrapped->memory = memory_stream(&wrapped->text, &wrapped->bytes);
    return wrapped->memory;
}

void wrapped_end(struct wrapped *wrapped)
{
    memory_stream_close(wrapped->memory);
    text_wrap(wrapped->stream, wrapped->text, terminal_width(wrapped->stream), 0, wrapped->rest);
    free(wrapped->text);
}
