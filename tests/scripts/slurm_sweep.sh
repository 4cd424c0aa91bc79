#!/usr/bin/env bash
# scripts/slurm-sweep with a real Slurm: a controller and two nodes on this machine, in a folder and on ports of their
# own. A node is killed in the middle of its part; what is joined is what one machine makes, but for the times.
set -u
[ -z "$SANITIZE" ] || { echo "skipped: sanitizers see nothing here that they do not elsewhere" >&2 && exit 77; }
PATH=$PATH:/usr/sbin
for tool in slurmctld slurmd sbatch jq; do
    command -v $tool >/dev/null || {
        echo "skipped: $tool is not installed; Debian has it in slurmctld, slurmd, slurm-client, jq" >&2
        exit 77
    }
done
# shellcheck disable=SC2153 # ctest sets it
timerlab=$(realpath "$TIMERLAB")
scratch=$(mktemp -d)
export SLURM_CONF=$scratch/slurm.conf
failures=0
# shellcheck source=/dev/null
. "$SOURCE/tests/search/untimed.sh"

complain() {
    printf '%s\n' "$1" >&2
    failures=$((failures + 1))
}

# with VARIABLE...: the processes that were started with all of these in their environment.
with() {
    local process variable
    for process in /proc/[0-9]*; do
        for variable; do
            grep -qszxF "$variable" "$process/environ" || continue 2
        done
        printf '%s\n' "${process#/proc/}"
    done
}

