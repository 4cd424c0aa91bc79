#!/usr/bin/env bash
# timerlab new --language rust: timerlab.rs declares what timerlab.h declares, byte for byte; what is built from the
# project is right, and counts the same work and memory as the starter in C, which does the same.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# Debian's before any other: the oldest that it is for.
export PATH="${TIMERLAB%/*}:/usr/bin:$PATH"
needs rustc cargo jq

timerlab new in-rust --language rust -o "it's a folder" >commands 2>said
grep -qF 'in_rust/src/lib.rs is written' said || fail "says not what it wrote: $(cat said)"
project="it's a folder/in_rust"
! grep -r starter "$project" || fail "it still speaks of 'starter'"
[ "$(wc -l <commands)" -eq 2 ] || fail "not two commands: $(cat commands)"

# --- the contract --------------------------------------------------------------------------------

# What is in the header, read from it alone: "struct member" of each, and the names of all values.
header=$SOURCE/algos/timerlab.h
sed -z 's,/\*\([^*]\|\*[^/]\)*\*/,,g' "$header" >bare.h
awk '
    /^struct [a-z_]+ \{$/ { struct = $2 }
    /^\};$/ { struct = "" }
    struct != "" && match($0, /\(\*[a-z_]+\)/) { print struct, substr($0, RSTART + 2, RLENGTH - 3); next }
    struct != "" && match($0, /[a-z_0-9]+;/) { print struct, substr($0, RSTART, RLENGTH - 1) }' bare.h >members
{
    sed -nE 's/^#define (TL_[A-Z_]+) +[0-9(U].*/\1/p' bare.h
    grep -oE '\<X\(TL_[A-Z_]+' bare.h | sed 's/X(//'
} >values
[ "$(cut -d ' ' -f 1 members | uniq | wc -l)" -gt 10 ] || fail "few structs: $(cat members)"
grep -qx 'tl_algo durability' members || fail "no last hook: $(cat members)"
grep -qx 'TL_ERR_DISK_FULL' values || fail "no last status: $(cat values)"

# Both programs say the size of each struct, the place and size of each member, and each value.
{
    printf '#include "timerlab.h"\n#include <stdio.h>\nint main(void)\n{\n'
    cut -d ' ' -f 1 members | uniq | sed 's/.*/printf("& %zu\\n", sizeof(struct &));/'
    sed -E 's/(.*) (.*)/printf("\1.\2 %zu %zu\\n", offsetof(struct \1, \2), sizeof(((struct \1 *)0)->\2));/' members
    sed 's/.*/printf("& %llu\\n", (unsigned long long)(&));/' values
    echo '}'
} >layout.c
{
    printf '#[path = "%s/src/timerlab.rs"]\nmod timerlab;\nuse timerlab::*;\n' "$PWD/$project"
    # shellcheck disable=SC2016 # $ is Rust's
    echo 'fn bytes<T>(_: *const T) -> usize { std::mem::size_of::<T>() }
        macro_rules! member { ($struct:ident, $member:ident) => {
            let whole = std::mem::MaybeUninit::<$struct>::uninit();
            let part = unsafe { std::ptr::addr_of!((*whole.as_ptr()).$member) };
            let place = part as usize - whole.as_ptr() as usize;
            println!("{}.{} {} {}", stringify!($struct), stringify!($member), place, bytes(part));
        } }
        fn main() {'
    cut -d ' ' -f 1 members | uniq | sed 's/.*/println!("& {}", std::mem::size_of::<&>());/'
    sed -E 's/(.*) (.*)/member!(\1, \2);/' members
    sed 's/.*/println!("& {}", & as u64);/' values
    echo '}'
} >layout.rs
"$CC" -std=c17 -I"$SOURCE/algos" layout.c -o in_c
rustc --edition 2021 layout.rs -o in_rust 2>said || fail "the contract is not whole: $(cat said)"
./in_c >c.txt
./in_rust >rust.txt
diff c.txt rust.txt >said || fail "in C (<) it is not as in Rust (>): $(cat said)"

# --- what is built -------------------------------------------------------------------------------

check=(--operations 50000)
[ -z "$SANITIZE" ] || check=(--case fuzz --operations 5000)
RUSTFLAGS='-D warnings' sh -e <(sed -n 1p commands) >said 2>&1 || fail "it does not compile: $(cat said)"
sh -e <(sed "1d; s/\$/ ${check[*]}/" commands) >said 2>&1 || fail "the check: $(cat said)"
grep -q 'fuzz *ok' said || fail "not fuzzed: $(cat said)"
! grep -qw fault said || fail "$(cat said)"
nm -D --defined-only "$project/target/release/libin_rust.so" | awk '{ print $3 }' >names
[ "$(cat names)" = timerlab_algo ] || fail "other names are seen outside: $(cat names)"

# With counters, beside the same in C.
timerlab new in-c 2>/dev/null | sed -n '1s/ -shared/ -DTL_COUNTERS&/p' | sed "s|^cc|$CC|" | sh
sed -n '1s/--release/& --features counters/p' commands | sh -e >said 2>&1 || fail "with counters: $(cat said)"
timerlab trace gen server -n 50 --seconds 2 -o trace 2>/dev/null
timerlab sim trace --plugin "$project/target/release/libin_rust.so" --plugin ./in-c.so -a in-rust,in-c \
    --runs 0 --format json 2>said >rows.json || fail "$(cat said)"
# shellcheck disable=SC2016 # $ is jq's
same='.rows[] | select(.algo == $name) |
    [.status, .fired, .n_compares, .n_moves, .n_allocs, .bytes_per_timer]'
jq -c --arg name in-rust "$same" rows.json >rust.txt
jq -c --arg name in-c "$same" rows.json >c.txt
jq -e '.[0] == "ok" and ([.[2, 3, 5] > 0] | all)' rust.txt >/dev/null || fail "nothing is counted: $(cat rust.txt)"
diff c.txt rust.txt >said || fail "in C (<) it counts otherwise than in Rust (>): $(cat said)"
