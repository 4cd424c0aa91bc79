# schemes-cost.gp: steps (compares, moves, slots) of one operation in the paper's seven schemes, against
# the number of timers, a panel for each operation. See style.gp for the data.
# Columns: series style op n steps
panel_column = "op"
heading(name) = "Steps of one ".(name eq "start" ? "START" : name eq "stop" ? "STOP" \
    : name eq "tick" ? "PER_TICK with nothing due" : "EXPIRY")
x_column = "n"
value = "steps"
x_label = "timers"
y_label = ""
x_tics = SCALED_TICS
y_tics = SCALED_TICS
said(dummy) = digits(column(value))." steps with ".scaled(column("n"))." timers"
load FOLDER."lines.gp"
