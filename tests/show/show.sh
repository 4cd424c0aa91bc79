#!/usr/bin/env bash
# timerlab show, as its users meet it: what it prints of a script and of a trace, what it draws, and
# what it says of mistakes.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# shows PATTERN ARGUMENT...: a line like this on standard output
shows() {
    local pattern=$1
    shift
    "$TIMERLAB" show "$@" >out 2>err || complain "show $*: $(cat err)"
    grep -qE -- "$pattern" out || complain "show $*: no line like '$pattern' in
$(head -c 3000 out)"
}

shows 'slot 1    tick 1          a@4, 1 round\*' round-wheel:slots=3:pow2=no 'start a 4'
shows '^  ! the deadline is beyond' simple-wheel:slots=3 'start a 3'
shows 'b@3 stale' brpc-timer 'start b 3; start b 8'
shows 'b@3 stale  b@8' go-heap 'start b 3; start b 8'
shows '\[flagged\]' bitmap-wheel 'start b 3'
shows '\.\.\. 29 empty' round-wheel:slots=32 'start a 2; start b 3'
shows 'due now' hier-wheel 'start a 0'
# a restart to later and a stop leave the entry, one to sooner moves it
shows 'slot 5 .* a@12\*  \[flagged\]' chunk-wheel 'start a 5; start a 12'
shows 'slot 12 .* a@12\*  \[flagged\]' chunk-wheel 'start a 5; start a 12; wake'
shows 'slot 7 .* b@7\*  \[flagged\]' chunk-wheel 'start b 20; start b 7'
shows 'slot 20 .* b@20 stale' chunk-wheel 'start b 20; stop b'
shows 'slot 59 .* a@1000000000\*' chunk-wheel 'start a 1000000000'
shows 'slot 1 .* d@9  e@12  f@40, 1 round\*' calendar-queue \
    'start a 2; start b 4; start c 7; start d 9; start e 12; start f 40'
shows 'rung 0, 3 slots of 1666 ticks' ladder-queue 'start a 12; start b 3; start c 5000; wake'
shows '> slot 1 .* a@9, 2 rounds\*' spoke-wheel:spokes=4 'tick; start a 9'

# a structure that does not show its inside
cat >closed.c <<'EOF'
#define timerlab_algo inner
#include "structures/ordered_list.c"
#undef timerlab_algo
const struct tl_algo timerlab_algo = {
    .abi = TL_ABI, .capabilities = TL_CAP_EXACT, .name = "closed", .summary = "s", .origin = "o",
    .description = "d", .cost = {"1", "1", "1", "1"}, .create = ordered_create,
    .destroy = nodes_destroy, .reserve = ordered_reserve, .start = ordered_start,
    .stop = ordered_stop, .advance = ordered_advance, .count = nodes_count};
EOF
if "$CC" -shared -fPIC -I"$SOURCE/algos" -I"$SOURCE/algos/parts" closed.c -o closed.so; then
    shows 'does not show its inside' --plugin ./closed.so closed 'start a 5; start b 3'
    shows '^      1    b@3$' --plugin ./closed.so closed 'start a 5; start b 3; tick'
    refuses 1 'does not say when it next has work' "$TIMERLAB" show --plugin ./closed.so closed 'wake'
else
    complain "closed.c does not compile"
fi

# a window of a trace: timers are known by their numbers, what comes before is applied unseen
cat >trace.csv <<'EOF'
tick,id,op,delay
0,0,start,5
0,1,start,7
3,0,start,9
4,1,stop,
6,2,start,2
6,3,start,50
20,1,start,3
EOF
"$TIMERLAB" trace import csv trace.csv -o t.trace 2>err || complain "$(cat err)"
cat >window <<'EOF'
step 0: before the window
step 1: stop 1
step 2: start 2 8
step 3: start 3 56
step 4: advance 8 (nothing to do from 7 on)
step 5: advance 12
EOF
"$TIMERLAB" show hier-wheel --trace t.trace --from 4 --to 19 >out 2>err || complain "$(cat err)"
grep '^step' out | diff window - >&2 || complain "the window's steps are not as expected"
grep -q '  fires 0@12' out || complain "timer 0 does not fire at its restart's deadline"
"$TIMERLAB" show simple-wheel --trace t.trace --from 4 --to 19 --ids 0,2-2 >out 2>err || complain "$(cat err)"
printf '%s\n' 'step 0: before the window' 'step 1: start 2 8' \
    'step 2: advance 8 (nothing to do from 7 on)' \
    'step 3: advance 12 (nothing to do from 9 on)' >window
