#include "near_program.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool near_program_find(const char *const places[2], const char *name, char path[PATH_MAX],
                       struct error *error)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) {
        return error_set(error,
                         "the program's own path cannot be determined: /proc/self/exe: %s; if "
                         "/proc is not mounted, run `mount -t proc proc /proc`",
                         strerror(errno));
    }
    program[length] = '\0';
    const char *folder = dirname(program);
    for (int i = 0; i < 2; i++) {
        char candidate[PATH_MAX];
        if (snprintf(candidate, sizeof candidate, "%s/%s/%s", folder, places[i], name) <
                (int)sizeof candidate &&
            realpath(candidate, path) != NULL) {
            return true;
        }
    }
    return error_set(error, "%s is neither in %s/%s nor in %s/%s; build or install timerlab again",
                     name, folder, places[0], folder, places[1]);
}
