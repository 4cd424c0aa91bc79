# What is built, which depends on what is found. A part that is AUTO is ON if all that it needs is
# there, and OFF if not; one that was asked for and lacks something ends the configuring, and says by
# the names of Debian's packages what it lacks. The command is what most come for: it is left out
# only if that is asked for.
#
# What a part needs is compiled and linked for a trial: with -m32, or musl-gcc for a compiler,
# pkg-config knows of libraries that the linker cannot use. The structures, as a library, need
# nothing but a C library, so that where the command's libraries are missing there is still
#
#     cmake -B build -DCMAKE_C_FLAGS=-m32 -DTL_COMMAND=OFF
#     CC=musl-gcc cmake -B build -DTL_COMMAND=OFF
include(CMakePushCheckState)
include(CheckLanguage)
include(CheckSourceCompiles)

find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
    message(FATAL_ERROR "pkg-config is missing, with which all else is found (Debian: pkg-config)")
endif()

# tl_try(RESULT LANGUAGE CODE LIBRARIES...): whether a program that begins so compiles, and links to
# those. What fails is tried again the next time: somebody may have installed it.
function(tl_try result language code)
    if(NOT ${result})
        unset(${result} CACHE)
    endif()
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_QUIET ON)
    set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
    set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
    check_source_compiles(${language} "${code}\nint main(void)\n{\n    return 0;\n}" ${result})
    cmake_pop_check_state()
endfunction()

# tl_library(SYMBOL MODULE HEADERS...): looks for what pkg-config calls MODULE. If TL_HAVE_SYMBOL, it
# is PkgConfig::SYMBOL.
function(tl_library symbol module)
    pkg_check_modules(${symbol} QUIET IMPORTED_TARGET ${module})
    if(${symbol}_FOUND)
        list(TRANSFORM ARGN REPLACE "(.+)" "#include <\\1>")
        list(JOIN ARGN "\n" code)
        tl_try(TL_HAVE_${symbol} C "${code}" PkgConfig::${symbol})
    endif()
endfunction()

# tl_part(NAME AUTO|ON WHAT [SYMBOL PACKAGE]...): decides about the part NAME, which needs the
# symbols, each from a package; the second argument is what it is by itself. After it NAME is ON or
# OFF.
function(tl_part name by_itself what)
    set(${name} AUTO CACHE STRING "${what}: ON, OFF or AUTO")
    set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
    set(missing "")
    while(ARGN)
        list(POP_FRONT ARGN symbol package)
        if(NOT ${symbol})
            list(APPEND missing ${package})
        endif()
    endwhile()
    if("TL_COMMAND" IN_LIST missing)
        set(missing TL_COMMAND) # for what else it needs was not looked
    endif()
    list(JOIN missing ", " missing)
    set(wanted ${${name}})
    if(wanted STREQUAL "AUTO")
        set(wanted ${by_itself})
    endif()
    set(built OFF)
    set(why "")
    if(NOT wanted)
        set(why " (not wanted)")
    elseif(NOT missing)
        set(built ON)
    elseif(wanted STREQUAL "AUTO")
        set(why " (missing: ${missing})")
    else()
        message(FATAL_ERROR "${name}, ${what}, needs what is missing here, or is there for another "
            "target than this compiler's. By the names of Debian's packages: ${missing}. "
            "-D${name}=OFF leaves it out.")
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY tl_parts "\n     ${name}=${built}  ${what}${why}")
    set(${name} ${built} PARENT_SCOPE)
endfunction()

# The summary, at the end of configuring.
function(tl_print_parts)
    get_property(parts GLOBAL PROPERTY tl_parts)
    message(STATUS "timerlab ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}${build_type_note}, for "
        "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}. Its parts, each an option:${parts}")
endfunction()

# --- the command ---------------------------------------------------------------------------------

