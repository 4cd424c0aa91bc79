#include "partition.h"

#include "memory.h"
#include "trace_partition.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Puts an array into a file of the partition's folder, so that as many partitions as there are need no
 * memory for it but while they are replayed. NULL with `error` set. */
static uint64_t *put_aside(const struct partition *partition, const char *name,
                           const uint64_t *data, uint64_t bytes, struct error *error)
{
    char path[2 * PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", partition->own.folder, name);
    FILE *stream = memory_unless_short(fopen(path, "wb+"));
    void *mapped = MAP_FAILED;
    if (stream != NULL && fwrite(data, 1, bytes, stream) == bytes && fflush(stream) == 0) {
        mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fileno(stream), 0);
    }
    if (mapped == MAP_FAILED) {
        (void)error_set(error, "%s: %s", path, strerror(errno));
    }
    if (stream != NULL) {
        (void)fclose(stream);
    }
    return mapped == MAP_FAILED ? NULL : mapped;
}

static bool make_folder(struct partition *partition, struct error *error)
{
    partition->path = partition->own.file;
    return temporary_make(&partition->own, error);
}

static bool read_header(struct partition *partition, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(partition->path, error);
    if (reader == NULL) {
        return false;
    }
    partition->header = *trace_reader_header(reader);
    partition->header.origin = "{}";
    trace_reader_close(reader);
    return true;
}

/* How many ids a connection has, one after the other, if a trace is of one workload alone. */
static uint32_t block_ids(const char *path, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(path, error);
    if (reader == NULL) {
        return 0;
    }
    json_t *origin = json_loads(trace_reader_header(reader)->origin, 0, NULL);
    const char *name = json_string_value(json_object_get(origin, "workload"));
    struct error unknown;
    const struct gen_workload *workload = name != NULL ? gen_find(name, &unknown) : NULL;
    uint32_t kinds = 0;
    while (workload != NULL && workload->kinds[kinds] != NULL) {
        kinds++;
    }
    json_decref(origin);
    trace_reader_close(reader);
    return kinds > 0 ? kinds : 1;
}

bool partition_cut(struct partition *partition, const char *path, uint32_t rank, uint32_t ranks,
                   struct error *error)
{
    *partition = (struct partition){.path = path};
    if (ranks == 1) {
        return read_header(partition, error);
    }
    const struct trace_partition_plan plan = {
        .path = path, .partitions = ranks, .partition = rank, .block_ids = block_ids(path, error)};
    struct trace_partition cut = {0};
    bool done = plan.block_ids > 0 && make_folder(partition, error) &&
                trace_partition_write(&plan, partition->own.file, &cut, error) &&
                read_header(partition, error);
    if (done) {
        partition->kept_bytes = cut.kept_words * sizeof *cut.kept;
        partition->names =
            put_aside(partition, "names", cut.names, cut.ids * sizeof *cut.names, error);
        partition->kept = put_aside(partition, "kept", cut.kept, partition->kept_bytes, error);
        done = partition->names != NULL && partition->kept != NULL;
    }
    trace_partition_free(&cut);
    return done;
}

uint32_t partition_slices(const struct partition_traffic *traffic)
{
    return (traffic->connections - 1) / traffic->slice_connections + 1;
}

/* Generate the slices of the rank. */
static bool generate_slices(struct partition *partition, const struct partition_traffic *traffic,
                            struct gen_request *request, struct gen_part *parts, uint32_t *numbers,
                            uint32_t stride, struct error *error)
{
    const uint32_t slices = request->whole_parts;
    for (size_t i = 0; i < request->part_count; i++) {
        numbers[i] = numbers[0] + (uint32_t)i * stride;
        parts[i].workload = traffic->workload;
        parts[i].connections =
            traffic->connections / slices + (numbers[i] < traffic->connections % slices);
        memcpy(parts[i].parameters, traffic->parameters, sizeof parts[i].parameters);
    }
    struct gen_names names = {0};
    struct gen_summary summary;
    request->parts = parts;
    request->numbers = numbers;
    request->names = slices > 1 ? &names : NULL;
    bool done = make_folder(partition, error) &&
                gen_trace(request, partition->own.file, &summary, error) &&
                read_header(partition, error);
    if (done && slices > 1) {
        partition->names = put_aside(partition, "names", names.names,
                                     partition->header.ids * sizeof *names.names, error);
        done = partition->names != NULL;
    }
    free(names.names);
    return done;
}

bool partition_generate(struct partition *partition, const struct partition_traffic *traffic,
                        uint32_t rank, uint32_t ranks, uint64_t least_warmup_ticks,
                        struct error *error)
{
    *partition = (struct partition){0};
    const uint32_t slices = partition_slices(traffic);
    if (slices < ranks) {
        return error_set(error,
                         "%" PRIu32 " connections in slices of at most %" PRIu32 " are %" PRIu32
                         ", too few for %" PRIu32 " ranks; make them smaller (--slice)",
                         traffic->connections, traffic->slice_connections, slices, ranks);
    }
    struct gen_request request = {.part_count = (slices - rank - 1) / ranks + 1,
                                  .seconds = traffic->seconds,
                                  .seed = traffic->seed,
                                  .whole_parts = slices,
                                  .least_warmup_ticks = least_warmup_ticks};
    struct gen_part *parts = memory_new(request.part_count, sizeof *parts);
    uint32_t *numbers = memory_new(request.part_count, sizeof *numbers);
    numbers[0] = rank;
    bool done = generate_slices(partition, traffic, &request, parts, numbers, ranks, error);
    free(parts);
    free(numbers);
    return done;
}

uint64_t partition_name(const struct partition *partition, uint64_t id)
{
    return partition->names != NULL && id < partition->header.ids ? partition->names[id] : id;
}

uint64_t partition_event(const struct partition *partition, uint64_t event)
{
    return partition->kept != NULL && event != UINT64_MAX
               ? trace_partition_event(partition->kept,
                                       partition->kept_bytes / sizeof *partition->kept, event)
               : event;
}

void partition_close(struct partition *partition)
{
    if (partition->names != NULL) {
        (void)munmap(partition->names, partition->header.ids * sizeof *partition->names);
    }
    if (partition->kept != NULL) {
        (void)munmap(partition->kept, partition->kept_bytes);
    }
    temporary_remove(&partition->own);
    *partition = (struct partition){0};
}