# Whatever was started for this cluster knows its configuration, the tasks included.
# shellcheck disable=SC2317 # the trap calls it
finish() {
    local tries processes
    for ((tries = 0; tries < 5; tries++)); do
        mapfile -t processes < <(with "SLURM_CONF=$SLURM_CONF")
        [ ${#processes[@]} -gt 0 ] || break
        kill -KILL "${processes[@]}" 2>/dev/null
    done
    rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

give_up() {
    printf '%s\n' "$1" >&2
    tail -n 20 "$scratch"/*.log "$scratch"/swept/slurm/*.txt >&2
    exit 1
}

# Three ports that nobody listens on.
port=$((20000 + $$ % 10000))
for ((tries = 0; tries < 100; tries++)); do
    for next in 0 1 2; do
        if (exec 3<>"/dev/tcp/127.0.0.1/$((port + next))") 2>/dev/null; then
            port=$((port + 3))
            continue 2
        fi
    done
    break
done

user=$(id -un)
host=$(hostname -s)
mkdir "$scratch/state"
cat >"$SLURM_CONF" <<END
ClusterName=timerlab
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/none
CredType=cred/none
SlurmUser=$user
SlurmdUser=$user
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool-%n
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd-%n.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP
END
mkfifo "$scratch/reached"
exec 3<>"$scratch/reached"
cd "$scratch" || exit 1
setsid slurmctld -D >slurmctld.out 2>&1 3>&- &
disown
for node in one two; do
    setsid slurmd -D -N $node >slurmd-$node.out 2>&1 3>&- &
    disown
done
for ((tries = 0; tries < 200; tries++)); do
    [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break
    read -rt 0.1 -u 3
done
[ "$(sinfo -h -t idle -o %D)" = 2 ] || give_up "Slurm's two nodes did not come up"

# The first task of node one does a point, says so, and then nothing more: so it is killed in the middle.
cat >slow <<END
#!/usr/bin/env bash
case "\$*" in
*--part*)
    if [ "\${SLURMD_NODENAME-}" = one ] && mkdir "$scratch/fell" 2>/dev/null; then
        "$timerlab" "\$@" --limit 1
        echo "\$SLURM_ARRAY_TASK_ID" >"$scratch/reached"
        exec tail -f /dev/null
    fi
    ;;
esac
exec "$timerlab" "\$@"
END
chmod +x slow
sweep=(rpc -a "binary-heap,round-wheel:slots=64/4096" -p "cancelled=0.5,0.99" -n "100,1k" --seconds 1 --runs 1)
"$timerlab" sweep "${sweep[@]}" -o whole >/dev/null || complain "no sweep on one machine"

TIMERLAB=$scratch/slow "$SOURCE/scripts/slurm-sweep" --parts 2 -o swept -- "${sweep[@]}" 2>err ||
    give_up "nothing was submitted: $(cat err)"
array=$(sed -n 's/.*array job \([0-9]*\),.*/\1/p' err)
read -rt 60 -u 3 part || give_up "no part came to its first point"
cells=$(stat -c '%n %i' "swept/parts/$part"/cells/*)
mapfile -t node < <(
    cat slurmd-one.pid
    for process in $(with "SLURM_CONF=$SLURM_CONF" SLURMD_NODENAME=one); do
        printf '%s\n' "$process"
        parent=$(ps -o ppid= -p "$process" | tr -d ' ')
        [ "$(cat "/proc/$parent/comm" 2>/dev/null)" != slurmstepd ] || printf '%s\n' "$parent"
    done
)
[ ${#node[@]} -ge 3 ] || complain "of node one there are only the processes ${node[*]}"
kill -KILL "${node[@]}"
# What Slurm does by itself after some minutes without a word from the node, and after two more.
scontrol update NodeName=one State=DOWN Reason=killed || complain "the node is not said to be down"
scontrol update JobId="${array}_$part" StartTime=now || complain "the part that the node took with it was not requeued"

# joined: once the join has ended
joined() {
    timeout 60 salloc -Q -n 1 -d "afterany:$(cat swept/slurm/join-job)" true || give_up "the join does not come to its end"
}
joined

same() {
    cmp <(untimed whole) <(untimed swept) >&2 || complain "$1: not what one machine makes; the join says: $(cat swept/slurm/join.txt)"
}
same "a node was killed"
grep -q missing swept/slurm/join.txt && complain "the join says: $(cat swept/slurm/join.txt)"
while read -r name inode; do
    [ "$(stat -c %i "$name")" = "$inode" ] || complain "$name was done before the node went, and was run again"
done <<<"$cells"
"$SOURCE/scripts/slurm-sweep" --again swept 2>err || complain "--again where all is done: status $?"
grep -q 'all parts are done' err || complain "--again where all is done says: $(cat err)"

# A part that is lost for good, on the node that is left: the join said so, and --again runs that one alone.
stat -c '%n %i' swept/parts/1/results.json >first
rm -r swept/parts/2
swept/slurm/join >out 2>said && complain "a join without part 2 is called right"
grep -q '^timerlab: not there, of 2 parts: 2; ' said || complain "a join without part 2 says: $(cat said)"
grep -q "run the missing parts again: scripts/slurm-sweep --again $scratch/swept" said || complain "the command that runs it again is missing: $(cat said)"
"$SOURCE/scripts/slurm-sweep" --again swept --wait 2>err || complain "--again --wait: $(cat err)"
grep -q 'parts 2;' err || complain "--again says: $(cat err)"
same "a part was run again"
stat -c '%n %i' swept/parts/1/results.json | cmp -s - first || complain "a part that was there was run again"

# What cannot be followed is said before anything is submitted.
refuses() {
    local pattern=$1
    shift
    TIMERLAB=$timerlab "$SOURCE/scripts/slurm-sweep" "$@" >out 2>err && complain "slurm-sweep $* is done"
    grep -qE -- "$pattern" err || complain "slurm-sweep $* says: $(cat err)"
}
refuses 'is of a sweep that was submitted; --again' --parts 2 -o swept -- "${sweep[@]}"
refuses "did you mean 'rpc'" --parts 2 -o other -- rpd -a all
refuses 'takes a number of parts' --parts two -o other -- rpc -a all
refuses 'no folder of slurm-sweep' --again whole
refuses 'usage: ' --parts 2 -o other
[ -e other ] && complain "a command that cannot be followed leaves a folder behind"

exit $((failures > 0))
