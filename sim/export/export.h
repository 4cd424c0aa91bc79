/*
 * export.h: a structure as C files that need nothing of timerlab, cut from the source that is
 * measured.
 *
 * What is not called from outside (steps shown, invariants verified, the descriptor) falls away of
 * itself; counters are resolved as where time is measured. Nothing is written again but the
 * functions that the header declares, each of which calls one hook.
 */
#ifndef SIM_EXPORT_EXPORT_H
#define SIM_EXPORT_EXPORT_H

#include "catalog.h"
#include "error.h"

#include <stdbool.h>

struct export_request {
    const struct contender *contender;
    const char *folder;  /* made if it is missing */
    const char *prefix;  /* of all names that are seen outside; NULL: as the structure is called */
    const char *command; /* what the files say made them */
    bool intrusive;      /* timers lie in the caller's records */
    bool nodes;          /* and, also the header with which they need no array; with intrusive */
    bool cpp;            /* also the header for C++ */
    bool plugin;         /* also the file that makes a plug-in of it */
};

/* Whether this structure can be written; if not, `error` says why, and what can be done. */
bool export_is_possible(const struct contender *contender, bool intrusive, struct error *error);

/* Whether names can begin so: lower-case letters, digits and underscores, as C wants them. */
bool export_prefix_is_good(const char *prefix);

/* PREFIX.h and PREFIX.c, and PREFIX.hpp, PREFIX_nodes.h and PREFIX_plugin.c where they are asked
 * for. Files of these names are replaced; on failure none of them has changed. */
bool export_write(const struct export_request *request, struct error *error);

#endif
