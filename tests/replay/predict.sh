#!/usr/bin/env bash
# timerlab predict: on recordings small enough to work out by hand, on the one that comes with timerlab,
# and the page's table as far as that goes.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

mkdir tmp
export TMPDIR=$scratch/tmp
logs=(out err)
predict() { "$TIMERLAB" predict "$@" >out 2>err </dev/null; }
row() { # ALGO VALUES: the row of the CSV, but for the recording's name
    grep -qxF "$recording,$1,$2" out || fail "no row $recording,$1,$2"
}
said() { grep -qE -- "$1" err || fail "it does not say '$1'"; }

# Jiffies of 4 ms; 8 a slot from 63 on. Timer a expires as Linux's wheel has it, and so does its
# second life, which the callback begins; b is on another CPU, c never expires in the recording, d expires one
# jiffy after its bucket, which only a lost event explains.
event() { printf '  sh-%s [00%s] %s %s: %s\n' "$@"; }
start() { # CPU TASK FLAGS TIME TIMER EXPIRES TIMEOUT BUCKET
    event "$2" "$1" "$3" "$4" \
        "timer_start: timer=$5 function=red expires=$6 [timeout=$7] bucket_expiry=$8 cpu=$1 idx=0 flags="
}
expire() { # CPU TIME TIMER NOW
    event 0 "$1" ..s1. "$2" "timer_cancel: timer=$3"
    event 0 "$1" ..s1. "$2" "timer_expire_entry: timer=$3 function=red now=$4 baseclk=$4"
}
{
    start 0 7 d..1. 4.000000 a1 1070 70 1072
    start 1 7 d..1. 4.000001 b2 1003 3 1004
    start 0 7 d..1. 4.000002 c3 1010 10 1011
    start 0 7 d..1. 4.000003 d4 1020 20 1021
    expire 1 4.016000 b2 1004
    expire 0 4.088000 d4 1022
    expire 0 4.288000 a1 1072
    start 0 0 ..s1. 4.288003 a1 1142 70 1144
    expire 0 4.576000 a1 1144
    start 0 7 d..1. 4.600000 a1 1250 100 1256
} >small.txt
recording=small.txt
predict ftrace small.txt --format csv || fail "status $?"
[ "$(head -1 out)" = recording,algo,expiries,same_tick,within_1,within_2,missed,extra ] || fail "other columns"
row coarse-wheel 4,0.750000,1.000000,1.000000,0,1
# 1071, and 1142 from there on.
row binary-heap 4,0.250000,0.750000,1.000000,0,1
said '^coarse-wheel: small.txt: line 3: started; fires, but did not expire$'
said '^coarse-wheel: small.txt: line 8: expired, started at line 4; fires 1 tick earlier$'
said '^binary-heap: small.txt: line 13: expired, started at line 11; fires 2 ticks earlier$'
predict ftrace small.txt --format csv -a null || fail "status $?"
row null 4,0.000000,0.000000,0.000000,4,0
said '^null: small.txt: line 10: expired, started at line 1; never fires$'
# A structure that cannot hold a timer is named and left out.
predict ftrace small.txt --format csv -a simple-wheel:slots=64,binary-heap || fail "status $?"
row binary-heap 4,0.250000,0.750000,1.000000,0,1
[ "$(wc -l <out)" = 2 ] || fail "more than one row"
said '^timerlab: simple-wheel: the timer started at line 1: .*horizon'
predict ftrace small.txt -a simple-wheel:slots=64 && fail "no row, and status 0"

# A timer is started twice in the jiffy 1000, in which its wheel has already run for timer b: for 5 jiffies, and then for
# 1. The wheel has its clock at 1001: the second start expires in the slot 1002, in the recording and here. So do
# starts for 30 and 1 jiffies in 1010, and timer b of another life, whose only start comes in a jiffy that has run.
rearm() { # CPU TASK FLAGS TIME TIMER EXPIRES TIMEOUT BUCKET
    event "$2" "$1" "$3" "$4" "timer_cancel: timer=$5"
    start "$@"
}
{
    start 0 7 d..1. 3.988000 b2 999 2 1000
    expire 0 4.000000 b2 1000
    start 0 7 d..1. 4.000101 a1 1005 5 1006
    rearm 0 7 d..1. 4.000202 a1 1001 1 1002
    start 0 7 d..1. 4.000303 b2 1009 9 1010
    expire 0 4.008000 a1 1002
    expire 0 4.040000 b2 1010
    start 0 7 d..1. 4.040101 a1 1040 30 1041
    rearm 0 7 d..1. 4.040202 a1 1011 1 1012
    start 0 7 d..1. 4.040303 b2 1011 1 1012
    expire 0 4.048000 a1 1012
    expire 0 4.048010 b2 1012
    start 0 7 d..1. 4.048101 c3 1110 98 1112
    expire 0 4.448000 c3 1112
} >twice.txt
recording=twice.txt
predict ftrace twice.txt --format csv || fail "status $?"
row coarse-wheel 6,1.000000,1.000000,1.000000,0,0
row binary-heap 6,0.833333,1.000000,1.000000,0,0
# A recording too short to tell how long a jiffy is.
head -12 twice.txt >short.txt
predict ftrace short.txt && fail "HZ was told from 48 ms"
said 'give it with --hz$'
recording=short.txt
predict ftrace short.txt --hz 250 --format csv || fail "status $?"
row coarse-wheel 3,1.000000,1.000000,1.000000,0,0

