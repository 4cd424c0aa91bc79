#!/usr/bin/env bash
# Plug-ins that crash, hang, or end the program, as they are loaded, in every kind of call, and as they
# go: every command says which one did what, ends with status 1, and what it has found out by then is
# not lost.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

complain() {
    printf 'hostile_plugins: %s\n' "$*"
    failures=$((failures + 1))
}

# AddressSanitizer would speak of a crash in its own words, and end the process itself.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_abort=0:detect_leaks=0

"$TIMERLAB" new evil 2>/dev/null | head -n 1 >commands

# make NAME [SED SCRIPT]: evil.c, with that done to it, and what comes on standard input behind it.
make_plugin() {
    sed -e "${2-}" evil.c >"$1.c"
    cat >>"$1.c"
    sed "s|^cc|$CC|; s|\./evil\.c|./$1.c|; s|-o \./evil\.so|-o ./$1.so|" commands | sh 2>said ||
        complain "$1 does not compile: $(cat said)"
}

# tells STATUS PATTERN COMMAND...
tells() {
    local wanted=$1 pattern=$2 status=0
    shift 2
    "$TIMERLAB" "$@" >out 2>err </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || complain "$*: status $status, not $wanted: $(cat err)"
    grep -qE -- "$pattern" err || complain "$*: says: $(cat err)"
}

make_plugin exits <<<'#include <stdlib.h>
__attribute__((constructor)) static void at_load(void) { exit(0); }'
make_plugin loops <<<'__attribute__((constructor)) static void at_load(void) { for (;;) { __asm__ volatile(""); } }'
make_plugin dies_late <<<'#include <signal.h>
__attribute__((destructor)) static void at_unload(void) { raise(SIGSEGV); }'
make_plugin no_pointer 's/\.name = "evil"/.name = (const char *)8/' </dev/null
raises='raise(SIGSEGV);'
for call in create start advance; do
    make_plugin "crashes_in_$call" "1i #include <signal.h>
