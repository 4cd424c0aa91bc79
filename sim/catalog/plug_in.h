/*
 * plug_in.h: the structures of plug-ins. The process that prints never loads one: a child reads the
 * descriptor and hands it over as plain data. Hooks can only be called in a child that has loaded
 * the plug-in for itself.
 */
#ifndef SIM_PLUG_IN_H
#define SIM_PLUG_IN_H

#include "child.h"
#include "error.h"
#include "registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hooks of a descriptor. */
#define PLUG_IN_HOOKS(X)                                                                           \
    X(precision)                                                                                   \
    X(create)                                                                                      \
    X(destroy)                                                                                     \
    X(reserve)                                                                                     \
    X(start)                                                                                       \
    X(stop)                                                                                        \
    X(advance)                                                                                     \
    X(next)                                                                                        \
    X(count)                                                                                       \
    X(counters)                                                                                    \
    X(check)                                                                                       \
    X(walk)                                                                                        \
    X(moved)                                                                                       \
    X(sync)                                                                                        \
    X(recover)                                                                                     \
    X(durability)                                                                                  \
    X(start_call)                                                                                  \
    X(call)

enum plug_in_found {
    PLUG_IN_FOUND,
    PLUG_IN_REFUSED, /* there is no such file, it is no plug-in, or its descriptor is not valid */
    PLUG_IN_FAILED,  /* it crashed, hung or ended the process, or printed, while it was looked at */
};

/* Read the descriptor of "FILE" or "FILE,NAME", as tl_plugin_open takes them, in a child that also
 * unloads it again; `*file` is the file's name. Unless it is found, `error` says why not. The
 * optional hooks are there if the plug-in has them; calling one ends the process, but for a child
 * of plug_in_run. */
enum plug_in_found plug_in_read(const char *spec, const struct tl_algo **algo, const char **file,
                                struct error *error);

/* Free a descriptor that was found. Nothing happens to a structure of another origin. */
void plug_in_free(const struct tl_algo *algo);

/* child_run, in which the hooks of the structure can be called: if it comes from a plug-in, be it
 * inside a front end, the child loads that first. */
bool plug_in_run(const struct tl_algo *algo, const struct child_request *request, void *result,
                 struct child_outcome *outcome, struct error *error);

/* Whether the structure comes from a plug-in. */
bool plug_in_is(const struct tl_algo *algo);

/* Get a structure's precision for each of the delays. A plug-in is asked in a child; false, with
 * `error` set, if that failed. */
bool plug_in_precision(const struct tl_algo *algo, const void *options,
                       const uint64_t *delays_ticks, size_t count, struct tl_precision *precisions,
                       struct error *error);

#endif
