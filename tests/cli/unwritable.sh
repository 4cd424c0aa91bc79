#!/usr/bin/env bash
# What cannot be written to is refused, before long work where there is some: folders, pipes and devices
# in a file's place, folders that are not there or are somebody else's, a full disk. The message names
# it, the status is 1, and what was there before stays.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

"$TIMERLAB" trace gen rpc -n 100 --seconds 2 -o t.trace 2>err || complain "no trace: $(cat err)"

printf 'tick,id,op,delay\n0,0,start,5\n' >t.csv

# In a file's place.
mkdir folder
mkfifo pipe
for target in folder pipe; do
    what=$([ $target = folder ] && echo 'is a folder' || echo 'is a device or a pipe')
    refuses 1 "^timerlab: $target: $what, not a file" "$TIMERLAB" trace gen rpc -n 100 -o $target
    refuses 1 "^timerlab: $target: $what" "$TIMERLAB" trace import csv t.csv -o $target
    refuses 1 "^timerlab: $target: $what" "$TIMERLAB" tune t.trace -a binary-heap --counts -o $target
    [ ! -s out ] || complain "tune -o $target: works before it looks"
    refuses 1 "^timerlab: $target: $what" "$TIMERLAB" check -a binary-heap --seconds 0 --save $target
    [ ! -s out ] || complain "check --save $target: works before it looks"
    refuses 1 "^timerlab: $target: $what" "$TIMERLAB" record -o $target -- touch ran
    [ ! -e ran ] || complain "record -o $target: runs the program before it looks"
done
[ -p pipe ] || complain "the pipe is none any more"
[ -d folder ] || complain "the folder is none any more"

# A link stands for its file.
printf 'old\n' >file
ln -s file link
"$TIMERLAB" trace gen rpc -n 100 --seconds 1 -o link 2>err || complain "link: $(cat err)"
[ -L link ] || complain "a link was replaced"
"$TIMERLAB" trace validate file >out 2>&1 || complain "what the link leads to was not written: $(cat out)"

# In a folder's place.
refuses 1 '^timerlab: file: not a folder that can be written to' "$TIMERLAB" sim t.trace -a binary-heap -o file
refuses 1 '^timerlab: file: not a folder that can be written to' "$TIMERLAB" trace info t.trace --plot file
refuses 1 '^timerlab: nowhere: No such file or directory; give a folder' "$TIMERLAB" report nowhere
refuses 1 'nowhere/x.trace: cannot be written: .*its folder must be there' "$TIMERLAB" trace gen rpc -n 100 -o nowhere/x.trace

# Somebody else's folder. Whoever may do anything does it as one who may not.
mkdir foreign
"$TIMERLAB" sim t.trace -a binary-heap --runs 2 -o foreign/kept >out 2>err || complain "no results: $(cat err)"
find foreign/kept -type f -exec md5sum {} + | sort >before
as=()
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 755 . foreign
    cp "$TIMERLAB" timerlab && "${as[@]}" ./timerlab --version >out 2>&1 || as=()
else
    chmod 555 foreign foreign/kept
    ln -s "$TIMERLAB" timerlab
