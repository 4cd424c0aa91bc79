#!/usr/bin/env bash
# loops.sh [CONNECTIONS [TIMES [LOOP...]]]: the loops of docs/examples on exported timers, under real
# connections, recorded, and held to the oracle. Of CONNECTIONS (200, a multiple of four) a quarter falls to
# each of two timeouts, and a half ends by the peer: by themselves, or killed. 10,000 at once:
#
#     TIMERLAB=build/release/timerlab SOURCE=. CC=cc bash tests/record/loops.sh 10000 10
#
# TIMES (1): so many times longer timeouts. LOOP: of those below; all of them, if none is given.
set -euo pipefail
connections=${1:-200} times=${2:-1}
shift $(($# < 2 ? $# : 2))
chosen=("$@")
TIMERLAB=$(realpath "$TIMERLAB") SOURCE=$(realpath "$SOURCE")
scratch=$(mktemp -d)
# What is left running where it fails.
trap 'jobs -p | xargs -r kill 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"
examples=$SOURCE/docs/examples

# name, file, library, header that shows it is there, package
loops='
    epoll-timerfd  loop-epoll-timerfd.c  -               stdio.h           -
    epoll-timeout  loop-epoll-timeout.c  -               stdio.h           -
    io-uring       loop-io-uring.c       -luring         liburing.h        liburing-dev
    libuv          loop-libuv.c          -luv            uv.h              libuv1-dev
    libevent       libevent-server.c     -levent_core    event2/event.h    libevent-dev
'
if ! command -v python3 >/dev/null; then
    echo "skipped: the clients need python3" >&2
    exit 77
fi
"$TIMERLAB" export hier-wheel --prefix timers -o timers
# In a shared object of their own, whose calls the recorder sees.
"$CC" -O2 -shared -fPIC timers/timers.c -o libtimers.so
flags=(-std=gnu17 -O2 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -DEXPORTED -Itimers)

# serve NAME TIMES: records the server under the clients. Not 0: they were not content, as happens to those that
# get no turn for as long as a timeout.
serve() {
    local recorded port good=0
    "$TIMERLAB" record -o "$1.rec" -- "./$1" 0 "$2" >"$1.out" 2>"$1.err" &
    recorded=$!
    until grep -q port "$1.out"; do
        kill -0 "$recorded" 2>/dev/null || return 2
        sleep 0.05
    done
    port=$(sed -n 's/port //p' "$1.out")
    python3 "$examples/echo-clients.py" "$port" "$connections" 0.5 "$2" >"$1.clients" 2>&1 || good=1
    kill "$recorded"
    wait "$recorded" || return 2
    return "$good"
}

# is NAME COUNTER VALUE: what the import has counted
is() {
    local got
    got=$(tr -s ' ' '\n' <"$1.counts" | grep -m 1 -A1 -x "$2" | tail -n 1)
    [ "$got" = "$3" ] || { echo "$1: $2 is $got, not $3"; return 1; }
}

try_loop() {
    local status=0 quarter=$((connections / 4))
    serve "$1" "$times" || status=$?
    if [ "$status" = 1 ]; then
        serve "$1" "$((4 * times))" && status=0 || status=$?
    fi
    if [ "$status" = 2 ] && grep -q '^no io_uring' "$1.err"; then
        echo "$1: skipped: $(grep '^no io_uring' "$1.err")"
        return 0
    fi
    cat "$1.out"
    [ "$status" = 0 ] || { cat "$1.clients" "$1.err"; return 1; }
    grep -q "^$connections accepted; idle $quarter, request $quarter, .* ended by the peer $((2 * quarter))\$" \
        "$1.out" || return 1
    "$TIMERLAB" trace import process "$1.rec" -o "$1.trace" 2>"$1.counts" || { cat "$1.counts"; return 1; }
    is "$1" malformed_records 0
    is "$1" expiry_unknown 0 # fired, but not pending, or a second time
    # libuv and libevent have one timer left, which counts from a clock that lags.
    [[ $1 == lib* ]] || is "$1" expiry_early 0
    [[ $1 == lib* ]] || is "$1" armed_at_end 0
    "$TIMERLAB" predict process "$1.rec" -a hier-wheel --format csv 2>/dev/null >"$1.predicted"
    missed=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "missed") at = i } NR == 2 { print $at }' "$1.predicted")
    [ "$missed" = 0 ] || { echo "$1: a structure fires $missed of what expired at no time"; return 1; }
    "$TIMERLAB" sim "$1.trace" -a hier-wheel --runs 0 >"$1.sim" || { cat "$1.sim"; return 1; }
}

while read -r name file library header package; do
    if [ -z "$name" ] || { [ ${#chosen[@]} -gt 0 ] && [[ " ${chosen[*]} " != *" $name "* ]]; }; then
        continue
    fi
    if ! echo "#include <$header>" | "$CC" -fsyntax-only -x c - 2>/dev/null; then
        echo "$name: skipped: $package is missing"
        continue
    fi
    lines=$(wc -l <"$examples/$file")
    [ "$lines" -lt 200 ] || { echo "$file has $lines lines"; exit 1; }
    libraries=(-L. -ltimers "-Wl,-rpath,$scratch")
    [ "$library" = - ] || libraries+=("$library")
    "$CC" "${flags[@]}" "$examples/$file" "${libraries[@]}" -o "$name"
    echo 1 >"$name.status"
    (
        set +e
        (
            set -e
            try_loop "$name"
        ) >"$name.log" 2>&1
        echo $? >"$name.status"
    ) &
    [ "$connections" -le 1000 ] || wait $! # many have the machine for themselves
done <<<"$loops"
wait
tail -n +1 -- *.log
! grep -qvx 0 -- *.status
