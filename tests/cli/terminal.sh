#!/usr/bin/env bash
# The command line on a terminal of 100 columns: no line of a table or a message is wider, what is left
# out is said and shown with --wide, and what goes to a pipe is whole, whatever COLUMNS says. Bytes that
# are no text, or mean something to a terminal, are told as \xHH.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# on_terminal WORD...: runs the command on one of 100 columns; what it shows is in `shown`, without the
# progress that it takes back.
on_terminal() {
    local words
    printf -v words '%q ' "$TIMERLAB" "$@"
    SHELL=$(command -v bash) script -qec "stty cols 100 rows 40; $words" /dev/null </dev/null | sed 's/\r$//; s/.*\r//' >shown
}

width() {
    LC_ALL=C.UTF-8 awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }' "$1"
}

# fits LEFT-OUT WORD...: as it should; LEFT-OUT is one of the columns that are, "" if there are none.
fits() {
    local column=$1
    shift
    on_terminal "$@"
    [ "$(width shown)" -le 100 ] || complain "$*: $(width shown) columns: $(cat shown)"
    if [ -z "$column" ]; then
        return
    fi
    grep -A 9 '^columns omitted: ' shown | tr '\n' ' ' | grep -q "[ :]${column}[ ,(].*--wide shows *them" ||
        complain "$*: does not say that $column is omitted: $(tail -n 5 shown)"
    on_terminal "$@" --wide
    grep -qw -- "${column//\//.}" shown || complain "$* --wide: has no $column"
    ! grep -q '^columns left out' shown || complain "$* --wide: leaves out columns"
    COLUMNS=100 "$TIMERLAB" "$@" 2>err </dev/null >piped
    grep -qw -- "${column//\//.}" piped || complain "$*, to a pipe: has no $column"
    ! grep -q '^columns left out' piped || complain "$*, to a pipe: leaves out columns"
}

"$TIMERLAB" trace gen rpc -n 100 --seconds 1 -o t.trace 2>err || complain "no trace: $(cat err)"
# Progress is one line, so that it can be taken back.
SHELL=$(command -v bash) script -qec "stty cols 30; '$TIMERLAB' trace validate t.trace" /dev/null </dev/null |
    tr '\r' '\n' | grep '^reading: ' >progress
if [ ! -s progress ] || [ "$(width progress)" -gt 29 ]; then
    complain "progress on 30 columns: $(cat progress)"
fi
fits capabilities list
fits 'restarts/s' live -a hier-wheel --seconds 0.02 -n 10 --timeout 0.01
fits duplicates_by cluster sim lease --timers 500
fits '' cluster check lease
fits '' tune t.trace -a binary-heap,hier-wheel,coarse-wheel --counts
fits n_cascades sweep rpc -a binary-heap,hier-wheel -n 50 --seconds 1 --runs 1 -o points
fits '' sim t.trace -a binary-heap,hier-wheel --runs 1 --latency
[ "$(wc -l <shown)" -le 20 ] || complain "sim: the answer is longer than 20 lines: $(cat shown)"
fits '' check --list
# A table that grows row by row keeps its layout.
fits images check --crash --crash-share 0.01 -a 'durable(binary-heap)'
awk '/^structure/ { at = index($0, "options") } /^durable/ && index($0, "sync=") != at && /sync=/ { bad = 1 }
    END { exit bad || at == 0 }' shown || complain "check --crash: rows do not stand below their headings: $(cat shown)"
"$TIMERLAB" threads -n 3 >shown 2>&1
grep -q "^Try .*--help.* for more information" shown || complain "whom to ask is garbled: $(cat shown)"
fits '' describe hier-wheel
fits '' sim t.trace -a "$(printf 'no-structure-%.0s' {1..4})" -a "$(seq -s ' ' 200)"
if command -v redis-server >/dev/null; then
    fits '' cluster run lease -n 100 --format table
fi

# Every command, in what it takes for a name: getopt's words and its own.
odd=$'\e[31m\xff\nx'
told='\\x1B\[31m\\xFF\\x0Ax'
for command in list 'describe hier-wheel' 'show hier-wheel' record 'trace gen rpc' 'trace import csv' 'trace info' \
    'trace validate' 'trace dump' 'trace scale' sim sweep compare tune 'predict csv' live threads \
    'cluster check' 'cluster sim' 'cluster run' new check report export; do
    for words in "--$odd" "-$odd" "$odd"; do
        # shellcheck disable=SC2086 # several words
        "$TIMERLAB" $command "$words" >out 2>err </dev/null
        ! grep -q $'[\e\xff]' out err || complain "$command ${words@Q}: $(cat -v out err)"
    done
    # shellcheck disable=SC2086
    "$TIMERLAB" $command "--$odd" 2>err </dev/null
    grep -qE "unrecognized option '--$told'" err || complain "$command: says $(cat -v err)"
done
cp t.trace "$odd"
for command in 'trace info' 'trace validate' 'sim -a binary-heap --runs 1' 'tune -a binary-heap --counts' 'show binary-heap --trace' \
    'live -a hier-wheel --plugin' 'compare' 'trace import csv' report; do
    # shellcheck disable=SC2086
    "$TIMERLAB" $command "$odd" >out 2>err </dev/null
    ! grep -q $'[\e\xff]' out err || complain "$command, a file ${odd@Q}: $(cat -v out err)"
done

finish
