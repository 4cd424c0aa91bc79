#!/usr/bin/env bash
# Two processes that write into one folder, and what processes leave that are killed by SIGKILL: the second
# names the first, and the lock ends with its process; the next run removes what killed processes left, and
# nothing of those that live.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

mkdir tmp
export TMPDIR=$scratch/tmp

# begin PATTERN COMMAND...: in the background, until a file of that name is there. Its number is `first`.
begin() {
    local sign=$1
    shift
    "$TIMERLAB" "$@" >/dev/null 2>first.err &
    first=$!
    until compgen -G "$sign" >/dev/null || ! kill -0 "$first" 2>/dev/null; do :; done
    kill -0 "$first" 2>/dev/null || complain "$*: has ended: $(cat first.err)"
}

# The worker ends with its supervisor, and with it the lock.
end_first() {
    kill -9 "$first"
    wait "$first" 2>/dev/null || true
}

"$TIMERLAB" trace gen rpc -n 100 --seconds 2 -o t.trace 2>err
"$TIMERLAB" trace gen server -n 5000 --seconds 10 -o long.trace 2>err

# Two writers.
second() {
    local status=0
    "$TIMERLAB" "$@" >out 2>err || status=$?
    [ $status -eq 1 ] || complain "$*: a second writer: status $status"
    holder=$(sed -n 's/^timerlab: r: another process (\([0-9]*\)) is writing into this folder; wait until it ends.*/\1/p' err)
    [ -n "$holder" ] || complain "$*: a second writer: $(cat err)"
    local process=$holder
    until [ "$process" = "$first" ] || [ "${process:-0}" -le 1 ]; do
        process=$(ps -o ppid= -p "$process" | tr -d ' ')
    done
    [ "$process" = "$first" ] || complain "$*: $holder is no process of the first run, $first"
}
begin r sim long.trace -a binary-heap --runs 1000 -o r
until ! flock -n r true || ! kill -0 "$first" 2>/dev/null; do :; done
second sim t.trace -a binary-heap --runs 1 -o r
second sweep t.trace -a binary-heap --runs 1 -o r
[ -z "$(ls -A r)" ] || complain "the second writer has written: $(ls -A r)"
end_first
"$TIMERLAB" sim t.trace -a binary-heap --runs 1 -o r >out 2>err || complain "after the first was killed: $(cat err)"
begin 'r/cells/*' sweep t.trace long.trace -a binary-heap --runs 500 -o r
second sweep t.trace -a binary-heap --runs 1 -o r
second report --no-pictures r
end_first

# A file.
begin '.timerlab-tmp-*/file' trace gen server -n 100000 --seconds 100 -o x.trace
end_first
[ -n "$(compgen -G '.timerlab-tmp-*')" ] || complain "SIGKILL left nothing, so there is nothing to test"
begin 'others/.timerlab-tmp-*/file' trace gen server -n 100000 --seconds 100 -o "$(mkdir others && echo others/x.trace)"
mv others/.timerlab-tmp-* . # as one that lives, in the same folder
alive=$(cd others && ls -A)
[ -z "$alive" ] || complain "not moved: $alive"
until "$TIMERLAB" trace gen rpc -n 10 --seconds 1 -o y.trace 2>err && [ "$(compgen -G '.timerlab-tmp-*' | wc -l)" -eq 1 ]; do
    [ "$(compgen -G '.timerlab-tmp-*' | wc -l)" -gt 0 ] || break
done
[ "$(compgen -G '.timerlab-tmp-*' | wc -l)" -eq 1 ] || complain "the folder of a living process was removed"
end_first
until [ -z "$(compgen -G '.timerlab-tmp-*')" ]; do "$TIMERLAB" trace gen rpc -n 10 --seconds 1 -o y.trace 2>err; done
[ -e x.trace ] && complain "half a trace is there"

# Files of other programs stay.
mkdir .timerlab-tmp-other .timerlab-tmp-longer-than-ours
"$TIMERLAB" trace gen rpc -n 10 --seconds 1 -o y.trace 2>err
rmdir .timerlab-tmp-other .timerlab-tmp-longer-than-ours || complain "a folder with another name was removed"

# In $TMPDIR.
if [ -z "$SANITIZE" ]; then
    begin 'tmp/.timerlab-tmp-*/*' check -a 'durable(binary-heap)' --crash
    end_first
    until [ -z "$(ls -A tmp)" ]; do "$TIMERLAB" sim t.trace -a 'durable(binary-heap)' --runs 1 >out 2>err || complain "sim: $(cat err)"; done
fi

# A folder of results, in the middle of its files.
"$TIMERLAB" report --no-pictures r >out 2>err || complain "report: $(cat err)"
find r -type f -exec md5sum {} + | sort >before
begin 'r/.timerlab-tmp-*/latency/*' sim t.trace -a all --runs 1 --latency -o r
end_first
find r -name '.timerlab-*' -prune -o -type f -exec md5sum {} + | sort | cmp -s before - || complain "SIGKILL has changed results"
until [ -z "$(compgen -G 'r/.timerlab-tmp-*')" ]; do "$TIMERLAB" report --no-pictures r >out 2>err || break; done
[ -z "$(compgen -G 'r/.timerlab-tmp-*')" ] || complain "left: $(ls -A r): $(cat err)"

# SIGINT from a terminal goes to all processes of a command.
if command -v gnuplot >/dev/null; then
    env --default-signal=INT setsid "$TIMERLAB" report r -o page >out 2>err &
    first=$!
    until compgen -G 'page/.timerlab-tmp-*/pictures/*.csv' >/dev/null || ! kill -0 "$first" 2>/dev/null; do :; done
    kill -INT -- "-$first"
    wait "$first" || true
    [ ! -e page ] || complain "SIGINT to report leaves: $(find page)"
    [ -z "$(ls -A tmp)" ] || complain "SIGINT to report leaves: $(ls -A tmp)"
fi

finish
