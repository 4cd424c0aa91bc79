#!/usr/bin/env bash
# timerlab export: every structure is written and compiles without a warning; some are checked, as
# scripts/check-exports does with all; what it must refuse, it refuses.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq
# refuse STATUS WORDS ARGUMENTS...: ends with that status and says that, and writes nothing.
refuse() {
    local wanted=$1 words=$2 status=0
    shift 2
    "$TIMERLAB" export "$@" -o "$scratch/nothing" >"$scratch/printed" 2>"$scratch/said" || status=$?
    [ "$status" -eq "$wanted" ] || fail "export $*: exit status $status, not $wanted"
    grep -qF -- "$words" "$scratch/said" || fail "export $*: does not say '$words' but: $(cat "$scratch/said")"
    [ ! -e "$scratch/nothing" ] || fail "export $*: wrote something"
}

refuse 2 'which structure'
refuse 2 'one structure at a time' hier-wheel go-heap
refuse 2 'hier-wheel' heir-wheel
refuse 2 'slots' hier-wheel:slots=1
refuse 2 'one structure at a time' all
refuse 2 'names in C begin' hier-wheel --prefix My-wheel
refuse 2 "timerlab's" hier-wheel --prefix tl
refuse 1 'timerlab export go-heap' 'locked(go-heap)'
refuse 1 "uses another library" libuv
refuse 1 'is written as its sources' kv-wheel --cpp
refuse 1 'fires nothing' null
refuse 1 'Without --intrusive' brpc-timer --intrusive
refuse 1 'Without --nodes' binary-heap --intrusive --nodes
refuse 2 'add --intrusive' hier-wheel --nodes

# Nothing of timerlab is left, but who made it; the names of the outside are the prefix's.
"$TIMERLAB" export hier-wheel:slots=64:rounding=ceil --prefix late -o out
[ "$(ls out)" = $'late.c\nlate.h' ] || fail "wrote other files: $(ls out)"
! grep -nE '\<(tl_|TL_)|\<counters\>|_walk\(|struct .*_algo|corrupt' out/late.* || fail "something of timerlab is left"
grep -q 'slots = 64u*l*, /\* 64: ' out/late.c || fail "the option is not in it"
"$CC" -std=c17 -O1 -c out/late.c -o late.o
nm -g --defined-only late.o | awk '{ print $3 }' | sort >names
printf 'late_%s\n' advance count create destroy next reserve start stop | diff - names ||
    fail "other names are seen outside"
# Freestanding, with an allocator of the caller's: nothing is asked of a C library but to move bytes.
"$CC" -std=c17 -O1 -ffreestanding -DLATE_NO_MALLOC -c out/late.c -o late.o
! nm -u late.o | grep -vE ' mem(cpy|set|move)$|__(asan|ubsan)' || fail "it needs more than it says"
# Handed to a compiler for C++, it says what to do.
! "$CXX" -x c++ -fsyntax-only out/late.c 2>said || fail "it compiles as C++"
grep -q 'compile it as C ' said || fail "as C++ it is refused without a word: $(cat said)"
# A prefix under which names inside would be those outside.
"$TIMERLAB" export binary-heap --prefix heap -o out
"$CC" -std=c17 -Wall -Wextra -Werror -c out/heap.c -o heap.o

