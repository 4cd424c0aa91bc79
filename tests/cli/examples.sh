#!/usr/bin/env bash
# Each command's help has examples, short enough for a terminal, and they work as they stand: they run here in their
# order, with less traffic. So does the manual page.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
mkdir bin
ln -s "$TIMERLAB" bin/timerlab
PATH=$scratch/bin:$PATH
# The files that the examples name.
cp "$SOURCE/tests/data/kernel-nginx.ftrace.txt.zst" my.txt.zst
for i in 1 2 3; do
    printf '10.0.0.%d - - [10/Oct/2025:13:55:%02d +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n' $i $((i * 7))
done >access.log

# commands [TABLE]: the full names of all commands, down the tables.
commands() {
    local name
    for name in $(timerlab ${1+"$@"} --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        if timerlab ${1+"$@"} "$name" --help | grep -q '^Usage: [a-z -]* COMMAND '; then
            commands ${1+"$@"} "$name"
        else
            printf '%s\n' "${1+$* }$name"
        fi
    done
}
# Made by some of the others before: traces first.
mapfile -t all < <(commands | sort -k1,1 | awk '$1 == "trace" { print "0 " $0; next } $1 == "sim" { print "1 " $0; next }
    { print "2 " $0 }' | sort -s -k1,1 | cut -d ' ' -f 2- | awk '$2 == "gen" { print "0 " $0; next } { print "1 " $0 }' |
    sort -s -k1,1 | cut -d ' ' -f 2-)
[ ${#all[@]} -gt 20 ] || complain "only ${#all[@]} commands: ${all[*]}"
for command in "${all[@]}"; do
    # shellcheck disable=SC2086 # words
    timerlab $command --help | sed -n '/^Examples:$/,$p' | sed 1d >lines
    [ -s lines ] || complain "$command has none"
    ! grep -vE '^  (timerlab|mpirun) .{1,75}$' lines >bad || complain "$command: $(cat bad)"
    while IFS= read -r line; do
        case $line in
        *' record '* | *' cluster run '*) continue ;; # other programs, which need not be here
        *results/before*) cp -r results/mine results/before && cp -r results/mine results/after ;;
        esac
        line=$(sed -E 's/-n (100k|1m|10k)/-n 200/; s/--seconds (10|5)/--seconds 1/; s/--timeout 5/--timeout 0.2 --seconds 0.5/
            s/-n 1k,10k/-n 50,100/; s/--latency/--latency --runs 5/' <<<"$line")
        [[ $line != *' tune '* ]] || line+=' --counts'
        bash -c "$line" >out 2>err </dev/null || complain "$line: $(tail -n 3 err)"
        [[ $line != *' live '* ]] || bash -c "$line --format json" 2>err |
            jq -e 'all(.rows[]; .fired_per_second > 0)' >/dev/null || complain "$line: fires nothing"
    done <lines
done

if command -v mawk >/dev/null; then
    mkdir pages
    ASAN_OPTIONS=detect_leaks=0 mawk -v timerlab="$TIMERLAB" -v version=1 -v folder=pages -f "$SOURCE/sim/cli/install/man.awk"
    grep -A 3 '^[.]SH EXAMPLES' pages/timerlab-trace-gen.1 | grep -qF 'timerlab trace gen server \-n 100k' ||
        complain "no examples in the manual: $(ls pages)"
    [ "$(grep -l '^[.]SH EXAMPLES' pages/* | wc -l)" -eq ${#all[@]} ] || complain "not all pages have examples"
fi

bench=$BUILD/bench/timerlab-bench
if [ -x "$bench" ]; then
    ln -s "$bench" bin/timerlab-bench
    timerlab-bench --help | sed -n '/^Examples:$/,/^$/p' | grep '^  ' >lines || complain "timerlab-bench has none"
    while IFS= read -r line; do
        line="${line/1k,1m/1k} --benchmark_min_time=0"
        [[ $line == *filter* ]] || line+=" --benchmark_filter=^start/"
        bash -c "$line" >out 2>err </dev/null || complain "$line: $(tail -n 3 err)"
    done <lines
    mawk -v bench="$bench" -v version=1 -v folder=pages -f "$SOURCE/sim/cli/install/man.awk"
    grep -A 2 '^[.]SH EXAMPLES' pages/timerlab-bench.1 | grep -q '^timerlab.*filter=.hold' || complain "no examples in timerlab-bench.1"
fi

finish
