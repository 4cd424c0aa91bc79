#!/usr/bin/env bash
# docs/internals/recipes.md: its ```sh blocks, in order, in an empty folder, as its reader would run them; without
# what takes long to build and is not asked for, and without optimisation.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
[ -z "$SANITIZE" ] || skip "what is built here is built without sanitizers"
needs patch jq ninja clang-format

# In the sources' folder, where a cache of compilations knows those of the preset again.
mkdir -p "$SOURCE/build"
folder=$(mktemp -d -p "$SOURCE/build")
trap 'rm -rf "$scratch" "$folder"' EXIT
mkdir bin
cat >bin/cmake <<END
#!/bin/sh
case "\$1 \$2" in
"--preset dev") set -- "\$@" -DCMAKE_C_FLAGS_DEBUG=-O0 -DTL_BENCH=OFF -DTL_WRAPPED=OFF -DTL_PCAP=OFF -DTL_RBTREE=OFF ;;
esac
exec "$(command -v cmake)" "\$@"
END
chmod +x bin/cmake
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$SOURCE/docs/internals/recipes.md" >commands
[ "$(grep -c . commands)" -gt 50 ] || fail "the page has no commands"
export PATH="$scratch/bin:${TIMERLAB%/*}:$PATH" timerlab_source=$SOURCE
cd "$folder"
# With -x, so that what fails is seen.
bash -euxo pipefail "$scratch/commands" </dev/null >"$scratch/out" 2>"$scratch/log" ||
    fail "a command of the page failed: $(tail -n 30 "$scratch/out" "$scratch/log")"

grep -q '^100% tests passed, 0 tests failed out of 3' "$scratch/out" || complain "not all three tests ran: $(tail -n 40 "$scratch/out")"
grep -q '^my-list: ' "$scratch/out" || complain "the structure is not there"
finish
