#!/usr/bin/env bash
# standard-1: the streams are those that were frozen, whatever is changed is refused, and the page of it, on
# figures that are known.
# shellcheck disable=SC2016 # the backticks are Markdown's
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
needs jq
bench=$(realpath "$BUILD/bench/timerlab-bench")
says() { grep -qF -- "$1" "$2" || complain "$2 does not say '$1': $(tail -c 2000 "$2")"; }
page() { "$SOURCE/scripts/standard-1" --page "$@"; }

# The shipped recording and the streams have the checksums that stand in the program, and what fires on them is
# what a heap and a wheel fire; the reference keeps up with the shorter ones only, and not under a sanitizer.
"$TIMERLAB" trace import ftrace "$SOURCE/tests/data/kernel-nginx.ftrace.txt.zst" -o sample.trace >out 2>said ||
    complain "no recording: $(cat said)"
measure() { "$bench" -n 10k --benchmark_repetitions=1 --benchmark_min_time=0 --benchmark_format=json "$@" 2>said; }
measure --suite=standard-1 --recording sample.trace -a binary-heap -a bitmap-wheel >own.json ||
    complain "standard-1 fails: $(cat own.json said)"
[ "$(jq -c '[.benchmarks[] | select(.ns_per_op > 0 and .error_message == null)] | length' own.json)" = 33 ] ||
    complain "not every stream has figures: $(jq -c '.benchmarks[] | [.name, .error_message]' own.json)"
if [ -z "$SANITIZE" ]; then
    measure --suite=standard-1 --recording sample.trace -a ordered-list \
        --benchmark_filter='^standard-1.(hold|const|fill-drain|burst)/ordered' >list.json || complain "the reference fails: $(cat list.json)"
    jq -e '[.benchmarks[] | select(.error_message)] == []' list.json >out || complain "the reference: $(cat list.json)"
fi
"$bench" --suite standard-1 --list-suites >listed
jq -r '.context | to_entries[] | select(.key | startswith("checksum of ")) | .value' own.json >sums
[ "$(grep -cFf sums listed)" -eq 11 ] || complain "the list has other checksums than the results: $(cat listed sums)"

# Another recording, or none, is not standard-1; nothing of it can be turned.
printf 'tick,id,op,delay\n1,0,start,5\n2,1,start,70\n3,0,start,50\n4,1,stop,\n9,2,start,3\n' >own.csv
"$TIMERLAB" trace import csv own.csv -o own.trace >out 2>said || complain "no trace: $(cat said)"
measure --suite=standard-1 --recording own.trace -a binary-heap --benchmark_filter=recorded >other.json &&
    complain "another recording is called standard-1"
says 'these are not the operations of standard-1: their checksum is ' other.json
jq -e 'all(.benchmarks[]; .ns_per_op == null)' other.json >out || complain "and has figures"
measure --suite=standard-1 -a binary-heap --benchmark_filter=recorded >other.json || complain "no recording is a failure"
says 'skipped: it needs --recording FILE.trace' other.json
refuses() { # MESSAGE ARGUMENT...
    local message=$1
    shift
    "$bench" "$@" >out 2>said
    [ $? -eq 2 ] || complain "$*: not told by status 2"
    says "$message" said
}
refuses "no frozen suite is called 'standard-9'; there is standard-1" --suite=standard-9
refuses 'standard-1 is frozen, and --step would change it' --suite=standard-1 --step=10
refuses 'no row is selected' --suite=standard-1 -n 20k
refuses 'missing.trace' --recording missing.trace
refuses '`timerlab trace import` makes traces' --recording own.csv
refuses '--recording is given twice' --recording own.trace --recording own.trace

# A recording is a stream outside of standard-1, too, and its delays are.
"$bench" --recording own.trace -n 300 --plain-rows --benchmark_filter='^recorded/' -a ordered-list -a bitmap-wheel \
    --benchmark_repetitions=1 --benchmark_format=json >rows.json 2>said || complain "no stream: $(cat said rows.json)"
