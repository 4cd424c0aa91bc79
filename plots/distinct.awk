# distinct.awk: the distinct values of a column, in the file's order, one a line.
#   awk -v of=COLUMN -f csv.awk -f distinct.awk FILE.csv

FNR == 1 {
    csv_header($0, column)
    next
}
{
    csv_split($0, field)
    value = field[column[of]]
    if (!(value in seen)) {
        seen[value] = 1
        print value
    }
}
