#!/usr/bin/env bash
# The structure in timerlab.h's first comment compiles as it is there, and passes the check.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

sed -n '/^ \*   #include <timerlab.h>$/,/count = scan_count};$/s/^ \* \{0,3\}//p' "$SOURCE/algos/timerlab.h" >scan.c
lines=$(wc -l <scan.c)
{ [ "$lines" -gt 30 ] && [ "$lines" -le 65 ]; } || fail "the example has $lines lines"
"$CC" -std=c17 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -I"$SOURCE/algos" scan.c -o scan.so
operations=20000
[ -z "$SANITIZE" ] || operations=2000
"$TIMERLAB" check --plugin ./scan.so -a scan --operations $operations >said 2>&1 || fail "the check: $(cat said)"
grep -q 'fuzz *ok' said || fail "not fuzzed: $(cat said)"
