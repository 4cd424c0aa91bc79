# live.gp: wakeups and CPU use under the real clock, for each structure and drive. See style.gp for the data.
# Columns: series algo options style status timer_wakeups_per_second idle_wakeups_per_second cpu_percent
array VALUES = ["timer_wakeups_per_second", "idle_wakeups_per_second", "cpu_percent"]
array TITLES = ["Wakeups for timers", "Idle wakeups", "CPU use"]
array UNITS = ["wakeups per second (less is better)", "wakeups per second that fired nothing (less is better)", \
    "% of one core (less is better)"]
array TICS = [SCALED_TICS, SCALED_TICS, PLAIN_TICS]
text(x) = digits(x)
load FOLDER."rows.gp"
