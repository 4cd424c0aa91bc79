# shellcheck shell=bash
# A value that an option does not take is refused with the values that it takes.
printf 'tick,id,op,delay\n0,0,start,5\n' | timerlab trace import csv - -o t.trace 2>/dev/null
try list --format xml
try sim -a all
try sim t.trace
try sim t.trace -a binary-heap,all
try sim t.trace -a all --drive hop
try sim t.trace -a all --budget 0
try sim t.trace -a all --pause 5:0
try sim t.trace -a all --pause 1:1+3:1+5:1+7:1+9:1+11:1+13:1+15:1+17:1
try sim t.trace -a all --service 5
try sim t.trace -a all --service 5ms --ranks-in-turn 2
try sim t.trace -a all --window 5:4
try sim t.trace --plugin ./none.so -a all
try list --plugin ''
try sim none.trace -a all
try threads -a 'lazy(binary-heap)'
