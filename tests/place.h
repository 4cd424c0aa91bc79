/*
 * place.h: where a structure's walk shows its timers.
 */
#ifndef TESTS_PLACE_H
#define TESTS_PLACE_H

#include "registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    bool pending;
    char part[32];   /* its name */
    unsigned level;  /* N in the part "level N"; 1 in any other wheel; 0: in no wheel */
    uint64_t slot;   /* the cell's index; in a tree, how many cells are above it */
    uint64_t rounds; /* full turns still to wait */
    uint64_t from;   /* the ticks that the cell stands for */
    uint64_t to;
};

/* A walk under way. */
struct place_walk {
    struct place *places;
    uint32_t capacity;
    struct place at; /* the cell that is being shown */
    uint64_t index;
    bool is_tree;
    uint64_t *parents; /* of the tree's cells, by index */
    uint64_t room;
};

static inline void place_part(void *ctx, const struct tl_part *part)
{
    struct place_walk *walk = ctx;
    bool named = strncmp(part->name, "level ", 6) == 0;
    (void)snprintf(walk->at.part, sizeof walk->at.part, "%s", part->name);
    walk->at.level = named ? (unsigned)atoi(part->name + 6) : part->form == TL_FORM_WHEEL;
    walk->is_tree = part->form == TL_FORM_TREE;
}

static inline void place_cell(void *ctx, const struct tl_cell *cell)
{
    struct place_walk *walk = ctx;
    walk->at.slot = cell->index;
    walk->at.from = cell->from;
    walk->at.to = cell->to;
    if (walk->is_tree && cell->index >= walk->room) {
        uint64_t room = 2 * cell->index + 64;
        walk->parents = realloc(walk->parents, room * sizeof *walk->parents);
        walk->room = room;
    }
    if (walk->is_tree) {
        walk->parents[cell->index] = cell->parent;
    }
}

static inline void place_timer(void *ctx, const struct tl_held *held)
{
    struct place_walk *walk = ctx;
    if ((held->marks & TL_MARK_STALE) == 0 && held->id < walk->capacity) {
        walk->at.pending = true;
        walk->at.rounds = held->rounds;
        walk->places[held->id] = walk->at;
        /* Marks a tree's cell until all of them are known. */
        walk->places[held->id].from = walk->is_tree ? TL_NEVER - 1 : walk->at.from;
    }
}

/* Fills in the places of the timers below `capacity`. */
static inline void places_find(const struct tl_algo *algo, const void *self, struct place *places,
                               uint32_t capacity)
{
    struct place_walk walk = {.places = places, .capacity = capacity};
    const struct tl_visitor visitor = {
        .ctx = &walk, .part = place_part, .cell = place_cell, .timer = place_timer};
    memset(places, 0, capacity * sizeof *places);
    algo->walk(self, &visitor);
    for (uint32_t id = 0; id < capacity; id++) {
        if (places[id].pending && places[id].from == TL_NEVER - 1) {
            uint64_t above = 0;
            for (uint64_t cell = places[id].slot; walk.parents[cell] != TL_NEVER; above++) {
                cell = walk.parents[cell];
            }
            places[id].slot = above;
            places[id].from = TL_NEVER;
        }
    }
    free(walk.parents);
}

/* The place of one timer. */
static inline struct place place_find(const struct tl_algo *algo, const void *self, uint32_t id)
{
    struct place *places = malloc(((size_t)id + 1) * sizeof *places);
    places_find(algo, self, places, id + 1);
    struct place place = places[id];
    free(places);
    return place;
}

#endif
