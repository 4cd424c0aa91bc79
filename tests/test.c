/* What several tests ask: see test.h. */
#include "stand.h"

#include <dirent.h>

bool test_is_available(const struct tl_algo *algo)
{
    struct stand s;
    enum tl_status status = stand_try(&s, algo, "", (struct tl_config){.capacity = 1});
    if (status == TL_OK) {
        stand_close(&s);
    }
    return status != TL_ERR_UNAVAILABLE;
}

uint64_t test_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t test_draw(uint64_t *state)
{
    return test_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

unsigned test_files_in(const char *folder)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        n += entry->d_name[0] != '.';
    }
    (void)closedir(dir);
    return n;
}
