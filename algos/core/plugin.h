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
 * Loads "FILE", or "FILE,name" to know the structure under another name than its own, and
 * validates its descriptor. A FILE without a slash is looked for in the current folder only.
 *
 * NULL, with a sentence in `why` that names the file, if there is no such file, if it is no shared
 * object or one for another machine, if the symbol is missing, its abi is not
 * TL_ABI, or the descriptor is not valid. Whether the name is still free is for
 * the caller to see.
 */
struct tl_plugin *tl_plugin_open(const char *spec, char *why, size_t why_bytes);

/* The descriptor, under the name that was asked for, valid until the plug-in is closed. */
const struct tl_algo *tl_plugin_algo(const struct tl_plugin *plugin);

/* The file that it came from; valid until the plug-in is closed. */
const char *tl_plugin_file(const struct tl_plugin *plugin);

/* Unloads it. No instance of its structure may be left. NULL is legal. */
void tl_plugin_close(struct tl_plugin *plugin);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
