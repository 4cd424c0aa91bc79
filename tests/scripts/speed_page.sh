#!/usr/bin/env bash
# docs/tools/speed-page on known figures: the least of the repetitions, the worst, median and best stream of each
# structure, the structures it is compared with, and omitted rows.
# shellcheck disable=SC2016 # the backticks are Markdown's
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq
page() { "$SOURCE/docs/tools/speed-page" "$@" >page.md 2>log; }
wants() { grep -qE -- "$1" page.md || { echo "the page does not say '$1':" >&2 && cat page.md >&2 && exit 1; }; }

# Three repetitions a row, of which the least counts.
rows() { # ALGO IDLE START EXPIRE HOLD [FORM]
    jq -n -c --arg algo "$1" --argjson f "[$2, $3, $4, $5]" --arg form "${6-}" '
        def thrice: [. * 3, ., . * 1.1] | .[];
        def row($suite; $of): {run_type: "iteration", run_name: "\($suite)/\($algo)/n:1000\($form)/manual_time"} + $of;
        ($f[0] | thrice | row("idle-reset"; {ns_per_op: ., longest_start_ns: 10, longest_advance_ns: (. * 1000)})),
        ([$f[1], $f[2]] | row("fill-drain"; {ns_per_op: add, start_ns: .[0], expire_ns: .[1], longest_advance_ns: 2500})),
        ($f[3] | thrice | row("hold"; {ns_per_op: ., longest_advance_ns: 700}))'
}
{
    rows chunk-wheel 10 5 8 20
    rows quick-wheel 9 2 90 80
    rows late-wheel 5 1 4 70
    rows peer-heap 200 200 200 200
    rows null 1 1 1 1
    rows chunk-wheel 30 6 9 40 /record:64/node:able
    rows peer-heap 60 3 18 20 /record:64/node:able
    jq -n '{run_type: "iteration", run_name: "hold/slow-list/n:1000/manual_time", error_message: "skipped: too slow"}'
    jq -n '{run_type: "iteration", run_name: "start/chunk-wheel/n:1000/manual_time", ns_per_op: 1}'
} | jq -s '{context: {date: "2026-01-02T", commit: "abc", num_cpus: 2, mhz_per_cpu: 2600, caches: [{type: "Unified", size: 2048}],
    compiler: "cc", flags: "-O3", floor: "null", "promises of chunk-wheel": "exact, any delay", "promises of peer-heap": "exact, a horizon",
    "promises of quick-wheel": "exact, any delay", "promises of late-wheel": "not exact, a horizon"}, benchmarks: .}' >bench.json

page bench.json
# Rows with nodes in records lead. Late structures are compared with others, but no structure with them.
wants '^\| 1,000 \| `chunk-wheel` \| 0\.5x fill \(`peer-heap`\) \| 1\.25x \| 2x idle-reset \(`peer-heap`\) \| 30 \(idle-reset\) \|$'
wants '^\| 1,000 \| `peer-heap` \| 0\.5x (idle-reset|drain) \(`chunk-wheel`\) \| 1\.25x \| 2x (fill|hold) '
# The last column has the ratios after the floor, 1 ns, is subtracted: 22, 50, 28 and 10.
wants '^\| 1,000 \| nothing touched \| the faster \| 10x hold \(`peer-heap`\) \| 23x \| 40x fill \(`peer-heap`\) \| 25x \|$'
[ "$(grep -c '^| all |' page.md)" -eq 0 ]
wants '\[speed-figures\.md\]'
wants ', commit abc; 1 to 3 repetitions of a row, 2 processors of 2600 MHz, caches of 2 KiB, cc -O3\.$'
jq '.context.caches = []' bench.json >untold.json
page untold.json
wants '2 processors of 2600 MHz, which do not tell their caches, cc -O3\.$'
page --figures bench.json
wants '^## 1,000 timers, a record of 64 bytes touched$'
# The fastest structure on the whole is the first column, the floor the last.
wants '^\| stream \| `late-wheel` ~ \| `chunk-wheel` \| `quick-wheel` \| `peer-heap` \| `null` \|$'
wants '^\| idle-reset \| 5 \| 10 \| 9 \| 200 \| 1 \|$'
wants '^\| drain \| 4 \| 8 \| 90 \| 200 \| 1 \|$'
wants '^- `slow-list` \(hold of 1,000\): skipped: too slow\.$'
[ "$(grep -c '^| 1,000 | `null`' page.md)" -eq 0 ]

# Without records the first table is of what there is, and late ones are beside the exact.
jq '.benchmarks |= map(select(.run_name | contains("record") | not))' bench.json >untouched.json
page untouched.json
wants '^\| 1,000 \| `chunk-wheel` \| 0\.4x fill \(`quick-wheel`\) \|'
wants '^\| 1,000 \| `late-wheel` ~ \| 0\.29x hold \(`chunk-wheel`\) \| 1\.9x \| 2x (fill|drain) \(`(quick|chunk)-wheel`\) \| 5 \(idle-reset\) \|$'

# Interrupts, which no structure causes, are reported.
wants '^There are interrupts in the longest calls: `null`, which does nothing, has 1 µs at 1,000\.$'
jq '.benchmarks |= map(if .run_name | contains("/null/") then .longest_advance_ns = 99 else . end)' untouched.json >quiet.json
page quiet.json
[ "$(grep -c interrupts page.md)" -eq 0 ]

# With several numbers of timers there is a row for all, over the streams of each.
jq '.benchmarks |= map(select(.run_name | contains("record")), (select(.run_name | contains("record"))
    | .run_name |= sub("n:1000"; "n:2000") | if .start_ns then .start_ns *= (if .run_name | contains("peer") then 8 else 1 end) else . end))' \
    bench.json >sizes.json
page sizes.json
wants '^\| all \| a record of 64 bytes touched \| `chunk-wheel` \| 0\.5x (fill|hold) \(`peer-heap`\) \| 2x \| 4x fill \(`peer-heap`\) \| 2x \|$'

# Ticks of another length are streams of their own, and the faster of the two wheels is compared with public code.
{
    rows chunk-wheel 10 5 8 20 /tick:1us
    rows linked-wheel 20 4 8 20 /tick:1us
    rows peer-heap 4 20 40 200 /tick:1us
} | jq -s --slurpfile first untouched.json '. as $rows | $first[0] | .benchmarks += $rows
    | .context["promises of linked-wheel"] = "exact, any delay"' >ticks.json
page ticks.json
wants '^\| 1,000 \| `linked-wheel` \| 0\.2x idle-reset tick:1us \(`peer-heap`\) \| 1x '
wants '^\| 1,000 \| nothing touched \| the faster \| 0\.4x idle-reset tick:1us \(`peer-heap`\) \| 10x \| 40x fill '

# A file that does not exist is named.
if page nothing.json; then echo "a page of nothing" >&2 && exit 1; fi
grep -q 'nothing\.json: cannot be read' log
