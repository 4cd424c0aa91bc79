#!/usr/bin/env bash
# The command line as its users meet it: exit statuses, what goes to which stream, what is left
# behind. TIMERLAB is the program.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# expect STATUS STDOUT-PATTERN STDERR-PATTERN ARGUMENT...   (extended regular expressions; "" = empty)
expect() {
    local status=$1 out_pattern=$2 err_pattern=$3
    shift 3
    "$TIMERLAB" "$@" >out 2>err </dev/null
    local got=$?
    local complaint=""
    # On a slow machine a command reports its progress.
    sed -i -E '/: [0-9]+ (%|calls|operations), .*(left|\/s)$/d' err
    [ "$got" -eq "$status" ] || complaint="exit status $got, not $status"
    matches out "$out_pattern" || complaint="$complaint; standard output is not as expected"
    matches err "$err_pattern" || complaint="$complaint; standard error is not as expected"
    if [ -n "$complaint" ]; then
        complain "timerlab $*: $complaint"
        head -c 2000 out err >&2
    fi
}

matches() {
    if [ -z "$2" ]; then [ ! -s "$1" ]; else grep -qE -- "$2" "$1"; fi
}

# What every command knows.
for command in list describe show record sim sweep compare tune predict live threads cluster new check report \
    'trace gen' 'trace import' 'trace scale' 'trace info' 'trace validate' 'cluster check' 'cluster sim'; do
    # shellcheck disable=SC2086 # two words
    expect 0 "^Usage: timerlab $command" "" $command -h
    # argp may break the layout where its buffer is full: it is larger where the text before the options is long.
    awk '/^(  -|      --)/ { on = 1 } /^[A-Z]/ { on = 0 } on' out | grep -vE '^(  -.+|      --.+| {29}[^ ].*| Options of .*|)$' >bad &&
        complain "timerlab $command -h: layout: $(cat bad)"
done

cat >trace.csv <<'EOF'
tick,id,op,delay,cause
0,0,start,5,
0,1,start,7,
3,0,start,5,
4,1,stop,,
6,2,start,100,
EOF

expect 2 "" "Usage: timerlab COMMAND"
expect 0 "Usage: timerlab COMMAND" "" --help
expect 0 "^timerlab [0-9]" "" --version
expect 0 "^timerlab [0-9]" "" -V
expect 0 "^binary-heap " "" list
expect 0 "^handoff +with queues" "" list
expect 0 "^lazy .*for one thread" "" list
expect 0 "^Needs: unlimited" "" describe handoff
expect 0 "^  moved .default 100000" "" describe "handoff(round-wheel)"
expect 0 '"name": "hier-wheel"' "" list --format json
# shellcheck disable=SC2016 # the backticks are Markdown's
expect 0 '^\| `round-wheel` \|' "" list --format md
# The front ends too: each structure with those that can stand before it.
# shellcheck disable=SC2016 # the backticks are Markdown's
expect 0 '^\| `handoff\(NAME\)` \| with queues .* \| unlimited \| ' "" list --format md
"$TIMERLAB" list --format json >structures.json
jq -e '(.[] | select(.name == "hier-wheel") | [.fronts[].name]) == ["locked", "handoff", "sharded", "lazy", "durable"]
    and (.[] | select(.name == "simple-wheel") | [.fronts[].name]) == ["locked", "sharded", "durable"]
    and all(.[].fronts[]; .summary | length > 0)' structures.json >/dev/null ||
    complain "list --format json has not the front ends: $(jq -c '.[].fronts' structures.json)"
jq -e '(.[] | select(.name == "binary-heap").embedded | .record_bytes == 8)
    and (.[] | select(.name == "libuv").embedded == null)' structures.json >/dev/null ||
    complain "list --format json is wrong about records: $(jq -c '.[].embedded' structures.json)"
# One that is named for a structure can stand before it.
for name in $(jq -r '.[] | select(.name == "simple-wheel") | .name as $n | .fronts[] | "\(.name)(\($n))"' structures.json); do
    expect 0 "\"status\": \"ok\"" "" check -a "$name" --case refused --seconds 0 --format json