"$bench" --recording own.trace -n 300 --plain-rows --delays=recorded -a ordered-list -a bitmap-wheel \
    --benchmark_min_time=0 --benchmark_filter='^idle-reset/' --benchmark_repetitions=1 --benchmark_format=json \
    >delays.json 2>said || complain "no delays: $(cat said delays.json)"
for file in rows.json delays.json; do
    jq -e '[.benchmarks[] | .ns_per_op > 0] | length == 3 and all' $file >out || complain "$file: $(cat $file)"
done

# Who names no row, and has no recording, is not told that he has none; who names it, is.
"$bench" -n 1k -a binary-heap --benchmark_repetitions=1 --benchmark_min_time=0 --benchmark_format=json >rows.json 2>said ||
    complain "the plain rows fail: $(cat said)"
jq -e '[.benchmarks[].name | select(startswith("saw/"))] | length == 2' rows.json >out || complain "no plain rows"
jq -e 'any(.benchmarks[]; .name | startswith("recorded/")) | not' rows.json >out || complain "a recording is asked for"
"$bench" -n 1k -a binary-heap --benchmark_repetitions=1 --benchmark_filter=^recorded/ --plain-rows >rows 2>said
says 'recorded/n:1000: it needs --recording FILE.trace' rows

# The page, and compare, of figures that are known.
results() { # NULL-NS NS COMMIT
    jq -n --argjson null "$1" --argjson ns "$2" --arg commit "$3" '
        def rows($algo; $ns): (10000, 100000, 1000000) as $n | range(5)
            | {run_type: "iteration", repetitions: 5, repetition_index: ., family_index: ($n + ($algo | length)),
               name: "standard-1.hold/\($algo)/n:\($n)/manual_time", ns_per_op: ($ns * $n / 10000 * (1 + . / 10)),
               run_name: "standard-1.hold/\($algo)/n:\($n)/manual_time", real_time: $ns, time_unit: "ns", iterations: 1,
               longest_advance_ns: 1500};
        {context: {suite: "standard-1", floor: "null", date: "2026-01-02T", version: "1", commit: $commit, num_cpus: 2,
                   mhz_per_cpu: 2600, caches: [{type: "Unified", size: 2048}], compiler: "cc", flags: "-O3",
                   "checksum of standard-1.hold/n:10000": "1a"},
         benchmarks: [rows("null"; $null), rows("own-wheel"; $ns)]}'
}
results 5 20 abc >mine.json
results 6 12 def >theirs.json
page mine.json theirs.json >page.md 2>said || complain "no page: $(cat said)"
says '| `own-wheel` (1) | - | - | - | 25 |' page.md
says '| `own-wheel` (2) | - | - | - | **50** |' page.md
says '| `own-wheel` (1) |  |  |  | 2,000 |' page.md
says '-/-/1.5/-' page.md
says '2. Measured on 2026-01-02, timerlab 1, commit def, ' page.md
page mine.json >page.md 2>said || complain "no page of one: $(cat said)"
says '| `own-wheel` | - | - | - | **25** |' page.md
jq '.benchmarks |= map(select(.name | test("n:10000/")))' mine.json >small.json
jq '.benchmarks |= map(select(.name | test("n:10000/") | not))' mine.json >large.json
page small.json+large.json >parts.md 2>said || complain "no page of parts: $(cat said)"
cmp -s page.md parts.md || complain "measured in parts it is another page: $(diff page.md parts.md)"
page small.json+missing.json >out 2>said && complain "a missing part makes a page"
"$TIMERLAB" compare mine.json theirs.json >out 2>said
says 'standard-1.hold/' out
jq '.context["checksum of standard-1.hold/n:10000"] = "2b"' theirs.json >changed.json
page mine.json changed.json >out 2>said && complain "streams with different checksums make a page"
says 'different checksums' said
page rows.json >out 2>said && complain "results of other rows make a page"
says 'no results of standard-1' said

finish
