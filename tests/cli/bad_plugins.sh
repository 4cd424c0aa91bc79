#!/usr/bin/env bash
# A table of what a plug-in may do wrong, and where, against every command that takes plug-ins: rows of other
# structures are there and right, its own row or a message says what it did, the command ends, with status 1, and
# no file and no process is left. bad_plugin.c leaves a file in $TMPDIR and does what BAD_KIND says where BAD_PLACE says.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
bench=$BUILD/bench/timerlab-bench

# AddressSanitizer would speak of a crash in its own words, and end the process itself.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_sigbus=0:handle_abort=0:detect_leaks=0
export TIMERLAB_HOOK_SECONDS=1

"$CC" -shared -fPIC -O1 -D_GNU_SOURCE -I"$SOURCE/algos" "$SOURCE/tests/cli/bad_plugin.c" -o bad.so -lpthread || exit 1

# What is to be said of each kind; of the last ones nothing, where a command does without what they take away.
declare -A said=(
    [crash]='killed by signal 11' [abort]='killed by signal 6' [jump]='killed by signal'
    [recurse]='killed by signal 11' [memory]='killed by signal|ended itself|out of memory'
    [loop]='not done after 1' [sleep]='not done after 1' [stop]='not done after 1' [block]='not done after 1'
    [exit]='ended itself with exit status 0' [leave]='ended itself with exit status 0'
    [fork]='made processes' [daemon]='made processes' [thread]='made threads|killed by signal' [print]='printed [0-9]+ bytes'
    [close]='' [dup2]='' [chdir]='' [limit]=''
)
# The kit has words of its own.
declare -A kit_said=(
    [crash]='crashed with SIGSEGV' [abort]='crashed with SIGABRT' [jump]='crashed with SIG' [recurse]='crashed with SIGSEGV'
    [memory]='crashed with SIG|ended the process' [loop]='did not return' [sleep]='did not return' [stop]='did not return'
    [block]='did not return' [exit]='ended the process with status 0' [leave]='ended the process with status 0'
    [fork]='made processes' [daemon]='made processes' [thread]='made threads' [print]='printed [0-9]+ bytes'
)

"$TIMERLAB" trace gen rpc -n 30 --seconds 20 -o t.trace 2>err || cat err
"$TIMERLAB" trace gen heartbeat -n 10 --seconds 30 -o f.trace 2>err || cat err
event() { printf '  sh-%s [00%s] %s %s: %s\n' "$@"; }
{
    event 7 0 d..1. 4.000000 'timer_start: timer=a1 function=red expires=1070 [timeout=70] bucket_expiry=1072 cpu=0 idx=0 flags='
    event 7 0 d..1. 4.000002 'timer_start: timer=c3 function=red expires=1010 [timeout=10] bucket_expiry=1011 cpu=0 idx=0 flags='
    event 7 0 d..1. 4.000003 'timer_start: timer=d4 function=red expires=1020 [timeout=20] bucket_expiry=1021 cpu=0 idx=0 flags='
    event 7 0 d..1. 4.010003 'timer_cancel: timer=c3'
    event 0 0 ..s1. 4.088000 'timer_cancel: timer=d4'
    event 0 0 ..s1. 4.088000 'timer_expire_entry: timer=d4 function=red now=1022 baseclk=1022'
} >kernel.txt

# The commands, and what of their output is about the good structure and deterministic.
declare -A commands=(
    [sim]="sim t.trace f.trace -a binary-heap,bad --runs 0 --format csv"
    [timed]="sim f.trace -a binary-heap,bad --runs 1 --latency --format csv"
    [check]="check -a binary-heap,bad --case callback-mixed --seconds 0 --format json"
    [live]="live -a binary-heap,bad --drive sleep -n 50 --rate 100 --timeout 0.03 --seconds 0.06 --format csv"
    [threads]="threads -a locked(binary-heap),locked(bad) --threads 2 --cancelled 50 --timers 50 --operations 500 --format csv"
    [predict]="predict ftrace kernel.txt -a binary-heap,bad --format csv"
    [show]="show bad start~a~2;start~b~3;stop~b;wake"
    [list]="list"
    [describe]="describe bad"
    [tune]="tune f.trace -a binary-heap,bad --counts --format json"
    [sweep]="sweep rpc -n 30 --seconds 2 -a binary-heap,bad --runs 1 -o OWN/swept"
    [bench]="-a binary-heap -a bad -n 100 --plain-rows --patience 0.1 --benchmark_repetitions=1 --benchmark_min_time=0
        --benchmark_filter=^(start|stop|expire|next)/ --benchmark_format=json"
)
[ -x "$bench" ] || unset 'commands[bench]'
good() { # COMMAND OUTPUT
    case $1 in
    sim) grep ',binary-heap,' "$2" ;;
    timed) grep ',binary-heap,' "$2" | cut -d , -f 1-24 ;;
    check) jq -c '.rows[] | select(.algo == "binary-heap") | [.case, .status, .operations]' "$2" ;;
    live) grep -c '^binary-heap,.*,ok,' "$2" ;;
    threads) grep -c '^locked(binary-heap),.*,ok$' "$2" ;;
    predict) grep ',binary-heap,' "$2" ;;
    cluster) grep ',binary-heap,' "$2" ;;
    list) grep -v '^bad ' "$2" | tr -s ' ' | sed 's, $,,' | head -n 20 ;;
    tune) jq -c '[.candidates[] | select(.algo == "binary-heap") | .options, .stage]' "$2" ;;
    sweep) grep -o 'binary-heap.*ok' "$2" | head -n 1 ;;
    bench) jq -c '[.benchmarks[] | select((.name | contains("/binary-heap/")) and (.error_occurred | not)) | .name] | sort' "$2" ;;
    esac
}

