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

void *tl_library_load(struct loaded_library *library)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock);
    int why = 0;
    for (size_t i = 0; library->handle == NULL && why != ENOMEM && library->files[i] != NULL; i++) {
        errno = 0;
        void *handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
        why = errno;
        if (handle != NULL && find_functions(handle, library->functions)) {
            library->handle = handle;
        } else if (handle != NULL) {
            (void)dlclose(handle);
        }
    }
    void *handle = library->handle;
    (void)pthread_mutex_unlock(&lock);
    errno = why;
    return handle;
}