done
# What a walk shows where entries are left behind, which only long cases see: for our own always.
for case in options-ends invariants records-none; do
    expect 0 "^chunk-wheel .* ok " "" check -a chunk-wheel --case "$case"
done
expect 0 "rounding" "" describe hier-wheel
# Whoever reads one has all that there is to choose by.
for name in $("$TIMERLAB" list --format json | jq -r '.[].name'); do
    "$TIMERLAB" describe "$name" >described.txt
    for part in "^$name: ." "^Origin: ." "^Cost: start .*, stop .*, tick .*, expire " \
        "^Memory: (.* bytes fixed, .* per timer|not measured)" "^Embedded: ." "^(Horizon: |Memory: not measured)" "^Precision: " \
        "^Promises:" "^Options"; do
        grep -qE -- "$part" described.txt || { echo "describe $name does not say '$part'" >&2 && exit 1; }
    done
done
expect 0 "^Horizon: none" "" describe binary-heap
expect 0 "^Embedded: 8 bytes of a timer may be in the caller's record" \
    "" describe binary-heap
expect 0 "^Embedded: no" "" describe libuv
expect 0 "^Embedded: no" "" describe "locked(binary-heap)"
expect 0 "^Embedded: no" "" describe locked
expect 0 "^Horizon: .*, 60000 ticks" "" describe simple-wheel
expect 0 "^Horizon: .*, 60001 ticks" "" describe fixed-wheel

expect 0 "" "t.trace: reactions 0: " trace import csv trace.csv -o t.trace
# What is empty is named, and so is the file that holds a wrong step or operation.
expect 2 "" "sim: --output takes DIR, not ''" sim t.trace -a ordered-list -o ""
expect 2 "" "trace info: an argument is empty" trace info ""
expect 2 "" "sim: an argument is empty" sim "" -a ordered-list
echo hello >words
expect 1 "" "timerlab: words: step 'hello': " show binary-heap -f words
expect 1 "" "timerlab: words, line 1: expected 'create" check -a binary-heap --replay words
expect 1 "" "timerlab: [.]: cannot be read: Is a directory" check -a binary-heap --replay .
expect 1 "" "timerlab: none: cannot be read" check -a binary-heap --replay none --format json
# Ids that are no numbers: the message names the importer that takes them.
printf 'tick,id,op,delay\n0,conn-a,start,5\n1,conn-b,start,7\n' >named.csv
expect 1 "" "line 2: no timer id .* \`timerlab trace import events --time tick --time-unit ms --op op --key id\`" \
    trace import csv named.csv -o named.trace
expect 0 "" "named.trace: 2 starts and 0 stops of 2 timers" \
    trace import events named.csv --time tick --time-unit ms --op op --key id -o named.trace
expect 0 "ordered-list +ok" "" sim t.trace -a ordered-list --runs 0
expect 0 "^t.trace,binary-heap,,ok,5,3,1,1,0,0,0,2,0,0,0,0,0,0,0,0,0,0," "" \
    sim t.trace -a binary-heap --runs 1 --format csv
expect 0 '"schema": 1' "" sim t.trace -a binary-heap --runs 1 --format json
expect 0 "unsupported" "" sim t.trace -a simple-wheel:slots=50 --runs 0
# The answer comes first; structures that fire late are not ranked, however fast they are.
expect 0 "^t.trace: binary-heap is the only structure to choose from" "" \
    sim t.trace -a coarse-wheel,binary-heap --runs 1
