/*
 * export.h: a structure as C files that do not need timerlab, made from the measured source. Code
 * that the hooks do not call (walk, verify, the descriptor) is omitted, and counters too. Only the
 * functions of the header, each of which calls one hook, are written for the export.
 */
#ifndef SIM_EXPORT_EXPORT_H
#define SIM_EXPORT_EXPORT_H

#include "catalog.h"
#include "error.h"

#include <stdbool.h>

struct export_request {
    const struct contender *contender;
    const char *folder;  /* made if it is missing */
    const char *prefix;  /* of all public names; NULL: the structure's name */
    const char *command; /* the command in the files' comments */
    bool intrusive;      /* timers are in the caller's records */
    bool nodes;          /* also the header for separate nodes; with intrusive */
    bool cpp;            /* also the header for C++ */
    bool plugin;         /* also the file that makes it a plug-in */
};

/* Return whether this structure can be exported; if not, `error` has the reason and a remedy. */
bool export_is_possible(const struct export_request *request, struct error *error);

/* Return whether this is a valid prefix: lower-case letters, digits and underscores, valid in C. */
bool export_prefix_is_good(const char *prefix);

/* Write PREFIX.h and PREFIX.c, and on request PREFIX.hpp, PREFIX_nodes.h and PREFIX_plugin.c.
 * Existing files are replaced; on failure the folder is as it was. */
bool export_write(const struct export_request *request, struct error *error);

#endif
