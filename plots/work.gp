# work.gp: the work of each structure over a trace's ticks: the worst tick of each stretch, and the mean.
# What is counted is the same on any machine. See style.gp for the data.
# Columns: series style measure (worst or mean) from_tick to_tick work shown tick cascades fired peak (1:
# its value is under the pointer)
panel_column = "measure"
# Dashes would break spikes.
dash(style) = 1
heading(name) = headed(name eq "worst" ? "Worst tick of each stretch" : "Mean of each stretch")
value = "shown"
# The middle of the stretch.
x_of(dummy) = (column("from_tick") + column("to_tick")) / 2.0
stats data using "from_tick" nooutput
x_low = STATS_min
stats data using "to_tick" nooutput
x_high = STATS_max > x_low ? STATS_max : x_low + 1
linear_x = 1
x_label = "tick of the trace"
y_label = "work in a tick"
x_tics = "autofreq format '%.0f'"
y_tics = "('≤ 0.01' 0.01, ".SCALED_TICS[strstrt(SCALED_TICS, "'0.1'"):*]
is_said(dummy) = column("peak") == 1
said(dummy) = strcol("measure") eq "worst" \
    ? sprintf("%s at tick %s, with %s cascades and %s fired", scaled(column("work")), strcol("tick"), \
        counted(column("cascades")), counted(column("fired"))) \
    : sprintf("%s a tick from %s to %s", digits(column("work")), strcol("from_tick"), strcol("to_tick"))
shared_y = 1
full_width = 1
load FOLDER."lines.gp"
