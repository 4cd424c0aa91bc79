# distinct.awk: the distinct values of a column, in the file's order, one a line.
#   awk -f csv.awk -f distinct.awk FILE.csv of=COLUMN

BEGIN {
    csv_settings(given)
}
FNR == 1 {
    csv_header($0, column)
    next
}
{
    csv_split($0, field)
    value = field[column[given["of"]]]
    if (!(value in seen)) {
        seen[value] = 1
        print value
    }
}
