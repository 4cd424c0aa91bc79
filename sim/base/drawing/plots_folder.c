#include "plots_folder.h"

#include "near_program.h"

#include <stdio.h>
#include <string.h>

bool plots_find(const char *name, char path[PATH_MAX], struct error *error)
{
    static const char *const places[] = {TL_PLOTS_BUILT, TL_PLOTS_INSTALLED};
    return near_program_find(places, name, path, error);
}

void plots_name(const char *path, char name[PLOTS_NAME_BYTES])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *slash = strrchr(path, '/');
    const char *last = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(last, '.');
    size_t length = dot != NULL && dot > last ? (size_t)(dot - last) : strlen(last);
    (void)snprintf(name, PLOTS_NAME_BYTES, "%.*s", (int)length, last);
    for (char *c = name; *c != '\0'; c++) {
        *c = strchr(letters, *c) != NULL ? *c : '_';
    }
}
