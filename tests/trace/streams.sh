#!/usr/bin/env bash
# "-" is standard input and standard output wherever a trace is read or written: pipes give the same bytes and
# rows as files; a terminal, a closed pipe and an input that is cut are refused with a message and status 1.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
recording=$SOURCE/tests/data/kernel-nginx.ftrace.txt.zst
mkdir temporary
export TMPDIR=$scratch/temporary

# same FILE FILE: two outputs are equal.
same() {
    cmp "$1" "$2" >/dev/null || complain "$1 and $2 differ"
}

# refuses PATTERN: the last command, whose status is $?, ended with 1 and this message in err.
refuses() {
    local status=$?
    [ $status -eq 1 ] || complain "'$1': status $status, not 1"
    grep -qE -- "$1" err || complain "'$1' is not said: $(cat err)"
}

# left: no temporary file is, and none that is named "-".
left() {
    [ -z "$(ls temporary)" ] || complain "$1 leaves $(ls temporary)"
    [ ! -e - ] || complain "$1 makes a file named -"
}

gen=("$TIMERLAB" trace gen rpc -n 2000 --seconds 2)
"${gen[@]}" -o a.trace 2>err || complain "no trace: $(cat err)"

# Writing.
"${gen[@]}" -o - >b.trace 2>err || complain "gen -o -: $(cat err)"
same a.trace b.trace
"${gen[@]}" -o - 2>err | cat >b.trace
same a.trace b.trace
left gen
"$TIMERLAB" trace scale a.trace -n 5000 -o scaled.trace 2>err || complain "scale: $(cat err)"
"${gen[@]}" -o - 2>err | "$TIMERLAB" trace scale - -n 5000 -o - 2>>err >b.trace
same scaled.trace b.trace
left scale

# Reading, from a pipe, and from a file that is standard input.
for verb in info head dump validate; do
    "$TIMERLAB" trace $verb a.trace 2>err | sed 's/a[.]trace/-/' >expected
    # shellcheck disable=SC2002 # it is to be a pipe
    cat a.trace | "$TIMERLAB" trace $verb - >piped 2>err || complain "$verb -: $(cat err)"
    "$TIMERLAB" trace $verb - <a.trace >redirected 2>err || complain "$verb - <: $(cat err)"
    same expected piped
    same expected redirected
done
# One that was read already in part is read from there on.
{ printf 'title\n' && cat a.trace; } >titled
{ read -r _ && "$TIMERLAB" trace validate - >out 2>err; } <titled || complain "an offset: $(cat err)"
left 'what reads'

# Imports: as text, with ids that are kept, and with such as are numbered again; of another format.
"$TIMERLAB" trace dump a.trace >a.csv
"$TIMERLAB" trace import csv a.csv -o kept.trace 2>err || complain "import csv: $(cat err)"
"$TIMERLAB" trace dump a.trace | "$TIMERLAB" trace import csv - -o - 2>err >b.trace || complain "import csv -: $(cat err)"
same kept.trace b.trace
same a.trace b.trace
printf 'tick,id,op,delay\n1,7,start,5\n2,4000000000,start,5\n' >sparse.csv
"$TIMERLAB" trace import csv sparse.csv -o sparse.trace 2>expected || complain "sparse: $(cat expected)"
"$TIMERLAB" trace import csv sparse.csv -o - >b.trace 2>err || complain "sparse -: $(cat err)"
same sparse.trace b.trace
sed -i 's/^sparse[.]trace:/-:/' expected
same expected err
"$TIMERLAB" trace import ftrace "$recording" -o kernel.trace 2>err || complain "ftrace: $(cat err)"
"$TIMERLAB" trace import ftrace "$recording" -o - >b.trace 2>err || complain "ftrace -: $(cat err)"
same kernel.trace b.trace
left import

# What replays. The deterministic columns of a row are the same.
rows() {
    jq -c '[.rows[] | {algo, status, events, starts, fired, lateness_max, wakeups, n_compares, bytes_peak}]' "$1"
}
"$TIMERLAB" sim scaled.trace -a binary-heap,hier-wheel --runs 1 --format json >a.json 2>err || complain "sim: $(cat err)"
"${gen[@]}" -o - 2>err | "$TIMERLAB" trace scale - -n 5000 -o - 2>>err |
    "$TIMERLAB" sim - -a binary-heap,hier-wheel --runs 1 --format json >b.json 2>>err || complain "sim -: $(cat err)"
[ "$(rows a.json)" = "$(rows b.json)" ] || complain "sim -: $(rows b.json), not $(rows a.json)"
[ "$(jq -r '.rows[0].trace' b.json)" = standard-input ] || complain "sim -: its trace is $(jq '.rows[0].trace' b.json)"
"$TIMERLAB" tune - -a binary-heap,hier-wheel --counts --format json <a.trace >out 2>err || complain "tune -: $(cat err)"
# shellcheck disable=SC2002
cat a.trace | "$TIMERLAB" tune - -a binary-heap,hier-wheel --counts --format json >out 2>err || complain "tune -: $(cat err)"
# shellcheck disable=SC2002
cat a.trace | "$TIMERLAB" show binary-heap --trace - >piped 2>err || complain "show --trace -: $(cat err)"
"$TIMERLAB" show binary-heap --trace a.trace >expected 2>err || complain "show --trace: $(cat err)"
same expected piped
"$TIMERLAB" predict ftrace "$recording" 2>err | tail -n +2 | sed 's/^[^ ]* *//' >expected
zstd -dcq "$recording" | "$TIMERLAB" predict ftrace - 2>err | tail -n +2 | sed 's/^[^ ]* *//' >piped
same expected piped
left 'what replays'

