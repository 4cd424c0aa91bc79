#!/usr/bin/env bash
# timerlab sweep --part, --join: the result of the parts is that of the whole, byte by byte, but for
# the times; what is missing, twice, damaged or of something else is said.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
needs jq
# shellcheck source=/dev/null
. "$SOURCE/tests/search/untimed.sh"

# sweeps STATUS ARGUMENT...: what it prints is in `out` and `err`
sweeps() {
    runs "$1" "$TIMERLAB" sweep "${@:2}"
}

says() {
    grep -qE -- "$1" err || complain "it says '$(cat err)', not '$1'"
}

# same FOLDER FOLDER
same() {
    cmp <(untimed "$1") <(untimed "$2") >&2 || complain "$2 is not what $1 is"
}

points() {
    jq -c .context.part.points "$1/results.json"
}

# three parts, joined in any order
# shellcheck disable=SC2054 # the commas are sweep's
sweep=(rpc -a 'binary-heap,round-wheel:slots=64/4096' -p cancelled=0.5,0.99 -n '100,1k' --drive sleep,poll --seconds 1
    --runs 1)
sweeps 0 "${sweep[@]}" -o whole
cp out table
for part in 1 2 3; do
    sweeps 0 "${sweep[@]}" --part $part/3 -o parts/$part
done
is "$(jq -s -c 'map(.context.part.points) | add | sort' parts/*/results.json)" '[0,1,2,3,4,5,6,7]' "the points of all parts"
sweeps 0 --join parts/3 parts/1 parts/2 -o joined --format csv
[ -s err ] && complain "a whole join says: $(cat err)"
cmp -s out joined/results.csv || complain "what is printed is not what is in the folder"
same whole joined
awk '{ print $1, $2, $3, $4 }' table >expected
sweeps 0 parts/1 --join parts/2 -o joined parts/3
awk '{ print $1, $2, $3, $4 }' out | cmp -s - expected || complain "another table: $(cat out)"

# what reads results reads these
"$TIMERLAB" report --no-pictures joined >out 2>err || complain "no report of a join: $(cat err)"
"$TIMERLAB" compare whole joined >out 2>err || complain "no comparison with a join: $(cat err)"

