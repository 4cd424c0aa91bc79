# durable-commits.gp: operations a second upon durable timers, against how many are in a commit, a panel
# for each operation; beside what a file takes that the same bytes are appended to. See style.gp for the
# data.
# Columns: series style op commit per_second per_second_mad
panel_column = "op"
heading(name) = name eq "start" ? "Starts in a second" : name eq "stop" ? "Stops in a second" \
    : name eq "expire" ? "Expiries in a second" : "Restarts in a second"
x_column = "commit"
value = "per_second"
x_label = "operations in a commit"
y_label = ""
x_tics = SCALED_TICS
y_tics = SCALED_TICS
shared_y = 1
said(dummy) = scaled(column(value))." a second, ".scaled(column("commit"))." in a commit"
load FOLDER."lines.gp"
