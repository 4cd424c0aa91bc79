# work.awk: work over time as plots/work.gp draws it: a row for the worst tick of each stretch, and one
# for the mean.
#   awk -f csv.awk -f work.awk WORK.csv
# Stretches are put together until a picture has room for them: fewer where there are very many series.
# `shown` is the work, but that less than LEAST has no place on a logarithmic axis, and stands there;
# `peak` is 1 for the highest few of a series.

BEGIN {
    POINTS = 128
    POINTS_OF_MANY = 48
    MANY = 12
    PEAKS = 8
    # As work.gp names it.
    LEAST = 0.01
}

FNR == 1 {
    csv_header($0, column)
    print "trace,algo,options,set,measure,from_tick,to_tick,work,shown,tick,cascades,fired,peak"
    next
}
{
    csv_split($0, field)
    trace = field[column["trace"]]
    set = ("set" in column) ? field[column["set"]] : ""
    key = csv_quote(trace) "," csv_quote(field[column["algo"]]) "," csv_quote(field[column["options"]]) \
        "," set
    if (!(key in count)) {
        keys[++series] = key
        trace_of[key] = trace
        series_of[trace]++
    }
    at = ++count[key]
    from[key, at] = field[column["from_tick"]]
    to[key, at] = field[column["to_tick"]]
    mean[key, at] = field[column["work_per_tick"]]
    fired[key, at] = field[column["fired"]]
    cascades[key, at] = field[column["n_cascades"]]
    worst[key, at] = field[column["worst_work"]] + 0
    worst_tick[key, at] = field[column["worst_tick"]]
    worst_cascades[key, at] = field[column["worst_cascades"]]
    worst_fired[key, at] = field[column["worst_fired"]]
}

function row(key, measure, begin, end, work, tick, its_cascades, its_fired, is_peak) {
    printf "%s,%s,%s,%s,%.6g,%.6g,%s,%d,%d,%d\n", key, measure, begin, end, work, (work > LEAST ? work : LEAST), \
        tick, its_cascades, its_fired, is_peak
}

# Which are the highest few of these: peak[i] is 1.
function find_peaks(values, n, peak,    i, k, best) {
    split("", peak)
    for (k = 1; k <= PEAKS; k++) {
        best = 0
        for (i = 1; i <= n; i++) {
            if (!(i in peak) && values[i] > 0 && (!best || values[i] > values[best])) {
                best = i
            }
        }
        if (best) {
            peak[best] = 1
        }
    }
}

# Stretches first to last as one.
function together(key, first, last, n,    i) {
    begins[n] = from[key, first]
    ends[n] = to[key, last]
    sums[n] = 0
    fires[n] = 0
    moved[n] = 0
    high[n] = first
    for (i = first; i <= last; i++) {
        sums[n] += mean[key, i] * (to[key, i] - from[key, i] + 1)
        fires[n] += fired[key, i]
        moved[n] += cascades[key, i]
        if (worst[key, i] > worst[key, high[n]]) {
            high[n] = i
        }
    }
    worsts[n] = worst[key, high[n]]
    means[n] = sums[n] / (ends[n] - begins[n] + 1)
}

END {
    for (s = 1; s <= series; s++) {
        key = keys[s]
        points = series_of[trace_of[key]] > MANY ? POINTS_OF_MANY : POINTS
        step = 1
        while (count[key] / step > points) {
            step *= 2
        }
        n = 0
        for (i = 1; i <= count[key]; i += step) {
            together(key, i, i + step - 1 < count[key] ? i + step - 1 : count[key], ++n)
        }
        find_peaks(worsts, n, peak)
        for (i = 1; i <= n; i++) {
            row(key, "worst", begins[i], ends[i], worsts[i], worst_tick[key, high[i]], \
                worst_cascades[key, high[i]], worst_fired[key, high[i]], i in peak)
        }
        find_peaks(means, n, peak)
        for (i = 1; i <= n; i++) {
            row(key, "mean", begins[i], ends[i], means[i], begins[i], moved[i], fires[i], i in peak)
        }
    }
}
