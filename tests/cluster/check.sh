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
expect_files out/check.csv out/check.json out/runs/ack-first-as-given.csv \
    out/runs/ack-first-as-given.svg
[ "$(wc -l <out/runs/ack-first-as-given.csv)" = 12 ] || complain "the run's data have other lines"
grep -q '<svg' out/runs/ack-first-as-given.svg || complain "the picture is none"
# What was there of an earlier run goes.
expect 0 'ok' lease --crashes 1 -o out
[ ! -e out/runs ] || complain "an earlier run's pictures are left"

finish
