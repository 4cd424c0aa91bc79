#!/usr/bin/env bash
# scripts/draw-durable, in a reduced size and in memory: that both pictures are there, with every structure
# beside the file, and every policy beside the structure that is not durable.
set -euo pipefail

for tool in jq gnuplot; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed" >&2 && exit 77; }
done
gnuplot -e 'set terminal pngcairo' 2>/dev/null || { echo "skipped: this gnuplot draws no PNG" >&2 && exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TIMERLAB_BENCH=$BUILD/bench/timerlab-bench "$SOURCE/scripts/draw-durable" --quick "$folder" >"$folder/table"

for picture in durable-commits durable-lateness; do
    for ending in svg png csv; do
        [ -s "$folder/$picture.$ending" ] || { echo "no $picture.$ending" >&2 && exit 1; }
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
    }' "$folder/durable-commits.csv" >&2
[ "$(cut -d, -f1 "$folder/durable-commits.csv" | sort -u | wc -l)" = "$(wc -l <"$folder/table")" ] ||
    { cat "$folder/table" >&2 && exit 1; }
cut -d, -f1,3 "$folder/durable-lateness.csv" | sort -u >"$folder/panels"
for series in not-durable sync=always sync=group sync=none; do
    grep -qx "$series,durable(chunk-wheel)" "$folder/panels" || { echo "no line of $series" >&2 && exit 1; }
done
