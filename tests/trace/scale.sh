#!/usr/bin/env bash
# `timerlab trace scale` as its users meet it: the recording that timerlab ships becomes one of many
# connections, which is valid, determined by its seed, and gone through by structures without a fault;
# in memory that many connections do not change; and what cannot be is refused, and leaves nothing.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# value FILE NAME: a number of contents of a trace.
value() {
    "$TIMERLAB" trace info "$1" --format json | jq -r ".$2"
}

# equal WHAT GOT WANTED
equal() {
    [ "$2" = "$3" ] || complain "$1 is $2, not $3"
}

# refuses PATTERN COMMAND...: with status 1, one sentence, and nothing left behind.
refuses() {
    local pattern=$1 status before
    shift
    before=$(ls)
    "$@" >../out.$$ 2>../err.$$
    status=$?
    [ $status -eq 1 ] || complain "$*: status $status, not 1"
    grep -qE -- "$pattern" ../err.$$ || complain "$*: says: $(cat ../err.$$)"
    [ "$(ls)" = "$before" ] || complain "$*: leaves something behind: $(ls)"
    rm -f ../out.$$ ../err.$$
}

"$TIMERLAB" trace import ftrace "$SOURCE/tests/data/kernel-nginx.ftrace.txt.zst" -o one.trace 2>said ||
    complain "no recording: $(cat said)"
of=$(value one.trace origin.connections)
equal "connections of the recording" "$of" 830

# Counts, exactly: six copies play all of it once.
"$TIMERLAB" trace scale one.trace -n 4200 -o six.trace 2>said || complain "scale: $(cat said)"
grep -q "^six.trace: 6 copies of 830 connections: 4980 connections, " said || complain "scale says: $(cat said)"
equal connections "$(value six.trace origin.connections)" 4980
equal "the window's operations" \
    "$(($(value six.trace window_events) - $(value six.trace origin.taken_over)))" \
    $((6 * $(value one.trace events)))
equal "the window's reactions" "$(value six.trace reactions)" $((6 * $(value one.trace reactions)))
equal "the window" \
    "$(($(value six.trace end_tick) - $(value six.trace warmup_end_tick)))" "$(value one.trace end_tick)"
equal "the tick" "$(value six.trace tick_ns)" 4000000
"$TIMERLAB" trace validate six.trace >said 2>&1 || complain "not valid: $(cat said)"

# Steady: as much pends when the window begins as later.
pending=$(value six.trace origin.pending_at_warmup_end)
most=$(value six.trace pending_max)
last=$(value six.trace pending_at_end)
[ $((most * 10)) -lt $((pending * 11)) ] || complain "$pending timers pend at first, and $most later"
[ $((last * 10)) -gt $((pending * 9)) ] || complain "$pending timers pend at first, and $last in the end"

# The seed decides, and nothing else.
"$TIMERLAB" trace scale one.trace -n 4200 -o again.trace --seed 1 2>said
cmp six.trace again.trace || complain "the same seed makes something else"
"$TIMERLAB" trace scale one.trace -n 4200 -o again.trace --seed 2 2>said
cmp -s six.trace again.trace && complain "another seed makes the same"

# Structures go through it without a fault, and agree; more of it is more of the same.
"$TIMERLAB" trace scale six.trace -n 10000 -o more.trace --seconds 2 2>said || complain "scale again: $(cat said)"
grep -q "^more.trace: 3 copies of 4980 connections: 14940 connections, " said ||
    complain "scale again says: $(cat said)"
"$TIMERLAB" sim more.trace -a binary-heap,hier-wheel,coarse-wheel --runs 0 >said 2>&1 ||
    complain "structures fail: $(cat said)"

# Where copies begin anew they do without the warm-up, and reactions to what it started are external.
"$TIMERLAB" trace scale six.trace -n 4980 -o anew.trace 2>said || complain "scale again: $(cat said)"
external=$(value anew.trace origin.reactions_made_external)
[ "$external" -gt 0 ] || complain "no reaction has its cause in the warm-up"
equal "the reactions, with those that are external now" \
    "$(($(value anew.trace reactions) + external))" "$(value six.trace reactions)"
grep -q "^anew.trace: $external reactions are external" said || complain "it says: $(cat said)"
"$TIMERLAB" trace validate anew.trace >said 2>&1 || complain "not valid: $(cat said)"

# The same room for ten thousand connections and for a million.
if [ -z "$SANITIZE" ]; then
    for n in 10k 1m; do
        (ulimit -v 60000 && "$TIMERLAB" trace scale one.trace -n $n --seconds 0.02 -o $n.trace) 2>said ||
            complain "60 MB are not enough for $n connections: $(cat said)"
    done
    equal "connections of a million" "$(value 1m.trace origin.connections)" 1000150
    rm -f 10k.trace 1m.trace
fi

# What cannot be.
"$TIMERLAB" trace import csv - -o unknown.trace 2>said <<'CSV'
tick,id,op,delay,cause
0,0,start,5,
CSV
printf 'text\n' >text
refuses "^timerlab: unknown.trace: it does not say how many connections .*--of" \
    "$TIMERLAB" trace scale unknown.trace -n 10 -o x.trace
refuses "^timerlab: one.trace: it is of 830 connections, more than 800;" \
    "$TIMERLAB" trace scale one.trace -n 800 -o x.trace
refuses "^timerlab: text: not a timerlab trace" "$TIMERLAB" trace scale text -n 800 -o x.trace
refuses "^timerlab: none: cannot be read" "$TIMERLAB" trace scale none -n 800 -o x.trace
refuses "^timerlab: nowhere/x: cannot be written" "$TIMERLAB" trace scale one.trace -n 1k -o nowhere/x
refuses "have more timers than the 4294967295" \
    "$TIMERLAB" trace scale one.trace -n 4000000000 --of 100 -o x.trace
# It goes to the last tick that there is.
"$TIMERLAB" trace import csv - -o last.trace >/dev/null 2>&1 <<'CSV'
tick,id,op,delay
4611686018427387904,0,start,5
CSV
refuses "its 4611686018427387905 ticks are more than [0-9]+; import it with a longer tick" \
    "$TIMERLAB" trace scale last.trace -n 40 --of 20 -o x.trace
# A disk that is full at once, and one that is full later.
trap '' XFSZ
refuses "^timerlab: x.trace: no room in its folder for a temporary file of [0-9]+ bytes: File too large" \
    bash -c 'ulimit -f 100; exec "$@"' - "$TIMERLAB" trace scale one.trace -n 20k -o x.trace
refuses "^timerlab: x.trace: could not be written: File too large" \
    bash -c 'ulimit -f 4000; exec "$@"' - "$TIMERLAB" trace scale one.trace -n 50k -o x.trace
trap - XFSZ
for wrong in "-n 10" "-o x.trace" "-n 10 -o x.trace --of 0" "-n 10 -o x.trace more.trace"; do
    # shellcheck disable=SC2086 # several words
    "$TIMERLAB" trace scale one.trace $wrong >said 2>&1
    [ $? -eq 2 ] || complain "scale $wrong: $(cat said)"
done

finish
