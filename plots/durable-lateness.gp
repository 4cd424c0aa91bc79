# durable-lateness.gp: how late timers fire that are durable, by the real clock: the share of them that is
# later, and by how much, a panel for each structure and a line for each policy. See style.gp for the data.
# Columns: series style structure tail lateness_ns; tail: one in so many is later
panel_column = "structure"
heading(name) = name
x_column = "tail"
value = "lateness_ns"
x_label = "of the timers, all but one in so many are no later"
y_label = ""
x_tics = SCALED_TICS
y_tics = DURATION_TICS
shared_y = 1
said(dummy) = duration(column(value))." or less, but for one in ".scaled(column("tail"))
load FOLDER."lines.gp"
