#!/usr/bin/env bash
# check --crash: kv-wheel keeps its promises by each delivery and each sync; and where a call to the
# disk fails, it neither breaks them nor ends the process.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

share=0.034
if "$TIMERLAB" describe kv-wheel | tr -s ' \n' ' ' | grep -q 'not in this build'; then
    skip "this build has no LMDB"
fi
structures="kv-wheel:batch=7"
for delivery in at-least at-most; do
    for sync in group always none; do
        structures+=",kv-wheel:delivery=$delivery:sync=$sync:window=3"
    done
done
"$TIMERLAB" check --crash --crash-share "$share" -a "$structures" >"$scratch/out" 2>&1 || fail "faults are found"
# Kills, images and failing calls: all three were tried, of all seven.
awk 'NR > 1 && $2 == "ok" && $3 > 10 && $4 > 0 && $5 > 0 { n++ } END { exit n != 7 }' "$scratch/out" ||
    fail "not all was tried"
# What fired fires again by a crash, but not where that is promised.
awk '/at-most/ && !/sync=none/ && $7 > 0 { bad = 1 } !/at-most/ { n += $7 } END { exit bad || n == 0 }' "$scratch/out" ||
    fail "repeats are not as promised"
