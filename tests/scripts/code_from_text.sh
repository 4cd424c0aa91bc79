#!/usr/bin/env bash
# Names, paths, titles and labels reach another program as arguments, environment or data files. This looks for the
# places where text could become a program: a shell's, gnuplot's, awk's, sed's, jq's or a database's.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$SOURCE/tests/lib.sh"

found=$scratch/found

# An option before a program's text, with its argument; behind -f there is none.
option=' +(-L +("[^"]*"|[^ ]+)|--(arg|argjson|rawfile|slurpfile) +[a-z_]+ +"[^"]*"|-[A-KM-Za-eg-z0-9-]+)'
begin='(^|[^a-z_./>-])'

# none WHAT PATTERN FILE...: no line of the files matches, comments apart.
none() {
    local what=$1 pattern=$2
    shift 2
    { grep -nE -- "$pattern" "$@" /dev/null || true; } | { grep -vE '^[^:]*:[0-9]+: *(#|//|\*|/\*)' || true; } |
        sed "s/^/$what: /" >>"$found"
}

# lint ROOT: what is found in it.
lint() {
    cd "$1"
    : >"$found"
    mapfile -d '' -t programs < <(find algos sim bench -name '*.[ch]' -print0 -o -name '*.cc' -print0)
    mapfile -d '' -t scripts < <(grep -lIZ '^#!.*sh$' scripts/* docs/tools/* plots/*)
    none 'a shell runs a string' "$begin(system|popen) ?\(|\"(/bin/)?(ba|da)?sh\"" "${programs[@]}"
    none 'a statement is made of text' \
        'sqlite3_(v?m|sn)printf|(printf|memory_format)\([^;]*"[^"]*(SELECT|INSERT|DELETE|UPDATE|PRAGMA|CREATE) ' "${programs[@]}"
    none 'gnuplot runs a string' "gnuplot[^|]* -e ([^']|'[^']*'?[\"\$])" "${scripts[@]}"
    none 'awk takes a setting for more than its characters' "${begin}awk [^|']*-v *[^ ]*[\$\"]" "${scripts[@]}"
    none 'a program has text in it' \
        "$begin(g?awk|sed|jq|perl|python3?|sqlite3|psql)($option)* +(\"[^\"]*[\$\`]|'[^']*'(\"[^\"]*)?[\$\`])" "${scripts[@]}"
    none 'a shell runs a string' "$begin(ba|da)?sh -c [^']|${begin}eval [^ ]|${begin}trap \"[^\"]*[$\`]" "${scripts[@]}"
    none 'a here-document has text in it' '(^|[^<])<<-?[A-Za-z"]' "${scripts[@]}"
    none 'gnuplot runs a command' "system\(|\`|^ *!|(plot|stats|load|output) *[\"'][<|]" plots/*.gp
}

# What it is to find, a line each.
mkdir -p "$scratch/bad"/{algos,sim,bench,scripts,docs/tools,plots}
cat >"$scratch/bad/sim/bad.c" <<'END'
    FILE *pipe = popen(command, "r");
    if (system(text) != 0) {
    char *const words[] = {"sh", "-c", command, NULL};
    (void)snprintf(statement, sizeof statement, "SELECT v FROM timers WHERE k = %s", name);
END
cat >"$scratch/bad/scripts/bad" <<'END'
#!/bin/sh
gnuplot -e "data='$data'" x.gp
gnuplot -e 'title="'"$title"'"'
awk -v "name=$name" '{ print }'
awk -F , -v name="$name" '{ print }'
awk "/$name/"
sed -n "s/$name//p" file
sed -e 's/'"$name"'//' file
jq -r --arg a "$b" ".rows[] | .$name" file
jq -n -r "$program"
bash -c "cat $name"
eval "$command"
trap "rm -r '$folder'" EXIT
cat >config <<END
END
cat >"$scratch/bad/plots/bad.gp" <<'END'
load system("dirname '".ARG0."'")."/style.gp"
plot '< cat '.data
END
lint "$scratch/bad"
expected=$(cat "$scratch"/bad/{sim/bad.c,scripts/bad,plots/bad.gp} | grep -cvx '#!/bin/sh')
if [ "$(cut -d: -f2,3 "$found" | sort -u | wc -l)" -ne "$expected" ]; then
    printf 'of %d bad lines are found:\n' "$expected"
    cat "$found"
    exit 1
fi

lint "$SOURCE"
if [ ${#programs[@]} -lt 100 ] || [ ${#scripts[@]} -lt 10 ]; then
    printf 'there are not many sources\n'
    exit 1
fi
# The blocks of commands of a page of docs/ are a program.
sed -i '/: docs.tools.draw-steps:[0-9]*:eval "[$]commands"$/d' "$found"
cat "$found"
[ ! -s "$found" ]
