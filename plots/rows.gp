# rows.gp: a picture by structure, of one panel or several below each other: a row for each series, its
# name at the left, its value as a bar from 0, or, where the values span too much for that, as a dot on a
# logarithmic axis. Loaded by a picture's script with these set, the first four with an entry for each panel:
#   VALUES    columns
#   TITLES    headings
#   UNITS     what the axis shows, with its unit
#   TICS      the marks of a logarithmic axis
#   text(x)   how a value of the column `value` is written beside its mark
# and, where they are not to be as they are here:
#   SPREAD, FLOOR  columns of the first value's spread, and of one that is drawn as a line across
#   log_ratio      the ratio of largest to smallest above which an axis is logarithmic
if (!exists("SPREAD")) { SPREAD = ""; FLOOR = "" }
if (!exists("log_ratio")) { log_ratio = LOG_RATIO }
stats data using 0 nooutput
panel_height = fitted(row_height(STATS_records) * STATS_records + 20, |VALUES|, 88 * |VALUES| - 6)
height = |VALUES| * (panel_height + 88) - 6
share(pixels) = 1.0 - pixels / (1.0 * height)

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot
    do for [panel = 1:|VALUES|] {
        value = VALUES[panel]
        spread = panel == 1 ? SPREAD : ""; floor_column = panel == 1 ? FLOOR : ""
        panel_title = headed(TITLES[panel])
        panel_top = share(30 + (panel - 1) * (panel_height + 88))
        load FOLDER."row.gp"
    }
    unset multiplot
    unset output
}
