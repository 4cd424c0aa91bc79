# looks.awk: gives every series of some tables its style (see style.gp).
#   awk -f csv.awk -f looks.awk BASELINES TABLE.csv...    prints "series<TAB>style"
# BASELINES: names of structures that are yardsticks, one a line; with "<TAB>slow" behind it, it gets
# no style, and is not drawn.

FILENAME == ARGV[1] {
    slow = sub(/\tslow$/, "")
    baseline[$0] = 1
    if (slow) {
        left_out[$0] = 1
    }
    next
}
FNR == 1 {
    split("", column)
    csv_header($0, column)
    next
}
{
    csv_split($0, field)
    algo = field[column["algo"]]
    series = csv_series(algo, ("options" in column) ? field[column["options"]] : "", \
        ("set" in column) ? field[column["set"]] : "")
    if (!(series in seen) && !(algo in left_out)) {
        seen[series] = 1
        printf "%s\t%d\n", series, (algo in baseline) ? -grey++ : ++coloured
    }
}
