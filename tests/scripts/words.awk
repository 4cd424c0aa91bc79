# words.awk: find the words of words.txt in sources and pages: awk -v list=WORDS -f words.awk FILE...
# A line for each: zone (messages, comments, docs or scripts), a tab, FILE:LINE, the word, and what to write instead.
# C: adjacent string literals are one message, adjacent comments one comment. Markdown: no code; sentences are counted too.

BEGIN {
    FS = "\t"
    while ((getline <list) > 0)
        if ($0 !~ /^#/ && NF == 2) {
            gsub(/ /, "[ \n]+", $1)
            if ($2 == "allowed") {
                allowed = allowed (allowed == "" ? "" : "|") $1
                continue
            }
            pattern[++patterns] = "[^a-z0-9_-](" $1 ")[^a-z0-9_-]"
            instead[patterns] = $2
            any = any (any == "" ? "" : "|") $1
        }
    any = "[^a-z0-9_-](" any ")[^a-z0-9_-]"
    FS = "\n"
}

FNR == 1 {
    flush()
    kind = FILENAME ~ /\.(c|h|cc|js|in)$/ ? "c" : FILENAME ~ /\.md$/ ? "docs" : "scripts"
    code = inside = 0
    string = ""
}

# add ZONE TEXT: the unit being read goes on in this line; another zone begins another.
function add(zone, text) {
    if (zone != unit_zone)
        flush()
    if (unit_zone == "") {
        unit_zone = zone
        unit_file = FILENAME
        unit_line = last_line = FNR
        unit = ""
    }
    while (last_line < FNR) {
        unit = unit "\n"
        last_line++
    }
    unit = unit text
}

function hit(line, what, remedy) {
    printf "%s\t%s:%d: %s: write %s\n", unit_zone, unit_file, line, what, remedy
}

# line_at TEXT: the line on which the unit goes on after TEXT.
function line_at(text) {
    return unit_line + gsub(/\n/, "\n", text)
}

# flush: the unit being read is complete.
function flush(    text, i, done, rest, word) {
    if (unit_zone == "")
        return
    text = " " tolower(unit) " "
    while (match(text, allowed))
        text = substr(text, 1, RSTART - 1) blank(substr(text, RSTART, RLENGTH)) substr(text, RSTART + RLENGTH)
    if (text ~ any)
        for (i = 1; i <= patterns; i++) {
            done = 0
            rest = text
            while (match(rest, pattern[i])) {
                word = substr(rest, RSTART + 1, RLENGTH - 2)
                hit(line_at(substr(text, 1, done + RSTART)), "\"" spaced(word) "\"", instead[i])
                done += RSTART + RLENGTH - 2
                rest = substr(text, done + 1)
            }
        }
    if (unit_zone == "docs")
        sentences(unit)
    unit_zone = ""
}

function blank(text) {
    gsub(/[^ \n]/, ".", text)
    return text
}

function spaced(word) {
    gsub(/[ \n]+/, " ", word)
    return word
}

function sentences(text,    start, end, one, words, parts) {
    start = 1
    while (start <= length(text)) {
        end = match(substr(text, start), /[.!?:;]["')]?[ \n]/) ? start + RSTART : length(text)
        one = substr(text, start, end - start + 1)
        words = split(spaced(one), parts, " ")
        if (words > 35)
            hit(line_at(substr(text, 1, start)), "a sentence of " words " words", "two")
        start = end + 1
    }
}

# The C of a line: literals and comments go to their units, whatever else ends a message.
function scan(text,    at, piece) {
    while (text != "") {
        if (inside) {
            at = index(text, "*/")
            piece = at ? substr(text, 1, at - 1) : text
            sub(/^[ \t]*\*+ ?/, "", piece)
            add("comments", " " piece " ")
            text = at ? substr(text, at + 2) : ""
            inside = !at
        } else if (text ~ /^[ \t]+$/) {
            return
        } else if (match(text, /^[ \t]*\/\*/)) {
            inside = 1
            text = substr(text, RLENGTH + 1)
        } else if (match(text, /^[ \t]*\/\//)) {
            add("comments", " " substr(text, RLENGTH + 1) " ")
            return
        } else if (match(text, /^[ \t]*((PRI|SCN)[a-zA-Z0-9]+[ \t]*)?"([^"\\]|\\.)*"/)) {
            piece = substr(text, 1, RLENGTH)
            text = substr(text, RLENGTH + 1)
            sub(/^[^"]*"/, "", piece)
            gsub(/\\[ntv"]/, " ", piece)
            add("messages", substr(piece, 1, length(piece) - (piece ~ /"$/)))
        } else if (match(text, /^[ \t]*'([^'\\]|\\.)*'/) || match(text, /^[ \t]*[^"'\/ \t]+/) || match(text, /^[ \t]*./)) {
            if (substr(text, 1, RLENGTH) !~ /^[ \t]*(PRI|SCN)[a-zA-Z0-9]+$/)
                flush()
            text = substr(text, RLENGTH + 1)
        }
    }
}

kind == "c" {
    if ($0 ~ /^[ \t]*$/)
        flush()
    else if ($0 !~ /^[ \t]*#[ \t]*include/)
        scan($0)
    next
}

kind == "docs" {
    if ($0 ~ /^```/) {
        flush()
        code = !code
    } else if (!code) {
        if ($0 ~ /^ *$|^    |^ *([-*+|#>]|[0-9]+\.)/)
            flush()
        if ($0 !~ /^    /) {
            gsub(/`[^`]*`/, "`")
            gsub(/\]\([^)]*\)/, "]")
            gsub(/\|/, " . ")
            add("docs", $0 " ")
        }
    }
    next
}

{
    if ($0 ~ /^[# \t]*$/)
        flush()
    else {
        sub(/^[ \t]*#/, " ")
        add("scripts", $0 " ")
    }
}

END { flush() }
