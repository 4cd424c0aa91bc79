# cost.gp: time per operation against the number of timers, a panel for each operation. See style.gp
# for the data. Columns: series style op n ns_per_op ns_per_op_mad
load system("dirname '".ARG0."'")."/style.gp"
panel_column = "op"
heading(name) = headed(name)
x_of(dummy) = column("n")
value = "ns_per_op"; spread = "ns_per_op_mad"
x_label = "timers"
y_label = "ns per operation"
x_tics = SCALED_TICS
y_tics = PLAIN_TICS; y_fine_tics = PLAIN_FINE_TICS
stats data using "n" nooutput
x_low = STATS_min / 1.5; x_high = STATS_max * 1.5
said(dummy) = digits(column(value))." ns".(number(spread) > 0 ? " ± ".digits(column(spread)) : "") \
    .", ".strcol("op")." with ".scaled(column("n"))." timers"
shared_y = 0
load FOLDER."/lines.gp"
