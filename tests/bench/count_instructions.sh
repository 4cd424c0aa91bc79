#!/usr/bin/env bash
# scripts/count-instructions: by programs that the test plays, what it makes of counts that are known, and
# all that it says; then, where valgrind is, that two runs count the same.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq
logs=(out log)
# counts STATUS ARGUMENTS...
counts() {
    local wanted=$1 status=0
    shift
    scripts/count-instructions "$@" >out 2>log || status=$?
    [ "$status" -eq "$wanted" ] || fail "'$*' ends with $status"
}
says() { grep -qF -- "$1" out log || fail "it does not say '$1'"; }

# Where it lies is where its file is.
mkdir -p scripts tests/data build/release/bench played
cp "$SOURCE/scripts/count-instructions" scripts
reference=tests/data/instruction-counts.csv
bench=build/release/bench/timerlab-bench

# With less than it needs.
counts 1 -a quick
says 'timerlab-bench is not there: cmake --preset release'
mkdir bare
for tool in bash env dirname realpath jq cat; do
    ln -s "$(command -v "$tool")" bare
done
PATH=$scratch/bare counts 1 -a quick
says 'needs valgrind: scripts/setup --dev installs it'
PATH=$scratch/bare counts 77 --check
says 'needs valgrind'
counts 2 -f xml
counts 2 --check -n 100
counts 2 -s

# A program with eleven suites, whose last two are of other forms, and a valgrind that counts for each row as
# many instructions an operation as `cost` says, and 100 for the second suite.
cat >"$bench" <<'END'
#!/usr/bin/env bash
if [ "$1" = --list-suites ]; then
    printf 'suite%s\n  measures  something\n' 1 2 3 4 5 6 7 8 9 10 11
    exit
