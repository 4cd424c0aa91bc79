#include "trace_partition.h"

#include "memory.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>

#define WORD_BITS 64u

/* Timers that stay together. */
struct group {
    uint64_t operations;
    uint32_t root; /* the smallest of their ids */
};

/* How much a partition has been given. */
struct load {
    uint64_t operations;
    uint32_t partition;
};

struct divider {
    const struct trace_partition_plan *plan;
    struct trace_reader *reader;
    const struct trace_header *header;
    struct error *error;
    uint32_t *parents; /* by id: another of its group, or itself */
    /* By id: how many operations there are; at a root then its group, and that one's partition; in the
     * end the number in the partition. */
    uint32_t *marks;
    struct group *groups;
    uint32_t group_count;
    struct load *loads; /* a heap, the least at the top */
};

static uint32_t root_of(uint32_t *parents, uint32_t id)
{
    while (parents[id] != id) {
        parents[id] = parents[parents[id]];
        id = parents[id];
    }
    return id;
}

/* The smaller root remains. */
static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
    a = root_of(parents, a);
    b = root_of(parents, b);
    if (a < b) {
        parents[b] = a;
    } else {
        parents[a] = b;
    }
}

/* Finds who belongs together, and who does how much. */
static bool find_groups(struct divider *divider)
{
    const uint32_t ids = divider->header->ids;
    const uint32_t block_ids = divider->plan->block_ids;
    divider->parents = memory_new(ids + (size_t)1, sizeof *divider->parents);
    divider->marks = memory_new(ids + (size_t)1, sizeof *divider->marks);
    for (uint32_t id = 0; id < ids; id++) {
        divider->parents[id] = id - id % block_ids;
    }
    struct trace_block block;
    int got;
    while ((got = trace_reader_next(divider->reader, &block, divider->error)) == 1) {
        for (size_t i = 0; i < block.record_count; i++) {
            uint32_t id = block.records[i].id;
            divider->marks[id] += divider->marks[id] < UINT32_MAX;
            if (block.causes != NULL && block.causes[i].basis != TRACE_EXTERNAL) {
                join(divider->parents, id, block.causes[i].id);
            }
        }
    }
    trace_reader_rewind(divider->reader);
    return got == 0;
}

/* Those with most to do first; of equal ones in the order of their ids. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;
    return x->operations != y->operations ? (x->operations < y->operations ? 1 : -1)
                                          : (x->root > y->root) - (x->root < y->root);
}

static void list_groups(struct divider *divider)
{
    const uint32_t ids = divider->header->ids;
    uint32_t *parents = divider->parents;
    for (uint32_t id = 0; id < ids; id++) {
        divider->group_count += root_of(parents, id) == id;
    }
    divider->groups = memory_new(divider->group_count + (size_t)1, sizeof *divider->groups);
    uint32_t count = 0;
    for (uint32_t id = 0; id < ids; id++) {
        /* The root is the smallest, so its group is there by now: where it is stands instead of
         * its operations, which the group has. */
        uint32_t root = root_of(parents, id);
        uint32_t operations = divider->marks[id];
        if (root == id) {
            divider->groups[count] = (struct group){.root = id};
            divider->marks[id] = count++;
        }
        /* A timer is memory, too, if nothing is done to it. */
        divider->groups[divider->marks[root]].operations += operations + (uint64_t)1;
    }
}

static bool is_less(const struct load *a, const struct load *b)
{
    return a->operations != b->operations ? a->operations < b->operations
                                          : a->partition < b->partition;
}

/* The least loaded has been given more. */
static void sift_down(struct load *loads, uint32_t count)
{
    struct load top = loads[0];
    uint32_t at = 0;
    for (uint64_t child; (child = 2 * (uint64_t)at + 1) < count; at = (uint32_t)child) {
        child += child + 1 < count && is_less(&loads[child + 1], &loads[child]);
        if (!is_less(&loads[child], &top)) {
            break;
        }
        loads[at] = loads[child];
    }
    loads[at] = top;
}

/* Gives each group, the largest first, to the partition that has least so far. The partition of a group
 * then is in `marks`, at its root. */
static bool deal(struct divider *divider)
{
    const uint32_t partitions = divider->plan->partitions;
    list_groups(divider);
    if (divider->group_count < partitions) {
        return error_set(
            divider->error,
            "%s: it cannot be divided among %" PRIu32 " ranks: reactions join its %" PRIu32
            " timers into %" PRIu32 " groups, and each group has to stay on one rank",
            divider->plan->path, partitions, divider->header->ids, divider->group_count);
    }
    divider->loads = memory_new(partitions, sizeof *divider->loads);
    for (uint32_t partition = 0; partition < partitions; partition++) {
        divider->loads[partition].partition = partition;
    }
    qsort(divider->groups, divider->group_count, sizeof *divider->groups, compare_groups);
    for (uint32_t i = 0; i < divider->group_count; i++) {
        const struct group *group = &divider->groups[i];
        divider->marks[group->root] = divider->loads[0].partition;
        divider->loads[0].operations += group->operations;
        sift_down(divider->loads, partitions);
    }
    return true;
}

