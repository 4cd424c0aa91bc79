# cost.gp: what single operations cost against the number of timers, a panel for each operation. See
# style.gp for the data. Columns: series style op n, and
# the one that the setting names:
#   ns_per_op        with ns_per_op_mad: time
#   x_limit, x_null  the same as a multiple of what no structure can undercut, and of the harness
#   longest_advance_ns  the longest single advance
#   bytes_per_timer
what = setting_1
panel_column = "op"
heading(name) = headed(name)
x_column = "n"
value = what; spread = what eq "ns_per_op" ? "ns_per_op_mad" : ""
x_label = "timers"
y_label = what eq "ns_per_op" ? "ns per operation" : what eq "x_limit" ? "multiple of the limit" \
    : what eq "x_null" ? "multiple of the harness" : what eq "longest_advance_ns" ? "longest advance" \
    : "bytes per timer"
unit(x) = what eq "ns_per_op" ? digits(x)." ns" : what eq "longest_advance_ns" ? duration(x) \
    : what eq "bytes_per_timer" ? digits(x)." bytes" : digits(x)." times"
x_tics = SCALED_TICS
y_tics = what eq "longest_advance_ns" ? DURATION_TICS : PLAIN_TICS
spread_of(dummy) = spread eq "" ? 0 : number(spread)
said(dummy) = unit(column(value)).(spread_of(0) > 0 ? " ± ".digits(spread_of(0)) : "") \
    .", ".strcol("op")." with ".scaled(column("n"))." timers"
load FOLDER."lines.gp"
