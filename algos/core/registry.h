/*
 * registry.h: the built-in structures, texts of statuses, validation of descriptors, option strings,
 * allocators.
 */
#ifndef TIMERLAB_REGISTRY_H
#define TIMERLAB_REGISTRY_H

#include "timerlab.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* --- texts ----------------------------------------------------------------------------------- */

/* Return "TL_ERR_HORIZON", or its sentence. Never NULL. */
const char *tl_status_name(enum tl_status status);
const char *tl_status_text(enum tl_status status);

/* Whether a start is refused by design, not by a fault: the deadline is beyond the horizon, or the
 * structure is full. */
bool tl_status_is_refusal(enum tl_status status);

/* One row of TL_CAPABILITY_MAP. */
struct tl_capability_row {
    uint32_t bit;
    const char *word;
    const char *text;
};

/* The capabilities, in the map's order; *count is set to how many. */
const struct tl_capability_row *tl_capabilities(size_t *count);

/* --- descriptors ----------------------------------------------------------------------------- */

/* Whether a descriptor can be used: abi, required hooks, capabilities and hooks that belong together,
 * names, option table. TL_ERR_DESCRIPTOR, and `why` lists all faults, separated by "; ". */
enum tl_status tl_algo_validate(const struct tl_algo *algo, char *why, size_t why_bytes);

/* Whether a name conforms to the contract: lower-case words and digits, joined by dashes. */
bool tl_name_is_well_formed(const char *name);

/* A structure in the builds of one source: `timed` without counters, `counted` with them, and
 * `embedded`, which takes records (tl_config.records) or none, for the price of addresses that are
 * known at run time only. NULL: the build is not there, or is the first. A plug-in has only the one
 * it was compiled as. */
struct tl_entry {
    const struct tl_algo *timed;
    const struct tl_algo *counted;
    const struct tl_algo *embedded;
};

/* Return the descriptor to use with the caller's records, with embedded_bytes > 0; NULL: the structure
 * takes none. */
const struct tl_algo *tl_entry_for_records(const struct tl_entry *entry);

/* The built-in structures, in the order of the list in algos/structures/CMakeLists.txt. */
size_t tl_registry_count(void);
const struct tl_entry *tl_registry_at(size_t index);

/* Return the built-in structure of that name; NULL: there is none. */
const struct tl_entry *tl_registry_find(const char *name);

/* Return the promised precision for a delay with these option values (0/0 without the hook). */
struct tl_precision tl_algo_precision(const struct tl_algo *algo, const void *options,
                                      uint64_t delay_ticks);

/* Whether it promises to fire every timer at its due tick, for the shortest and the longest delay:
 * precision may get worse with the delay or, with one timeout for all, better. */
bool tl_algo_is_exact(const struct tl_algo *algo, const void *options, uint64_t max_delay_ticks);

/* Whether it may fire before the due tick, likewise. */
bool tl_algo_may_be_early(const struct tl_algo *algo, const void *options,
                          uint64_t max_delay_ticks);

/* --- options --------------------------------------------------------------------------------- */

#define TL_OPTIONS_MAX 16

/* Room for the values of any structure's options, aligned for them. */
#ifdef __cplusplus
#define TL_OPTION_VALUES(name) alignas(8) unsigned char(name)[TL_OPTIONS_BYTES]
#else
#define TL_OPTION_VALUES(name) _Alignas(8) unsigned char(name)[TL_OPTIONS_BYTES]
#endif

/* Return the number of a descriptor's options. */
size_t tl_option_count(const struct tl_algo *algo);

/* Return the option of that name; NULL: there is none. */
const struct tl_option *tl_option_find(const struct tl_option *table, const char *name);

/* Whether it accepts whole numbers from min to max, and not only words or a text. */
bool tl_option_is_number(const struct tl_option *option);

/* Whether its value is within this many bytes, aligned. */
bool tl_option_fits(const struct tl_option *option, size_t options_bytes);

/* The value of an option that is no real number, in a struct of options; of a text 0. */
uint64_t tl_option_number(const struct tl_option *option, const void *values);

/* Set it. The value must be in range. */
void tl_option_set_number(const struct tl_option *option, void *values, uint64_t number);

/* Whether the number is in the option's range, or the value of one of its words. */
bool tl_option_accepts(const struct tl_option *option, uint64_t number);

/* Read the value from `text`, as a user writes it. Numbers take the suffixes k, m, g (powers of
 * 1000) and Ki, Mi, Gi (of 1024). False if the option does not accept it; the value is unchanged. */
bool tl_option_read(const struct tl_option *option, void *values, const char *text);

/* Write the accepted values: "1 to 512, or auto". */
void tl_option_range(const struct tl_option *option, char *text, size_t text_bytes);

/* Write the value as a user does. Return the length, as snprintf does. */
int tl_option_format(const struct tl_option *option, const void *values, char *text,
                     size_t text_bytes);

/* Set all options of a table, which ends with name == NULL, to their defaults. */
void tl_table_default(const struct tl_option *table, void *values);

/* Likewise for a structure; the rest of `values` is zero. */
void tl_options_default(const struct tl_algo *algo, void *values);

/* A table of at most 64 options, and its names in messages. */
struct tl_option_table {
    const struct tl_option *options; /* ends with name == NULL; may be NULL */
    const char *owner;               /* "hier-wheel" */
    const char *noun;                /* "option" or "parameter" */
    const char *command;             /* lists the options: "timerlab describe hier-wheel" */
};

/* Read a setting, "opt=v", of `length` characters into `values`. False, with the reason in `why`,
 * if the table does not accept it. `given` has a bit for each option that was set, which is then
 * refused; NULL: the last setting counts. */
bool tl_setting_read(const struct tl_option_table *table, const char *text, size_t length,
                     uint64_t *given, void *values, char *why, size_t why_bytes);

/*
 * Parse "opt=v:opt=v" (the part of NAME:opt=v:... after the first colon; may be empty), each
 * option once, over the defaults. TL_ERR_OPTION, and `why` has the option or value, the accepted ones,
 * and the nearest known name; `values` is then unspecified.
 */
enum tl_status tl_options_parse(const struct tl_algo *algo, const char *text, void *values,
                                char *why, size_t why_bytes);

/* Write the options that differ from their defaults, or all of them, as "opt=v:opt=v". Return the
 * length, as snprintf does. */
int tl_options_format(const struct tl_algo *algo, const void *values, bool all, char *text,
                      size_t text_bytes);

/* --- allocators ------------------------------------------------------------------------------ */

/* The process's heap. Blocks of 2 MiB and more start on a 2 MiB boundary. */
const struct tl_allocator *tl_system_allocator(void);

/* Count the memory of another allocator. Initialise with tl_counting_allocator. */
struct tl_memory {
    struct tl_allocator allocator; /* hand this to create */
    const struct tl_allocator *below;
    uint64_t bytes;       /* allocated now */
    uint64_t peak_bytes;  /* the most at any time */
    uint64_t allocations; /* calls that asked for new or more memory */
    uint64_t limit_bytes; /* a request that would pass it fails; UINT64_MAX: no limit */
};

void tl_counting_allocator(struct tl_memory *memory, const struct tl_allocator *below);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
