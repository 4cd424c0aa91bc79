# csv.awk: reading and writing CSV (RFC 4180, without line breaks inside a field). Given to awk
# before the program that uses it: awk -f plots/csv.awk -f PROGRAM FILE.

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

# How one configuration of a structure is called: its name, its options where it has any, and the
# mark of the results that it is from, where there are several.
function csv_series(algo, options, set) {
    return algo (options == "" ? "" : ":" options) (set == "" ? "" : "@" set)
}
