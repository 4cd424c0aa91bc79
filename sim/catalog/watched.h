/*
 * watched.h: a wrapper of a structure that reports the running hook, so that a crash or hang of a
 * child is reported with the hook's name (child.h).
 */
#ifndef SIM_WATCHED_H
#define SIM_WATCHED_H

#include "registry.h"

/* The structure with hooks that do the same and say so. Valid until the next call: one structure at
 * a time, in one process. Each call costs a few stores: not for timed loops. */
const struct tl_algo *watched(const struct tl_algo *algo);

#endif
