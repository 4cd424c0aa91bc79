# plain.awk: a table with its texts as csv_plain has them.
#   awk -f csv.awk -f plain.awk FILE.csv

{
    width = csv_split($0, field)
    for (i = 1; i <= width; i++) {
        printf "%s%s", csv_quote(csv_plain(field[i])), i < width ? "," : "\n"
    }
}