# a part that is lost: said, and run again alone
mv parts/2 lost
sweeps 1 --join parts/* -o joined
says "^timerlab: $((3 * $(jq '.context.part.points | length' lost/results.json))) of 24 cells are missing$"
says '^timerlab: not there, of 3 parts: 2; '
says "^timerlab: missing: point $(jq '.context.part.points[0]' lost/results.json): cancelled=.* connections=.* drive="
is "$(jq -c .context.missing joined/results.json)" "$(points lost)" "the points that are missing"
sweeps 0 "${sweep[@]}" --part 2/3 -o parts/2
sweeps 0 --join parts/* -o joined
same whole joined

# one that was interrupted: it goes on, and a point is never of two runs
sweeps 0 "${sweep[@]}" --part 2/3 -o half --limit 1
sweeps 1 --join parts/1 half parts/3 -o joined
says "^timerlab: half/results.json: 1 of the [0-9]* points of part 2 are done; "
is "$(jq '.context.missing | length' joined/results.json)" $(($(jq '.context.part.points | length' half/results.json) - 1)) \
    "the points of half a part that are missing"
find half/cells -name '*.json' | sort | tail -n 1 | xargs rm
stat -c '%n %i' half/cells/* >first
sweeps 0 "${sweep[@]}" --part 2/3 -o half
while read -r name inode; do
    [ "$(stat -c '%n %i' "$name")" != "$name $inode" ] || complain "$name was kept, though a cell of its point was lost"
done <first
sweeps 0 --join parts/1 half parts/3 -o joined
same whole joined
stat -c '%n %i' half/cells/* >first
sweeps 0 "${sweep[@]}" --part 2/3 -o half
stat -c '%n %i' half/cells/* | cmp -s - first || complain "a part that is done was run again"

# by what is expected to take longest, not by number; what a slow structure is not asked to do counts for nothing
sweeps 0 idle -a binary-heap -n 1k,10,20,30 --seconds 10000 -p rate_per_s=0.01 --runs 0 --part 1/2 -o uneven/1
sweeps 0 idle -a binary-heap -n 1k,10,20,30 --seconds 10000 -p rate_per_s=0.01 --runs 0 --part 2/2 -o uneven/2
is "$(points uneven/1) $(points uneven/2)" "[0] [1,2,3]" "the points by their cost"
# a slow structure is not asked to serve so many timers, however few pend at once
sweeps 0 rpc -a glib -n 10k,60k --seconds 0.1 -p cancelled=0.99 --runs 0 --part 1/2 -o refused/1
is "$(points refused/1)" "[0]" "the points by the cost of what is run"
# more parts than points: the rest has nothing to do
sweeps 0 idle -a binary-heap -n 10,20 --seconds 1 --runs 0 --part 3/3 -o none/3
says 'nothing is left for part 3 of 3'
sweeps 0 idle -a binary-heap -n 10,20 --seconds 1 --runs 0 --part 1/3 -o none/1
sweeps 0 idle -a binary-heap -n 10,20 --seconds 1 --runs 0 --part 2/3 -o none/2
sweeps 0 --join none/* -o none
is "$(jq '.rows | length' none/results.json)" 2 "the rows of three parts of two points"

# traces are known by what is in them, wherever they lie
printf 'tick,id,op,delay\n0,0,start,5\n3,1,start,9\n' >a.csv
printf 'tick,id,op,delay\n0,0,start,7\n' >b.csv
mkdir here there
for at in here there; do
    "$TIMERLAB" trace import csv a.csv -o $at/a.trace 2>/dev/null
    "$TIMERLAB" trace import csv b.csv -o $at/b.trace 2>/dev/null
done
sweeps 0 here/a.trace here/b.trace -a binary-heap,hier-wheel --drive sleep,poll --runs 0 -o traces
sweeps 0 here/a.trace here/b.trace -a binary-heap,hier-wheel --drive sleep,poll --runs 0 --part 1/2 -o traces/1
sweeps 0 there/a.trace there/b.trace -a binary-heap,hier-wheel --drive sleep,poll --runs 0 --part 2/2 -o traces/2
sweeps 0 --join traces/1 traces/2 -o elsewhere
same traces elsewhere
printf 'tick,id,op,delay\n0,0,start,5\n3,1,start,8\n' >a.csv
"$TIMERLAB" trace import csv a.csv -o there/a.trace 2>/dev/null
sweeps 0 there/a.trace there/b.trace -a binary-heap,hier-wheel --drive sleep,poll --runs 0 --part 2/2 -o traces/2
refuses 1 'traces/2/results.json: a part of another sweep than traces/1/results.json: they differ in .traces' "$TIMERLAB" sweep \
    --join traces/1 traces/2 -o x
rm there/a.trace
refuses 1 '^timerlab: there/a.trace: ' "$TIMERLAB" sweep there/b.trace there/a.trace -a binary-heap --runs 0 --part 1/2 -o x

# changed FILTER: part 2, changed, in the folder `changed`
changed() {
    rm -rf changed
    mkdir changed
    jq "$1" parts/2/results.json >changed/results.json
}
changed '.context |= (.cpu = "Other 9000" | .governor = "powersave")'
sweeps 0 --join parts/1 changed parts/3 -o unlike
says 'unlike machines: cpu: .* \(parts 1, 3\), Other 9000 \(parts 2\); '
says 'unlike machines: governor: .*powersave \(parts 2\)'
is "$(jq -c .context.unlike unlike/results.json)" '["cpu","governor"]' "what the machines have different"
cmp <(jq '[.rows[] | .algo]' whole/results.json) <(jq '[.rows[] | .algo]' unlike/results.json) >&2 ||
    complain "other rows of unlike machines"

# what is no part, or none of these
refuses 1 'changed/results.json: part 2 of 3, as parts/2/results.json is|parts/2/results.json: part 2 of 3, as changed/' "$TIMERLAB" sweep \
    --join parts/* changed -o x
changed '.context.sweep.runs = 7'
refuses 1 'changed/results.json: a part of another sweep than parts/1/results.json: they differ in .runs' "$TIMERLAB" sweep \
    --join parts/1 changed -o x
changed '.context.part.parts = 4'
refuses 1 'they differ in .parts' "$TIMERLAB" sweep --join parts/1 changed -o x
changed '.context.part.part = 0'
refuses 1 'does not say which part it is; run that part again' "$TIMERLAB" sweep --join changed -o x
changed 'del(.rows[0])'
refuses 1 'changed/results.json: has [0-9]* rows, and not the [0-9]* of its [0-9]* points; run that part again' "$TIMERLAB" sweep \
    --join parts/1 changed -o x
changed '.rows[1].algo = "hier-wheel"'
refuses 1 'changed/results.json: row 2 is not that of round-wheel at point [0-9]*, ' "$TIMERLAB" sweep --join changed -o x
changed '.rows[2].p_connections = 7'
refuses 1 'changed/results.json: row 3 is not that of round-wheel' "$TIMERLAB" sweep --join changed -o x
changed '.context.part.points[0] = 99'
refuses 1 'context.part.points is damaged' "$TIMERLAB" sweep --join changed -o x
changed '.context.part.part = 1'
refuses 1 'has point [0-9]*, as changed/results.json has: not parts of one plan' "$TIMERLAB" sweep --join changed parts/2 -o x
changed '.rows[0].trace_checksum = "0123456789abcdef"'
refuses 1 'results.json: row [0-9]* was measured with another rpc-[^ ]* than ' "$TIMERLAB" sweep --join parts/1 changed parts/3 -o x
head -c 700 parts/2/results.json >changed/results.json
refuses 1 'changed/results.json: line [0-9]*: not JSON, or cut off: .*run that part again' "$TIMERLAB" sweep --join parts/1 changed -o x
refuses 1 'whole/results.json: a whole sweep, or a join' "$TIMERLAB" sweep --join whole -o x
refuses 1 'here/results.json: No such file or directory; .*leave the folder out' "$TIMERLAB" sweep --join parts/1 here -o x
refuses 1 'cannot take the place of one of its parts' "$TIMERLAB" sweep --join parts/1 parts/2 -o parts/./2
[ -e x ] && complain "a join that is refused leaves a folder behind"
refuses 2 'which parts' "$TIMERLAB" sweep --join -o x
refuses 2 'where to' "$TIMERLAB" sweep --join parts/1
refuses 2 'the settings are those of the parts' "$TIMERLAB" sweep --join parts/1 -a all -o x
for part in 0/3 4/3 1/0 3 1/10001 /3 x/3 1/; do
    refuses 2 "takes K/N, part K of N, with K from 1 to N and N up to 10000, not '$part'" "$TIMERLAB" sweep rpc -a all --part $part -o x
done

# a thousand parts, in the order of the whole
sweeps 0 idle -a binary-heap -n "$(seq -s, 1000)" --seconds 0.01 --runs 0 --part 1/1000 -o many/1
jq -c 'range(1000) as $k | .context.part.part = $k + 1 | .context.part.points = [$k]
    | .rows[0].p_connections = $k + 1' many/1/results.json >lines
rm -r many/1
part=0
mkdir $(seq -f 'many/%g' 1000)
while IFS= read -r line; do
    part=$((part + 1))
    printf '%s\n' "$line" >many/$part/results.json
done <lines
sweeps 0 --join many/* -o all
[ -s err ] && complain "a join of 1,000 parts says: $(head -n 3 err)"
is "$(jq -r '.rows[].p_connections' all/results.json | sha256sum)" "$(seq 1000 | sha256sum)" "the order of 1,000 parts"

finish
