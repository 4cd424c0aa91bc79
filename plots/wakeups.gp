# wakeups.gp: how often each structure wakes its driver for a timer that fires, and how often for
# nothing. See style.gp for the data.
# Columns: series algo options style status wakeups_per_fired idle_wakeups
stats data using 0 nooutput
panel = row_height(STATS_records) * STATS_records + 20
height = 2 * panel + 170
share(pixels) = 1.0 - pixels / (1.0 * height)

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot

    value = "wakeups_per_fired"; spread = ""; floor_column = ""
    text(x) = digits(x)
    unit_label = "wakeups per timer fired (less is better)"
    log_tics = SCALED_TICS; log_ratio = LOG_RATIO
    panel_title = headed("Wakeups")
    panel_top = share(30); panel_bottom = share(30 + panel)
    load FOLDER."rows.gp"

    value = "idle_wakeups"
    text(x) = counted(x)
    unit_label = "wakeups that fired nothing (less is better)"
    panel_title = headed("Idle wakeups")
    panel_top = share(118 + panel); panel_bottom = share(118 + 2 * panel)
    load FOLDER."rows.gp"

    unset multiplot
    unset output
}