expect 0 "too few runs" "exact structures fired the same timers" sim t.trace -a binary-heap,rbtree --runs 2
expect 0 "^All fire late or early; the fastest, coarse-wheel takes [0-9.,]+ ns" "" sim t.trace -a coarse-wheel --runs 1
expect 0 "^t.trace: speed" "" sim t.trace -a coarse-wheel --runs 1 --wide
# A durable structure's folder is timerlab's to choose, and nothing is made in the one that is named.
for command in 'sim t.trace' 'sweep idle -o points' 'tune t.trace' check 'check --crash' live; do
    for structure in 'durable(binary-heap)' 'durable(binary-heap):sync=none' kv-wheel; do
        # shellcheck disable=SC2086 # several words
        expect 2 "" "path=kept: .*omit path, and set TMPDIR to a folder" $command -a "$structure:path=kept"
    done
done
# Nor in a file of operations.
printf 'create capacity 4 now 0 max-delay 10 options path=kept\nstart 0 in 5\n' >operations
expect 1 "" "path=kept: .*omit path, and set TMPDIR to a folder" check -a "durable(binary-heap)" --replay operations
if [ -e kept ] || [ -e points ]; then
    complain "a refused path= leaves something behind"
fi
expect 0 '"drive": "poll:10 budget 2 pause 3:2:asleep:every=9"' "exact ones are not compared with one another" \
    sim t.trace -a binary-heap --runs 0 --drive poll:10 --budget 2 --pause 3:2:asleep:every=9 --format json
expect 0 '"drive": "sleep service exp:50000ns"' "fired the same timers at the same ticks" \
    sim t.trace -a binary-heap,hier-wheel --runs 1 --latency --service exp:50us --format json
# 25 probes of 200 ms each, one at a time, all due at once: the last begins 24 times 200 ms late
{ echo tick,id,op,delay && for id in $(seq 0 24); do echo "0,$id,start,1000"; done; } >probes.csv
expect 0 "" "25 timers" trace import csv probes.csv -o probes.trace
expect 0 ',ok,.*,0,2408,4800,4800,' "fired the same timers at the same ticks" \
    sim probes.trace -a binary-heap,hier-wheel --runs 0 --service 200ms --format csv
expect 2 "" "the path of the plug-in is empty" list --plugin ,mine
expect 1 "" "none.trace: " sim none.trace -a all
expect 0 "the longest calls of all runs" "" sim t.trace -a ordered-list --runs 1 --latency --wide --window 0:9
expect 1 "" "trace.csv: " sim trace.csv -a all

# what is linear in the timers is left out of large traces, and says so
expect 0 "" "operations recorded" trace gen idle -n 60000 --seconds 1 -o large.trace
expect 0 "ordered-list: unsupported: .*--slow" "" sim large.trace -a ordered-list --runs 0

# damage is refused with the file's name, and no half result stays behind
head -c $(($(stat -c %s t.trace) - 9)) t.trace >cut.trace
expect 1 "" "cut.trace: " sim cut.trace -a all -o res
[ ! -e res ] || complain "sim left a folder behind after a failure"
expect 1 "" "none.trace: " sim none.trace -a all -o new/er/res/
[ ! -e new ] || complain "sim left folders behind: $(find new)"
expect 1 "" "does not say when to wake" live -a round-wheel --drive sleep -o new/res
[ ! -e new ] || complain "live left folders behind: $(find new)"
# What was there stays, empty or not.
mkdir -p old/empty
expect 1 "" "cut.trace: " sim cut.trace -a all -o old/empty
expect 1 "" "cut.trace: " sim cut.trace -a all -o old/new
[ "$(find old | sort | tr '\n' ' ')" = "old old/empty " ] ||
    complain "sim does not leave folders as they were: $(find old)"

expect 0 "^t.trace: valid: 5 operations" "" trace validate t.trace
expect 0 "^tick,id,op,delay,cause$" "" trace dump t.trace

# Ids of a text may be any numbers; a table for more ids than fit into memory is refused with the remedy.
printf '%s\n' tick,id,op,delay 0,4294967294,start,5 1,17,start,7 >sparse.csv
expect 0 "" "^sparse.trace: 2 timers, renumbered: .* up to 4294967294, are 0 to 1 now, .* fewer than one in 16" \
    trace import csv sparse.csv -o sparse.trace
