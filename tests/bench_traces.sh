#!/usr/bin/env bash
# timerlab-bench-traces: its rows, figures and refusals. Nothing here depends on a time.
set -u
# shellcheck disable=SC2153 # ctest sets it
bench=$(realpath "$BUILD/bench/timerlab-bench-traces")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir made
export TMPDIR=$scratch/made
failures=0

complain() {
    printf '%s\n' "$*"
    failures=$((failures + 1))
}

printf 'tick,id,op,delay\n1,0,start,5\n2,0,stop,\n' >own.csv
"$bench" --connections 2000 --seconds 2 --lines 30000 --import csv:own.csv --benchmark_min_time=0 \
    --benchmark_repetitions=1 --benchmark_format=json >rows.json 2>said || complain "failed: $(cat said)"
jq -r '.benchmarks[].name | sub("/manual_time.*"; "")' rows.json | sort >rows
sort >wanted <<'WANTED'
decode/server
generate/server
import/access-log
import/csv/own.csv
import/ftrace
replay/null
scan_lines/access-log
scan_lines/csv/own.csv
scan_lines/ftrace
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
[ -z "$(ls made)" ] || complain "left behind: $(ls made)"

"$bench" --import nonsense:own.csv >out 2>said
[ $? -eq 2 ] || complain "an unknown format is not told by status 2"
"$bench" --import csv:missing.csv --benchmark_filter=csv --benchmark_repetitions=1 >out 2>said
[ $? -eq 1 ] || complain "a missing file is not told by status 1"
"$bench" --no-such-flag >out 2>said
[ $? -eq 2 ] || complain "an unknown flag is not told by status 2"
"$bench" --benchmark_filter=nothing >out 2>said
[ $? -eq 2 ] || complain "no row is not told by status 2"
"$bench" --help | grep -q times_scan || complain "--help does not explain times_scan"

if [ $failures -gt 0 ]; then
    printf '%d failures\n' $failures
    exit 1
fi
