# declare.awk: results with what each structure declares of its precision beside them.
#   awk -f csv.awk -f declare.awk DECLARED FILE.csv
# DECLARED: lines "algo<TAB>early<TAB>late<TAB>delay", in ticks, with default options; rows with options
# of their own get nothing.

FILENAME == ARGV[1] {
    split($0, part, "\t")
    declared[part[1]] = part[2] "," part[3] "," part[4]
    next
}
FNR == 1 {
    csv_header($0, column)
    print $0 ",declared_early,declared_late,declared_delay"
    next
}
{
    csv_split($0, field)
    algo = field[column["algo"]]
    print $0 "," (field[column["options"]] == "" && algo in declared ? declared[algo] : ",,")
}
