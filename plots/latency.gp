# latency.gp: latency of each operation by percentile, a panel for each operation. The axis of
# percentiles is logarithmic in 1/(1-p), so that every further nine takes the same room; the maximum
# stands at its right end. See style.gp for the data.
# Columns: series style op percentile (0 to 100) latency_ns
load system("dirname '".ARG0."'")."/style.gp"
panel_column = "op"
heading(name) = headed(name)
stats data using (column("percentile") < 100 ? column("percentile") : NaN) nooutput
end = 100.0 / (100.0 - STATS_max) * 10
x_of(dummy) = column("percentile") < 100 ? 100.0 / (100.0 - column("percentile")) : end
value = "latency_ns"; spread = ""
x_label = "percentile of the operations, %"
y_label = "latency"
x_tics = "('50' 2, '90' 10, '99' 1e2, '99.9' 1e3, '99.99' 1e4, '99.999' 1e5, " \
    ."'6 nines' 1e6, '7 nines' 1e7)"
x_tics = sprintf("%s, 'max' %g)", x_tics[1:strlen(x_tics) - 1], end)
y_tics = DURATION_TICS
x_low = 1; x_high = end * 1.3
load FOLDER."/lines.gp"
