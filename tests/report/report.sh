#!/usr/bin/env bash
# Reports and pictures from results that are made up, so that it is known what they must say. No
# structure here is one that timerlab has: scripts and plots must not know any.
# shellcheck disable=SC2016 # backquotes are Markdown's
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# shellcheck source=/dev/null
source "$SOURCE/tests/report/report_results.bash"
results() {
    made_up_results "$@" || complain "the results could not be made up"
}

# says FOLDER TEXT: the report has this text.
says() {
    grep -qF -- "$2" "$1/report.md" || complain "$1: the report does not say: $2"
}

silent() {
    if grep -qF -- "$2" "$1/report.md"; then complain "$1: the report says: $2"; fi
}

report() {
    "$TIMERLAB" report --no-pictures "$1" 2>said || complain "$1: there is no report: $(cat said)"
}

results won .
printf 'benchmark,algo,options,status,op,n,ns_per_op,ns_per_op_mad,items_per_second,bytes_per_timer,runs,error\n' \
    | tee won/bench.csv >few.csv
cat >>won/bench.csv <<'END'
start/n:1000,quick,,ok,start,1000,10,0.1,1,1,5,
start/n:1000,middling,,ok,start,1000,30,0.1,1,1,5,
start/n:100000,quick,,ok,start,100000,50,9,1,1,5,
start/n:100000,middling,,ok,start,100000,40,8,1,1,5,
start/n:100000,slow:one|two,,unsupported,start,100000,,,,,,"too slow, and so ""left out"""
END
printf 'first --command\n' >won/commands.txt
report won
says won 'day.one.trace: Take `quick`: the fastest of 3 exact structures, 40.0 ns an operation; `middling:size=3` takes 50 % longer. Sure: 7 runs.'
says won '| `quick` | 40.0 | 5.00 MB | 40.0 µs |'
says won '| `slow:one\|two` | 5,000 ██████████ | 5.00 MB | 5.00 ms |'
silent won '## Faults'
silent won 'best of 4'
says won '| `slow:one\|two` | start | - | too slow, and so "left out" |'
says won '| `quick` | start | 10.0 ± 0.10 | 50.0 ± 9.00 |'
says won '| *`idle-one`* | 5.00 | 0.12 |'
says won '| `quick` | start | 10.0 ns | 20.0 ns | 1.50 µs | 2.00 ms | 3.00 s | 4.00 s |'
says won '| `slow:one\|two` | 5,000 | 125 | 1.00 |'
says won '| command_line | a b |'
says won 'first --command'

results far '.[1].ns_per_event = 130'
report far
says far '; `middling:size=3` takes 3.25 times as long. Sure: 7 runs.'

results close '.[2].ns_per_event = 60'
report close
says close 'Take `middling:size=3` (60.0 ns an operation): of 3 exact structures it is among the fastest, tied with `quick`, and comes first of these in the list: 7 runs show no difference.'

results short '.[].window_events = 10000'
report short
says short 'A run lasts only 400.0 us: a longer trace gives steadier times.'
silent won 'A run lasts only'

results few '.[].runs = 4'
mv few.csv few/bench.csv
report few
says few '`quick` took the least time of 3 exact structures (40.0 ns an operation), but too few runs to be sure (4): use --runs 5.'

results wrong '.[2] |= (.status = "fault" | .lost = 3 | .ns_per_event = null | .events_per_s = null)' \
    '.[1] |= (.lateness_min = -2 | .lateness_max = 1)' \
    '.[3] |= (.status = "unsupported" | .reason = "beyond the horizon" | .ns_per_event = null)'
# What is drawn is promised, too.
sed -i '1s/$/,declared_early,declared_late/; 2,$s/$/,2,8/' wrong/results.csv
printf 'trace,algo,options,fault,timer,tick,due,event,detail\nday.one,quick,,lost,7,8,9,10,"a, b"\n' \
    >wrong/faults.csv
