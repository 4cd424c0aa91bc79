# lines.gp: a picture of several panels, one for each value of a column, with a line for each series
# in all of them, and one legend below. Loaded by a picture's script with these set:
#   panel_column           the column whose values make the panels
#   heading(name)          a panel's title
#   x_column, value        columns of x and y
#   x_label, y_label       with units
#   x_tics, y_tics         marks of the logarithmic axes
#   said(dummy)            what is said of a point under the pointer, behind the name of its series
# and, where they are not to be as they are here:
#   spread                 column of the spread of y
#   x_of(dummy)            function of the row that gives x
#   x_low, x_high          the range of x
#   linear_x               1: the x axis is not logarithmic
#   full_width             1: each panel is as wide as the picture
#   is_said(dummy)         whether anything is said; by default, of every point
#   shared_y               1: all panels have the same y axis; 0: each has its own

if (!exists("spread")) { spread = "" }
if (!exists("shared_y")) { shared_y = 0 }
if (!exists("linear_x")) { linear_x = 0 }
if (!exists("GPFUN_x_of")) { x_of(dummy) = column(x_column) }
if (!exists("x_low")) {
    stats data using x_column nooutput
    x_low = STATS_min / 1.3; x_high = STATS_max * 1.3
}
if (!exists("full_width")) { full_width = 0 }
if (!exists("GPFUN_is_said")) { is_said(dummy) = 1 }

# Which panels and series there are, how they look, and how far y reaches.
panels = ""; series = ""; styles = ""; present = ""; longest = 0
stats data using (panels = joined(panels, strcol(panel_column)), \
    styles = member(series, strcol("series")) ? styles : styles." ".strcol("style"), \
    series = joined(series, strcol("series")), \
    longest = strlen(strcol("series")) > longest ? strlen(strcol("series")) : longest, \
    here = number(value), \
    present = here > 0 ? joined(present, strcol(panel_column)."/".strcol("series")) : present, \
    0) nooutput
# Where in the data the rows of a series in a panel lie, so that its line need not look at all others'.
place(panel, name) = (sum [p = 1:words(panels)] (word(panels, p) eq panel) * (p - 1)) * words(series) \
    + (sum [s = 1:words(series)] (word(series, s) eq name) * s)
array first_row[words(panels) * words(series)]
array last_row[words(panels) * words(series)]
do for [k = 1:|first_row|] { first_row[k] = -1; last_row[k] = -1 }
before = ""; at = 0
stats data using (key = strcol(panel_column)."/".strcol("series"), \
    at = key eq before ? at : place(strcol(panel_column), strcol("series")), \
    before = key, \
    first_row[at] = first_row[at] < 0 ? column(0) : first_row[at], \
    last_row[at] = column(0), \
    0) nooutput

array y_low[words(panels)]
array y_high[words(panels)]
do for [i = 1:words(panels)] {
    low = 0; high = 0
    stats data using (here = shared_y || strcol(panel_column) eq word(panels, i) ? number(value) : 0, \
        low = here > 0 && (low == 0 || here < low) ? here : low, \
        high = here > high ? here : high, \
        0) nooutput
    y_low[i] = high > 0 ? low : 1
    y_high[i] = high > 0 ? high : 10
}

# The legend names what is not muted, and says how many are.
named_series = ""; named_styles = ""; muted = 0
do for [k = 1:words(series)] {
    if (int(word(styles, k)) == MUTED) {
        muted = muted + 1
    } else {
        named_series = named_series." ".word(series, k)
        named_styles = named_styles." ".word(styles, k)
    }
}
entries = words(named_series) + (muted > 0)
across = words(panels) > 1 && !full_width && WIDTH >= 600 ? 2 : 1
down = (words(panels) + across - 1) / across
legend_width = longest * CHARACTER + 76
legend_across = int((WIDTH - 20) / legend_width)
if (legend_across < 1) { legend_across = 1 }
legend_down = (entries + legend_across - 1) / legend_across
legend_across = (entries + legend_down - 1) / legend_down
legend_height = 19 * legend_down + 16
panel_height = fitted(318, down, legend_height)
height = down * panel_height + legend_height
share(pixels) = 1.0 - pixels / (1.0 * height)

do for [terminal in TERMINALS] {
    eval open_terminal(terminal, WIDTH, height)
    set output out.ending(terminal)
    set multiplot

    set logscale y
    if (!linear_x) { set logscale x }
    set xrange [x_low:x_high]
    unset arrow; unset label
    eval "set xtics nomirror ".x_tics
    set grid xtics ytics
    unset key
    do for [i = 1:words(panels)] {
        panel = word(panels, i)
        left = ((i - 1) % across) * (1.0 / across)
        top = ((i - 1) / across) * panel_height
        set lmargin at screen left + 78.0 / WIDTH
        set rmargin at screen left + 1.0 / across - 26.0 / WIDTH # half of a label of six digits
        set tmargin at screen share(top + 30)
        set bmargin at screen share(top + panel_height - 70)
        # No less than five times: two of 1, 2, 5, 10, ... are within any stretch of that. Of 1, 10, 100,
        # ..., two are within any of a hundred times.
        beyond = 2.25 * y_high[i] < 5 * y_low[i] ? sqrt(5 * y_low[i] / y_high[i]) : 1.5
        y_from = y_low[i] / beyond; y_to = y_high[i] * beyond
        set yrange [y_from:y_to]
        eval "set ytics nomirror ".(y_to < 100 * y_from ? fine_tics(y_tics) : y_tics)
        set title heading(panel) offset 0,-0.4
        set xlabel x_label offset 0,0.3
        # Where it is clear of the longest marks, in line with the other panels'.
        set label 1 y_label at screen left + 11.0 / WIDTH, screen share(top + 0.5 * (panel_height - 40)) \
            center rotate by 90
        # The series that have a value in this panel.
        chosen = ""
        do for [k = 1:words(series)] {
            if (member(present, panel."/".word(series, k))) { chosen = chosen." ".k }
        }
        mine(k) = strcol(panel_column) eq panel && strcol("series") eq word(series, k)
        # The first are drawn last, on top of the others.
        which(k) = int(word(chosen, words(chosen) + 1 - k))
        style_of(k) = int(word(styles, which(k)))
        from_row(k) = int(first_row[(i - 1) * words(series) + which(k)])
        to_row(k) = int(last_row[(i - 1) * words(series) + which(k)])
        if (i == words(panels)) { load FOLDER."legend.gp" }
        plot for [k = 1:(spread eq "" ? 0 : words(chosen))] data every ::from_row(k)::to_row(k) \
                using (mine(which(k)) ? x_of(0) : NaN):(column(value)):(column(spread)) \
                with yerrorbars pt 0 lw 1.2 lc rgb colour(style_of(k)), \
            for [k = 1:words(chosen)] data every ::from_row(k)::to_row(k) \
                using (mine(which(k)) ? x_of(0) : NaN):(column(value)) \
                with linespoints lw (style_of(k) == MUTED ? 1 : 1.8) ps 0.8 pn 9 lc rgb colour(style_of(k)) \
                dt dash(style_of(k)) pt marker(style_of(k)), \
            for [k = 1:(terminal eq "svg" ? words(chosen) : 0)] data every ::from_row(k)::to_row(k) \
                using (mine(which(k)) && is_said(0) ? x_of(0) : NaN):(column(value)): \
                    (strcol("series").": ".said(0)) \
                with labels hypertext point pt 7 ps 1 lc rgb SELECTED
    }

    unset multiplot
    unset output
}
