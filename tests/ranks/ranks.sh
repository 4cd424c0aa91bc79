#!/usr/bin/env bash
# A replay in partitions, one rank after the other: the same timers fire at the same ticks however many
# ranks there are, of traces and of generated traffic; what is not the same is said, and by whom.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
export TMPDIR=$scratch
needs jq

# What must not depend on the ranks: the fired sets, and the counts of each row.
same='[.context.fired_sets[] | [.algo, .digest]], [.rows[] | [.algo, .status, .events, .starts, .restarts,
    .stops, .reactions, .not_reached, .fired, .drained, .lateness_min, .lateness_p99, .lateness_max]]'
sim() { # sim FILE ARGUMENTS...
    "$TIMERLAB" sim "${@:2}" --format json >"$1" 2>message || fail "sim ${*:2}: $(cat message)"
}

# Traces: connections of several timers, which cause one another; timers that cause themselves.
"$TIMERLAB" trace gen tcp -n 120 --seconds 2 -o tcp.trace 2>/dev/null
"$TIMERLAB" trace gen hold -n 200 --seconds 2 -o hold.trace 2>/dev/null
for trace in tcp hold; do
    sim whole.json $trace.trace -a hier-wheel,binary-heap --runs 1
    jq -S "$same" whole.json >whole
    jq -e '[.rows[].ranks] == [1, 1]' whole.json >/dev/null || fail "one process is not one rank"
    several="1 2 3 4 7"
    [ $trace = tcp ] || several=3
    for ranks in $several; do
        sim partitions.json $trace.trace -a hier-wheel,binary-heap --runs 1 --ranks-in-turn "$ranks"
        jq -S "$same" partitions.json | diff whole - || fail "$trace: $ranks ranks did something else"
        jq -e "all(.rows[]; .ranks == $ranks)" partitions.json >/dev/null || fail "the rows do not say $ranks"
    done
done
# All deterministic columns, with one rank.
sim partitions.json tcp.trace -a hier-wheel --runs 0 --ranks-in-turn 1
sim whole.json tcp.trace -a hier-wheel --runs 0
jq '.rows' whole.json >whole
jq '.rows' partitions.json | diff whole - || fail "one rank is not one process"

# Generated: whatever couples a workload's connections does so within a slice.
for workload in server heartbeat burst phold delay-queue; do
    rm -f first
    several="1 3"
    [ $workload != server ] || several="1 2 3 4 7"
    for ranks in $several; do
        sim partitions.json --gen $workload -n 400 --slice 40 --seconds 2 -a hier-wheel --runs 0 --ranks-in-turn "$ranks"
        jq -S "$same, .context.traces" partitions.json >these
        [ -f first ] || cp these first
        diff first these || fail "$workload: $ranks ranks generated something else"
    done
done
# One slice is the workload itself.
"$TIMERLAB" trace gen heartbeat -n 100 --seconds 2 --seed 7 -p rearm=rate -o one.trace 2>/dev/null
sim whole.json one.trace -a hier-wheel --runs 0
sim partitions.json --gen heartbeat -n 100 --seconds 2 --seed 7 -p rearm=rate -a hier-wheel --runs 0
jq -S "$same" whole.json >whole
jq -S "$same" partitions.json | diff whole - || fail "a slice is not the workload"

# Latencies are merged, and each rank is told of.
"$TIMERLAB" sim tcp.trace -a hier-wheel --runs 1 --latency --ranks-in-turn 3 --wide -o out >table 2>/dev/null
grep -q 'max/mean' table || fail "no imbalance is shown"
grep -q 'projected' table || fail "that the times are projected is not said"
jq -e '.rows[0].start_p50_ns > 0 and .rows[0].times == "projected" and .context.ranks == {count: 3, in_turn: true}' out/results.json >/dev/null ||
    fail "$(jq -c '.rows[0], .context.ranks' out/results.json)"
[ "$(awk -F, 'NR > 1 && $2 == "hier-wheel" { timers += $6; events += $7 } END { print NR - 1, timers, events }' out/ranks.csv)" = \
    "6 $(jq -r '.context.traces[0] | "\(.timers) \(.events)"' out/results.json)" ] || fail "$(cat out/ranks.csv)"