run() { # COMMAND KIND PLACE: in a folder of its own
    local own=$scratch/$1-$2-$3 status=0 words word program
    mkdir -p "$own/tmp"
    IFS=$' \n' read -rd '' -a words <<<"${commands[$1]}"
    for word in "${!words[@]}"; do
        words[word]=${words[word]//OWN/$own}
        words[word]=${words[word]//\~/ }
    done
    program=$TIMERLAB
    [ "$1" != bench ] || program=$bench
    BAD_KIND=$2 BAD_PLACE=$3 TMPDIR=$own/tmp timeout 100 "$program" "${words[@]}" --plugin ./bad.so \
        >"$own/out" 2>"$own/err" </dev/null || status=$?
    judge "$1" "$2" "$3" "$own" $status >"$own/complaints" 2>&1
}

judge() { # COMMAND KIND PLACE FOLDER STATUS
    local wanted=${said[$2]-}
    [ "$1" != check ] || [ "$3" = constructor ] || [ "$3" = destructor ] || wanted=${kit_said[$2]-}
    [ -z "$(ls "$4/tmp")" ] || echo "$1, $2 in $3: left $(ls "$4/tmp")"
    if [ "$2" = none ]; then
        [ "$5" -eq 0 ] || echo "$1: status $5: $(cat "$4/err")"
        return
    fi
    [ "$5" -le 1 ] || echo "$1, $2 in $3: status $5: $(cat "$4/err")"
    if [ -n "$wanted" ]; then
        # A search goes on without what takes too long.
        [ "$5" -eq 1 ] || { [ "$1" = tune ] && [[ $wanted == 'not done'* ]]; } || echo "$1, $2 in $3: status $5"
        grep -qE "$wanted" "$4/out" "$4/err" || echo "$1, $2 in $3: does not say '$wanted': $(head -c 2000 "$4/err") $(head -c 2000 "$4/out")"
    fi
    [ "$1" = show ] || [ "$1" = describe ] ||
        diff <(good "$1" "$scratch/$1-none-none/out") <(good "$1" "$4/out") ||
        echo "$1, $2 in $3: the other structure's rows are not as they are without it: $(head -c 500 "$4/err")"
}

# Two at a time: most wait.
begin() {
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
        wait -n
    done
    run "$@" &
}

for command in "${!commands[@]}"; do
    begin "$command" none none
done
wait
for command in "${!commands[@]}"; do
    case $command in show | describe) continue ;; esac
    [ -n "$(good "$command" "$command-none-none/out")" ] || echo "$command: no rows: $(cat "$command-none-none/out" "$command-none-none/err")" >>complaints
done

# All kinds in all places.
for kind in "${!said[@]}"; do
    for place in constructor create start stop advance next destroy destructor; do
        begin sim "$kind" "$place"
    done
done
# And some of each kind and each place for the other commands: where they come to that hook.
declare -A hooks=([timed]="create advance destroy" [check]="create start stop advance next walk destroy"
    [live]="create start advance next destroy" [threads]="create start stop advance destroy" [predict]="create start advance destroy"
    [cluster]="create start stop advance next destroy" [show]="create start stop advance next walk destroy" [list]="create start destroy"
    [describe]="create start destroy" [tune]="create start advance destroy" [sweep]="create start stop advance destroy"
    [bench]="create start destroy")
all_kinds=("${!said[@]}")
for command in "${!hooks[@]}"; do
    [ -n "${commands[$command]-}" ] || continue
    read -ra places <<<"constructor ${hooks[$command]} destructor"
    for i in "${!all_kinds[@]}"; do
        begin "$command" "${all_kinds[i]}" "${places[i % ${#places[@]}]}"
    done
done
wait
cat ./complaints ./*/complaints 2>/dev/null >all
if [ -s all ]; then
    cat all
    exit 1
fi
