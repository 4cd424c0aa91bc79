# shellcheck shell=bash
# A wrong word gets the nearest one, or else the command that lists all.
printf 'tick,id,op,delay\n0,0,start,5\n' | timerlab trace import csv - -o t.trace 2>/dev/null
for word in lst smi simulate gen imprt nothing; do
    try "$word"
done
try cluster chek
try trace nothing
try list --fromat json
try sim --latecy=x
try sim --zzzzzz
try describe hier-whel
try describe
for structure in binaryheap simple-wheel:slot=5 nothing 'nothing(binary-heap)' simple-wheel:nothing=5 round-wheel:slots=0; do
    try sim t.trace -a "$structure"
done
try trace gen nothing -o x.trace
try trace gen idle -p nothing=1 -o x.trace
try trace gen hold -p increments=nothing -o x.trace
try trace import nothing x.txt -o x.trace
try check -a rbtree --case nothing
try cluster check nothing
try cluster sim lease -p nothing=1
