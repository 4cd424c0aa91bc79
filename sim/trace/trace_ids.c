#include "trace_ids.h"

#include "memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#define WORD_IDS   64u
#define WORDS      (UINT32_MAX / WORD_IDS + 1)

/* Ids are counted by parts of this many words. */
#define PART_WORDS 64u

void trace_ids_release(struct trace_ids *ids)
{
    memory_sparse_free(ids->words, WORDS, sizeof *ids->words);
    free(ids->before);
    *ids = (struct trace_ids){0};
}

void trace_ids_add(struct trace_ids *ids, uint32_t id)
{
    if (ids->words == NULL) {
        ids->words = memory_sparse(WORDS, sizeof *ids->words);
    }
    uint64_t *word = &ids->words[id / WORD_IDS];
    const uint64_t bit = UINT64_C(1) << id % WORD_IDS;
    ids->count += (*word & bit) == 0;
    *word |= bit;
    ids->end = id >= ids->end ? (uint64_t)id + 1 : ids->end;
}

bool trace_ids_are_sparse(const struct trace_ids *ids)
{
    return ids->end > TRACE_IDS_NEVER_SPARSE && ids->count < ids->end / TRACE_IDS_SPARSE;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint32_t ones(uint64_t word)
{
    return (uint32_t)__builtin_popcountll(word);
}

static void count_parts(struct trace_ids *ids)
{
    const uint32_t words = (uint32_t)((ids->end + WORD_IDS - 1) / WORD_IDS);
    uint32_t count = 0;
    ids->before = memory_new(words / PART_WORDS + 1, sizeof *ids->before);
    for (uint32_t w = 0; w < words; w++) {
        if (w % PART_WORDS == 0) {
            ids->before[w / PART_WORDS] = count;
        }
        count += ones(ids->words[w]);
    }
}

/* Return the number of smaller ids. */
static uint32_t rank_of(const struct trace_ids *ids, uint32_t id)
{
    const uint32_t at = id / WORD_IDS;
    uint32_t rank = ids->before[at / PART_WORDS];
    for (uint32_t w = at - at % PART_WORDS; w < at; w++) {
        rank += ones(ids->words[w]);
    }
    return rank + ones(ids->words[at] & ((UINT64_C(1) << id % WORD_IDS) - 1));
}

/* --- a trace ---------------------------------------------------------------------------------- */

/* Add the operations of a block to `writer`, renumbered. */
static bool write_block(struct trace_writer *writer, const struct trace_ids *ids,
                        const struct trace_block *block, struct error *error)
{
    bool good = true;
    for (const struct trace_group *group = block->groups;
         good && group < block->groups + block->group_count; group++) {
        for (uint32_t i = group->first; good && i < group->first + group->count; i++) {
            const struct trace_record *record = &block->records[i];
            struct trace_cause cause = {0};
            if (block->causes != NULL) {
                cause = block->causes[i];
                cause.id = cause.basis != TRACE_EXTERNAL ? rank_of(ids, cause.id) : 0;
            }
            good = trace_writer_add_reaction(
                writer, group->tick, rank_of(ids, record->id), (enum trace_op)record->op,
                record->op == TRACE_START ? record->deadline - group->tick : 0, cause, error);
        }
    }
    return good;
}

/* Return the origin, with the previous numbering of the ids. */
static char *origin_text(const char *before, const struct trace_ids *ids)
{
    json_t *origin = json_loads(before, 0, NULL);
    (void)json_object_set_new(origin, "timers", json_integer(ids->count));
    (void)json_object_set_new(origin, "ids_before_went_to",
                              json_integer((json_int_t)(ids->end - 1)));
    char *text = json_dumps(origin, JSON_COMPACT);
    json_decref(origin);
    return text;
}

static bool rewrite(struct trace_reader *reader, const char *path, const struct trace_ids *ids,
                    struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    char *origin = origin_text(header->origin, ids);
    struct trace_writer *writer = trace_writer_open(path, header->tick_ns, error);
    bool good = writer != NULL;
    if (good && header->causes_known) {
        trace_writer_declare_causes(writer);
    }
    struct trace_block block;
    int got = good ? 1 : -1;
    while (got == 1 && (got = trace_reader_next(reader, &block, error)) == 1) {
        got = write_block(writer, ids, &block, error) ? 1 : -1;
    }
    if (got < 0) {
        trace_writer_abort(writer);
    }
    good = got == 0 &&
           trace_writer_commit(writer, header->warmup_end_tick, header->end_tick, 0, origin, error);
    free(origin);
    return good;
}

bool trace_ids_renumber(const char *path, const char *out_path, struct trace_ids *ids,
                        struct error *error)
{
    count_parts(ids);
    struct trace_reader *reader = trace_reader_open(path, error);
    bool good = reader != NULL && rewrite(reader, out_path, ids, error);
    trace_reader_close(reader);
    if (!good) {
        (void)unlink(path);
    }
    return good;
}
