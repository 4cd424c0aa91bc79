#!/usr/bin/env bash
# timerlab sweep: one row for each structure at each point, whatever happens on the way; what is
# finished is not run again, and counts are the same every time.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# sweeps STATUS ARGUMENT...: what it prints is in `out` and `err`
sweeps() {
    runs "$1" "$TIMERLAB" sweep "${@:2}"
}

# counted FILE: the columns of a table that are no times
counted() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) timed[i] = $i ~ /_ns$|ns_per_event|per_s$/ }
        { line = ""; for (i = 1; i <= NF; i++) if (!timed[i]) line = line "," $i; print line }' "$1"
}

# column FILE NAME: the values of a column, on one line
column() {
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
        { printf "%s%s", (NR > 2 ? " " : ""), $at } END { print "" }' "$1"
}

point=(rpc -a 'binary-heap,round-wheel:slots=64/4096' -p 'cancelled=0.5,0.99' -n '100,1k' --seconds 1
    --runs 1)

# a row for each structure at each point, in order
sweeps 0 "${point[@]}" -o whole --format csv
diff out whole/results.csv >&2 || complain "what is printed is not what is in the folder"
is "$(wc -l <whole/results.csv)" 13 "lines of 4 points of 3 structures"
is "$(column out p_cancelled)" "0.5 0.5 0.5 0.5 0.5 0.5 0.99 0.99 0.99 0.99 0.99 0.99" p_cancelled
is "$(column out p_connections)" "100 100 100 1000 1000 1000 100 100 100 1000 1000 1000" p_connections
is "$(column out p_seed | cut -c1-5)" "1 1 1" p_seed
is "$(column out algo | cut -d' ' -f1-4)" "binary-heap round-wheel round-wheel binary-heap" algo
is "$(column out options | cut -d' ' -f2-3)" "slots=64 slots=4096" options
is "$(column out status | tr ' ' '\n' | sort -u)" ok status
[ -e whole/traces ] && complain "the traces stay behind"
# shellcheck disable=SC2012 # the names are the program's own
is "$(ls whole/cells | wc -l)" 12 "finished cells"

# the same once more: the same counts
sweeps 0 "${point[@]}" -o again
diff <(counted whole/results.csv) <(counted again/results.csv) >&2 || complain "other counts"

