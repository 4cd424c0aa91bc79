#!/usr/bin/env bash
# `timerlab trace gen` as its users meet it: the list and its page in docs/, scenarios, and what is
# said of those that are wrong. TIMERLAB is the program, SOURCE the source tree.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# The page holds what the program says.
"$TIMERLAB" trace gen --list --format md >wanted || complain "--list --format md failed"
sed -n '/^<!-- workloads -->$/,/^<!-- end of workloads -->$/p' "$SOURCE/docs/reference/workloads.md" |
    sed '1d;$d' >present
diff wanted present >difference ||
    complain "docs/reference/workloads.md is not what 'timerlab trace gen --list --format md' prints: $(head -20 difference)"
"$TIMERLAB" trace gen --list | grep -q "^    phases .*spread (spread, or aligned)" ||
    complain "--list does not show a parameter's words"
[ "$("$TIMERLAB" trace gen --list rpc | grep -c '^[a-z]')" -eq 1 ] || complain "--list rpc lists others"

# The page shows every workload and every importer, in pictures that are there and are no larger than a
# page should bear.
for name in $("$TIMERLAB" trace gen --list | sed -n 's/^\([a-z-]*\): .*/workload-\1/p') \
    $("$TIMERLAB" trace import --list | sed -n 's/^\([a-z-]*\): .*/import-\1/p'); do
    grep -q "](../pictures/$name.svg)" "$SOURCE/docs/reference/workloads.md" || complain "docs/reference/workloads.md does not show $name"
    bytes=$(wc -c <"$SOURCE/docs/pictures/$name.svg" || echo 0)
    if [ "$bytes" -lt 1000 ] || [ "$bytes" -gt 80000 ]; then
        complain "docs/pictures/$name.svg has $bytes bytes; docs/tools/draw-workloads draws it"
    fi
done

# complains SCENARIO PATTERN: refused with status 1, one sentence, and no file.
complains() {
    printf '%s\n' "$1" >wrong.json
    "$TIMERLAB" trace gen --scenario wrong.json -o wrong.trace >out 2>err
    local status=$?
    [ "$status" -eq 1 ] || complain "exit status $status for: $1"
    [ -s out ] && complain "standard output is not empty for: $1"
    grep -qE "$2" err || complain "'$(cat err)' is not '$2' for: $1"
    [ "$(wc -l <err)" -eq 1 ] || complain "more than a sentence for: $1"
    [ -z "$(ls wrong.trace* 2>/dev/null)" ] || complain "a file is left behind by: $1"
}

complains '{"parts": [' '^timerlab: wrong.json:[12]: '
complains '[]' 'wrong.json:1: a scenario is an object'
complains '{"seconds": 1}' 'wrong.json:1: parts: a scenario has parts'
complains '{"tick_us": 1000,
 "secnds": 1, "parts": []}' "wrong.json:2: secnds: there is no such key; did you mean 'seconds'"
complains '{"nothing": 1, "parts": []}' 'nothing: there is no such key; docs/reference/workloads.md shows all'
complains '{"seconds": "long"}' 'wrong.json:1: seconds: it takes a number'
complains '{
"seed": 1.5}' 'wrong.json:2: seed: it takes a whole number'
complains '{"tick_us": 0.5}' 'wrong.json:1: tick_us: 0.5 is not from 1 to 1e'
complains '{"seed": 1, "seed": 2}' 'wrong.json:1: duplicate'
complains '{"parts": [
 {"workload": "idle", "connections": 5},
 {"workload": "idel", "connections": 5}]}' "wrong.json:3: parts\[1\].workload: there is no workload 'idel'; did you mean 'idle'"
complains '{"parts": [{"workload": "idle",
 "conections": 5}]}' "wrong.json:2: parts\[0\].conections: .*'connections'"
complains '{"parts": [{"connections": 5}]}' 'parts\[0\].workload: a part names its workload'
complains '{"parts": [5]}' 'parts\[0\]: a part is an object'
complains '{"parts": [{"workload": "idle"}]}' "parts\[0\]: a part has either 'connections' or 'share'"
complains '{"parts": [{"workload": "idle", "connections": 0}]}' 'connections: 0 is not from 1'
complains '{"parts": [{"workload": "idle", "share": 0.5}]}' "share: a share is of the scenario's 'connections'"
complains '{"connections": 10, "parts": [{"workload": "idle", "share": 0.6},
 {"workload": "rpc", "share": 0.6}]}' 'parts: the shares add up to more than 1'
