# drives.gp: what a knob of the drive, or of the front end lazy, changes: a panel for each of several
# figures, against the knob's values. See style.gp for the data; the setting says what x is.
# Columns: series style panel x value
heading(name) = name eq "work" ? "Counted work an operation" \
    : name eq "wakeups" ? "Wakeups of 1,000 operations" \
    : name eq "late" ? "Lateness in ticks, 99 of 100 within" \
    : name eq "latest" ? "Lateness in ticks, the greatest" \
    : name eq "averted" ? "Averted, of 1,000 expiries" \
    : name eq "costliest" ? "Counted work of the costliest advance" \
    : "Expiries of 1,000 timers"
panel_column = "panel"
x_column = "x"
value = "value"
x_label = setting_1
y_label = ""
x_tics = SCALED_TICS
y_tics = SCALED_TICS
said(dummy) = digits(column(value))." at ".scaled(column("x"))
load FOLDER."lines.gp"
