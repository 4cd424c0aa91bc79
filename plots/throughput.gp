# throughput.gp: time per event by structure, with its spread (median absolute deviation) and the
# harness's own share as a line; below it, events per second. What was spared firings has the share
# beside its time: it did less. See style.gp for the data.
# Columns: series algo options style status ns_per_event ns_per_event_mad events_per_s
# floor_ns_per_event fired averted
stats data using 0 nooutput
panel = row_height(STATS_records) * STATS_records + 20
height = 2 * panel + 170
share(pixels) = 1.0 - pixels / (1.0 * height)

# Of what the others fire; if nobody is without, of what it fired or averted itself.
exact = 0
stats data using (exact = number("averted") == 0 && number("fired") > exact ? number("fired") : exact, 0) nooutput
owed(dummy) = exact > 0 ? exact : number("averted") + number("fired")
averted(dummy) = number("averted") > 0 ? sprintf(" (%.3g %% averted)", 100 * number("averted") / owed(0)) : ""

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot

    value = "ns_per_event"; spread = "ns_per_event_mad"; floor_column = "floor_ns_per_event"
    text(x) = digits(x).averted(0)
    unit_label = "ns per event, median and MAD; dashed: the harness alone (less is better)"
    log_tics = PLAIN_TICS; log_ratio = LOG_RATIO
    panel_title = headed("Time per event")
    panel_top = share(30); panel_bottom = share(30 + panel)
    load FOLDER."rows.gp"

    value = "events_per_s"; spread = ""; floor_column = ""
    text(x) = scaled(x)
    unit_label = "events per second (more is better)"
    log_tics = SCALED_TICS
    panel_title = headed("Throughput")
    panel_top = share(118 + panel); panel_bottom = share(118 + 2 * panel)
    load FOLDER."rows.gp"

    unset multiplot
    unset output
}
