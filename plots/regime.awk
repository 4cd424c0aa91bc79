# regime.awk: who is the fastest at each point of two knobs of a sweep.
#   awk -f csv.awk -f regime.awk STYLES FILE.csv x=p_X y=p_Y
# STYLES as for tidy.awk. Of the contenders that promise to fire every timer on its due tick; of older
# results, which do not hold that, those that did, and were spared none by being late. Where other knobs
# were turned too, by the geometric mean over those points of theirs that all contenders ran. Of equals
# the first in STYLES.

BEGIN {
    csv_settings(given)
    x = given["x"]
    y = given["y"]
}
FILENAME == ARGV[1] {
    at_tab = index($0, "\t")
    in_order[++series_count] = substr($0, 1, at_tab - 1)
    style[in_order[series_count]] = substr($0, at_tab + 1)
    next
}
FNR == 1 {
    csv_header($0, column)
    width = csv_split($0, names)
    next
}

# What is promised, or else was measured.
function bound(declared, measured) {
    return (declared in column) && field[column[declared]] != "" ? field[column[declared]] + 0 : \
        field[column[measured]] + field[column["averted"]]
}
{
    csv_split($0, field)
    series = csv_series(field[column["algo"]], field[column["options"]], \
        ("set" in column) ? field[column["set"]] : "")
    if (!(series in style) || style[series] < 1 || field[column["status"]] != "ok" ||
        field[column["ns_per_event"]] + 0 <= 0 || bound("declared_early", "lateness_min") != 0 ||
        bound("declared_late", "lateness_max") != 0) {
        next
    }
    place = field[column[x]] SUBSEP field[column[y]]
    xs[field[column[x]]] = 1
    ys[field[column[y]]] = 1
    rest = ""
    for (i = 1; i <= width; i++) {
        if (names[i] ~ /^p_/ && names[i] != x && names[i] != y) {
            rest = rest SUBSEP field[i]
        }
    }
    if (!((place, rest) in point_seen)) {
        point_seen[place, rest] = 1
        points[place]++
    }
    ran[place, series]++
    sum[place, series] += log(field[column["ns_per_event"]])
    spread[place, series] += field[column["ns_per_event_mad"]]
}

# Numbers of a set, rising, as sorted[1..]; returns how many.
function sort_numbers(set, sorted,    n, i, j, value) {
    n = 0
    for (value in set) {
        for (i = n++; i >= 1 && sorted[i] + 0 > value + 0; i--) {
            sorted[i + 1] = sorted[i]
        }
        sorted[i + 1] = value
    }
    return n
}

END {
    print "series,style,column,row,x,y,ns_per_event,next,times,told"
    nx = sort_numbers(xs, sorted_x)
    ny = sort_numbers(ys, sorted_y)
    for (i = 1; i <= nx; i++) {
        for (j = 1; j <= ny; j++) {
            place = sorted_x[i] SUBSEP sorted_y[j]
            best = second = ""
            for (k = 1; k <= series_count; k++) {
                series = in_order[k]
                if (ran[place, series] < points[place] || !points[place]) {
                    continue
                }
                mean[series] = exp(sum[place, series] / points[place])
                if (best == "" || mean[series] < mean[best]) {
                    second = best
                    best = series
                } else if (second == "" || mean[series] < mean[second]) {
                    second = series
                }
            }
            if (best == "") {
                continue
            }
            told = second == "" || mean[second] - mean[best] > \
                3 * (spread[place, best] + spread[place, second]) / points[place]
            printf "%s,%d,%d,%d,%s,%s,%.2f,%s,%.2f,%d\n", csv_quote(best), style[best], i, j, \
                sorted_x[i], sorted_y[j], mean[best], second == "" ? "nothing" : csv_quote(second), \
                second == "" ? 1 : mean[second] / mean[best], told
        }
    }
}
