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
expect 2 'reply_lost_share=2 is not usable; it takes 0 to 1' lease -p reply_lost_share=2
expect 2 "'lease_s' is not of the form parameter=value" lease -p lease_s

# The same seed, the same days; and files that say what was printed.
days() {
    "$TIMERLAB" cluster sim seed-ack "${few[@]}" -p crash_every_s=30 --format csv "$@" 2>/dev/null |
        cut -d, -f1-26
}
[ "$(days)" = "$(days)" ] || complain "the same seed, other days"
[ "$(days)" != "$(days --seed 2)" ] || complain "another seed, the same days"
expect 0 'ok' seed-ack lease "${few[@]}" -o out
expect_files out/lateness.csv out/sim.csv out/sim.json
[ "$(wc -l <out/sim.csv)" = 3 ] || complain "not a row for each protocol"
grep -q '^lease,first,0.5,' out/lateness.csv || complain "no distribution by path"

finish