# A recording that lost events says so first.
{
    head -3 twice.txt
    echo 'CPU:0 [LOST 7 EVENTS]'
    tail -n +4 twice.txt
} >lossy.txt
predict ftrace lossy.txt || fail "status $?"
head -1 err | grep -q '^warning: lossy.txt: events were lost in 1 places, 7 of them' || fail "no warning"

# A program's: what is started for no time fires in the same step of its clock.
{
    echo '1000000000 1 add 0xa timeout_us=0 events=0x0'
    echo '1000500000 1 add 0xb timeout_us=10000 events=0x0'
    echo '1001000000 1 fire 0xa what=0x1 events=0x0'
    echo '1001100000 1 add 0xc timeout_us=4000 events=0x0'
    echo '1004100000 1 fire 0xc what=0x1 events=0x0'
    echo '1012100000 1 fire 0xb what=0x1 events=0x0'
} >program.txt
recording=program.txt
predict process program.txt --format csv -a binary-heap || fail "status $?"
row binary-heap 3,1.000000,1.000000,1.000000,0,0
predict process program.txt --format csv -a binary-heap --clock-ns 1000000 || fail "status $?"
row binary-heap 3,0.000000,0.666667,1.000000,0,0

# Its library reads the clock once a round, at the latest when a callback begins: by the clock of 1,000 ms, and not of
# 1,004, 0xa is due at 1,052. Its callback begins at 1,055.9, by a clock of 1,052, so 0xb is due at 1,063: at 1,064.
{
    echo '1000000000 1 add 0xd timeout_us=- events=0x12'
    echo '1003900000 1 fire 0xd what=0x2 events=0x12'
    echo '1004200000 1 add 0xa timeout_us=50000 events=0x1'
    echo '1055900000 1 fire 0xa what=0x1 events=0x1'
    echo '1056100000 1 add 0xb timeout_us=11000 events=0x1'
    echo '1064100000 1 fire 0xb what=0x1 events=0x1'
} >rounds.txt
recording=rounds.txt
predict process rounds.txt --format csv -a binary-heap || fail "status $?"
row binary-heap 2,1.000000,1.000000,1.000000,0,0

# Three forms of the same.
if command -v jq >/dev/null; then
    predict ftrace small.txt --format json || fail "status $?"
    jq -e '.schema == 1 and (.context.command_line | length > 0)
        and ([.rows[].algo] == ["coarse-wheel", "binary-heap"])
        and (.rows[0] | .recording == "small.txt" and .expiries == 4 and .same_tick == 0.75 and .within_1 == 1
            and .within_2 == 1 and .missed == 0 and .extra == 1
            and .worst[0] == {"kind": "extra", "start_line": 3, "line": 0, "off_ticks": 0, "deferrable": false}
            and .worst[1] == {"kind": "off", "start_line": 4, "line": 8, "off_ticks": -1, "deferrable": false})' \
        out >/dev/null || fail "other JSON"
fi
predict ftrace small.txt || fail "status $?"
grep -qE '^small.txt +coarse-wheel +4 +0\.750000 +1\.000000 +1\.000000 +0 +1$' out || fail "another table"

# What cannot be done says why, and nothing is left behind.
refused() { # STATUS WHAT ARGUMENT...
    local status=0
    predict "${@:3}" || status=$?
    [ $status = "$1" ] || fail "predict ${*:3}: status $status, not $1"
    said "$2"
}
refused 2 'FORMAT and FILE are needed' ftrace
refused 2 "no import format 'ftrac'; did you mean 'ftrace'" ftrac small.txt
refused 2 'format pcap does not say when timers expired' pcap small.txt
refused 2 'clock-ns: a recording of format ftrace has' ftrace small.txt --clock-ns 5
refused 2 "no structure 'heap'" ftrace small.txt -a heap
refused 1 'nowhere.txt: cannot be opened' ftrace nowhere.txt
grep -v expire_entry small.txt >silent.txt
refused 1 'no timer expires in the recording' ftrace silent.txt
[ -z "$(ls -A tmp)" ] || fail "a file is left: $(ls -A tmp)"

# The recording that comes with timerlab, and its rows on the page.
recording=kernel-nginx.ftrace.txt.zst
predict ftrace "$SOURCE/tests/data/$recording" --format csv -a coarse-wheel,binary-heap,hier-wheel,coarse-wheel:rounding=next ||
    fail "status $?"
row coarse-wheel 45354,0.999978,0.999978,0.999978,0,0
grep -qE '^[^,]+,coarse-wheel:rounding=next,45354,0\.0[0-9]+,0\.9' out || fail "rounding=next is one tick late for short timers"
[ "$(grep -c ',45354,0\.936389,0\.938925,0\.942541,0,25$' out)" = 2 ] || fail "exact structures differ"
while IFS=, read -r _ algo rest; do
    [ "$algo" = algo ] || grep -qF "| kernel-nginx | \`$algo\` | ${rest//,/ | } |" "$SOURCE/docs/results/predicting.md" ||
        fail "docs/results/predicting.md has other figures for $algo: docs/tools/predict-table --fix"
done < <(grep -E '^[^,]+,(coarse-wheel|binary-heap),' out)