/^static .*evil_$call(/,/^{/s/^{/{ $raises/" </dev/null
done
make_plugin exits_in_create "1i #include <stdlib.h>
/^static .*evil_create(/,/^{/s/^{/{ exit(0);/" </dev/null
make_plugin crashes_in_walk "1i #include <signal.h>
s/^static .*evil_check(/static void evil_walk(const void *self, const struct tl_visitor *visitor) { (void)self; (void)visitor; $raises }\\n&/
s/\\.check = evil_check,/& .walk = evil_walk,/" </dev/null
make_plugin good </dev/null
# The loader maps what it does not find.
head -c 6000 good.so >cut.so
mkfifo pipe.so

"$TIMERLAB" trace gen rpc -n 100 --seconds 1 -o t.trace 2>err || complain "no trace: $(cat err)"
traces=(list "describe evil" "check -a evil" "sim t.trace -a evil" "show evil" "live -a evil" "threads -a locked(evil)"
    "sweep rpc -a evil -o swept" "tune t.trace -a evil")

# As it is loaded.
for command in "${traces[@]}"; do
    # shellcheck disable=SC2086 # words
    tells 1 '^timerlab .*: \./exits\.so, while it was loaded: it ended the program itself, with exit status 0' \
        $command --plugin ./exits.so
    [ ! -s out ] || complain "$command: prints without a structure: $(cat out)"
    # shellcheck disable=SC2086
    tells 1 '\./no_pointer\.so, while it was loaded: killed by signal 11' $command --plugin ./no_pointer.so
    # shellcheck disable=SC2086
    tells 2 '\./cut\.so: was cut off' $command --plugin ./cut.so
    # shellcheck disable=SC2086
    tells 2 '\./pipe\.so: is a folder, a device or a pipe' $command --plugin ./pipe.so
done
tells 1 '\./loops\.so, while it was loaded: not done after 10 s' list --plugin ./loops.so

# As it goes: what was found out is there.
tells 1 '\./dies_late\.so, while it was unloaded: killed by signal 11' list --plugin ./dies_late.so
grep -q '^evil ' out || complain "list: the table is lost: $(cat out)"
tells 1 '\./dies_late\.so, while it was unloaded' sim t.trace -a evil --runs 1 --plugin ./dies_late.so -o results
grep -q '^evil' out || complain "sim: the table is lost: $(cat out)"
[ -s results/results.json ] || complain "sim: the results are lost"

# In its calls. What judges says so in its own way.
names=$("$TIMERLAB" list | awk 'NF == 0 { exit } { print $1 }')
"$TIMERLAB" list --format json >structures.json
for call in create start; do
    tells 1 'evil, while its memory was measured: killed by signal 11' list --plugin ./crashes_in_$call.so
    # All others are there, and it is too.
    [ "$(awk 'NF == 0 { exit } { print $1 }' out)" = "$(printf '%s\nevil' "$names")" ] || complain "list of a crash in $call: $(cat out)"
    tells 1 'evil, while its memory was measured: killed by signal 11' list --format json --plugin ./crashes_in_$call.so
    jq -e 'length == (input | length) + 1 and (last | .name == "evil" and (.fault | contains("signal 11")))' out structures.json \
        >/dev/null || complain "list --format json of a crash in $call: $(jq -c last out)"
    tells 1 'evil, while its memory was measured: killed by signal 11' describe evil --plugin ./crashes_in_$call.so
done
for call in create start advance; do
    tells 1 'evil, while it was driven: killed by signal 11' live -a evil --seconds 0.1 --plugin ./crashes_in_$call.so
    tells 1 'locked\(evil\), under 1 threads: killed by signal 11' threads -a 'locked(evil)' --plugin ./crashes_in_$call.so
    tells 1 'evil, while it was shown: killed by signal 11' show evil 'start a 2; advance 9' --plugin ./crashes_in_$call.so
    status=0
    "$TIMERLAB" check -a evil --seconds 0 --plugin ./crashes_in_$call.so >out 2>err || status=$?
    [ $status -eq 1 ] || complain "check of a crash in $call: status $status: $(cat err)"
    grep -q 'SIGSEGV' out || complain "check of a crash in $call: $(cat out)"
done
tells 1 'evil, while its memory was measured: the process ended itself with exit status 0' list --plugin ./exits_in_create.so
"$TIMERLAB" sim t.trace -a evil --runs 1 --plugin ./crashes_in_advance.so >out 2>err && complain "sim: no fault"
grep -q crashed out || complain "sim of a crash: $(cat out err)"

# A walk is called by what shows, and by what judges.
tells 1 'evil, while it was shown: killed by signal 11' show evil 'start a 2; advance 9' --plugin ./crashes_in_walk.so
"$TIMERLAB" check -a evil --seconds 0 --plugin ./crashes_in_walk.so >out 2>err && complain "check of a crash in walk: no fault"
grep -q 'SIGSEGV' out || complain "check of a crash in walk: $(cat out err)"

# Behind a front end, one of which has files: nothing of them stays.
mkdir tmp
export TMPDIR=$scratch/tmp
for front in durable lazy; do
    for call in create start advance; do
        tells 1 "$front\(evil\), while it was driven: killed by signal 11" live -a "$front(evil)" --seconds 0.1 -n 100 \
            --plugin ./crashes_in_$call.so
        tells 1 "$front\(evil\), while it was shown: killed by signal 11" show "$front(evil)" 'start a 2; advance 9' \
            --plugin ./crashes_in_$call.so
        for command in "sim t.trace --runs 1" "check --seconds 0"; do
            # shellcheck disable=SC2086 # words
            "$TIMERLAB" $command -a "$front(evil)" --plugin ./crashes_in_$call.so >out 2>err && complain "$command of $front(evil): no fault"
            grep -qE 'crashed|SIGSEGV' out || complain "$command of $front(evil), crash in $call: $(cat out err)"
        done
    done
done
[ -z "$(ls -A tmp)" ] || complain "files stay behind: $(ls -A tmp)"

if [ $failures -gt 0 ]; then
    printf '%d failures\n' $failures
    exit 1
fi