fi
for ((i = 1; i <= $#; i++)); do
    case ${!i} in
    -a) ((++i)) && name=${!i} ;;
    --benchmark_filter=*) filter=${!i#*=} ;;
    esac
done
[ "$name" != wrong ] || { echo "timerlab-bench: unknown structure 'wrong'" >&2 && exit 2; }
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    row=suite$i/$name/n:10/manual_time
    [ $i -lt 10 ] || row=suite$i/$name/n:10/jump:9/touch:x/manual_time
    [[ ! $row =~ $filter ]] || echo "$row"
done | jq -nR --arg name "$name" --rawfile compiler "${BASH_SOURCE[0]%/*}/compiler" '
    {context: {compiler: ($compiler | rtrimstr("\n")), flags: "-O3"}, benchmarks: [inputs | {run_name: .}
        + if $name == "refused" and startswith("suite3") then {error_occurred: true, error_message: "too far"} else {} end]}'
END
echo 'CC 1' >build/release/bench/compiler
cat >build/release/timerlab <<'END'
#!/usr/bin/env bash
echo '[{"name": "quick", "capabilities": ["exact"]}, {"name": "lame", "capabilities": ["slow"]}]'
END
cat >played/valgrind <<'END'
#!/usr/bin/env bash
here=$(dirname "${BASH_SOURCE[0]}")
while [[ $1 == --* ]]; do
    [[ $1 != --callgrind-out-file=* ]] || file=${1#*=}
    shift
done
rows=$("$@") || exit
printf '%s\n' "$rows"
number=0
for row in $(jq -r '.benchmarks[] | select(.error_occurred | not) | .run_name' <<<"$rows"); do
    number=$((number + 1))
    instructions=$(cat "$here/cost")
    [[ $row != suite2/* ]] || instructions=100
    [ ! -e "$here/deaf" ] || continue
    printf '%s\n' 'desc: Trigger: Client Request: 200 operations' \
        'events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim' \
        "totals: $((instructions * 200)) 9 9 9 $((number * 200)) 50 9 1 1 9 30 9 7" >"${file/\%p/321}.$number"
done
printf 'desc: Trigger: Program termination\ntotals: 5\n' >"${file/\%p/321}"
END
chmod +x "$bench" build/release/timerlab played/valgrind
echo 40 >played/cost
PATH=$scratch/played:$PATH

# The rows, in their order, also past nine of them: what is counted, by the operations.
all=suite1,suite2,suite3,suite4,suite5,suite6,suite7,suite8,suite9,suite10,suite11
counts 0 -s $all -a quick -f csv
[ "$(wc -l <out)" -eq 12 ] || fail "not eleven rows"
says 'op,algo,n,operations,instructions_per_op,d1_misses_per_op,ll_misses_per_op,branch_misses_per_op'
says 'suite1,quick,10,200,40,1.25,0.01,0.185'
says 'suite2,quick,10,200,100,2.25,0.01,0.185'
says 'suite11/jump:9/touch:x,quick,10,200,40,11.25,0.01,0.185'
counts 0 -s suite1 -a quick:slots=2 -a quick,quick
[ "$(wc -l <out)" -eq 3 ] || fail "what is named twice is not one row"
says 'quick:slots=2'
counts 2 -s suite1,suite12
says "there is no suite 'suite12'"
counts 1 -s suite1 -a wrong
says "unknown structure 'wrong'"
says 'wrong: could not be measured'
counts 0 -s suite1,suite3 -a refused
says 'suite3/refused/n:10/manual_time: too far'
sed -i 's/suites=(start restart stop expire)/suites=(suite1)/' scripts/count-instructions
counts 0
says 'quick'
says 'skipped, since they declare themselves slow and would take minutes: lame'
touch played/deaf
counts 1 -s suite1 -a quick
says "quick: nothing was counted: timerlab-bench was built without valgrind's headers"
rm played/deaf

# The reference: written, held to, renewed.
counts 1 --check
says "$reference is not there: --fix writes it"
counts 0 --fix -s suite1,suite2 -a quick,other
[ "$(head -n 1 "$reference")" = "# CC 1, -O3, $(uname -m)" ] || fail "the file does not say what it is of"
counts 0 --check
says '4 rows are as in'
sed -i 's/^suite1,quick,10,200,40,1.25/suite1,quick,10,200,39.3,1.21/' "$reference"
counts 0 --check
sed -i 's/,39.3,/,39.1,/' "$reference"
counts 1 --check -a quick
says 'suite1 of quick: 40 instructions an operation, where the reference has 39.1: MORE'
says 'if that is meant, scripts/count-instructions --fix writes the reference again'
counts 0 --check -a other
says '2 rows are as in'
counts 0 --fix
counts 0 --check
sed -i 's/^suite1,quick,10,200,40,1.25/suite1,quick,10,200,40,1.1/' "$reference"
counts 1 --check
says 'suite1 of quick: 1.25 misses of the first cache an operation, where the reference has 1.1: MORE'
counts 0 --fix -a quick
echo 20 >played/cost
counts 0 --check
says 'suite1 of other: 20 instructions an operation, where the reference has 40: less'
counts 0 --fix -s suite1 -a quick,more
printf '%s\n' suite1,quick,10,200,20 suite2,quick,10,200,100 suite1,other,10,200,40 suite2,other,10,200,100 \
    suite1,more,10,200,20 >wanted
sed '1,2d' "$reference" | cut -d , -f 1-5 | diff wanted - >out || fail "not one row renewed and one added"
sed -i 's/^suite1,other,10,200,40/suite1,other,10,200,20/' "$reference" wanted
counts 0 --check
counts 1 --check -s suite2 -a more
says "$reference has none of these rows"
echo 'suite3,refused,10,200,40,1,0,0' >>"$reference"
counts 1 --check -s suite3 -a refused
says 'no row was measured'
counts 1 --check -s suite1,suite3 -a refused
says 'suite3 of refused: was not measured'
counts 0 --fix
cut -d , -f 1-5 "$reference" | sed '1,2d' | diff wanted - >out || fail "not the same rows, without the one that is no more"

# By another compiler no comparison, and none is mixed in.
echo 'CC 2' >build/release/bench/compiler
counts 77 --check
says "built with 'CC 2, -O3, $(uname -m)', and the reference is of 'CC 1, -O3, $(uname -m)': not to be compared"
counts 1 --fix -a quick
says 'only --fix alone'
counts 0 --fix
counts 0 --check
PATH=${PATH#*:}

# And in earnest.
[ -z "$SANITIZE" ] || exit 0
command -v valgrind >/dev/null || exit 0
echo '#include <valgrind/callgrind.h>' | "$CC" -E - >log 2>&1 || exit 0
cp "$SOURCE/scripts/count-instructions" scripts
export TIMERLAB_BUILD=$BUILD
if ! counts 0 -s start -a binary-heap -n 100 -f csv && grep -q SIGILL log; then exit 0; fi
mv out first
counts 0 -s start -a binary-heap -n 100 -f csv
diff first out >log || fail "two runs differ"
awk -F , 'NR == 2 && $1 == "start" && $2 == "binary-heap" && $3 == 100 && $5 > 10 && $5 < 10000 { found = 1 } END { exit !found }' \
    out || fail "not what a start takes"
