#!/usr/bin/env bash
# Five people who come with a trace each: the first 20 lines that `sim` prints, and the first screen of the report in a
# wide and a narrow window, have the structure to take, the margin, how sure that is, and the cost at the trace's rate.
# Which structure that is, and whether it is sure, is the machine's business.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

must() {
    "$@" >log 2>&1 || fail "$*: $(tail -n 3 log)"
}

must "$TIMERLAB" trace import ftrace "$SOURCE/tests/data/kernel-nginx.ftrace.txt.zst" -o kernel.trace
awk 'BEGIN {
    srand(7)
    for (i = 0; i < 5000; i++) {
        t += rand() < 0.1
        printf "10.%d.%d.%d - - [01/Aug/2026:%02d:%02d:%02d +0000] \"GET /%d HTTP/1.1\" 200 512 \"-\" \"agent\"\n",
            rand() * 4, rand() * 16, rand() * 16, t / 3600, t % 3600 / 60, t % 60, i
    }
}' >access.log
must "$TIMERLAB" trace import access-log access.log --idle 30 -o web-log.trace
must "$TIMERLAB" trace gen heartbeat -n 2000 --seconds 60 --seed 1 -o heartbeats.trace
must "$TIMERLAB" trace gen delay-queue -n 5000 --seconds 36000 --seed 1 -o delay-queue.trace
awk 'BEGIN {
    srand(3)
    print "time,client,op,delay"
    for (i = 0; i < 10000; i++) {
        t += rand() / 50
        starts = rand() < 0.8
        printf "%.4f,c%d,%s,%s\n", t, rand() * 500, starts ? "start" : "stop", starts ? 5 : ""
    }
}' >requests.csv
must "$TIMERLAB" trace import events requests.csv --time time --key client --op op --delay delay -o requests.trace

traces='kernel web-log heartbeats delay-queue requests'
number='[0-9.,]+'
claims=(
    "Take [^ ]+"
    "(takes $number (% longer|times as long)|tied with [^ ]+|to exclude [^ ]+ \\($number ns\\))"
    "(Sure: 5 runs|5 runs show no difference|5 runs vary too much)"
    "At the trace's rate, $number [a-z ]*operations a second, it needs (less than )?$number % of one core; [^ ]+, the slowest, (less than )?$number %"
)
for trace in $traces; do
    "$TIMERLAB" sim "$trace.trace" -a binary-heap,simple-wheel,round-wheel:slots=4096,hier-wheel,radix-heap --runs 5 \
        -o "$trace" >said 2>err || complain "$trace: $(cat err)"
    awk 'length > 80' said | head -n 20 | grep -q . && complain "$trace: more than 80 columns: $(cat said)"
    head -n 20 said | tr '\n' ' ' >first
    for claim in "${claims[@]}"; do
        grep -qE -- "$claim" first || complain "$trace: the first 20 lines are without '$claim': $(head -n 20 said)"
    done
    [ "$(head -n 20 said | grep -cE '^  [a-z-]+(:slots=4096)? +[0-9.,]+ +#+ +[0-9.]+ [kMG]?B$')" -eq 5 ] ||
        complain "$trace: the first 20 lines are without five rows: $(head -n 20 said)"
    must "$TIMERLAB" report --no-pictures "$trace"
done

# A trace whose timed window is empty has no times, and the answer says why.
must "$TIMERLAB" trace gen delay-queue -n 100 --seconds 1 --seed 1 -o empty.trace
"$TIMERLAB" sim empty.trace -a binary-heap,hier-wheel >said 2>err || complain "empty: $(cat err)"
grep -q 'empty.trace: checked, not timed: no operation is in its timed window' said || complain "empty: $(head -n 3 said)"

[ $failures -eq 0 ] || finish
# shellcheck source=tests/report/browser.bash
source "$SOURCE/tests/report/browser.bash"
open_session
for trace in $traces; do
    request POST "$session/url" "{\"url\": \"file://$scratch/$trace/report.html\"}" >/dev/null || fail "$trace: no page"
    for size in '1300 800' '390 844'; do
        # shellcheck disable=SC2086 # two words
        screen $size
        expect "$trace, $size: claims that the first screen is without" '[]' \
            "$seen const text = document.querySelector('.verdict');
             return $(jq -n '$ARGS.positional' --args -- "${claims[@]}").filter(
                 (claim) => !shown(text) || !new RegExp(claim).test(text.innerText.replace(/\\s+/g, ' ')))"
        expect "$trace, $size: rows and bars of the first screen" '[5,5]' \
            "$seen return ['th', '.bar > span'].map((what) =>
                 Array.from(document.querySelectorAll('#best tbody ' + what)).filter(shown).length)"
        shot "$trace-${size% *}"
    done
done
finish
