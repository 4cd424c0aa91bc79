#!/usr/bin/env bash
# timerlab-bench-traces: its rows, figures and refusals. Nothing here depends on a time.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
# shellcheck disable=SC2153 # ctest sets it
bench=$(realpath "$BUILD/bench/timerlab-bench-traces")
mkdir made
export TMPDIR=$scratch/made

for asked in --version -V; do
    [[ $("$bench" $asked) =~ ^timerlab-bench-traces\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || complain "$asked says no version"
done

printf 'tick,id,op,delay\n1,0,start,5\n2,0,stop,\n' >own.csv
"$bench" --connections 2k --algo binary-heap --seconds 2 --lines 30000 --import csv:own.csv --benchmark_min_time=0 \
    --benchmark_repetitions=1 --benchmark_format=json >rows.json 2>said || complain "failed: $(cat said)"
jq -r '.benchmarks[].name | sub("/manual_time.*"; "")' rows.json | sort >rows
sort >wanted <<'WANTED'
decode/server/n:2000
generate/server/n:2000
import/access-log/n:30000
import/csv:own.csv
import/ftrace/n:30000
latency/binary-heap/n:2000/of:server
latency/null/n:2000/of:server
memory/null/n:2000/pass:check
memory/null/n:2000/pass:latency
memory/null/n:2000/pass:throughput
replay/null/n:2000/of:idle
replay/null/n:2000/of:server
scan_lines/access-log/n:30000
scan_lines/csv:own.csv
scan_lines/ftrace/n:30000
WANTED
diff wanted rows || complain "other rows than these"
jq -e '[.benchmarks[] | select(.error_occurred)] == []' rows.json >/dev/null || complain "a row failed"
jq -e 'all(.benchmarks[]; .items_per_second > 0)' rows.json >/dev/null || complain "a row measured nothing"
jq -e '[.benchmarks[] | select(.name | startswith("import/")) | .times_scan > 0] | length == 3 and all' \
    rows.json >/dev/null || complain "an importer's time is not compared with a scan's"
# What does not depend on the machine.
jq -e '.benchmarks[] | select(.name | startswith("generate/")) | .bytes_per_event < 6' rows.json >/dev/null ||
    complain "the server's trace has more than 6 bytes an event"
jq -e '.benchmarks[] | select(.name | startswith("replay/")) | .label == null' rows.json >/dev/null ||
    complain "the replay's row has a remark"
jq -e '[.benchmarks[] | select(.name | startswith("replay/")) | .times_plain > 0 and .times_ticking > 0]
    | length == 2 and all' rows.json >/dev/null || complain "a replay's row lacks its ratio to a plain loop"
jq -e '[.benchmarks[] | select(.limit_ns) | .limit_ns > 0] | length == 7 and all' rows.json >/dev/null ||
    complain "a row has not been compared with what it cannot undercut"
[ -z "$(ls -A made)" ] || complain "left behind: $(ls -A made)"
# Nor does a signal leave anything.
env --default-signal=INT "$bench" --connections 2k --seconds 2 --lines 30000 --benchmark_min_time=100 >/dev/null 2>&1 &
pid=$!
until compgen -G 'made/.timerlab-tmp-*/*' >/dev/null || ! kill -0 $pid 2>/dev/null; do :; done
kill -INT $pid
wait $pid && complain "SIGINT did not end it"
[ -z "$(ls -A made)$(compgen -G '.timerlab-*')" ] || complain "SIGINT leaves: $(ls -A . made)"

# compare knows the rows.
"$TIMERLAB" compare rows.json rows.json >out 2>said
grep -q '^latency/n:2000/of:server  *binary-heap ' out || complain "compare does not know the rows: $(cat out said)"

# A pass holds the same, however long the trace.
"$bench" --connections 20k --seconds 10 --benchmark_min_time=0 --benchmark_repetitions=1 \
    --benchmark_filter=memory --benchmark_format=json >rows.json 2>said || complain "failed: $(cat said)"
jq -e '[.benchmarks[] | .times_longer > 3 and .times_own < 1.5] | length == 3 and all' rows.json >/dev/null ||
    complain "a pass's own memory grows with the trace: $(jq -c '.benchmarks[] | [.name, .own_bytes, .longer_own_bytes]' rows.json)"

"$bench" --import nonsense:own.csv >out 2>said
[ $? -eq 2 ] || complain "an unknown format is not told by status 2"
"$bench" --import csv:missing.csv --benchmark_filter=csv --benchmark_repetitions=1 >out 2>said
[ $? -eq 1 ] || complain "a missing file is not told by status 1"
"$bench" --algo nonsense >out 2>said
[ $? -eq 2 ] || complain "an unknown structure is not told by status 2"
"$bench" --algo binary-heap:nonsense=1 >out 2>said
[ $? -eq 2 ] || complain "an unknown option is not told by status 2"
"$bench" --connections 2k,many >out 2>said
[ $? -eq 2 ] || complain "a wrong number of connections is not told by status 2"
"$bench" --no-such-flag >out 2>said
[ $? -eq 2 ] || complain "an unknown flag is not told by status 2"
"$bench" --benchmark_filter=nothing >out 2>said
[ $? -eq 2 ] || complain "no row is not told by status 2"
"$bench" --help >out
for counter in times_scan times_plain times_ticking decoded_ns; do
    grep -q "$counter" out || complain "--help does not explain $counter"
done

finish
