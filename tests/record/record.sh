#!/usr/bin/env bash
# Records programs of our own that use libevent, libev and libuv, imports the recordings, and compares
# every count. TIMERLAB is the program, BUILD the build.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# is TARGET NAME COUNT: what the import has counted
is() {
    local got
    got=$(tr -s ' ' '\n' <"$1.counts" | grep -m 1 -A1 -x "$2" | tail -n 1)
    [ "$got" = "$3" ] || complain "$1: $2 is $got, not $3"
}

tried=0
for library in libevent libev libuv; do
    target=$BUILD/tests/record_target_$library
    [ -x "$target" ] || continue
    tried=$((tried + 1))
    if ! "$TIMERLAB" record -o "$library.rec" -- "$target" 2>err; then
        complain "$library: $(cat err)"
        continue
    fi
    if ! "$TIMERLAB" trace import process "$library.rec" -o "$library.trace" 2>"$library.counts"; then
        complain "$library: $(cat "$library.counts")"
        continue
    fi
    # The program's calls, and those of its child.
    is "$library" timers 4
    is "$library" rearm 2
    is "$library" malformed_records 0
    is "$library" armed_at_end 0
    is "$library" cause_unknown 0
    is "$library" cause_crossed 0
    if [ "$library" = libuv ]; then
        is libuv arm 10 # it starts a repeating timer again by a call
    else
        is "$library" arm 4
        is "$library" persist_rearm 6
    fi
    # What the library starts again, and what the third callback stops.
    is "$library" expiry 6
    is "$library" cancel 4
    is "$library" reactions 10
    # One in each process; event_free and uv_close stop both timers, too.
    idle=6
    [ "$library" != libev ] || idle=2
    is "$library" stop_not_armed $idle
    "$TIMERLAB" sim "$library.trace" -a ordered-list --runs 0 >out || complain "$library: $(cat out)"
done

# Exported timers in a shared object: two starts, a stop that finds its timer pending, and two that do not.
if command -v "${CC:-cc}" >/dev/null; then
    "$TIMERLAB" export hier-wheel --prefix timers -o timers >/dev/null || complain "hier-wheel is not exported"
    cat >exported.c <<'END'
#include "timers.h"
int main(void)
{
    struct timers_timers *timers;
    if (timers_create(&timers, 2, 0, 1000, 0) != TIMERS_OK || timers_stop(timers, 0) != TIMERS_IDLE) {
        return 1;
    }
    timers_start(timers, 0, 1000);
    timers_start(timers, 1, 1000);
    timers_stop(timers, 0);
    timers_stop(timers, 0);
    timers_destroy(timers);
    return 0;
}
END
    "${CC:-cc}" -shared -fPIC timers/timers.c -o libtimers.so || complain "the exported timers do not compile"
    "${CC:-cc}" -Itimers exported.c -L. -ltimers -Wl,-rpath,. -o exported || complain "exported.c does not compile"
    "$TIMERLAB" record -o exported.rec -- ./exported 2>err || complain "exported: $(cat err)"
    "$TIMERLAB" trace import process exported.rec -o exported.trace 2>exported.counts || complain "$(cat exported.counts)"
    is exported arm 2
    is exported cancel 1
    is exported stop_not_armed 2
    # Without room in the middle, the program goes on, and what was recorded before is saved.
    sed -i 's/    timers_start(timers, 1, 1000);/    for (int i = 0; i < 100000; i++) {\n&\n    }/' exported.c
    "${CC:-cc}" -Itimers exported.c -L. -ltimers -Wl,-rpath,. -o many || complain "exported.c does not compile"
    status=0
    # shellcheck disable=SC2016 # the inner shell's
    bash -c 'ulimit -f 4096; "$0" record -o many.rec -- ./many' "$TIMERLAB" 2>err || status=$?
    [ $status -eq 1 ] || complain "no room in the middle: status $status"
    grep -qx 'many.rec: 65536 records; [0-9]* or more were lost: File too large' err || complain "no room in the middle: $(cat err)"
    "$TIMERLAB" trace import process many.rec -o many.trace 2>many.counts || complain "$(cat many.counts)"
    is many records 65536
    is many malformed_records 0
    # A terminal that is closed ends the program, and the recording is saved.
    sed -i 's/#include "timers.h"/&\n#include <stdio.h>\n#include <unistd.h>/; s/    timers_destroy(timers);/    puts("started");\n    fflush(stdout);\n    pause();/' exported.c
    "${CC:-cc}" -Itimers exported.c -L. -ltimers -Wl,-rpath,. -o pausing || complain "exported.c does not compile"
    mkfifo started
    "$TIMERLAB" record -o pausing.rec -- ./pausing >started 2>err &
    read -r _ <started
    kill -HUP $!
    wait $! || complain "SIGHUP: status $?: $(cat err)"
    "$TIMERLAB" trace import process pausing.rec -o pausing.trace 2>pausing.counts || complain "SIGHUP: $(cat pausing.counts)"
    is pausing malformed_records 0
fi

# What cannot be saved in the end is kept all the same.
for target in "$BUILD"/tests/record_target_*; do
    [ -x "$target" ] || continue
    "$TIMERLAB" record -o taken.rec -- sh -c "mkdir taken.rec; exec '$target'" 2>err && complain "a folder was replaced"
    kept=$(sed -n 's/.*the recording is kept in \([^,]*\),.*/\1/p' err)
    "$TIMERLAB" trace import process "${kept:-nothing}" -o kept.trace 2>>err || complain "nothing was kept: $(cat err)"
    rm -rf "$kept" taken.rec
    break
done

# What cannot be recorded leaves nothing behind.
"$TIMERLAB" record -o none.rec -- true 2>err && complain "true has no timers"
grep -q 'started no timer' err || complain "true: $(cat err)"
"$TIMERLAB" record -o none.rec -- ./no-such-program 2>err && complain "no-such-program runs"
grep -q 'cannot be run' err || complain "no-such-program: $(cat err)"
"$TIMERLAB" record -o nowhere/none.rec -- true 2>err && complain "nowhere is no folder"
"$TIMERLAB" record true 2>err && complain "without -o"
[ ! -e none.rec ] || complain "none.rec was left behind"
[ -z "$(find . -name '.timerlab-*')" ] || complain "a workspace was left behind"

[ "$((failures + tried))" -gt 0 ] || skip "none of libevent-dev, libev-dev and libuv1-dev was there when this was built"
finish
