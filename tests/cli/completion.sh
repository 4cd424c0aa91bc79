#!/usr/bin/env bash
# bash completion: what is offered at each place of a command line.
set -euo pipefail

# shellcheck source=/dev/null
source "$SOURCE/sim/cli/install/completion.bash"
failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
touch day.trace night.trace
mkdir out

# offered LINE: what TAB offers behind the line, in order, separated by blanks.
offered() {
    COMP_LINE="$TIMERLAB $1"
    COMP_POINT=${#COMP_LINE}
    _timerlab
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}

# is LINE OFFERED; has LINE WORD; lacks LINE WORD
is() {
    local got
    got=$(offered "$1")
    if [ "$got" != "$2" ]; then
        printf "completion: behind 'timerlab %s': '%s', not '%s'\n" "$1" "$got" "$2" >&2
        failures=$((failures + 1))
    fi
}
has() {
    case " $(offered "$1") " in
    *" $2 "*) ;;
    *)
        printf "completion: behind 'timerlab %s': no '%s' in '%s'\n" "$1" "$2" "$(offered "$1")" >&2
        failures=$((failures + 1))
        ;;
    esac
}
lacks() {
    case " $(offered "$1") " in
    *" $2 "*)
        printf "completion: behind 'timerlab %s': offers '%s'\n" "$1" "$2" >&2
        failures=$((failures + 1))
        ;;
    esac
}

is 'descr' describe
has '' sim
has '' list
has 'trace ' gen
is 'trace va' validate
lacks 'trace ' sim
is 'sim --dr' '--drive='
has 'sim -' --latency
has 'sim --' --algorithm=
is 'sim --drive=' 'poll sleep'
is 'sim --drive=sl' sleep
is 'sim --drive p' poll
is 'list --format ' 'json md table'
# every structure that the program lists, and nothing that is no structure
names=$("$TIMERLAB" list | awk 'NF == 0 { exit } NR > 1 { print $1 }')
is 'describe ' "$(sort <<<"$names" | paste -sd ' ')"
is 'sim day.trace -a ' "$(printf '%s\nall\n' "$names" | sort | paste -sd ' ')"
is 'sim -a ordered-list,ordered' ordered-list,ordered-list
is 'sim --algorithm=hier-wh' hier-wheel
has 'sim -a hier-wheel:' slots=
is 'sim -a ordered-list,hier-wheel:slo' slots=
is 'sim da' day.trace
is 'sim day.trace -o ou' out
is 'sim -a all n' night.trace
has 'trace gen ' server
has 'trace import ' ftrace
is 'trace import ftrace d' day.trace
is 'trace gen server -o d' day.trace
has "describe --plugin $BUILD/tests/starter_c.so " starter
has "sim --plugin=$BUILD/tests/starter_c.so -a sta" starter
is 'new some' ''
is 'nothing-like-this ' ''
[ "$failures" -eq 0 ]
