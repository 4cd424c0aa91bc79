/*
 * scenario.h: a mix of workloads in a small JSON file:
 *
 *   {"tick_us": 1000, "seconds": 10, "seed": 1, "connections": 1000000,
 *    "parts": [{"workload": "idle", "share": 0.9, "parameters": {"rate_per_s": 0.2}},
 *              {"workload": "rpc", "connections": 50000}]}
 *
 * tick_us (1000), seconds (10) and seed (1) may be omitted. A part says how many connections it
 * has, or what share of the scenario's; its other parameters have their defaults.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "error.h"
#include "gen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scenario {
    struct gen_part *parts;
    size_t part_count;
    double seconds;
    uint64_t seed;
};

/* Read a file. False, with file, line, key and the remedy, if it is not a scenario; an unknown name
 * is reported with the nearest one. */
bool scenario_read(const char *path, struct scenario *scenario, struct error *error);

/* Harmless on a zeroed scenario. */
void scenario_free(struct scenario *scenario);

#endif
