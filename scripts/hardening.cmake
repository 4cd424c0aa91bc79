# TL_HARDEN: what compilers and linkers do so that a fault in the code is harder to exploit. SECURITY.md lists it,
# docs/results/instructions.md has its cost. Sanitizers find more, and cannot be combined with it.
option(TL_HARDEN "Protected stacks, checked buffers, read-only relocations, PIE, shadow stacks" ON)
if(NOT TL_HARDEN OR TL_SANITIZE)
    return()
endif()
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
add_compile_options(-fstack-protector-strong)
# The C library's checks need an optimising compiler.
add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
# Returns, not indirect jumps: a landing pad at the beginning of each hook and callback is one more instruction of 11
# to 100 that an operation takes, and Linux does not check them in programs. Code that is not timed has them.
check_c_compiler_flag(-fcf-protection TL_HAVE_CET)
check_c_compiler_flag(-mbranch-protection=standard TL_HAVE_BRANCH_PROTECTION)
if(TL_HAVE_CET)
    add_compile_options(-fcf-protection=return)
    set(TL_HARDEN_JUMPS -fcf-protection=full)
    # Debian's start-up files are not marked for shadow stacks, though nothing in them is against it.
    check_linker_flag(C LINKER:-z,shstk TL_HAVE_SHSTK)
    if(TL_HAVE_SHSTK)
        add_link_options(LINKER:-z,shstk)
    endif()
elseif(TL_HAVE_BRANCH_PROTECTION)
    add_compile_options(-mbranch-protection=pac-ret)
    set(TL_HARDEN_JUMPS -mbranch-protection=standard)
endif()
# The structures' objects are position-independent in any case, since they are in the shared library, too.
add_compile_options("$<$<IN_LIST:$<TARGET_PROPERTY:TYPE>,STATIC_LIBRARY;EXECUTABLE>:-fPIE>")
add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>" LINKER:-z,relro,-z,now)
