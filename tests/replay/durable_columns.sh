#!/usr/bin/env bash
# What a durable structure costs on the disk stands in columns of their own, which are empty for all others.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

mkdir disk
export TMPDIR="$scratch/disk"

# rows FILTER: of results.json
rows() {
    jq -e "[.rows[] | {algo, options, status, starts, fired, bytes_durable, syncs_per_fired, acknowledged_lateness_max,
        recovery_s_per_million}] | $1" r/results.json
}

"$TIMERLAB" trace gen rpc -n 300 --seconds 3 -o t.trace 2>err
heap='durable(binary-heap)'
"$TIMERLAB" sim t.trace -a "binary-heap,$heap:window=7,$heap:window=40,$heap:sync=none" --drive poll --runs 1 --wide -o r >out 2>err ||
    fail "sim: $(cat out err)"

rows '.[0] | .algo == "binary-heap" and ([.bytes_durable, .syncs_per_fired, .acknowledged_lateness_max,
    .recovery_s_per_million] == [null, null, null, null])' >/dev/null || fail "binary-heap: $(rows '.[0]')"
rows '.[1:] | all(.status == "ok" and .fired > 0 and .bytes_durable > 32 * .starts and .recovery_s_per_million > 0)' \
    >/dev/null || fail "not all are there: $(rows '.[1:]')"
# A loop that comes round at every tick commits as soon as the first has waited for the window.
rows '[.[1:3][].acknowledged_lateness_max] == [7, 40]' >/dev/null || fail "windows of 7 and 40: $(rows '.')"
rows '.[1].syncs_per_fired > .[2].syncs_per_fired and .[2].syncs_per_fired > .[3].syncs_per_fired' >/dev/null ||
    fail "who commits more rarely waits more rarely: $(rows '.')"

# One that sleeps syncs first: whoever waits for the disk has waited by then, whatever the window.
mv r polled
"$TIMERLAB" sim t.trace -a "$heap:window=7,$heap:window=100000,$heap:delivery=at-most" --drive sleep --runs 1 -o r \
    >slept 2>err || fail "sim --drive sleep: $(cat slept err)"
rows '[.[].acknowledged_lateness_max] == [0, 0, 0]' >/dev/null || fail "a loop that sleeps: $(rows '.')"
rm -r r
mv polled r

awk -F, 'NR == 1 { for (i = 1; i < NF && $i != "bytes_durable"; i++); next } { print $i }' r/results.csv >csv
if [ -n "$(sed -n 1p csv)" ] || [ "$(sed -n 2p csv)" -le 0 ]; then
    fail "results.csv: $(cat csv)"
fi
grep -q '^binary-heap  *- *- *- *-$' out || fail "the table has no row of nothing for binary-heap: $(cat out)"

# Without a timed run nothing is timed.
"$TIMERLAB" sim t.trace -a "$heap" --runs 0 -o r >out 2>err || fail "sim --runs 0: $(cat err)"
rows '.[0] | .bytes_durable > 0 and .recovery_s_per_million == null' >/dev/null || fail "--runs 0: $(rows '.[0]')"

# Where nothing is durable nothing is said of it.
"$TIMERLAB" sim t.trace -a binary-heap --runs 0 >out 2>err || fail "sim: $(cat err)"
! grep -qE 'durable|syncs|recovery' out || fail "a table with nothing durable has: $(grep -E 'durable|syncs|recovery' out)"

[ -z "$(ls disk)" ] || fail "left behind: $(ls disk)"
