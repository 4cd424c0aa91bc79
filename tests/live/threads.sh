#!/usr/bin/env bash
# threads: rows for each structure, number of threads and share, and what is refused.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

"$TIMERLAB" threads -a 'locked(binary-heap),sharded(hier-wheel):shards=2' --threads 1,3 --cancelled 0,99 \
    --timers 300 --operations 500 --tick 0 --format csv >rows.csv || fail "a run fails: $(cat rows.csv)"
cut -d, -f1-4 rows.csv | tail -n +2 >cells
for structure in 'locked(binary-heap),' 'sharded(hier-wheel),shards=2'; do
    printf "$structure,%s\n" 1,0 1,99 3,0 3,99
done | diff - cells || fail "these are not the rows"
# started = stopped + fired, and all is well
awk -F, 'NR > 1 && ($10 != $12 + $13 || ($4 == 0 && $14 == 0) || $16 != "ok" || $5 <= 0) { exit 1 }' rows.csv || fail "$(cat rows.csv)"

for arguments in "" "-a binary-heap" "-a locked(binary-heap) --threads 0" "-a locked(binary-heap) --cancelled 101"; do
    status=0
    # shellcheck disable=SC2086 # words
    "$TIMERLAB" threads $arguments >/dev/null 2>message || status=$?
    [ "$status" = 2 ] || fail "'$arguments' ends with $status"
done
"$TIMERLAB" threads -a binary-heap 2>message || true
grep -q "locked(binary-heap)" message || fail "what would be right is not said"
