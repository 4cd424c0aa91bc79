#include "trace_loop.h"

#include "memory.h"
#include "progress.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Timers that are left may fire within this number of recording lengths after its end. */
#define LEFT_LENGTHS 2

#define NO_STEP      UINT64_MAX

/* Longest recording, so that sums of a few lengths and delays stay in range. */
#define LENGTH_MAX   ((int64_t)(TRACE_TICK_MAX / 16))

/* The state of a timer while the recording is read. */
struct loop_timer {
    uint64_t arming;     /* the start by which it is pending, or NO_STEP */
    uint64_t first_step; /* in the window, or NO_STEP */
    int64_t due;
    int64_t fired; /* last expiry; INT64_MIN: none */
    int64_t last;  /* last use or expiry */
    uint32_t starts;
    uint32_t first_rank;    /* how many timers were used before, in the window */
    bool fired_from_warmup; /* by a start in the warm-up */
};

struct loader {
    struct trace_loop *loop;
    const struct trace_header *header;
    const char *path;
    const char *output;
    int fd;                   /* of the temporary file */
    uint32_t *numbers;        /* by id: 0, or the timer's number plus 1; few ids may be used */
    struct loop_timer *lives; /* by number, in the order of their first use */
    uint32_t life_count;
    uint32_t life_room;
    uint32_t first_count; /* timers used in the window */
    struct error *error;
};

/* --- room ------------------------------------------------------------------------------------ */

static bool no_room(const struct loader *loader, size_t bytes, int why)
{
    return error_set(loader->error,
                     "%s: no room in its folder for a temporary file of %zu bytes: %s; name a file "
                     "in a folder that has it",
                     loader->output, bytes, strerror(why));
}

/* Map as many steps as the header names. Space for them is allocated on the disk before: writing to
 * a mapped file on a full disk would end the process. */
static bool map_file(struct loader *loader)
{
    struct trace_loop *loop = loader->loop;
    const uint64_t events = loader->header->events;
    char folder[PATH_MAX];
    if (events > PTRDIFF_MAX / sizeof *loop->steps) {
        return no_room(loader, SIZE_MAX, EFBIG);
    }
    const size_t bytes = (size_t)events * sizeof *loop->steps;
    (void)snprintf(folder, sizeof folder, "%s", loader->output);
    loader->fd = temporary_open_nameless(dirname(folder));
    int why = loader->fd < 0 ? errno : posix_fallocate(loader->fd, 0, (off_t)bytes);
    void *mapped = why == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, loader->fd, 0)
                            : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        return no_room(loader, bytes, why != 0 ? why : errno);
    }
    loop->steps = mapped;
    loop->mapped_bytes = bytes;
    return true;
}

