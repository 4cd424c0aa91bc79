# tidy.awk: cuts the data of one picture out of a file of results.
#
#   awk -f csv.awk -f tidy.awk STYLES FILE.csv keep=C,D,... by=C [at=D] [trace=T] ...
#
#   STYLES  lines "series<TAB>style", see style.gp; a series that is not among them is left out
#   keep    the columns of the picture; `series`, `algo`, `options` and `style` are put before them;
#           what is empty becomes nan
#   by, at  series are put in rising order of the column `by`: of its geometric mean over the rows
#           where `at` is greatest for that series, or over all its rows. Without a value: last.
#   trace   only the rows of this trace
#   where   only rows with COLUMN=VALUE,...
#   zero    columns; a row in which all of them are 0 is left out
#   per     only rows of those values of this column with which `at` has several values
#   valued  1: only rows with a value of `by`
#   most    no more than so many contenders keep their looks, the first; the others get the style MUTED
#   drawn   no more than so many contenders are kept, the first
#   omitted the number of the others is written to this file

BEGIN {
    # As style.gp has it.
    MUTED = -99
    csv_settings(given)
    by = given["by"]
    at = given["at"]
    trace = given["trace"]
    where = given["where"]
    zero = given["zero"]
    per = given["per"]
    most = given["most"] + 0
}

FILENAME == ARGV[1] {
    at_tab = index($0, "\t")
    style[substr($0, 1, at_tab - 1)] = substr($0, at_tab + 1)
    next
}

FNR == 1 {
    csv_header($0, column)
    kept = split(given["keep"], names, ",")
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

# Whether the row has all the values that `where` asks for.
function is_where(    i, n, pairs, pair) {
    n = split(where, pairs, ",")
    for (i = 1; i <= n; i++) {
        split(pairs[i], pair, "=")
        if (field[column[pair[1]]] != pair[2]) {
            return 0
        }
    }
    return 1
}

function all_zero(    i, n, names) {
    n = split(zero, names, ",")
    for (i = 1; i <= n; i++) {
        if (field[column[names[i]]] + 0 != 0) {
            return 0
        }
    }
    return n > 0
}

{
    csv_split($0, field)
    if ((trace != "" && field[column["trace"]] != trace) || !is_where() || all_zero()) {
        next
    }
    algo = field[column["algo"]]
    options = ("options" in column) ? field[column["options"]] : ""
    set = ("set" in column) ? field[column["set"]] : ""
    series = csv_series(algo, options, set)
    value = field[column[by]]
    if (!(series in style) || (given["valued"] && (value == "" || value <= 0))) {
        next
    }
    if (!(series in row_count)) {
        order[++count] = series
        row_count[series] = 0
        mean_n[series] = 0
    }
    row = ""
    for (i = 1; i <= kept; i++) {
        # gnuplot misreads an empty field at the end of a line.
        row = row "," (field[column[names[i]]] == "" ? "nan" : csv_quote(csv_plain(field[column[names[i]]])))
    }
    kept_rows[series, ++row_count[series]] = row
    if (per != "") {
        group = field[column[per]]
        group_of[series, row_count[series]] = group
        if (!((group, field[column[at]]) in point_seen)) {
            point_seen[group, field[column[at]]] = 1
            points[group]++
        }
    }
    head[series] = csv_quote(series) "," csv_quote(csv_series(algo, "", set)) "," csv_quote(csv_plain(options))

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
        series = order[i]
        look = style[series]
        if (look > 0 && ++contenders > given["drawn"] + 0) {
            omitted++
            continue
        }
        if (most > 0 && look > 0 && contenders > most) {
            look = MUTED
        }
        for (j = 1; j <= row_count[series]; j++) {
            if (per == "" || points[group_of[series, j]] > 1) {
                print head[series] "," look kept_rows[series, j]
            }
        }
    }
    print omitted + 0 >given["omitted"]
}
