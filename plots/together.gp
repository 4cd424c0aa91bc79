# together.gp: how many timers fire at once, over time: in the tick with the most work of each stretch. A
# panel for each value of `rearm`. See style.gp for the data, and scripts/draw-workloads.
# Columns: series style rearm at_s fired
load system("dirname '".ARG0."'")."/style.gp"
panel_column = "rearm"
heading(name) = headed("rearm=".name)
value = "fired"; spread = ""
x_of(dummy) = column("at_s")
stats data using "at_s" nooutput
x_low = 0; x_high = STATS_max
linear_x = 1
x_label = "time (s)"
y_label = "timers in the busiest tick"
x_tics = "autofreq format '%.0f'"
y_tics = PLAIN_TICS; y_fine_tics = PLAIN_FINE_TICS
said(dummy) = sprintf("%s at once, around %s s", counted(column("fired")), digits(column("at_s")))
is_said(dummy) = int(column(0)) % 16 == 0
shared_y = 1
load FOLDER."/lines.gp"
