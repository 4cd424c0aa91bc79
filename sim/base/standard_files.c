#include "standard_files.h"

#include "memory.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void standard_files_fill(void)
{
    /* open returns the lowest free descriptor. One opened for reading refuses writes. */
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != file) {
            break;
        }
    }
    (void)signal(SIGXFSZ, SIG_IGN);
}

size_t standard_files_plain(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t more = *at < 0x80 ? 0 : *at >= 0xC2 && *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : 3;
    if (*at < ' ' || *at == 0x7F || (*at >= 0x80 && *at < 0xC2) || *at > 0xF4) {
        return 0;
    }
    for (size_t i = 1; i <= more; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    /* C1 control characters, UTF-16 surrogates, and overlong encodings. */
    bool bad = (*at == 0xC2 && at[1] < 0xA0) || (*at == 0xED && at[1] >= 0xA0) ||
               (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xF0 && at[1] < 0x90) ||
               (*at == 0xF4 && at[1] >= 0x90);
    /* What turns the direction of the text after it, or ends a line: U+200E, U+200F, U+2028 to
     * U+202E, U+2066 to U+2069. */
    bool turns =
        *at == 0xE2 &&
        ((at[1] == 0x80 && (at[2] == 0x8E || at[2] == 0x8F || (at[2] >= 0xA8 && at[2] <= 0xAE))) ||
         (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9));
    return bad || turns ? 0 : more + 1;
}

void standard_files_say(FILE *stream, const char *text)
{
    while (*text != '\0') {
        bool kept = *text == '\t' || strcmp(text, "\n") == 0;
        size_t bytes = kept ? 1 : standard_files_plain(text);
        if (bytes == 0) {
            (void)fprintf(stream, "\\x%02X", (unsigned)(unsigned char)*text++);
        }
        (void)fwrite(text, 1, bytes, stream);
        text += bytes;
    }
}

char *standard_files_line(const char *text)
{
    char *plain = NULL;
    size_t bytes;
    FILE *memory = memory_stream(&plain, &bytes);
    standard_files_say(memory, text);
    memory_stream_close(memory);
    return plain;
}

void standard_files_tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_format_list(format, arguments);
    va_end(arguments);
    char *plain = standard_files_line(text);
    text_wrap(stderr, plain, terminal_width(stderr), 0, 2);
    free(plain);
    free(text);
}

int stream_error(FILE *stream)
{
    if (fflush(stream) != 0) {
        return errno;
    }
    if (!ferror(stream)) {
        return 0;
    }
    /* An earlier write failed, and its errno is lost. Its cause usually persists: a full disk, a
     * limit. */
    return write(fileno(stream), "\n", 1) < 0 ? errno : EIO;
}

int stream_sync(FILE *stream)
{
    int why = stream_error(stream);
    if (why == 0 && fsync(fileno(stream)) != 0) {
        why = errno == EINVAL || errno == EROFS ? 0 : errno;
    }
    return why;
}

void standard_files_check(int status, void *program)
{
    int cause = stream_error(stdout);
    if (cause != 0) {
        (void)fprintf(stderr, "%s: standard output could not be written completely: %s\n",
                      (const char *)program, strerror(cause));
        if (status == 0) {
            _exit(1);
        }
    }
}
