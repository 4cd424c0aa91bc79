#!/usr/bin/env bash
# A build with everything left out that can be: what is left out is named at the end of configuring
# and where it is asked for, the rest works, and at any stage of the build it can be installed.
set -euo pipefail

[ -z "$SANITIZE" ] || { echo "skipped: sanitizers see nothing here that they do not elsewhere" >&2 && exit 77; }
command -v make >/dev/null || { echo "skipped: make, of the default generator, is not installed" >&2 && exit 77; }
command -v ninja >/dev/null || { echo "skipped: ninja is not installed" >&2 && exit 77; }

# A build as deep in the sources' folder as that of the preset, and by its flags: what a cache of compilations has of
# that, it has of this.
mkdir -p "$SOURCE/build"
build=$(mktemp -d -p "$SOURCE/build")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch" "$build"' EXIT
installed=$scratch/installed
unset CMAKE_GENERATOR
flags=$(sed -n 's/.*"CMAKE_C_FLAGS_RELEASE": "\([^"]*\)".*/\1/p' "$SOURCE/CMakePresets.json")

fail() {
    printf 'minimal_build: %s\n' "$1" >&2
    [ ! -f "$scratch/log" ] || tail -n 15 "$scratch/log" >&2
    exit 1
}
logged() {
    "$@" >"$scratch/log" 2>&1 || fail "failed: $*"
}
says() {
    grep -qF -- "$1" "$scratch/log" || fail "does not say '$1' but:"
}
configure() {
    cmake -S "$SOURCE" -B "$build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Release -DTL_WERROR=ON \
        -DCMAKE_C_FLAGS_RELEASE="$flags" "$@"
}

# Asked for, and not there; not asked for, and not there.
export PKG_CONFIG_LIBDIR=$scratch
if configure >"$scratch/log" 2>&1; then
    fail "is configured without the libraries that the command needs"
fi
says libjansson-dev
rm -rf "$build"
logged configure -DTL_COMMAND=OFF
says 'TL_LIBUV=OFF  the structure libuv (missing: libuv1-dev)'
if configure -DTL_COMMAND=OFF -DTL_LIBUV=ON >"$scratch/log" 2>&1; then
    fail "is configured with libuv, which is not there"
fi
says libuv1-dev
unset PKG_CONFIG_LIBDIR
rm -rf "$build"

logged configure -G Ninja -DTL_PCAP=OFF -DTL_WRAPPED=OFF -DTL_RBTREE=OFF -DTL_BENCH=OFF -DTL_TESTS=OFF
for part in TL_PCAP TL_LIBEV TL_LIBUV TL_LIBEVENT TL_GLIB TL_LMDB TL_RBTREE TL_BENCH TL_TESTS; do
    says "$part=OFF  "
done
! grep -q '^CMAKE_CXX_COMPILER:' "$build/CMakeCache.txt" || fail "looks for a compiler of C++"

# Before anything is built, with the program alone, and with all.
install_it() {
    rm -rf "$installed"
    logged cmake --install "$build" --prefix "$installed"
}
install_it
[ -f "$installed/include/timerlab.h" ] || fail "no header is installed"
[ ! -e "$installed/bin/timerlab" ] || fail "installs programs that are not built"
logged cmake --build "$build" --parallel 2 --target timerlab_command
install_it
"$installed/bin/timerlab" --version >"$scratch/log" || fail "the installed program does not start"
[ -z "$(find "$installed" -name 'libtimerlab.so*' -o -name '*.1')" ] || fail "installs what is not built"
logged cmake --build "$build" --parallel 2
install_it
[ -n "$(find "$installed" -name timerlab-sim.1)" ] || fail "no manual pages"
[ -z "$(find "$installed" -name timerlab-bench.1)" ] || fail "a manual page of a program that is not there"
shared=$(find "$installed" -name libtimerlab.so)
needed=$(readelf -d "$shared" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "the shared library needs $needed"

export PATH=$installed/bin:$PATH
cd "$scratch"
printf 'tick,id,op,delay\n0,0,start,5\n0,1,start,7\n3,0,start,5\n4,1,stop,\n' >trace.csv
logged timerlab trace import csv trace.csv -o t.trace
logged timerlab sim t.trace -a binary-heap,libev:poll=none,libuv,libevent,glib,rbtree,kv-wheel --runs 1
for structure in libev libuv libevent glib rbtree kv-wheel; do
    grep -qE "$structure(:poll=none)?: unsupported: .*a library that the structure wraps is not installed" log ||
        fail "sim does not say that $structure is not there"
    timerlab describe $structure | tr -s ' \n' ' ' >described
    grep -q 'not in this build, which lacked lib.*-dev' described || fail "describe $structure does not say what is missing"
done
grep -qE 'binary-heap +[0-9]' log || fail "binary-heap does not run"
if timerlab trace import pcap trace.csv --model rto -o p.trace >log 2>&1; then
    fail "imports a capture without libpcap"
fi
says 'without libpcap (libpcap-dev)'