tl_library(ZSTD libzstd zstd.h)
tl_library(XXHASH libxxhash xxhash.h)
tl_library(JANSSON jansson jansson.h)
tl_library(ZLIB zlib zlib.h)
tl_library(LZMA liblzma lzma.h)
tl_library(PCAP libpcap pcap/pcap.h)
tl_library(MPI ompi-c mpi.h)
# In glibc; where it is not, a library of its own.
set(argp_used "#include <argp.h>
error_t (*used)(const struct argp *, int, char **, unsigned, int *, void *) = argp_parse;")
tl_try(TL_HAVE_ARGP C "${argp_used}")
if(NOT TL_HAVE_ARGP)
    tl_try(TL_HAVE_ARGP_STANDALONE C "${argp_used}" argp)
    if(TL_HAVE_ARGP_STANDALONE)
        set(TL_HAVE_ARGP ON)
        link_libraries(argp)
    endif()
endif()
tl_try(TL_HAVE_INT128 C "__extension__ typedef unsigned __int128 wide;")
tl_part(TL_COMMAND ON "the simulator and its command, timerlab"
    TL_HAVE_INT128 "a target of 64 bits (for numbers of 128)"
    TL_HAVE_ZSTD libzstd-dev TL_HAVE_XXHASH libxxhash-dev TL_HAVE_JANSSON libjansson-dev
    TL_HAVE_ZLIB zlib1g-dev TL_HAVE_LZMA liblzma-dev
    TL_HAVE_ARGP "libc6-dev (for argp, or argp-standalone where the C library has none)")
tl_part(TL_PCAP AUTO "trace import pcap" TL_COMMAND TL_COMMAND TL_HAVE_PCAP libpcap-dev)
tl_part(TL_MPI AUTO "timerlab-mpi" TL_COMMAND TL_COMMAND TL_HAVE_MPI libopenmpi-dev)

# --- structures that stand on others' code --------------------------------------------------------

# Loaded when they are asked for: here it is for their headers.
tl_try(TL_HAVE_LIBEV C "#include <ev.h>" ev)
tl_library(LIBUV libuv uv.h)
tl_library(LIBEVENT libevent_core event2/event.h)
tl_library(GLIB glib-2.0 glib.h)
tl_library(LMDB lmdb lmdb.h)
# All macros.
tl_try(TL_HAVE_TREE C "#include <bsd/sys/tree.h>")
set(TL_WRAPPED AUTO CACHE STRING "What TL_LIBEV and the others up to TL_LMDB are if AUTO")
set_property(CACHE TL_WRAPPED PROPERTY STRINGS AUTO ON OFF)
set_property(GLOBAL APPEND_STRING PROPERTY tl_parts
    "\n     TL_WRAPPED=${TL_WRAPPED}  what wraps a library, if not said one by one:")
tl_part(TL_LIBEV ${TL_WRAPPED} "the structure libev" TL_HAVE_LIBEV libev-dev)
tl_part(TL_LIBUV ${TL_WRAPPED} "the structure libuv" TL_HAVE_LIBUV libuv1-dev)
tl_part(TL_LIBEVENT ${TL_WRAPPED} "the structure libevent" TL_HAVE_LIBEVENT libevent-dev)
tl_part(TL_GLIB ${TL_WRAPPED} "the structure glib" TL_HAVE_GLIB libglib2.0-dev)
tl_part(TL_LMDB ${TL_WRAPPED} "the structure kv-wheel" TL_HAVE_LMDB liblmdb-dev)
tl_part(TL_RBTREE AUTO "the structure rbtree" TL_HAVE_TREE libbsd-dev)

# --- engines that a cluster's timers lie on ---------------------------------------------------------

tl_library(HIREDIS hiredis hiredis/hiredis.h)
tl_library(LIBPQ libpq libpq-fe.h)
tl_part(TL_REDIS AUTO "cluster run on Redis" TL_COMMAND TL_COMMAND TL_HAVE_HIREDIS libhiredis-dev)
tl_part(TL_POSTGRES AUTO "cluster run on PostgreSQL" TL_COMMAND TL_COMMAND TL_HAVE_LIBPQ libpq-dev)

# --- what measures and what tests ------------------------------------------------------------------

if(TL_COMMAND AND (NOT DEFINED TL_BENCH OR TL_BENCH OR NOT DEFINED TL_TESTS OR TL_TESTS))
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
        # For the same target as the C compiler?
        find_package(benchmark CONFIG QUIET)
        if(benchmark_FOUND)
            tl_try(TL_HAVE_BENCHMARK CXX "#include <benchmark/benchmark.h>
static_assert(sizeof(void *) == ${CMAKE_C_SIZEOF_DATA_PTR}, \"\");" benchmark::benchmark)
        endif()
    endif()
endif()
tl_part(TL_BENCH AUTO "timerlab-bench"
    TL_COMMAND TL_COMMAND CMAKE_CXX_COMPILER g++ TL_HAVE_BENCHMARK libbenchmark-dev)
tl_library(CMOCKA cmocka setjmp.h stdarg.h stddef.h stdint.h cmocka.h)
tl_part(TL_TESTS AUTO "the tests"
    TL_COMMAND TL_COMMAND CMAKE_CXX_COMPILER g++ TL_HAVE_CMOCKA libcmocka-dev)
