#!/usr/bin/env bash
# The table of traffic in docs/reference/workloads.md: it is what the workloads make, and their statistics are within the ranges of
# the recordings that stand in the same table.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

page=$SOURCE/docs/reference/workloads.md
TIMERLAB=$TIMERLAB TIMERLAB_TRACES=$scratch "$SOURCE/docs/tools/traffic-table" 2>/dev/null >table
while read -r line; do
    grep -qxF -- "$line" "$page" || complain "docs/reference/workloads.md lacks: $line; docs/tools/traffic-table --fix writes it"
done <table

# within WORKLOAD COLUMN...: from the least to the most of the recordings in each of these columns.
within() {
    local workload=$1
    shift
    sed -n '/^<!-- traffic -->$/,/^<!-- end of traffic -->$/p' "$page" |
        awk -F ' *[|] *' -v workload="\`$workload\`" -v columns="$*" '
            BEGIN { count = split(columns, column, " ") }
            $2 ~ /^(kernel|ktimer)/ {
                recordings++
                for (i = 1; i <= count; i++) {
                    value = $column[i] + 0
                    if (recordings == 1 || value < least[i]) least[i] = value
                    if (recordings == 1 || value > most[i]) most[i] = value
                }
            }
            $2 == workload {
                found = 1
                for (i = 1; i <= count; i++) got[i] = $column[i] + 0
            }
            END {
                wrong = !found || recordings != 4
                for (i = 1; i <= count; i++) wrong = wrong || got[i] < least[i] || got[i] > most[i]
                exit wrong
            }' || complain "$workload is beyond the recordings in a column of $*"
}
within tcp 4 5 8 # restarts, expiries, dispersion per 100 ms
for workload in server idle rpc quic retry; do
    within $workload 8 9 # dispersion per 100 ms and per second
done
finish
