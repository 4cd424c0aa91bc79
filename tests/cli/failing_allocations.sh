#!/usr/bin/env bash
# failing_allocations.sh STEP [NAME]: every command with its k-th allocation failing, for each k up to 400 or, of those,
# each STEP-th: it ends with status 1 and "out of memory", or does the same as without; and it leaves no temporary file.
# NAME: this command only.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
bench=$(dirname "$TIMERLAB")/bench/timerlab-bench
library=${FAIL_LIBRARY:-${BUILD:?}/tests/failing_allocation.so}
step=$1
only=${2-}
[ -z "${SANITIZE-}" ] || exit 77 # a sanitizer has allocations of its own
K_MAX=400
# Commands run in a folder of their own, one below, and write to o.
export T=$TIMERLAB B=$bench I=$scratch/in TMPDIR

# --- input ---------------------------------------------------------------------------------------------------------------

mkdir in && cd in || exit 1
set -e
"$TIMERLAB" trace gen heartbeat -n 20 --seconds 1 -o t.trace 2>../err
"$TIMERLAB" trace gen rpc -n 40 --seconds 4 -o u.trace 2>../err
"$TIMERLAB" trace dump u.trace >t.csv
gzip -k t.csv
zstd -q t.csv
xz -k t.csv
printf 'tick,id,op,delay\n1,5,start,9\n3,4000000,start,2\n' >sparse.csv
{
    echo ts,user,rtt
    for i in 1 2 3 4 5; do echo "$i.25,client $((i % 3)),0.0$i"; done
} >events.csv
for i in 1 2 3 4; do
    printf '10.0.0.%s - - [10/Oct/2000:13:55:3%s +0000] "GET /a HTTP/1.0" 200 2326\n' $((i % 2)) $i
done >access.log
# One packet of TCP: the file's head, the packet's, Ethernet, IPv4, TCP.
printf '\324\303\262\241\2\0\4\0\0\0\0\0\0\0\0\0\377\377\0\0\1\0\0\0' >p.pcap
for i in 1 2; do
    printf '%b' "\\00$i" '\0\0\0\0\0\0\0\66\0\0\0\66\0\0\0\1\2\3\4\5\6\1\2\3\4\5\7\10\0E\0\0\50\0\1\0\0\100\6\0\0\12\0\0\1\12\0\0\2' >>p.pcap
    printf '\4\0\0\120\0\0\0\1\0\0\0\1\120\20\20\0\0\0\0\0' >>p.pcap
done
zstd -dqc "$SOURCE/tests/data/kernel-nginx.ftrace.txt.zst" | head -n 400 >k.txt
"$TIMERLAB" sim t.trace -a binary-heap,simple-wheel --runs 5 --latency -o results >../out 2>../err
"$TIMERLAB" sim t.trace -a binary-heap,simple-wheel --runs 5 --format json >r.json 2>../err
"$TIMERLAB" cluster sim lease -n 50 -o cluster >../out 2>../err
echo 'start a 5; tick 6; stop a' >script.txt
printf '{"parts": [{"workload": "rpc", "share": 1}], "connections": 10, "seconds": 1}\n' >mix.json
printf 'create capacity 4 now 0 max-delay 0\nstart 0 in 5\nwhen 0 fires start 1 in 3\nadvance by 9\n' >ops
set +e
cd ..

# --- commands ------------------------------------------------------------------------------------------------------------

