#include "standard_files.h"

#include "stream_error.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void standard_files_fill(void)
{
    /* open takes the lowest place that is free. What is opened for reading refuses writes. */
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != file) {
            return;
        }
    }
}

void standard_files_say(FILE *stream, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        /* In UTF-8 the control characters of C1 begin with a byte of their own. */
        bool c1 = *at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0;
        if (c1 || (*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7F) {
            (void)fprintf(stream, "\\x%02X", c1 ? *++at : *at);
        } else {
            (void)fputc(*at, stream);
        }
    }
}

void standard_files_tell(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) >= 0) {
        standard_files_say(stderr, text);
        free(text);
    }
    va_end(arguments);
}

bool standard_files_written(const char *program)
{
    int cause = stream_error(stdout);
    if (cause != 0) {
        (void)fprintf(stderr, "%s: standard output could not be written completely: %s\n", program,
                      strerror(cause));
    }
    return cause == 0;
}

void standard_files_check(int status, void *program)
{
    if (!standard_files_written(program) && status == 0) {
        _exit(1);
    }
}
