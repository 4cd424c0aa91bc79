#include "plots_folder.h"

#include "near_program.h"

bool plots_find(const char *name, char path[PATH_MAX], struct error *error)
{
    static const char *const places[] = {TL_PLOTS_BUILT, TL_PLOTS_INSTALLED};
    return near_program_find(places, name, path, error);
}