# NAME [~] [xN] COMMAND: ~ if it measures, so that its numbers differ; xN if it takes N times as long as others.
commands() {
    cat <<'COMMANDS'
list x20 $T list
list-json x20 $T list --format json
list-md x20 $T list --format md
describe x3 $T describe hier-wheel
describe-front x3 $T describe 'locked(hier-wheel)'
show $T show simple-wheel:slots=8 'start a 5; start b 70; tick 6; stop b; wake'
show-file $T show binary-heap -f $I/script.txt
show-drawn $T show binary-heap 'start a 5; tick 6' -q -o o/s.svg
show-trace $T show simple-wheel:slots=256 --trace $I/t.trace --to 40
gen $T trace gen heartbeat -n 20 --seconds 1 -o o/g.trace
gen-server $T trace gen server -n 20 --seconds 1 -o o/g.trace
gen-scenario $T trace gen --scenario $I/mix.json -o o/g.trace
gen-list $T trace gen --list
gen-stdout $T trace gen hold -n 10 --seconds 1 -o -
import-csv $T trace import csv $I/t.csv -o o/i.trace
import-gz $T trace import csv $I/t.csv.gz -o o/i.trace
import-zst $T trace import csv $I/t.csv.zst -o o/i.trace
import-xz $T trace import csv $I/t.csv.xz -o o/i.trace
import-stdin $T trace import csv - -o o/i.trace <$I/t.csv
import-sparse $T trace import csv $I/sparse.csv -o o/i.trace
import-events $T trace import events $I/events.csv --key user -o o/i.trace
import-requests $T trace import events $I/events.csv --duration rtt --timeout 2 -o o/i.trace
import-log $T trace import access-log $I/access.log -o o/i.trace
import-pcap $T trace import pcap $I/p.pcap -o o/i.trace
import-pcap-rto $T trace import pcap $I/p.pcap --model rto -o o/i.trace
import-ftrace $T trace import ftrace $I/k.txt -o o/i.trace
import-list $T trace import --list
scale $T trace scale $I/u.trace -n 200 --of 40 -o o/s.trace
info $T trace info $I/u.trace
info-json $T trace info $I/u.trace --format json
head $T trace head $I/u.trace
dump $T trace dump $I/u.trace
validate $T trace validate $I/u.trace
record ~ $T record -o o/r.timers -- true
sim x4 $T sim $I/t.trace -a binary-heap,simple-wheel:slots=256 --runs 0
sim-csv x4 $T sim $I/t.trace -a binary-heap --runs 0 --format csv
sim-json ~ x4 $T sim $I/t.trace -a binary-heap --runs 0 --format json
sim-folder ~ x8 $T sim $I/t.trace $I/u.trace -a binary-heap --runs 1 --latency -o o/d
sim-front x4 $T sim $I/t.trace -a 'locked(binary-heap)' --runs 0 --drive poll:3 --budget 2
sweep ~ x10 $T sweep rpc -n 10,20 --seconds 1 -a binary-heap,simple-wheel:slots=64/128 --runs 0 -o o/w
sweep-join ~ x4 $T sweep $I/t.trace $I/u.trace -a binary-heap --runs 0 --part 1/2 -o o/w
compare $T compare $I/results $I/r.json
compare-algo $T compare $I/r.json --by algo
compare-json $T compare $I/r.json --by algo --format json
tune x4 $T tune $I/t.trace -a binary-heap,simple-wheel --counts
tune-json ~ x4 $T tune $I/t.trace -a binary-heap,simple-wheel --counts --format json -o o/a.json
export x2 $T export hier-wheel -o o/e --cpp --plugin
export-nodes x2 $T export simple-wheel -o o/e --intrusive --nodes
predict x4 $T predict ftrace $I/k.txt -a hier-wheel,binary-heap
predict-csv x4 $T predict ftrace $I/k.txt -a binary-heap --format csv
live ~ x10 $T live -a binary-heap -n 20 --seconds 0.02 -o o/l
live-json ~ x10 $T live -a binary-heap -n 20 --seconds 0.02 --format json
threads ~ x4 $T threads -a 'locked(binary-heap)' --threads 2 --operations 200 --timers 100
cluster-check ~ x2 $T cluster check lease -o o/c
cluster-check-csv x2 $T cluster check ack-first --format csv
cluster-sim ~ x2 $T cluster sim lease -n 50 -o o/c
cluster-sim-csv x2 $T cluster sim lease -n 50 --format csv
cluster-sim-json ~ x2 $T cluster sim lease -n 50 --format json
new $T new my-wheel -o o/n
check-case ~ x2 $T check -a binary-heap --case empty --seconds 0
check-replay ~ x2 $T check -a binary-heap --replay $I/ops
check-fuzz ~ x2 $T check -a binary-heap --case fuzz --operations 200
check-list $T check --list
report ~ x2 $T report $I/results $I/cluster --no-pictures -o o/r
bench ~ x20 $B -a binary-heap -n 1k --benchmark_min_time=0 --benchmark_filter=start
bench-list x4 $B --list-suites
bench-tests x4 $B -a binary-heap --benchmark_list_tests
COMMANDS
}

