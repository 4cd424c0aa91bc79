#!/usr/bin/env bash
# docs/tools/draw-durable, in a reduced size and in memory: that both pictures are there, with every structure
# beside the file, and every policy beside the structure that is not durable.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq gnuplot
gnuplot -e 'set terminal pngcairo' 2>/dev/null || skip "this gnuplot draws no PNG"

TIMERLAB_BENCH=$BUILD/bench/timerlab-bench "$SOURCE/docs/tools/draw-durable" --quick "$scratch" >"$scratch/table"

for picture in durable-commits durable-lateness; do
    for ending in svg png csv; do
        [ -s "$scratch/$picture.$ending" ] || { echo "no $picture.$ending" >&2 && exit 1; }
    done
done
# Every series has a figure for each operation and size of a commit, and there is a line of the table for it.
awk -F, '
    NR == 1 { next }
    { n[$1]++; ok += $5 > 0 }
    END {
        for (s in n) { if (n[s] != 12) { print s ": " n[s] " points"; failed = 1 } }
        if (!("append+fdatasync" in n) || !("durable(binary-heap)" in n) || ok != NR - 1) { print "incomplete"; failed = 1 }
        exit failed
    }' "$scratch/durable-commits.csv" >&2
[ "$(cut -d, -f1 "$scratch/durable-commits.csv" | sort -u | wc -l)" = "$(wc -l <"$scratch/table")" ] ||
    { cat "$scratch/table" >&2 && exit 1; }
cut -d, -f1,3 "$scratch/durable-lateness.csv" | sort -u >"$scratch/panels"
for series in not-durable sync=always sync=group sync=none; do
    grep -qx "$series,durable(chunk-wheel)" "$scratch/panels" || { echo "no line of $series" >&2 && exit 1; }
done
