# columns.awk: some columns of a table, a tab between them, without the header.
#   awk -f csv.awk -f columns.awk FILE.csv of=COLUMN,COLUMN,...

BEGIN {
    csv_settings(given)
    count = split(given["of"], wanted, ",")
}
FNR == 1 {
    csv_header($0, column)
    next
}
{
    csv_split($0, field)
    for (i = 1; i <= count; i++) {
        printf "%s%s", field[column[wanted[i]]], i < count ? "\t" : "\n"
    }
}
