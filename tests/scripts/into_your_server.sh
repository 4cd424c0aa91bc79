#!/usr/bin/env bash
# docs/guide/into-your-server.md: its ```sh blocks, in order, in an empty folder, as its reader would run them;
# and the program does with the exported timers what it did with libevent's.
set -euo pipefail

# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
[ -z "$SANITIZE" ] || skip "what is exported is under sanitizers in the test 'export'"
needs python3
echo '#include <event2/event.h>' | "$CC" -fsyntax-only -x c - 2>/dev/null || skip "the commands need libevent-dev"

awk '
    /^```sh$/ { inside = 1; blocks++; next }
    /^```$/ { inside = 0 }
    inside
    END { exit blocks == 0 }' "$SOURCE/docs/guide/into-your-server.md" >"$scratch/commands"
mkdir "$scratch/folder"
cd "$scratch/folder"
export PATH="${TIMERLAB%/*}:$PATH" timerlab_source=$SOURCE
# What the page leaves running where it fails is a child of its shell.
{
    echo 'trap '\''jobs -p | xargs -r kill 2>/dev/null || true'\'' EXIT'
    cat "$scratch/commands"
} >"$scratch/script"
# With -x, so that what fails is seen.
bash -euxo pipefail "$scratch/script" </dev/null

# The clients are the same, so as many connections end by each of the timeouts.
ends() {
    sed -n 's/^\([0-9]* accepted; idle [0-9]*, request [0-9]*\),.*/\1/p' "$1"
}
[ "$(ends before.txt)" = '200 accepted; idle 50, request 50' ]
[ "$(ends after.txt)" = "$(ends before.txt)" ]
grep -q '^to use it  timerlab export ' answer.txt