#define NOT_OURS UINT32_MAX

/* Numbers the partition's own timers: `marks` then has the numbers. */
static void number_own(struct divider *divider, struct trace_partition *partition)
{
    const uint32_t ids = divider->header->ids;
    uint32_t *parents = divider->parents;
    for (uint32_t id = 0; id < ids; id++) {
        partition->ids += divider->marks[root_of(parents, id)] == divider->plan->partition;
    }
    partition->names = memory_new(partition->ids + (size_t)1, sizeof *partition->names);
    partition->kept_words = divider->header->events / WORD_BITS + 1;
    partition->kept = memory_new(partition->kept_words, sizeof *partition->kept);
    uint32_t number = partition->ids;
    for (uint32_t id = ids; id-- > 0;) {
        /* From the last to the first: roots come after those that look for them. */
        bool own = divider->marks[root_of(parents, id)] == divider->plan->partition;
        if (own) {
            partition->names[--number] = id;
        }
        divider->marks[id] = own ? number : NOT_OURS;
    }
}

static bool write_block(const struct divider *divider, const struct trace_block *block,
                        struct trace_writer *writer, struct trace_partition *partition)
{
    const uint32_t *numbers = divider->marks;
    for (size_t g = 0; g < block->group_count; g++) {
        const struct trace_group *group = &block->groups[g];
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            const struct trace_record *record = &block->records[i];
            struct trace_cause cause = {0};
            if (numbers[record->id] == NOT_OURS) {
                continue;
            }
            if (block->causes != NULL) {
                cause = block->causes[i];
                cause.id = cause.basis != TRACE_EXTERNAL ? numbers[cause.id] : 0;
            }
            uint64_t event = block->first_event + i;
            partition->kept[event / WORD_BITS] |= UINT64_C(1) << event % WORD_BITS;
            if (!trace_writer_add_reaction(
                    writer, group->tick, numbers[record->id], (enum trace_op)record->op,
                    record->op == TRACE_START ? record->deadline - group->tick : 0, cause,
                    divider->error)) {
                return false;
            }
        }
    }
    return true;
}

static bool write_partition(const struct divider *divider, const char *path,
                            struct trace_partition *partition)
{
    const struct trace_header *header = divider->header;
    struct trace_writer *writer = trace_writer_open(path, header->tick_ns, divider->error);
    struct trace_block block;
    int got = -1;
    if (writer == NULL) {
        return false;
    }
    if (header->causes_known) {
        trace_writer_declare_causes(writer);
    }
    while ((got = trace_reader_next(divider->reader, &block, divider->error)) == 1 &&
           write_block(divider, &block, writer, partition)) {
    }
    if (got != 0) {
        trace_writer_abort(writer);
        return false;
    }
    return trace_writer_commit(writer, header->warmup_end_tick, header->end_tick, partition->ids,
                               header->origin, divider->error);
}

bool trace_partition_write(const struct trace_partition_plan *plan, const char *path,
                           struct trace_partition *partition, struct error *error)
{
    *partition = (struct trace_partition){0};
    struct divider divider = {.plan = plan, .error = error};
    divider.reader = trace_reader_open(plan->path, error);
    if (divider.reader == NULL) {
        return false;
    }
    divider.header = trace_reader_header(divider.reader);
    bool done = find_groups(&divider) && deal(&divider);
    if (done) {
        number_own(&divider, partition);
        done = write_partition(&divider, path, partition);
    }
    free(divider.parents);
    free(divider.marks);
    free(divider.groups);
    free(divider.loads);
    trace_reader_close(divider.reader);
    return done;
}

uint64_t trace_partition_event(const uint64_t *kept, uint64_t kept_words, uint64_t event)
{
    for (uint64_t w = 0; w < kept_words; w++) {
        uint64_t ones = (uint64_t)__builtin_popcountll(kept[w]);
        if (event >= ones) {
            event -= ones;
            continue;
        }
        uint64_t word = kept[w];
        for (; event > 0; event--) {
            word &= word - 1;
        }
        return w * WORD_BITS + (uint64_t)__builtin_ctzll(word);
    }
    return UINT64_MAX;
}

void trace_partition_free(struct trace_partition *partition)
{
    free(partition->names);
    free(partition->kept);
    *partition = (struct trace_partition){0};
}
