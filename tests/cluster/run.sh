#!/usr/bin/env bash
# timerlab cluster run: real processes on a real engine, killed; what it prints, keeps and refuses.
set -euo pipefail

# shellcheck source=/dev/null
. "$SOURCE/tests/cluster/expect.bash" run

expect_protocols
expect 2 "'memcached' is no engine: redis and postgres are" -e memcached
if no_redis; then
    finish
    exit 77
fi

# What is missing is named, by its package.
mkdir empty
status=0
PATH=$PWD/empty "$TIMERLAB" cluster run -n 10 >said 2>&1 || status=$?
[ "$status" = 2 ] || complain "without redis-server it ended with $status"
grep -q 'redis-server is not installed (Debian: redis-server)' said || complain "without redis-server: $(cat said)"
# The last line of an engine that does not start is shown: its log is removed.
mkdir broken
printf '#!/bin/sh\necho first\necho no memory\nexit 1\n' >broken/redis-server
chmod +x broken/redis-server
PATH=$PWD/broken:$PATH expect 1 'redis did not start: no memory$' lease -n 10

# Nothing is lost whoever is killed, and every second call has its cause.
expect 0 ',ok,' lease -n 1000 --kills 25 --pauses 2 --format csv --seed 3 -o out
[ "$(value lost),$(value early),$(value after_stop),$(value garbled),$(value duplicates_other)" = 0,0,0,0,0 ] ||
    complain "lease: $(tail -n 1 said)"
kills=$(($(value kills_planner) + $(value kills_scheduler) + $(value kills_executor) + $(value kills_receiver) + \
    $(value kills_engine)))
[ "$kills" = 25 ] || complain "$kills kills came, not 25"
[ "$(value kills_engine)" -gt 0 ] || complain "the engine was not killed"
[ "$(value pauses)" = 2 ] || complain "$(value pauses) pauses came, not 2"
[ "$(value duplicates)" -le $((kills * 20 + 40 + $(value duplicates_reply_lost))) ] ||
    complain "more second calls than faults can make"
expect_files out/run.csv out/run.json
jq -e '.rows[0].lost == 0 and .context.version != null' out/run.json >/dev/null || complain "run.json is not right"

# However the due timers are claimed, and with calls that the service wants later.
for protocol in partitions lists owners; do
    expect 0 ',ok,' "$protocol" -n 1000 --kills 20 --pauses 2 --laters 10 --format csv --seed 4
    [ "$(value laters)" -gt 0 ] || complain "$protocol: no call was answered with a later time"
done

if compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null &&
    ! grep -q 'not in this build' <("$TIMERLAB" cluster run -e postgres -n 1 2>&1); then
    expect 2 'postgres does not have the steps of seed-ack, but of lease partitions lists owners ack-first' seed-ack -e postgres
    for protocol in partitions lists owners; do
        expect 0 ',ok,' "$protocol" -e postgres -n 200 --kills 3 --laters 10 --format csv --seed 4
    done
    expect 0 ',ok,' lease -e postgres -n 200 --kills 3 --format csv --seed 2
    expect 1 'fault' ack-first -e postgres -n 400 --kills 4 --format csv --seed 3 --batch 50
fi
export TMPDIR=$PWD/tmp
mkdir "$TMPDIR"
# An engine that somebody stops for a while is waited for: there is no second one beside it.
"$TIMERLAB" cluster run -n 1000 --seed 4 >stopped 2>&1 &
run=$!
until engine=$(pgrep -f "^redis-server.*$TMPDIR") || ! kill -0 "$run" 2>/dev/null; do
    sleep 0.02
done
kill -STOP "$engine"
for _ in $(seq 10); do
    sleep 0.02
    [ "$(pgrep -cf "^redis-server.*$TMPDIR")" = 1 ] || complain "a second engine was started beside one that stood still"
done
kill -CONT "$engine"
wait "$run" || complain "an engine that stood still for a while: $(tail -n 2 stopped)"
# Whatever ends it, nothing is left: no folder, no engine, and none of those who take part.
for signal in INT TERM KILL; do
    # In the background, or where this script was started so, SIGINT would be ignored.
    env --default-signal=INT "$TIMERLAB" cluster run -n 1m >/dev/null 2>&1 &
    run=$!
    until compgen -G "$TMPDIR/.timerlab-tmp-*/executor-*" >/dev/null || ! kill -0 "$run" 2>/dev/null; do
        sleep 0.02
    done
    engine=$(pgrep -f "^redis-server.*$TMPDIR") || complain "no engine was started"
    kill -s "$signal" "$run"
    wait "$run" 2>/dev/null && complain "SIG$signal did not end it"
    for _ in $(seq 500); do
        [ -n "$(ls -A "$TMPDIR")" ] || kill -0 "$engine" 2>/dev/null || break
        sleep 0.02
    done
    [ -z "$(ls -A "$TMPDIR")" ] || complain "SIG$signal left $(ls -A "$TMPDIR")"
    kill -0 "$engine" 2>/dev/null && complain "SIG$signal left the engine"
done
[ -z "$(ls -A "$TMPDIR")" ] || complain "a folder of a run was left behind"

finish
