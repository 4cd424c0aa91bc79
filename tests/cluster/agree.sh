#!/usr/bin/env bash
# The three drives of the one table agree: what loses a timer with crashes does so in the search, in the model and for
# real; what does not, does not in any of them.
set -euo pipefail

# shellcheck source=/dev/null
. "$SOURCE/tests/cluster/expect.bash" ""

# agree STATUS PROTOCOL WHAT ARGUMENT...: whether something was lost.
agree() {
    local wanted=$1 protocol=$2 lost=0
    shift 2
    "$TIMERLAB" cluster "$1" "$protocol" "${@:2}" --format csv >said 2>/dev/null || true
    lost=$(value "$([ "$1" = check ] && echo lost_ends || echo lost)")
    case $wanted in
    keeps) [ "$lost" = 0 ] || complain "$protocol lost '$lost' in $1" ;;
    loses) [ "${lost:-0}" -gt 0 ] || complain "$protocol lost nothing in $1" ;;
    esac
}

engine=yes
no_redis && engine=no
for row in keeps:lease loses:ack-first loses:seed-fetch loses:seed-ack; do
    agree "${row%:*}" "${row#*:}" check --engine search --crashes 1
    agree "${row%:*}" "${row#*:}" sim -n 5000 --calm -p scan=0 -p arrivals_per_s=20 -p delay_short_share=1 \
        -p crash_every_s=20 -p restart_s=1 -p lease_s=5
    if [ "$engine" = yes ]; then
        agree "${row%:*}" "${row#*:}" run -n 1000 --kills 20 --seed 3
    fi
done

[ "$engine" = yes ] || finish 77
finish
