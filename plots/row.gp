# row.gp: one panel of rows.gp: `panel`, whose column is `value`.
low = 0; high = 0; names_width = 4; floor_value = NaN
row_count = 0; valued = 0; spreads = 0; optioned = 0
# First look at the data: how long the names are, how far the values reach.
stats data using (row_count = row_count + 1, \
    names_width = strlen(strcol("algo")) > names_width ? strlen(strcol("algo")) : names_width, \
    names_width = 0.82 * strlen(strcol("options")) > names_width ? 0.82 * strlen(strcol("options")) : names_width, \
    here = number(value), \
    valued = valued + (here > 0), \
    spreads = spreads + (spread eq "" ? 0 : number(spread) > 0), \
    optioned = optioned + (strlen(strcol("options")) > 0), \
    low = here > 0 && (low == 0 || here < low) ? here : low, \
    high = here > high ? here : high, \
    0) nooutput
if (floor_column ne "") {
    stats data using (floor_value = number(floor_column) > 0 ? number(floor_column) : floor_value, 0) nooutput
    if (floor_value < low) { low = floor_value }
}
if (high == 0) { low = 1; high = 1 }
logarithmic = high / low > log_ratio

set lmargin at screen left_margin(names_width)
set rmargin at screen 0.965
panel_bottom = panel_top - panel_height / (1.0 * height)
set tmargin at screen panel_top
set bmargin at screen panel_bottom
set title panel_title offset 0,-0.4
set label 1 UNITS[panel] at screen 0.5, screen panel_bottom - 42.0 / height center tc rgb INK
set yrange [-row_count + 0.4 : 0.6]
unset ytics
unset key; unset xlabel
set grid xtics noytics
unset logscale x
if (logarithmic) {
    set logscale x
    # A little below the decade, so that rounding does not cut off what stands on it.
    axis_low = 0.9999 * 10.0 ** floor(log10(low) - 0.15)
    axis_high = high * (high / axis_low) ** 0.22
    eval "set xtics nomirror ".TICS[panel]
} else {
    axis_low = 0
    axis_high = high * 1.22
    # Between three and eight marks.
    decade = 10.0 ** floor(log10(axis_high / 3))
    step = axis_high / (5 * decade) >= 3 ? 5 * decade : axis_high / (2 * decade) >= 3 ? 2 * decade : decade
    set xtics nomirror ("0" 0)
    do for [mark = 1:int(axis_high / step)] { set xtics add (brief(mark * step) mark * step) }
}
set xrange [axis_low:axis_high]

unset arrow
if (floor_value == floor_value) {
    set arrow from first floor_value, graph 0 to first floor_value, graph 1 nohead \
        lc rgb GREY dt 2 lw 1.5 front
}

start = logarithmic ? axis_low : 0
half = logarithmic ? 0.02 : 0.3
small_font = FONT . "," . (terminal eq "svg" ? "10.5" : "8")
is_ok(dummy) = strcol("status") eq "ok"
has_value(dummy) = number(value) > 0
the_spread(dummy) = spread eq "" ? 0 : number(spread)
# What is said of a row under the pointer.
said(dummy) = strcol("series").": ".text(column(value)).(the_spread(0) > 0 ? \
    sprintf(" ± %s", digits(the_spread(0))) : "").", ".panel_title
raised(options) = strlen(options) > 0 ? 0.24 : 0

# Bars or stalks; dots; spreads; values; or else what became of the run; names; options. A loop
# that runs no time leaves out what no row has.
plot for [i = 1:(valued > 0)] data using (has_value(0) ? start : NaN):(-$0):\
            (start):(column(value)):(-$0 - half):(-$0 + half):(colour(column("style"))) \
        with boxxyerror fill solid (logarithmic ? 0.4 : 0.8) noborder lc rgb variable, \
    for [i = 1:(valued > 0 && logarithmic)] data \
        using (has_value(0) ? column(value) : NaN):(-$0):(colour(column("style"))) \
        with points pt 7 ps 1.2 lc rgb variable, \
    for [i = 1:(spreads > 0)] data \
        using (the_spread(0) > 0 ? column(value) : NaN):(-$0):(the_spread(0)) \
        with xerrorbars pt 0 lw 1.6 lc rgb INK, \
    for [i = 1:(valued > 0)] data \
        using (has_value(0) ? column(value) + the_spread(0) : NaN):(-$0):\
            (text(column(value))) with labels left offset 0.9,0 tc rgb INK, \
    for [i = 1:(valued < row_count)] data using (has_value(0) || !is_ok(0) ? NaN : start):(-$0):("0") \
        with labels left offset 0.5,0 tc rgb INK, \
    for [i = 1:(valued < row_count)] data using (has_value(0) || is_ok(0) ? NaN : start):(-$0):\
            (strcol("status")) \
        with labels left offset 0.5,0 tc rgb 0xB00000, \
    for [i = 1:(valued > 0 && terminal eq "svg")] data \
        using (has_value(0) ? column(value) : NaN):(-$0):(said(0)) \
        with labels hypertext point pt 7 ps 1.2 lc rgb SELECTED, \
    data using (start):(-$0 + raised(strcol("options"))):(strcol("algo")) \
        with labels right offset -0.8,0 tc rgb INK, \
    for [i = 1:(optioned > 0)] data using (start):(-$0 - 0.25):(strcol("options")) \
        with labels right offset -0.8,0 font small_font tc rgb GREY
