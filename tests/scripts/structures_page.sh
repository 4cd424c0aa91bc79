#!/usr/bin/env bash
# docs/tools/structures-page, on results of two small traces: who wins stands first, who loses is there,
# and who could not take part says why.
# shellcheck disable=SC2016 # the backticks are Markdown's
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

needs jq
page() { "$SOURCE/docs/tools/structures-page" "$@" >page.md 2>log; }
wants() { grep -qE -- "$1" page.md || { echo "the page does not say '$1':" >&2 && cat page.md >&2 && exit 1; }; }

"$TIMERLAB" list --format json >structures.json
for trace in near far; do
    {
        echo tick,id,op,delay
        for id in 0 1 2 3; do echo "$id,$id,start,$([ $trace = near ] && echo 20 || echo 2000)"; done
    } >$trace.csv
    "$TIMERLAB" trace import csv $trace.csv -o $trace.trace 2>log
    "$TIMERLAB" sim $trace.trace -a binary-heap,rbtree,simple-wheel:slots=100 --runs 1 --latency -o $trace >table 2>log
done
# Times that are known.
jq '.rows |= map(if .status == "ok" and .algo != "null" then .ns_per_event = ({"binary-heap": 30, "rbtree": 1234,
    "simple-wheel": 20}[.algo]) | .stall_ns = .ns_per_event * 1000 else . end)' far/results.json >results.json

# Another trace with times is a column; the first one, named again, is none.
jq '.rows |= map(.ns_per_event = 77)' near/results.json >near.json
page structures.json results.json near.json far/results.json
wants '^\| structure \|.* MAD \| near \| longest tick \|'
wants '^\| `binary-heap` \| ok \| 30 \| [0-9.]+ \| 77 \| 30 µs \| 0 \| [0-9.]+ \| [0-9.]+ kB \| [0-9]+ \([0-9]+ %\) \|$'
wants '^\| `rbtree` \| ok \| 1,234 \|.* 1\.23 ms '
wants '^\| `simple-wheel` \| unsupported \|'
wants '^- `simple-wheel` is `unsupported`: .*horizon'
wants 'slowest is `rbtree`, with 1,234 ns, 41\.1 times'
wants '^<!-- structures -->$'
wants '^<!-- end of structures -->$'
wants '^\| near \| 4 \| 3 \|  \|  \|$'
wants '^\| far \| 4 \| 2 \| `simple-wheel` \(.*horizon\) \|  \|$'
if grep -n 'null' page.md; then echo "something is missing" >&2 && exit 1; fi
[ "$(grep -n '`binary-heap` | ok' page.md | cut -d: -f1)" -lt "$(grep -n '`rbtree` | ok' page.md | cut -d: -f1)" ]

# The times of the build without tunings are a column; results that are not of it, or of another trace, are refused.
jq '.context.flags += " -DTL_UNTUNED" | .rows |= map(.ns_per_event = 4444)' near/results.json >untuned.json
page --untuned untuned.json structures.json near/results.json
wants '^\| structure \|.* \| untuned \|'
wants '^\| `rbtree` \| ok \| [0-9.,]+ \| [0-9.,]+ \| 4,444 \|'
if page --untuned near/results.json structures.json near/results.json; then echo "tuned results pass as untuned" >&2 && exit 1; fi
grep -q 'of another build' log
if page --untuned untuned.json structures.json far/results.json; then echo "two traces" >&2 && exit 1; fi
grep -q 'of another trace' log
if page structures.json untuned.json; then echo "untuned results pass as tuned" >&2 && exit 1; fi

# A run that only checked has no times to show.
"$TIMERLAB" sim near.trace -a binary-heap --runs 0 -o checked >table 2>log
if page structures.json checked/results.json; then echo "a page without times" >&2 && exit 1; fi
grep -q 'no times' log
if page structures.json; then echo "a page without results" >&2 && exit 1; fi
if page structures.json none.json; then echo "a page of a file that is not there" >&2 && exit 1; fi
grep -q 'none.json' log
