# join.awk: tables of several folders as one, with the column `set` for the folder's mark. Columns are
# found by their names: what a table does not have is empty.
#   awk -f csv.awk -f join.awk mark=A A/TABLE.csv mark=B B/TABLE.csv ...

FNR == 1 {
    split("", names)
    width = csv_split($0, names)
    for (i = 1; i <= width; i++) {
        if (!(names[i] in known)) {
            known[names[i]] = ++columns
            heading[columns] = names[i]
        }
    }
    next
}
{
    csv_split($0, field)
    mark_of[++rows] = mark
    for (i = 1; i <= width; i++) {
        value[rows, known[names[i]]] = field[i]
    }
}

END {
    for (i = 1; i <= columns; i++) {
        printf "%s,", heading[i]
    }
    print "set"
    for (row = 1; row <= rows; row++) {
        for (i = 1; i <= columns; i++) {
            printf "%s,", csv_quote(value[row, i])
        }
        print mark_of[row]
    }
}
