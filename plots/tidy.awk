# tidy.awk: cuts the data of one picture out of a file of results.
#
#   awk -v keep=C,D,... -v by=C [-v at=D] [-v trace=T] -f csv.awk -f tidy.awk STYLES FILE.csv
#
#   STYLES  lines "series<TAB>style", see style.gp; a series that is not among them is left out
#   keep    the columns of the picture; `series`, `algo`, `options` and `style` are put before them;
#           what is empty becomes nan
#   by, at  series are put in rising order of the column `by`: of its geometric mean over the rows
#           where `at` is greatest for that series, or over all its rows. Without a value: last.
#   trace   only the rows of this trace

FNR == NR {
    at_tab = index($0, "\t")
    style[substr($0, 1, at_tab - 1)] = substr($0, at_tab + 1)
    next
}

FNR == 1 {
    csv_header($0, column)
    kept = split(keep, names, ",")
    header = "series,algo,options,style"
    for (i = 1; i <= kept; i++) {
        if (!(names[i] in column)) {
            printf "tidy.awk: %s has no column '%s'\n", FILENAME, names[i] >"/dev/stderr"
            failed = 1
            exit 1
        }
        header = header "," names[i]
    }
    print header
    next
}

{
    csv_split($0, field)
    if (trace != "" && field[column["trace"]] != trace) {
        next
    }
    algo = field[column["algo"]]
    options = ("options" in column) ? field[column["options"]] : ""
    set = ("set" in column) ? field[column["set"]] : ""
    series = csv_series(algo, options, set)
    if (!(series in style)) {
        next
    }
    if (!(series in rows)) {
        order[++count] = series
        rows[series] = ""
        mean_n[series] = 0
    }
    row = csv_quote(series) "," csv_quote(csv_series(algo, "", set)) "," csv_quote(options) "," style[series]
    for (i = 1; i <= kept; i++) {
        # gnuplot misreads an empty field at the end of a line.
        row = row "," (field[column[names[i]]] == "" ? "nan" : csv_quote(field[column[names[i]]]))
    }
    rows[series] = rows[series] row "\n"

    value = field[column[by]]
    if (value == "" || value <= 0) {
        next
    }
    place = at == "" ? 0 : field[column[at]] + 0
    if (mean_n[series] == 0 || place > mean_at[series]) {
        mean_n[series] = 0
        mean_sum[series] = 0
        mean_at[series] = place
    }
    if (place == mean_at[series]) {
        mean_n[series]++
        mean_sum[series] += log(value)
    }
}

function before(a, b) {
    if (!mean_n[a] || !mean_n[b]) {
        return mean_n[a] > 0 && !mean_n[b]
    }
    return mean_sum[a] / mean_n[a] < mean_sum[b] / mean_n[b]
}

END {
    if (failed) {
        exit 1
    }
    for (i = 2; i <= count; i++) {
        series = order[i]
        for (j = i - 1; j >= 1 && before(series, order[j]); j--) {
            order[j + 1] = order[j]
        }
        order[j + 1] = series
    }
    for (i = 1; i <= count; i++) {
        printf "%s", rows[order[i]]
    }
}
