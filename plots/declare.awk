# declare.awk: results that are older, and do not hold what each structure promises of its precision,
# with empty columns for it.
#   awk -f csv.awk -f declare.awk FILE.csv

FNR == 1 {
    csv_header($0, column)
    known = "declared_late" in column
    print $0 (known ? "" : ",declared_early,declared_late")
    next
}
{
    print $0 (known ? "" : ",,")
}