"$TIMERLAB" report out -o page --no-pictures >/dev/null 2>message || fail "report: $(cat message)"
grep -q '| ranks | times |' page/report.md || fail "the report has no ranks"
grep -q '| 3 | projected |' page/report.md || fail "the report does not say that times are projected"
"$TIMERLAB" sim tcp.trace -a hier-wheel --runs 1 -o plain >/dev/null 2>&1
"$TIMERLAB" compare plain out >/dev/null 2>message || fail "compare: $(cat message)"
grep -q 'ranks differ: 1 in plain, 3 in out' message || fail "compare says of the ranks: $(cat message)"
grep -q 'times are measured in plain, projected in out' message || fail "compare says of the times: $(cat message)"
"$TIMERLAB" compare plain plain >/dev/null 2>message || fail "compare: $(cat message)"
! grep -q 'ranks' message || fail "compare says of equal ranks: $(cat message)"
"$TIMERLAB" report plain -o page --no-pictures >/dev/null 2>message || fail "report: $(cat message)"
! grep -q 'ranks' page/report.md || fail "one process's report has ranks"

# A timer that never fires is told by its own name, and by the operation of the trace.
{
    printf 'tick,id,op,delay\n'
    for ((i = 0; i < 60; i++)); do printf '%d,%d,start,%d\n' "$i" "$i" $((100 + 2 * i)); done
} >starts.csv
"$TIMERLAB" trace import csv starts.csv -o starts.trace >/dev/null 2>&1
status=0
"$TIMERLAB" sim starts.trace --plugin "$BUILD/tests/faulty-never.so" -a faulty-never,hier-wheel --runs 1 \
    --ranks-in-turn 3 -o faults --format csv >rows.csv 2>message || status=$?
[ "$status" = 1 ] || fail "faults end with $status: $(cat message)"
grep -q '^starts.trace,hier-wheel,,ok,' rows.csv || fail "$(cat rows.csv)"
grep -q '^starts.trace,faulty-never,,fault,.*rank 0: 1 faults; first: timer' rows.csv || fail "$(cat rows.csv)"
awk -F, 'NR > 1 && ($5 != $8 || $7 != 100 + 3 * $5 || index($9, "\"rank " NR - 2 ": ") != 1) { wrong = 1 }
    END { exit wrong || NR != 4 }' faults/faults.csv || fail "$(cat faults/faults.csv)"
status=0
"$TIMERLAB" sim starts.trace --plugin "$BUILD/tests/faulty-crash.so" -a faulty-crash --runs 1 --ranks-in-turn 2 \
    --format csv >rows.csv 2>/dev/null || status=$?
[ "$status" = 1 ] || fail "a crash ends with $status"
grep -q ',crashed,.*rank 0: killed by signal' rows.csv || fail "$(cat rows.csv)"

# What cannot be shared is refused, with what can be done.
refused() { # refused STATUS WORDS ARGUMENTS...
    local status=0
    "$TIMERLAB" sim "${@:3}" -a hier-wheel --runs 0 >/dev/null 2>message || status=$?
    if [ "$status" != "$1" ] || ! grep -q -- "$2" message; then
        fail "sim ${*:3}: $status: $(cat message)"
    fi
}
{
    printf 'tick,id,op,delay,cause\n0,0,start,2,\n0,1,start,9,\n'
    printf '2,1,start,9,0\n'
} >joined.csv
"$TIMERLAB" trace import csv joined.csv -o joined.trace >/dev/null 2>&1
refused 1 'join its 2 timers into 1 groups' joined.trace --ranks-in-turn 2
refused 1 '--slice' --gen idle -n 100 --slice 60 --ranks-in-turn 3
refused 2 'not both' joined.trace --gen idle
refused 2 'of --gen' joined.trace -n 100
refused 2 "did you mean 'idle'" --gen idel
refused 2 'given twice' --gen heartbeat -p rearm=rate -p rearm=rate
"$TIMERLAB" sim tcp.trace -a 'durable(hier-wheel)' --runs 0 --ranks-in-turn 2 --format csv 2>/dev/null |
    grep -q "unsupported.*one process, not" || fail "what is durable is shared"
[ -z "$(find . -maxdepth 1 -name '.timerlab-*')" ] || fail "left behind: $(ls -A)"
