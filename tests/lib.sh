# shellcheck shell=bash
# lib.sh: the functions that test scripts share. A script sources it after `set`, and is then in an empty folder of its
# own, $scratch, which is removed at the end. $TIMERLAB is the program, $SOURCE and $BUILD the two trees (ctest sets them).
test_name=$(basename "$0" .sh)
TIMERLAB=$(realpath "${TIMERLAB:?}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0

# complain TEXT...: count a failure and go on.
complain() {
    printf '%s: %s\n' "$test_name" "$*" >&2
    failures=$((failures + 1))
}

# fail TEXT...: end the test as failed, after the last lines of the files that $logs names.
logs=()
fail() {
    complain "$@"
    [ ${#logs[@]} -eq 0 ] || tail -n 40 "${logs[@]}" >&2
    exit 1
}

# skip REASON: end the test as skipped, since the machine lacks something.
skip() {
    printf 'skipped: %s\n' "$*" >&2
    exit 77
}

# needs TOOL...: end the test as skipped if one of the programs is not installed.
needs() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}

# runs STATUS COMMAND...: complain unless the command ends with this exit status. Its output is in `out` and `err`.
runs() {
    local status=$1 got=0
    shift
    "$@" >out 2>err </dev/null || got=$?
    [ "$got" -eq "$status" ] || complain "$*: exit status $got, not $status: $(cat err)"
}

# refuses STATUS PATTERN COMMAND...: the same, and complain unless a message matches the pattern.
refuses() {
    local pattern=$2
    runs "$1" "${@:3}"
    grep -qE -- "$pattern" err || complain "${*:3}: says '$(cat err)', not '$pattern'"
}

# is FOUND EXPECTED WHAT: complain unless two texts are the same.
is() {
    [ "$1" = "$2" ] || complain "$3: '$1', not '$2'"
}

# finish: after the last check of a script that calls complain.
finish() {
    [ "$failures" -eq 0 ] || fail "$failures failures"
}
