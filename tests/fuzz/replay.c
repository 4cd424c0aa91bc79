/* Replaces the fuzzing engine: runs a target on every file of the given folders, so that a corpus
 * is an ordinary test. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    uint8_t *data = NULL;
    size_t size = 0;
    size_t room = 0;
    size_t n = 0;
    do {
        size += n;
        if (size == room) {
            room = room * 2 + 4096;
            uint8_t *more = realloc(data, room);
            if (more == NULL) {
                perror(path);
                exit(1);
            }
            data = more;
        }
        n = fread(data + size, 1, room - size, file);
    } while (n > 0);
    (void)fclose(file);
    /* An exact copy: reading one byte further is then noticed by a sanitizer. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL) {
        perror(path);
        exit(1);
    }
    memcpy(exact, data, size);
    free(data);
    (void)fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    int status = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder == NULL) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] != '.') {
                status |= run_file(path);
                files++;
            }
        }
        (void)closedir(folder);
    }
    (void)fprintf(stderr, "%u files\n", files);
    return status != 0 || files == 0;
}
