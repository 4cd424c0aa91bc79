#!/usr/bin/env bash
# timerlab report of what `timerlab cluster` leaves: who loses timers and by which fault, how late, at
# what cost, and the pictures; and that a page of structures knows nothing of it.
# shellcheck disable=SC2016 # the backticks are the page's
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
needs jq

has() { # has FILE TEXT...: each in a line of it
    local file=$1 text
    shift
    for text; do
        grep -qF -- "$text" "$file" || fail "$file is without '$text': $(cat "$file")"
    done
}
# row KEY...: values of the simulated protocol seed-fetch, as the page writes counts below a thousand
row() {
    jq -r --arg p seed-fetch '.rows[] | select(.protocol == $p) | '"$1" found/sim.json
}

status=0
"$TIMERLAB" cluster check seed-ack lease -o found >/dev/null 2>err || status=$?
[ $status = 1 ] || fail "check: $status: $(cat err)"
"$TIMERLAB" cluster sim seed-fetch lease -n 900 -p arrivals_per_s=10 -p delay_short_share=1 -p crash_every_s=5 \
    -p restart_s=1 -o found >/dev/null 2>err || fail "sim: $(cat err)"
# What a run would leave, of which nothing depends on how fast this machine is.
cat >found/run.json <<'END'
{"schema": 1, "context": {"version": "1.0.0"}, "rows": [{"protocol": "ack-first", "engine": "redis", "status": "fault",
    "clock": "real", "started": 700, "fired": 600, "lost": 35, "early": 0, "after_stop": 2, "duplicates": 28,
    "duplicates_by": "crash 19, reply_lost 9", "late_count": 580, "late_p50_ms": 21,
    "late_p99_ms": 172, "late_max_ms": 1850, "fired_per_s": 793}]}
END
cp found/sim.csv found/run.csv

"$TIMERLAB" report found --no-pictures >/dev/null 2>err || fail "report: $(cat err)"
page=found/report.md
[ "$(head -n 1 $page)" = '# Which protocol?' ] || fail "the page is headed $(head -n 1 $page)"
has $page 'No timer was lost by `lease`. Timers were lost by ' '`seed-ack`' \
    '| `seed-ack` | 0 of 1; 1 | **1 of 3**; 1 | **4 of 8**; 1 |' '| `lease` | 0 of 1; 1 | 0 of 2; 1 | 0 of 4; 2 |' \
    '| `ack-first`, redis | 700 | 600 | 35 |  | 0 | 2 | 28 | crash 19, reply_lost 9 | 21.0 | 172 | 1,850 |' '| `ack-first`, redis | real | 793 |'
[ "$(row .lost)" -gt 0 ] || fail "the seed lost nothing, so that nothing is seen: $(jq -c '.rows[0]' found/sim.json)"
has $page "| \`seed-fetch\` | $(row .started) | $(row .fired) | $(row .lost) | $(row .lost_by) | $(row .early) |"
! grep -q 'fastest' $page || fail "a page of protocols has a fastest structure"
has found/report.html 'Which protocol?' 'cluster-check'

# Two folders, side by side.
cp -r found other
"$TIMERLAB" report found other -o both --no-pictures >/dev/null 2>err || fail "report of two: $(cat err)"
has both/report.md '| `lease` A |' '| `lease` B |' '| `ack-first`, redis B |'

if command -v gnuplot >/dev/null; then
    "$TIMERLAB" report found >/dev/null 2>err || fail "report: $(cat err)"
    cut -d, -f1 found/pictures/pictures.csv | sort | paste -sd ' ' >drawn
    [ "$(cat drawn)" = 'cluster-lateness picture' ] || fail "drawn: $(cat drawn)"
    has $page 'pictures/cluster-lateness.png'
    awk -F, 'NR > 1 && $1 == "lease" && $5 == "first" { points++ } END { exit points < 5 }' found/pictures/cluster-lateness.csv ||
        fail "lateness by path: $(cat found/pictures/cluster-lateness.csv)"
    # What is not there is not asked for.
    mkdir simulated
    cp found/sim.csv found/sim.json found/lateness.csv simulated
    "$TIMERLAB" report simulated >/dev/null 2>err || fail "report without a search: $(cat err)"
    ! grep -q check.json err || fail "it misses a search: $(cat err)"
    # Drawings of a folder that somebody else has made: only what is drawn comes into the page, each under a name of its own.
    cp -r found forged
    number=0
    for drawing in '<script>alert(1)</script>' '<g onload="alert(1)"></g>' '<a href="javascript:alert(1)"><text>x</text></a>' \
        '</svg><form action="x">' '<image href="http://example.org/x"/>' '<style>alert</style>' '<g style="fill:url(//alert)"/>' \
        '<g id=alert></g>' '<!-- alert -->' '<g fill="url(https://alert)"/>' '<animate onbegin="alert(1)"/>' '<g/><g oNload="alert(1)"/>'; do
        number=$((number + 1))
        printf '<svg xmlns="http://www.w3.org/2000/svg">%s</svg>\n' "$drawing" >"forged/pictures/forged-$number.svg"
        cp forged/pictures/cluster-lateness.csv "forged/pictures/forged-$number.csv"
        printf 'forged-%s,latency,,,,,x,y\n' "$number" >>forged/pictures/pictures.csv
    done
    "$TIMERLAB" report forged --no-pictures >/dev/null 2>err || fail "report of a forged folder: $(cat err)"
    [ "$(grep -c 'holds more than a drawing' forged/report.html)" -eq $number ] || fail "a picture with more than a drawing is shown"
    ! sed '/^<script>/,/^<\/script>/d' forged/report.html | grep -nE 'alert|example.org|<form' || fail "a drawing comes into the page with more than is drawn"
    printf '%s\n' picture,script,trace,setting_1,setting_2,setting_3,title,about ../../found/pictures/cluster-lateness,latency,,,,,x,y \
        >forged/pictures/pictures.csv
    "$TIMERLAB" report forged --no-pictures >/dev/null 2>err && fail "a picture from elsewhere is shown"
    has err 'is no name of a picture'
    "$SOURCE/plots/draw" forged/pictures 2>err && fail "a picture is drawn elsewhere"
    has err 'is no name of a picture'
fi

printf '{"rows": 7}' >other/sim.json
status=0
"$TIMERLAB" report other --no-pictures >/dev/null 2>err || status=$?
[ $status = 1 ] || fail "a damaged file ends with $status"
has err 'other/sim.json: has no rows; is it from `timerlab cluster sim -o`?'
