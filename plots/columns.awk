# columns.awk: some columns of a table, separated by tabs, without the header; with distinct=1, each line once.
#   awk -f csv.awk -f columns.awk FILE.csv of=COLUMN,COLUMN,... [distinct=1]

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
    line = field[column[wanted[1]]]
    for (i = 2; i <= count; i++) {
        line = line "\t" field[column[wanted[i]]]
    }
    if (!given["distinct"] || !seen[line]++) {
        print line
    }
}
