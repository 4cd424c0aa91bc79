# columns.awk: some columns of a table, a tab between them, without the header.
#   awk -v of=COLUMN,COLUMN,... -f csv.awk -f columns.awk FILE.csv

FNR == 1 {
    csv_header($0, column)
    count = split(of, wanted, ",")
    next
}
{
    csv_split($0, field)
    for (i = 1; i <= count; i++) {
        printf "%s%s", field[column[wanted[i]]], i < count ? "\t" : "\n"
    }
}
