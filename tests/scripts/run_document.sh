#!/usr/bin/env bash
# run_document.sh DOCUMENT: runs the page's ```sh blocks, in order, in an empty folder, as its reader
# would, but in a reduced size; with timerlab and timerlab-bench on the path, and the folder of the sources
# in $timerlab_source.
set -euo pipefail

document=$1
[ -z "$SANITIZE" ] || { echo "skipped: a plug-in under sanitizers is the test 'new'" >&2 && exit 77; }
for tool in patch gnuplot jq; do
    if ! command -v "$tool" >/dev/null; then
        printf 'skipped: the commands in %s need %s\n' "$document" "$tool" >&2
        exit 77
    fi
done
# In the sources' folder, where a cache of compilations knows those of the preset again.
mkdir -p "$SOURCE/build"
scratch=$(mktemp -d -p "$SOURCE/build")
trap 'rm -rf "$scratch"' EXIT
awk '
    /^```sh$/ { inside = 1; blocks++; next }
    /^```$/ { inside = 0 }
    inside
    END { exit blocks == 0 }' "$document" >"$scratch/commands"
mkdir "$scratch/folder" "$scratch/bin"
# Where the page does not say how often, it is once. The cases are gone through in the end, by what is built in.
cat >"$scratch/bin/timerlab" <<END
#!/bin/sh
case "\$1 \$*" in
sim*--runs*) ;;
sim*) set -- "\$@" --runs 1 ;;
check*) set -- "\$@" --case fuzz --operations 50000 ;;
esac
exec "$TIMERLAB" "\$@"
END
# What is built in is built by the flags of the preset release, which may have been compiled with them already.
flags=$(sed -n 's/.*"CMAKE_C_FLAGS_RELEASE": "\([^"]*\)".*/\1/p' "$SOURCE/CMakePresets.json")
cat >"$scratch/bin/cmake" <<END
#!/bin/sh
case "\$1" in
--preset) set -- "\$@" "-DCMAKE_C_FLAGS_DEBUG=$flags" ;;
esac
exec "$(command -v cmake)" "\$@"
END
chmod +x "$scratch/bin/timerlab" "$scratch/bin/cmake"
cd "$scratch/folder"
export PATH="$scratch/bin:${TIMERLAB%/*}:$BUILD/bench:$PATH" timerlab_source=$SOURCE
# With -x, so that what fails is seen.
bash -euxo pipefail "$scratch/commands" </dev/null

# The pictures that the page names are there, and the structure that it adds is in each.
grep -o '[a-z]*-server\.svg' "$document" | sort -u >"$scratch/pictures"
[ -s "$scratch/pictures" ]
while read -r picture; do
    [ -s "results/pictures/$picture" ]
    grep -q my-list "results/pictures/${picture%.svg}.csv"
done <"$scratch/pictures"

# Both ways were gone: as a plug-in, and built in, where nothing outside is needed to find it.
[ -s my-list.so ]
timerlab/build/dev/timerlab describe my-list | grep -q 'one list in order'
if timerlab describe my-list 2>/dev/null; then
    printf 'the page has changed the sources that it copies\n' >&2
    exit 1
fi
