#!/usr/bin/env bash
# Requests of which every fourth is never answered, imported and replayed: a structure that fires late
# fires every timer that an exact one does, because no other request has its number meanwhile.
# TIMERLAB is the program.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

awk 'BEGIN {
    print "ts,rtt"
    for (i = 0; i < 4000; i++) printf "%.3f,%s\n", i / 200, i % 4 == 0 ? "" : i % 7 / 10
}' >requests.csv
if ! "$TIMERLAB" trace import events requests.csv --duration rtt --timeout 2 -o requests.trace 2>err ||
    ! "$TIMERLAB" sim requests.trace -a binary-heap,coarse-wheel,cache-wheel --runs 0 --format csv \
        >rows.csv 2>err; then
    cat err >&2
    exit 1
fi
awk -F , '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        fires = $column["fired"] + $column["drained"]
        late += $column["lateness_max"] > 0
        if (fires != 1000 || $column["averted"] != 0) {
            print "late_requests: " $column["algo"] " fires " fires " of 1000 timers, and " \
                $column["averted"] " were averted"
            failed = 1
        }
    }
    END {
        if (late == 0) print "late_requests: nothing was late"
        exit failed || late == 0
    }
' rows.csv >&2
