/* Plug-ins: shared objects, validated before they are used. */
#include "plugin.h"

#include "registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tl_plugin {
    void *handle;
    struct tl_algo algo; /* a copy with this `name` */
    char *file;
    char *name;
};

/* Opening a pipe would wait. */
static bool is_file(const char *file, const char *path, char *why, size_t why_bytes)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        (void)snprintf(why, why_bytes, "%s: no such plug-in, or it cannot be read (%s)", file,
                       strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        (void)snprintf(why, why_bytes, "%s: is a folder, a device or a pipe, not a shared object",
                       file);
    } else {
        return true;
    }
    return false;
}

/* Return the descriptor of a loaded object; NULL: it cannot be used. */
static const struct tl_algo *find_algo(void *handle, const char *file, char *why, size_t why_bytes)
{
    const struct tl_algo *algo = dlsym(handle, "timerlab_algo");
    char reason[640];
    if (algo == NULL) {
        (void)snprintf(why, why_bytes,
                       "%s: no symbol timerlab_algo; a plug-in ends with TL_ALGO(...) = {...};",
                       file);
        return NULL;
    }
    if (tl_algo_validate(algo, reason, sizeof reason) != TL_OK) {
        (void)snprintf(why, why_bytes, "%s: %s", file, reason);
        return NULL;
    }
    return algo;
}

/* Load plugin->file into the rest of *plugin; `name` is the requested one, or NULL. On failure the
 * caller closes it. */
static bool load_plugin(struct tl_plugin *plugin, const char *name, char *why, size_t why_bytes)
{
    if (plugin->file[0] == '\0') {
        (void)snprintf(why, why_bytes,
                       "the path of the plug-in is empty; give that of a shared object, as in "
                       "./my-wheel.so");
        return false;
    }
    /* dlopen searches the system's folders for a name without a slash. */
    size_t path_bytes = strlen(plugin->file) + 3;
    char *path = malloc(path_bytes);
    if (path == NULL) {
        (void)snprintf(why, why_bytes, "out of memory");
        return false;
    }
    (void)snprintf(path, path_bytes, "%s%s", strchr(plugin->file, '/') == NULL ? "./" : "",
                   plugin->file);
    bool loadable = is_file(plugin->file, path, why, why_bytes);
    if (loadable) {
        plugin->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    free(path);
    if (!loadable) {
        return false;
    }
    if (plugin->handle == NULL) {
        (void)snprintf(why, why_bytes,
                       "%s: cannot be loaded: %s; build a plug-in with cc -shared -fPIC -O2",
                       plugin->file, dlerror());
        return false;
    }
    const struct tl_algo *algo = find_algo(plugin->handle, plugin->file, why, why_bytes);
    if (algo == NULL) {
        return false;
    }
    plugin->name = strdup(name != NULL ? name : algo->name);
    if (plugin->name == NULL) {
        (void)snprintf(why, why_bytes, "out of memory");
        return false;
    }
    plugin->algo = *algo;
    plugin->algo.name = plugin->name;
    char reason[640];
    if (tl_algo_validate(&plugin->algo, reason, sizeof reason) != TL_OK) {
        (void)snprintf(why, why_bytes, "%s as '%s': %s", plugin->file, plugin->name, reason);
        return false;
    }
    return true;
}

struct tl_plugin *tl_plugin_open(const char *spec, char *why, size_t why_bytes)
{
    struct tl_plugin *plugin = calloc(1, sizeof *plugin);
    char *file = strdup(spec);
    if (plugin == NULL || file == NULL) {
        (void)snprintf(why, why_bytes, "out of memory");
        free(plugin);
        free(file);
        return NULL;
    }
    plugin->file = file;
    /* A comma names the plug-in again, unless it belongs to the file's own name. */
    const char *name = NULL;
    char *comma = strrchr(file, ',');
    if (comma != NULL && access(file, F_OK) != 0) {
        *comma = '\0';
        name = comma + 1;
    }
    if (!load_plugin(plugin, name, why, why_bytes)) {
        tl_plugin_close(plugin);
        return NULL;
    }
    return plugin;
}

const struct tl_algo *tl_plugin_algo(const struct tl_plugin *plugin)
{
    return &plugin->algo;
}

const char *tl_plugin_file(const struct tl_plugin *plugin)
{
    return plugin->file;
}

void tl_plugin_close(struct tl_plugin *plugin)
{
    if (plugin == NULL) {
        return;
    }
    if (plugin->handle != NULL) {
        (void)dlclose(plugin->handle);
    }
    free(plugin->file);
    free(plugin->name);
    free(plugin);
}
