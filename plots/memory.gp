# memory.gp: bytes per timer, the most bytes held at once, and those held when all timers are gone. See style.gp for the
# data. Columns: series algo options style status bytes_per_timer bytes_peak bytes_drained
array VALUES = ["bytes_per_timer", "bytes_peak", "bytes_drained"]
array TITLES = ["Memory per timer", "Memory at the peak", "Memory after draining"]
array UNITS = ["bytes per timer (less is better)", "bytes held at the peak, everything counted (less is better)", \
    "bytes held after the last timer has gone (less is better)"]
array TICS = [SCALED_TICS, SCALED_TICS, SCALED_TICS]
text(x) = value eq "bytes_per_timer" ? digits(x) : x < 1e3 ? counted(x)." B" : scaled(x)."B"
load FOLDER."rows.gp"
