# stall.gp: the longest single advance of a run, median of the runs, by structure. See style.gp for the data.
# Columns: series algo options style status stall_ns
stats data using 0 nooutput
panel = row_height(STATS_records) * STATS_records + 20
height = panel + 84
share(pixels) = 1.0 - pixels / (1.0 * height)

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot

    value = "stall_ns"; spread = ""; floor_column = ""
    text(x) = duration(x)
    unit_label = "the longest single advance of a run, median of the runs (less is better)"
    log_tics = DURATION_TICS; log_ratio = 0
    panel_title = headed("Stall")
    panel_top = share(30); panel_bottom = share(30 + panel)
    load FOLDER."rows.gp"

    unset multiplot
    unset output
}
