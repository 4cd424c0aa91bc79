# memory.gp: bytes per timer, the most bytes held at once, and those held when all timers are gone. See style.gp for the
# data. Columns: series algo options style status bytes_per_timer bytes_peak bytes_drained
stats data using 0 nooutput
panel = row_height(STATS_records) * STATS_records + 20
height = 3 * panel + 258
share(pixels) = 1.0 - pixels / (1.0 * height)

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot

    value = "bytes_per_timer"; spread = ""; floor_column = ""
    text(x) = digits(x)
    unit_label = "bytes per timer (less is better)"
    log_tics = SCALED_TICS; log_ratio = LOG_RATIO
    panel_title = headed("Memory per timer")
    panel_top = share(30); panel_bottom = share(30 + panel)
    load FOLDER."rows.gp"

    value = "bytes_peak"
    text(x) = x < 1e3 ? counted(x)." B" : scaled(x)."B"
    unit_label = "bytes held at the peak, everything counted (less is better)"
    panel_title = headed("Memory at the peak")
    panel_top = share(118 + panel); panel_bottom = share(118 + 2 * panel)
    load FOLDER."rows.gp"

    value = "bytes_drained"
    unit_label = "bytes held after the last timer has gone (less is better)"
    panel_title = headed("Memory after draining")
    panel_top = share(206 + 2 * panel); panel_bottom = share(206 + 3 * panel)
    load FOLDER."rows.gp"

    unset multiplot
    unset output
}