# point by point: what was finished stays as it is
sweeps 0 "${point[@]}" -o parts --limit 1
grep -q '1 of 4 points are done' err || complain "it does not say what is left: $(cat err)"
is "$(wc -l <parts/results.csv)" 4 "lines after the first point"
stat -c '%n %i %Y' parts/cells/* >first
sweeps 0 "${point[@]}" -o parts
[ -s err ] && complain "it says something at the end: $(cat err)"
while read -r name inode time; do
    is "$(stat -c '%n %i %Y' "$name")" "$name $inode $time" "a finished cell"
done <first
diff <(counted whole/results.csv) <(counted parts/results.csv) >&2 || complain "other counts in parts"
rows=$(column parts/results.csv ns_per_event)
sweeps 0 "${point[@]}" -o parts
is "$(column parts/results.csv ns_per_event)" "$rows" "times of cells that were there"

# killed in the midst of it: once it says that the second point is done
mkfifo told
"$TIMERLAB" sweep "${point[@]}" -o killed --progress >/dev/null 2>told </dev/null &
sweep=$!
{ grep -m 1 -q 'point 2 of 4' && kill -9 "$sweep"; } <told
wait "$sweep" 2>/dev/null
rm -f told
[ -s killed/results.csv ] || complain "nothing is there of what was done before it was killed"
find killed/cells -name '*.json' -exec stat -c '%n %i %Y' {} + >first
[ "$(wc -l <first)" -ge 6 ] || complain "two points are done, and $(wc -l <first) cells are kept"
sweeps 0 "${point[@]}" -o killed
while read -r name inode time; do
    is "$(stat -c '%n %i %Y' "$name")" "$name $inode $time" "a cell finished before the kill"
done <first
diff <(counted whole/results.csv) <(counted killed/results.csv) >&2 || complain "other counts after a kill"

# a cell that is damaged counts as not there; a structure more is all that is run
damaged=$(find parts/cells -name '*.json' | sort | head -1)
head -c 100 "$damaged" >part.json
cp part.json "$damaged"
sweeps 0 "${point[@]}" -o parts
diff <(counted whole/results.csv) <(counted parts/results.csv) >&2 || complain "other counts after damage"
stat -c '%n %i %Y' parts/cells/* >first
sweeps 0 "${point[@]}" -a dary-heap -o parts
is "$(wc -l <parts/results.csv)" 17 "lines with one structure more"
while read -r name inode time; do
    is "$(stat -c '%n %i %Y' "$name")" "$name $inode $time" "a cell of another structure"
done <first

# a structure that crashes is a row, and so is a point that cannot be generated
sweeps 1 idle --plugin "$BUILD/tests/faulty-crash.so" -a binary-heap,faulty-crash -n 50 --seconds 100 \
    -p rate_per_s=1 -p timeout_min_s=60,0.5 -p timeout_max_s=1,60 -o bad --runs 1 --format csv
is "$(column out status)" "failed failed ok crashed ok crashed ok crashed" "status of cells"
is "$(column out p_timeout_min_s)" "60 60 60 60 0.5 0.5 0.5 0.5" "knobs of failed cells"
grep -q '^.*,binary-heap,,failed,.*timeout_min_s' out || complain "no reason for a failed cell"
stat -c '%n %i %Y' bad/cells/* >first
sweeps 1 idle --plugin "$BUILD/tests/faulty-crash.so" -a binary-heap,faulty-crash -n 50 --seconds 100 \
    -p rate_per_s=1 -p timeout_min_s=60,0.5 -p timeout_max_s=1,60 -o bad --runs 1 --retry
is "$(stat -c '%n %i %Y' bad/cells/* | diff - first | grep -c '^>')" 3 "crashed cells that were tried again"

# a plug-in that was built anew is another structure
"$TIMERLAB" new mine 2>/dev/null | sed -n "1s|^cc|$CC|p" >build_it
sh build_it
sweeps 0 idle --plugin ./mine.so -a binary-heap,mine -n 50 --seconds 20 -o anew --runs 0
stat -c '%n %i %Y' anew/cells/* >first
sweeps 0 idle --plugin ./mine.so -a binary-heap,mine -n 50 --seconds 20 -o anew --runs 0
stat -c '%n %i %Y' anew/cells/* | cmp -s - first || complain "cells of a plug-in that is the same were made again"
sed -i 's/\.summary = "/&now: /' mine.c
sh build_it
sweeps 0 idle --plugin ./mine.so -a binary-heap,mine -n 50 --seconds 20 -o anew --runs 0
is "$(stat -c '%n %i %Y' anew/cells/* | diff - first | grep -c '^<')" 1 "cells made for a plug-in that was built anew"

# traces that are there, both ways of driving
printf 'tick,id,op,delay\n0,0,start,5\n3,1,start,9\n' >a.csv
printf 'tick,id,op,delay\n0,0,start,7\n' >b.csv
"$TIMERLAB" trace import csv a.csv -o a.trace 2>/dev/null
"$TIMERLAB" trace import csv b.csv -o b.trace 2>/dev/null
sweeps 0 a.trace b.trace -a hier-wheel:slots=4/8:tick=1/2 --drive sleep,poll --runs 0 -o traces --format csv
is "$(column out trace | tr ' ' '\n' | uniq -c | awk '{ printf "%s %s ", $1, $2 }')" \
    "8 a.trace 8 b.trace " "traces"
grep -q '^a.trace: open loop: ' err || complain "it is not said that the traces are open loop: $(cat err)"
is "$(column out p_drive | cut -d' ' -f1-5)" "sleep sleep sleep sleep poll" p_drive
is "$(column out options | cut -d' ' -f1-4)" "slots=4 tick=2:slots=4 slots=8 tick=2:slots=8" "options"
# how the loop uses its timers: the timers of a.trace, due at 5 and 12, each by one more knob. Behind
# the end tick, 4, there are no pauses.
sweeps 0 a.trace -a binary-heap --drive sleep,poll:4 --budget none,1 --pause none,2:1 --runs 0 -o drives --format csv
is "$(column out p_drive)" "sleep sleep sleep sleep poll:4 poll:4 poll:4 poll:4" "p_drive"
is "$(column out p_budget)" "none none 1 1 none none 1 1" "p_budget"
is "$(column out p_pause)" "none 2:1 none 2:1 none 2:1 none 2:1" "p_pause"
is "$(column out lateness_max)" "0 0 0 0 3 3 3 3" "lateness by drives"
is "$(find drives/cells -type f | wc -l)" 8 "cells of a trace driven in eight ways"
# the callback of 5 ends at 14, by ticks of 1 ms
sweeps 0 a.trace -a binary-heap --service none,9ms --runs 0 -o services --format csv
is "$(column out p_service)" "none 9ms" "p_service"
is "$(column out lateness_max)" "0 2" "lateness by service times"
# another trace under the same name is another point
"$TIMERLAB" trace import csv b.csv -o a.trace 2>/dev/null
sweeps 0 a.trace -a hier-wheel:slots=4 --runs 0 -o traces --format csv
is "$(column out events)" 1 "operations of the trace that is there now"

sweeps 0 "${point[@]}" -o whole --format json
grep -q '"p_cancelled": 0.5' out || complain "no knobs in the JSON"
sweeps 0 "${point[@]}" -o whole
grep -qE '^p_cancelled +p_connections +algo' out || complain "not the expected table: $(head -1 out)"

refuses 2 'which workload' "$TIMERLAB" sweep -a all -o x
refuses 2 "did you mean 'rpc'\? .*; there is no trace of that name either" "$TIMERLAB" sweep rpd -a all -o x
refuses 2 'where to' "$TIMERLAB" sweep rpc -a all
refuses 2 'which structures' "$TIMERLAB" sweep rpc -o x
refuses 2 'one workload, or traces' "$TIMERLAB" sweep rpc b.trace -a all -o x
refuses 2 'are for workloads' "$TIMERLAB" sweep b.trace -n 5 -a all -o x
refuses 2 'have no parameters' "$TIMERLAB" sweep b.trace -p cancelled=1 -a all -o x
refuses 2 "did you mean 'cancelled'" "$TIMERLAB" sweep rpc -p canceled=1 -a all -o x
refuses 2 'cancelled' "$TIMERLAB" sweep rpc -p cancelled=0.5,7 -a all -o x
refuses 2 'given twice' "$TIMERLAB" sweep rpc -p cancelled=0.5 -p cancelled=0.7 -a all -o x
refuses 2 'named twice' "$TIMERLAB" sweep rpc -p cancelled=0.5,0.5 -a all -o x
refuses 2 'a knob has a name and values' "$TIMERLAB" sweep rpc -p cancelled=0.5, -a all -o x
refuses 2 "connections takes a whole number from 1 to 4294967295, not '0'" "$TIMERLAB" sweep rpc -n 0 -a all -o x
refuses 2 'takes sleep, slack, poll, or poll:N' "$TIMERLAB" sweep rpc --drive hop -a all -o x
refuses 2 'budget takes how many timers' "$TIMERLAB" sweep rpc --budget 0 -a all -o x
refuses 2 'pause takes AT:FOR' "$TIMERLAB" sweep rpc --pause none,5 -a all -o x
refuses 2 'alternatives are values' "$TIMERLAB" sweep rpc -a hier-wheel/simple-wheel -o x
refuses 2 'named twice' "$TIMERLAB" sweep rpc -a round-wheel:slots=512/256/512 -o x
refuses 2 'slots=0 is not usable' "$TIMERLAB" sweep rpc -a round-wheel:slots=0/512 -o x
[ -e x ] && complain "a command that cannot be followed leaves a folder behind"

finish
