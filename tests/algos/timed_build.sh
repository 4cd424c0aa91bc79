#!/usr/bin/env bash
# The objects of the structures that are timed are what they would be had nobody ever counted anything:
# each source is compiled once more by the build's own command, with every TL_COUNT(...) taken out of
# the text, and must come out as the same machine code.
# shellcheck disable=SC2153 # SOURCE is of the environment
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

[ -z "$SANITIZE" ] || skip "nothing is timed under sanitizers"
needs jq objdump

# Takes out each TL_COUNT with its arguments, but where it is defined. Lines stay lines.
mkdir "$scratch/algos"
for file in "$SOURCE"/algos/*.h "$SOURCE"/algos/*/*.[ch]; do
    awk '
        /^ *#define TL_COUNT\(/ || /^ \*/ || /^\/\*/ { print; next }
        {
            text = $0
            kept = ""
            while (depth > 0 || (at = index(text, "TL_COUNT(")) > 0) {
                if (depth == 0) {
                    kept = kept substr(text, 1, at - 1)
                    text = substr(text, at + 9)
                    depth = 1
                }
                for (i = 1; i <= length(text) && depth > 0; i++) {
                    c = substr(text, i, 1)
                    depth += (c == "(") - (c == ")")
                }
                text = substr(text, i)
                if (depth > 0) { break }
                sub(/^, /, "", text) # where it stood before a comma operator
            }
            print kept text
        }' "$file" >"$scratch/algos/${file##*/}"
done

code() {
    objdump -d "$1" | sed '1,/^Disassembly/d'
}

counting=0
seen=0
while IFS=$'\t' read -r source object folder command; do
    name=${source##*/}
    # The compiler's command with another source and another object, in the same folder.
    command=${command%% -o *}
    (cd "$folder" && eval "$command" -w -o "$scratch/plain.o" -c "$scratch/algos/$name")
    if ! diff <(code "$folder/$object") <(code "$scratch/plain.o") >"$scratch/difference"; then
        printf '%s: the timed object is not that of the source without counters:\n' "$name" >&2
        head -n 20 "$scratch/difference" >&2
        exit 1
    fi
    # That this can fail shows in the build that counts.
    if grep -q 'TL_COUNT(' "$source" &&
        ! cmp -s <(code "$folder/${object/_timed.dir/_counted.dir}") <(code "$scratch/plain.o"); then
        counting=$((counting + 1))
    fi
    seen=$((seen + 1))
done < <(jq -r '.[] | select(.output // .command | contains("_timed.dir/"))
    | [.file, (.output // (.command | capture(" -o (?<o>[^ ]*)").o)), .directory, .command] | @tsv' \
    "$BUILD/compile_commands.json")

printf '%d structures, %d of which count in the other build\n' "$seen" "$counting"
[ "$seen" -gt 20 ] && [ "$counting" -gt 15 ]
