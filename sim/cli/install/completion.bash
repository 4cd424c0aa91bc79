# bash completion for timerlab. Commands, options, their words, structures, workloads and formats all
# come from the program itself, so that there is nothing here to keep up with it.
# shellcheck shell=bash

# _timerlab_help PROGRAM COMMAND...: a command's help, each option on one line.
_timerlab_help() {
    ARGP_HELP_FMT='rmargin=2000,dup-args-note=0' "$@" --help 2>/dev/null
}

# _timerlab_placeholder OPTION: what the option takes, as the help on standard input writes it.
_timerlab_placeholder() {
    awk -v wanted="$1" '
        /^ +-/ {
            found = 0
            what = ""
            for (i = 1; i <= NF && $i ~ /^-/; i++) {
                option = $i
                sub(/,$/, "", option)
                if (match(option, /[[]?=/)) {
                    what = substr(option, RSTART + RLENGTH)
                    option = substr(option, 1, RSTART - 1)
                }
                found = found || option == wanted
            }
            if (found) {
                print what
                exit
            }
        }'
}

# _timerlab_structures PROGRAM PLUGIN-FLAGS...: one name on each line.
_timerlab_structures() {
    local program=$1
    shift
    "$program" list "$@" 2>/dev/null | awk 'NF == 0 { exit } NR > 1 { print $1 }'
}

# _timerlab_values PLACEHOLDER: fills `candidates` with what may stand for it. `word` is the value so
# far; `flags` are the plug-ins of the line.
_timerlab_values() {
    case $1 in
    'NAME[:opt'*)
        # NAME:opt=v:opt=v,NAME...: what stands before the last comma or colon is kept
        local kept=${word%"${word##*,}"} name
        local last=${word##*,}
        if [[ $last == *:* ]]; then
            name=${last%%:*}
            kept=${word%"${word##*:}"}
            mapfile -t candidates < <("$program" describe "${flags[@]}" "$name" 2>/dev/null |
                awk '/^Options/ { on = 1; next } on && /^  [a-z]/ { print $1 "=" }')
        else
            mapfile -t candidates < <(_timerlab_structures "$program" "${flags[@]}")
            candidates+=(all)
        fi
        candidates=("${candidates[@]/#/$kept}")
        ;;
    FILE* | TRACE*) mapfile -t candidates < <(compgen -f -- "$word") ;;
    DIR*) mapfile -t candidates < <(compgen -d -- "$word") ;;
    WORKLOAD* | FORMAT* | PROTOCOL*)
        mapfile -t candidates < <("$program" "${path[@]}" --list 2>/dev/null | sed -n 's/^\([a-z][a-z0-9-]*\): .*/\1/p')
        ;;
    *'|'*)
        # lower-case alternatives are the words themselves
        mapfile -t candidates < <(tr '|' '\n' <<<"$1" | grep -v '[^a-z0-9+,-]')
        ;;
    esac
}

_timerlab() {
    local line=${COMP_LINE:0:COMP_POINT} word program help table prefix='' i
    local -a words=() path=() flags=() candidates=()
    COMPREPLY=()
    read -ra words <<<"$line"
    word=${line##*[[:space:]]}
    if [[ -n $word ]]; then
        unset 'words[-1]'
    fi
    program=${words[0]}

    # Down the tables of commands, as far as the words lead; then the plug-ins.
    help=$(_timerlab_help "$program") || return 0
    for ((i = 1; i < ${#words[@]}; i++)); do
        table=$(sed -n '1s/^Usage: [a-z -]* COMMAND .*/table/p' <<<"$help")
        if [[ -n $table ]] && grep -q "^  ${words[i]} " <<<"$help"; then
            path+=("${words[i]}")
            help=$(_timerlab_help "$program" "${path[@]}")
        elif [[ ${words[i]} == --plugin=* ]]; then
            flags+=("${words[i]}")
        elif [[ ${words[i]} == --plugin && -n ${words[i + 1]-} ]]; then
            flags+=("--plugin=${words[i + 1]}")
        fi
    done

    local previous=${words[${#words[@]} - 1]} placeholder=''
    if [[ -n $(sed -n '1s/^Usage: [a-z -]* COMMAND .*/table/p' <<<"$help") ]]; then
        # nothing behind a word that is no command
        if [[ ${#path[@]} -eq $((${#words[@]} - 1)) ]]; then
            mapfile -t candidates < <(sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$help")
            candidates+=(--help)
        fi
    elif [[ $word == --*=* ]]; then
        prefix=${word%%=*}=
        word=${word#*=}
        _timerlab_values "$(_timerlab_placeholder "${prefix%=}" <<<"$help")"
    elif [[ $previous == -* && $previous != *=* ]] &&
        placeholder=$(_timerlab_placeholder "$previous" <<<"$help") && [[ -n $placeholder ]]; then
        _timerlab_values "$placeholder"
    elif [[ $word == -* ]]; then
        mapfile -t candidates < <(grep '^ *-' <<<"$help" |
            grep -oE '(^ *-., |^ +)--[a-z-]+(=| |\[|$)' | sed -E 's/^ *(-., )?//; s/[ []$//')
    elif [[ ${path[*]} == describe ]]; then
        mapfile -t candidates < <(_timerlab_structures "$program" "${flags[@]}")
    else
        # the first thing that the usage line asks for, until it is there; then files
        placeholder=$(sed -nE '1s/^Usage: .*\[OPTION\.\.\.\] *([A-Z]+).*/\1/p' <<<"$help")
        if [[ $placeholder == WORKLOAD || $placeholder == FORMAT ]]; then
            _timerlab_values "$placeholder"
            for i in "${words[@]}"; do
                if [[ " ${candidates[*]} " == *" $i "* ]]; then
                    candidates=()
                    _timerlab_values FILE
                    break
                fi
            done
        else
            _timerlab_values "$placeholder"
        fi
    fi

    # What readline replaces begins behind the last of its word breaks.
    local whole=$prefix$word broken=''
    for ((i = ${#whole} - 1; i >= 0; i--)); do
        if [[ ${whole:i:1} == [:=] && $COMP_WORDBREAKS == *"${whole:i:1}"* ]]; then
            broken=${whole:0:i+1}
            break
        fi
    done
    for i in "${candidates[@]}"; do
        if [[ -n $i && $prefix$i == "$whole"* ]]; then
            i=$prefix$i
            COMPREPLY+=("${i#"$broken"}")
        fi
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null || true
    elif [[ $placeholder == FILE* || $placeholder == TRACE* || $placeholder == DIR* ]]; then
        compopt -o filenames 2>/dev/null || true
    fi
    return 0
}

# zsh and fish run this file, with the line up to the cursor, and get whole words.
if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=''
    _timerlab
    printf '%s\n' "${COMPREPLY[@]}"
else
    complete -F _timerlab timerlab
fi