/* Return a timer's number, a new one if it has none. */
static uint32_t number_of(struct loader *loader, uint32_t id)
{
    uint32_t *number = &loader->numbers[id];
    if (*number == 0) {
        MEMORY_REACH(loader->lives, loader->life_room, loader->life_count);
        loader->lives[loader->life_count] = (struct loop_timer){
            .arming = NO_STEP, .first_step = NO_STEP, .fired = INT64_MIN, .last = INT64_MIN};
        *number = ++loader->life_count;
    }
    return *number - 1;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Fire the timer if it is due by `tick`. */
static void settle(struct loader *loader, struct loop_timer *life, int64_t tick)
{
    if (life->arming != NO_STEP && life->due <= tick) {
        struct loop_step *arming = &loader->loop->steps[life->arming];
        arming->end = life->due;
        life->fired = life->due;
        life->fired_from_warmup = arming->tick < 0;
        life->last = life->due;
        life->arming = NO_STEP;
    }
}

static bool take_cause(struct loader *loader, struct loop_step *step, uint64_t event)
{
    struct loop_timer *cause = &loader->lives[step->cause_id];
    settle(loader, cause, step->tick);
    if (cause->fired != step->tick) {
        return error_set(loader->error,
                         "%s: operation %" PRIu64
                         " names as its cause a timer that does not fire at its tick; make the "
                         "trace again (`timerlab trace validate` counts such operations)",
                         loader->path, event);
    }
    if (cause->fired_from_warmup && step->tick >= 0) {
        step->marks |= LOOP_CAUSED_BEFORE;
        loader->loop->freed++;
    }
    return true;
}

static bool take(struct loader *loader, uint64_t tick, const struct trace_record *record,
                 const struct trace_cause *cause)
{
    struct trace_loop *loop = loader->loop;
    uint64_t index = loop->step_count++;
    struct loop_step *step = &loader->loop->steps[index];
    *step = (struct loop_step){.tick = (int64_t)tick - (int64_t)loader->header->warmup_end_tick,
                               .op = (uint8_t)record->op};
    step->id = number_of(loader, record->id);
    step->slack_ticks = cause != NULL ? cause->slack_ticks : 0;
    if (cause != NULL && cause->basis != TRACE_EXTERNAL) {
        step->basis = (uint8_t)cause->basis;
        step->cause_id = number_of(loader, cause->id);
        if (!take_cause(loader, step, index)) {
            return false;
        }
    }
    struct loop_timer *life = &loader->lives[step->id];
    settle(loader, life, step->tick);
    if (life->arming != NO_STEP) {
        loader->loop->steps[life->arming].end = step->tick;
        life->arming = NO_STEP;
    }
    life->last = step->tick;
    if (step->tick < 0) {
        loop->first_step = index + 1;
    } else if (life->first_step == NO_STEP) {
        life->first_step = index;
        life->first_rank = loader->first_count++;
    }
    if (record->op == TRACE_START) {
        step->delay_ticks = record->deadline - tick;
        /* A timer with delay 0 fires at the next tick. */
        uint64_t wait = step->delay_ticks > 0 ? step->delay_ticks : 1;
        wait = wait < TRACE_TICK_MAX / 2 ? wait : TRACE_TICK_MAX / 2;
        life->arming = index;
        life->due = step->tick + (int64_t)wait;
        life->starts++;
    }
    return true;
}

static bool take_all(struct loader *loader, struct trace_reader *reader)
{
    struct progress progress;
    progress_begin(&progress, "reading", "operations", loader->header->events);
    struct trace_block block;
    int got = 1;
    trace_reader_rewind(reader);
    while (got == 1 && (got = trace_reader_next(reader, &block, loader->error)) == 1) {
        for (size_t g = 0; got == 1 && g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = group->first; got == 1 && i < group->first + group->count; i++) {
                got = take(loader, group->tick, &block.records[i],
                           block.causes != NULL ? &block.causes[i] : NULL)
                          ? 1
                          : -1;
            }
        }
        progress_update(&progress, block.first_event + block.record_count);
    }
    progress_end(&progress);
    return got == 0;
}

/* --- the end of a pass ----------------------------------------------------------------------- */

/* Decide how a timer pending at the end of a pass continues. */
static void end_life(struct loader *loader, struct loop_timer *life)
{
    struct trace_loop *loop = loader->loop;
    const int64_t length = loop->length_ticks;
    settle(loader, life, length - 1);
    if (life->arming == NO_STEP) {
        return;
    }
    struct loop_step *arming = &loader->loop->steps[life->arming];
    arming->end = life->due;
    if (life->first_step != NO_STEP &&
        (life->starts > 1 || life->due - length >= LEFT_LENGTHS * length)) {
        struct loop_step *next = &loader->loop->steps[life->first_step];
        if (length + next->tick < life->due) {
            next->marks |= LOOP_TAKES_OVER;
            arming->end = length + next->tick;
            loop->taken_over++;
        }
    }
    life->last = arming->end;
    loop->left_count++;
}

struct keyed {
    int64_t key;
    uint32_t at;
};

static int by_key_descending(const void *a, const void *b)
{
    const struct keyed *left = a;
    const struct keyed *right = b;
    if (left->key != right->key) {
        return left->key < right->key ? 1 : -1;
    }
    return (left->at > right->at) - (left->at < right->at);
}

/* Number the entries, the largest key first. */
static void number_descending(struct loop_numbering *numbering, struct keyed *keyed, uint32_t count)
{
    qsort(keyed, count, sizeof *keyed, by_key_descending);
    for (uint32_t rank = 0; rank < count; rank++) {
        numbering->rank[keyed[rank].at] = rank;
        numbering->keys[rank] = keyed[rank].key;
    }
    numbering->count = count;
}

static int by_tick(const void *a, const void *b)
{
    const struct loop_step *left = a;
    const struct loop_step *right = b;
    if (left->tick != right->tick) {
        return left->tick < right->tick ? -1 : 1;
    }
    return (left->id > right->id) - (left->id < right->id);
}

static void collect_left(struct loader *loader, struct keyed *keyed)
{
    struct trace_loop *loop = loader->loop;
    if (loop->first_step > 0) {
        loop->left_count = 0; /* the timers pending at the beginning are those of the warm-up */
    }
    loop->left = memory_new((size_t)loop->left_count + 1, sizeof *loop->left);
    uint32_t count = 0;
    for (uint32_t id = 0; id < loader->life_count && count < loop->left_count; id++) {
        if (loader->lives[id].arming != NO_STEP) {
            loop->left[count] = loader->loop->steps[loader->lives[id].arming];
            keyed[count] = (struct keyed){.key = loop->left[count].end, .at = id};
            count++;
        }
    }
    number_descending(&loop->by_left, keyed, count);
    qsort(loop->left, count, sizeof *loop->left, by_tick);
    if (count > 0) {
        loop->left_passes = (uint32_t)(loop->by_left.keys[0] / loop->length_ticks);
    }
}

