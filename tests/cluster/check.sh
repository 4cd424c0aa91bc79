#!/usr/bin/env bash
# timerlab cluster check: what it prints, keeps and refuses.
set -euo pipefail

# shellcheck source=/dev/null
. "$SOURCE/tests/cluster/expect.bash" check

expect 0 '^lease  .* 13276 .* ok$' lease
expect 0 '^owners  *later.crash.outrun .* ok$' owners
expect 1 '^  second 2  scheduler 1: crash$' seed-ack --crashes 1
expect 1 '^ack-first,as given,157,4,2,1,1,11,loses$' ack-first --crashes 1 --format csv
expect_protocols
expect 2 'from 0 to 3|0 to 3' lease --crashes 4
drive='' expect 2 "did you mean 'check'" chek

expect 1 'loses' ack-first --crashes 1 -o out
expect_files out/check.csv out/check.json out/runs.csv
[ "$(grep -c '^ack-first,as given,' out/runs.csv)" = 11 ] || complain "the losing run has other steps: $(cat out/runs.csv)"
# The files of an earlier run are replaced.
expect 0 'ok' lease --crashes 1 -o out
[ "$(wc -l <out/runs.csv)" = 1 ] || complain "an earlier run's steps are left"

finish
