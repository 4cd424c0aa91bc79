#!/usr/bin/env bash
# docs/tools/draw-drives, in a reduced size: that all pictures are there, and that what is counted follows
# from the knobs.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq gnuplot
gnuplot -e 'set terminal pngcairo' 2>/dev/null || skip "this gnuplot draws no PNG"

"$SOURCE/docs/tools/draw-drives" --quick "$scratch"

for picture in driving-lazy driving-poll driving-budget driving-pause; do
    for ending in svg png csv; do
        [ -s "$scratch/$picture.$ending" ] || { echo "no $picture.$ending" >&2 && exit 1; }
    done
done

# An exact structure is late by up to a tick less than a poll, and by what a pause lasts; the longer
# the timeout, the less work lazy restarts are, and the more they wake for nothing.
awk -F, '
    FNR == 1 { next }
    { at[FILENAME, $1, $3, $4] = $5 }
    function holds(what, truth) {
        if (!truth) {
            print what " does not hold" >"/dev/stderr"
            failed = 1
        }
    }
    END {
        lazy = ARGV[1]; poll = ARGV[2]; budget = ARGV[3]; pause = ARGV[4]
        holds("less work when restarts are lazy", at[lazy, "lazy(rbtree)", "work", 64] < at[lazy, "rbtree", "work", 64] / 3)
        holds("more wakeups when restarts are lazy", at[lazy, "lazy(rbtree)", "wakeups", 64] > at[lazy, "rbtree", "wakeups", 64])
        holds("exact at every tick", at[poll, "binary-heap", "latest", 1] == 0)
        holds("up to 99 ticks late", at[poll, "binary-heap", "latest", 100] == 99)
        holds("a hundredth of the wakeups", at[poll, "binary-heap", "wakeups", 100] < at[poll, "binary-heap", "wakeups", 1] / 90)
        holds("a small budget is late", at[budget, "binary-heap", "latest", 1] > at[budget, "binary-heap", "latest", 100])
        holds("a small budget is cheap", at[budget, "rbtree", "costliest", 1] < at[budget, "rbtree", "costliest", 100])
        holds("a long pause makes timers expire", at[pause, "binary-heap", "expired", 1000] > at[pause, "binary-heap", "expired", 10])
        exit failed
    }' "$scratch"/driving-{lazy,poll,budget,pause}.csv
