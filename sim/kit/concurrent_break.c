#include "concurrent_break.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)

#define TRAP_FLAG   0x100
#define INT3        0xcc

/* An address this near to the stack pointer is on the stack: frames of hooks are small. */
#define STACK_BELOW 256
#define STACK_ABOVE 16384

/* --- accesses -------------------------------------------------------------------------------- */

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

/* Likewise of an opcode that follows 0x0f: all but syscall, ud2, nop, rdtsc, jcc, cpuid, bswap. */
static bool takes_operand_after_0f(unsigned char opcode)
{
    return opcode != 0x05 && opcode != 0x0b && (opcode & 0xf8) != 0x18 && opcode != 0x31 &&
           (opcode & 0xf0) != 0x80 && opcode != 0xa2 && (opcode & 0xf8) != 0xc8;
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

/* At the breakpoint, or one instruction after it. */
static void on_trap(int signal_number, siginfo_t *info, void *place)
{
    (void)signal_number;
    (void)info;
    greg_t *registers = ((ucontext_t *)place)->uc_mcontext.gregs;
    int kept = errno;
    if ((registers[REG_EFL] & TRAP_FLAG) != 0) {
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        if (point.address != 0) {
            (void)write_code(INT3);
        }
        errno = kept;
        return;
    }
    registers[REG_RIP]--;
    if (point.address != (uintptr_t)registers[REG_RIP]) {
        errno = kept;
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
    errno = kept;
}

void break_set(const void *address, unsigned passes, void (*reached)(void))
{
    break_remove();
    point.address = (uintptr_t)address;
    memcpy(&point.covered, address, 1);
    point.passes = passes;
    point.reached = reached;
    if (!write_code(INT3)) {
        point.address = 0;
    }
}

static void note_reached(void) {}

bool break_open(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_trap;
    if (point.memory == 0) {
        point.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    }
    const void *code = NULL;
    void (*function)(void) = note_reached;
    memcpy(&code, &function, sizeof code);
    if (point.memory < 0 || sigaction(SIGTRAP, &action, NULL) != 0) {
        return false;
    }
    break_set(code, 0, note_reached);
    bool is_set = point.address != 0;
    break_remove();
    return is_set;
}

#else

bool break_is_access(const void *context)
{
    return context != NULL;
}

bool break_open(void)
{
    return false;
}

void break_set(const void *address, unsigned passes, void (*reached)(void))
{
    (void)address;
    (void)passes;
    (void)reached;
}

void break_remove(void) {}

#endif
