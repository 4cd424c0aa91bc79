#!/usr/bin/env bash
# Names of files may hold anything: a trace's results, pictures and pages are the same as those of another
# name, and nothing of it reaches a terminal, a page or a table as more than text. And a program may be
# started without input, output or errors.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

odd=$'-bad\\na\nme_v2 <script>|\e[31m\xff\xc2\x9b%.trace'
"$TIMERLAB" trace gen rpc -n 100 --seconds 2 -o t.trace 2>err
cp t.trace "./$odd"
"$TIMERLAB" sim -a binary-heap,simple-wheel --runs 5 -o r -- "$odd" t.trace >out 2>err || complain "sim: $(cat err)"
cat out err r/*.csv r/results.json >all
! grep -q $'\e' all || complain "an escape character reaches the terminal or the tables"
iconv -f UTF-8 -t UTF-8 all >/dev/null 2>&1 || complain "what is written is not UTF-8"
grep -qF '%2Dbad%5Cna%0Ame_v2 %3Cscript%3E%7C%1B[31m%FF%C2%9B%25.trace' out || complain "the trace's name: $(head -n 2 out)"
# What is text stays as it is, of two, three and four bytes; halves of it do not.
plain=$'caf\xc3\xa9\xc2\xa0\xe2\x82\xac\xf0\x9f\x95\x92.trace'
cp t.trace "$plain"
cp t.trace $'half\xe2\x82\xed\xa0\x80\xc0\xaf.trace'
"$TIMERLAB" sim -a binary-heap --runs 1 "$plain" half* >out 2>err || complain "sim: $(cat err)"
grep -qF "$plain: " out || complain "the name of text: $(cat out)"
grep -qF 'half%E2%82%ED%A0%80%C0%AF.trace: ' out || complain "the name of halves: $(cat out)"
"$TIMERLAB" compare r r >out 2>err || complain "compare: status $?: $(cat err)"
[ "$(grep -c 'cannot tell' out)" -ge 4 ] || complain "compare: $(cat out)"
if command -v gnuplot >/dev/null; then
    "$TIMERLAB" report r >out 2>err || complain "report: $(cat err)"
    [ "$(find r/pictures -name 'throughput-*.svg' | wc -l)" -eq 2 ] || complain "pictures: $(ls r/pictures)"
    ! grep -q 'script>|' r/report.md || complain "report.md has a tag of the name"
    # As a title the name is what it is: no subscripts.
    "$TIMERLAB" trace gen rpc -n 100 --seconds 2 -o my_trace_v2.trace 2>err
    "$TIMERLAB" sim my_trace_v2.trace -a binary-heap --runs 2 -o u >out 2>err
    "$TIMERLAB" report u >out 2>err || complain "report: $(cat err)"
    for picture in throughput memory wakeups; do
        tr -d '\n' <"u/pictures/$picture-my_trace_v2.svg" | grep -q 'my_trace_v2' ||
            complain "$picture: the title is not the name"
    done
fi
"$TIMERLAB" sim $'no\e[31mfile' -a binary-heap >out 2>err && complain "no file: status 0"
! grep -q $'\e' err || complain "an escape character in a complaint"
grep -qF 'no\x1B[31mfile: cannot be read' err || complain "no file: $(cat err)"

# Closed files. What cannot be written is an error, and nothing else is opened in its place.
"$TIMERLAB" list >full
"$TIMERLAB" list <&- >out 2>err || complain "list without input: $(cat err)"
cmp -s out full || complain "list without input prints something else"
"$TIMERLAB" list >out 2>&- || complain "list without errors: status $?"
cmp -s out full || complain "list without errors prints something else"
for arguments in list 'list --format json' 'sim t.trace -a binary-heap --runs 1' 'check -a binary-heap --case create' 'trace dump t.trace'; do
    status=0
    # shellcheck disable=SC2086 # words
    "$TIMERLAB" $arguments >&- 2>err || status=$?
    [ $status -eq 1 ] || complain "$arguments without output: status $status: $(cat err)"
    grep -q 'standard output could not be written' err || complain "$arguments without output: $(cat err)"
done
status=0
"$TIMERLAB" list <&- >&- 2>&- || status=$?
[ $status -eq 1 ] || complain "without any: status $status"

finish