static void make_numbering(struct loop_numbering *numbering, uint32_t ids)
{
    size_t room = (size_t)ids + 1; /* there may be none */
    numbering->rank = memory_new(room, sizeof *numbering->rank);
    numbering->keys = memory_new(room, sizeof *numbering->keys);
}

/* Number the timers in all three ways. */
static void number_all(struct loader *loader, struct keyed *keyed)
{
    struct trace_loop *loop = loader->loop;
    const uint32_t ids = loader->life_count;
    make_numbering(&loop->by_last, ids);
    make_numbering(&loop->by_first, ids);
    make_numbering(&loop->by_left, ids);
    uint32_t named = 0;
    for (uint32_t id = 0; id < ids; id++) {
        struct loop_timer *life = &loader->lives[id];
        end_life(loader, life);
        if (life->last >= 0) {
            keyed[named++] = (struct keyed){.key = life->last, .at = id};
        }
        if (life->first_step != NO_STEP) {
            loop->by_first.rank[id] = life->first_rank;
            loop->by_first.keys[life->first_rank] = loop->steps[life->first_step].tick;
        }
    }
    loop->by_first.count = loader->first_count;
    loop->by_first.ascending = true;
    number_descending(&loop->by_last, keyed, named);
    collect_left(loader, keyed);
}

static void finish(struct loader *loader)
{
    struct trace_loop *loop = loader->loop;
    struct keyed *keyed = memory_new((size_t)loader->life_count + 1, sizeof *keyed);
    number_all(loader, keyed);
    free(keyed);
    for (uint64_t i = 0; i < loop->first_step && loop->age_ticks == 0; i++) {
        if (loop->steps[i].op == TRACE_START && loop->steps[i].end >= 0) {
            loop->age_ticks = -loop->steps[i].tick;
        }
    }
}

static void release_loader(struct loader *loader)
{
    if (loader->fd >= 0) {
        (void)close(loader->fd);
    }
    memory_sparse_free(loader->numbers, loader->header->ids, sizeof *loader->numbers);
    free(loader->lives);
}

bool trace_loop_read(struct trace_loop *loop, struct trace_reader *reader, const char *path,
                     const char *output, struct error *error)
{
    *loop = (struct trace_loop){0};
    struct loader loader = {.loop = loop,
                            .header = trace_reader_header(reader),
                            .path = path,
                            .output = output,
                            .fd = -1,
                            .error = error};
    const struct trace_header *header = loader.header;
    if (header->events == 0 || header->end_tick == header->warmup_end_tick) {
        return error_set(error, "%s: there are no operations in its timed window", path);
    }
    if (header->end_tick > (uint64_t)LENGTH_MAX) {
        return error_set(error,
                         "%s: its %" PRIu64 " ticks are more than %" PRId64
                         "; import it with a longer tick",
                         path, header->end_tick, LENGTH_MAX);
    }
    loop->length_ticks = (int64_t)(header->end_tick - header->warmup_end_tick);
    loader.numbers = memory_sparse(header->ids, sizeof *loader.numbers);
    bool good = map_file(&loader) && take_all(&loader, reader);
    if (good) {
        finish(&loader);
    }
    release_loader(&loader);
    if (good && loop->first_step == loop->step_count) {
        return error_set(error, "%s: there are no operations in its timed window", path);
    }
    return good;
}

/* --- queries --------------------------------------------------------------------------------- */

uint64_t trace_loop_step_at(const struct trace_loop *loop, int64_t tick)
{
    uint64_t low = loop->first_step;
    uint64_t high = loop->step_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (loop->steps[middle].tick < tick) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t trace_loop_ids(const struct loop_numbering *numbering, int64_t tick)
{
    uint32_t low = 0;
    uint32_t high = numbering->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((numbering->keys[middle] < tick) == numbering->ascending) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void release_numbering(struct loop_numbering *numbering)
{
    free(numbering->rank);
    free(numbering->keys);
}

void trace_loop_release(struct trace_loop *loop)
{
    if (loop->steps != NULL) {
        (void)munmap(loop->steps, loop->mapped_bytes);
    }
    free(loop->left);
    release_numbering(&loop->by_last);
    release_numbering(&loop->by_first);
    release_numbering(&loop->by_left);
    *loop = (struct trace_loop){0};
}
