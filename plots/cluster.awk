# cluster.awk: the lateness.csv of `timerlab cluster sim`, as latency.gp wants it: protocols are the
# series, paths the panels.
#   awk -f csv.awk -f cluster.awk LATENESS.csv
# From: protocol path share late_ms [set]. To: algo options op percentile latency_ns [set]; no options.

FNR == 1 {
    csv_header($0, column)
    next
}
{
    csv_split($0, field)
    rows++
    protocol[rows] = field[column["protocol"]]
    rest[rows] = csv_quote(field[column["path"]]) "," field[column["share"]] * 100 "," field[column["late_ms"]] * 1e6
    if ("set" in column) {
        rest[rows] = rest[rows] "," field[column["set"]]
    }
}
END {
    print "algo,options,op,percentile,latency_ns" (("set" in column) ? ",set" : "")
    for (i = 1; i <= rows; i++) {
        print csv_quote(protocol[i]) ",," rest[i]
    }
}
