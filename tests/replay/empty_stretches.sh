#!/usr/bin/env bash
# Delays and gaps of years: what is driven at every tick passes a long stretch in which nothing is
# pending in one step, and is not run at all where something is; a deadline beyond the trace is
# drained at once, however far it is.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# replayed NAME OPTION...: makes NAME.trace of standard input, and all structures' rows of it.
replayed() {
    local name=$1
    shift
    { printf 'tick,id,op,delay\n' && cat; } >"$name.csv"
    "$TIMERLAB" trace import csv "$name.csv" -o "$name.trace" 2>said || complain "$name: $(cat said)"
    "$TIMERLAB" sim "$name.trace" -a all --runs 0 --format csv "$@" >"$name.rows" 2>"$name.said" ||
        complain "$name: status $?: $(cat "$name.said")"
    rows "$name" status >"$name.status"
    [ "$(wc -l <"$name.status")" -gt 30 ] || complain "$name: not all are there"
}

# rows NAME COLUMN: of each structure, the column.
rows() {
    awk -F , -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $(at["algo"]) "=" $(at[column]) }' "$1.rows"
}

# Whoever takes the deadline has it fire.
for bits in 56 60 62; do
    replayed far-$bits < <(printf '0,1,start,%s\n5,2,start,10\n' $((1 << bits)))
    grep -vE '=(ok|unsupported)$' far-$bits.status && complain "2^$bits: not right"
    grep -q '^chunk-wheel=ok' far-$bits.status || complain "2^$bits: chunk-wheel promises unlimited"
    grep -q '^cache-wheel=ok' far-$bits.status || complain "2^$bits: cache-wheel promises unlimited"
    [ "$(rows far-$bits drained | grep -cvE '=(2|)$')" -eq 0 ] ||
        complain "2^$bits: drained: $(rows far-$bits drained)"
done

# Nor does it wake up before that comes near, whatever else is done then. In so little time
# nobody is let through a thousand million wakeups.
replayed awake --timeout 5 < <(printf '0,1,start,%s\n%s,2,start,10\n' $((1 << 60)) $(((1 << 60) + 5)))
[ "$(rows awake wakeups | grep '^chunk-wheel=')" = chunk-wheel=1 ] ||
    complain "2^60 and on: $(rows awake wakeups | grep '^chunk-wheel=') wakeups"
"$TIMERLAB" sim awake.trace -a chunk-wheel --runs 0 --format csv >chunks.rows 2>said || complain "chunks: $(cat said)"
[ "$(rows chunks wakeups)" = chunk-wheel=1 ] || complain "2^60 and on, in chunks: $(rows chunks wakeups) wakeups"

# Four years of milliseconds with nothing pending: each tick is a wakeup, though none was driven.
replayed empty <<'CSV'
0,1,start,20
5,2,start,10
126144000000,3,start,10
126144000100,3,stop,
CSV
[ "$(grep -vc '=ok$' empty.status)" -eq 0 ] || complain "empty: $(grep -v '=ok$' empty.status)"
[ "$(rows empty wakeups | grep '^round-wheel=')" = round-wheel=126144000101 ] ||
    complain "empty: $(rows empty wakeups | grep '^round-wheel=') wakeups"
[ "$(rows empty wakeups | grep '^binary-heap=')" = binary-heap=3 ] || complain "empty: a heap wakes up"
grep -q '^empty.trace: no timer was pending in 12614[0-9]* ticks: structures without .next. passed' \
    empty.said || complain "empty: says: $(cat empty.said)"

# The same with one that is: no machine drives so many ticks in half a minute.
replayed kept --timeout 30 <<'CSV'
0,1,start,20
5,2,start,126144000000
126144000000,3,start,10
126144000100,3,stop,
CSV
grep -vE '=(ok|unsupported)$' kept.status && complain "kept: not right"
grep -q '^binary-heap=ok' kept.status || complain "kept: a heap need not be driven"
"$TIMERLAB" sim kept.trace -a round-wheel --runs 0 --timeout 30 >said 2>&1 || complain "kept: status $?"
grep -qE "round-wheel: unsupported: from tick [0-9]+ on 12614[0-9]+ ticks in which nothing comes are to be driven while timers are pending, [0-9]+ s a pass, where --timeout allows 30; it has no .next. to sleep by" \
    said || complain "kept: says: $(cat said)"

finish
