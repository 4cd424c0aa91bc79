#!/usr/bin/env bash
# What is fitted to recordings, judged against those of them that are here: the page has what comes out, and nearly
# all of it is within a tenth.
set -euo pipefail

command -v jq >/dev/null || { echo "skipped: jq is not installed" >&2 && exit 77; }
[ -z "$SANITIZE" ] || { echo "skipped: recordings are read six times each, which takes sanitizers too long" >&2 && exit 77; }
folder=${TIMERLAB_TRACES:-$SOURCE/../shared/traces}
TIMERLAB=$(realpath "$TIMERLAB")
export TIMERLAB
TIMERLAB_TRACES=$folder "$SOURCE/scripts/fit-table" --check
[ -r "$folder/facts.json" ] || {
    printf 'skipped: %s is not here; TIMERLAB_TRACES says where it is\n' "$folder/facts.json" >&2
    exit 77
}

failed=0
# most RECORDING OFF: the page marks no more of its statistics as off.
most() {
    awk -F ' *[|] *' -v recording="$1" -v most="$2" '
        /^<!-- end of fit -->/ { nextfile }
        $2 == recording { found++; for (i = 4; i < NF; i++) off += $i ~ /[*]/ }
        END { if (found != 5 || off > most) { print recording ": " off + 0 " of " found + 0 " kinds are off"; exit 1 } }' \
        "$SOURCE/docs/fitting.md" >&2 || failed=1
}
most ktimer_nginx_keepalive 0
most ktimer_loss3_mixed 0
most ktimer_churn_timewait 0
most kernel-nginx 2
exit $failed
