/*
 * plugin.h: a timer structure from outside: a shared object that exports one symbol,
 * `timerlab_algo`, as TL_ALGO in timerlab.h defines it.
 */
#ifndef TIMERLAB_PLUGIN_H
#define TIMERLAB_PLUGIN_H

#include "timerlab.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct tl_plugin;

/*
 * Load "FILE", or "FILE,name" to know the structure under another name than its own, and
 * validate its descriptor. A FILE without a slash is looked for in the current folder only.
 *
 * NULL, with a sentence in `why` that names the file, if there is no such file, if it is no shared
 * object or one for another machine, if the symbol is missing, its abi is not
 * TL_ABI, or the descriptor is not valid. The caller checks whether the name is free.
 */
struct tl_plugin *tl_plugin_open(const char *spec, char *why, size_t why_bytes);

/* Return the descriptor, with the requested name, valid until the plug-in is closed. */
const struct tl_algo *tl_plugin_algo(const struct tl_plugin *plugin);

/* Return its file; valid until the plug-in is closed. */
const char *tl_plugin_file(const struct tl_plugin *plugin);

/* Unload a plug-in, or NULL. No instance of its structure may be left. */
void tl_plugin_close(struct tl_plugin *plugin);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
