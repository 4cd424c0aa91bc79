# together.awk: how many timers fire at once, as plots/together.gp draws it: a row for each stretch.
#   awk -v rearm=WORD -v tick_s=SECONDS -v begin_s=SECONDS -f csv.awk -f together.awk WORK.csv
# begin_s is where the picture begins, in the trace's time. What comes before is left out.

FNR == 1 {
    csv_header($0, column)
    next
}
{
    csv_split($0, field)
    name = field[column["algo"]]
    if (!(name in style)) {
        style[name] = ++series
    }
    at_s = (field[column["from_tick"]] + field[column["to_tick"]]) / 2 * tick_s - begin_s
    if (at_s >= 0) {
        printf "%s,%d,%s,%.3f,%d\n", csv_quote(name), style[name], rearm, at_s, field[column["worst_fired"]]
    }
}
