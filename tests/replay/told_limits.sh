#!/usr/bin/env bash
# What a run could not show is not told as a figure: no time where the window holds nothing, no counts of a
# structure that does not count, and a limit that was set is a limit, not a crash.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# column NAME: of results.csv, a line a row.
column() {
    name=$1 awk -F, 'NR == 1 { for (i = 1; i < NF && $i != ENVIRON["name"]; i++); next } { print $i }' r/results.csv
}

"$TIMERLAB" trace gen rpc -n 2000 --seconds 2 -o t.trace 2>err

# A window behind the end is refused, and says where the end is.
status=0
"$TIMERLAB" sim t.trace -a binary-heap --window 9999999 --runs 1 >out 2>err || status=$?
[ $status -eq 1 ] || complain "a window behind the end: status $status"
grep -qE '^timerlab: --window: it begins at tick 9999999, after the end of t.trace at tick [0-9]+$' err ||
    complain "a window behind the end: $(cat err)"
[ ! -s out ] || complain "a window behind the end: $(cat out)"

# More ids than there is memory for are refused before anything is made of them.
printf 'tick,id,op,delay,cause\n0,0,start,10,\n10,0,start,10,0\n# ids: 4294967295\n' >ids.csv
"$TIMERLAB" trace import csv ids.csv -o ids.trace 2>err || complain "ids: $(cat err)"
if [ "$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)" -lt 200000000 ]; then
    status=0
    "$TIMERLAB" sim ids.trace -a binary-heap --runs 1 >out 2>err || status=$?
    [ $status -eq 1 ] || complain "more ids than memory: status $status"
    grep -qE '^timerlab: ids.trace: to check its 4294967295 timers takes 154.6 GB of memory, .* --ids dense' err ||
        complain "more ids than memory: $(cat err)"
fi

# A structure that was built without counters has none, and is not taken for one that does nothing.
"$TIMERLAB" new plain 2>/dev/null | sed -n "1s|^cc|$CC|p" >build_it
sh build_it
"$TIMERLAB" sim t.trace --plugin ./plain.so -a plain,binary-heap --runs 1 -o r >out 2>err || complain "sim: $(cat err)"
for name in n_compares n_moves n_slots n_cascades; do
    [ -z "$(column $name | sed -n 1p)" ] || complain "plain has $name: $(column $name)"
    [ -n "$(column $name | sed -n 2p)" ] || complain "binary-heap has no $name"
done
! grep -q ',plain,' r/work.csv || complain "work.csv has zeros for a structure that does not count"
"$TIMERLAB" tune t.trace --plugin ./plain.so -a plain --counts >out 2>err && complain "plain was chosen by counts"
grep -q 'plain does not count its work' err || complain "tune by counts of one without: $(cat err)"
"$TIMERLAB" tune t.trace --plugin ./plain.so -a plain,binary-heap --counts >out 2>err || complain "tune by counts: $(cat err)"
grep -qE '^(Use|t.trace:) binary-heap' out || complain "chosen by counts that there are not: $(head -n 1 out)"
"$TIMERLAB" tune t.trace --plugin ./plain.so -a plain,binary-heap --seconds 1 --format json >out 2>err || complain "tune: $(cat err)"
jq -e '[.candidates[] | select(.algo == "plain" and .stage == "counted")] | length == 0' out >/dev/null ||
    complain "plain was left out by counts that there are not"

# The limit on memory is one: the structure said that there was none left.
"$TIMERLAB" sim t.trace -a binary-heap --memory-limit 10K --runs 1 -o r >out 2>err || complain "beyond the limit: status $?"
[ "$(column status)" = unsupported ] || complain "beyond the limit: $(column status)"
grep -q 'with 10240 bytes (--memory-limit)' r/results.csv || complain "beyond the limit: $(cat r/results.csv)"

finish
