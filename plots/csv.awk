# csv.awk: reading and writing CSV (RFC 4180, without line breaks inside a field). Given to awk
# before the program that uses it: awk -f plots/csv.awk -f PROGRAM FILE.

# The operands NAME=VALUE of the command, taken as they are; awk itself would make a tab of "\t".
function csv_settings(settings,    i, at) {
    for (i = 1; i < ARGC; i++) {
        if (ARGV[i] ~ /^[a-z]+=/) {
            at = index(ARGV[i], "=")
            settings[substr(ARGV[i], 1, at - 1)] = substr(ARGV[i], at + 1)
            ARGV[i] = ""
        }
    }
}

# Splits `line` into fields[1..n] and returns n.
function csv_split(line, fields,    n, rest, field, at) {
    split("", fields)
    n = 0
    rest = line
    sub(/\r$/, "", rest)
    for (;;) {
        field = ""
        if (substr(rest, 1, 1) == "\"") {
            rest = substr(rest, 2)
            while ((at = index(rest, "\"")) > 0) {
                field = field substr(rest, 1, at - 1)
                rest = substr(rest, at + 1)
                if (substr(rest, 1, 1) != "\"") {
                    break
                }
                field = field "\""
                rest = substr(rest, 2)
            }
            at = index(rest, ",")
        } else {
            at = index(rest, ",")
            field = at ? substr(rest, 1, at - 1) : rest
        }
        fields[++n] = field
        if (!at) {
            return n
        }
        rest = substr(rest, at + 1)
    }
}

# A field as it is written.
function csv_quote(field) {
    if (field !~ /[",]/) {
        return field
    }
    gsub(/"/, "\"\"", field)
    return "\"" field "\""
}

# Reads the header row: column["name"] becomes its number.
function csv_header(line, column,    n, i, names) {
    n = csv_split(line, names)
    for (i = 1; i <= n; i++) {
        column[names[i]] = i
    }
}

# A text for a picture: each character that has a meaning in gnuplot's lists of words or in its data
# becomes one that looks like it.
function csv_plain(text) {
    gsub(/[\001-\040\177]/, "\302\240", text)
    gsub(/"/, "”", text)
    gsub(/'/, "’", text)
    gsub(/\\/, "∖", text)
    return text
}

# How one configuration of a structure is called in a picture: its name, its options where it has any,
# and the mark of the results that it is from, where there are several.
function csv_series(algo, options, set) {
    return csv_plain(algo (options == "" ? "" : ":" options) (set == "" ? "" : "@" set))
}
