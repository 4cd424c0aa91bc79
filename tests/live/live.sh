#!/usr/bin/env bash
# live: the command's rows and files, by their shape; what the figures are is the machine's business.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# One that can sleep is driven both ways, one that cannot is polled.
"$TIMERLAB" live -a binary-heap,round-wheel -n 50 --seconds 0.2 --timeout 0.1 --rate 100 -o out --format csv >rows.csv
cmp rows.csv out/live.csv || fail "what is printed is not what is written"
cut -d, -f1-4 rows.csv | tail -n +2 >drives
printf '%s\n' binary-heap,,sleep,50 binary-heap,,poll,50 round-wheel,,poll,50 | diff - drives || fail "these are not the rows"
[ "$(awk -F, '{ print NF }' rows.csv | sort -u | wc -l)" = 1 ] || fail "not all lines have as many columns"
jq -e '.rows | length == 3 and all(.[]; .status == "ok" and .fired_per_second > 0 and .early == 0
        and .cpu_percent >= 0 and .lateness_us_p50 <= .lateness_us_max)' out/live.json >/dev/null ||
    fail "live.json: $(cat out/live.json)"
[ "$(sed -n 1p out/lateness.csv)" = algo,options,drive,share,lateness_us ] || fail "the head of lateness.csv"
[ "$(wc -l <out/lateness.csv)" = 37 ] || fail "lateness.csv has not 12 shares for each row"
if command -v gnuplot >/dev/null; then
    "$TIMERLAB" report out 2>message || fail "report draws nothing: $(cat message)"
    { grep -q '>binary-heap<' out/pictures/live.svg && grep -q '>sleep<' out/pictures/live.svg; } || fail "the picture does not name its rows"
    [ -s out/pictures/live-lateness.svg ] || fail "lateness is not drawn"
    # In a short run no timer fires: then there is nothing to draw of how late, and all else is drawn.
    mkdir none
    cp out/live.csv none/
    awk -F, -v OFS=, 'NR > 1 { $5 = 0 } { print }' out/lateness.csv >none/lateness.csv
    "$TIMERLAB" report none 2>message || fail "report draws nothing where nothing fired: $(cat message)"
    { [ -s none/pictures/live.svg ] && [ ! -e none/pictures/live-lateness.svg ]; } || fail "drawn where nothing fired: $(ls none/pictures)"
fi

# Beside it, what the kernel and libraries have: each fires, or says what is missing. Few enough for any limit.
"$TIMERLAB" live -a binary-heap --drive sleep --kernel --hosted -n 40 --seconds 0.2 --timeout 0.05 --rate 100 --format json >kernel.json ||
    fail "with --kernel --hosted: $(cat kernel.json)"
jq -e '[.rows[] | [.algo, .drive]] == [["binary-heap", "sleep"], ["binary-heap", "epoll-ms"], ["timerfd-each", "own"],
        ["posix-timers", "own"], ["io-uring-timeouts", "own"], ["libev-loop", "own"], ["libuv-loop", "own"], ["libevent-loop", "own"], ["glib-loop", "own"]]
    and all(.rows[]; (.status == "ok" and .fired_per_second > 0)
        or (.status | startswith("unsupported: ")) and .fired_per_second == null)
    and all(.rows[:5][]; .status != "ok" or .early == 0)
    and all(.rows[]; .status != "ok" or .system_calls_per_expiry >= 0.1)
    and all(.rows[:4][]; .status == "ok")' kernel.json >/dev/null || fail "kernel.json: $(cat kernel.json)"
# More than there are descriptors for: a row that says so, and no fault.
(
    ulimit -n 64
    "$TIMERLAB" live -a binary-heap --drive sleep --kernel -n 100 --seconds 0.05 --timeout 0.02 --rate 0 --format csv >limited.csv
) || fail "a limit is taken for a fault"
grep -q '^timerfd-each,.*,"\{0,1\}unsupported: only [0-9]* timers: RLIMIT_NOFILE is 64 (ulimit -n)' limited.csv ||
    fail "the limit is not named: $(cat limited.csv)"
[ "$(awk -F, '{ print NF }' limited.csv | sort -u | wc -l)" = 1 ] || fail "not all lines have as many columns"

# Refused, with exit status 2.
for arguments in "" "-a binary-heap --drive swim" "-a nobody" "-a binary-heap --timeout 0.001 --tick 5" "-a null more"; do
    status=0
    # shellcheck disable=SC2086 # words
    "$TIMERLAB" live $arguments >/dev/null 2>message || status=$?
    [ "$status" = 2 ] || fail "'$arguments' ends with $status"
    [ -s message ] || fail "'$arguments' is refused without a word"
done
"$TIMERLAB" live -a binary-heap --timeout 1m >/dev/null 2>message || true
grep -q -e '--timeout takes seconds from 0.001 to 1000000, or a time as in 250us or 2min, not .1m' message ||
    fail "a time with a suffix: $(cat message)"
# And with 1: it cannot sleep.
status=0
"$TIMERLAB" live -a round-wheel --drive sleep --seconds 0.1 2>message || status=$?
[ "$status" = 1 ] || fail "round-wheel sleeps"
grep -q 'drive it with poll' message || fail "why round-wheel cannot sleep is not said"
