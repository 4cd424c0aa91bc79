#!/usr/bin/env bash
# The rooms of the house, by the build's own commands: what a room sees lies below it, an include that
# goes up does not compile, no folder is crowded, and each room says at its door what it is for.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq

# Rooms from the lowest to the highest, as sim/CMakeLists.txt has them; those within a room stand
# behind it.
rooms=()
list() { # list FOLDER
    local name
    while read -r name; do
        rooms+=("$1/$name")
        list "$1/$name"
    done < <(sed -n 's/^add_subdirectory(\([a-z]*\))$/\1/p' "$SOURCE/$1/CMakeLists.txt")
}
list sim
[ ${#rooms[@]} -gt 14 ] || complain "only ${#rooms[@]} rooms found"

declare -A flags # what is included from where, in each room
while IFS=$'\t' read -r folder included; do
    flags[$folder]=$included
done < <(jq -r --arg root "$SOURCE/" 'map({key: .file | ltrimstr($root) | sub("/[^/]*$"; ""),
    value: [.command | scan("-I ?([^ ]+)") | "-I" + .[0]] | join(" ")}) | from_entries |
    to_entries[] | [.key, .value] | @tsv' "$BUILD/compile_commands.json")
declare -A first # a header of each
for room in "${rooms[@]}"; do
    headers=("$SOURCE/$room"/*.h)
    [ ! -f "${headers[0]}" ] || first[$room]=${headers[0]##*/}
done

# preprocess ROOM: as a source of that room.
preprocess() {
    local -a own
    read -ra own <<<"${flags[$1]}"
    "$CC" -std=c17 -D_GNU_SOURCE "${own[@]}" -I"$SOURCE/$1" -E -P -x c - 2>&1
}

up=0
down=0
for ((i = 0; i < ${#rooms[@]}; i++)); do
    room=${rooms[i]}
    [[ -v flags[$room] ]] || { complain "$room: nothing in it is compiled" && continue; }
    asked=
    below=
    for ((j = 0; j < ${#rooms[@]}; j++)); do
        header=${first[${rooms[j]}]-}
        if [ "$i" = "$j" ] || [ -z "$header" ]; then
            continue
        elif [[ " ${flags[$room]} " != *" -I$SOURCE/${rooms[j]} "* ]]; then
            printf -v asked '%s#if __has_include("%s")\nmay include %s\n#endif\n' "$asked" "$header" "${rooms[j]}/$header"
            up=$((up + (j > i)))
        elif [ "$j" -gt "$i" ]; then
            complain "$room: sees ${rooms[j]}, which stands above it"
        else
            printf -v below '%s#include "%s"\n' "$below" "$header"
            down=$((down + 1))
        fi
    done
    while read -r line; do
        complain "$room: $line, though it does not link it"
    done < <(preprocess "$room" <<<"$asked")
    said=$(preprocess "$room" <<<"$below") || complain "$room: cannot include what it links: $said"
    page=$SOURCE/$room/README.md
    [ -f "$page" ] || page=$SOURCE/${room%/*}/README.md
    if [ ! -f "$page" ] || [ "$(wc -l <"$page")" -gt 30 ]; then
        complain "$room: no page at its door (README.md), or one of more than 30 lines"
    fi
done

# "May use" in a room's README lists what its sources can include.
while IFS=$'\t' read -r room used; do
    line=$(sed -n 's/^[*][*]May use[*][*]: \([a-z, ]*\)[.].*/\1/p' "$SOURCE/$room/README.md")
    [ "$line" = "$used" ] || complain "$room/README.md: May use: '$line', and the build lets it use '$used'"
done < <(jq -r --arg root "$SOURCE/" 'def room: capture("^(?<room>algos|sim/[a-z]+)(/|$)").room;
    [.[] | {room: (.file | ltrimstr($root) | room? // empty),
        used: ([.command | scan("-I ?([^ ]+)") | .[0] | ltrimstr($root) | room?])} | select(.room | startswith("sim/"))]
    | group_by(.room)[] | .[0].room as $own
    | [$own, ([.[].used[] | select(. != $own) | ltrimstr("sim/")] | unique | join(", ") | if . == "" then "nothing" else . end)] | @tsv' \
    "$BUILD/compile_commands.json")

# A quoted path gets past what a room is shown.
if grep -rnE '#include "\.\./' "$SOURCE/algos" "$SOURCE/sim" "$SOURCE/bench" --include='*.[ch]' --include='*.cc' >&2; then
    complain "an include climbs out of its room"
fi

# Collections of like things are not crowded, however many there are.
while read -r count folder; do
    case ${folder#"$SOURCE/"} in
    algos/structures | tests/wrong | tests/data* | tests/fuzz*) ;;
    *) [ "$count" -le 30 ] || complain "${folder#"$SOURCE/"}: $count files" ;;
    esac
done < <(find "$SOURCE"/{algos,sim,bench,tests} -type f -printf '%h\n' | sort | uniq -c)

printf '%d rooms; %d includes upward refused, %d downward taken\n' ${#rooms[@]} "$up" "$down"
((up > 50 && down > 30)) || complain "too few includes were tried"
finish
