#include "slack.h"

#include "due.h"
#include "memory.h"
#include "registry.h"

#include <stdlib.h>

struct slack {
    const uint32_t *slacks; /* of each operation of the trace; NULL: none */
    uint32_t ids;
    const struct tl_algo *heap;
    void *self;
};

struct slack *slack_open(const struct replay_drive *drive, const struct stream *stream)
{
    if (drive->kind != DRIVE_SLACK) {
        return NULL;
    }
    struct slack *slack = memory_new(1, sizeof *slack);
    *slack = (struct slack){.slacks = stream->slacks,
                            .ids = stream->header.ids,
                            .heap = tl_registry_find("binary-heap")->timed};
    const struct tl_config config = {.capacity = slack->ids, .allocator = tl_system_allocator()};
    if (slack->heap->create(&config, &slack->self) != TL_OK) {
        memory_end();
    }
    return slack;
}

void slack_close(struct slack *slack)
{
    if (slack != NULL) {
        slack->heap->destroy(slack->self);
        free(slack);
    }
}

void slack_started(struct slack *slack, uint32_t id, uint64_t event, uint64_t due)
{
    if (slack != NULL) {
        uint64_t ticks = slack->slacks != NULL ? slack->slacks[event] : 0;
        (void)slack->heap->start(slack->self, id, due_deadline(due, ticks));
    }
}

void slack_ended(struct slack *slack, uint32_t id)
{
    if (slack != NULL && id < slack->ids) {
        (void)slack->heap->stop(slack->self, id);
    }
}

uint64_t slack_wake(const struct slack *slack)
{
    return slack->heap->next(slack->self);
}
