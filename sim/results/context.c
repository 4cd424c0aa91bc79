#include "context.h"

#include "build_info.h"
#include "clock.h"
#include "json_text.h"
#include "memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Read the first line of a file that begins with `key`: the value after its colon, or, without a key,
 * the line. `otherwise` if there is none. */
static void read_line(const char *path, const char *key, const char *otherwise, char *text,
                      size_t text_bytes)
{
    char line[512];
    FILE *file = memory_unless_short(fopen(path, "r"));
    (void)snprintf(text, text_bytes, "%s", otherwise);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = key[0] != '\0' ? strchr(line, ':') : NULL;
        if (strncmp(line, key, strlen(key)) == 0 && (colon != NULL || key[0] == '\0')) {
            const char *value = colon != NULL ? colon + 1 + strspn(colon + 1, " \t") : line;
            (void)snprintf(text, text_bytes, "%.*s", (int)strcspn(value, "\n"), value);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

json_t *context_command_line(int argc, char *const *argv)
{
    json_t *words = json_array();
    for (int i = 0; i < argc; i++) {
        (void)json_array_append_new(words, json_text(argv[i]));
    }
    return words;
}

json_t *context_json(int argc, char *const *argv)
{
    char cpu[256];
    char governor[64];
    char huge_pages[64];
    char date[64];
    char kernel[512];
    struct utsname system;
    time_t now = time(NULL);
    struct tm utc;
    read_line("/proc/cpuinfo", "model name", "unknown", cpu, sizeof cpu);
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", "none", governor,
              sizeof governor);
    read_line("/sys/kernel/mm/transparent_hugepage/enabled", "", "none", huge_pages,
              sizeof huge_pages);
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    if (uname(&system) == 0) {
        (void)snprintf(kernel, sizeof kernel, "%s %s %s", system.sysname, system.release,
                       system.machine);
    } else {
        (void)snprintf(kernel, sizeof kernel, "unknown");
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:f, s:o, s:s}", "version",
                     BUILD_VERSION, "commit", BUILD_COMMIT, "compiler", BUILD_COMPILER, "flags",
                     BUILD_FLAGS, "build_type", BUILD_TYPE, "cpu", cpu, "cpus",
                     (int)sysconf(_SC_NPROCESSORS_ONLN), "kernel", kernel, "governor", governor,
                     "huge_pages", huge_pages, "clock_overhead_ns", clock_overhead_ns(),
                     "command_line", context_command_line(argc, argv), "date", date);
}

const json_t *context_trace(const json_t *context, const char *name)
{
    size_t i = 0;
    const json_t *trace = NULL;
    json_array_foreach(json_object_get(context, "traces"), i, trace)
    {
        const char *known = json_string_value(json_object_get(trace, "name"));
        if (known != NULL && strcmp(known, name) == 0) {
            return trace;
        }
    }
    return NULL;
}