fi
if [ "$(id -u)" -ne 0 ] || [ ${#as[@]} -gt 0 ]; then
    refuses 1 'foreign/new: cannot be made a folder: Permission denied' "${as[@]}" ./timerlab sim t.trace -a binary-heap -o foreign/new
    refuses 1 'foreign/kept: not a folder that can be written to' "${as[@]}" ./timerlab sim t.trace -a binary-heap -o foreign/kept
    refuses 1 'foreign/kept: not a folder that can be written to' "${as[@]}" ./timerlab report --no-pictures foreign/kept
    refuses 1 'foreign/x: cannot be written: Permission denied' "${as[@]}" ./timerlab trace gen rpc -n 100 -o foreign/x
    refuses 1 'foreign/x: cannot be written: Permission denied' "${as[@]}" ./timerlab tune t.trace -a binary-heap --counts -o foreign/x
    chmod 755 foreign foreign/kept
    find foreign/kept -type f -exec md5sum {} + | sort >after
    cmp -s before after || complain "what was in the folder has changed"
fi

# A full disk, as far as one can be had without mounting one: standard output, and a limit.
bench=$BUILD/bench/timerlab-bench
least=(-a binary-heap -n 1k --benchmark_filter=start/ --benchmark_min_time=0 --benchmark_repetitions=2)
if [ -c /dev/full ]; then
    for command in 'list' '--help' '--version' 'sim --help' 'sim --usage' 'sim --version' 'sim --columns' \
        'trace gen --help' 'list --format md' 'trace dump t.trace' 'sim t.trace -a binary-heap --runs 0' \
        'sim t.trace -a binary-heap --runs 0 --format json' 'check -a binary-heap --seconds 0'; do
        # shellcheck disable=SC2086 # words
        "$TIMERLAB" $command >/dev/full 2>err
        status=$?
        [ $status -eq 1 ] || complain "$command >/dev/full: status $status, not 1: $(cat err)"
        grep -q 'standard output.*: No space left on device$' err || complain "$command >/dev/full: says: $(cat err)"
    done
    for flag in --help --list-suites; do
        [ -x "$bench" ] || break
        "$bench" $flag >/dev/full 2>err
        status=$?
        [ $status -eq 1 ] || complain "timerlab-bench $flag >/dev/full: status $status, not 1: $(cat err)"
        grep -q 'standard output.*: No space left on device$' err || complain "timerlab-bench $flag >/dev/full: says: $(cat err)"
    done
    if [ -x "$bench" ]; then
        "$bench" "${least[@]}" >/dev/full 2>err
        status=$?
        [ $status -eq 1 ] || complain "timerlab-bench >/dev/full: status $status, not 1: $(cat err)"
        grep -q 'standard output.*: No space left on device$' err || complain "timerlab-bench >/dev/full: says: $(cat err)"
    fi
    # A command line that cannot be followed stays one.
    "$TIMERLAB" sim >/dev/full 2>err
    status=$?
    [ $status -eq 2 ] || complain "sim >/dev/full: status $status, not 2: $(cat err)"
fi
printf 'old\n' >small
# shellcheck disable=SC2016 # the inner shell's
refuses 1 '^timerlab: small: could not be written: File too large; no partial file remains; .*ulimit -f' bash -c \
    'ulimit -f 1; "$0" trace gen rpc -n 1000 --seconds 20 -o small' "$TIMERLAB"
[ "$(cat small)" = old ] || complain "what cannot be written whole has replaced what was there"
# Whatever writes a file names it and the cause, keeps an earlier one, and leaves nothing. The message goes
# through a pipe: a file has the same limit.
limited() { # TARGET COMMAND...
    local target=$1 status
    shift
    rm -rf made
    # shellcheck disable=SC2016 # the inner shell's
    bash -c 'ulimit -f 0; "$@"' limited "$@" 2>&1 >/dev/null | cat >err
    status=${PIPESTATUS[0]}
    [ "$status" -eq 1 ] || complain "a limit of 0 bytes: $*: status $status, not 1"
    grep -qE -- "$target.*: File too large" err || complain "a limit of 0 bytes: $*: says: $(cat err)"
    [ "$(cat small)" = old ] || complain "a limit of 0 bytes: $*: has replaced what was there"
    [ -z "$(find . -name '.timerlab-*')" ] || complain "$*: left behind: $(find . -name '.timerlab-*')"
    [ ! -e made ] || [ -n "$(ls -A made)" ] || complain "$*: left an empty folder"
}
limited small "$TIMERLAB" trace gen rpc -n 100 -o small
limited small "$TIMERLAB" trace import csv t.csv -o small
limited small "$TIMERLAB" trace scale t.trace -n 1000 -o small
limited made/portrait-t.csv "$TIMERLAB" trace info t.trace --plot made
limited made/binary_heap "$TIMERLAB" export binary-heap -o made
limited made/mine "$TIMERLAB" new mine -o made
limited small.svg "$TIMERLAB" show hier-wheel 'start a 2; advance 3' -o small.svg
limited made/step-000.svg "$TIMERLAB" show hier-wheel 'start a 2; advance 3' -o made
limited made/report.html "$TIMERLAB" report --no-pictures foreign/kept -o made
limited made/work.csv "$TIMERLAB" sim t.trace -a binary-heap --runs 1 -o made
limited made/cells/ "$TIMERLAB" sweep t.trace -a binary-heap --runs 1 -o made
limited small "$TIMERLAB" tune t.trace -a binary-heap --counts -o small
limited made/live.csv "$TIMERLAB" live -a binary-heap -n 10 --seconds 0.1 -o made
limited made/ "$TIMERLAB" cluster check seed-fetch -o made
limited small "$TIMERLAB" record -o small -- true
if [ -x "$bench" ]; then
    limited made "$bench" "${least[@]}" -o made
fi
[ -z "$(find . -name '.timerlab-*')" ] || complain "left behind: $(find . -name '.timerlab-*')"

# And one that is small, where one may be mounted: whatever writes a file names it, the cause and the remedy.
# shellcheck disable=SC2016 # the inner shell's
cat >on_full_disk <<'END'
mount -t tmpfs -o size=64k tmpfs folder || exit 77
head -c 1M /dev/zero >folder/filler 2>/dev/null
exec "$@"
END
if unshare -m sh on_full_disk true 2>/dev/null; then
    full='could not be written: No space left on device; .*; free some space'
    on_full() { # COMMAND...: the last word is the file or folder to write
        refuses 1 "^timerlab: folder/x.*$full" unshare -m sh on_full_disk "$TIMERLAB" "$@"
    }
    on_full trace gen rpc -n 1000 --seconds 20 -o folder/x
    on_full trace import csv t.csv -o folder/x
    on_full show hier-wheel 'start a 2; advance 3' -o folder/x.svg
    on_full tune t.trace -a binary-heap --counts -o folder/x
    on_full new mine -o folder/x
    on_full export binary-heap -o folder/x
    on_full sim t.trace -a binary-heap --runs 1 -o folder/x
    refuses 1 '^timerlab: folder/x: could not be written: No space left on device; a recording needs' \
        unshare -m sh on_full_disk "$TIMERLAB" record -o folder/x -- touch ran
    [ ! -e ran ] || complain "record: runs the program before it has room"
    if [ -x "$bench" ]; then
        refuses 1 '^timerlab-bench: folder/.*: No space left on device' \
            unshare -m sh on_full_disk "$bench" "${least[@]}" -o folder
    fi
fi

finish
