#!/usr/bin/env bash
# Numbers on command lines: whatever option takes one, in whatever command, refuses what is none
# with status 2 and a sentence that names the option and the value, and so it does when it is given
# twice. The options come from the programs' own help: what takes no number is named here, by what
# the help calls its value; everything else is held to this.
set -u
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"
options=0

bad_numbers=(' 3' '3 ' 0x10 1e400 -1 '' 3x +3 nan)
bad_options=(' 3' 0x10 1.5 -1 '' 3x +3)
bad_parameters=(' 3' 0x10 1e400 '' 3x +3 nan)
# All commands read numbers in one place: what is wrong with one takes turns from option to option.
not_numbers='^(FILE|DIR|FOLDER|NAME|STRUCTURE|WORKLOAD|FRONT|COMMAND$|PATTERN$|COLUMN|FIELD|FORMAT|KIND$|MODEL$|UNIT$|[a-z|+,]+$|sleep[|])'

# refused OPTION VALUE COMMAND...: the command, which has the value, is refused for it.
refused() {
    local option=$1 value=$2 status=0
    shift 2
    said=$("$@" 2>&1 >/dev/null </dev/null) || status=$?
    if [ $status -ne 2 ]; then
        complain "$*: status $status, not 2: $said"
    elif [[ $said != *"$option takes "*", not '$value'"* &&
        $said != *"$option=$value is not usable; it takes "* ]]; then
        complain "$*: does not name $option, '$value' and what it takes: $said"
    fi
}

# twice OPTION COMMAND...: the command, which has the option twice, is refused for it.
twice() {
    local option=$1 status=0
    shift
    said=$("$@" 2>&1 >/dev/null </dev/null) || status=$?
    [[ $status -eq 2 && $said == *"$option is given twice"* ]]
}

# refuses OPTION COMMAND...: no bad number is taken, nor the option twice. What takes whole numbers says so, and takes
# no fraction.
refuses() {
    local option=$1 value
    shift
    value=${bad_numbers[options++ % ${#bad_numbers[@]}]}
    refused "$option" "$value" "$@" "$option=$value"
    if [[ $said == *" whole "* ]]; then
        refused "$option" 1.5 "$@" "$option=1.5"
    fi
    for value in 1 60 100 5:6 5/6 5us 480x300; do
        if twice "$option" "$@" "$option=$value" "$option=$value"; then
            return
        fi
    done
    complain "$*: $option is not refused when it is given twice: $said"
}

# numeric: of the help on standard input, the options that take a number.
numeric() {
    sed -nE 's/^ +(-[a-z], )?(--[a-z_-]+)=([^ ]+).*/\2 \3/p' | while read -r option value; do
        [[ $value =~ $not_numbers ]] || echo "$option"
    done
}

printf 'tick,id,op,delay\n0,0,start,5\n' >t.csv
"$TIMERLAB" trace import csv t.csv -o t.trace 2>/dev/null || exit 1

# Every command, with what it needs to come to its numbers; the formats' own options are below.
commands() {
    "$TIMERLAB" "$@" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'
}
for command in $(commands | grep -vx trace) $(commands trace | grep -vx import | sed 's/^/trace:/'); do
    words=("$TIMERLAB")
    IFS=: read -ra path <<<"$command"
    words+=("${path[@]}")
    case $command in
    sweep) needs=(rpc -a binary-heap -o out) ;;
    *) needs=() ;;
    esac
    for option in $(ARGP_HELP_FMT='rmargin=2000,dup-args-note=0' "${words[@]}" --help | numeric); do
        case $command$option in
        # Values of a knob, which the knob's name stands for.
        sweep--connections | sweep--seed | sweep--budget | sweep--pause | sweep--service)
            for value in 1e400 1.5; do
                refused "${option#--}" "$value" "${words[@]}" "${needs[@]}" "$option=$value"
            done
            twice "$option" "${words[@]}" "$option=1" "$option=1" || complain "$option twice: $said"
            ;;
        *) refuses "$option" "${words[@]}" "${needs[@]}" ;;
        esac
    done
done
[ "$options" -gt 30 ] || complain "only $options numeric options were found in the help"

# Importers' options, with what else they need.
while read -r format option value; do
    case $format$option in
    events*) needs=(--key=id) ;;
    pcap--rto-ms) needs=(--model=rto) ;;
    *) needs=() ;;
    esac
    [[ $value =~ $not_numbers ]] ||
        refuses "$option" "$TIMERLAB" trace import "$format" t.csv -o x.trace "${needs[@]}"
done < <("$TIMERLAB" trace import --list |
    awk '/^[a-z]/ { name = $1; sub(/:$/, "", name) } /^  --/ { print name, $1, $2 }')

# Options of structures and parameters of workloads.
while read -r name option default; do
    value=${bad_options[options++ % ${#bad_options[@]}]}
    refused "$option" "$value" "$TIMERLAB" sim t.trace -a "$name:$option=$value"
    twice "$option" "$TIMERLAB" sim t.trace -a "$name:$option=$default:$option=$default" ||
        complain "$name:$option twice: $said"
done < <("$TIMERLAB" list --format json |
    jq -r '.[] | .name as $name | .options[] | select(.words != [] or .min) |
        "\($name) \(.name) \(.default)"')
while read -r workload parameter default; do
    [[ $default =~ ^[0-9] ]] || continue
    value=${bad_parameters[options++ % ${#bad_parameters[@]}]}
    refused "$parameter" "$value" "$TIMERLAB" trace gen "$workload" -o x.trace -p "$parameter=$value"
    twice "$parameter" "$TIMERLAB" trace gen "$workload" -o x.trace \
        -p "$parameter=$default" -p "$parameter=$default" ||
        complain "trace gen $workload -p $parameter twice: $said"
done < <("$TIMERLAB" trace gen --list |
    awk '/^[a-z]/ { name = $1; sub(/:$/, "", name) } /^    [a-z]/ { print name, $1, $2 }')

# The benchmarks' own flags; a list is longer with each.
for program in "$BUILD/bench/timerlab-bench" "$BUILD/bench/timerlab-bench-traces"; do
    [ -x "$program" ] || continue
    for option in $("$program" --help | sed '/^ Forms of rows/q' | numeric); do
        case $option in
        --n | --connections)
            value=${bad_numbers[options++ % ${#bad_numbers[@]}]}
            refused "$option" "$value" "$program" "$option=$value"
            ;;
        *) refuses "$option" "$program" ;;
        esac
    done
done

finish
