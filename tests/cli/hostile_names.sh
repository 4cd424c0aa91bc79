#!/usr/bin/env bash
# Traces, folders, plug-ins and structures may have any names: through every verb that writes or draws, nothing of a
# name runs, no row and no picture is missing, no page takes a name for more than text, and no terminal does.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

long=$(printf 'x%.0s' {1..250})
# shellcheck disable=SC2016 # they are to run nothing
names=("x'; system('touch PWNED'); y='" 'a"b' '`touch PWNED`' '$(touch PWNED)' $'new\nline' '-dash' '<touch PWNED' '|touch PWNED'
    '%d%s%n.%' 'back\slash\n' $'\u20ac\u00e9 \U1f552' $'\u202egnp.\u200f' "$long" 'two  words' '*' ';touch PWNED;'
    '[x](javascript:alert(1))' '<script>alert(1)<:script>' '@it {x}^2_y' $'\e[31m\xff\xc2\x9b' '~' '#a=b' "\$'PWNED'" '&lt;|')
count=${#names[@]}

# tries COMMAND...: what is said is kept, for a look at what reaches a terminal.
tries() {
    local status=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
    cat "$scratch/out" "$scratch/err" >>"$scratch/said"
    [ $status -eq 0 ] || complain "$(printf '%q ' "${@:2}"): status $status: $(tail -n 3 "$scratch/err")"
}
# written FILE...
written() {
    local file
    for file; do
        [ -s "$file" ] || complain "$(printf %q "$file") is missing"
    done
}

"$TIMERLAB" trace gen rpc -n 60 --seconds 1 -p rate_per_s=3 -o t.trace 2>err
printf 'tick,id,op,delay\n0,0,start,5\n2,1,start,9\n' >t.csv
"$TIMERLAB" sim t.trace -a binary-heap,simple-wheel --latency --runs 5 -o results >out 2>err
"$TIMERLAB" new own -o plug-in 2>err | head -n 1 >build.sh
sh ./build.sh 2>err || complain "no plug-in: $(cat err)"
mkdir files folders traces

# Files and folders of that name.
cd files
for name in "${names[@]}"; do
    tries "$TIMERLAB" trace gen hold -n 9 --seconds 1 -o "$name"
    tries "$TIMERLAB" trace info -- "$name"
    tries "$TIMERLAB" trace scale -n 30 -o copy -- "$name"
    written "./$name" copy
    rm -f -- "$name"
    cp ../t.csv "./$name"
    tries "$TIMERLAB" trace import csv -o copy -- "$name"
    tries "$TIMERLAB" show simple-wheel 'start a 3; advance 3' -o "${name:0:200}.svg"
    written "./${name:0:200}.svg"
    rm -f -- "$name"
    cp ../plug-in/own.so "./$name"
    tries "$TIMERLAB" sim ../t.trace -a renamed --runs 1 --plugin "./$name,renamed" -o run
    written run/results.csv
    grep -q '^t.trace,renamed,' run/results.csv || complain "$(printf %q "$name"): a plug-in has no row"
done
# Verbs that take a while: the names that have been code somewhere.
few=("${names[@]:0:8}" "${names[11]}" "$long")
bench=$BUILD/bench/timerlab-bench
for name in "${few[@]}"; do
    cp ../t.trace "./$name"
    tries "$TIMERLAB" tune -a binary-heap,simple-wheel --counts -- "$name"
    tries "$TIMERLAB" sim -a binary-heap --runs 1 --format json -- "$name"
    rm -f -- "$name"
    tries "$TIMERLAB" live -a hier-wheel --seconds 0.01 -n 5 --timeout 0.005 -o "$name"
    written "./$name/live.csv"
    rm -rf -- "$name"
    cp ../plug-in/own.so "./$name"
    tries "$TIMERLAB" threads -a 'locked(renamed)' --plugin "./$name,renamed" --operations 1k --threads 1 --cancelled 50
    tries "$TIMERLAB" check -a renamed --plugin "./$name,renamed" --case stop-idle
    tries "$bench" -a renamed --plugin "./$name,renamed" -n 100 --benchmark_min_time=0 --benchmark_repetitions=1 \
        --benchmark_filter='^start/' --plain-rows -o "./$name.r"
    written "./$name.r/bench.json"
    rm -rf -- "$name" "$name.r"
    cp ../t.trace "./$name"
    tries "$bench" -a binary-heap --recording "$name" -n 100 --benchmark_min_time=0 --benchmark_repetitions=1 \
        --benchmark_filter='^recorded/' --plain-rows
    rm -f -- "$name"
done
cd ../folders
for name in "${names[@]}"; do
    tries "$TIMERLAB" export simple-wheel -o "$name"
    tries "$TIMERLAB" new another -o "$name"
    # It takes a while: of the first six.
    [[ " ${names[*]:0:6} " != *" $name "* ]] || tries "$TIMERLAB" cluster sim lease --timers 20 -o "$name"
    written "./$name"/{simple_wheel.c,another.c}
    rm -rf -- "$name"
    cp -r ../results "./$name"
    for format in table md json; do
        tries "$TIMERLAB" compare --format $format -- "$name" ../results
        [ "$(grep -c binary-heap ../out)" -gt 0 ] || complain "$(printf %q "$name"): compare --format $format has no row"
    done
done

# Traces, all in one run; two of them in one picture.
cd ../traces
for name in "${names[@]}"; do
    cp ../t.trace "./$name"
done
tries "$TIMERLAB" sim -a binary-heap --runs 1 -o ../many -- "${names[@]}"
tries "$TIMERLAB" trace info --plot ../portraits -- "${names[0]}" "${names[1]}"
tries "$TIMERLAB" trace info --plot '<portraits' -- "$long"
tries "$TIMERLAB" sweep "./${names[0]}" "./${names[1]}" -a binary-heap --runs 1 -o '|sweep'
written '|sweep/results.csv' ../portraits/*.{csv,svg,png} '<portraits'/*.{csv,svg,png}
cd ..
[ "$(wc -l <many/results.csv)" -eq $((count + 1)) ] || complain "$(wc -l <many/results.csv) lines are not of $count traces"
[ "$(jq '.rows | length' many/results.json)" -eq "$count" ] || complain "not every trace has a row in results.json"

# Structures, as a folder that somebody else has made may have them, in a folder of such a name.
folder="x'; system('touch PWNED'); y='"
mkdir "$folder"
printf '%s\0' "${names[@]}" >names
jq --rawfile names names '.context |= del(.files) | .rows[0] as $row
    | .rows = [$names | split("\u0000")[:-1] | to_entries[] | $row + {algo: .value, ns_per_event: (100 + .key)}]' \
    results/results.json >"$folder/results.json"
# A CSV has no line breaks in it.
jq -n -r --rawfile names names --rawfile table results/results.csv '($table | split("\n")) as [$heading, $row]
    | $heading, ($names | split("\u0000")[:-1] | to_entries[] | . as {$key, $value} | [$heading, $row | split(",")]
        | transpose | map(if .[0] == "algo" then ($value | gsub("\n"; " ")) elif .[0] == "ns_per_event" then 100 + $key
            else .[1] end) | @csv)' >"$folder/results.csv"
if command -v gnuplot >/dev/null; then
    # One picture of each trace will do.
    sed -i '1s/bytes_per_timer/-/; 1s/wakeups_per_fired/-/' many/results.csv
    rm many/work.csv
    for results in "$folder" many; do
        tries "$TIMERLAB" report "$results"
        ! grep -F '<script>alert' "$results"/report.html || complain "$results: report.html takes a name for more than text"
        # Code is what it is, whatever is in it.
        # shellcheck disable=SC2016 # the backquotes are Markdown's
        ! sed 's/`[^`]*`//g' "$results/report.md" | grep -E '<script|(^|[^\\])\]\(java' ||
            complain "$results: report.md takes a name for more than text"
        ! LC_ALL=C grep -q '[[:cntrl:]]' <(tr -d '\n\t' <"$results/report.md") || complain "$results: a control character in report.md"
    done
    [ "$(find many/pictures -name 'throughput-*.svg' | wc -l)" -eq "$count" ] || complain "pictures of traces: $(ls many/pictures)"
    for picture in throughput memory wakeups stall; do
        written "$folder/pictures/$picture-t".{csv,svg,png}
        [ "$(grep -c . "$folder/pictures/$picture-t.csv")" -eq $((count + 1)) ] || complain "$picture: not every structure is in it"
        [ "$(grep -c '<g class="value"><title>' "$folder/pictures/$picture-t.svg")" -ge "$count" ] ||
            complain "$picture: not every structure is drawn"
    done
    [ "$(grep -c '^| ' "$folder/report.md")" -ge "$count" ] || complain "the table has not all structures"
    tries "$TIMERLAB" report "$folder" many -o "-both"
    written ./-both/report.html
fi

[ -z "$(find . -name PWNED)" ] || complain "a name was run: $(find . -name PWNED)"
! LC_ALL=C grep -aoE '.{0,40}[[:cntrl:]]+.{0,40}' <(tr -d '\n\t' <said) >control ||
    complain "a control character reaches the terminal: $(cat -v control)"

finish
