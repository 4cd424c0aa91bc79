#!/usr/bin/env bash
# timerlab predict on recordings that do not belong to the project, if they are here: Linux's wheel and
# libevent fire when they did, and the page says by how much.
# shellcheck disable=SC2016 # the backticks are Markdown's
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

folder=${TIMERLAB_TRACES:-$SOURCE/../shared/traces}
[ -r "$folder/facts.json" ] || skip "$folder/facts.json is missing; set TIMERLAB_TRACES to the folder that has it"
table=$(TIMERLAB=$(realpath "$TIMERLAB") TIMERLAB_TRACES=$folder "$SOURCE/docs/tools/predict-table")

# least RECORDING ALGO EXPIRIES SHARE: so many were recorded, and at least that share is fired at the tick.
least() {
    awk -F ' *[|] *' -v recording="$1" -v algo="\`$2\`" -v expiries="$3" -v least="$4" '
        $2 == recording && $3 == algo { found = 1; wrong = $4 != expiries || $5 < least || $6 < $5 || $7 < $6 }
        END { exit !found || wrong }' <<<"$table" || complain "$1, $2: not $3 expiries, or less than $4 of them"
}
least ktimer_nginx_keepalive coarse-wheel 66194 0.9995
least ktimer_loss3_mixed coarse-wheel 67203 0.9998
least ktimer_churn_timewait coarse-wheel 11183 0.9997
least ktimer_lossy_buffer coarse-wheel 22 0
least libevent_unbound binary-heap 11682 0.9975
if grep -q '| `libevent` |' <<<"$table"; then
    least libevent_unbound libevent 11682 0.9975
fi

# The exact structure fires what was recorded, and as many more as the kernel was late for, or lost.
extra() { # RECORDING MISSED EXTRA
    grep -qE "^\| $1 \| .binary-heap. \| .* \| $2 \| $3 \|$" <<<"$table" || complain "$1: an exact structure does not miss $2 and add $3"
}
extra ktimer_nginx_keepalive 0 3
extra ktimer_churn_timewait 1 70

# As plain traces, which have one clock for all CPUs: what structures fire of the timers that were started.
fires() { # RECORDING EXACT LEAST MOST: an exact structure, and Linux's wheel at least and at most
    "$TIMERLAB" trace import ftrace "$folder/$1" -o "$scratch/trace" 2>"$scratch/log"
    "$TIMERLAB" sim "$scratch/trace" -a binary-heap,coarse-wheel --runs 1 --format csv 2>"$scratch/log" |
        awk -F, -v exact="$2" -v least="$3" -v most="$4" '
            NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
            { fired[$column["algo"]] = $column["fired"] }
            END {
                heap = fired["binary-heap"]; wheel = fired["coarse-wheel"]
                if (heap == exact && wheel >= least && wheel <= most) exit
                print "exact " heap ", coarse-wheel " wheel
                exit 1
            }' >&2 || complain "$1: not $2, and $3 to $4"
}
fires ktimer_nginx_keepalive.ftrace.txt.xz 66197 66128 66260
fires ktimer_churn_timewait.perfscript.txt.xz 11253 10951 11238

# The page has these figures.
while read -r line; do
    grep -qxF -- "$line" "$SOURCE/docs/results/predicting.md" || complain "docs/results/predicting.md lacks: $line; docs/tools/predict-table --fix writes it again"
done <<<"$table"
[ "$failures" -eq 0 ] || printf '%s\n' "$table" >&2
finish