report wrong
says wrong 'All fire late or early; the fastest, `middling:size=3` takes 60.0 ns.'
says wrong '1 failed, 1 cannot take this trace, 1 fires late or early: not ranked.'
says wrong '| -2 to 1 |'
says wrong 'day.one.trace: `quick`: **fault** (lost: 3)'
says wrong '| unsupported: beyond the horizon |'
says wrong '| `quick` | day.one | lost | 7 | 8 | 9 | 10 | a, b |'

results none '.[].status = "crashed"' '.[].ns_per_event = null' '.[].ns_per_event_mad = null'
report none
says none 'day.one.trace: no structure can be recommended.'

mkdir empty
"$TIMERLAB" report empty 2>said && complain "a report is made of nothing"
grep -q 'empty: has neither' said || complain "what is missing is not told: $(cat said)"
[ -e empty/report.md ] && complain "a failed report leaves a file"
"$TIMERLAB" report 2>/dev/null
[ $? -eq 2 ] || complain "a missing folder is not told by status 2"
"$TIMERLAB" report won close 2>/dev/null
[ $? -eq 2 ] || complain "a report of two folders is put somewhere without being told where"
cp -r won broken
printf '{"rows": [' >broken/results.json
"$TIMERLAB" report -o nowhere broken 2>said && complain "a report is made of half a file"
grep -q 'broken/results.json: line 1: ' said || complain "half a file is not named: $(cat said)"
[ -e nowhere ] && complain "a report that fails makes a folder"

# What decides comes first; what need not be read to decide is folded away, and every fold ends.
[ "$(sed -n '1,/^<details>/s/^## //p' won/report.md)" = '' ] || complain "a heading before the first fold of a report without faults"
[ "$(sed -n '1,/^<details>/s/^## //p' wrong/report.md)" = 'Faults' ] || complain "faults are not before the first fold"
[ "$(sed -n 's/^## //p' won/report.md | paste -sd ,)" = \
    'All structures,Latency of single operations,One operation at a time,The structures,How it was measured,The same again' ] ||
    complain "parts of the page: $(sed -n 's/^## //p' won/report.md | paste -sd ,)"
[ "$(grep -c '^<details>$' won/report.md)" -ge 3 ] || complain "not much is folded away"
[ "$(grep -c '^<details>$' won/report.md)" = "$(grep -c '^</details>$' won/report.md)" ] || complain "a fold does not end"

# Memory that is not counted decides nothing.
results hides '.[2].bytes_peak = 1000' '.[2].ns_per_event = 60' '.[1].bytes_peak = 2000'
jq '(.[] | select(.name == "quick")).capabilities = ["own-memory"]' hides/structures.json >noted.json
mv noted.json hides/structures.json
report hides
says hides 'Take `middling:size=3` (60.0 ns an operation): of 3 exact structures it is among the fastest, tied with `quick`, and needs the least memory of these'

# What outlives the process has columns of its own.
results outlives '.[1] += {options: "sync=none", bytes_durable: 2000000, syncs_per_fired: 0.25,
    acknowledged_lateness_max: 1234, recovery_s_per_million: 0.5}' '.[2:] |= map(. + {bytes_durable: null})'
report outlives
says outlives '| bytes on the disk | syncs per fired timer | ticks until acknowledged | recovery, s a million |'
says outlives '| 2.00 MB | 0.25 | 1,234 | 0.50 |'
silent won 'bytes on the disk'

# Who fires late does less: it is not ranked, and named if it is faster.
results late '.[2] |= (.lateness_max = 1234)' '.[].trace_checksum = "00ff"'
report late
says late 'Take `middling:size=3`: the fastest of 2 exact structures'
says late 'Faster, but late or early: `quick` takes 40.0 ns.'
says late '| day.one.trace | 00ff | - | - | 1,234,567 | 700,000 | 300,000 | 234,567 |'

