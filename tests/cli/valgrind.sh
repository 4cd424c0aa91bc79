#!/usr/bin/env bash
# timerlab check under valgrind: it finds nothing wrong with some structures and the kit, and what reads
# memory that nobody wrote is found in a case that it passes otherwise.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

[ -z "$SANITIZE" ] || skip "valgrind and sanitizers do not go together"
needs valgrind

logs=("$scratch/log")
check() { # ARGUMENTS...
    valgrind --quiet --trace-children=yes --error-exitcode=9 "$TIMERLAB" check --seconds 0 "$@" \
        >"$scratch/log" 2>&1
}

if ! check -a binary-heap --case create && grep -q SIGILL "$scratch/log"; then
    skip "built for a processor that valgrind does not know, as the preset native does"
fi
check -a hier-wheel,bitmap-wheel --case callback-mixed || fail "callback-mixed"
check -a binary-heap --case two-threads || fail "two-threads"

if echo '#include <valgrind/memcheck.h>' | "$CC" -E - >/dev/null 2>&1; then
    "$CC" -std=c17 -O1 -shared -fPIC -I"$SOURCE/algos" -I"$SOURCE/tests/wrong" "$BUILD/tests/wrong/heap_reads_uninitialised.c" \
        -o "$scratch/wrong.so"
    wrong=(-a heap-reads-uninitialised --plugin "$scratch/wrong.so" --case stop-idle)
    "$TIMERLAB" check "${wrong[@]}" >"$scratch/log" || fail "stop-idle is no longer a case that it passes"
    if check "${wrong[@]}" || ! grep -q 'depends on uninitialised value' "$scratch/log"; then
        fail "memory that nobody wrote is not seen"
    fi
fi
