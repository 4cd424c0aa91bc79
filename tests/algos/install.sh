#!/usr/bin/env bash
# Installs into a folder, moves that elsewhere, and uses it as someone would who has nothing else: by
# pkg-config and by find_package, shared and static; the programs, the pages, and the completion.
# Leaves the installation in $BUILD/tests/installed, for the tests that start from one.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

installed=$BUILD/tests/installed
rm -rf "$installed"
cmake --install "$BUILD" --prefix "$scratch/prefix" >"$scratch/log"
mv "$scratch/prefix" "$installed"

libdir=$(dirname "$(find "$installed" -name libtimerlab.a)")
flags=(-std=c17 -O1 -Wall -Wextra -Wpedantic -Werror)
if [ -n "$SANITIZE" ]; then
    flags+=("-fsanitize=$SANITIZE")
fi

# One version in the header, the library's name, and what programs ask for.
abi=$(sed -n 's/^#define TL_ABI *\([0-9]*\)u$/\1/p' "$installed/include/timerlab.h")
[ -f "$libdir/libtimerlab.so.$abi" ] || fail "no libtimerlab.so.$abi, though TL_ABI is $abi"

# The shared library exports what the headers declare, and no more.
nm -D --defined-only "$libdir/libtimerlab.so" | awk '{ print $3 }' | sort >"$scratch/exported"
sed 's|/\*.*||' "$installed"/include/timerlab/*.h | grep -oE '\<tl_[a-z_]+\(' | tr -d '(' |
    sort -u >"$scratch/declared"
grep -vxFf "$scratch/declared" "$scratch/exported" >"$scratch/surplus" || true
[ -s "$scratch/exported" ] || fail "the shared library exports nothing"
[ ! -s "$scratch/surplus" ] || fail "exported, but not declared: $(paste -sd ' ' "$scratch/surplus")"

# It needs nothing but the C library.
needed=$(readelf -d "$libdir/libtimerlab.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$SANITIZE" ] || [ "$needed" = libc.so.6 ] || fail "the shared library needs $needed"

# pkg-config, and the installed `timerlab new` for a plug-in.
export PKG_CONFIG_PATH=$libdir/pkgconfig
read -ra cflags <<<"$(pkg-config --cflags timerlab)"
read -ra libs <<<"$(pkg-config --libs timerlab)"
"$CC" "${flags[@]}" "${cflags[@]}" "$SOURCE/tests/algos/consumer.c" "${libs[@]}" -o "$scratch/consumer"
PATH=$installed/bin:$PATH
command=$(timerlab new my-wheel 2>/dev/null | sed -n 1p)
[[ $command == *"-I$installed/include "* ]] || fail "timerlab new does not know the installed header: $command"
sh -c "$command"
timerlab list | awk 'NF == 0 { exit } NR > 1 { print $1 } END { print "my-wheel" }' >"$scratch/names"
LD_LIBRARY_PATH=$libdir "$scratch/consumer" ./my-wheel.so | diff "$scratch/names" - ||
    fail "the structures that a program finds (>) are not those that timerlab lists (<)"

# The same for C++, and what the installed program exports.
cat >"$scratch/consumer.cc" <<'END'
#include <timerlab.h>
#include <timerlab/registry.h>
#include "hier_wheel.hpp"
int main()
{
    hier_wheel::timers timers;
    return tl_registry_find("hier-wheel") != nullptr && timers.create(10, 0) == HIER_WHEEL_OK ? 0 : 1;
}
END
timerlab export hier-wheel --cpp -o "$scratch"
"$CC" "${flags[@]}" -c "$scratch/hier_wheel.c" -o "$scratch/hier_wheel.o"
"$CXX" "${flags[@]/-std=c17/-std=c++17}" "${cflags[@]}" "$scratch/consumer.cc" "$scratch/hier_wheel.o" \
    "${libs[@]}" -o "$scratch/consumer_cc"
LD_LIBRARY_PATH=$libdir "$scratch/consumer_cc" || fail "the program in C++ does not find hier-wheel"

# find_package, both kinds, in both languages
mkdir "$scratch/project"
cat >"$scratch/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(timerlab $(pkg-config --modversion timerlab) REQUIRED)
foreach(kind IN ITEMS timerlab timerlab_static)
    add_executable(with_\${kind} "$SOURCE/tests/algos/consumer.c")
    target_link_libraries(with_\${kind} PRIVATE timerlab::\${kind})
endforeach()
add_executable(in_cxx "$scratch/consumer.cc" "$scratch/hier_wheel.c")
target_link_libraries(in_cxx PRIVATE timerlab::timerlab)
END
if ! {
    cmake -S "$scratch/project" -B "$scratch/project/build" -DCMAKE_PREFIX_PATH="$installed" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="${flags[*]}" \
        -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="${flags[*]/-std=c17/-std=c++17}" &&
        cmake --build "$scratch/project/build"
} >"$scratch/log" 2>&1; then
    fail "$(cat "$scratch/log")"
fi
for kind in timerlab timerlab_static; do
    "$scratch/project/build/with_$kind" ./my-wheel.so | diff "$scratch/names" - ||
        fail "$kind: structures are missing"
done
"$scratch/project/build/in_cxx" || fail "find_package for C++: the program does not find hier-wheel"
readelf -d "$scratch/project/build/with_timerlab" | grep -qF "libtimerlab.so.$abi" ||
    fail "timerlab::timerlab is not the shared library"
! readelf -d "$scratch/project/build/with_timerlab_static" | grep -qF libtimerlab ||
    fail "timerlab::timerlab_static is not the static library"

# The page on using the library: its program, built as the page says, prints what the page shows.
block() { # LANGUAGE
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$SOURCE/docs/guide/using-the-library.md" | sed '1d;$d'
}
mkdir "$scratch/page"
block c >"$scratch/page/timers.c"
block cmake >"$scratch/page/CMakeLists.txt"
block text >"$scratch/page/expected"
"$CC" "${flags[@]}" "$scratch/page/timers.c" "${cflags[@]}" "${libs[@]}" "-Wl,-rpath,$libdir" -o "$scratch/page/timers"
"$scratch/page/timers" | diff "$scratch/page/expected" - || fail "the page's program prints something else (>)"
if ! {
    cmake -S "$scratch/page" -B "$scratch/page/build" -DCMAKE_PREFIX_PATH="$installed" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="${flags[*]}" &&
        cmake --build "$scratch/page/build"
} >"$scratch/log" 2>&1; then
    fail "$(cat "$scratch/log")"
fi
"$scratch/page/build/timers" | diff "$scratch/page/expected" - || fail "find_package: the page's program differs"

# The example, as its first lines say it is built, with every warning; another test runs it.
"$CC" "${flags[@]}" -Wconversion -Wshadow "$SOURCE/docs/examples/echo-server.c" "${cflags[@]}" \
    "${libs[@]}" "-Wl,-rpath,$libdir" -o "$installed/echo-server"

# A page for each command of each table, which roff understands.
page() {
    local name=$1 file
    file=$(find "$installed" -name "$name.1")
    [ -s "$file" ] || fail "no manual page $name"
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww "$file" 2>&1 >/dev/null | tee "$scratch/log"
        [ ! -s "$scratch/log" ] || fail "$name: roff complains"
    fi
}
commands_of() {
    "$@" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'
}
page timerlab
for command in $(commands_of timerlab); do
    page "timerlab-$command"
done
for command in $(commands_of timerlab trace); do
    page "timerlab-trace-$command"
done
grep -q -- 'drive' "$(find "$installed" -name timerlab-sim.1)" || fail "timerlab-sim has no options"

# Completion is found by the name of the command.
for shell in bash:bash-completion/completions/timerlab zsh:zsh/site-functions/_timerlab fish:fish/vendor_completions.d/timerlab.fish; do
    cmp -s "$SOURCE/sim/cli/install/completion.${shell%%:*}" "$installed/share/${shell#*:}" || fail "no completion for ${shell%%:*}"
done
if [ -x "$BUILD/bench/timerlab-bench" ]; then
    page timerlab-bench
    timerlab-bench --help >/dev/null || fail "timerlab-bench does not start"
fi

# What was installed can be removed again; what others have put beside it stays.
cmake --install "$BUILD" --prefix "$scratch/again" >"$scratch/log"
touch "$scratch/again/bin/other"
cmake --build "$BUILD" --target uninstall >"$scratch/log" || fail "uninstall: $(cat "$scratch/log")"
find "$scratch/again" -type f -o -type l -o -name '*timerlab*' >"$scratch/left"
[ "$(cat "$scratch/left")" = "$scratch/again/bin/other" ] || fail "uninstall leaves $(cat "$scratch/left")"
! cmake --build "$BUILD" --target uninstall >"$scratch/log" 2>&1 || fail "uninstalls what is not there"
