#include "markup.h"

void markup_write_character(FILE *stream, char c)
{
    switch (c) {
    case '&':
        (void)fputs("&amp;", stream);
        break;
    case '<':
        (void)fputs("&lt;", stream);
        break;
    case '>':
        (void)fputs("&gt;", stream);
        break;
    default:
        /* XML knows no other control characters. */
        (void)fputc((unsigned char)c >= ' ' || c == '\t' || c == '\n' ? c : '?', stream);
    }
}
