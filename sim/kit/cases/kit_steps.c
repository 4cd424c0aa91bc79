#include "kit_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

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

bool kit_steps_wait(sem_t *semaphore, unsigned ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + ms * UINT64_C(1000000);
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    int result = sem_timedwait(semaphore, &until);
    while (result != 0 && errno == EINTR) {
        result = sem_timedwait(semaphore, &until);
    }
    return result == 0;
}

bool kit_steps_is_asleep(pid_t thread)
{
    char text[128] = "";
    (void)snprintf(text, sizeof text, "/proc/self/task/%d/stat", (int)thread);
    int file = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0) {
        (void)close(file);
    }
    text[bytes > 0 ? bytes : 0] = '\0';
    const char *state = strrchr(text, ')');
    return state != NULL && state[1] != '\0' && state[2] == 'S';
}

#if defined(__x86_64__) && defined(__linux__)

#define TRAP_FLAG   0x100
#define INT3        0xcc

/* An address this near to the stack pointer is on the stack: frames of hooks are small. */
#define STACK_BELOW 256
#define STACK_ABOVE 16384

/* Whether the opcode is followed by a ModR/M byte, and is no lea. */
static bool takes_operand(unsigned char opcode)
{
    if (opcode < 0x40) {
        return (opcode & 7) < 4; /* add, or, ..., cmp */
    }
    return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b ||
           (opcode >= 0x80 && opcode <= 0x8f && opcode != 0x8d) || (opcode & 0xee) == 0xc0 ||
           opcode == 0xc6 || opcode == 0xc7 || (opcode & 0xfc) == 0xd0 || (opcode & 0xf6) == 0xf6;
}

/* Likewise of an opcode that follows 0x0f: those of nop and jcc have no operand in memory. */
static bool takes_operand_after_0f(unsigned char opcode)
{
    return (opcode & 0xf8) != 0x18 && (opcode & 0xf0) != 0x80;
}

static bool is_on_stack(const greg_t *registers, unsigned base)
{
    static const int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
    uint64_t stack = (uint64_t)registers[REG_RSP] - STACK_BELOW;
    return (uint64_t)registers[order[base]] - stack < STACK_BELOW + STACK_ABOVE;
}

bool break_is_access(const void *context)
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = NULL;
    memcpy(&code, &registers[REG_RIP], sizeof code);
    while (*code == 0x66 || *code == 0xf0 || *code == 0xf2 || *code == 0xf3) {
        code++;
    }
    unsigned rex = (*code & 0xf0) == 0x40 ? *code++ : 0u;
    unsigned char opcode = *code++;
    bool is_string = (opcode & 0xf4) == 0xa4 || opcode == 0xaa || opcode == 0xab;
    bool is_vector = opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62;
    if (is_string || is_vector) {
        return true;
    }
    if (opcode == 0x0f ? !takes_operand_after_0f(*code) : !takes_operand(opcode)) {
        return false;
    }
    if (opcode == 0x0f) {
        code += *code == 0x38 || *code == 0x3a ? 2 : 1;
    }
    unsigned mode = *code >> 6u;
    unsigned base = *code & 7u;
    bool has_index = mode < 3 && base == 4;
    base = has_index ? code[1] & 7u : base;
    if (mode == 3 || (mode == 0 && base == 5)) {
        return mode < 3; /* a register; an address without a base */
    }
    return !is_on_stack(registers, base | (rex & 1u) << 3u);
}

/* --- the breakpoint -------------------------------------------------------------------------- */

/* Static, since a signal handler reads it. */
static struct {
    int memory;        /* /proc/self/mem, which writes to code, too */
    uintptr_t address; /* 0: no breakpoint */
    unsigned char covered;
    unsigned passes;
    void (*reached)(void);
} point;

static bool write_code(unsigned char byte)
{
    return pwrite(point.memory, &byte, 1, (off_t)point.address) == 1;
}

void break_remove(void)
{
    if (point.address != 0) {
        (void)write_code(point.covered);
        point.address = 0;
    }
}

/* At the breakpoint. */
static void reach(greg_t *registers)
{
    registers[REG_RIP]--;
    if (point.address != (uintptr_t)registers[REG_RIP]) {
        return; /* removed meanwhile */
    }
    if (point.passes > 0) {
        point.passes--;
        (void)write_code(point.covered);
        registers[REG_EFL] |= TRAP_FLAG;
    } else {
        break_remove();
        point.reached();
    }
}

bool break_set(const void *address, unsigned passes, void (*reached)(void))
{
    break_remove();
    if (point.memory == 0) {
        point.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    }
    point.address = (uintptr_t)address;
    memcpy(&point.covered, address, 1);
    point.passes = passes;
    point.reached = reached;
    bool is_set = write_code(INT3);
    point.address = is_set ? point.address : 0;
    return is_set;
}

/* --- instructions ---------------------------------------------------------------------------- */

/* Before an instruction that is counted. */
static void step(greg_t *registers, void *place)
{
    uintptr_t at = (uintptr_t)registers[REG_RIP];
    struct kit_call *call = innermost;
    if (call->steps < call->most) {
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
}

static void on_trap(int signal_number, siginfo_t *info, void *place)
{
    (void)signal_number;
    (void)info;
    greg_t *registers = ((ucontext_t *)place)->uc_mcontext.gregs;
    int kept = errno;
    if (is_on) {
        step(registers, place);
    } else if ((registers[REG_EFL] & TRAP_FLAG) == 0) {
        reach(registers);
    } else { /* after the last step, or one instruction after the breakpoint */
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        if (point.address != 0) {
            (void)write_code(INT3);
        }
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

bool break_is_access(const void *context)
{
    return context != NULL;
}

bool break_set(const void *address, unsigned passes, void (*reached)(void))
{
    (void)address;
    (void)passes;
    (void)reached;
    return false;
}

void break_remove(void) {}

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

static void *watched_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    (void)ctx;
    hold();
    if (steps.watcher.step != NULL) {
        steps.watcher.step(innermost, NULL);
    }
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