grep '^step' out | diff window - >&2 || complain "the window of two timers is not as expected"

# what a firing causes comes with it: in the callback, or behind it where it is a timer's that is due
cat >caused.csv <<'EOF'
tick,id,op,delay,cause
0,0,start,5,
0,1,start,5,
5,0,start,5,0
5,1,start,3,0
8,0,stop,,1
EOF
"$TIMERLAB" trace import csv caused.csv -o c.trace 2>err || complain "$(cat err)"
cat >window <<'EOF'
step 0: before the window
step 1: advance 5
  ! in its callbacks: start 0 10
step 2: start 1 8
step 3: advance 8 (nothing to do from 6 on)
  ! in its callbacks: stop 0
EOF
"$TIMERLAB" show simple-wheel --trace c.trace --from 5 --to 19 >out 2>err || complain "$(cat err)"
grep -E '^(step|  !)' out | diff window - >&2 || complain "what firings cause is not as expected"

# pictures
"$TIMERLAB" show hier-wheel:slots=3 'start <&> 4; tick 2' -q -o all.svg >out 2>err || complain "$(cat err)"
[ -s out ] && complain "-q prints something"
grep -q '&lt;&amp;&gt;@4' all.svg || complain "a name is not escaped in the picture"
"$TIMERLAB" show hier-wheel:slots=3 'start a 4; tick 2' -q -o pictures/steps 2>err || complain "$(cat err)"
found=$(cd pictures/steps && printf '%s ' *)
[ "$found" = 'step-000.svg step-001.svg step-002.svg step-003.svg ' ] ||
    complain "not a picture for each step: $found"
if command -v xmllint >/dev/null; then
    xmllint --noout all.svg pictures/steps/*.svg || complain "a picture is not well-formed XML"
fi

# large insides stay readable, long scripts end
shows 'and 136 more' round-wheel:slots=1 "$(seq -f 'start t%g 1000;' 200)"
"$TIMERLAB" show ordered-list 'start a 5000; tick 1000' >out 2>err || complain "$(cat err)"
grep -q 'more than 1000 steps' err || complain "it does not say that it left steps out"

refuses 2 'which structure' "$TIMERLAB" show --clock 3
refuses 2 "did you mean 'hier-wheel'" "$TIMERLAB" show hier-whel 'tick'
refuses 2 'one structure at a time' "$TIMERLAB" show all 'tick'
refuses 2 'nothing to show' "$TIMERLAB" show hier-wheel
refuses 2 'nothing to show' "$TIMERLAB" show hier-wheel 'tick' -f script
refuses 2 'put it in quotes' "$TIMERLAB" show hier-wheel start a 2
refuses 2 'choose from a --trace' "$TIMERLAB" show hier-wheel 'tick' --from 3
refuses 2 'from is after --to' "$TIMERLAB" show hier-wheel --trace t.trace --from 5 --to 3
refuses 2 "--ids takes at most 4095 whole numbers from 0 to 4294967295, as in 3,7-9, not '5-3'" "$TIMERLAB" show hier-wheel --trace t.trace --ids 5-3
refuses 1 'a step begins with' "$TIMERLAB" show hier-wheel 'go 3'
refuses 1 'no steps' "$TIMERLAB" show hier-wheel ' ; # nothing'
refuses 1 "step 'start a': which tick" "$TIMERLAB" show hier-wheel 'tick; start a'
refuses 1 "'x' is not a tick" "$TIMERLAB" show hier-wheel 'start a x'
refuses 1 "'5' is too much" "$TIMERLAB" show hier-wheel 'stop a 5'
refuses 1 'time does not go back' "$TIMERLAB" show hier-wheel 'advance 5; advance 3'
refuses 1 'does not say when it next' "$TIMERLAB" show round-wheel 'wake'
refuses 1 'nothing to show' "$TIMERLAB" show null 'tick'
refuses 1 'before the window' "$TIMERLAB" show hier-wheel --trace t.trace --from 100000
refuses 1 'none: cannot be read' "$TIMERLAB" show hier-wheel -f none
refuses 1 'none.trace' "$TIMERLAB" show hier-wheel --trace none.trace
refuses 1 'cannot be' "$TIMERLAB" show hier-wheel 'tick' -q -o /dev/null/x/y.svg

finish
