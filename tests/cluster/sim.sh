#!/usr/bin/env bash
# timerlab cluster sim: what it prints, keeps and refuses.
set -euo pipefail

# shellcheck source=/dev/null
. "$SOURCE/tests/cluster/expect.bash" sim

few=(-n 2000 -p delay_short_share=1 -p delay_short_s=20 -p arrivals_per_s=100)
expect 0 '^lease .* ok ' lease "${few[@]}" --calm
expect 0 '^lease_s  *60 ' --parameters
expect_protocols
expect 2 "did you mean 'lease_s'" lease -p leese_s=3
expect 2 'reply_lost_share takes .*, not .2' lease -p reply_lost_share=2
expect 2 "set by name=value" lease -p lease_s
expect 2 "coarse-wheel cannot keep a model's events" lease -a coarse-wheel
expect 1 'missing.trace' lease --trace missing.trace

# What would take hours, by its parameters or by a file of them.
expect 1 'poll_s is 0.001, which is 1.7e.11 times in the 2.6e.06 s' lease -p poll_s=0.001 \
    -p schedulers=64
expect 1 'take_poll_ms is 0.001, which is ' lease "${few[@]}" -p take_poll_ms=0.001 -p hosts=4096
expect 1 'crash_every_s is 1e-08, which is ' lease "${few[@]}" -p crash_every_s=1e-8
expect 2 'zero: it holds a zero byte, and so is no text' lease --measured /dev/zero
for timers in -5 1e300; do
    printf '{"timers": %s}' "$timers" >measured.json
    expect 2 'measured.json: timers is not from 0 to 1e.07' lease --measured measured.json
done

# The same days, whichever structure keeps the events; and files that say what was printed.
days() {
    "$TIMERLAB" cluster sim seed-ack "${few[@]}" -p crash_every_s=30 --format csv "$@" 2>/dev/null |
        cut -d, -f1,4-28
}
[ "$(days)" = "$(days -a pairing-heap)" ] || complain "another structure, other days"
[ "$(days)" != "$(days --seed 2)" ] || complain "another seed, the same days"
expect 0 'ok' seed-ack row-lock "${few[@]}" -o out
expect_files out/lateness.csv out/sim.csv out/sim.json
[ "$(wc -l <out/sim.csv)" = 3 ] || complain "not a row for each protocol"
grep -q '^row-lock,radix-heap,first,0.5,' out/lateness.csv || complain "no distribution by path"

# A trace's starts and stops are the planners'.
printf 'tick,id,op,delay\n0,0,start,1500\n0,1,start,2500\n700,1,stop,\n' >two.csv
"$TIMERLAB" trace import csv two.csv -o two.trace 2>/dev/null
"$TIMERLAB" cluster sim lease --trace two.trace --calm --format csv >said 2>/dev/null
grep -q '^lease,radix-heap,,ok,2,1,1,0,0,0,' said || complain "of a trace: $(tail -n 1 said | cut -c 1-60)"

finish
