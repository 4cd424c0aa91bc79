# Writes the manual pages from what the programs say of themselves: one page for `timerlab` and one for
# each command down its tables; the same for `timerlab-mpi`; one page for `timerlab-bench`.
#
#     awk -v timerlab=PROGRAM -v version=VERSION -v folder=FOLDER -f man.awk
#     awk -v mpi=PROGRAM -v version=VERSION -v folder=FOLDER -f man.awk
#     awk -v bench=PROGRAM -v version=VERSION -v folder=FOLDER -f man.awk

# Text as roff wants it: backslashes, hyphens that are minus signs, nothing that begins a request;
# `words` in quotes become bold.
function roff(text,    before, inside, out) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    out = ""
    while (match(text, /`[^`']+[`']/)) {
        before = substr(text, 1, RSTART - 1)
        inside = substr(text, RSTART + 1, RLENGTH - 2)
        out = out before "\\fB" inside "\\fR"
        text = substr(text, RSTART + RLENGTH)
    }
    out = out text
    if (out ~ /^[.']/) {
        out = "\\&" out
    }
    return out
}

function upper(text) {
    return toupper(substr(text, 1, 1)) substr(text, 2)
}

# Reads a program's help into lines[1..]; returns how many.
function read_help(command, lines,    n, line) {
    n = 0
    while ((command | getline line) > 0) {
        lines[++n] = line
    }
    if (close(command) != 0 || n == 0) {
        printf "man.awk: '%s' failed\n", command > "/dev/stderr"
        exit failed = 1
    }
    return n
}

function begin_page(name, summary) {
    file = folder "/" name ".1"
    printf ".TH %s 1 \"\" \"timerlab %s\" \"User Commands\"\n", toupper(name), version > file
    printf ".SH NAME\n%s \\- %s\n", name, roff(summary) > file
}

function section(title) {
    printf ".SH %s\n", title > file
}

# "Usage: timerlab sim [OPTION...] TRACE..." or "  or:  ..."
function synopsis(line) {
    sub(/^(Usage:|  or: ) */, "", line)
    printf ".B %s\n.br\n", roff(line) > file
}

function paragraph(text) {
    if (text ~ /^Exit status: /) {
        section("EXIT STATUS")
        sub(/^Exit status: /, "", text)
        text = upper(text)
    } else {
        print ".PP" > file
    }
    print roff(text) > file
}

# A table of commands, and a page for each.
function write_table(args, summary, lines, n,    i, name, parts, rows, words, texts) {
    name = called args
    gsub(/ /, "-", name)
    begin_page(name, summary)
    section("SYNOPSIS")
    synopsis(lines[1])
    section("COMMANDS")
    rows = 0
    for (i = 2; i <= n; i++) {
        if (lines[i] ~ /^  [a-z]/) {
            rows++
            words[rows] = lines[i]
            sub(/^  /, "", words[rows])
            texts[rows] = words[rows]
            sub(/ .*/, "", words[rows])
            sub(/^[^ ]+ +/, "", texts[rows])
            printf ".TP\n.BR %s (1)\n%s\n", roff(name "-" words[rows]), roff(texts[rows]) > file
        } else if (lines[i] != "") {
            paragraph(lines[i])
        }
    }
    section("EXIT STATUS")
    print "0: done, and right. 1: a run failed, or a fault was found. 2: the command line cannot be followed." > file
    close(file)
    for (i = 1; i <= rows; i++) {
        write_pages(args " " words[i], texts[i], name)
    }
}

# One command, in the form that argp gives its help.
function write_command(args, summary, parent, lines, n,    i, name, option, text, in_options) {
    name = called args
    gsub(/ /, "-", name)
    begin_page(name, summary)
    section("SYNOPSIS")
    for (i = 1; i <= n && lines[i] ~ /^(Usage:|  or: )/; i++) {
        synopsis(lines[i])
    }
    section("DESCRIPTION")
    for (; i <= n; i++) {
        if (lines[i] ~ /^ +-/) {
            if (!in_options) {
                section("OPTIONS")
                in_options = 1
            }
            text = lines[i]
            option = ""
            while (match(text, /^ *-[^ ]+ */)) {
                option = option substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
            }
            sub(/^ +/, "", option)
            sub(/ +$/, "", option)
            if (text == "") { # too long for the text to stand beside it
                text = lines[++i]
                sub(/^ +/, "", text)
            }
            printf ".TP\n.B %s\n%s\n", roff(option), roff(text) > file
        } else if (lines[i] == "Examples:") {
            i = examples(lines, n, i)
        } else if (lines[i] ~ /^ [^ ]/) {
            if (!in_options) {
                section("OPTIONS")
                in_options = 1
            }
            printf ".SS %s\n", roff(substr(lines[i], 2)) > file
        } else if (lines[i] != "") {
            if (in_options == 1 && lines[i] !~ /^Exit status: /) {
                section("NOTES")
            }
            in_options += in_options > 0
            paragraph(lines[i])
        }
    }
    section("SEE ALSO")
    printf ".BR %s (1)\n", roff(parent) > file
    close(file)
}

function write_pages(args, summary, parent,    lines, n) {
    n = read_help("ARGP_HELP_FMT=rmargin=2000,dup-args-note=0 '" program "'" args " --help", lines)
    if (lines[1] ~ /^Usage: [a-z -]* COMMAND /) {
        write_table(args, summary, lines, n)
    } else {
        write_command(args, summary, parent, lines, n)
    }
}

# The examples of which lines[i] is the heading; returns their last line's number.
function examples(lines, n, i) {
    section("EXAMPLES")
    print ".nf" > file
    while (i < n && lines[i + 1] ~ /^  /) {
        print roff(substr(lines[++i], 3)) > file
    }
    print ".fi" > file
    return i
}

# Help of another form is shown as it is.
BEGIN {
    if (timerlab != "") {
        called = "timerlab"
        program = timerlab
        write_pages("", "a benchmark and simulation workbench for timer algorithms", "timerlab")
    }
    if (mpi != "") {
        called = "timerlab-mpi"
        program = mpi
        write_pages("", "replays of timer operations, divided among the ranks of an MPI job", "timerlab")
    }
    if (bench != "") {
        called = "timerlab-bench"
        program = bench
        write_pages("", "the cost of single operations of timer structures", "timerlab")
    }
    exit failed
}
