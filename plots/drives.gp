# drives.gp: what a knob of the drive, or of the front end lazy, changes: a panel for each of several
# figures, against the knob's values. See style.gp for the data; `headings` names a file with what
# each panel shows, `x_title` says what x is.
# Columns: series style panel x value
load system("dirname '".ARG0."'")."/style.gp"
load headings
panel_column = "panel"
x_of(dummy) = column("x")
value = "value"; spread = ""
x_label = x_title
y_label = ""
x_tics = SCALED_TICS
y_tics = SCALED_TICS
stats data using "x" nooutput
x_low = STATS_min / 1.5; x_high = STATS_max * 1.5
shared_y = 0
said(dummy) = digits(column(value))." at ".scaled(column("x"))
load FOLDER."/lines.gp"
