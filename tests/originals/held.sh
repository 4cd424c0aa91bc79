#!/usr/bin/env bash
# Every structure that names an original says in what it differs from it, and is in a differential test beside it. What
# differs in nothing that a caller can notice, papers.c takes from the registry.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq
count=0
while IFS=$'\t' read -r name origin differs; do
    case $origin in
    "our own"* | "after fio's null engine") continue ;; # no original; one that is no timer structure
    esac
    count=$((count + 1))
    case $differs in
    "") complain "$name" "is after $origin, and does not say in what it differs from it" ;;
    "nothing that a caller can notice"*) ;;
    *)
        grep -qF "\"$name\"" "$SOURCE"/tests/originals/*.c ||
            complain "$name" "is after $origin, and beside no model of it in tests/originals"
        ;;
    esac
done < <("$TIMERLAB" list --format json | jq -r '.[] | [.name, .origin, .differs // ""] | @tsv')
[ "$count" -gt 30 ] || complain "timerlab list" "only $count structures with an original"
for model in "$SOURCE"/tests/originals/*.c; do
    name=$(basename "$model" .c)
    [ "$name" = original ] || grep -qF "tl_original_test($name)" "$SOURCE/tests/originals/CMakeLists.txt" ||
        complain "$model" "is not run: give it its line in CMakeLists.txt"
done
finish