# What is promised decides, and not what was seen.
promise='.[] |= (.declared_early = 0 | .declared_late = 0 | .reactions = 900 | .not_reached = 0)'
results promised "$promise" '.[2] |= (.declared_late = 8 | .lateness_max = 5 | .fired = 350000 | .averted = 40000 | .reactions = 800 | .not_reached = 100)'
jq '.context.traces = [{name: "some/where/day.one.trace", tick_ns: 4000000, open_loop: true}]' promised/results.json >noted.json
mv noted.json promised/results.json
report promised
says promised 'Faster, but late or early: `quick` takes 40.0 ns (10 % averted, 100 of 900 reactions not reached).'
says promised 'This trace is open loop: the trace does not record'
says promised '| 0 to 5 | 0 to 8 | 40,000 (10 %) | 100 |'
# What tolerates it has it, by ticks or by time.
for lateness in 8 32ms; do
    "$TIMERLAB" report --no-pictures --max-lateness "$lateness" promised 2>said || complain "no report: $(cat said)"
    says promised 'Take `quick`: the fastest of 3 structures that fire at most 8 ticks late, 40.0 ns an operation'
done
"$TIMERLAB" report --no-pictures --max-lateness 31ms promised 2>said || complain "no report: $(cat said)"
says promised 'Take `middling:size=3`: the fastest of 2 structures that fire at most 7 ticks late'
"$TIMERLAB" report --no-pictures --max-lateness 31ms late 2>said && complain "a time is taken where no tick is known"
grep -q 'do not say how long a tick of day.one.trace is' said || complain "what is missing is not told: $(cat said)"
results lone "$promise" '.[1, 3].declared_late = 8'
report lone
says lone '`quick` is the only structure to choose from: 40.0 ns an operation.'
# Nor is punctual who fired nothing because all was averted, whatever the results leave out.
results unfired '.[2] |= (.fired = 0 | .averted = 400000 | .lateness_min = null | .lateness_max = null)'
report unfired
says unfired '`quick` takes 40.0 ns (100 % averted).'

# A rank test of the single runs decides, as in `timerlab compare`, and both say the same.
results ranks '.[2].samples.ns_per_event = [40, 41, 42, 43, 49]' \
    '.[1].samples.ns_per_event = [60, 45, 90, 200, 41]' '.[3].samples.ns_per_event = [5000, 5000, 5000, 5000, 5000]'
report ranks
says ranks '5 runs vary too much to exclude `middling:size=3` (60.0 ns)'
results same_word '.[1, 2, 3].samples = {ns_per_event: [range(8) | 50 + .]}' '.[1, 2, 3].wall_ns_per_event = 80' \
    '.[2].samples.ns_per_event = [range(8) | 40 + .]' \
    '.[3].samples.ns_per_event = [range(8) | 40.1 + .]' '.[1].ns_per_event = 54' '.[2].ns_per_event = 44' '.[3].ns_per_event = 44.1'
report same_word
says same_word 'The machine was busy: wall time exceeds processor time by 69 %.'
says same_word 'of 3 exact structures it is among the fastest, tied with `slow:one|two`'
"$TIMERLAB" compare --by algo --base quick same_word >compared 2>said || complain "no comparison: $(cat said)"
grep -q 'middling:size=3 vs quick .* slower' compared || complain "compare says otherwise: $(cat compared)"
grep -q 'slow:one|two vs quick .* cannot tell' compared || complain "compare says otherwise: $(cat compared)"

# What a need is served by, where the pick does not serve it.
jq 'map(if .name == "middling" then .capabilities = ["unlimited"] else . end)' won/structures.json >noted.json
cp -r won needs
mv noted.json needs/structures.json
report needs
says needs '- deadlines without a bound: `middling:size=3`, 60.0 ns instead of 40.0 ns'

# Of several traces the first has the page's head, the others come folded.
results two_traces '. + map(.trace = "night.trace" | if .algo == "quick" then .ns_per_event = 90 else . end)'
report two_traces
says two_traces 'Picks on all 2 traces: `quick` on 1, `middling:size=3` on 1.'
says two_traces '### night.trace'
says two_traces 'night.trace: Take `middling:size=3`: the fastest of 3 exact structures'
results second_picks '(. | map(.status = "crashed" | .ns_per_event = null)) + map(.trace = "night.trace")'
report second_picks
says second_picks 'Picks on all 2 traces: `quick` on 1.'

