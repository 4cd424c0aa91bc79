#!/usr/bin/env bash
# check --crash: durable structures keep their promises through crashes, losses of power and failing calls; each wrong
# one is caught by the trial that can see its fault, with a message.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# catches FAULT[:OPTIONS] SHARE WORDS: `check --crash` with this share of the trials reports the plug-in of this name, in
# these words.
catches() {
    local status=0
    "$TIMERLAB" check --crash --crash-share "$2" --plugin "$BUILD/tests/durable-${1%%:*}.so" -a "durable-$1" \
        >"$scratch/out" 2>&1 || status=$?
    [ "$status" = 1 ] || complain "durable-$1: exit status $status, not 1: $(cat "$scratch/out")"
    grep -q "again: timerlab check --crash -a 'durable-$1.*' --crash-share $2 (" "$scratch/out" ||
        complain "durable-$1: no command that repeats the fault: $(cat "$scratch/out")"
    grep -q "$3" "$scratch/out" || complain "durable-$1 is not found to be '$3': $(cat "$scratch/out")"
}

if "$TIMERLAB" check --crash --crash-share 0.1 --plugin "$BUILD/tests/durable-right.so" \
    -a 'durable-right,durable(chunk-wheel)' >"$scratch/out" 2>&1; then
    # kills, images, failing calls: all three were tried, under each of six policies.
    awk 'NR > 1 && $2 == "ok" && $3 > 100 && $4 > 10 && $5 > 10 { n++ } END { exit n != 12 }' "$scratch/out" ||
        complain "not all was tried: $(cat "$scratch/out")"
    awk '/at-most/ && !/sync=none/ && $7 > 0 { exit 1 }' "$scratch/out" || complain "at-most repeats: $(cat "$scratch/out")"
    awk '/durable\(/ && !/at-most/ { n += $7 } END { exit n == 0 }' "$scratch/out" ||
        complain "at-least never repeats anything, so nothing was cut between a firing and its record"
else
    complain "what is right is found wrong: $(cat "$scratch/out")"
fi
catches fires-first 0.1 'had fired, and is there'
catches forgets-folder 0.05 'power lost after call'
catches forgets-sync 0.05 'power lost after call'
# Two crashes: what a killed process wrote is not on the disk; what is after a torn frame comes back.
catches forgets-recovered 0.1 'was killed after call [0-9]* to the disk, then power lost after call'
catches leaves-torn:delivery=at-most:group=7:window=3:least=100 0.4 'half of the unsynced bytes remain: recover'
catches names-again 0.05 'named twice'
catches forgets-calls 0.2 'power lost after call'
catches loses-calls 0.05 'call'
catches acknowledges-early 0.05 'operation [0-9]*: pending for tick [0-9]*, start number [0-9]* (acknowledged)'
catches mixes-calls 0.05 'call'
catches miscounts 0.05 'count is [0-9]* after [0-9]* timers were recovered'
catches short-deadlines 0.05 'wrong: timer [0-9]* has deadline\|early: timer'
catches recovers-few 0.05 'lost: timer'
catches forgets-fourth 0.05 'lost: timer'
catches ignores-half 0.05 'half of the bytes, then an error'
catches names-after-close 0.02 'named twice'
# More than 64 timers, and a log of more than a mebibyte.
catches recovers-64 0.05 'lost: timer'
catches reads-a-mebibyte 0.02 'with the defaults: the process was killed at point [0-9]* of the history'

status=0
"$TIMERLAB" check --crash -a binary-heap >"$scratch/out" 2>&1 || status=$?
[ "$status" = 2 ] || complain "a structure that is not durable: exit status $status, not 2"
grep -q 'binary-heap is not durable' "$scratch/out" || complain "$(cat "$scratch/out")"

finish
