# wakeups.gp: how often each structure wakes its driver for a timer that fires, and how often for
# nothing. See style.gp for the data.
# Columns: series algo options style status wakeups_per_fired idle_wakeups
array VALUES = ["wakeups_per_fired", "idle_wakeups"]
array TITLES = ["Wakeups", "Idle wakeups"]
array UNITS = ["wakeups per timer fired (less is better)", "wakeups that fired nothing (less is better)"]
array TICS = [SCALED_TICS, SCALED_TICS]
text(x) = value eq "idle_wakeups" ? counted(x) : digits(x)
load FOLDER."rows.gp"