# HTML: needs nothing beside it, and what comes from files is text in it, whatever it holds.
page() {
    grep -qF -- "$2" "$1/report.html" || complain "$1: the page does not have: $2"
}
page won '<a href="#structure-slow_one_two"><code>slow:one|two</code></a>'
page won '<a href="#structure-quick"><code>quick</code></a>'
page won '<details id="structure-quick">'
page won '<td class="figure" data-sort="40">40.0</td>'
page wrong '<tr class="failed">'
page won '<span class="bar"><span style="width:100%"></span></span>'
results hostile '.[3].reason = "<script>alert(1)</script> & \"more\""' '.[3].status = "crashed"'
jq '.context.command_line += ["\u001b[31m<script>.trace"]' hostile/results.json >with && mv with hostile/results.json
report hostile
page hostile '&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot;'
grep -qF '&lt;script>alert(1)' hostile/report.md || complain "report.md does not have the reason"
grep -F '<script' hostile/report.md && complain "report.md takes a reason for markup"
LC_ALL=C grep -l '[[:cntrl:]]' <(tr -d '\n\t' <hostile/report.md) <(tr -d '\n\t' <hostile/report.html) &&
    complain "what is in the command line comes to the page as a control character"
for name in won hostile; do
    grep -nE '(src|href)="?(https?:)?//' "$name/report.html" &&
        complain "$name: the page needs a network"
    if [ "$(grep -c '<script>' "$name/report.html")" -ne 1 ]; then
        complain "$name: the page has other scripts than its own"
    fi
done

# Where the longest calls were, and what is known of the traces beside their rows.
jq '.context.traces = [{name: "some/where/day.one.trace", tick_ns: 4000000, timers: 1000}]
    | .context.worst = [{trace: "some/where/day.one.trace", algo: "quick", options: "", op: "stop",
        ns: 5000, event: 1234, tick: 70, timer: 3}] | .context.mixed = ["text", 7]' late/results.json >noted.json
mv noted.json late/results.json
report late
says late '| day.one.trace | 00ff | 4.00 ms | 1,000 | 1,234,567'
says late '| `quick` | stop | 5.00 µs | 70 | 1,234 | 3 | - |'

# Two folders, side by side: each with its own fastest, and marked. Columns that one of them does not
# have are missing only there.
results before '.[] |= del(.stall_ns)'
results after '.[2].ns_per_event = 90'
"$TIMERLAB" report --no-pictures -o both before after 2>said ||
    complain "two folders make no report: $(cat said)"
says both 'day.one.trace (A): Take `quick`: the fastest of 3 exact structures'
says both 'day.one.trace (B): Take `middling:size=3`: the fastest'
says both '| `quick@A` | 40.0 | 1.00 | 1.00 | 5.00 MB | 20.0 | - |'
says both '| `quick@B` | 90.0 | 1.50 | 1.00 | 5.00 MB | 20.0 | 40.0 µs |'
says both '- **A**: before: 1'
silent both 'They differ in'
results other '.[].trace_checksum = "ee"'
sed -i 's/"version": "1"/"version": "2", "cpu": "another"/' other/results.json
results same '.[].trace_checksum = "ff"'
"$TIMERLAB" report --no-pictures -o both same other 2>said || complain "no report: $(cat said)"
says both 'They differ in: **version, cpu**.'
says both '- **day.one.trace is not the same trace** in A and B'

# A structure behind a front end is described like any other.
inner=$("$TIMERLAB" list --format json | jq -r '[.[] | select(.capabilities | index("baseline") | not)][0].name')
results composed '.[2].algo = "'"locked($inner)"'"'
report composed
grep -q '<details id="structure-locked' composed/report.html || complain "a composition is not described"

