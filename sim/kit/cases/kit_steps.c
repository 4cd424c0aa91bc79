#include "kit_steps.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

#define TRAP_FLAG 0x100

/* One thread of a process is stepped, and a handler has no other place to look. */
static struct {
    kit_step_fn *ask;
    uintptr_t from; /* the object's code */
    uintptr_t to;
    uint64_t left;
    uint64_t most;
    bool on;
} volatile steps;

static void on_trap(int signal_number, siginfo_t *info, void *place)
{
    (void)signal_number;
    (void)info;
    greg_t *registers = ((ucontext_t *)place)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)registers[REG_RIP];
    const void *instruction;
    memcpy(&instruction, &at, sizeof instruction);
    int kept = errno;
    if (steps.on && steps.left > 0) {
        steps.left--;
        if (at >= steps.from && at < steps.to && !steps.ask(instruction)) {
            steps.on = false;
        }
    }
    if (steps.on && steps.left > 0) {
        registers[REG_EFL] |= TRAP_FLAG;
    } else {
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    }
    errno = kept;
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

static bool ask_nothing(const void *instruction)
{
    (void)instruction;
    return true;
}

bool kit_steps_ready(const void *code, kit_step_fn *ask)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_trap;
    if (dl_iterate_phdr(find_segment, &code) == 0 || sigaction(SIGTRAP, &action, NULL) != 0) {
        return false;
    }
    /* Whether this processor does it is found out by trying. */
    steps.ask = ask_nothing;
    kit_steps_begin(2);
    bool works = kit_steps_end() == 2;
    steps.ask = ask;
    return works;
}

void kit_steps_begin(uint64_t most)
{
    steps.most = most;
    steps.left = most;
    steps.on = true;
    __asm__ volatile("int3\n\tnop\n\tnop" ::: "memory");
}

uint64_t kit_steps_end(void)
{
    steps.on = false; /* which the next trap obeys */
    return steps.most - steps.left;
}

#else

bool kit_steps_ready(const void *code, kit_step_fn *ask)
{
    (void)code;
    (void)ask;
    return false;
}

void kit_steps_begin(uint64_t most)
{
    (void)most;
}

uint64_t kit_steps_end(void)
{
    return 0;
}

#endif
