#!/usr/bin/env bash
# What the build should have done against faults in the code (scripts/hardening.cmake), read from what it made:
#
#     hardened.sh [FILE...]    programs and libraries; without one, those of the build folder
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

[ -z "$SANITIZE" ] || skip "sanitizers take the place of it"
command -v readelf >/dev/null || skip "readelf, of binutils, is not installed"
setting() {
    sed -n "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"
}
[ "$(setting TL_HARDEN)" = ON ] || skip "TL_HARDEN is off"

if [ $# -eq 0 ]; then
    for file in timerlab timerlab-mpi bench/timerlab-bench sim/timerlab-recorder.so sim/timerlab-crash.so algos/libtimerlab.so; do
        [ ! -e "$BUILD/$file" ] || set -- "$@" "$BUILD/$file"
    done
fi
# has FILE PATTERN WHAT: readelf says that of the file, in $said.
has() {
    grep -qE "$2" <<<"$said" || complain "$1: $3"
}
for file; do
    said=$(readelf -hldnsW "$file")
    has "$file" 'Type: +DYN' 'is at a fixed address'
    [[ $file == *.so* ]] || has "$file" 'FLAGS_1.*\bPIE\b' 'is not position-independent'
    has "$file" 'GNU_RELRO' 'its relocations stay writable'
    has "$file" '\bBIND_NOW\b' 'its functions are bound late, in a table that stays writable'
    has "$file" '__stack_chk_fail' 'has no protected stack'
    # The recorder calls nothing that could be checked.
    if [ "$(setting CMAKE_BUILD_TYPE)" != Debug ] && [[ $file != *recorder* ]]; then
        has "$file" '__(memcpy|[a-z]*printf)_chk' 'calls nothing of the C library that checks'
    fi
    if [ "$(setting TL_HAVE_SHSTK)" = 1 ]; then
        has "$file" 'Properties:.*\bSHSTK\b' 'is not marked for shadow stacks'
    fi
    ! grep -qE 'GNU_STACK.* RWE ' <<<"$said" || complain "$file: its stack can be executed"
done
printf 'hardened: %d files\n' $#
[ $# -ge 3 ] || complain "only $# files"
finish
