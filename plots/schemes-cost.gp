# schemes-cost.gp: steps (compares, moves, slots) of one operation in the paper's seven schemes, against
# the number of timers, a panel for each operation. See style.gp for the data.
# Columns: series style op n steps
panel_column = "op"
heading(name) = "Steps of one ".(name eq "start" ? "START" : name eq "stop" ? "STOP" \
    : name eq "tick" ? "PER_TICK with nothing due" : "EXPIRY")
x_of(dummy) = column("n")
value = "steps"; spread = ""
x_label = "timers"
y_label = ""
x_tics = SCALED_TICS
y_tics = SCALED_TICS
stats data using "n" nooutput
x_low = STATS_min / 1.5; x_high = STATS_max * 1.5
shared_y = 0
said(dummy) = digits(column(value))." steps with ".scaled(column("n"))." timers"
load FOLDER."lines.gp"
