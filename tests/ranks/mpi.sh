#!/usr/bin/env bash
# timerlab-mpi under mpirun: the same timers fire as in one process, and a rank that cannot go on ends
# the job, in words.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
needs mpirun jq
# The session's folder is a name that a socket must bear, which is short.
export TMPDIR=/tmp OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# What MPI keeps until the end is not ours; and what is right of two ranks and of three is so of seven.
numbers='1 2 3 4 7'
if [ -n "$SANITIZE" ]; then
    export ASAN_OPTIONS=detect_leaks=0
    numbers='2 3'
fi

same='[.context.fired_sets[] | [.algo, .digest]], [.rows[] | [.algo, .status, .events, .starts, .restarts,
    .stops, .reactions, .fired, .drained]]'

"$TIMERLAB" trace gen tcp -n 120 --seconds 2 -o tcp.trace 2>/dev/null
"$TIMERLAB" sim tcp.trace -a hier-wheel,binary-heap --runs 1 --format json 2>/dev/null | jq -S "$same" >whole
for ranks in $numbers; do
    timeout 60 mpirun -n "$ranks" "$BUILD/timerlab-mpi" sim tcp.trace -a hier-wheel,binary-heap --runs 1 \
        --format json >ranks.json 2>message || fail "$ranks ranks: $(cat message)"
    jq -S "$same" ranks.json | diff whole - || fail "$ranks ranks did something else"
    jq -e "all(.rows[]; .ranks == $ranks)" ranks.json >/dev/null || fail "the rows do not say $ranks"
done
"$TIMERLAB" sim --gen server -n 400 --slice 40 --seconds 2 -a hier-wheel --runs 0 --format json 2>/dev/null |
    jq -S "$same" >whole
timeout 60 mpirun -n 3 "$BUILD/timerlab-mpi" sim --gen server -n 400 --slice 40 --seconds 2 -a hier-wheel --runs 0 \
    --format json 2>/dev/null | jq -S "$same" | diff whole - || fail "the ranks generated something else"

# A structure that crashes is a row; the others' stand. With a plug-in the command is a process below.
status=0
timeout 60 mpirun -n 2 "$BUILD/timerlab-mpi" sim tcp.trace --plugin "$BUILD/tests/faulty-crash.so" \
    -a faulty-crash,hier-wheel --runs 1 -o out >/dev/null 2>message || status=$?
[ "$status" = 1 ] || fail "a crash ends with $status: $(cat message)"
jq -e '[.rows[] | [.algo, .status]] == [["faulty-crash", "crashed"], ["hier-wheel", "ok"]]
    and (.rows[0].reason | startswith("rank 0: killed by signal"))' out/results.json >/dev/null || fail "$(cat out/results.csv)"

# A rank that cannot do its work says so, and one that dies does not keep the others waiting.
ends() { # ends STATUS WORDS COMMAND...: mpirun's
    local status=0
    timeout 60 mpirun -n 3 "${@:3}" >/dev/null 2>message || status=$?
    if [ "$status" != "$1" ] || ! grep -q -- "$2" message; then
        fail "${*:3}: $status: $(cat message)"
    fi
}
ends 1 'rank 0 on .*--slice' "$BUILD/timerlab-mpi" sim --gen idle -n 100 --slice 60 -a hier-wheel
cat >blind <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != 1 ] || cd /
exec "$BUILD/timerlab-mpi" sim tcp.trace -a hier-wheel --runs 1
END
chmod +x blind
ends 1 'rank 1 on .*tcp.trace' ./blind
# A rank that is killed while it works, as for want of memory: the process that has it all. Its watcher, which is small,
# says which rank it was; nobody waits for it, and there are no results, of which some would be missing.
cat >killed <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || echo $$ >pids
exec "$BUILD/timerlab-mpi" sim tcp.trace -a hier-wheel --runs 1000 -o killed-out
END
chmod +x killed
mkfifo pids
for rank in 0 1; do
    {
        read -r pid
        # It works once all three have their partitions.
        until [ "$(find . -path './.timerlab-tmp-*/names' | wc -l)" = 3 ]; do :; done
        kill -9 "$(cat "/proc/$pid/task/$pid/children")"
    } <pids &
    TMPDIR=$scratch ends 1 "^timerlab-mpi: rank $rank of 3 on .*--ranks-in-turn 3" ./killed $rank
    wait
    grep -q 'killed by signal 9' message || fail "a rank that is killed: $(cat message)"
    [ ! -e killed-out ] || [ -z "$(ls -A killed-out)" ] || fail "results of a job that was killed: $(ls -A killed-out)"
    rm -rf killed-out .timerlab-tmp-*
done
