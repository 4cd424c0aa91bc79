/*
 * catalog.h: the structures of a command: the built-in ones and those of plug-ins, selected by `-a
 * NAME:opt=v,...|all`.
 */
#ifndef SIM_CATALOG_H
#define SIM_CATALOG_H

#include "error.h"
#include "front.h"
#include "plug_in.h"
#include "registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A structure that can be chosen. */
struct catalog_entry {
    const struct tl_algo *timed; /* a plug-in's carries the name that it was given */
    const struct tl_algo *counted;
    const struct tl_algo *embedded; /* the build that takes records; NULL: none does */
    const char *origin_file;        /* the plug-in's file; NULL for a built-in one */
};

struct catalog_composition;

/* Treat as opaque. */
struct catalog {
    struct catalog_entry *entries;
    size_t count;
    bool failed;   /* a plug-in could not be looked at: its structure is missing */
    char *missing; /* the names that were selected and are not known, joined by blanks, where one of
                      them may be that structure's */
    struct catalog_composition **compositions; /* those asked for so far, the latest first */
};

/* A structure with the values of its options: one row of a comparison. */
struct contender {
    const struct tl_algo *timed;
    const struct tl_algo *counted;
    const struct tl_algo *embedded; /* the build that takes records; NULL: none does */
    TL_OPTION_VALUES(options);
    char option_text[256]; /* the options as given, without defaults: "slots=3:tick=1"; may be "" */
};

struct contender_list {
    struct contender *items;
    size_t count;
};

/* Fills the catalogue with the built-in structures. */
void catalog_init(struct catalog *catalog);

/* Adds a plug-in, "FILE" or "FILE,name" to list it under another name. Must come before any
 * selection. Refused, with the reason: no such file, not a shared object of this machine, no
 * symbol timerlab_algo, another abi, an invalid descriptor, a name that is taken. What fails, as
 * in plug_in.h, is missing from the catalogue. */
enum plug_in_found catalog_add_plugin(struct catalog *catalog, const char *spec,
                                      struct error *error);

/* The structure of that name; NULL, with the nearest name in `error`. "front(structure)" is the
 * structure inside a front end, put together when it is first asked for. */
const struct catalog_entry *catalog_find(const struct catalog *catalog, const char *name,
                                         struct error *error);

/* As tl_front_compose; but if there is no memory, that ends the process. */
const struct tl_algo *catalog_compose(const struct tl_front *front, const struct tl_algo *inner,
                                      char *why, size_t why_bytes);

/* Return the structure that fires nothing, which shows the overhead of the harness; NULL: none. */
const struct tl_algo *catalog_floor(const struct catalog *catalog);

/* A durable structure's folder is not the user's to name, wherever its options are from: each
 * command makes it several times, and must find no timers of the time before. False, with `error`
 * set, if path= is given. catalog_select sees to it. */
bool catalog_leaves_path_alone(const struct tl_algo *algo, const void *options,
                               struct error *error);

/* Appends what "NAME[:opt=v[:opt=v]],...|all" names; `all` is every structure that is not a
 * baseline. A NAME may be front(NAME), with the options of both after it; those of the structure
 * may stand within, too: front(NAME:opt=v). Refused: unknown names and options, a durable
 * structure's `path`, the same structure with the same options twice. If a plug-in has failed, an
 * unknown structure is skipped, and added to `missing`. */
bool catalog_select(struct catalog *catalog, const char *text, struct contender_list *list,
                    struct error *error);

void contender_list_free(struct contender_list *list);

/* No contender may be used afterwards. */
void catalog_free(struct catalog *catalog);

#endif
