# stall.gp: the longest single advance of a run, median of the runs, by structure. See style.gp for the data.
# Columns: series algo options style status stall_ns
array VALUES = ["stall_ns"]
array TITLES = ["Longest pause"]
array UNITS = ["the longest single advance of a run, median of the runs (less is better)"]
array TICS = [DURATION_TICS]
log_ratio = 0
text(x) = duration(x)
load FOLDER."rows.gp"
