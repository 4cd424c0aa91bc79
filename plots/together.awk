# together.awk: how many timers fire at once, as plots/together.gp draws it: a row for each stretch in which
# any does.
#   awk -f csv.awk -f together.awk WORK.csv tick=MILLISECONDS

BEGIN {
    csv_settings(given)
}
FNR == 1 {
    csv_header($0, column)
    print "series,style,at_ms,fired"
    next
}
{
    csv_split($0, field)
    name = field[column["algo"]]
    if (!(name in style)) {
        style[name] = ++series
    }
    if (begin == "") {
        begin = field[column["from_tick"]]
    }
    if (field[column["worst_fired"]] > 0) {
        printf "%s,%d,%.6g,%d\n", csv_quote(csv_plain(name)), style[name],
            ((field[column["from_tick"]] + field[column["to_tick"]]) / 2 - begin) * given["tick"], field[column["worst_fired"]]
    }
}
