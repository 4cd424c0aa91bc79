#!/usr/bin/env bash
# `timerlab trace info --plot`: the table adds up to what the summary says, pictures are drawn where
# gnuplot is, and where it is not the table is kept and the remedy named.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# value NAME: a number of info.json.
value() {
    jq -r ".$1" info.json
}

# sum PANEL SERIES: of the table's values, each times the seconds that it stands for.
sum() {
    awk -F, -v panel="$1" -v series="$2" '
        $1 == panel && $2 == series { total += $5 * ($4 - $3) }
        END { printf "%.0f", total }' "$table"
}

# equal WHAT GOT WANTED
equal() {
    [ "$2" = "$3" ] || complain "$table: $1 is $2, not $3"
}

drawable=1
gnuplot -e 'set terminal pngcairo' 2>/dev/null || drawable=0

# portray TRACE: makes info.json and the table, and looks at what is said.
portray() {
    table=pictures/portrait-$1.csv
    "$TIMERLAB" trace info "$1.trace" --format json --plot pictures >info.json 2>said
    local status=$?
    equal "the header" "$(head -1 "$table")" panel,series,from_s,to_s,value,trace
    if [ $drawable -eq 1 ]; then
        equal "the exit status" $status 0
        equal "what is said" "$(cat said)" "drawn: pictures/portrait-$1.svg, .png, and .csv with its data"
        [ -s "pictures/portrait-$1.png" ] || complain "$1: the PNG is missing"
        grep -q '</svg>' "pictures/portrait-$1.svg" || complain "$1: the SVG is not whole"
    fi
}

# All operations are in the window of a trace that is imported.
{
    printf 'tick,id,op,delay\n'
    awk 'BEGIN {
        for (t = 0; t < 5000; t++) {
            print t "," t % 100 ",start," (t % 7 == 0 ? 60 : 1000)
            if (t % 5 == 4) print t "," (t - 4) % 100 ",stop,"
        }
    }'
} >steady.csv
"$TIMERLAB" trace import csv steady.csv -o steady.trace --tick-ns 1000000 2>/dev/null ||
    complain "the steady trace could not be made"
portray steady
equal starts "$(($(sum operations start) + $(sum operations restart)))" "$(value starts)"
equal restarts "$(sum operations restart)" "$(value restarts)"
equal stops "$(sum operations stop)" "$(value stops)"
equal expiries "$(sum operations expiry)" "$(value fired)"
equal "the most pending" "$(awk -F, '$1 == "pending" && $5 > most { most = $5 } END { print most }' "$table")" \
    "$(value pending_max)"
equal "the sum of the delays' shares" \
    "$(awk -F, '$1 == "delays" { total += $5 } END { printf "%.3f", total }' "$table")" 100.000
equal "the bars of the delays" "$(grep -c '^delays,' "$table")" 2
grep -q '^delays,starts,1,1.25893,' "$table" || complain "a delay of 1 s is not in the bar that begins there"

# A generated trace: the warm-up is left out, but for what it leaves pending.
"$TIMERLAB" trace gen server -n 300 --seconds 20 -o server.trace 2>/dev/null
portray server
equal "operations in the window" \
    "$(($(sum operations start) + $(sum operations restart) + $(sum operations stop)))" "$(value window_events)"
awk -F, '$1 == "pending" && ($5 < 250 || $5 > 350) { exit 1 }' "$table" ||
    complain "300 connections have another number of timers than about 300"

# Two beside each other: both tables in one, told apart by the trace's name, also where it is the same; the
# summaries one after the other, as JSON an array.
mkdir other
cp server.trace other/steady.trace
for pair in "steady.trace server.trace steady-beside-server" \
    "steady.trace other/steady.trace steady-beside-steady-2"; do
    read -r first second name <<<"$pair"
    # shellcheck disable=SC2086 # two words
    "$TIMERLAB" trace info $first $second --format json --plot pictures >info.json 2>said
    status=$?
    equal "traces of $pair" "$(jq -r 'map(.trace) | join(" ")' info.json)" "$first $second"
    for i in 0 1; do
        grep ",$(printf '%s' "$name" | awk -F -beside- -v i=$i '{ print $(i + 1) }')$" \
            "pictures/portrait-$name.csv" | sed 's/,[^,]*$//' >half.csv
        trace=$first
        [ $i -eq 0 ] || trace=server.trace
        sed '1d; s/,[^,]*$//' "pictures/portrait-${trace%.trace}.csv" | cmp - half.csv ||
            complain "$name: the table of $trace is not what it is alone"
    done
    if [ $drawable -eq 1 ]; then
        equal "the exit status of $name" $status 0
        equal "what is said of $name" "$(cat said)" \
            "drawn: pictures/portrait-$name.svg, .png, and .csv with its data"
        [ -s "pictures/portrait-$name.png" ] || complain "$name: the PNG is missing"
    fi
done
"$TIMERLAB" trace info steady.trace server.trace steady.trace >said 2>&1
equal "the exit status with three traces" $? 2

# What there is little of.
printf 'tick,id,op,delay\n' >nothing.csv
printf 'tick,id,op,delay\n0,0,start,5\n' >one-start.csv
printf 'tick,id,op,delay\n0,0,start,0\n' >no-delay.csv
printf 'tick,id,op,delay\n5,0,stop,\n' >one-stop.csv
for name in nothing one-start no-delay one-stop; do
    "$TIMERLAB" trace import csv $name.csv -o $name.trace 2>/dev/null || complain "$name could not be made"
    portray $name
done

# Without gnuplot.
mkdir empty
rm -r pictures
PATH=$scratch/empty "$TIMERLAB" trace info server.trace --plot pictures >info.txt 2>said
[ $? -eq 1 ] || complain "without gnuplot the exit status is not 1"
grep -q 'pictures/portrait-server.csv could not be drawn: gnuplot: cannot be run: No such file or directory; Debian has it as gnuplot-nox' said ||
    complain "without gnuplot it says: $(cat said)"
grep -q operations info.txt || complain "without gnuplot there is no summary"
[ "$(ls pictures)" = portrait-server.csv ] || complain "without gnuplot there is: $(ls pictures)"

# A program without its script; a folder that cannot be.
cp "$TIMERLAB" empty/
empty/timerlab trace info server.trace --plot pictures >/dev/null 2>said
[ $? -eq 1 ] || complain "without the script the exit status is not 1"
grep -q 'style.gp is neither in' said || complain "without the script it says: $(cat said)"
"$TIMERLAB" trace info server.trace --plot server.trace/pictures >/dev/null 2>said
[ $? -eq 1 ] || complain "a folder that cannot be made is no fault"

[ $failures -gt 0 ] || [ $drawable -eq 1 ] || skip "gnuplot is not installed: nothing was drawn"
finish
