#!/usr/bin/env bash
# Every script that people call says with -h and --help how it is called, and does nothing else.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

cd "$SOURCE" || exit 1

scripts=0
for script in scripts/* docs/tools/* plots/draw; do
    [ -x "$script" ] || continue
    scripts=$((scripts + 1))
    # One that does not know the option may begin with its work.
    for option in -h --help; do
        said=$(timeout 20 "$script" $option 2>&1 </dev/null) || complain "$script $option: status $?"
        [[ $said == *"${script#*/}"* ]] || complain "$script $option says: ${said:0:200}"
    done
done
[ "$scripts" -gt 10 ] || complain "only $scripts scripts were found"
finish
