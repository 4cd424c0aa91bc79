#!/usr/bin/env bash
# What a person reads is in plain words: messages and help, pages, scripts and comments have none of those in words.txt,
# and pages no sentence of more than 35 words. A room that is not there yet has its limit in words-limits.txt.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
here=$SOURCE/tests/scripts
found=$scratch/found

# lint FILE...: the words in the files, in the order of files and lines.
lint() {
    awk -v "list=$here/words.txt" -f "$here/words.awk" "$@"
}

# Each kind of text is read, and each word found on its line; code is not read.
mkdir bad
cat >bad/text.c <<'C'
/* Rows behind the
 * first; told twice. */
static const char *const nobody = "so "
                                  "many"; // anew
C
cat >bad/page.md <<'PAGE'
Rows stand
in a table `behind`.

    nobody
```
nobody
```
One two three four five six seven eight nine ten one two three four five six seven eight nine twenty one two three four
five six seven eight nine thirty one two three four five six.
PAGE
cat >bad/script <<'SCRIPT'
# That is left
# out.
SCRIPT
lint bad/* | sed 's/: write .*//' >found_bad
cat >expected <<'FOUND'
docs	bad/page.md:1: "stand in"
docs	bad/page.md:8: a sentence of 36 words
scripts	bad/script:1: "left out"
comments	bad/text.c:1: "behind"
comments	bad/text.c:2: "told"
messages	bad/text.c:3: "so many"
comments	bad/text.c:4: "anew"
FOUND
diff expected found_bad || fail 'words are not found where they are'

cd "$SOURCE"
mapfile -t files < <(find algos sim bench tests -name '*.[ch]' -o -name '*.cc' -o -name '*.js' -o -name '*.in'
    find . \( -name '.?*' -o -name build -o -path ./results \) -prune -o -name '*.md' -print | sed 's,^\./,,'
    grep -lI '^#!.*sh$' scripts/* docs/tools/* plots/*)
[ ${#files[@]} -gt 500 ] || fail "only ${#files[@]} files"
lint "${files[@]}" >"$found"

# A room: a folder, or a folder of one of the large folders.
awk -F '\t' '
    FNR == NR { if ($0 !~ /^#/) limit[$1, $2] = $3; next }
    $1 == "messages" && $2 ~ /^tests\// { next }
    {
        parts = split($2, part, "/")
        room = parts == 1 ? "." : parts > 2 && part[1] ~ /^(algos|sim|docs|tests)$/ ? part[1] "/" part[2] : part[1]
        count[$1, room]++
        text[$1, room] = text[$1, room] $1 " " $2 "\n"
    }
    END {
        for (zone in count)
            if (count[zone] > limit[zone]) {
                split(zone, name, SUBSEP)
                printf "%s%s of %s: %d, allowed are %d\n", text[zone], name[1], name[2], count[zone], limit[zone]
                bad = 1
            }
        exit bad
    }' "$here/words-limits.txt" "$found" || fail 'words that are not plain'
