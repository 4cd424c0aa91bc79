# throughput.gp: time per event by structure, with its spread (median absolute deviation) and the
# harness's own share as a line; below it, events per second. What was spared firings has the share
# beside its time: it did less. See style.gp for the data.
# Columns: series algo options style status ns_per_event ns_per_event_mad events_per_s
# floor_ns_per_event fired averted
# Of what the others fire; if nobody is without, of what it fired or averted itself.
exact = 0
stats data using (exact = number("averted") == 0 && number("fired") > exact ? number("fired") : exact, 0) nooutput
owed(dummy) = exact > 0 ? exact : number("averted") + number("fired")
averted(dummy) = number("averted") > 0 ? sprintf(" (%.3g %% averted)", 100 * number("averted") / owed(0)) : ""

array VALUES = ["ns_per_event", "events_per_s"]
array TITLES = ["Time per event", "Throughput"]
array UNITS = ["ns per event (less is better; dashed: the harness)", "events per second (more is better)"]
array TICS = [PLAIN_TICS, SCALED_TICS]
SPREAD = "ns_per_event_mad"; FLOOR = "floor_ns_per_event"
text(x) = value eq "ns_per_event" ? digits(x).averted(0) : scaled(x)
load FOLDER."rows.gp"
