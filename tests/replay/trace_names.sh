#!/usr/bin/env bash
# Traces of one file name in different folders are different traces, in all that goes by their names;
# one file named twice is refused.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

mkdir -p a deep/a other
"$TIMERLAB" trace gen rpc -n 50 --seconds 1 --seed 1 -o a/t.trace 2>said || complain "$(cat said)"
"$TIMERLAB" trace gen rpc -n 50 --seconds 1 --seed 2 -o deep/a/t.trace 2>said || complain "$(cat said)"
"$TIMERLAB" trace gen rpc -n 50 --seconds 1 --seed 3 -o other/t.trace 2>said || complain "$(cat said)"
"$TIMERLAB" trace gen rpc -n 50 --seconds 1 --seed 4 -o alone.trace 2>said || complain "$(cat said)"

"$TIMERLAB" sim a/t.trace deep/a/t.trace other/t.trace alone.trace -a binary-heap,rbtree --runs 1 \
    --latency -o results >said 2>&1 || complain "right structures are called wrong: $(cat said)"
grep -q '^fault' said && complain "a fault: $(grep '^fault' said)"
names=$(tail -n +2 results/results.csv | cut -d , -f 1 | sort -u | paste -sd ' ')
[ "$names" = 'a:t.trace alone.trace deep:a:t.trace other:t.trace' ] || complain "they are called $names"
[ "$(find results/latency -name '*binary-heap.start.service.hgrm' | wc -l)" -eq 4 ] ||
    complain "latencies of one trace stand for those of another: $(ls results/latency)"
cp -r results again
"$TIMERLAB" compare results again --format md >compared 2>said || complain "compare: $(cat said)"
for name in a:t.trace deep:a:t.trace other:t.trace alone.trace; do
    grep -qF "$name" compared || complain "compare leaves out $name"
done

# twice PATTERN PATH...
twice() {
    local pattern=$1 status=0
    shift
    "$TIMERLAB" sim "$@" -a binary-heap --runs 0 >out 2>said || status=$?
    [ $status -eq 1 ] || complain "$*: status $status"
    grep -qF -- "$pattern" said || complain "$*: says: $(cat said)"
}
ln -s t.trace other/link.trace
twice 'a/t.trace is named twice; name it once' a/t.trace a/t.trace
twice './a/t.trace is named twice, the other time as a/t.trace; name it once' a/t.trace ./a/t.trace
twice 'other/link.trace is named twice, the other time as other/t.trace' other/t.trace other/link.trace

finish