expect 0 "binary-heap +ok" "sparse.trace: open loop" sim sparse.trace -a binary-heap --runs 0
expect 0 "" "^t.trace: 3 timers, numbered as in trace.csv" trace import csv trace.csv -o t.trace
printf '%s\n' tick,id,op,delay 0,4294967294,start,5 1,17,start,7 '# ids: 4294967295' '# origin: {"source":"mine"}' |
    "$TIMERLAB" trace import csv - -o wide.trace 2>/dev/null
for command in 'sim -a binary-heap --runs 0' 'tune -a binary-heap'; do
    # shellcheck disable=SC2086 # it is a list of words
    expect 1 "" "wide.trace: to check its 4294967295 timers takes .* GB .*trace import csv - --ids dense -o NEW" $command wide.trace
done
"$TIMERLAB" trace dump wide.trace | "$TIMERLAB" trace import csv - --ids dense -o dense.trace 2>/dev/null
expect 0 "binary-heap +ok" "dense.trace: open loop" sim dense.trace -a binary-heap --runs 0

# a text may come through a pipe with a name, and begin with a byte order mark
mkfifo pipe
{ printf '\xef\xbb\xbf' && cat trace.csv; } >pipe &
expect 0 "" "^piped.trace: 3 timers, numbered as in pipe" trace import csv pipe -o piped.trace

# what says nothing of causes is open loop, and every command says so
cut -d, -f1-4 trace.csv >open.csv
expect 0 "" "open.trace: reactions 0: open loop" trace import csv open.csv -o open.trace
expect 0 "^tick,id,op,delay$" "" trace dump open.trace
expect 0 "causes +open loop" "" trace info open.trace
expect 0 "valid: .*; open loop" "" trace validate open.trace
printf '%s\n' tick,id,op,delay,cause 0,0,start,5, 5,0,start,5,0 9,0,start,5,0 >early.csv
expect 0 "" "early.trace: reactions 2: " trace import csv early.csv -o early.trace
expect 0 "1 of them where an exact structure does not fire their cause, the first operation 2" "" trace info early.trace
expect 1 "" "early.trace: operation 2 and 0 others name causes that do not fire" trace validate early.trace
expect 0 "ok" "open.trace: open loop: " sim open.trace -a binary-heap --runs 0
expect 0 "ordered-list" "exact structures fired the same timers" sim t.trace -a ordered-list,all --runs 2 --latency -o res
for file in results.csv results.json latency.csv response.csv faults.csv \
    latency/t.trace.ordered-list.start.service.hgrm latency/t.trace.ordered-list.start.response.hgrm; do
    [ -s "res/$file" ] || complain "res/$file is missing"
done
[ "$(head -1 res/latency.csv)" = "trace,algo,options,op,percentile,latency_ns,count" ] ||
    complain "latency.csv has another header"

# work over time: the same each time, however often it is timed
expect 0 "ordered-list" "exact" sim t.trace -a ordered-list,all --runs 0 -o again
cmp res/work.csv again/work.csv || complain "a second run counts other work"
[ "$(head -1 res/work.csv | cut -d, -f1-6)" = "trace,algo,options,from_tick,to_tick,fired" ] ||
    complain "work.csv has another header"

# Names that hold control characters do nothing to a terminal, wherever they are told.
esc=$'a\e[31m.trace'
expect 0 "" '^a\\x1B\[31m\.trace: [0-9]+ operations' trace gen rpc -n 50 --seconds 1 -o "$esc"
expect 0 '^a\\x1B\[31m\.trace: valid' "" trace validate "$esc"
expect 0 "" '^b\\x1B\[31m\.trace: [0-9]+ copies' trace scale "$esc" --of 50 -n 100 -o "b${esc#a}"
expect 1 "" 'a\\x1B\[31m\.trace: cannot be run' record -o r.rec -- "./$esc"
expect 2 "" "no command '\\\\x1B'" $'\e'
expect 2 "" "no structure '\\\\x1B" sim -a $'\e' "$esc"

finish
