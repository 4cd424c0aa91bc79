#!/usr/bin/env bash
# docs/tools/draw-schemes, in a reduced size: that both pictures are there, and that what is counted says
# what the paper says.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq gnuplot
gnuplot -e 'set terminal pngcairo' 2>/dev/null || skip "this gnuplot draws no PNG"

"$SOURCE/docs/tools/draw-schemes" --quick "$scratch"

for picture in schemes-cost schemes-crossover; do
    for ending in svg png csv; do
        [ -s "$scratch/$picture.$ending" ] || { echo "no $picture.$ending" >&2 && exit 1; }
    done
done

awk -F, '
    FNR == 1 { split("", at); for (i = 1; i <= NF; i++) { at[$i] = i }; next }
    FILENAME ~ /cost/ { steps[$at["series"], $at["op"], $at["n"]] = $at["steps"] }
    FILENAME ~ /crossover/ { life[$at["series"], $at["unit"], $at["ratio"]] = $at["per_timer"] }
    function near(what, found, wanted, share) {
        if (found < wanted * (1 - share) - 0.03 || found > wanted * (1 + share) + 0.03) {
            printf "%s: %s, not about %s\n", what, found, wanted >"/dev/stderr"
            failed = 1
        }
    }
    END {
        near("scheme 1, PER_TICK", steps["1:unordered-list", "tick", 4000], 4000, 0)
        near("scheme 2, START", steps["2:ordered-list", "start", 4000], 4500 / 2, 0.1)
        near("scheme 2, PER_TICK", steps["2:ordered-list", "tick", 4000], 1, 0)
        near("scheme 4, START", steps["4:simple-wheel", "start", 4000], 1, 0)
        near("scheme 5, START", steps["5:hashed-ordered-wheel", "start", 4000], 1 + 4500 / 256 / 2, 0.1)
        near("scheme 6, START", steps["6:round-wheel", "start", 4000], 1, 0)
        near("scheme 6, STOP", steps["6:round-wheel", "stop", 4000], 1, 0.02)
        near("scheme 6, PER_TICK", steps["6:round-wheel", "tick", 4000], 1 + 4000 / 256, 0.02)
        near("scheme 7, PER_TICK", steps["7:cascading-wheel", "tick", 4000], 1 + 1 / 64, 0)
        near("scheme 6, touches", life["6:round-wheel", "touches", 16], 16 - 0.5, 0.03)
        near("scheme 6, VAX", life["6:round-wheel", "vax", 16], 13 + 15 + 6 * (16 - 0.5) + 4 * 16 * 256 / 5000, 0.03)
        if (life["7:cascading-wheel", "touches", 16] > 3) {
            print "scheme 7 touches a timer more often than it has levels to leave" >"/dev/stderr"
            failed = 1
        }
        exit failed
    }' "$scratch/schemes-cost.csv" "$scratch/schemes-crossover.csv"
