#!/usr/bin/env bash
# Spelling: codespell finds no misspelt word in code, scripts and pages. Words that it takes for others are in the list
# below; data, and lines that misspell on purpose to test "did you mean", are skipped.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
needs codespell
cd "$SOURCE"

words=upto,crate,alikes,keep-alives,nam,nd
purpose='(chek|idel|conections|unifrom|whell|secnds)'
scripts/files '*.c' '*.h' '*.cc' '*.md' '*.sh' '*.txt' '*.cmake' '*.awk' '*.gp' '*.jq' 'scripts/*' 'docs/tools/*' |
    grep -zvE '^(tests/data|tests/fuzz/corpus|docs/pictures)/' |
    xargs -0 codespell --ignore-words-list "$words" --ignore-regex "$purpose" >"$scratch/found" 2>"$scratch/log" ||
    [ -s "$scratch/found" ] || fail "codespell failed: $(cat "$scratch/log")"
while read -r line; do
    complain "$line"
done <"$scratch/found"
finish
