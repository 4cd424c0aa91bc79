# shellcheck shell=bash
# What the tests of the cluster's commands share. $1: what comes before the arguments, if it is always the same.
drive=$1
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# expect STATUS PATTERN ARGUMENT...: the status, and what is to be seen on either stream.
expect() {
    local wanted=$1 pattern=$2 status=0
    shift 2
    # shellcheck disable=SC2086 # none or one
    "$TIMERLAB" cluster $drive "$@" >said 2>&1 || status=$?
    [ "$status" = "$wanted" ] || complain "'$*' ended with $status, not $wanted: $(tail -n 2 said)"
    grep -qE -- "$pattern" said || complain "'$*' did not say: $pattern"
}

# What each of them does: shows the protocols, and tells the nearest name of one that there is not.
expect_protocols() {
    expect 0 '^owners: ' --list
    expect 2 "no protocol 'leese'; did you mean 'lease'" leese
}

# expect_files FILE...: these are in the folder `out`, and no others.
expect_files() {
    [ "$(find out -type f | sort | paste -sd ' ')" = "$*" ] || complain "the folder has: $(find out -type f | paste -sd ' ')"
}

# value COLUMN: of the first row of what was printed in CSV.
value() {
    awk -F, -v name="$1" '/^protocol,/ { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } at { print $at; exit }' said
}

# Says why there is nothing to run on, if so.
no_redis() {
    if ! command -v redis-server >/dev/null || grep -q 'not in this build' <("$TIMERLAB" cluster run -n 1 2>&1); then
        echo "there is no redis-server, or no libhiredis (Debian: redis-server, libhiredis-dev)"
    else
        return 1
    fi
}