# The benchmark's own JSON will do instead of a table of it.
mkdir raw
jq -n '{context: {executable: "timerlab-bench", date: "that day"}, benchmarks: [("quick", "middling") as $algo | (1000, 2000) as $n | range(5) |
    {run_type: "iteration", run_name: "start/\($algo)/n:\($n)/manual_time", bytes_per_timer: 8,
     family_index: ((["quick", "middling"] | index($algo)) * 2 + $n / 1000), items_per_second: 1,
     ns_per_op: ({quick: 10, middling: 20}[$algo])}]}' >raw/bench.json
report raw
says raw '| date | that day |'
says raw '| `middling` | start | 20.0 ± 0 | 20.0 ± 0 |'
printf '{' >raw/bench.json
"$TIMERLAB" report --no-pictures raw 2>said && complain "a report is made of half a bench.json"
grep -q 'timerlab: raw/bench.json: line 1: not JSON' said || complain "half a bench.json: $(cat said)"

# Pictures, where they can be drawn.
if gnuplot -e 'set terminal pngcairo' 2>/dev/null; then
    made_up_latency won
    made_up_work won
    # Of other commands, in the same folder.
    {
        echo 'algo,options,threads,cancelled_percent,operations_per_second,call_ns_p99,status'
        for threads in 1 2 4; do
            echo "front(quick),,$threads,50,$((threads * 1000000)),200,ok"
            echo "front(slow),,$threads,50,900000,400,ok"
        done
    } >won/threads.csv
    echo 'algo,options,drive,timer_wakeups_per_second,idle_wakeups_per_second,cpu_percent