complains '{"parts": [{"workload": "idle", "connections": 5, "parameters": {
 "close": 0.5,
 "rate_per_sec": 1}}]}' "wrong.json:3: parts\[0\].parameters.rate_per_sec: .*did you mean 'rate_per_s'"
complains '{"parts": [{"workload": "idle", "connections": 5, "parameters": {"close": 2}}]}' \
    'parts\[0\].parameters.close: idle: close=2 is not usable; it takes 0 to 1'
complains '{"parts": [{"workload": "hold", "connections": 5, "parameters": {"increments": "unifrom"}}]}' \
    'increments=unifrom is not usable; it takes exponential, or uniform'
complains '{"parts": [{"workload": "hold", "connections": 5, "parameters": {"increments": 1}}]}' \
    'increments=1 is not usable; it takes exponential'
complains '{"parts": [{"workload": "hold", "connections": 5, "parameters": {"tick_us": 1}}]}' \
    "tick_us: all parts have the scenario's"
"$TIMERLAB" trace gen --scenario none.json -o wrong.trace 2>err && complain "a missing scenario is taken"
grep -q "^timerlab: none.json: " err || complain "a missing scenario is not named"
"$TIMERLAB" trace gen --scenario wrong.json idle -o wrong.trace 2>/dev/null
[ $? -eq 2 ] || complain "a scenario and a workload are taken together"
"$TIMERLAB" trace gen --scenario wrong.json --seed 5 -o wrong.trace 2>/dev/null
[ $? -eq 2 ] || complain "a scenario and a seed are taken together"

# Connections are counted as everywhere: in thousands and millions, too.
"$TIMERLAB" trace gen idle -n 1k --seconds 0.001 -o short.trace >/dev/null 2>&1 || complain "-n 1k is not taken"
"$TIMERLAB" trace gen idle -n 1000 --seconds 0.001 -o long.trace >/dev/null 2>&1 || complain "-n 1000 is not taken"
cmp -s short.trace long.trace || complain "1k connections are not 1000"
for wrong in 0 -5 1x ' 3' 5000m 4294968k 1.5k k ''; do
    "$TIMERLAB" trace gen idle -n "$wrong" --seconds 0.001 -o wrong.trace 2>err
    [ $? -eq 2 ] || complain "-n '$wrong' is taken"
    grep -qF -- "--connections takes a whole number from 1 to 4294967295, not '$wrong'" err || complain "-n '$wrong': $(cat err)"
done

# One part alone is the workload alone.
cat >one.json <<'END'
{"seconds": 3, "seed": 9,
 "parts": [{"workload": "burst", "connections": 500, "parameters": {"cancelled": 0.5, "lag_ms": 20}}]}
END
"$TIMERLAB" trace gen --scenario one.json -o one.trace 2>/dev/null || complain "one.json is refused"
"$TIMERLAB" trace gen burst -n 500 --seconds 3 --seed 9 -p cancelled=0.5 -p lag_ms=20 -o same.trace \
    2>/dev/null || complain "burst is refused"
cmp -s one.trace same.trace || complain "a scenario of one part is not the workload"

# The page's own example, in small: shares, ids behind one another, and every structure agrees.
sed -n '/^    {$/,/^    }$/p' "$SOURCE/docs/reference/workloads.md" |
    sed 's/1000000/1000/; s/20000/20/' >mixed.json
"$TIMERLAB" trace gen --scenario mixed.json -o mixed.trace 2>err || complain "the example: $(cat err)"
first_ids=$("$TIMERLAB" trace info --format=json mixed.trace | jq -c '[.origin.parts[].first_id]')
[ "$first_ids" = "[0,900,980]" ] || complain "the example's ids begin at $first_ids"
"$TIMERLAB" sim mixed.trace -a ordered-list,all --runs 0 >out 2>err || complain "the example: $(cat out err)"

finish
