#!/usr/bin/env bash
# The packages of a release: what is in which, what they depend on, one version in all; unpacked, the
# program runs and finds its parts; and the sources are those of the project, whole.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

[ -z "$SANITIZE" ] || skip "sanitizers see nothing here that they do not elsewhere"
command -v dpkg-shlibdeps >/dev/null || skip "dpkg-shlibdeps, of dpkg-dev, is not installed"

# holds LIST NAME...: all of these are in the list.
holds() {
    local list=$1 name
    shift
    for name; do
        grep -qE "/$name\$" "$list" || complain "$(basename "$list") is without $name"
    done
}

(cd "$BUILD" && cpack --config CPackConfig.cmake -B "$scratch") >log 2>&1 || complain "no packages: $(tail -n 5 log)"
version=$("$TIMERLAB" --version)
version=${version#timerlab }
packages="timerlab timerlab-dev"
[ ! -x "$BUILD/timerlab-mpi" ] || packages+=" timerlab-mpi"
for package in $packages; do
    deb=$(echo "$package"_"$version"_*.deb)
    [ -f "$deb" ] || { complain "no $package of version $version: $(ls)" && continue; }
    [ -f "$deb.sha256" ] || complain "no checksum of $deb"
    dpkg-deb -c "$deb" | awk '{ print $6 }' >"$package.list"
    dpkg-deb -x "$deb" "$package"
done
holds timerlab.list bin/timerlab bin/timerlab-bench include/timerlab.h timerlab-recorder.so plots/draw plots/style.gp plots/svg.sed \
    scripts/record-kernel-timers recordings/kernel-nginx.ftrace.txt.zst doc/timerlab/LICENSE \
    doc/timerlab/third-party.md doc/timerlab/CHANGELOG.md completions/timerlab
holds timerlab-dev.list include/timerlab/registry.h libtimerlab.a timerlab.pc timerlab-config.cmake
! grep -q 'include/timerlab.h$' timerlab-dev.list || complain "two packages have timerlab.h"
dpkg-deb -f timerlab_*.deb Depends >depends
for needed in gnuplot-nox jq libjansson4 libzstd1 libpcap0.8; do
    grep -q "$needed" depends || complain "timerlab does not depend on $needed: $(cat depends)"
done
dpkg-deb -f timerlab-dev_*.deb Depends | grep -qx "timerlab (= $version)" || complain "timerlab-dev goes with any timerlab"
if [ -x "$BUILD/timerlab-mpi" ]; then
    holds timerlab-mpi.list bin/timerlab-mpi man1/timerlab-mpi.1 man1/timerlab-mpi-sim.1
    grep -q 'mpi' timerlab.list && complain "timerlab has what is timerlab-mpi's"
    dpkg-deb -f timerlab-mpi_*.deb Depends >depends
    for needed in "timerlab (= $version)" openmpi-bin libopenmpi; do
        grep -qF "$needed" depends || complain "timerlab-mpi does not depend on $needed: $(cat depends)"
    done
    [ "$("$scratch/timerlab-mpi/usr/bin/timerlab-mpi" --version)" = "timerlab-mpi $version" ] || complain "timerlab-mpi is of another version"
fi

# As the build folder's own, before they were stripped.
if [ "$(sed -n 's/^TL_HARDEN:BOOL=//p' "$BUILD/CMakeCache.txt")" = ON ]; then
    mapfile -t programs < <(find "$PWD" -type f \( -path '*/bin/timerlab*' -o -name '*.so*' \) | sort)
    bash "$SOURCE/tests/scripts/hardened.sh" "${programs[@]}" >hardened || complain "$(cat hardened)"
fi

# Unpacked anywhere.
installed=$scratch/timerlab/usr
"$installed/bin/timerlab" trace import ftrace "$installed/share/timerlab/recordings/kernel-nginx.ftrace.txt.zst" -o k.trace 2>err ||
    complain "import: $(cat err)"
"$installed/bin/timerlab" sim k.trace -a binary-heap --runs 1 -o r >out 2>err || complain "sim: $(cat err)"
if command -v gnuplot >/dev/null; then
    "$installed/bin/timerlab" report r >out 2>err || complain "report: $(cat err)"
    [ -s r/pictures/throughput-k.png ] || complain "no pictures: $(cat err)"
fi
"$installed/bin/timerlab" new mine 2>/dev/null | grep -qF -- "-I$installed/include" || complain "timerlab new does not know its header"

# The sources.
cpack --config "$BUILD/CPackSourceConfig.cmake" -B "$scratch" >log 2>&1 || complain "no sources: $(tail -n 5 log)"
tar -tf "timerlab-$version.tar.xz" | grep -v '/$' | sed 's|^[^/]*/||' | sort >packed
"$SOURCE/scripts/files" | tr '\0' '\n' | sort >wanted
comm -13 packed wanted >missing
[ ! -s missing ] || complain "missing in the sources: $(head -n 5 missing)"
! grep -E '^(build|results|\.git)/' packed >surplus || complain "in the sources: $(head -n 5 surplus)"

finish
