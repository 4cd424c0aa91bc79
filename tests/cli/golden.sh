#!/usr/bin/env bash
# Exact output of the command line: each golden/NAME.sh prints golden/NAME.stdout.exact. A script runs in an empty folder
# with `timerlab` on its path; `try` prints a command, its output and errors, and its exit status.
# `UPDATE=1 ctest --preset dev -R '^golden$'` writes the expected files again: read the difference before you commit it.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

mkdir bin
ln -s "$TIMERLAB" bin/timerlab
PATH=$scratch/bin:$PATH
try() {
    printf '$'
    printf ' %q' timerlab "$@"
    printf '\n'
    timerlab "$@" 2>&1 </dev/null
    printf 'status %d\n' $?
}
export -f try

for script in "$SOURCE"/tests/cli/golden/*.sh; do
    name=$(basename "$script" .sh)
    mkdir "$name"
    (cd "$name" && bash -u "$script") >"$name.out"
    [ -z "${UPDATE-}" ] || cp "$name.out" "${script%.sh}.stdout.exact"
    diff -u "${script%.sh}.stdout.exact" "$name.out" >&2 || complain "$name: not as expected"
done
finish