# Everything that a run wrote, as one text: of what measures, without the numbers.
written() { # written MEASURES
    cat out
    find o -type f -print0 2>/dev/null | sort -z | xargs -0 -r tail -n +1
}
without_numbers() { sed -E 's/-?[0-9]+([.e+-]*[0-9]+)*/N/g; s/N[munk]?s?\b/N/g; s/ +/ /g; s/-+/-/g' | uniq; }
comparable() {
    if [ -n "$1" ]; then
        written | without_numbers
    else
        written
    fi
}

# try NAME COMMAND MEASURES STEP FIRST: complains on standard output.
try() {
    local name=$1 command=$2 measures=$3 step=$4 first=$5 k status expected before left
    mkdir "$name" && cd "$name" || return
    mkdir o tmp
    TMPDIR=$PWD/tmp
    export FAIL_MARK=$PWD/mark
    run() { timeout 60 env LD_PRELOAD="$library" FAIL_ALLOCATION="$1" bash -c "exec $command" >out 2>err; }
    run 1000000000
    expected=$?
    comparable "$measures" >expected
    before=$(without_numbers <err)
    [ $expected -le 1 ] || echo "$name: status $expected without a failure: $(head -c 300 err)"
    for ((k = first; k <= K_MAX; k += step)); do
        rm -rf o mark
        mkdir o
        run $k
        status=$?
        [ -e mark ] || break # it has no more allocations
        left=$(ls -A tmp)
        [ -z "$left" ] || { echo "$name, $k: leaves $left in \$TMPDIR" && rm -rf tmp && mkdir tmp; }
        # "failed to alloc": what GLib says, whose loop is a structure.
        if [ $status -eq 1 ] && cat err out | grep -qE 'out of memory|Cannot allocate memory|failed to alloc'; then
            continue
        elif [ $status -ne $expected ]; then
            echo "$name, $k: status $status, where it is $expected without: $(head -c 300 err)"
        elif ! comparable "$measures" | cmp -s - expected; then
            echo "$name, $k: status $status, and other output: $(comparable "$measures" | diff - expected | head -n 5)"
        elif [ -z "$measures" ] && [ "$(without_numbers <err)" != "$before" ]; then
            echo "$name, $k: other messages: $(diff <(echo "$before") <(without_numbers <err) | head -n 5)"
        fi
    done
    echo "$name: up to $k" >&2
}

cpus=$(nproc)
number=0
while read -r name rest; do
    measures=
    weight=1
    while [[ $rest == '~ '* || $rest =~ ^x[0-9]+' ' ]]; do
        [[ $rest == '~'* ]] && measures=yes || weight=${rest%% *}
        rest=${rest#* }
    done
    [ -z "$only" ] || [ "$only" = "$name" ] || continue
    number=$((number + 1))
    [ "$step" -eq 1 ] && weight=1
    while [ "$(jobs -rp | wc -l)" -ge "$cpus" ]; do wait -n; done
    (try "$name" "$rest" "$measures" $((step * ${weight#x})) $((1 + number % step)) >"$name.complaints") &
done < <(commands)
wait
cat ./*.complaints
[ "$number" -gt 0 ] || echo "no command $only"
! grep -q . ./*.complaints
