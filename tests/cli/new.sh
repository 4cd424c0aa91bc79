#!/usr/bin/env bash
# timerlab new: what it writes compiles without a warning, and times traces as the built-in
# structures do; what it must refuse, it refuses.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# refuse STATUS WORDS ARGUMENTS...: `timerlab new` ends with that status and says that, and writes
# nothing more.
refuse() {
    local wanted=$1 words=$2 status=0 before after
    shift 2
    before=$(ls -laR .)
    "$TIMERLAB" new "$@" >/dev/null 2>"$scratch/said" || status=$?
    after=$(ls -laR .)
    [ "$status" -eq "$wanted" ] || fail "new $*: exit status $status, not $wanted"
    grep -qF -- "$words" "$scratch/said" || fail "new $*: does not say '$words' but: $(cat "$scratch/said")"
    [ "$before" = "$after" ] || fail "new $*: wrote something"
}

mkdir "$scratch/here"
cd "$scratch/here"
bin=$(dirname "$TIMERLAB")
export PATH="$bin:$PATH"

timerlab trace gen server -n 50 --seconds 2 -o "$scratch/trace" 2>/dev/null

# NAME LANGUAGE FILE FOLDER CHECK...: written, built by the printed command with all warnings, held to the contract as
# far as those options have it, and replayed.
starter() {
    local name=$1 language=$2 file=$3 folder=$4 check=${*:5} commands
    commands=$("$TIMERLAB" new "$name" --language "$language" -o "$folder" 2>"$scratch/said")
    [ -f "$folder/$file" ] || fail "$name: no $folder/$file"
    grep -qF "$file is written" "$scratch/said" || fail "$name: does not say what it wrote"
    ! grep -q starter "$folder/$file" || fail "$name: still speaks of 'starter'"
    [ "$(wc -l <<<"$commands")" -eq 2 ] || fail "$name: not two commands: $commands"
    [ "$(sed -n 2p <<<"$commands" | cut -d ' ' -f 1,2)" = "timerlab check" ] ||
        fail "$name: the second command is not the check: $commands"
    # the compilers of this build, and every warning
    local warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
    sed -n 1p <<<"$commands" | sed "s|^c++|$CXX $warnings|; s|^cc|$CC $warnings|" | sh ||
        fail "$name: does not compile: $commands"
    sed -n "2s/\$/ $check/p" <<<"$commands" | sh >"$scratch/said" 2>&1 ||
        fail "$name: the check: $(cat "$scratch/said")"
    grep -q 'fuzz *ok' "$scratch/said" || fail "$name: not fuzzed: $(cat "$scratch/said")"
    "$TIMERLAB" describe --plugin "$folder/$name.so" "$name" >"$scratch/described"
    grep -q "^$name: " "$scratch/described" || fail "$name: its name is not $name"
    for drive in sleep poll; do
        "$TIMERLAB" sim "$scratch/trace" --plugin "$folder/$name.so" -a "$name,ordered-list" \
            --runs 0 --drive "$drive" --format csv 2>"$scratch/said" >"$scratch/rows" ||
            fail "$name, $drive: $(cat "$scratch/said")"
        grep -q 'exact structures fired the same timers' "$scratch/said" ||
            fail "$name, $drive: not compared with ordered-list: $(cat "$scratch/said")"
    done
}

# Of each language one is held to all cases, but under a sanitizer, of which a plug-in has nothing.
all=(--operations 50000)
fuzzed=(--case fuzz --operations 5000)
[ -z "$SANITIZE" ] || all=("${fuzzed[@]}")
starter my-wheel c my_wheel.c . "${all[@]}"
starter timer c timer.c . "${fuzzed[@]}"
starter double c++ double.cc . "${all[@]}"
starter a-set_of2 c++ a_set_of2.cc "it's a folder" "${fuzzed[@]}"

# A copy of each kind of structure: built, checked and compared with its original by the printed commands. The original
# is copied word for word but for its name, with what it includes, and fires the same timers.
for original in hier-wheel binary-heap ebtree sampling-expiry; do
    name=a-$original symbol=a_${original//-/_}
    timerlab new "$name" --from "$original" -o copies >commands 2>"$scratch/said"
    diff "$SOURCE/algos/structures/${original//-/_}.c" "copies/$symbol/$symbol.c" >changed || true
    { [ "$(grep -c '^>' changed)" -eq 2 ] && grep -qF "\"$name\"" changed; } ||
        fail "$original: the copy differs in more than its name: $(cat changed)"
    grep -q 'MIT' "copies/$symbol/LICENSE" || fail "$original: the copy has no licence"
    sed -i "s|^cc|$CC -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror|; 2s/\$/ --operations 2000/" commands
    sh -e commands >"$scratch/printed" 2>"$scratch/said" || fail "$original: $(cat "$scratch/said" "$scratch/printed")"
    [ "$original" = sampling-expiry ] || grep -q '2 exact structures fired the same timers' "$scratch/said" ||
        fail "$original: the copy is not compared with it: $(cat "$scratch/said")"
done
timerlab new --from go-heap >/dev/null 2>&1
[ -f my_go_heap/my_go_heap.c ] || fail "a copy without a name of its own"

refuse 1 'my_go_heap/my_go_heap.c exists' --from go-heap
refuse 1 'libuv cannot be copied' mine --from libuv
refuse 1 'kv-wheel cannot be copied' mine --from kv-wheel
refuse 2 "did you mean 'hier-wheel'" mine --from heir-wheel
refuse 2 'name the structure within' mine --from 'locked(go-heap)'
refuse 2 'omit --language' mine --from go-heap --language c++
refuse 1 'my_wheel.c exists' my-wheel
refuse 1 'cannot be made a folder' other -o no/such/folder
touch plain
refuse 1 'plain' other -o plain
refuse 2 'built-in structure' null
refuse 2 'lower-case words' My-Wheel
refuse 2 'lower-case words' my--wheel-
refuse 2 'lower-case words' ../wheel
refuse 2 'lower-case words' "$(printf 'a%.0s' {1..65})"
refuse 2 'which name' -o .
refuse 2 'one name at a time' one two
refuse 2 "takes c, c++ or rust, not 'ada'" one --language ada
mkdir -p mine/src && touch mine/Cargo.toml
refuse 1 'mine/Cargo.toml exists' mine --language rust
