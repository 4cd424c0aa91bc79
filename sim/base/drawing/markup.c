#include "markup.h"

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
