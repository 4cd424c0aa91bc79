#!/usr/bin/env bash
# bash completion: what is offered at each place of a command line.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

# shellcheck source=/dev/null
source "$SOURCE/sim/cli/install/completion.bash"
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
    [ "$got" = "$2" ] || complain "after 'timerlab $1': '$got', not '$2'"
}
has() {
    [[ " $(offered "$1") " == *" $2 "* ]] || complain "after 'timerlab $1': no '$2' in '$(offered "$1")'"
}
lacks() {
    [[ " $(offered "$1") " != *" $2 "* ]] || complain "after 'timerlab $1': offers '$2'"
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
is 'sim --drive=' 'poll slack sleep'
is 'sim --drive=sle' sleep
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
is 'record --ou' '--output='
is 'new some' ''
is 'nothing-like-this ' ''

# zsh and fish, where they are, ask the same script: whole words, by the files as they are installed.
mkdir -p share/bash-completion/completions share/zsh share/fish bin
cp "$SOURCE/sim/cli/install/completion.bash" share/bash-completion/completions/timerlab
mkdir share/zsh/site-functions share/fish/vendor_completions.d
cp "$SOURCE/sim/cli/install/completion.zsh" share/zsh/site-functions/_timerlab
cp "$SOURCE/sim/cli/install/completion.fish" share/fish/vendor_completions.d/timerlab.fish
ln -s "$TIMERLAB" bin/timerlab
PATH=$scratch/bin:$PATH
in_zsh() { # LINE
    # shellcheck disable=SC2016 # zsh's own
    zsh -f -c 'fpath=("$PWD/share/zsh/site-functions" $fpath); autoload -Uz _timerlab
        compadd() { shift "${@[(i)--]}"; print -l -- "$@"; }
        words=(${=1}); [[ $1 != *" " ]] || words+=("")
        CURRENT=$#words; PREFIX=$words[-1]; _timerlab' zsh "$1"
}
in_fish() {
    # shellcheck disable=SC2016 # fish's own
    HOME=$scratch fish --no-config -c 'source share/fish/vendor_completions.d/timerlab.fish; complete -C $argv[1]' "$1"
}
for shell in zsh fish; do
    command -v $shell >/dev/null || { echo "completion: $shell is not here, and not tested" && continue; }
    while IFS=: read -r line wanted; do
        got=$(in_$shell "timerlab $line" | grep -v '^$' | sort | paste -sd ' ')
        [ "$got" = "$wanted" ] || complain "completion: $shell: 'timerlab $line': '$got', not '$wanted'"
    done <<'END'
descr:describe
trace va:validate
sim --dr:--drive=
sim --drive=sle:--drive=sleep
sim --drive p:poll
sim day.trace -a ordered-list,hier-wh:ordered-list,hier-wheel
sim da:day.trace
END
done

finish
