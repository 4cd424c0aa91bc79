#include "standard_streams.h"

#include "temporary_file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_standard_stream(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool write_all(int to, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = write(to, bytes, count);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        }
    }
    return true;
}

static bool not_stored(struct error *error)
{
    return error_set(error,
                     "standard input: could not be stored in $TMPDIR or /tmp: %s; set TMPDIR to a "
                     "folder with more room",
                     strerror(errno));
}

/* Copy standard input to its end, or only its beginning if that is not `magic`: input that is no
 * trace may be endless. */
static bool spool(int to, const char *magic, size_t magic_bytes, struct error *error)
{
    char buffer[1 << 16];
    size_t seen = 0;
    for (;;) {
        ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
        if (n == 0) {
            return true;
        }
        for (ssize_t i = 0; i < n && seen < magic_bytes; i++) {
            if (buffer[i] != magic[seen++]) {
                return write_all(to, "", 1); /* which no file of magic begins with */
            }
        }
        if (n < 0 && errno != EINTR) {
            return error_set(error, "standard input: cannot be read: %s", strerror(errno));
        }
        if (n > 0 && !write_all(to, buffer, (size_t)n)) {
            return not_stored(error);
        }
    }
}

bool standard_input_seekable(const void *magic, size_t magic_bytes, struct error *error)
{
    struct stat info;
    if (fstat(STDIN_FILENO, &info) != 0) {
        return error_set(error, "standard input: cannot be read: %s", strerror(errno));
    }
    if (S_ISREG(info.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) {
        return true;
    }
    if (isatty(STDIN_FILENO)) {
        return error_set(error, "standard input: is a terminal; pipe a trace into this command, "
                                "or name a file");
    }
    int file = temporary_open_nameless(NULL);
    bool good = file >= 0 ? spool(file, magic, magic_bytes, error) : not_stored(error);
    if (good && (lseek(file, 0, SEEK_SET) != 0 || dup2(file, STDIN_FILENO) < 0)) {
        good = error_set(error, "standard input: %s", strerror(errno));
    }
    (void)close(file);
    return good;
}

bool standard_output_takes_binary(struct error *error)
{
    return !isatty(STDOUT_FILENO) ||
           error_set(error, "standard output: is a terminal, and a trace is binary; redirect it "
                            "to a file, or pipe it into a command");
}

bool standard_output_send(FILE *from, struct error *error)
{
    char buffer[1 << 16];
    struct sigaction before;
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignored, &before);
    rewind(from);
    bool good = fflush(stdout) == 0;
    size_t n = 0;
    while (good && (n = fread(buffer, 1, sizeof buffer, from)) > 0) {
        good = write_all(STDOUT_FILENO, buffer, n);
    }
    good = good && !ferror(from);
    int why = errno;
    (void)sigaction(SIGPIPE, &before, NULL);
    return good || error_set(error, "standard output: could not be written: %s", strerror(why));
}
