# latency.gp: latency of each operation by percentile, a panel for each operation. The axis of
# percentiles is logarithmic in 1/(1-p), so that every further nine takes the same room; the maximum
# stands at its right end. See style.gp for the data. Setting: "" for the service time of operations, "response" for
# their response time, "lateness" for that of timers.
# Columns: series style op percentile (0 to 100) latency_ns
panel_column = "op"
heading(name) = headed((setting_1 eq "lateness" ? "Lateness, " : setting_1 eq "response" ? "Response time of " : "Service time of ").name)
stats data using (column("percentile") < 100 ? column("percentile") : NaN) nooutput
end = 100.0 / (100.0 - STATS_max) * 3
x_of(dummy) = column("percentile") < 100 ? 100.0 / (100.0 - column("percentile")) : end
value = "latency_ns"
x_label = setting_1 eq "lateness" ? "percentile of the timers, %" : "percentile of the operations, %"
y_label = setting_1 eq "lateness" ? "lateness" : "latency"
# A mark for each nine up to the maximum; where they are close together every second one is named,
# and none that would run into the maximum's name.
named_to = end / 10 ** (50.0 / (300.0 / log10(end * 1.3)))
x_tics = "('50' 2, '90' 10"
named = "99 99.9 99.99 99.999 99.9999 99.99999 99.999999 99.9999999"
do for [nines = 2:9] {
    if (10 ** nines < end / 4) {
        x_tics = x_tics.sprintf(", '%s' 1e%d", \
            (end > 3e5 && nines % 2 == 0) || 10 ** nines > named_to ? "" : word(named, nines - 1), nines)
    }
}
x_tics = x_tics.sprintf(", 'max' %g)", end)
y_tics = DURATION_TICS
x_low = 1; x_high = end * 1.3
said(dummy) = duration(column(value))." at ".(column("percentile") < 100 \
    ? sprintf("%.6g", column("percentile"))." %" : "the longest").", ".strcol("op")
# Where what is missing to 100 % has been halved, and the longest.
halvings(dummy) = log(100.0 / (100.0 - column("percentile"))) / log(2)
is_said(dummy) = column("percentile") >= 100 || abs(halvings(0) - floor(halvings(0) + 0.5)) < 0.01
shared_y = 1
load FOLDER."lines.gp"
