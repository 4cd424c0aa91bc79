#!/usr/bin/env bash
# Every link of every page is there, heading included; every picture in docs/pictures is shown; every page of docs/
# is on the map; no page, and not all together, has more words than a reader has patience for. What a script or the
# program makes does not count: pages that say so at the top, and what is between two marks
# (<!-- name --> and <!-- end of name -->).
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

cd "$SOURCE"
pages=(README.md {CONTRIBUTING,CHANGELOG,SECURITY}.md tests/README.md docs/*.md docs/{guide,reference,results,internals}/*.md)

# The headings of a page as its links name them.
headings() { # PAGE
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print }' "$1" |
        tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# The targets of a page's links, one a line; code is none.
links() { # PAGE
    awk '/^```/ { code = !code } !code && !/^    / { gsub(/`[^`]*`/, ""); print }' "$1" |
        tr '\n' ' ' | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' || true
}

mapfile -d '' -t every < <(scripts/files '*.md')
for page in "${every[@]}"; do
    while read -r link; do
        case $link in
        http://* | https://*) continue ;;
        esac
        target=${link%%#*}
        file=$page
        [ -z "$target" ] || file=$(dirname "$page")/$target
        if [ ! -e "$file" ]; then
            complain "$page links to $link, which is not there"
        elif [[ $link == *'#'* ]] && ! headings "$file" | grep -qxF -- "${link#*#}"; then
            complain "$page links to $link: $file has no such heading"
        fi
    done < <(links "$page")
done

for picture in $(find docs/pictures -name '*.svg' | sed 's,^docs/,,' | sort); do
    grep -qF -- "$picture)" "${pages[@]}" || complain "docs/$picture is shown nowhere"
done
for page in docs/*/*.md; do
    [ "$page" = docs/tools/README.md ] || grep -qF -- "](${page#docs/})" docs/README.md ||
        complain "$page is not on the map, docs/README.md"
done

all=0
for page in "${pages[@]:1}"; do
    if sed -n 3p "$page" | grep -q '^Made by `\(scripts\|docs/tools\)/'; then
        continue
    fi
    words=$(sed '/^<!-- [a-z]* -->$/,/^<!-- end of [a-z]* -->$/d' "$page" | wc -w)
    [ "$words" -le 1500 ] || complain "$page has $words words, and 1,500 are what one reads to the end"
    [[ $page != docs/* ]] || all=$((all + words))
done
[ "$all" -le 35000 ] || complain "the pages of docs/ have $all words written by hand, and may have 35,000"
words=$(wc -w <README.md)
[ "$words" -le 700 ] || complain "README.md has $words words, and may have 700"
tables=$(grep -cE '^\|( *:?-+:? *\|)+$' README.md || true)
[ "$tables" -eq 1 ] || complain "README.md has $tables tables, and may have one"

finish