quick,,sleep,12,0,0.5
quick,,poll,1000,988,3' >won/live.csv
    {
        echo algo,options,drive,share,lateness_us
        for drive in sleep poll; do
            for share in 0 0.1 0.25 0.5 0.75 0.9 0.95 0.99 0.995 0.999 0.9999 1; do
                echo "quick,,$drive,$share,100"
            done
        done
    } >won/lateness.csv
    results sweep '[range(4) as $i | range(3) as $k | .[] | .trace = "point-\($i)-\($k)" |
        .p_timers = ([10, 100, 1000, 10000][$i]) | .p_share = $k / 2 | .p_seed = $i | .p_drive = "sleep" |
        if .algo == "quick" then .ns_per_event = 40 + 10 * $i else . end]'
    results many '[.[0], (range(50) as $i | .[2] | .algo = "made-up-\($i)" | .ns_per_event = 40 + $i)]'
    {
        head -n 1 won/latency.csv
        for i in $(seq 0 49); do
            printf 'some/where/day.one.trace,made-up-%s,,start,%s,%s,9\n' "$i" 50 $((100 - i)) "$i" 100 $((200 - i))
        done
    } >many/latency.csv
    # These are drawn while the others are looked at.
    "$TIMERLAB" report sweep 2>said-sweep &
    sweep=$!
    "$TIMERLAB" report many 2>said-many &
    many=$!
    "$TIMERLAB" report -o both before after 2>said-both &
    both=$!
    "$TIMERLAB" report won 2>said || complain "there is no report with pictures: $(cat said)"
    if grep -i -e warning -e gnuplot said; then complain "won: gnuplot complains"; fi
    results unmeasured '.[].stall_ns = null'
    for folder in wrong none unmeasured; do
        "$TIMERLAB" report $folder 2>said ||
            complain "$folder: pictures were not drawn: $(cat said)"
        if grep -i -e warning -e gnuplot said; then complain "$folder: gnuplot complains"; fi
    done
    # Traces of one name in two folders have pictures of their own.
    results twins '. + map(.trace = "another/day.one.trace" | .ns_per_event = 7)'
    "$TIMERLAB" report twins 2>said || complain "twins: no report: $(cat said)"
    grep -q ',40' twins/pictures/throughput-day.one.csv || complain "twins: $(cat twins/pictures/throughput-day.one.csv)"
    grep -q ',7' twins/pictures/throughput-day.one-2.csv || complain "twins: $(ls twins/pictures)"
    # Drawn again by hand, from the same data.
    cp twins/pictures/memory-day.one.svg first.svg
    rm twins/pictures/*.svg
    "$SOURCE/plots/draw" twins/pictures 2>said || complain "drawn again: $(cat said)"
    cmp -s first.svg twins/pictures/memory-day.one.svg || complain "drawn again, it is another picture"
    # Of a thousand structures the best are drawn, and the page says so.
    results thousand '[.[0], (range(1000) as $i | .[2] | .algo = "made-up-\($i)" |
        .ns_per_event = 2000 - $i | .bytes_per_timer = $i)]'
    "$TIMERLAB" report thousand 2>said ||
        complain "thousand: pictures were not drawn: $(cat said)"
    [ "$(cut -d, -f1 thousand/pictures/throughput-day.one.csv | tail -n +2 | tr '\n' ' ')" = \
        "idle-one $(printf 'made-up-%d ' $(seq 999 -1 940))" ] ||
        complain "of a thousand not the fastest 60 are drawn: $(cut -d, -f1 thousand/pictures/throughput-day.one.csv | head -4)"
    [ -s thousand/pictures/memory-day.one.svg ] || complain "of a thousand no memory is drawn"
    grep -q 'The 60 best of 1000 structures are drawn; the table has all' thousand/pictures/pictures.csv ||
        complain "nothing says how many of a thousand are drawn: $(cat thousand/pictures/pictures.csv)"
    for name in throughput-day.one stall-day.one memory-day.one latency-day.one wakeups-day.one \
        work-day.one cost threads live live-lateness; do
        for ending in csv svg png; do
            [ -s "won/pictures/$name.$ending" ] || complain "there is no $name.$ending"
        done
    done
    [ "$(cut -d, -f1 won/pictures/throughput-day.one.csv | tr '\n' ' ')" = \
        'series idle-one quick middling:size=3 slow:one|two ' ] ||
        complain "the rows of a picture are not in the order of their values"
    # What is punctual has no place in a picture of lateness; what a folder does not know is not drawn.
    [ ! -e won/pictures/lateness-day.one.svg ] || complain "lateness is drawn where there is none"
    [ ! -e won/pictures/cost-limit.svg ] || complain "limits are drawn that nobody measured"
    [ "$(cut -d, -f1,5,8 wrong/pictures/lateness-day.one.csv | tail -n +2)" = 'middling:size=3,-2,1' ] ||
        complain "lateness: $(cat wrong/pictures/lateness-day.one.csv)"
    # Two stretches are one, and the worst of both is theirs; what is nothing stands at the axis' end.
    [ "$(grep -E '^quick,.*,(worst|mean),400,' won/pictures/work-day.one.csv | cut -d, -f5- | tr '\n' ' ')" = \
        'worst,400,407,990,990,402,980,1,1 mean,400,407,127,127,400,0,4,1 ' ] ||
        complain "work: $(grep 400, won/pictures/work-day.one.csv)"
    [ "$(grep -E '^idle-one,.*,worst,480,' won/pictures/work-day.one.csv | cut -d, -f5-)" = \
        'worst,480,487,0,0.01,480,0,1,0' ] || complain "no work: $(grep 480, won/pictures/work-day.one.csv)"
    [ "$(grep -c '^quick,.*,worst,' won/pictures/work-day.one.csv)" -eq 100 ] ||
        complain "200 stretches are not 100 points"
    # Grey for the yardstick, and a colour of its own for each of the others.
    [ "$(cut -d, -f4 won/pictures/throughput-day.one.csv | sort | uniq -d)" = "" ] ||
        complain "two series of a picture have the same style"
    grep -q '^idle-one,idle-one,,0,' won/pictures/throughput-day.one.csv ||
        complain "the yardstick does not have a yardstick's style"
    # A stall that nobody measured is none of 0.
    [ ! -e unmeasured/pictures/stall-day.one.svg ] || complain "a stall is drawn that was not measured"
    grep -q unsupported wrong/pictures/throughput-day.one.svg ||
        complain "a picture does not say what did not run"
    says won '(pictures/latency-day.one.png)'
    says won '(pictures/cost.svg)'
    page won '<g class="value"><title>quick: 40.0 ± 1.00, Time per event, day.one</title>'
    page won '<g class="value"><title>quick: 12.0 ns at 50 %, start</title>'
    page won '<g class="value"><title>quick: 990 at tick 402, with 980 cascades and 1 fired</title>'
    page won 'A spike is a tick at which'
    page won 'front(quick): 4.00 M a second with 4 threads'
    page won 'quick: 1,000, Wakeups for timers'
    [ "$(grep -oE 'id="[^"]*"' won/report.html | sort | uniq -d)" = "" ] ||
        complain "identifiers of the page occur twice"
    wait $both || complain "two folders: no pictures: $(cat said-both)"
    [ "$(cut -d, -f1 both/pictures/throughput-day.one.csv | tr '\n' ' ')" = \
        'series idle-one@A idle-one@B quick@A middling:size=3@A middling:size=3@B quick@B slow:one|two@A slow:one|two@B ' ] ||
        complain "a picture of two folders does not have both: $(cat both/pictures/throughput-day.one.csv)"

    # A sweep: the map of who is the fastest, and lines against each knob; not every trace by itself.
    wait $sweep || complain "a sweep has no report: $(cat said-sweep)"
    [ "$(tail -n +2 sweep/pictures/regime-timers-share.csv | cut -d, -f1,3- | tr '\n' ' ')" = \
        'quick,1,1,10,0,40.00,middling:size=3,1.50,1 quick,1,2,10,0.5,40.00,middling:size=3,1.50,1 quick,1,3,10,1,40.00,middling:size=3,1.50,1 quick,2,1,100,0,50.00,middling:size=3,1.20,1 quick,2,2,100,0.5,50.00,middling:size=3,1.20,1 quick,2,3,100,1,50.00,middling:size=3,1.20,1 middling:size=3,3,1,1000,0,60.00,quick,1.00,0 middling:size=3,3,2,1000,0.5,60.00,quick,1.00,0 middling:size=3,3,3,1000,1,60.00,quick,1.00,0 middling:size=3,4,1,10000,0,60.00,quick,1.17,1 middling:size=3,4,2,10000,0.5,60.00,quick,1.17,1 middling:size=3,4,3,10000,1,60.00,quick,1.17,1 ' ] ||
        complain "the map is wrong: $(cat sweep/pictures/regime-timers-share.csv)"
    [ "$(tail -n +2 sweep/pictures/pictures.csv | cut -d, -f1 | tr '\n' ' ')" = \
        'regime-timers-share sweep-ns-timers sweep-bytes-timers sweep-stall-timers sweep-start-timers sweep-ns-share sweep-bytes-share sweep-stall-share sweep-start-share ' ] ||
        complain "a sweep has other pictures: $(cat sweep/pictures/pictures.csv)"
    says sweep 'Picks on all 12 traces: '
    # Figures for a paper: the same pictures, each as one file of the wanted format and size.
    "$TIMERLAB" report --figures pdf --size 480x300 -o paper sweep 2>said || complain "no figures: $(cat said)"
    [ -e paper/report.html ] && complain "figures come with a page"
    [ "$(cd paper/figures && printf '%s\n' *.pdf)" = "$(cd sweep/pictures && printf '%s\n' *.svg | sed 's/svg$/pdf/')" ] ||
        complain "other figures than pictures: $(ls paper/figures)"
    for file in paper/figures/*.pdf; do
        grep -qaE '/MediaBox \[ 0 0 360 (22[5-9]|[3-9][0-9]{2})' "$file" ||
            complain "$file is not 480 pixels wide, and 300 high or more for its panels: $(grep -a MediaBox "$file")"
    done
    "$TIMERLAB" report --figures svg --size 640x720 won 2>said || complain "no figures: $(cat said)"
    for file in won/figures/*.svg; do
        grep -q 'viewBox="0 0 640 720"' "$file" || complain "$file is not 640 by 720 pixels: $(grep viewBox "$file")"
    done
    for wrong in '--size 480x300' '--figures svg --size 480' '--figures svg --size 0480x300' '--figures svg --no-pictures'; do
        # shellcheck disable=SC2086 # several words
        "$TIMERLAB" report $wrong won 2>said
        [ $? -eq 2 ] || complain "report $wrong is accepted: $(cat said)"
    done
    # Its colours: each winner has one of its own, the same in every map where nobody else has it.
    colours() { # STYLE...: of a map with winners of these looks, in the legend's order
        local at=0 style
        printf 'series,style,column,row,x,y,ns_per_event,next,times,certain\n' >map.csv
        for style; do
            at=$((at + 1))
            printf 'winner-%d,%d,%d,1,%d,1,10,quick,1.5,1\n' $at "$style" $at $at >>map.csv
        done
        gnuplot -c "$SOURCE/plots/style.gp" regime map.csv map "" x y >said 2>&1 ||
            complain "no map: $(cat said)"
        grep -o "fill = 'rgb([^)]*)' fill-opacity = '0.750000'" map.svg
    }
    [ "$(colours 5 12 7 14 9 2 | sort -u | wc -l)" -eq 6 ] || complain "winners share a colour: $(colours 5 12 7 14 9 2)"
    [ "$(colours 1 13 25 37 2 | sort -u | wc -l)" -eq 5 ] || complain "winners share a colour: $(colours 1 13 25 37 2)"
    [ "$(colours 12 3)" = "$(colours 5 12 3 | tail -n 2)" ] || complain "a winner's colour depends on the others"

    # Very many structures: ten keep their looks, and the others are behind them.
    wait $many || complain "fifty structures have no report: $(cat said-many)"
    [ "$(cut -d, -f4 many/pictures/latency-day.one.csv | grep -c -e -99)" -eq 80 ] ||
        complain "not forty of fifty structures are muted"
    grep -q '40 others' many/pictures/latency-day.one.svg || complain "the legend does not say how many"
    if grep -q 'made-up-39<' many/pictures/latency-day.one.svg; then
        complain "the legend names what is muted"
    fi
    # However little the values of a panel differ, two marks say on what scale.
    for values in '210 210' '210 214' '520 900' '21 1950' '1100 74000'; do
        # shellcheck disable=SC2086 # two words
        printf 'series,style,op,n,longest_advance_ns\none,1,hold,1000,%s\none,1,hold,100000,%s\n' $values >narrow.csv
        gnuplot -c "$SOURCE/plots/style.gp" cost narrow.csv narrow "" longest_advance_ns >said 2>&1 ||
            complain "a panel with $values is not drawn: $(cat said)"
        [ "$(grep -cE '>[0-9]+ (ns|µs)<' narrow.svg)" -ge 2 ] || complain "an axis with $values has no two marks"
    done
else
    printf 'no gnuplot with pngcairo: pictures are not tried\n'
fi

# Without /proc, where a program cannot tell what lies beside it, it says what to do.
if unshare -rm mount -t tmpfs none /proc 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell has it
    unshare -rm sh -c 'mount -t tmpfs none /proc && "$TIMERLAB" report won' 2>said && complain "drawn without /proc"
    grep -q 'path cannot be determined: /proc/self/exe: .*mount -t proc proc /proc' said || complain "without /proc: $(cat said)"
fi

# What draws and reports knows no structure by its name.
"$TIMERLAB" list --format json | jq -r '.[].name' | grep -- - >names
if grep -rnwF -f names "$SOURCE/plots" "$SOURCE"/sim/*/*report*; then
    complain "a structure is named"
fi

finish
