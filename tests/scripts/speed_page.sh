#!/usr/bin/env bash
# scripts/speed-page, on figures that are known: the order, the best of each column, who is compared with
# whom, and what was left out.
# shellcheck disable=SC2016 # the backticks are Markdown's
set -euo pipefail

command -v jq >/dev/null || { echo "skipped: jq is not installed" >&2 && exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
page() { "$SOURCE/scripts/speed-page" "$@" >page.md 2>log; }
wants() { grep -qE -- "$1" page.md || { echo "the page does not say '$1':" >&2 && cat page.md >&2 && exit 1; }; }

# Three repetitions a row, of which the least counts.
rows() { # ALGO IDLE START EXPIRE HOLD MIXED
    jq -n -c --arg algo "$1" --argjson f "[$2, $3, $4, $5, $6]" '
        def thrice: [. * 3, ., . * 1.1] | .[];
        def row($suite; $of): {run_type: "iteration", run_name: $suite, bytes_per_timer: 16} + $of;
        ($algo | if startswith("record") then "limit/\(.)/n:1000/of:" else "" end) as $limit
        | def name($s): if $limit == "" then "\($s)/\($algo)/n:1000/manual_time" else "\($limit)\($s)/manual_time" end;
        ($f[0] | thrice | row(name("idle-reset"); {ns_per_op: ., longest_advance_ns: (. * 1000)})),
        ([$f[1], $f[2]] | row(name("fill-drain"); {ns_per_op: add, start_ns: .[0], expire_ns: .[1], longest_advance_ns: 2500})),
        ($f[3] | thrice | row(name("hold"); {ns_per_op: ., longest_advance_ns: 700})),
        ($f[4] | thrice | row(name("mixed-server"); {ns_per_op: ., longest_advance_ns: 99}))'
}
{
    rows chunk-wheel 10 5 8 20 12
    rows quick-wheel 9 2 90 80 30
    rows late-wheel 5 9 4 70 40
    rows peer-heap 200 200 200 200 200
    jq -n -c '{run_type: "iteration", run_name: "hold/once-wheel/n:1000/manual_time", ns_per_op: 900}'
    rows null 1 1 1 1 1
    rows record-16 8 2.5 10 10 10
    jq -n '{run_type: "iteration", run_name: "hold/slow-list/n:1000/manual_time", error_message: "left out: too slow"}'
    jq -n '{run_type: "iteration", run_name: "far-jump/chunk-wheel/n:10/jump:1000000/manual_time", ns_per_op: 700}'
    jq -n '{run_type: "iteration", run_name: "empty-ticks/chunk-wheel/n:10/manual_time", ns_per_op: 1.25}'
} | jq -s '{context: {date: "2026-01-02T", commit: "abc", num_cpus: 2, mhz_per_cpu: 2600, caches: [{type: "Unified", size: 2048}],
    compiler: "cc", flags: "-O3", floor: "null", "promises of chunk-wheel": "exact, any delay",
    "promises of quick-wheel": "exact, any delay", "promises of late-wheel": "not exact, a horizon"}, benchmarks: .}' >bench.json

page bench.json
wants '^## 1,000 timers$'
wants '^\| `chunk-wheel` \| 10 \| 5 \| 8 \| \*\*20\*\* \| \*\*12\*\* \| 16/16 \| 10/2\.5/0\.7/0\.1 \|$'
wants '^\| `quick-wheel` \| 9 \| \*\*2\*\* \| 90 \|'
wants '^\| `late-wheel` ~ < \| \*\*5\*\* \| 9 \| \*\*4\*\* \|'
wants '^\| \*a record of 16 bytes\* \| 8 \| 2\.5 \| 10 \|'
wants '^- Repeated 1x instead of 3x: `chunk-wheel`.*`once-wheel`'
wants '^- `slow-list` \(hold\): left out: too slow\.$'
wants 'exact, of any delay \| 0\.9x \(`quick-wheel`\) \| 0\.4x \(`quick-wheel`\) \| 11x \(`quick-wheel`\) \| 4x \(`quick-wheel`\) \| 2\.5x'
wants '^\| the best public code \| 20x \(`peer-heap`\) \| 40x '
wants '^\| the best other \| 0\.5x \(`late-wheel`\) \| 0\.4x \(`quick-wheel`\) \| 0\.5x \(`late-wheel`\) \| 3\.5x \(`late-wheel`\)'
wants '^\| a record of 16 bytes \| 1\.25x as long \| 2x as long \| 0\.8x as long \| 2x as long \| 1\.2x as long \|$'
wants '^\| `chunk-wheel` \| 1\.25 ns \| 700 ns \|$'
[ "$(grep -n '`chunk-wheel` |' page.md | head -1 | cut -d: -f1)" -lt "$(grep -n '`quick-wheel` |' page.md | head -1 | cut -d: -f1)" ]

# A file that is not there is named.
if page nothing.json; then echo "a page of nothing" >&2 && exit 1; fi
grep -q 'nothing\.json: cannot be read' log
