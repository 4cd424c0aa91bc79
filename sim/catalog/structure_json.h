/*
 * structure_json.h: a structure's descriptor and memory as JSON.
 */
#ifndef SIM_STRUCTURE_JSON_H
#define SIM_STRUCTURE_JSON_H

#include "catalog.h"

#include <jansson.h>

/* How many timers the bytes per timer are measured with, and how far their deadlines lie. */
#define FOOTPRINT_TIMERS       UINT32_C(65536)
#define FOOTPRINT_SPREAD_TICKS UINT64_C(60000)

/* Memory and reach of a structure with its default options. */
struct footprint {
    enum tl_status status;  /* whether it could be measured */
    uint64_t bytes_fixed;   /* an instance for no timers */
    double bytes_per_timer; /* bytes per timer, with FOOTPRINT_TIMERS pending */
    uint64_t horizon_ticks; /* the longest delay that it takes at clock 0 where none longer than
                               FOOTPRINT_SPREAD_TICKS was announced: TL_DEADLINE_MAX if any */
    struct tl_precision precision;     /* the widest for delays of up to FOOTPRINT_SPREAD_TICKS */
    struct tl_precision precision_far; /* for one of just that */
    char fault[1024]; /* how its calls ended the process that measured it; "": they did not */
};

/* In a process of its own. */
struct footprint footprint_measure(const struct tl_algo *algo);

/* Why it could not be measured. */
const char *footprint_missing(const struct footprint *footprint);

/* The words of capabilities, in the map's order, joined by blanks. */
void capability_words(uint32_t capabilities, char *text, size_t text_bytes);

/* {name, summary, description, origin, cost, capabilities, options, fronts, bytes_fixed,
 * bytes_per_timer, horizon_ticks (null: none)}, and `plugin` for one from outside; without the
 * bytes and the horizon where they could not be measured, with the `fault` that ended that.
 * `fronts` are the front ends that can stand before it, {name, summary} each. Where its timers may
 * lie in the caller's records there is `embedded`: {record_bytes}, how many of each
 * timer's bytes. */
json_t *structure_json(const struct catalog_entry *entry);

#endif