# What is durable is a folder of its sources, that compiles with no other, and a loop that recovers, starts, syncs,
# answers, fires and acknowledges: killed, and run again.
for structure in 'durable(binary-heap):window=3:group=100' 'durable(chunk-wheel)' kv-wheel; do
    rm -rf durable
    "$TIMERLAB" export "$structure" --prefix jobs -o durable
    (cd durable && "$CC" -std=c17 -O1 -Wall -Wextra -Werror ./*.c -o example)
    coproc loop { exec durable/example durable/timers; }
    # shellcheck disable=SC2154 # coproc sets it
    pid=$loop_PID
    printf '7 86400000\n8 0\n9 86400000\n' >&"${loop[1]}"
    until read -r -t 60 line <&"${loop[0]}" && [ "$line" = 'started 9' ]; do
        kill -0 "$pid" || fail "export $structure: the example ended"
    done
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
    printf '7 0\n' | durable/example durable/timers >said || fail "export $structure: the example failed"
    { grep -qx 'pending 7' said && grep -qx 'pending 9' said && ! grep -q 'pending 8' said && grep -q '^fired 7 ' said; } ||
        fail "export $structure: $(cat said)"
done

# The class for C++, around either shape: three timers of which one is stopped, and their callbacks. Once they are
# made, no memory is asked for, of the allocator or by new (hier-wheel wants some for delays of a level that is new).
for shape in own records; do
    flags=(--cpp)
    [ "$shape" = own ] || flags+=(--intrusive)
    "$TIMERLAB" export hier-wheel --prefix idle "${flags[@]}" -o "$shape"
    cat >"$shape/main.cc" <<'END'
#include "idle.hpp"
#include <cstdlib>
#include <new>
#include <vector>
struct connection { int descriptor; uint64_t node[2]; };
static int asked;
void *operator new(std::size_t bytes) { asked++; return std::malloc(bytes); }
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }
/* Grows only where nothing was. */
static void *resize(void *, void *block, std::size_t, std::size_t bytes, std::size_t align)
{
    if (bytes == 0) {
        std::free(block);
        return nullptr;
    }
    asked++;
    return block == nullptr ? std::aligned_alloc(align, (bytes + align - 1) / align * align) : nullptr;
}
int main()
{
    std::vector<connection> connections(3);
    const idle_allocator counted = {nullptr, resize};
    idle::timers timers;
#ifdef RECORDS
    idle_records records = {connections.data(), sizeof(connection), offsetof(connection, node)};
    if (sizeof(idle_node) != sizeof(connection::node) || timers.create(3, 100, records, 0, &counted) != IDLE_OK) {
#else
    if (timers || timers.create(3, 100, 0, &counted) != IDLE_OK) {
#endif
        return 1;
    }
    std::vector<uint32_t> fired;
    fired.reserve(3);
    const int made = asked;
    for (uint32_t id = 0; id < 3; id++) {
        timers.start(id, 110 + id);
    }
    idle::timers moved = std::move(timers);
    if (timers || moved.stop(1) != IDLE_OK || moved.stop(1) != IDLE_IDLE || moved.next() > 110) {
        return 2;
    }
    moved.advance(111, [&](uint32_t id, uint64_t) { fired.push_back(id); moved.start(id, 120); });
    moved.advance(112, [&](uint32_t id, uint64_t) { fired.push_back(id); });
    if (made < 2 || asked != made) {
        return 4;
    }
    return fired == std::vector<uint32_t>{0, 2} && moved.count() == 1 ? 0 : 3;
}
END
    sanitizers=()
    [ -z "$SANITIZE" ] || sanitizers=("-fsanitize=$SANITIZE")
    define=()
    [ "$shape" = own ] || define=(-DRECORDS)
    "$CC" -std=c17 -O1 "${sanitizers[@]}" -c "$shape/idle.c" -o idle.o
    "$CXX" -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "${sanitizers[@]}" "${define[@]}" \
        "$shape/main.cc" idle.o -o main
    ./main || fail "$shape: the program in C++ ends with $?"
done

# All of them, by a compiler to which it makes no difference how timerlab was built.
if [ -z "$SANITIZE" ]; then
    "$SOURCE/scripts/check-exports" --compile >said || fail "$(cat said)"
    [ "$(sed "s, .*,," said)" -gt 60 ] || fail "$(cat said)"
fi
"$SOURCE/scripts/check-exports" --quick hier-wheel binary-heap chunk-wheel skip-list >said || fail "$(cat said)"
