# threads.gp: structures behind front ends under many threads: operations in a second against the number
# of threads, a panel for each share of cancelled timers. See style.gp for the data.
# Columns: series style cancelled_percent threads operations_per_second call_ns_p99
panel_column = "cancelled_percent"
heading(name) = headed(name." % cancelled")
x_column = "threads"
value = "operations_per_second"
x_label = "threads"
y_label = "operations in a second"
x_tics = "('1' 1, '2' 2, '4' 4, '8' 8, '16' 16, '32' 32, '64' 64, '128' 128)"
y_tics = SCALED_TICS
said(dummy) = scaled(column(value))." a second with ".strcol("threads")." threads; 99 % of the calls within " \
    .duration(column("call_ns_p99"))
shared_y = 1
load FOLDER."lines.gp"