# What is not whole.
head -c 1000 a.trace | "$TIMERLAB" trace validate - >out 2>err
refuses '^timerlab: standard input: block 0: truncated: the file has 1000 of [0-9]* bytes'
head -c 1000 a.trace | "$TIMERLAB" sim - -a binary-heap --runs 1 >out 2>err
refuses '^timerlab: standard input: block 0: truncated'
head -c 1000 a.trace | "$TIMERLAB" trace scale - -n 5000 -o - >out 2>err
refuses '^timerlab: standard input: block 0: truncated'
[ ! -s out ] || complain 'half a trace was scaled'
"$TIMERLAB" trace info - </dev/null >out 2>err
refuses '^timerlab: standard input: is empty'
printf 'tick,id,op,delay\n1,7,start,5\nx\n' | "$TIMERLAB" trace import csv - -o - >out 2>err
refuses '^timerlab: standard input: line 3: no tick'
[ ! -s out ] || complain 'half a text was imported'
"$TIMERLAB" sim - - -a binary-heap <a.trace >out 2>err
refuses '^timerlab: - is named twice; name it once'

# What has no end is refused at its beginning.
endless() {
    local pattern=$1
    shift
    timeout 60 "$TIMERLAB" "$@" >out 2>err
    refuses "$pattern"
}
yes no trace | endless '^timerlab: standard input: not a timerlab trace' trace info -
for format in csv ftrace process access-log 'events --key a'; do
    # shellcheck disable=SC2086 # words
    endless '^timerlab: /dev/zero: byte 1 is 0, so it is not text' trace import $format /dev/zero -o x.trace
    # shellcheck disable=SC2086
    tr '\0' a </dev/zero | endless '^timerlab: standard input: line 1 is longer than 1 MiB' trace import $format - -o x.trace
    # shellcheck disable=SC2086
    yes '#' | endless '^timerlab: standard input: ' trace import $format - -o x.trace
    # shellcheck disable=SC2086
    yes nonsense | endless '^timerlab: standard input: ' trace import $format - -o x.trace
done
endless '^timerlab: /dev/zero: not a capture' trace import pcap /dev/zero -o x.trace
endless '^timerlab: /dev/zero: it holds a zero byte' trace gen --scenario /dev/zero -o x.trace
yes 'start a 2' | endless '^timerlab: -: it is longer than 1 MiB' show hier-wheel --file -
[ ! -e x.trace ] || complain 'what has no end became a trace'
left 'what has no end'

# A pipe that nobody reads any more, and a full disk.
for command in 'trace gen rpc -n 2000 --seconds 2' 'trace scale a.trace -n 5000' 'trace import csv a.csv' \
    'trace import csv sparse.csv' "trace import ftrace $recording"; do
    # shellcheck disable=SC2086 # words
    "$TIMERLAB" $command -o - 2>err >/dev/full
    refuses '^timerlab: standard output: could not be written: No space left on device'
    exec 3> >(:)
    wait $!
    # shellcheck disable=SC2086
    "$TIMERLAB" $command -o - 2>err >&3
    refuses '^timerlab: standard output: could not be written: Broken pipe'
    exec 3>&-
done
left 'what cannot write'

# A terminal takes no trace, and gives none.
if command -v script >/dev/null; then
    script -qec "$TIMERLAB trace gen rpc -n 2000 --seconds 2 -o -" typed </dev/null >err
    refuses 'timerlab: standard output: is a terminal, and a trace is binary; redirect it'
    script -qec "$TIMERLAB trace import csv a.csv -o -" typed </dev/null >err
    refuses 'timerlab: standard output: is a terminal, and a trace is binary; redirect it'
    script -qec "$TIMERLAB trace info -" typed </dev/null >err
    refuses 'timerlab: standard input: is a terminal; pipe a trace'
fi

# What goes elsewhere, or is a folder: no file and no folder named "-" is made.
for command in 'record -o - -- true' 'sim a.trace -a binary-heap -o -' 'tune a.trace -a binary-heap --counts -o -' \
    'check -a binary-heap --save -' 'report . -o -' 'export binary-heap -o -' 'new my-wheel -o -' \
    'trace info a.trace --plot -' 'show binary-heap advance -o -' 'live -a binary-heap -o -' \
    'cluster sim -o -' 'trace gen --scenario - -o b.trace' 'compare a b -o -' 'sweep -o -'; do
    # shellcheck disable=SC2086 # words
    "$TIMERLAB" $command >out 2>err
    status=$?
    [ $status -eq 2 ] || complain "$command: status $status"
    grep -qE "takes a (file|folder), not '-'; name one" err || complain "$command: $(cat err)"
    left "$command"
done

finish
