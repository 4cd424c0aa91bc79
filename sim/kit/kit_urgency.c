#include "kit_urgency.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

static uint32_t winner_of(const struct kit_urgency *urgency, uint32_t a, uint32_t b)
{
    if (a == KIT_NO_TIMER || b == KIT_NO_TIMER) {
        return a == KIT_NO_TIMER ? b : a;
    }
    const struct kit_urge *x = &urgency->urges[a];
    const struct kit_urge *y = &urgency->urges[b];
    bool first = x->limit != y->limit ? x->limit < y->limit : x->serial < y->serial;
    return first ? a : b;
}

/* Play the matches above a leaf that has changed. */
static void play(struct kit_urgency *urgency, uint32_t id, uint32_t leaf_holds)
{
    uint32_t *winners = urgency->winners;
    uint32_t node = urgency->leaves + id;
    winners[node] = leaf_holds;
    for (node /= 2; node > 0; node /= 2) {
        uint32_t winner = winner_of(urgency, winners[2 * node], winners[2 * node + 1]);
        /* Another one won here before and wins again: nothing above has changed. */
        if (winner == winners[node] && winner != id) {
            break;
        }
        winners[node] = winner;
    }
}

void kit_urgency_grow(struct kit_urgency *urgency, uint32_t timers)
{
    uint32_t leaves = urgency->leaves > 0 ? urgency->leaves : 1;
    while (leaves < timers) {
        leaves *= 2;
    }
    if (leaves == urgency->leaves) {
        return;
    }
    struct kit_urgency grown = {
        .urges = memory_new(leaves, sizeof *grown.urges),
        .winners = memory_new(2 * (size_t)leaves, sizeof *grown.winners),
        .leaves = leaves,
    };
    for (uint32_t i = 0; i < leaves; i++) {
        bool known = i < urgency->leaves;
        grown.winners[leaves + i] = known ? urgency->winners[urgency->leaves + i] : KIT_NO_TIMER;
    }
    if (urgency->leaves > 0) {
        memcpy(grown.urges, urgency->urges, urgency->leaves * sizeof *grown.urges);
    }
    for (uint32_t node = leaves - 1; node > 0; node--) {
        grown.winners[node] =
            winner_of(&grown, grown.winners[2 * node], grown.winners[2 * node + 1]);
    }
    kit_urgency_release(urgency);
    *urgency = grown;
}

void kit_urgency_set(struct kit_urgency *urgency, uint32_t id, struct kit_urge urge)
{
    urgency->urges[id] = urge;
    play(urgency, id, id);
}

void kit_urgency_clear(struct kit_urgency *urgency, uint32_t id)
{
    play(urgency, id, KIT_NO_TIMER);
}

uint32_t kit_urgency_first(const struct kit_urgency *urgency)
{
    return urgency->leaves > 0 ? urgency->winners[1] : KIT_NO_TIMER;
}

uint64_t kit_urgency_bytes(const struct kit_urgency *urgency)
{
    return urgency->leaves * (sizeof *urgency->urges + 2 * sizeof *urgency->winners);
}

void kit_urgency_release(struct kit_urgency *urgency)
{
    free(urgency->urges);
    free(urgency->winners);
    *urgency = (struct kit_urgency){.urges = NULL};
}
