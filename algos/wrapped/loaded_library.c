#include "loaded_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static bool find_functions(void *handle, const struct loaded_function *function)
{
    for (; function->name != NULL; function++) {
        void *address = dlsym(handle, function->name);
        if (address == NULL) {
            return false;
        }
        memcpy(function->pointer, &address, sizeof address);
    }
    return true;
}

/* The loader's own words are all there is to tell it by. */
static bool is_short_of_memory(const char *why)
{
    return why == NULL || strstr(why, "memory") != NULL;
}

void *tl_library_load(struct loaded_library *library)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock);
    bool is_short = false;
    for (size_t i = 0; library->handle == NULL && !is_short && library->files[i] != NULL; i++) {
        void *handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
        if (handle != NULL && find_functions(handle, library->functions)) {
            library->handle = handle;
        } else {
            is_short = is_short_of_memory(dlerror());
            if (handle != NULL) {
                (void)dlclose(handle);
            }
        }
    }
    void *handle = library->handle;
    (void)pthread_mutex_unlock(&lock);
    errno = is_short ? ENOMEM : ENOENT;
    return handle;
}
