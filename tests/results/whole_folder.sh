#!/usr/bin/env bash
# A folder of results is that of one run: replaced as a whole, or, on a full disk or by a signal, left
# as it was; what an earlier run has left of the same kind goes, and other files stay.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

mkdir tmp
export TMPDIR=$scratch/tmp

# sums FOLDER: of all files in it.
sums() {
    (cd "$1" && find . -type f -exec md5sum {} + | sort -k 2)
}

# untouched FOLDER WHAT: is as it was when `before` was written, with nothing beside it.
untouched() {
    sums "$1" | cmp -s before - || complain "$2: $1 is not as it was: $(sums "$1" | diff before - | head)"
    [ -z "$(find . -name '.timerlab-*' -o -name '.new-*')" ] || complain "$2: left behind: $(find . -name '.timerlab-*' -o -name '.new-*')"
    [ -z "$(ls -A tmp)" ] || complain "$2: left behind: $(ls -A tmp)"
}

"$TIMERLAB" trace gen rpc -n 100 --seconds 2 -o t.trace 2>err
"$TIMERLAB" trace gen rpc -n 100 --seconds 1 -o short.trace 2>err

# What an earlier run has left goes; what is somebody else's stays.
"$TIMERLAB" sim t.trace -a binary-heap,simple-wheel --runs 1 --latency -o r >out 2>err
"$TIMERLAB" report --no-pictures r >out 2>err || complain "report: $(cat err)"
mkdir -p r/pictures
printf 'mine\n' | tee r/notes.txt >r/pictures/mine.png
printf 'picture,trace,title,about\nold,"","Old","of the run before"\n' >r/pictures/pictures.csv
"$TIMERLAB" sim short.trace -a binary-heap --runs 1 -o r >out 2>err
[ "$(ls r)" = "$(printf '%s\n' faults.csv notes.txt pictures results.csv results.json work.csv)" ] ||
    complain "after a run without latencies: $(ls r)"
[ "$(cat r/notes.txt r/pictures/*)" = "$(printf 'mine\nmine')" ] || complain "what is mine is not what it was: $(ls r/pictures)"
"$TIMERLAB" report --no-pictures r >out 2>err || complain "report: $(cat err)"
grep -q '^| date | 20..-' r/report.md || complain "the report does not say when it was measured"

# A full disk, in the middle of the files.
sums r >before
for blocks in 1 4 8; do
    status=0
    # shellcheck disable=SC2016 # the inner shell's
    bash -c 'ulimit -f "$1"; "$0" sim t.trace -a binary-heap,simple-wheel --runs 1 --latency -o r' "$TIMERLAB" $blocks >out 2>err || status=$?
    [ $status -eq 1 ] || complain "a full disk ($blocks): status $status"
    grep -q '^timerlab: r/.*could not be written: [^;]*; the folder is as it was' err ||
        complain "a full disk ($blocks): $(grep timerlab: err)"
    untouched r "a full disk ($blocks)"
done

# Pictures too.
if command -v gnuplot >/dev/null; then
    "$TIMERLAB" report r >out 2>err || complain "report: $(cat err)"
    sums r >before
    status=0
    # shellcheck disable=SC2016
    bash -c 'ulimit -f 12; "$0" report r' "$TIMERLAB" >out 2>err || status=$?
    [ $status -ne 0 ] || complain "pictures on a full disk: status 0"
    grep -qE 'is the disk full|File too large' err || complain "pictures on a full disk: $(cat err)"
    untouched r "pictures on a full disk"
fi

# Signals, while it is at work: nothing new is left, neither there nor for the meantime.
"$TIMERLAB" trace gen server -n 5000 --seconds 10 -o long.trace 2>err
sums r >before
# ended_by SIGNAL STATUS FILE COMMAND...: when the file, or one like it, is there.
ended_by() {
    local signal=$1 wanted=$2 sign=$3 status=0 pid
    shift 3
    env "--default-signal=$signal" "$TIMERLAB" "$@" >out 2>err &
    pid=$!
    until compgen -G "$sign" >/dev/null || ! kill -0 $pid 2>/dev/null; do :; done
    kill "-$signal" $pid 2>/dev/null || complain "$*: had ended"
    wait $pid 2>>err || status=$?
    [ $status -eq "$wanted" ] || complain "$* by $signal: status $status: $(cat err)"
}
ended_by INT 130 new sim long.trace -a binary-heap --runs 1000 -o new/results
[ ! -e new ] || complain "SIGINT leaves an empty folder"
ended_by TERM 143 '.timerlab-tmp-*' trace gen server -n 100000 --seconds 100 -o x.trace
ended_by HUP 129 '.timerlab-tmp-*' trace gen server -n 100000 --seconds 100 -o x.trace
ended_by TERM 143 '.timerlab-tmp-*' trace scale long.trace -n 100000000 -o y.trace
untouched r "signals"
[ ! -e x.trace ] || complain "half a trace is there"
if command -v gnuplot >/dev/null; then
    "$TIMERLAB" sim t.trace -a all --runs 1 --latency -o every >out 2>err
    ended_by TERM 143 'page/.timerlab-tmp-*/pictures/*.csv' report every -o page
    ended_by INT 130 'page/.timerlab-tmp-*/pictures/*.csv' report every -o page
    [ ! -e page ] || complain "a report that was ended leaves: $(find page)"
fi
if [ -z "$SANITIZE" ]; then # what watches the calls cannot be loaded before a sanitizer's runtime
    for signal in TERM:143 INT:130; do
        ended_by ${signal%:*} ${signal#*:} 'tmp/.timerlab-tmp-*/*' check -a 'durable(binary-heap)' --crash
    done
fi
untouched r "a report and crashes that were ended"

finish
