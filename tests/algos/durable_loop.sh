#!/usr/bin/env bash
# docs/examples/durable-loop.c: compiled from what a user has, and killed: what it has answered for comes back, under
# its name, and what it has fired and made durable does not.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

loop=$BUILD/tests/durable_loop

# Reads lines of the loop until one matches.
until_line() {
    local line
    while read -r -t 60 line <&"${run[0]}"; do
        [[ $line =~ $1 ]] && return
    done
    fail "it did not say $1"
}
coproc run { exec "$loop" "$scratch/timers"; }
# shellcheck disable=SC2154 # coproc sets it
pid=$run_PID
printf '7 86400000\n8 0\n' >&"${run[1]}"
until_line '^started 8$'
printf '9 0\n' >&"${run[1]}"
until_line '^started 9$'
until_line '^fired 9 '
printf '10 86400000\n' >&"${run[1]}"
until_line '^started 10$'
kill -KILL "$pid"
wait "$pid" 2>/dev/null || true
printf '7 0\n11 0\n' | "$loop" "$scratch/timers" >"$scratch/said" || fail "it ended with $?"
for id in 7 10; do
    grep -qx "pending $id" "$scratch/said" || fail "$id is lost: $(cat "$scratch/said")"
done
! grep -qE '^pending [89]$' "$scratch/said" || fail "what was acknowledged as fired is pending"
awk '$1 == "fired" && $2 == 7 && $3 > 8000000 { found = 1 } END { exit !found }' "$scratch/said" ||
    fail "timer 7 did not fire under a new name: $(cat "$scratch/said")"
# Another process that has the folder is named.
coproc run { exec "$loop" "$scratch/timers"; }
until_line '^pending 10$'
! "$loop" "$scratch/timers" </dev/null 2>"$scratch/said" || fail "two have the folder"
grep -q "process $run_PID (durable_loop) uses this folder" "$scratch/said" || fail "$(cat "$scratch/said")"
kill -KILL "$run_PID"
