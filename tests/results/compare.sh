#!/usr/bin/env bash
# timerlab compare on results that are made up, so that it is known what it must say.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
cp "$SOURCE"/tests/data/compare/* "$scratch"

# run STATUS ARGUMENT...: what it prints is in `out` and `err`.
run() {
    runs "$1" "$TIMERLAB" compare "${@:2}"
}

# prints FILE: it printed what the file has.
prints() {
    diff "$1" out || complain "the output is not that of $1"
}

says() {
    grep -qF -- "$2" "$1" || complain "not in $1: $2
$(cat "$1")"
}

silent() {
    if grep -qF -- "$2" "$1"; then complain "in $1: $2"; fi
}

# --- what is printed

run 0 before.json after.json
says out '0 faster, 0 slower, 3 cannot tell'
says out '3 comparisons: cannot tell: measured apart, one run a side: only a difference above 50 % is significant; --command measures in turn'
run 0 --min-effect 5% before.json after.json
prints before-after.txt
says err 'warning: compiler differs: "GNU 12.2.0" in before.json, "GNU 13.1.0" in after.json'
says err 'warning: commit differs'
says err 'warning: measured apart, not in turn'
silent err 'drive differs'
run 0 --min-effect 5% --format md bench-before.json bench-after.json
prints bench.md
run 0 --min-effect 5% --format json before.json after.json --trace 'day.*'
prints before-after.json-golden
jq -e '.comparisons | length == 3' out >/dev/null || complain "that is no JSON of three comparisons"
run 0 --by algo --base heap before.json
prints by-algo.txt
run 0 --min-effect 5% --by algo before.json after.json
silent err 'differs'

# --- what takes part

run 0 --min-effect 5% before.json after.json -a wheel,wheel:slots=64 --trace day.trace
says out '1 faster, 1 slower, 0 cannot tell; '
run 0 before.json:wheel before.json:wheel:slots=64
says out 'wheel:slots=64 vs wheel'
says out '8 pairs'
silent out 'n_moves'
run 0 --counts before.json:heap before.json:wheel
says out 'n_moves'
run 0 before.json before.json
says out '0 faster, 0 slower'
run 0 --min-effect 5% --metric wall_ns_per_event before.json after.json
says out ' wall_ns_per_event '
# a rate that falls is slower, and times come in one unit
jq '.benchmarks[] |= (.time_unit = "ns" | .real_time *= 1000)' bench-after.json >bench-ns.json
jq '.benchmarks[] |= (.time_unit = "ms" | .real_time /= 1000)' bench-before.json >bench-ms.json
run 0 --min-effect 5% --metric items_per_second --metric real_time bench-ms.json bench-ns.json -a heap --trace 'start/*'
says out '0 faster, 2 slower'
says out 'real_time             30.07       35.96  +19.8 %'
run 1 --min-effect 5% --threshold 18% --metric items_per_second bench-ms.json bench-ns.json -a heap --trace 'start/*'
says err 'heap, items_per_second: +19.8 % time'
jq 'del(.rows[].trace_checksum)' before.json >unsummed.json
run 0 unsummed.json after.json
says err 'no checksum'
says out 'other.trace  heap'
silent out 'not the same'
jq '.context.build_type = "Debug"' after.json >debug.json
run 0 before.json debug.json
says err 'debug.json was measured in a build without optimisation'

# A yardstick is compared only if it is named.
jq '.rows += [.rows[0] | .algo = "idle" | .capabilities = ["baseline"]]' before.json >yardstick.json
run 0 yardstick.json yardstick.json
silent out ' idle '
run 0 yardstick.json yardstick.json -a idle,heap
says out ' idle '
# What one process measured was not measured at another time.
run 0 --by algo --base heap bench-before.json --trace 'start/*'
says out '1 faster, 0 slower, 0 cannot tell'
jq '.context.floor = "heap"' bench-before.json >floor.json
run 0 floor.json floor.json
silent out ' heap '

# the name of a structure, and its options, are as long as they may be, or refused
long=$(printf '%0127d' 0)
run 1 --by algo --base "$long" before.json
silent err 'is not the name'
for name in "${long}0" ":slots=64" "heap:$long$long$long$long"; do
    run 2 --by algo --base "$name" before.json
    says err "'$name' is not the name of a structure"
done

# --- verdicts depend on what is asked for

run 0 --min-effect 50% before.json after.json
says out '0 faster, 0 slower, 3 cannot tell'
run 0 --min-effect 0 --confidence 99.99 --by algo before.json
says out 'cannot show any difference'
run 0 --correction none --confidence 95 --by algo before.json
says out 'not adjusted'
run 0 --correction bh --by algo before.json
says out 'Benjamini and Hochberg'
run 0 --correction none --min-effect 1000% --confidence 99 --by algo --metric ns_per_event \
    --metric wall_ns_per_event before.json
says out '6 cannot tell'
silent out 'cannot show any difference'
# eight pairs can do for six comparisons at 95 %, and not at 99 %
run 0 --by algo --metric ns_per_event --metric wall_ns_per_event before.json
says out '6 faster'
run 0 --by algo --metric ns_per_event --metric wall_ns_per_event --confidence 99 before.json
says out 'among 6 comparisons 8 pairs cannot show any difference; it takes 11'
# of many pairs those are left out in which the machine was disturbed, and the table says how many are left
jq '(.rows[] | select(.trace == "day.trace").samples[]) |= (. + . | .[3] *= 3 | .[9] *= 3)' before.json >disturbed.json
run 0 --by algo --base heap disturbed.json --trace 'day.*'
says out '16 pairs, 14 quiet  faster'
# four runs are refused, and never called a difference
jq '(.rows[].samples[]) |= .[:4]' before.json >four-before.json
jq '(.rows[].samples[]) |= .[:4]' after.json >four-after.json
run 0 four-before.json four-after.json
says out 'fewer than 5 a side are never called a difference'
says out '0 faster, 0 slower, 0 cannot tell, 4 refused'

# --- counts

# What a library writes to its files, and when, is its own affair.
jq '.rows[].bytes_durable = 5' before.json >writes-5.json
jq '.rows[].bytes_durable = 6' before.json >writes-6.json
run 0 writes-5.json writes-6.json
silent out bytes_durable
# What only one side knows is no difference.
jq 'del(.rows[].n_moves) | .rows[].ranks = 2' after.json >unknown.json
run 0 before.json unknown.json
silent out n_moves
silent err 'ranks differ'

# --- who is late does not win by it

# The wheel of day.trace promises to be late by up to 8 ticks of 4 ms, and is by 5; it is spared 40 of 400.
jq '.context.traces = [{name: "day.trace", tick_ns: 4000000}]
    | .rows[] |= (.declared_early = 0 | .declared_late = 0 | .lateness_min = 0 | .lateness_max = 0 | .averted = 0)
    | (.rows[] | select(.trace == "day.trace" and .algo == "wheel" and .options == ""))
        |= (.declared_late = 8 | .lateness_max = 5 | .fired = 350 | .averted = 40)' before.json >late.json
run 0 --by algo --base heap late.json --trace 'day.*'
says out '-74.9 %'
says out '8 pairs  not punctual'
says out 'day.trace, wheel, ns_per_event: not punctual: wheel takes less, and fires 350 of the 400 timers that exact structures fire (10 % averted), up to 5 ticks (20.0 ms) late, by its promise at most 8 ticks (32.0 ms) late; --max-lateness 8 allows it'
says out '1 faster, 0 slower, 0 cannot tell, 1 not punctual.'
# what fires on a trace of the same name that is another one is no measure
mkdir namesakes
jq '.rows |= map(select(.algo == "heap") | .algo = "list" | .trace_checksum = "other" | .fired = 800)' late.json >namesakes/a.json
cp late.json namesakes/b.json
run 0 --by algo --base heap namesakes --trace 'day.*' -a heap,wheel
says out 'wheel takes less, and fires 350 of the 400 timers that exact structures fire'
for lateness in 8 32ms 1s; do
    run 0 --by algo --base heap late.json --trace 'day.*' --max-lateness "$lateness"
    says out '2 faster, 0 slower, 0 cannot tell.'
    says err 'warning: day.trace: wheel takes less; of what exact structures fire: 10 % averted'
done
for lateness in 7 31999us; do
    run 0 --by algo --base heap late.json --trace 'day.*' --max-lateness "$lateness"
    says out ' 1 not punctual.'
done
jq '.context.traces[].open_loop = true' late.json >open.json
run 0 --by algo --base heap open.json
says err 'warning: day.trace: open loop: the trace does not record reactions to expiries'
# on whichever side the late one is
run 0 open.json:wheel open.json:heap
says err 'warning: day.trace: open loop: the trace does not record reactions to expiries'
run 0 --by algo --base heap open.json -a heap,wheel:slots=64
silent err 'open loop'
run 0 --by algo --base heap late.json
silent err 'open loop'
# nor as the base, nor is it taken for one without being asked for
jq '.rows |= map(select(.algo == "heap"))' late.json >heap-only.json
run 0 late.json:wheel late.json:heap
says out '0 faster, 0 slower, 0 cannot tell, 1 not punctual'
says out 'heap, ns_per_event: not punctual: wheel takes less'
run 0 --by algo late.json --trace 'day.*' -a wheel,heap
says out 'wheel vs heap '
jq '.rows |= (map(select(.algo == "wheel")) + map(select(.algo != "wheel")))' late.json >wheel-first.json
run 0 --by algo wheel-first.json --trace 'day.*' -a wheel,heap
says out 'wheel vs heap '
run 0 --by algo wheel-first.json --trace 'day.*' -a wheel,heap --max-lateness 8
says out 'heap vs wheel '
# a structure that is named on one side stands against whatever the other has of that trace
run 0 late.json:wheel heap-only.json
says out 'heap, ns_per_event: not punctual: wheel takes less'
# nor who is early, however late one may be
jq '(.rows[] | select(.averted == 40))
    |= (.declared_late = 0 | .declared_early = 2 | .lateness_max = 0 | .lateness_min = -2 | .averted = 0)' late.json >early.json
run 0 --by algo --base heap early.json --trace 'day.*' --max-lateness 1s
says out 'day.trace, wheel, ns_per_event: not punctual: wheel takes less'
says out ' 1 not punctual.'
silent out 'allows it'
# of two that are late alike the faster one is the faster
jq '.rows[].declared_late = 8' late.json >both-late.json
run 0 --by algo --base heap both-late.json --trace 'day.*'
silent out 'not punctual'
run 0 --by algo both-late.json --trace 'day.*' -a heap,wheel
says out 'wheel vs heap '
# before and after a change it is as late as before
run 0 late.json late.json --trace 'day.*'
silent out 'not punctual'
# of what does not hold the promise what was measured counts, and if that is nothing, what was averted
jq 'del(.rows[].declared_late, .rows[].declared_early)' late.json >measured.json
run 0 --by algo --base heap measured.json --trace 'day.*' --max-lateness 4
says out '(10 % averted), up to 5 ticks (20.0 ms) late; --max-lateness 5 allows it'
says err 'warning: measured.json does not say how late its structures promise to be at most'
silent err 'no checksum'
run 0 --by algo --base heap measured.json --trace 'day.*' --max-lateness 5
says out '2 faster'
jq '(.rows[] | select(.averted == 40)) |= (.fired = 0 | .lateness_min = null | .lateness_max = null)' measured.json >unfired.json
run 0 --by algo --base heap unfired.json --trace 'day.*' --max-lateness 1000
says out 'wheel takes less, and fires 0 of the 400 timers that exact structures fire (10 % averted), none seen late, for none fired'
jq 'del(.context.traces)' late.json >tickless.json
run 1 --by algo --base heap tickless.json --trace 'day.*' --max-lateness 5ms
says err 'tickless.json: does not say how long a tick of day.trace is; --max-lateness then has to be in ticks'
run 0 --by algo --base heap tickless.json --trace 'day.*' --max-lateness 8
says out '2 faster'
run 2 --max-lateness soon late.json late.json
says err 'takes ticks, as in 5, or a time'

# --- what was left out is no failure

jq '(.rows[] | select(.trace == "night.trace" and .algo == "heap"))
    |= (.status = "unsupported" | .reason = "for 5 timers: too many")' after.json >left.json
for sides in 'before.json left.json' 'left.json before.json'; do
    # shellcheck disable=SC2086 # two words
    run 0 $sides --threshold 50%
    says out 'night.trace, heap: skipped: left.json: heap: for 5 timers: too many'
    says out ', 1 skipped, 1 not the same;'
    silent out 'failed'
    silent err 'regression'
done
run 0 --format json before.json left.json
jq -e '.summary.skipped == 1 and .summary.failed == 0
    and any(.comparisons[]; .status == "skipped" and .reason == "left.json: heap: for 5 timers: too many")' \
    out >/dev/null || complain "the JSON does not have what was skipped: $(cat out)"
# what failed all the same outweighs it, on either side
run 1 --threshold 50% left.json after.json
says err 'regression: night.trace: after.json: heap: crashed: signal 11'
run 0 after.json left.json
says out 'heap: failed: after.json: heap: crashed: signal 11'
# shellcheck disable=SC2016 # the backticks are the message's
sed 's/"no `next`"/"skipped: too slow; --patience=S waits longer"/' bench-after.json >bench-left.json
run 0 bench-left.json bench-left.json
says out 'heap: skipped: bench-left.json: heap: too slow; --patience=S waits longer'
silent out 'failed'
# one repetition that failed outweighs others that were left out, the first or not
for at in first last; do
    jq --arg at "$at" '([.benchmarks | keys[] as $i | select(.[$i].error_occurred) | $i] | .[if $at == "first" then 0 else -1 end]) as $i
        | .benchmarks[$i].error_message = "it fired twice"' bench-left.json >bench-one.json
    run 0 bench-left.json bench-one.json
    says out 'heap: failed: bench-one.json: heap: error: it fired twice'
done

# --- sessions: each file of a folder is one

# session FOLDER NUMBER DATE FACTOR: a wheel that takes 20 ns times the factor.
session() {
    mkdir -p "$1"
    jq --arg date "$3" --argjson factor "$4" --argjson k "$2" '.context.date = $date
        | .rows |= [.[] | select(.trace == "day.trace" and .algo == "wheel" and .options == "")
            | .samples.ns_per_event = [20 * $factor * (1 + $k % 3 / 100)]]' \
        before.json >"$1/session-$2.json"
}
for k in 1 2 3 4 5 6; do
    session turns-a "$k" "2026-01-01T10:0$k:00Z" 1
    session turns-b "$k" "2026-01-01T10:0$k:30Z" 1.1
    session later-b "$k" "2026-01-01T11:0$k:30Z" 1.1
done
run 0 turns-a turns-b
says out '6 pairs of sessions  slower'
says out '+10.0 %'
silent err 'measured apart'
run 0 turns-a later-b
says out '6, 6 apart'
says err 'measured apart'
mkdir both
cp before.json both/results.json
cp bench-before.json both/bench.json
run 0 both both
says out 'day.trace'
says out 'start/1000 '
# Google Benchmark's way to say that there is no value.
sed 's/"context": {/&"disk": "3.5\\" NaN",/
    s/"real_time":/"bytes": NaN, "bytes_cv": -NaN, "rate": Infinity, "real_time":/' bench-before.json >with-nan.json
grep -q NaN with-nan.json || complain "the test has no NaN in its benchmark"
run 0 with-nan.json bench-before.json
says out 'start/1000 '

# --- commands that take turns

run 0 --command 'cat before.json' --command 'cat after.json' --rounds 8 -o kept
says out '8 pairs of sessions'
says out '1 faster, 1 slower'
cmp -s kept/2/round-0006.json after.json || complain "what the second command printed is not kept"
jq '.context.date = "2026-01-01T10:00:00Z"' after.json >same-day.json
run 0 --command 'cat before.json' --command 'cat same-day.json' --rounds 8 -o dated
run 0 dated/1 dated/2
says out '8 pairs of sessions'
run 0 --command 'sh -c "echo >>order a; cat before.json"' --command 'sh -c "echo >>order b; cat before.json"' --rounds 4
[ "$(tr -d '\n' <order)" = abbabaab ] || complain "the commands did not take turns: $(cat order)"
run 1 --command 'cat before.json' --command 'sh -c "exit 3"' --rounds 5
says err '"exit 3"'"' failed with exit status 3"
# shellcheck disable=SC2016 # the words are to run nothing
for command in 'cat before.json; touch ran' 'cat $(touch ran)' 'cat `touch ran`' 'cat <before.json' "cat 'before.json" ' '; do
    run 1 --command 'cat before.json' --command "$command" --rounds 5
    [ ! -e ran ] || complain "a shell ran: $command"
done
run 2 --command 'cat before.json' --command '' --rounds 5
run 1 --command 'cat before.json' --command no-such-program --rounds 5
says err 'no-such-program: cannot be run: No such file or directory'
run 1 --command 'cat before.json' --command 'true' --rounds 5
says err "printed nothing"
run 1 --command 'cat before.json' --command 'echo hello' --rounds 5
says err "round 1 of 'echo hello': line 1: not JSON"
run 1 --command 'cat before.json' --command 'cat before.json' -o kept
says err 'kept: cannot be made'

printf '\211TLT\r\n\032\n and the rest' >day.trace
run 1 day.trace day.trace
says err 'day.trace: is a trace, not results; '
for command in 'report day.trace' 'trace import csv day.trace -o new.trace'; do
    # shellcheck disable=SC2086 # words
    "$TIMERLAB" $command >out 2>err && complain "$command: succeeds"
    says err 'day.trace: is a trace'
done

# --- the exit status for CI

run 1 --min-effect 5% --threshold 5% before.json after.json
says err 'regression: day.trace, wheel, ns_per_event: +28.7 % time'
says err 'regression: night.trace: after.json: heap: crashed: signal 11'
run 0 --min-effect 5% --threshold 50% before.json after.json --trace 'day.*'
run 0 --threshold 5% after.json before.json -a wheel:slots=64 --min-effect 30%
run 1 --min-effect 5% --threshold 5% after.json before.json -a wheel:slots=64
run 0 --min-effect 5% before.json after.json --count-threshold 3% --trace 'day.*'
run 1 --min-effect 5% before.json after.json --count-threshold 2% --trace 'day.*'
says err 'regression: day.trace, wheel, n_moves: 103, was 100'
run 1 --threshold 5% four-before.json four-after.json --trace 'day.*'
says err 'nothing could be judged'

# --- results as they are made: no time is known beforehand, but the counts are

"$TIMERLAB" trace gen server -n 200 --seconds 2 --seed 1 -o small.trace 2>/dev/null
for k in 1 2; do
    "$TIMERLAB" sim small.trace -a binary-heap,round-wheel --runs 5 --latency -o "real-$k" >/dev/null 2>&1 ||
        complain "no results of sim"
done
run 0 real-1 real-2
says out 'counts are equal, 0 differ'
says out '5, 5 apart'
says out 'ns_per_event'
run 0 --by algo --metric stall_ns --metric start_p50_ns real-1
says out 'round-wheel vs binary-heap  start_p50_ns'
says out '5 pairs'
says out '2 comparisons: cannot tell: among 2 comparisons 5 pairs cannot show any difference; it takes 7 (--runs)'
sim="'$TIMERLAB' sim small.trace -a binary-heap --runs 1 --format json"
run 0 --rounds 5 --command "$sim" --command "$sim"
says out '5 pairs of sessions'
says out ' 0 differ'

# What is averted stands in the table of sim as a share of what exact structures fire.
awk 'BEGIN { print "tick,id,op,delay"; for (t = 0; t < 50000; t += 10) printf "%d,%d,start,2500\n", t, t / 10 % 251 }' >cached.csv
"$TIMERLAB" trace import csv cached.csv -o cached.trace 2>/dev/null
"$TIMERLAB" sim cached.trace -a binary-heap,cache-wheel --runs 0 >out 2>err || complain "no table of sim: $(cat err)"
grep -qE '^cache-wheel .* 55 +1020 +4694 \(98.8 %\) ' out || complain "no share averted: $(cat out)"
"$TIMERLAB" sim cached.trace -a cache-wheel --runs 0 >out 2>err || complain "no table of sim: $(cat err)"
says out ' 4694 (98.8 % of its own) '

# --- what cannot be read, or is not meant so

run 1 none.json after.json
says err 'none.json: No such file'
run 1 before.json:heap none.json:heap
says err 'none.json:heap: No such file'
head -c 900 before.json >cut.json
run 1 cut.json after.json
says err 'cut.json: line 5'
says err 'not JSON, or cut off'
echo '{"hello": 1}' >foreign.json
run 1 before.json foreign.json
says err 'foreign.json: neither results of timerlab'
echo '[]' >list.json
run 1 before.json list.json
says err 'list.json: neither'
jq '.schema = 2' before.json >later.json
run 1 before.json later.json
says err 'later.json: results of another schema than 1'
jq '.rows[1].algo = 5' before.json >odd.json
run 1 before.json odd.json
says err 'odd.json: row 2'
jq '.benchmarks |= map(select(.run_type == "aggregate"))' bench-before.json >means.json
run 1 bench-before.json means.json
says err 'means.json: no single runs'
mkdir empty
run 1 before.json empty
says err 'empty: no results in this folder'
run 1 before.json bench-before.json
says err 'nothing in common'
run 1 --min-effect 5% before.json after.json -a nobody
says err 'nothing there matches'
run 1 --min-effect 5% before.json after.json --metric nothing
says err 'no such structure, trace or metric'
run 2 before.json
says err 'two sets of results, or one with --by algo'
run 2
run 2 --by colour before.json
run 2 --by algo
run 2 --base heap before.json after.json
run 2 --threshold fast before.json after.json
run 2 --threshold 5x before.json after.json
run 2 --format xml before.json after.json
run 2 --correction luck before.json after.json
run 2 --rounds 0 --command a --command b
run 2 --command a
run 2 --command a --command b before.json
run 2 -o kept before.json after.json
run 2 -a , before.json after.json

finish
