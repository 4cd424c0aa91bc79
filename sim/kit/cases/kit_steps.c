#include "kit_steps.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>

/* Static, since a signal handler reads it; a process watches one structure. */
static struct {
    const struct tl_algo *structure;
    struct tl_algo watched;
    struct kit_watcher watcher;
    const struct tl_allocator *given;
    struct tl_allocator allocator; /* handed to the structure, in front of the given one */
    uintptr_t from;                /* the object's code */
    uintptr_t to;
    bool can_step;
} steps;

/* Each thread is stepped by itself. */
static _Thread_local struct kit_call *innermost;
static _Thread_local volatile bool is_on;

const struct kit_call *kit_steps_call(void)
{
    return innermost;
}

/* --- instructions ---------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__linux__)

#define TRAP_FLAG 0x100

static void on_trap(int signal_number, siginfo_t *info, void *place)
{
    (void)signal_number;
    (void)info;
    greg_t *registers = ((ucontext_t *)place)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)registers[REG_RIP];
    struct kit_call *call = innermost;
    int kept = errno;
    if (is_on && call->steps < call->most) {
        call->steps++;
        if (call->stride > 0 && at >= steps.from && at < steps.to && call->left-- == 0) {
            const void *instruction;
            memcpy(&instruction, &at, sizeof instruction);
            call->left = call->stride - 1;
            call->context = place;
            steps.watcher.step(call, instruction);
        }
    }
    if (is_on && call->steps < call->most) {
        registers[REG_EFL] |= TRAP_FLAG;
    } else {
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    }
    errno = kept;
}

static void go_on(void)
{
    if (steps.can_step && innermost != NULL && innermost->steps < innermost->most) {
        is_on = true;
        __asm__ volatile("int3\n\tnop\n\tnop" ::: "memory");
    }
}

/* The segment that holds the code that *sought points to; its ends go to `steps`. */
static int find_segment(struct dl_phdr_info *object, size_t bytes, void *sought)
{
    uintptr_t code = (uintptr_t) * (const void *const *)sought;
    (void)bytes;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t from = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && code - from < segment->p_memsz) {
            steps.from = from;
            steps.to = from + segment->p_memsz;
            return 1;
        }
    }
    return 0;
}

/* Whether this processor can do it: try. */
static bool try_stepping(void)
{
    const void *code;
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_trap;
    memcpy(&code, &steps.structure->advance, sizeof code);
    if (dl_iterate_phdr(find_segment, &code) == 0 || sigaction(SIGTRAP, &action, NULL) != 0) {
        return false;
    }
    struct kit_call call = {.most = 2};
    innermost = &call;
    steps.can_step = true;
    go_on();
    is_on = false;
    innermost = NULL;
    return call.steps == 2;
}

#else

static void go_on(void) {}

static bool try_stepping(void)
{
    return false;
}

#endif

/* --- hooks ----------------------------------------------------------------------------------- */

static void hold(void)
{
    is_on = false; /* which the next trap obeys */
}

static void enter(struct kit_call *call, enum kit_hook hook)
{
    *call = (struct kit_call){.outer = innermost, .hook = hook};
    innermost = call;
    if (steps.watcher.enter != NULL) {
        steps.watcher.enter(call);
    }
    go_on();
}

static void leave(const struct kit_call *call)
{
    hold();
    innermost = call->outer;
    if (steps.watcher.leave != NULL) {
        steps.watcher.leave(call);
    }
}

static void outside(void)
{
    hold();
    if (steps.watcher.outside != NULL) {
        steps.watcher.outside();
    }
}

static void *watched_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    (void)ctx;
    outside();
    void *memory = steps.given->resize(steps.given->ctx, ptr, old_bytes, new_bytes, align);
    go_on();
    return memory;
}

static enum tl_status watched_create(const struct tl_config *config, void **self)
{
    struct kit_call call;
    struct tl_config watched = *config;
    steps.given = config->allocator;
    watched.allocator = &steps.allocator;
    enter(&call, KIT_HOOK_CREATE);
    enum tl_status status = steps.structure->create(&watched, self);
    leave(&call);
    return status;
}

static void watched_destroy(void *self)
{
    struct kit_call call;
    enter(&call, KIT_HOOK_DESTROY);
    steps.structure->destroy(self);
    leave(&call);
}

/* A hook that needs no other preparation. */
#define WATCHED(type, hook, code, parameters, arguments)                                           \
    static type watched_##hook parameters                                                          \
    {                                                                                              \
        struct kit_call call;                                                                      \
        enter(&call, code);                                                                        \
        type result = steps.structure->hook arguments;                                             \
        leave(&call);                                                                              \
        return result;                                                                             \
    }
WATCHED(enum tl_status, reserve, KIT_HOOK_RESERVE, (void *self, uint32_t capacity),
        (self, capacity))
WATCHED(enum tl_status, start, KIT_HOOK_START, (void *self, uint32_t id, uint64_t deadline),
        (self, id, deadline))
WATCHED(enum tl_status, stop, KIT_HOOK_STOP, (void *self, uint32_t id), (self, id))
WATCHED(uint64_t, next, KIT_HOOK_NEXT, (const void *self), (self))
WATCHED(uint64_t, count, KIT_HOOK_COUNT, (const void *self), (self))
#undef WATCHED

/* The callback that the judge gave to advance. */
struct handed {
    tl_fire_fn fire;
    void *ctx;
};

static void watched_fire(void *ctx, uint32_t id, uint64_t now)
{
    const struct handed *handed = ctx;
    hold();
    innermost->fires++;
    handed->fire(handed->ctx, id, now);
    go_on();
}

static uint64_t watched_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct kit_call call;
    struct handed handed = {fire, ctx};
    enter(&call, KIT_HOOK_ADVANCE);
    uint64_t fired = steps.structure->advance(self, now, budget, watched_fire, &handed);
    leave(&call);
    return fired;
}

const struct tl_algo *kit_steps_watch(const struct tl_algo *structure,
                                      const struct kit_watcher *watcher, bool *can_step)
{
    memset(&steps, 0, sizeof steps);
    steps.structure = structure;
    steps.watcher = *watcher;
    steps.allocator.resize = watched_resize;
    steps.watched = *structure;
    steps.watched.create = watched_create;
    steps.watched.destroy = watched_destroy;
    steps.watched.reserve = watched_reserve;
    steps.watched.start = watched_start;
    steps.watched.stop = watched_stop;
    steps.watched.advance = watched_advance;
    steps.watched.next = structure->next != NULL ? watched_next : NULL;
    steps.watched.count = watched_count;
    steps.can_step = try_stepping();
    *can_step = steps.can_step;
    return &steps.watched;
}
